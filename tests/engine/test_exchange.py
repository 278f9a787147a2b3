"""When a compiler asks its store and tells it, and that nothing false from there stays in use."""

import gc
import itertools
import os
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import engine
from engine import audit, exchange
from engine.audit import diverging
from engine.errand import Errand
from tests.engine.cases import CASES
from tests.engine.harness import DictStore, compile_case, new_mask
from tests.engine.test_paths import forwards, trace
from tests.vocabularies import small_vocabulary

PATIENCE_SECONDS = 30.0
MAIL = {"type": "string", "format": "email"}
DATE = {"type": "string", "format": "date-time"}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def members(*schemas: object) -> dict[str, object]:
    """An object with a member for each, so that each is a rule of its own."""
    properties = {f"p{n}": each for n, each in enumerate(schemas)}
    required = list(properties)
    closed = {"type": "object", "additionalProperties": False}
    return {**closed, "properties": properties, "required": required}


def prepared(compiler: engine.Compiler, *schemas: object) -> engine.Compiled:
    compiled = compiler.compile_json_schema(members(*schemas))
    compiled.prepare(500)
    return compiled


def store_with(*schemas: object) -> DictStore:
    store = DictStore()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    for schema in schemas:
        prepared(compiler, schema)
    compiler.flush()
    return store


class Counting(DictStore):
    """Counts readings and remembers by which threads they were made."""

    def __init__(self) -> None:
        super().__init__()
        self.readers: list[str] = []

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        self.readers.append(threading.current_thread().name)
        return super().get_many(keys)


def test_a_compile_reads_once_and_decoding_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 3600.0)
    store = Counting()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    store.readers.clear()
    compiled = compiler.compile_json_schema({"anyOf": [MAIL, DATE, {"type": "array"}]})
    # of these, one for rules: what patterns ask for is told by their own counter
    patterns = compiler.stats()["store_pattern_hits"] + compiler.stats()["store_pattern_misses"]
    assert len(store.readers) <= 1 + patterns
    store.readers.clear()
    matcher, mask = engine.Matcher(compiled), new_mask(compiler.vocabulary)
    for byte in b'"a.b@c':
        matcher.fill_bitmask(mask)
        assert matcher.accept_bytes(bytes([byte]))
    assert store.readers == []


def test_what_decoding_made_is_handed_over_by_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    store = DictStore()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiled = compiler.compile_json_schema(MAIL)
    wait_for(lambda: bool(store.kept))
    puts = compiler.stats()["store_puts"]
    matcher, mask = engine.Matcher(compiled), new_mask(compiler.vocabulary)
    for byte in b'"a.b@c.de':
        matcher.fill_bitmask(mask)
        assert matcher.accept_bytes(bytes([byte]))
    compiler.compile_json_schema({"title": "whatever comes next"})
    wait_for(lambda: compiler.stats()["store_puts"] > puts)


def test_what_decoding_makes_of_a_known_grammar_is_handed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    compiler = engine.Compiler(small_vocabulary(), store=DictStore())
    compiler.compile_json_schema(MAIL)
    known = compiler.compile_json_schema(MAIL)
    time.sleep(0.1)  # the prompt is read
    puts = compiler.stats()["store_puts"]
    known.prepare(500)
    wait_for(lambda: compiler.stats()["store_puts"] > puts)


@pytest.mark.parametrize(
    ("known", "outcome"), [((MAIL, DATE), "perfect"), ((MAIL,), "partial"), ((), "none")]
)
def test_compiles_are_counted_by_what_they_found(known: tuple[object, ...], outcome: str) -> None:
    compiler = engine.Compiler(small_vocabulary(), store=store_with(*known))
    compiler.compile_json_schema(members(MAIL, DATE))
    found = {each: compiler.stats()[f"store_{each}"] for each in ("perfect", "partial", "none")}
    assert found == {"perfect": 0, "partial": 0, "none": 0, outcome: 1}


