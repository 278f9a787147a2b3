"""Large graphs of characters: built state by state, and named alike in all grammars."""

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.grammar.ir import ANY_CHAR, Grammar
from engine.inspection.values import Rule
from engine.limits import Limits
from engine.runtime.compiled import Compiled
from tests.engine.harness import masks_along, walk_beside
from tests.reference import Recogniser
from tests.vocabularies import small_vocabulary

KEYS: dict[str, Any] = {
    "type": "object",
    "properties": {"id": {"type": "string"}},
    "patternProperties": {"^[a-zA-Z0-9_-]{1,255}$": {"type": "integer"}},
    "additionalProperties": False,
}
LONG = {"type": "string", "pattern": r"^(\w+[ .])*\w{1,200}$", "maxLength": 250}
NAMES = ("a", "name", "x" * 40, "A-b_c")


def graphs(compiled: engine.Compiled) -> list[Rule]:
    """The rules that are graphs, or patterns with a length."""
    return [rule for rule in engine.inspect(compiled).rules if rule.kind in ("graph", "bounded")]


def states_of(compiled: engine.Compiled) -> int:
    return len(engine.inspect(compiled).states)


def texts(schema: Any) -> list[bytes]:
    values: list[Any] = [{name: 1} for name in NAMES] if schema is KEYS else [*NAMES, "a b.c"]
    return [json.dumps(value).encode() for value in values]


@pytest.mark.parametrize("schema", [KEYS, LONG], ids=["keys", "length"])
def test_only_visited_states_are_built(schema: Any) -> None:
    """REGRESSION: all 13,000 states of such a key were built for the first mask, in 10 ms."""
    compiled = engine.Compiler(small_vocabulary()).compile_json_schema(schema)
    assert graphs(compiled)
    masks_along(compiled, texts(schema))
    assert {rule.automaton for rule in graphs(compiled)} <= {"lazy", "unvisited"}
    assert states_of(compiled) < 1_500


@pytest.mark.parametrize("schema", [KEYS, LONG], ids=["keys", "length"])
def test_token_masks_do_not_depend_on_the_order_of_visits(schema: Any) -> None:
    """Two grammars of one compiler share the token masks of a graph, whose states they visit in
    different orders.
    """
    wanted = masks_along(
        engine.Compiler(small_vocabulary()).compile_json_schema(schema), texts(schema)
    )
    compiler = engine.Compiler(small_vocabulary())
    other = {"anyOf": [{"type": "array", "items": schema}, {"type": "boolean"}]}
    masks_along(
        compiler.compile_json_schema(other), [b"[" + text for text in reversed(texts(schema))]
    )
    found = masks_along(compiler.compile_json_schema(schema), texts(schema))
    assert found == wanted
    assert compiler.stats()["token_mask_hits"] > 0


def spread(grammar: Grammar, length: int) -> Any:
    """A graph with two edges for each character of a chain: states between characters are sets."""
    wide = grammar.json_chars(ANY_CHAR)
    letters = grammar.json_chars(((0x61, 0x7A), (0xE9, 0xE9)))
    edges = [(at, wide, at + 1) for at in range(length)]
    edges += [(at, letters, at) for at in range(length)]
    # a class without characters, and a dead end
    edges += [(0, grammar.json_chars(()), length), (0, letters, length + 1)]
    return grammar.graph(length + 2, edges, [length, length // 2])


def mixed(grammar: Grammar, length: int) -> Any:
    """A graph where a backslash is a character as written, and begins spellings of others."""
    edges = [(at, grammar.json_chars(((0x61, 0x7A), (0xC0, 0xE9))), at + 1) for at in range(length)]
    edges += [(at, grammar.chars(((0x5C, 0x5C),)), at + 1) for at in range(length)]
    return grammar.graph(length + 1, edges, [length, 3])


def compile_graph(graph: Callable[[Grammar, int], Any]) -> Compiled:
    """A string whose inside is a graph of 180 characters."""
    grammar = Grammar()
    quote = grammar.bytes(b'"')
    grammar.root = grammar.rule("root", grammar.seq(quote, graph(grammar, 180), quote))
    return Compiled(
        small_vocabulary(),
        grammar,
        limits=Limits(),
        features=engine.Features(),
        table=None,
        automata_table=None,
    )


def test_states_may_be_sets() -> None:
    compiled = compile_graph(spread)
    assert [rule.kind for rule in graphs(compiled)] == ["graph"]
    walk_beside(compiled, Recogniser(compiled.grammar), random.Random("sets"), walks=6, length=60)


def test_a_character_may_begin_the_spelling_of_another() -> None:
    """REGRESSION: of such edges, the longer spellings were left out."""
    compiled = compile_graph(mixed)
    assert graphs(compiled) == []
    for inside in (rb"abc", rb"\ua", rb"\u00e9bc", rb"a\u0061\u00E9", rb"\u0061\\"):
        assert engine.Matcher(compiled).accept_bytes(b'"' + inside + b'"'), inside


def test_copies_of_a_graph_count_as_edges() -> None:
    """REGRESSION: without registers, the copies of a large graph were taken for references: a
    compile was accepted, and its first mask took seconds or exceeded a limit.
    """
    features = engine.Features(count_registers=False)
    with pytest.raises(engine.LimitExceeded, match="rule_edges"):
        engine.Compiler(small_vocabulary(), features=features).compile_json_schema(LONG)
