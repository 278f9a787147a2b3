"""Patterns that one process made serve another; what does not fit is refused."""

import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import pytest

import engine
from engine import artifact
from engine.frontends import fragment, patternstore
from engine.frontends.fragmentbytes import reread
from engine.frontends.patternstore import name_of
from tests.engine.cases import SCHEMAS, Case
from tests.engine.harness import DictStore, compile_case
from tests.engine.test_paths import forwards, trace
from tests.vocabularies import small_vocabulary

#: costly in different ways: searched, counted, barred, multiples, look-ahead
COSTLY: tuple[dict[str, Any], ...] = (
    {"type": "string", "pattern": "ab.*cd[^e]{2,4}f"},
    {"type": "string", "pattern": "^(?:\\S+\\s+){0,9}\\S+$", "minLength": 3, "maxLength": 40},
    {"type": "string", "pattern": "^(?!no)[a-z]+$", "not": {"pattern": "x{3}"}},
    {"type": "string", "format": "idn-email"},
    {"type": "string", "not": {"enum": ["one", "two", "\u00e9"]}, "minLength": 2},
    {"type": "number", "multipleOf": 2.5, "minimum": -7},
    {"type": "integer", "multipleOf": 7, "not": {"multipleOf": 5}},
    {"type": "integer", "minimum": -17, "maximum": 90210},
)
CASES = [
    *(Case(f"costly-{n}", "json_schema", schema, ()) for n, schema in enumerate(COSTLY)),
    *SCHEMAS,
]
Kept = dict[bytes, bytes]
Made = tuple[list[bytes], dict[str, int], Kept]


def masks_in_a_process(kept: Kept) -> Made:
    """What all masks come to in a process that has made nothing yet; its counters; and what is in
    its store afterwards.
    """
    artifact.LEAST_GAIN = patternstore.LEAST_GAIN = 0
    store = DictStore()
    store.kept = dict(kept)
    compiler = engine.Compiler(small_vocabulary(), store=store)
    plain = engine.Compiler(small_vocabulary())
    found: list[bytes] = []
    for case in CASES:
        compiled = compile_case(compiler, case)
        found += forwards(compiled, trace(compile_case(plain, case), case).walks)
    return found, compiler.stats(), store.kept


def elsewhere(kept: Kept) -> Made:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as one:
        return one.submit(masks_in_a_process, kept).result()


def patterns_of(kept: Kept) -> Kept:
    return {key: value for key, value in kept.items() if key.startswith(b"patterns/")}


@pytest.fixture(scope="module")
def made() -> Made:
    return elsewhere({})


def test_what_one_process_made_another_takes(
    made: Made,
) -> None:
    masks, stats, kept = made
    assert stats["store_pattern_puts"] == len(patterns_of(kept)) >= len(COSTLY)
    again, taken, after = elsewhere(patterns_of(kept))
    assert again == masks
    assert taken["store_pattern_hits"] >= len(COSTLY)
    assert taken["store_pattern_puts"] == taken["store_pattern_rejected"] == 0
    assert patterns_of(after) == patterns_of(kept)


def test_damaged_patterns_are_made_anew(made: Made) -> None:
    masks, _, kept = made
    damaged = {key: value[:-1] for key, value in patterns_of(kept).items()}
    again, taken, _ = elsewhere(damaged)
    assert again == masks
    assert taken["store_pattern_rejected"] >= len(damaged)
    assert taken["store_pattern_hits"] == 0


def test_bytes_say_all_of_a_fragment(made: Made) -> None:
    for value in patterns_of(made[2]).values():
        assert reread(value[8:]) == value[8:]


