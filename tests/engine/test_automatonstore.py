"""Automata that one process built serve another; a false one is found."""

import random
from typing import Any

import pytest

import engine
from engine import automatonbytes, exchange
from engine.drafttable import DraftTable
from tests.engine.harness import DictStore, new_mask
from tests.engine.test_exchange import wait_for
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
    store = DictStore()
    compiler = engine.Compiler(small_vocabulary(), store=store)
    compiler.flush()
    before = set(automata_of(store.kept))
    for schema in schemas:
        walk(compiler, schema)
    compiler.flush()
    return {key: value for key, value in automata_of(store.kept).items() if key not in before}


def walk(compiler: engine.Compiler, schema: dict[str, Any]) -> list[bytes]:
    """The masks along each text, as far as it is accepted."""
    compiled, found = compiler.compile_json_schema(schema), []
    for text in TEXTS:
        matcher, mask = engine.Matcher(compiled), new_mask(compiler.vocabulary)
        for byte in text:
            matcher.fill_bitmask(mask)
            found.append(mask.tobytes())
            if not matcher.accept_bytes(bytes([byte])):
                break
    return found


def warmed(kept: Kept, **options: Any) -> engine.Compiler:
    store = DictStore()
    store.kept = dict(kept)
    compiler = engine.Compiler(small_vocabulary(), store=store, **options)
    compiler.prefetch(60.0)
    return compiler


@pytest.fixture(scope="module")
def kept() -> Kept:
    return built(*SCHEMAS)


def test_what_one_process_built_another_takes(kept: Kept) -> None:
    assert len(kept) == len(SCHEMAS)
    plain = engine.Compiler(small_vocabulary())
    compiler = warmed(kept)
    stats = compiler.stats()
    assert stats["store_automaton_hits"] == len(kept) and stats["store_automaton_saved_ns"] > 0
    for schema in SCHEMAS:
        assert walk(compiler, schema) == walk(plain, schema)
    made = compiler.stats()["automaton_made"] - stats["automaton_made"]
    assert made == plain.stats()["automaton_made"] - stats["automaton_made"] - len(kept)


def test_what_was_loaded_is_not_handed_over_again(kept: Kept) -> None:
    compiler = warmed(kept)
    compiler.flush()
    before = compiler.stats()["store_automaton_puts"]
    walk(compiler, MAIL)
    compiler.flush()
    assert compiler.stats()["store_automaton_puts"] == before


def test_cheap_ones_are_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.automatonbytes.LEAST_GAIN", 1 << 40)
    assert built(MAIL) == {}


def test_bytes_say_all_of_an_automaton(kept: Kept) -> None:
    one, other = DraftTable(1 << 26), DraftTable(1 << 26)
    for key, value in kept.items():
        digest = bytes.fromhex(key.rpartition(b"/")[2].decode())
        took = automatonbytes.load(one, digest, value)
        assert took >= 0 and one.knows(digest)
        assert automatonbytes.load(other, digest, value) == took
    assert automatonbytes.count_differing(one, other) == (0, len(kept))


def test_damaged_ones_are_refused(kept: Kept) -> None:
    table = DraftTable(1 << 26)
    for value in kept.values():
        for damaged in (
            b"", value[:16], value[:-1], value + b"\0", b"SYA2" + value[4:],
            value[:4] + b"\xff" + value[5:], value[:16] + b"\0", value[:16] + b"\xff" * 5,
        ):  # fmt: skip
            assert automatonbytes.load(table, bytes(16), damaged) == -1
    assert table.stats()["automata"] == 0


def test_no_change_of_a_byte_breaks_what_walks_in_it(kept: Kept) -> None:
    """What is taken of a changed value is an automaton, if another one."""
    chance, taken = random.Random(7), 0
    for key, value in kept.items():
        for _ in range(60):
            at = chance.randrange(16, len(value))
            changed = value[:at] + bytes([chance.randrange(256)]) + value[at + 1 :]
            compiler = warmed({key: changed})
            taken += compiler.stats()["store_automaton_hits"]
            for schema in SCHEMAS:
                walk(compiler, schema)
    assert taken > 0


def test_one_that_counts_is_not_taken_for_one_that_does_not() -> None:
    """Their states mean different things to who walks in them."""
    truth = walk(engine.Compiler(small_vocabulary()), MAIL)
    ((mail, _),), ((_, counting),) = built(MAIL).items(), built(COUNTED).items()
    compiler = warmed({mail: counting})
    assert compiler.stats()["store_automaton_hits"] == 1
    assert walk(compiler, MAIL) == truth


def test_a_false_one_is_found_and_nothing_of_the_store_stays_in_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What only who has the key can do; what it bends without an audit shows that it can."""
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    ((mail, _),), ((_, false),) = built(MAIL).items(), built(SEARCHED).items()
    truth = walk(engine.Compiler(small_vocabulary()), MAIL)
    assert walk(warmed({mail: false}), MAIL) != truth
    compiler = warmed({mail: false}, audit_every=1)
    compiler.compile_json_schema(MAIL)
    wait_for(lambda: compiler.stats()["store_audit_divergence"] > 0)
    wait_for(lambda: compiler.epoch > 1)
    assert walk(compiler, MAIL) == truth


def test_true_ones_pass_an_audit(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "HAND_OVER_SECONDS", 0.01)
    compiler = warmed(kept, audit_every=1)
    compiler.compile_json_schema(MAIL)
    wait_for(lambda: compiler.stats()["store_audits"] > 0)
    stats = compiler.stats()
    assert stats["store_audit_compared"] > 0 and stats["store_audit_divergence"] == 0
