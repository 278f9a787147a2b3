"""Parts that no other keyword evaluates: unevaluatedProperties and unevaluatedItems, through every applicator."""

from typing import Any

import pytest

from tests.engine.frontends.accepting import check, check_table

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
D2019 = "https://json-schema.org/draft/2019-09/schema"


def closed(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", "unevaluatedProperties": False, **keywords}


def has(name: str, schema: Any = True) -> dict[str, Any]:
    return {"properties": {name: schema}}


def must(name: str) -> dict[str, Any]:
    return {"properties": {name: True}, "required": [name]}


MEMBERS = [
    (closed(), "{}", '{"a":1}'),
    ({"unevaluatedProperties": False}, "1 {} []", '{"a":1}'),
    ({"type": "object", "unevaluatedProperties": INTEGER}, '{} {"a":1}', '{"a":"x"}'),
    (closed(properties={"a": INTEGER}), '{} {"a":1}', '{"a":"x"} {"b":1}'),
    (closed(patternProperties={"^a": True}), '{} {"ab":1}', '{"b":1}'),
    (closed(properties={"c": {}}, patternProperties={"^a": True}), '{"c":1,"ab":1}', '{"b":1}'),
    ({"type": "object", "properties": {"a": {}}, "unevaluatedProperties": INTEGER}, '{"a":"x","b":1}', '{"b":"x"}'),
    (closed(additionalProperties=True), '{"a":1}', "1"),
    (closed(additionalProperties=STRING), '{"a":"x"}', '{"a":1}'),
    (closed(allOf=[has("a"), has("b")]), '{} {"a":1,"b":1}', '{"c":1} {"a":1,"c":1}'),
    (closed(**{"$ref": "#/$defs/x", "$defs": {"x": has("a")}}, properties={"b": {}}), '{} {"b":1,"a":1}', '{"c":1}'),
    (closed(**{"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x", **has("a")}}}), '{} {"a":1}', '{"c":1}'),
    (closed(anyOf=[must("a"), must("b")]), '{"a":1} {"b":1} {"a":1,"b":1}', '{} {"a":1,"c":1} {"c":1}'),
    (closed(anyOf=[has("a", INTEGER), has("b")]), '{} {"a":1,"b":1} {"b":1}', '{"a":"x"} {"a":"x","b":1} {"c":1}'),
    (closed(oneOf=[must("a"), must("b")]), '{"a":1} {"b":1}', '{} {"a":1,"b":1} {"a":1,"c":1}'),
    (closed(oneOf=[has("a", INTEGER) | {"required": ["a"]}, has("a", STRING) | {"required": ["a"]}]), '{"a":1} {"a":"x"}', '{} {"a":null} {"a":1,"b":1}'),
    (closed(properties={"b": {}}, **{"not": must("b")}), "{}", '{"b":1} {"a":1}'),
    (closed(**{"if": must("a"), "then": must("b"), "else": must("c")}), '{"a":1,"b":1} {"c":1}', '{} {"a":1} {"a":1,"c":1} {"b":1} {"c":1,"b":1}'),
    (closed(**{"if": must("a"), "then": must("b")}), '{} {"a":1,"b":1}', '{"a":1} {"b":1} {"c":1}'),
    (closed(**{"if": has("a", INTEGER), "else": must("b")}), '{} {"a":1}', '{"a":"x"} {"a":"x","b":1} {"b":1}'),
    (closed(dependentSchemas={"a": has("b")}, properties={"a": {}}), '{} {"a":1} {"a":1,"b":1}', '{"b":1} {"a":1,"c":1}'),
    (closed(properties={"a": {}}, dependentRequired={"a": ["b"]}), "{}", '{"a":1} {"a":1,"b":1} {"b":1}'),
    (closed(allOf=[{"anyOf": [must("a"), {"allOf": [must("b"), must("c")]}]}]), '{"a":1} {"b":1,"c":1} {"a":1,"b":1,"c":1}', '{} {"b":1} {"a":1,"b":1}'),
    ({"allOf": [closed(properties={"a": {}}), has("b")]}, '{} {"a":1}', '{"b":1}'),
    (closed(allOf=[{"properties": {"a": {}}, "unevaluatedProperties": True}]), '{"a":1,"b":1}', "1"),
    (closed(allOf=[{"properties": {"a": {}}, "additionalProperties": INTEGER}]), '{"a":"x","b":1}', '{"b":"x"}'),
    (closed(properties={"a": closed(properties={"b": {}})}), '{"a":{"b":1}} {}', '{"a":{"c":1}} {"b":1}'),
    (closed(properties={"x": {"$ref": "#"}}), '{} {"x":{}} {"x":{"x":{}}}', '{"y":1} {"x":{"y":1}}'),
    (closed(propertyNames={"maxLength": 2}, patternProperties={"^a": True}), '{"ab":1}', '{"abc":1} {"b":1}'),
    (closed(properties={"a": {}, "b": {}}, minProperties=1), '{"a":1} {"a":1,"b":1}', '{} {"c":1}'),
]  # fmt: skip


