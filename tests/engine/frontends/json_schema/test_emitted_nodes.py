"""The IR has the shapes that the engine is quick with: counts stay counts, and equal things are one rule."""

from typing import Any

import pytest

from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import (
    ANY_CHAR,
    JSON_CHARS,
    OBJECT,
    REF,
    REPEAT,
    SEQ,
    Grammar,
    Node,
    children,
)


def made(schema: Any, grammar: Grammar | None = None, **options: Any) -> tuple[Grammar, Node]:
    grammar = grammar or Grammar()
    return grammar, build_json_schema(grammar, schema, **options)


def below(grammar: Grammar, node: Node) -> list[tuple]:
    """All nodes below, rules included."""
    seen, todo = {node}, [node]
    for at in todo:
        kind, *fields = grammar.nodes[at]
        for child in (grammar.rules[fields[0]],) if kind == REF else children(grammar.nodes[at]):
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return [grammar.nodes[n] for n in todo]


@pytest.mark.parametrize(
    ("schema", "minimum", "maximum"),
    [
        ({"type": "string", "maxLength": 65_536}, 0, 65_536),
        ({"type": "string", "minLength": 5}, 5, -1),
        ({"type": "string", "pattern": "^[a-z]{1,4000}$"}, 1, 4_000),
        (
            {"type": "string", "pattern": "^[a-z]{1,4000}$", "minLength": 3, "maxLength": 900},
            3,
            900,
        ),
        ({"type": "string", "pattern": "^#.*$", "maxLength": 5_000}, 0, 4_999),
        ({"type": "string", "pattern": "^.{0,65536}$", "minLength": 1}, 1, 65_536),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 3, "maxItems": 9_000},
            2,
            8_999,
        ),
        (
            {
                "type": "array",
                "prefixItems": [{}, {}],
                "items": {"type": "null"},
                "maxItems": 9_000,
            },
            0,
            8_998,
        ),
    ],
)
def test_a_count_stays_one_repetition(schema: dict, minimum: int, maximum: int) -> None:
    grammar, node = made(schema)
    assert len(grammar.nodes) < 120
    assert any(n[0] == REPEAT and n[2:] == (minimum, maximum) for n in below(grammar, node))


def test_unconstrained_strings_share_one_body() -> None:
    grammar, _ = made({"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}})
    bodies = [n for n, node in enumerate(grammar.nodes) if node == (JSON_CHARS, ANY_CHAR)]
    stars = [
        n
        for n, node in enumerate(grammar.nodes)
        if node[0] == REPEAT and node[1] in bodies and node[2:] == (0, -1)
    ]
    assert len(stars) == 1
    assert grammar.rules.count(stars[0]) == 1


def test_shared_rules_are_made_once_for_all_schemas_of_a_grammar() -> None:
    grammar, first = made({"type": "object", "properties": {"a": {"type": "string"}}})
    rules, nodes = len(grammar.rules), len(grammar.nodes)
    _, second = made({"type": "object", "properties": {"a": {"type": "string"}}}, grammar)
    assert len(grammar.rules) == rules + 1
    assert len(grammar.nodes) == nodes + 1
    assert grammar.rules[grammar.nodes[first][1]] == grammar.rules[grammar.nodes[second][1]]


def test_ways_of_writing_white_space_do_not_mix() -> None:
    grammar, _ = made({"type": "array"})
    _, compact = made({"type": "array"}, grammar, whitespace="compact")
    assert not any(node[0] == REPEAT and node[2:] == (0, 20) for node in below(grammar, compact))


def test_equal_members_are_one_rule() -> None:
    one = {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "additionalProperties": False,
    }
    schema = {"anyOf": [{**one, "required": ["query"]}, one, {**one, "minProperties": 1}]}
    for any_order in (False, True):
        grammar, node = made(schema, any_order=any_order)
        values = {n[1][0][1] for n in below(grammar, node) if n[0] == OBJECT}
        assert len(values) == 1


def test_a_place_referred_to_twice_is_one_rule() -> None:
    grammar, _ = made(
        {
            "$defs": {"x": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}}},
            "properties": {"p": {"$ref": "#/$defs/x"}, "q": {"$ref": "#/$defs/x"}},
        }
    )
    assert (
        sum(name in ("/properties/p", "/properties/q", "/$defs/x") for name in grammar.rule_names)
        <= 3
    )
    assert len(set(grammar.rules)) == len(grammar.rules)


def test_an_object_is_one_node_whatever_its_keys() -> None:
    few, many = (
        made({"properties": {f"k{n}": {"type": "string"} for n in range(keys)}, "type": "object"})[
            0
        ]
        for keys in (1, 500)
    )
    assert len(few.nodes) == len(many.nodes)
    assert len(few.rules) == len(many.rules)


def test_all_strings_of_an_enum_share_their_quotes() -> None:
    grammar, node = made({"enum": [f"value {n}" for n in range(100)]})
    quotes = [n for n in below(grammar, node) if n[0] == SEQ]
    assert len(quotes) == 1


def test_rules_are_defined_and_children_come_first() -> None:
    grammar, node = made({"$defs": {"x": {"items": {"$ref": "#/$defs/x"}}}, "$ref": "#/$defs/x"})
    grammar.root = grammar.rule("root", node)
    grammar.check()
    for number, each in enumerate(grammar.nodes):
        assert all(child < number for child in children(each))