def test_no_change_of_a_byte_breaks_the_reader(
    made: Made,
) -> None:
    """What is taken of a changed value is a fragment that is written as it was read."""
    refused = 0
    for value in patterns_of(made[2]).values():
        data = value[8:]
        for at in range(0, len(data), 1 + len(data) // 400):
            for change in (1, 0x7F, 0x80, 0xFF):
                changed = data[:at] + bytes([data[at] ^ change]) + data[at + 1 :]
                found = reread(changed)
                refused += found is None
                assert found is None or reread(found) == found
        assert all(reread(data[:at]) is None for at in range(0, len(data), 1 + len(data) // 100))
        assert reread(data + b"\0") is None
    assert refused


HEAD = b"SYP1" + struct.pack("<I", engine.ARTIFACT_VERSION)
CHARS, SEQ, ALT, REPEAT, GRAPH, BOUNDED = 4, 6, 7, 8, 11, 16
#: one node: the characters a to z
LETTERS = bytes([CHARS, 1, 97, 25])


def written(nodes: list[bytes]) -> bytes:
    count = len(nodes)
    number = bytes([count]) if count < 128 else bytes([count & 127 | 128, count >> 7])
    return HEAD + number + b"".join(nodes)


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("nothing", []),
        ("an unknown kind", [bytes([99])]),
        ("a reference to a rule", [bytes([9, 0])]),
        ("a byte of more than 8 bits", [bytes([2, 1, 0x80, 2])]),
        ("a text without characters", [bytes([3, 0])]),
        ("a surrogate", [bytes([3, 1, 0x80, 0xB0, 3])]),
        ("ranges that meet", [bytes([CHARS, 2, 97, 2, 0, 1])]),
        ("a range past the last character", [bytes([CHARS, 1, 97, 0xFF, 0xFF, 0x7F])]),
        ("a range over the surrogates", [bytes([CHARS, 1, 97, 0x80, 0x80, 4])]),
        ("a child that is itself", [LETTERS, bytes([REPEAT, 0, 0, 0])]),
        ("a child before the first", [LETTERS, bytes([REPEAT, 2, 0, 0])]),
        ("a minimum above the maximum", [LETTERS, bytes([REPEAT, 1, 3, 3])]),
        ("a sequence of one", [LETTERS, bytes([SEQ, 1, 1])]),
        ("a sequence in a sequence", [LETTERS, bytes([SEQ, 2, 1, 1]), bytes([SEQ, 2, 1, 2])]),
        ("an alternative that fails", [LETTERS, bytes([1]), bytes([ALT, 2, 1, 2])]),
        ("an edge to no state", [LETTERS, bytes([GRAPH, 2, 1, 0, 1, 2, 1, 1])]),
        ("a final that is no state", [LETTERS, bytes([GRAPH, 2, 1, 0, 1, 1, 1, 2])]),
        ("a graph without states", [LETTERS, bytes([GRAPH, 0, 0, 0])]),
        ("more edges than bytes", [LETTERS, bytes([GRAPH, 2, 0xFF, 0xFF, 0xFF, 0x7F])]),
        ("nodes too deep", [LETTERS, *[bytes([REPEAT, 1, 0, 2])] * 2_000]),
        ("a count of no graph", [LETTERS, bytes([BOUNDED, 1, 0, 5])]),
    ],
)
def test_what_no_front_end_makes_is_refused(name: str, nodes: list[bytes]) -> None:
    assert reread(written(nodes)) is None


def test_what_a_front_end_makes_is_taken() -> None:
    nodes = [LETTERS, bytes([GRAPH, 2, 1, 0, 1, 1, 1, 1]), bytes([BOUNDED, 1, 0, 5])]
    value = written(nodes)
    assert reread(value) == value
    deep = written([LETTERS, *[bytes([REPEAT, 1, 0, 2])] * 1_999])
    assert reread(deep) == deep
    assert reread(value.replace(b"SYP1", b"SYP2")) is None
    assert reread(HEAD[:4] + struct.pack("<I", engine.ARTIFACT_VERSION + 1) + value[8:]) is None


def test_keys_tell_apart_what_differs() -> None:
    keys: list[tuple[object, ...]] = [
        (1,), (1.0,), ("1",), (True,), (None,), (), ((),), ((1,),), (1, 1), (Decimal("1"),),
        (Decimal("1.0"),), (Fraction(1),), ("a", "b"), ("a', 'b",), ("\ud800",), ("?",),
    ]  # fmt: skip
    found = {name_of(name, key) for key in keys for name in ("strings", "numbers")}
    assert None not in found and len(found) == 2 * len(keys)


def test_what_can_not_be_told_apart_has_no_key() -> None:
    assert name_of("strings", (frozenset("ab"),)) is None
    assert name_of("strings", ((object(),),)) is None


def test_cheap_patterns_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patternstore, "LEAST_GAIN", 5)
    store = DictStore()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.compile_json_schema({"type": "string", "pattern": "^never met before$"})
    assert not patterns_of(store.kept)


# -- audits ----------------------------------------------------------------------------------------
ONE, OTHER = ({"type": "string", "pattern": f"^[{letters}]{{3}}x$"} for letters in ("a-f", "g-k"))


