"""Automata that one process built serve another; damaged ones are refused."""

import random
from typing import Any

import pytest

import engine
from engine import automatonbytes
from engine.drafttable import DraftTable
from tests.engine.harness import masks_along
from tests.engine.memory_log import MemoryLog, Redis, loaded
from tests.engine.test_artifact import Left, number
from tests.vocabularies import small_vocabulary

#: costly to build: a format, a pattern in the midst of any text, a class of characters counted
MAIL: dict[str, Any] = {"type": "string", "format": "email"}
SEARCHED: dict[str, Any] = {"type": "string", "pattern": "ab.*cd[^e]{2,4}f"}
COUNTED: dict[str, Any] = {
    "type": "string",
    "pattern": "^\\p{L}+( \\p{L}+)*$",
    "minLength": 3,
    "maxLength": 200,
}
SCHEMAS = (MAIL, SEARCHED, COUNTED)
TEXTS = (b'"a.b@c.de"', '"xabä-cdghf"'.encode(), '"aä b"'.encode())

Kept = dict[bytes, bytes]


def automata_of(kept: Kept) -> Kept:
    return {key: value for key, value in kept.items() if key.startswith(automatonbytes.STORE_GROUP)}


def built(*schemas: dict[str, Any]) -> Kept:
    """The automata that a compiler hands over."""
    store = MemoryLog()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.flush()
    before = set(automata_of(store.kept))
    for schema in schemas:
        walk(compiler, schema)
    compiler.flush()
    return {key: value for key, value in automata_of(store.kept).items() if key not in before}


States = list[tuple[int, list[tuple[int, int, int]]]]  # flags; low, high and target of each edge
FINAL, LOOP, HEAD_BYTES = 1, 2, 16


def digest_of(key: bytes) -> bytes:
    return bytes.fromhex(key.rpartition(b"/")[2].decode())


def states_of(value: bytes) -> States:
    """As they are told in automatonbytes' header."""
    left, states = Left(value[HEAD_BYTES:]), []
    for _ in range(left.number()):
        flags, edges, behind = left.number(), [], 0
        for _ in range(left.number()):
            low = behind + left.number()
            high = low + left.number()
            edges.append((low, high, left.number()))
            behind = high + 1
        states.append((flags, edges))
    assert left.at == len(left.data)
    return states


def value_of(head: bytes, states: States) -> bytes:
    out = bytearray(head + number(len(states)))
    for flags, edges in states:
        out += number(flags) + number(len(edges))
        behind = 0
        for low, high, target in edges:
            out += number(low - behind) + number(high - low) + number(target)
            behind = high + 1
    return bytes(out)


def walk(compiler: engine.Compiler, schema: dict[str, Any]) -> list[bytes]:
    return masks_along(compiler.compile_json_schema(schema), TEXTS)


def warmed(kept: Kept, **options: Any) -> engine.Compiler:
    store = MemoryLog(Redis())
    store.kept = dict(kept)
    return loaded(store.redis, small_vocabulary(), **options)


@pytest.fixture(scope="module")
def kept() -> Kept:
    return built(*SCHEMAS)


def test_what_one_process_built_another_takes(kept: Kept) -> None:
    assert len(kept) == len(SCHEMAS)
    plain = engine.Compiler(small_vocabulary())
    compiler = warmed(kept)
    stats = compiler.stats()
    assert stats["shared_automata_loaded"] == len(kept) and stats["shared_automata_saved_ns"] > 0
    for schema in SCHEMAS:
        assert walk(compiler, schema) == walk(plain, schema)
    made = compiler.stats()["automaton_made"] - stats["automaton_made"]
    assert made == plain.stats()["automaton_made"] - stats["automaton_made"] - len(kept)


def test_cheap_ones_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.automatonbytes.LEAST_GAIN", 1 << 40)
    assert built(MAIL) == {}


def test_bytes_say_all_of_an_automaton(kept: Kept) -> None:
    """Loaded, it has the flags, edges and targets of the one that was built."""
    table = DraftTable(1 << 26)
    for key, value in kept.items():
        took = automatonbytes.load(table, digest_of(key), value)
        assert took >= 0 and table.knows(digest_of(key))
        states = states_of(value)
        assert any(flags & FINAL for flags, _ in states)
        assert value_of(value[:HEAD_BYTES], states) == value
    assert any(flags & LOOP for value in kept.values() for flags, _ in states_of(value))


def test_damaged_ones_are_refused(kept: Kept) -> None:
    table = DraftTable(1 << 26)
    for value in kept.values():
        for damaged in (
            b"", value[:16], value[:-1], value + b"\0", b"SYA2" + value[4:],
            value[:4] + b"\xff" + value[5:], value[:16] + b"\0", value[:16] + b"\xff" * 5,
        ):  # fmt: skip
            assert automatonbytes.load(table, bytes(16), damaged) == -1
    assert table.stats()["automata"] == 0


def test_states_without_a_way_in_or_out_are_refused(kept: Kept) -> None:
    """Who walks in an automaton counts on reaching its end from everywhere."""
    for key, value in kept.items():
        head, states = value[:HEAD_BYTES], states_of(value)
        at = next(at for at, (flags, edges) in enumerate(states) if edges and not flags & FINAL)
        flags, edges = states[at]
        onto_itself = [(low, high, at) for low, high, _ in edges]
        for name, changed in (
            ("a state that nobody reaches", [*states, (FINAL, [])]),
            ("many of them", [*states, *[(0, [])] * 1000]),
            ("a dead end", [*states[:at], (flags, []), *states[at + 1 :]]),
            ("a circle", [*states[:at], (flags, onto_itself), *states[at + 1 :]]),
            ("no end at all", [(flags & ~FINAL, edges) for flags, edges in states]),
        ):
            table = DraftTable(1 << 26)
            assert automatonbytes.load(table, digest_of(key), value_of(head, changed)) == -1, name
            assert table.stats()["automata"] == 0


def test_no_change_breaks_what_walks_in_it(kept: Kept) -> None:
    """What is taken of a changed value is an automaton, if another one."""
    chance, taken = random.Random(7), 0
    for schema_of, (key, value) in zip(SCHEMAS, kept.items(), strict=True):
        for _ in range(60):
            states = states_of(value)
            for _ in range(chance.choice((1, 2, 5))):
                change(chance, states)
            compiler = warmed({key: value_of(value[:HEAD_BYTES], states)})
            taken += compiler.stats()["shared_automata_loaded"]
            for schema in SCHEMAS:
                walk(compiler, schema)
            compiler.compile_json_schema(schema_of).prepare(16)
    assert taken > 10


def change(chance: random.Random, states: "States") -> None:
    """An edge's target or bytes, a state's flags."""
    at = chance.randrange(len(states))
    flags, edges = states[at]
    if not edges or chance.random() < 0.2:
        states[at] = chance.randrange(4), edges
        return
    k = chance.randrange(len(edges))
    low, high, target = edges[k]
    if chance.random() < 0.3:
        high = chance.randrange(low, high + 1)
    else:
        target = chance.randrange(len(states))
    states[at] = flags, [*edges[:k], (low, high, target), *edges[k + 1 :]]


def test_one_that_counts_is_not_taken_for_one_that_does_not() -> None:
    """Their states mean different things to who walks in them."""
    truth = walk(engine.Compiler(small_vocabulary()), MAIL)
    ((mail, _),), ((_, counting),) = built(MAIL).items(), built(COUNTED).items()
    compiler = warmed({mail: counting})
    assert compiler.stats()["shared_automata_loaded"] == 1
    assert walk(compiler, MAIL) == truth