# -- audits ----------------------------------------------------------------------------------------
def compile_until(compiler: engine.Compiler, condition: Callable[[dict[str, int]], bool]) -> None:
    """Grammars that nobody has met, with the same rules."""
    numbers = itertools.count()

    def is_met() -> bool:
        compiler.compile_json_schema({**members(MAIL, DATE), "title": str(next(numbers))})
        return condition(compiler.stats())

    wait_for(is_met)


def auditing(store: DictStore, monkeypatch: pytest.MonkeyPatch) -> engine.Compiler:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    return engine.Compiler(small_vocabulary(), store=store, audit_every=1)


def wrong_masks(compiled: engine.Compiled) -> int:
    matcher = engine.Matcher(compiled)
    mask, right = new_mask(compiled.vocabulary), new_mask(compiled.vocabulary)
    found = 0
    for byte in b'{"p0": "a.b@c.de", "p1": "':
        matcher.fill_bitmask(mask)
        matcher.brute_force_bitmask(right)
        found += not (mask == right).all()
        assert matcher.accept_bytes(bytes([byte]))
    return found


@pytest.mark.parametrize("is_prefetched", [False, True])
def test_true_masks_pass_an_audit(is_prefetched: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = auditing(store_with(MAIL, DATE), monkeypatch)
    if is_prefetched:
        assert compiler.prefetch(60) > 0
    compile_until(compiler, lambda stats: stats["store_audit_compared"] > 0)
    assert compiler.stats()["store_audit_divergence"] == 0


@pytest.mark.parametrize("is_prefetched", [False, True])
def test_masks_of_another_rule_are_found_and_nothing_of_the_store_stays_in_use(
    is_prefetched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only who has the key can do: a sound value under another rule's key."""
    compiler = auditing(poisoned_store(), monkeypatch)
    if is_prefetched:
        compiler.prefetch(60)
    before = compiler.compile_json_schema(members(MAIL, DATE))
    assert wrong_masks(before) > 0
    compile_until(compiler, lambda stats: stats["store_audit_divergence"] > 0)
    assert wrong_masks(before) == 0, "of a grammar that somebody kept"
    assert wrong_masks(compiler.compile_json_schema(members(MAIL, DATE))) == 0
    hits = compiler.stats()["store_hits"]
    compiler.compile_json_schema({"type": "string", "format": "uuid"})
    assert compiler.prefetch(60) == 0 and compiler.stats()["store_hits"] == hits


def poisoned_store() -> DictStore:
    mail, date = store_with(MAIL), store_with(DATE)
    poisoned = DictStore()
    poisoned.kept = {**mail.kept, **date.kept}
    (of_mail,), (of_date,) = (
        [key for key in one.kept.keys() - other.kept.keys() if key.startswith(b"masks/")]
        for one, other in ((mail, date), (date, mail))
    )
    poisoned.kept[of_mail] = date.kept[of_date]
    return poisoned


def test_masks_are_the_same_however_they_came_to_be() -> None:
    """Made for whatever was walked before, or anew: an audit finds no difference in any case."""
    compiler, compared = engine.Compiler(small_vocabulary()), 0
    for case in CASES:
        compiled = compile_case(compiler, case)
        forwards(compiled, trace(compiled, case).walks)
        differing, common = diverging(compiled, compiler._triples, compiler._automata)  # type: ignore[arg-type]
        assert differing == 0, case.name
        compared += common
    assert compared > 1_000


def test_of_so_many_rules_one_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    store = store_with(MAIL, DATE)
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=10_000)
    puts = compiler.stats()["store_puts"]
    prepared(compiler, MAIL, DATE, {"type": "string", "format": "uuid"})
    wait_for(lambda: compiler.stats()["store_puts"] > puts)
    assert compiler.stats()["store_audits"] == 0


def test_an_audit_that_fails_keeps_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("an audit's own fault")

    monkeypatch.setattr(audit, "diverging", fail)
    compiler = auditing(store_with(MAIL, DATE), monkeypatch)
    puts = compiler.stats()["store_puts"]
    prepared(compiler, MAIL, {"type": "string", "format": "uuid"})
    wait_for(lambda: compiler.stats()["store_puts"] > puts)


# -- errands ---------------------------------------------------------------------------------------
def test_an_errand_is_done_once_for_many_who_ask() -> None:
    done = []
    errand = Errand(lambda: bool(done.append(1)), pause_seconds=0.05, name="errand")
    for _ in range(100):
        errand.ask()
    wait_for(lambda: bool(done))
    assert len(done) < 100


def test_an_errand_is_asked_for_again_after_its_thread_ended() -> None:
    done: list[str] = []

    def work() -> bool:
        done.append(threading.current_thread().name)
        return False

    errand = Errand(work, pause_seconds=0.0, name="errand")
    for count in (1, 2, 3):
        errand.ask()
        wait_for(lambda count=count: len(done) >= count)  # type: ignore[misc]
        wait_for(lambda: "errand" not in {each.name for each in threading.enumerate()})


def test_an_errand_comes_back_while_there_is_more() -> None:
    left = [3, 2, 1]
    errand = Errand(lambda: left.pop() != 3, pause_seconds=0.0, name="errand")
    errand.ask()
    wait_for(lambda: not left)


def test_an_errand_that_is_asked_for_as_its_thread_ends_is_done() -> None:
    done: list[int] = []
    errand = Errand(lambda: bool(done.append(1)), pause_seconds=0.0, name="errand")
    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        for _ in range(3_000):
            before = len(done)
            errand.ask()
            while len(done) == before:
                assert time.monotonic() < until
    finally:
        sys.setswitchinterval(switched)


@pytest.mark.parametrize("when", ["before", "after"])
def test_who_asks_just_before_and_after_a_thread_says_that_it_ends_is_heard(when: str) -> None:
    """Both as it is done by ``ask``: first the flag, then a look whether a thread runs."""
    done: list[int] = []
    errand = Errand(lambda: bool(done.append(1)), pause_seconds=0.0, name="errand")

    class Meanwhile:
        """A lock; while the errand's thread comes to it or goes, somebody asks, once."""

        def __init__(self) -> None:
            self.lock, self.asked = threading.Lock(), 0

        def __enter__(self) -> None:
            if when == "before":
                self.ask()
            self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()
            if when == "after":
                self.ask()

        def ask(self) -> None:
            if threading.current_thread().name == "errand" and not self.asked:
                self.asked = 1
                errand.ask()

    errand._guard = meanwhile = Meanwhile()  # type: ignore[assignment]
    errand.ask()
    wait_for(lambda: meanwhile.asked == 1 and len(done) >= 2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_an_errand_that_failed_is_done_when_it_is_asked_for_again() -> None:
    done: list[int] = []

    def work() -> bool:
        done.append(1)
        if len(done) == 1:
            raise RuntimeError("the work's own fault")
        return False

    errand = Errand(work, pause_seconds=0.0, name="errand")

    def is_done_again() -> bool:
        errand.ask()
        return len(done) > 1

    wait_for(is_done_again)


def test_a_fork_has_an_errand_of_its_own(tmp_path: Path) -> None:
    def work() -> bool:
        (tmp_path / str(os.getpid())).touch()
        return False

    errand = Errand(work, pause_seconds=0.01, linger_seconds=5.0, name="errand")
    errand.ask()
    wait_for((tmp_path / str(os.getpid())).exists)
    child = os.fork()
    if child == 0:
        errand.ask()
        time.sleep(PATIENCE_SECONDS)
        os._exit(1)
    try:
        wait_for((tmp_path / str(child)).exists)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_no_thread_keeps_a_compiler_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    monkeypatch.setattr(exchange, "LINGER_SECONDS", 0.05)
    compiler = engine.Compiler(small_vocabulary(), store=DictStore())
    prepared(compiler, MAIL)
    known = weakref.ref(compiler._exchange)  # type: ignore[arg-type]
    del compiler

    def is_gone() -> bool:
        gc.collect()
        return known() is None

    wait_for(is_gone)