@pytest.fixture
def forgetful() -> Iterator[Callable[[], None]]:
    """Makes this process one that has made nothing."""

    def forget() -> None:
        for table in fragment.TABLES:
            table.forget()

    yield forget
    forget()


def kept_of(schema: dict[str, Any], forget: Callable[[], None]) -> tuple[bytes, bytes]:
    """The key and the value of its pattern."""
    forget()
    store = DictStore()
    engine.Compiler(small_vocabulary(), store=store).compile_json_schema(schema)
    ((key, value),) = patterns_of(store.kept).items()
    return key, value


def takes(compiler: engine.Compiler, text: bytes) -> bool:
    return engine.Matcher(compiler.compile_json_schema(ONE)).accept_bytes(text)


def test_a_true_pattern_passes_an_audit(forgetful: Callable[[], None]) -> None:
    store = DictStore()
    store.kept = dict([kept_of(ONE, forgetful)])
    forgetful()
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=1)
    assert takes(compiler, b'"abcx"') and not takes(compiler, b'"ghix"')
    stats = compiler.stats()
    assert stats["store_pattern_hits"] == stats["store_pattern_audits"] == 1
    assert stats["store_pattern_audit_divergence"] == 0


def test_another_patterns_value_is_found_and_what_came_from_the_store_forgotten(
    forgetful: Callable[[], None],
) -> None:
    """What only who has the key can do; what it bends without an audit shows that it can."""
    (key, _), (_, value) = kept_of(ONE, forgetful), kept_of(OTHER, forgetful)
    store = DictStore()
    store.kept = {key: value}
    forgetful()
    believing = engine.Compiler(small_vocabulary(), store=store)
    assert takes(believing, b'"ghix"')
    forgetful()
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=1)
    assert takes(compiler, b'"abcx"') and not takes(compiler, b'"ghix"')
    assert compiler.stats()["store_pattern_audit_divergence"] == 1
    assert store.kept[key] != value, "it is written anew"
    hits = compiler.stats()["store_pattern_hits"]
    forgetful()
    assert takes(compiler, b'"abcx"')
    assert compiler.stats()["store_pattern_hits"] == hits


def test_a_compile_waits_for_so_many_patterns_only() -> None:
    class Slow(DictStore):
        def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
            time.sleep(0.004)
            return super().get_many(keys)

        def may_have(self, key: bytes) -> bool:
            return True

    properties = {f"p{n}": {"type": "string", "pattern": f"^{n}[a-z]+never$"} for n in range(40)}
    compiler = engine.Compiler(small_vocabulary(), store=Slow())
    misses = compiler.stats()["store_pattern_misses"]
    compiler.compile_json_schema({"type": "object", "properties": properties})
    assert 0 < compiler.stats()["store_pattern_misses"] - misses <= 5


def test_the_patterns_of_a_compile_that_met_a_false_one_are_all_made_here(
    forgetful: Callable[[], None],
) -> None:
    """The first is believed, the second audited; what the first has bent is not kept."""
    third = {"type": "string", "pattern": "^[l-p]{3}x$"}
    (one, _), (other, _), (_, value) = (kept_of(each, forgetful) for each in (ONE, OTHER, third))
    store = DictStore()
    store.kept = {one: value, other: value}
    forgetful()
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=2)
    schema = {"type": "array", "prefixItems": [ONE, OTHER], "minItems": 2, "items": False}
    compiled = compiler.compile_json_schema(schema)
    assert compiler.stats()["store_pattern_audit_divergence"] == 1
    for again in (compiled, compiler.compile_json_schema(schema)):
        assert engine.Matcher(again).accept_bytes(b'["abcx", "ghix"]')
        assert not engine.Matcher(again).accept_bytes(b'["lmnx", ')
    assert takes(compiler, b'"abcx"') and not takes(compiler, b'"lmnx"')


