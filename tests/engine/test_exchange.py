"""When a compiler asks its store and tells it, and that nothing false from there stays in use."""

import gc
import threading
import time
import weakref
from collections.abc import Callable, Sequence

import pytest

import engine
from engine import exchange
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

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
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


@pytest.mark.parametrize(
    ("known", "outcome"), [((MAIL, DATE), "perfect"), ((MAIL,), "partial"), ((), "none")]
)
def test_compiles_are_counted_by_what_they_found(known: tuple[object, ...], outcome: str) -> None:
    compiler = engine.Compiler(small_vocabulary(), store=store_with(*known))
    compiler.compile_json_schema(members(MAIL, DATE))
    found = {each: compiler.stats()[f"store_{each}"] for each in ("perfect", "partial", "none")}
    assert found == {"perfect": 0, "partial": 0, "none": 0, outcome: 1}


# -- audits ----------------------------------------------------------------------------------------
def audited(store: DictStore, monkeypatch: pytest.MonkeyPatch) -> engine.Compiler:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=1)
    # the masks that all grammars share came from there as well
    wait_for(lambda: compiler.stats()["store_audits"] == 1)
    compiler.compile_json_schema(members(MAIL, DATE))
    wait_for(lambda: compiler.stats()["store_audits"] == 2)
    return compiler


def test_true_masks_pass_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    stats = audited(store_with(MAIL, DATE), monkeypatch).stats()
    assert stats["store_audit_compared"] > 0
    assert stats["store_audit_divergence"] == 0


def test_masks_of_another_rule_are_found_and_the_store_is_read_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What only who has the key can do: a sound value under another rule's key."""
    mail, date = store_with(MAIL), store_with(DATE)
    of_mail, of_date = set(mail.kept) - set(date.kept), set(date.kept) - set(mail.kept)
    poisoned = DictStore()
    poisoned.kept = {**mail.kept, **date.kept}
    for key in of_mail:
        for other in of_date:
            if key.startswith(b"masks/") and other.startswith(b"masks/"):
                poisoned.kept[key] = date.kept[other]
    compiler = audited(poisoned, monkeypatch)
    stats = compiler.stats()
    assert stats["store_audit_divergence"] > 0
    compiler.compile_json_schema({"type": "string", "format": "uuid"})
    assert compiler.stats()["store_hits"] == stats["store_hits"]

    plain = engine.Compiler(small_vocabulary()).compile_json_schema(MAIL)
    ours, theirs = engine.Matcher(compiler.compile_json_schema(MAIL)), engine.Matcher(plain)
    mine, other_mask = new_mask(compiler.vocabulary), new_mask(compiler.vocabulary)
    for byte in b'"a.b@c.de"':
        ours.fill_bitmask(mine)
        theirs.fill_bitmask(other_mask)
        assert (mine == other_mask).all()
        assert ours.accept_bytes(bytes([byte])) and theirs.accept_bytes(bytes([byte]))


def test_masks_are_the_same_however_they_came_to_be() -> None:
    """Made for whatever was walked before, or anew: an audit finds no difference in any case."""
    compiler, compared = engine.Compiler(small_vocabulary()), 0
    for case in CASES:
        compiled = compile_case(compiler, case)
        forwards(compiled, trace(compiled, case).walks)
        differing, common = diverging(compiled, compiler._triples)  # type: ignore[arg-type]
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


def test_no_thread_keeps_a_compiler_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    compiler = engine.Compiler(small_vocabulary(), store=DictStore())
    prepared(compiler, MAIL)
    known = weakref.ref(compiler._exchange)  # type: ignore[arg-type]
    del compiler

    def is_gone() -> bool:
        gc.collect()
        return known() is None

    wait_for(is_gone)
