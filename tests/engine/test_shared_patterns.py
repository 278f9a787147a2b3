"""Patterns that one process made serve another; what does not fit is refused."""

import struct
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import pytest

import engine
from engine import artifact
from engine.frontends import shared_patterns
from engine.frontends.fragmentbytes import reread
from engine.frontends.shared_patterns import name_of
from tests.engine.cases import SCHEMAS, Case
from tests.engine.harness import compile_case
from tests.engine.memory_log import MemoryLog, loaded
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
    artifact.LEAST_GAIN = shared_patterns.LEAST_GAIN = 0
    store = MemoryLog()
    store.kept = dict(kept)
    compiler = loaded(store.redis, small_vocabulary())
    plain = engine.Compiler(small_vocabulary())
    found: list[bytes] = []
    for case in CASES:
        compiled = compile_case(compiler, case)
        found += forwards(compiled, trace(compile_case(plain, case), case).walks)
    compiler.flush()
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
    assert stats["shared_patterns_published"] == len(patterns_of(kept)) >= len(COSTLY)
    again, taken, after = elsewhere(patterns_of(kept))
    assert again == masks
    assert taken["shared_patterns_used"] >= len(COSTLY)
    assert taken["shared_patterns_published"] == taken["shared_patterns_refused"] == 0
    assert patterns_of(after) == patterns_of(kept)


def test_damaged_patterns_are_made_anew(made: Made) -> None:
    masks, _, kept = made
    damaged = {key: value[:-1] for key, value in patterns_of(kept).items()}
    again, taken, _ = elsewhere(damaged)
    assert again == masks
    assert taken["shared_patterns_refused"] >= len(damaged)
    assert taken["shared_patterns_used"] == 0


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
    monkeypatch.setattr(shared_patterns, "LEAST_GAIN", 5)
    store = MemoryLog()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.compile_json_schema({"type": "string", "pattern": "^never met before$"})
    compiler.flush()
    assert not patterns_of(store.kept)