class Hook:
    """Stands among the tables of fragments, and does something when they are emptied."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.forget = work


def test_a_compile_that_begins_while_what_came_from_the_store_is_dropped_keeps_none_of_it(
    forgetful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has taken a false pattern that was still there, and ends when all is dropped."""
    third = {"type": "string", "pattern": "^[l-p]{3}x$"}
    (one, _), (other, _), (_, value) = (kept_of(each, forgetful) for each in (ONE, OTHER, third))
    store = DictStore()
    store.kept = {one: value, other: value}
    forgetful()
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=2)
    assert takes(compiler, b'"lmnx"'), "the first is believed"
    again = {"title": "another spec", **ONE}
    has_taken, all_is_dropped = threading.Event(), threading.Event()
    finish = engine.Compiler._finish

    def finish_late(self: engine.Compiler, grammar: Any) -> engine.Compiled:
        if threading.current_thread() is late:
            has_taken.set()
            assert all_is_dropped.wait(60.0)
        return finish(self, grammar)

    def begin_late() -> None:
        late.start()
        assert has_taken.wait(60.0)

    late = threading.Thread(target=compiler.compile_json_schema, args=(again,))
    monkeypatch.setattr(engine.Compiler, "_finish", finish_late)
    monkeypatch.setattr(fragment, "TABLES", [Hook(begin_late), *fragment.TABLES])
    compiler.compile_json_schema(OTHER)
    assert compiler.stats()["store_pattern_audit_divergence"] == 1
    all_is_dropped.set()
    late.join()
    kept = engine.Matcher(compiler.compile_json_schema(again))
    assert kept.accept_bytes(b'"abcx"')


# -- ahead of time ---------------------------------------------------------------------------------
def test_a_quick_one_is_only_loaded_ahead(
    forgetful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(patternstore, "LEAST_GAIN", 1)
        patch.setattr(patternstore, "READ_NS", 1 << 60)
        patch.setattr(patternstore, "AHEAD_NS", 0)
        patch.setattr(patternstore, "BYTE_NS", 0)
        key, value = kept_of(ONE, forgetful)
    assert key.startswith(patternstore.QUICK)
    for ahead in (0, 1):
        forgetful()
        store = DictStore()
        store.kept = {key: value}
        compiler = engine.Compiler(small_vocabulary(), store=store)
        compiler.prefetch(60.0 * ahead)
        assert takes(compiler, b'"abcx"') and not takes(compiler, b'"ghix"')
        stats = compiler.stats()
        assert stats["store_pattern_hits"] == stats["store_pattern_ahead"] == ahead


def test_nothing_that_was_loaded_ahead_is_used_after_a_difference(
    forgetful: Callable[[], None],
) -> None:
    (one, _), (other, _), (_, value) = (
        kept_of(each, forgetful) for each in (ONE, OTHER, {**ONE, "pattern": "^[l-p]{3}x$"})
    )
    store = DictStore()
    store.kept = {one: value, other: value}
    forgetful()
    compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=1)
    compiler.prefetch(60.0)
    assert compiler.stats()["store_pattern_ahead"] == 2
    compiler.compile_json_schema(OTHER)
    assert compiler.stats()["store_pattern_audit_divergence"] == 1
    assert takes(compiler, b'"abcx"') and not takes(compiler, b'"lmnx"')