def tight(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", "unevaluatedItems": False, **keywords}


ITEMS = [
    (tight(), "[]", "[1]"),
    ({"unevaluatedItems": False}, "1 [] {}", "[1]"),
    ({"type": "array", "unevaluatedItems": INTEGER}, "[] [1,2]", '["a"] [1,"a"]'),
    (tight(prefixItems=[STRING]), '[] ["a"]', '[1] ["a","b"]'),
    (tight(items=STRING), '[] ["a","b"]', "[1]"),
    (tight(prefixItems=[STRING], items=INTEGER), '["a"] ["a",1]', '["a","b"]'),
    ({"type": "array", "prefixItems": [STRING], "unevaluatedItems": INTEGER}, '["a"] ["a",1]', '["a","b"] [1]'),
    (tight(contains={"const": 1}), "[1] [1,1]", "[] [2] [1,2] [2,1]"),
    (tight(prefixItems=[STRING], contains={"const": 1}), '["a",1] ["a",1,1]', '["a"] [1] ["a",1,2]'),
    (tight(contains={"const": 1}, minContains=0, prefixItems=[STRING]), '[] ["a"] ["a",1]', '["a",2]'),
    (tight(allOf=[{"contains": {"multipleOf": 2}}, {"contains": {"multipleOf": 3}}]), "[2,3] [6] [3,4,6]", "[2] [3] [2,3,5] []"),
    (tight(allOf=[{"prefixItems": [STRING]}, {"prefixItems": [True, INTEGER]}]), '[] ["a",1]', '[1] ["a","b"] ["a",1,2]'),
    (tight(anyOf=[{"prefixItems": [STRING]}, {"prefixItems": [INTEGER, INTEGER]}]), '[] ["a"] [1] [1,2]', '["a","b"] ["a",1] [null]'),
    (tight(oneOf=[{"prefixItems": [STRING], "minItems": 1}, {"prefixItems": [INTEGER, {}], "minItems": 1}]), '["a"] [1] [1,null]', '[] ["a",1] [1,2,3]'),
    (tight(**{"$ref": "#/$defs/x", "$defs": {"x": {"prefixItems": [STRING]}}}), '[] ["a"]', '["a",1]'),
    (tight(**{"if": {"prefixItems": [STRING], "minItems": 1}, "then": {"prefixItems": [{}, INTEGER]}, "else": {"prefixItems": [INTEGER]}}), '[] ["a"] ["a",1] [1]', '["a","b"] [1,2] [null]'),
    (tight(**{"not": {"prefixItems": [STRING]}}, prefixItems=[{}]), "[1]", '[] ["a"] [1,2]'),
    (tight(items={"$ref": "#"}), "[] [[],[[]]]", "[1]"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), [*MEMBERS, *ITEMS], ids=str)
def test_what_is_not_evaluated_is_what_no_other_keyword_looked_at(
    schema: Any, good: str, bad: str
) -> None:
    check_table(schema, good, bad)


#: REGRESSION: what a schema below two negations evaluated counted as evaluated
NEGATED = [
    ({"unevaluatedItems": STRING, "not": {"not": {"unevaluatedItems": True}}}, '["a"] 1', "[1]"),
    ({"unevaluatedProperties": STRING, "not": {"not": {"unevaluatedProperties": INTEGER}}}, "{}", '{"a":1} {"a":"x"}'),
    ({"unevaluatedItems": STRING, "oneOf": [True, {"not": {"unevaluatedItems": True, "minItems": 1}}]}, '["a"]', "[1]"),
    ({"unevaluatedProperties": STRING, "if": {"not": {"unevaluatedProperties": INTEGER}}, "else": {}}, '{"a":"x"}', '{"a":1}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), NEGATED, ids=str)
def test_what_is_evaluated_below_a_negation_is_nobodys(schema: Any, good: str, bad: str) -> None:
    check_table(schema, good, bad)


# 2019-09: contains evaluates nothing, additionalProperties and additionalItems all that is left
OLDER = [
    ({"type": "array", "contains": {"const": 1}, "unevaluatedItems": INTEGER}, "[1] [1,2]", '[2] [1,"a"]'),
    (tight(items=[STRING]), '[] ["a"]', '["a",1] [1]'),
    (tight(items=[STRING], additionalItems=INTEGER), '["a"] ["a",1]', '["a","b"]'),
    (closed(properties={"a": {}}, additionalProperties=INTEGER), '{"a":"x","b":1}', '{"b":"x"}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), OLDER, ids=str)
def test_the_older_dialect_has_its_own_keywords_that_evaluate(
    schema: Any, good: str, bad: str
) -> None:
    check({"$schema": D2019, **schema}, good, bad)
