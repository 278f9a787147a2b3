"""The short way for plain schemas finds what the long way finds, and a grammar keeps nothing of its schemas."""

import sys
from typing import Any

import pytest
from hypothesis import given, settings

from engine.errors import LimitExceeded, SpecError
from engine.frontends.json_schema import build_json_schema
from engine.grammar import ir
from engine.grammar.ir import Grammar
from engine.limits import Limits
from tests.engine.frontends.random_schemas import nested

MAPS = ("properties", "$defs")
LISTS = ("prefixItems", "anyOf", "oneOf", "allOf")
SINGLE = ("items", "additionalProperties")

# colours tell nodes apart that differ within this many steps
ROUNDS = 20


def looked_into(schema: Any) -> Any:
    """The same schema, with a keyword everywhere that keeps it from being plain."""
    if not isinstance(schema, dict) or "$ref" in schema:
        return schema
    made = dict(schema)
    for keyword in MAPS:
        if keyword in made:
            made[keyword] = {name: looked_into(each) for name, each in made[keyword].items()}
    for keyword in LISTS:
        if keyword in made:
            made[keyword] = [looked_into(each) for each in made[keyword]]
    for keyword in SINGLE:
        if keyword in made:
            made[keyword] = looked_into(made[keyword])
    return {**made, "allOf": [*made.get("allOf", []), True]}


def outcome(schema: Any, limits: Limits | None = None) -> Any:
    grammar = Grammar(limits)
    try:
        node = build_json_schema(grammar, schema)
    except (SpecError, LimitExceeded) as error:
        return type(error), str(error)
    return grammar.nodes[node], list(grammar.nodes), grammar.rules, grammar.rule_names


def meaning(schema: Any) -> Any:
    """As ``outcome``, whatever the order in which nodes and rules were made, and how often the same
    rule was: nodes that mean the same get the same colour.
    """
    grammar = Grammar()
    try:
        root = build_json_schema(grammar, schema)
    except (SpecError, LimitExceeded) as error:
        return type(error), str(error)
    nodes, rules = list(grammar.nodes), grammar.rules
    colours = [0] * len(nodes)
    for _ in range(ROUNDS):
        colours = [hash(colour(node, colours, rules)) for node in nodes]
    return colours[root], sorted(set(grammar.rule_names))


def colour(node: tuple, colours: list[int], rules: list[int]) -> tuple:
    kind, *fields = node
    if kind == ir.REF:
        return kind, colours[rules[fields[0]]]
    below = [colours[child] for child in ir.children(node)]
    if kind == ir.ALT:
        return kind, *sorted(below)
    if kind == ir.SEQ:
        return kind, *below
    if kind == ir.TEXT_EXCEPT:
        return kind, colours[rules[fields[0]]], fields[1]
    if kind in (ir.REPEAT, ir.BOUNDED):
        return kind, *below, *fields[1:]
    if kind == ir.GRAPH:
        edges = frozenset((source, colours[child], target) for source, child, target in fields[1])
        return kind, fields[0], edges, fields[2]
    if kind == ir.OBJECT:
        members = tuple((name, required) for name, _, required in fields[0])
        return kind, members, *below, *fields[3:]
    return kind, *fields


def under(schema: Any) -> dict[str, Any]:
    """In all places where a plain schema may stand."""
    return {
        "type": "object",
        "properties": {"a": schema, "b": {"type": "array", "items": schema}, "c": schema},
        "additionalProperties": schema,
    }


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "integer"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "null"},
        {"type": "string", "description": "an annotation"},
        {"type": ["string", "null"]},
        {"enum": ["a", "b"]},
        {"type": "string", "enum": ["a", "b", "a"]},
        {"type": "string", "enum": ["a", 1]},
        {"type": "integer", "enum": ["a", 1]},
        {"type": "string", "enum": [1]},
        {"type": "string", "enum": []},
        {"enum": [""]},
        {"enum": ["a", "\ud800"]},
        {"enum": "a"},
        {"type": "text", "enum": ["a"]},
        {"type": "text"},
        {"type": "string", "enum": ["a"], "const": "a"},
    ],
    ids=str,
)
def test_a_plain_schema_means_what_a_closer_look_finds(schema: Any) -> None:
    assert outcome(under(schema)) == outcome(looked_into(under(schema)))


@pytest.mark.campaign
@settings(deadline=None, max_examples=300)
@given(nested)
def test_random_schemas_mean_what_a_closer_look_finds(schema: Any) -> None:
    document = {"allOf": [schema], "$defs": {"x": {"type": "boolean"}, "y": {"enum": ["a", "é"]}}}
    assert meaning(document) == meaning(looked_into(document))


@pytest.mark.parametrize("values", [3, 4])
def test_listed_strings_count_as_checked_at_the_bound_and_past_it(values: int) -> None:
    schema = {"type": "string", "enum": [f"v{n}" for n in range(values)]}
    document = {"type": "object", "properties": {"a": schema}}
    limits = Limits(value_checks=3)
    assert outcome(document, limits) == outcome(looked_into(document), limits)
    if values == 3:
        build_json_schema(Grammar(limits), document)
    else:
        with pytest.raises(LimitExceeded) as raised:
            build_json_schema(Grammar(limits), document)
        assert raised.value.pointer == "/properties/a/enum"


def test_a_grammar_lets_go_of_its_schemas_and_still_names_their_places() -> None:
    leaf = {"type": "string", "minLength": 2}
    inner = {"type": "object", "properties": {"x": leaf, "y": {"enum": ["a", 1]}}}
    schema = {"type": "object", "properties": {"in~ner": inner, "flag": {"type": "boolean"}}}
    parts = (schema, inner, leaf)
    before = [sys.getrefcount(part) for part in parts]
    grammar = Grammar()
    build_json_schema(grammar, schema)
    assert [sys.getrefcount(part) for part in parts] == before
    assert {
        "/",
        "/properties/in~0ner",
        "/properties/in~0ner/properties/x",
        "/properties/in~0ner/properties/y",
        "/properties/flag",
    } <= set(grammar.rule_names)


def test_a_grammar_that_left_its_front_end_is_held_by_nothing_of_its_own() -> None:
    grammar = Grammar()
    before = sys.getrefcount(grammar)
    node = build_json_schema(grammar, {"type": "object"})
    grammar.root = grammar.rule("root", node)
    grammar.check()
    assert sys.getrefcount(grammar) == before