def test_what_is_loaded_ahead_is_bounded_and_used_only_when_it_is_taken(
    forgetful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Noting(DictStore):
        def __init__(self) -> None:
            super().__init__()
            self.noted: list[bytes] = []

        def used(self, keys: Sequence[bytes]) -> None:
            self.noted += keys

    (one, value), (other, _) = (kept_of(each, forgetful) for each in (ONE, OTHER))
    forgetful()
    store = Noting()
    store.kept = {one: value, other: value, patternstore.QUICK + b"/" + b"0" * 32: value}
    monkeypatch.setattr(patternstore, "MOST_AHEAD_BYTES", 2 * len(value))
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.prefetch(60.0)
    stats = compiler.stats()
    assert stats["store_pattern_ahead"] == 2
    assert stats["store_pattern_ahead_bytes"] == 2 * len(value)
    assert store.noted == []
    assert takes(compiler, b'"abcx"')
    assert store.noted == [one]
    assert compiler.stats()["store_pattern_ahead_bytes"] == len(value)


# -- costly ones -----------------------------------------------------------------------------------
#: an automaton of some thousand states
COSTLY_ONE = {"type": "string", "pattern": "^[ab]*a[ab]{10}$", "not": {"pattern": "bbb"}}


class Busy(DictStore):
    """Somebody else makes what is asked for, and is done after so many looks."""

    def __init__(self, kept: Kept, looks: int) -> None:
        super().__init__()
        self.theirs, self.looks = kept, looks
        self.claimed: list[bytes] = []

    def claim(self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False) -> list[bool]:
        assert urgent != bool(self.claimed), "nobody waits for the answer to any but the first"
        self.claimed += keys
        if len(self.claimed) == self.looks:
            self.kept.update(self.theirs)
        return [False] * len(keys)


def test_a_costly_one_that_others_are_making_is_waited_for(
    forgetful: Callable[[], None],
) -> None:
    key, value = kept_of(COSTLY_ONE, forgetful)
    forgetful()
    store = Busy({key: value}, looks=3)
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiled = compiler.compile_json_schema(COSTLY_ONE)
    assert store.claimed == [key] * 3
    stats = compiler.stats()
    assert stats["store_pattern_hits"] == stats["store_pattern_waited"] == 1
    assert stats["store_pattern_puts"] == 0
    assert engine.Matcher(compiled).accept_bytes(b'"aa' + b"ab" * 5 + b'"')
    assert not engine.Matcher(compiled).accept_bytes(b'"ab' + b"ab" * 5 + b'"')


def test_what_others_have_just_made_is_audited_too(forgetful: Callable[[], None]) -> None:
    (key, _), (_, false) = kept_of(COSTLY_ONE, forgetful), kept_of(OTHER, forgetful)
    for audit_every, divergence in ((0, 0), (1, 1)):
        forgetful()
        store = Busy({key: false}, looks=2)
        compiler = engine.Compiler(small_vocabulary(), store=store, audit_every=audit_every)
        compiled = compiler.compile_json_schema(COSTLY_ONE)
        is_true = engine.Matcher(compiled).accept_bytes(b'"aa' + b"ab" * 5 + b'"')
        assert is_true == bool(audit_every), "who has the key is believed, but for audits"
        assert compiler.stats()["store_pattern_audit_divergence"] == divergence


def test_a_long_list_of_texts_is_costly(forgetful: Callable[[], None]) -> None:
    barred = {
        "type": "string",
        "not": {"enum": [f"text {n}" for n in range(2_000)]},
        "minLength": 1,
    }
    key, value = kept_of(barred, forgetful)
    forgetful()
    store = Busy({key: value}, looks=2)
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.compile_json_schema(barred)
    assert store.claimed == [key] * 2 and compiler.stats()["store_pattern_hits"] == 1


def test_who_waits_in_vain_makes_it(
    forgetful: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patternstore, "MOST_WAIT_SECONDS", 0.05)
    forgetful()
    store = Busy({}, looks=1)
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiled = compiler.compile_json_schema(COSTLY_ONE)
    assert engine.Matcher(compiled).accept_bytes(b'"aa' + b"ab" * 5 + b'"')
    assert len(store.claimed) > 1 and compiler.stats()["store_pattern_puts"] == 1


def test_who_makes_it_gives_the_lease_back_when_it_fails(
    forgetful: Callable[[], None],
) -> None:
    class Leasing(DictStore):
        def __init__(self) -> None:
            super().__init__()
            self.leased: list[bytes] = []

        def claim(
            self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False
        ) -> list[bool]:
            self.leased += keys
            return [True] * len(keys)

        def release(self, keys: Sequence[bytes]) -> None:
            for key in keys:
                self.leased.remove(key)

    forgetful()
    store = Leasing()
    limits = engine.Limits(pattern_states=1_200)
    compiler = engine.Compiler(small_vocabulary(), store=store, limits=limits)
    with pytest.raises(engine.LimitExceeded, match="pattern_states"):
        compiler.compile_json_schema(COSTLY_ONE)
    assert store.leased == [] and not patterns_of(store.kept)


def test_of_many_costly_ones_each_is_made_by_one(forgetful: Callable[[], None]) -> None:
    """Asking takes some milliseconds, as with a busy Redis; each costly one is asked for."""

    class Far(DictStore):
        def __init__(self) -> None:
            super().__init__()
            self.claimed: set[bytes] = set()

        def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
            time.sleep(0.003)
            return super().get_newest(keys)

        def claim(
            self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False
        ) -> list[bool]:
            time.sleep(0.003)
            self.claimed |= set(keys)
            return [True] * len(keys)

    forgetful()
    store = Far()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    properties = {
        letter: {
            "type": "string",
            "pattern": f"^[a{letter}]*a[a{letter}]{{10}}$",
            "not": {"pattern": 3 * letter},
        }
        for letter in "bcdefghijk"
    }
    compiler.compile_json_schema({"type": "object", "properties": properties})
    assert len(store.claimed) == len(properties)
