"""Schemas that depend on others: if, then, else, dependent..., and oneOf whose branches overlap."""

from typing import Any

import pytest

from tests.engine.frontends.accepting import check, check_table

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def kind(name: str) -> dict[str, Any]:
    return {"properties": {"kind": {"const": name}}, "required": ["kind"]}


CONDITIONS = [
    ({"if": STRING, "then": {"minLength": 2}}, '"ab" 1 null []', '"" "a"'),
    ({"if": STRING, "else": INTEGER}, '"" 1', "0.5 null []"),
    ({"if": STRING, "then": {"minLength": 2}, "else": INTEGER}, '"ab" 1', '"a" 0.5 null'),
    ({"if": True, "then": STRING, "else": False}, '"a"', "1"),
    ({"if": False, "then": False, "else": STRING}, '"a"', "1"),
    ({"if": STRING, "type": ["string", "null"]}, '"a" null', "1"),
    ({"then": False, "else": False, "type": "null"}, "null", "1"),
    ({"type": "integer", "if": {"minimum": 10}, "then": {"multipleOf": 10}, "else": {"maximum": 3}}, "3 -1 10 100", "4 9 11"),
    ({"type": "string", "if": {"pattern": "^a"}, "then": {"pattern": "z$"}, "else": {"maxLength": 1}}, '"" "b" "az" "abz"', '"a" "ab" "bz"'),
    ({"if": STRING, "then": {"if": {"minLength": 2}, "then": {"pattern": "^a"}, "else": {"const": "x"}}}, '"ab" "x" 1', '"ba" "" "y"'),
    ({"if": {"not": STRING}, "then": {"type": "null"}, "else": {"maxLength": 1}}, 'null "a"', '1 "ab"'),
    ({"if": {"anyOf": [STRING, INTEGER]}, "then": {"enum": ["a", 1, 0.5]}}, '"a" 1 null 0.5', '"b" 2'),
    ({"if": {"enum": [1, "a"]}, "then": STRING, "else": {"type": ["string", "number"]}}, '"a" "b" 2', "1 null"),
    ({"type": "object", "if": kind("x"), "then": {"required": ["a"]}, "else": {"required": ["b"]}}, '{"kind":"x","a":1} {"b":1} {"kind":"y","b":1} {"b":1,"kind":"y"}', '{} {"kind":"x"} {"kind":"x","b":1} {"kind":"y","a":1}'),
    ({"type": "object", "properties": {"kind": STRING, "a": {}}, "allOf": [{"if": kind("x"), "then": {"required": ["a"]}}, {"if": kind("y"), "then": {"properties": {"a": False}}}]}, '{} {"kind":"x","a":1} {"kind":"y"} {"kind":"z","a":1} {"a":1}', '{"kind":"x"} {"kind":"y","a":1} {"kind":1}'),
    ({"type": "array", "if": {"minItems": 2}, "then": {"items": INTEGER}, "else": {"items": STRING}}, '[] ["a"] [1,2]', '[1] ["a","b"] [1,"b"]'),
    ({"type": "array", "if": {"contains": {"const": 1}}, "then": {"minItems": 2}}, "[] [2] [1,2] [2,1]", "[1]"),
    ({"items": {"if": INTEGER, "then": {"minimum": 0}}, "type": "array"}, '[] [1,"a"] [0.5,-0.5]', "[-1] [1,-1]"),
    ({"$ref": "#/$defs/t", "$defs": {"t": {"if": {"type": "array"}, "then": {"items": {"$ref": "#/$defs/t"}}, "else": INTEGER}}}, "1 [] [1,[2]]", '"a" ["a"] [[0.5]]'),
]  # fmt: skip

DEPENDENT = [
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, '{} {"b":1} {"a":1,"b":1} {"b":1,"a":1,"c":1}', '{"a":1} {"a":1,"c":1}'),
    ({"dependentRequired": {"a": ["b"]}}, '1 null {} {"a":1,"b":1}', '{"a":1}'),
    ({"type": "object", "dependentRequired": {"a": ["b"], "b": ["c"]}}, '{} {"c":1} {"b":1,"c":1} {"a":1,"b":1,"c":1}', '{"a":1} {"b":1} {"a":1,"b":1}'),
    ({"type": "object", "dependentRequired": {"a": ["b"], "b": ["a"]}}, '{} {"a":1,"b":1}', '{"a":1} {"b":1}'),
    ({"type": "object", "dependentRequired": {"a": []}}, '{} {"a":1}', "1"),
    ({"type": "object", "dependentRequired": {"a": ["a"]}}, '{} {"a":1}', "1"),
    ({"type": "object", "properties": {"b": False}, "dependentRequired": {"a": ["b"]}}, '{} {"c":1}', '{"a":1} {"b":1}'),
    ({"type": "object", "dependentSchemas": {"a": {"properties": {"b": INTEGER}, "required": ["b"]}}}, '{} {"b":"x"} {"a":1,"b":1}', '{"a":1} {"a":1,"b":"x"}'),
    ({"type": "object", "dependentSchemas": {"a": False}}, '{} {"b":1}', '{"a":1}'),
    ({"type": "object", "dependentSchemas": {"a": True}}, '{} {"a":1}', "1"),
    ({"type": "object", "dependentSchemas": {"a": {"maxProperties": 1}}}, '{} {"a":1} {"b":1,"c":2}', '{"a":1,"b":1} {"b":1,"a":1}'),
    ({"type": "object", "dependentSchemas": {"a": {"propertyNames": {"maxLength": 1}}}}, '{"bb":1} {"a":1,"b":1}', '{"a":1,"bb":1}'),
    ({"$schema": DRAFT_7, "type": "object", "dependencies": {"a": ["b"]}}, '{} {"a":1,"b":1}', '{"a":1}'),
    ({"$schema": DRAFT_7, "type": "object", "dependencies": {"a": {"required": ["b"]}}}, '{} {"a":1,"b":1}', '{"a":1}'),
    ({"$schema": DRAFT_7, "type": "object", "dependencies": {"a": ["b"], "c": False}}, '{} {"a":1,"b":1}', '{"a":1} {"c":1}'),
]  # fmt: skip

ONE_OF = [
    ({"oneOf": [INTEGER, {"type": "number", "minimum": 3}]}, "1 3.5 -2", '3 5 2.5 "a"'),
    ({"oneOf": [STRING, {"minLength": 2}]}, '"" "a" 1 null', '"ab"'),
    ({"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}], "type": "integer"}, "2 3 4 9", "0 1 6 12"),
    ({"oneOf": [{"const": 1}, INTEGER]}, "0 2", '1 1.0 "a"'),
    ({"oneOf": [{"type": "null"}, {"enum": ["a", None]}]}, '"a"', 'null "b"'),
    ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}, '{"a":1} {"b":1} {"b":1,"c":1}', '{} {"a":1,"b":1} {"c":1}'),
    ({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"required": ["c"]}]}, '{"a":1} {"b":1} {"c":1}', '{} {"a":1,"b":1} {"a":1,"c":1} {"a":1,"b":1,"c":1}'),
    ({"oneOf": [{"items": INTEGER}, {"items": STRING}], "type": "array"}, '[1] ["a"]', '[] [1,"a"] [null]'),
    ({"oneOf": [{"pattern": "a"}, {"pattern": "b"}], "type": "string"}, '"a" "bc"', '"" "ab" "c"'),
    ({"oneOf": [True, STRING]}, "1 null", '"a"'),
    ({"oneOf": [False, STRING]}, '"a"', "1"),
    ({"oneOf": [STRING, STRING, INTEGER]}, "1", '"a" null'),
    ({"oneOf": [{"oneOf": [STRING, {"minLength": 1}]}, {"type": "null"}]}, '"" 1', '"a" null'),
    ({"oneOf": [{"properties": {"a": STRING}, "required": ["a"]}, {"properties": {"a": INTEGER}, "required": ["a"]}], "type": "object"}, '{"a":"x"} {"a":1}', '{} {"a":null}'),
    ({"oneOf": [{"properties": {"a": STRING}}, {"properties": {"b": STRING}}], "type": "object"}, '{"a":1} {"b":1} {"a":1,"b":"x"}', '{} {"a":"x"} {"a":"x","b":"x"} {"a":1,"b":1}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), [*CONDITIONS, *DEPENDENT, *ONE_OF], ids=str)
def test_what_depends_on_other_schemas_is_exact(schema: Any, good: str, bad: str) -> None:
    check_table(schema, good, bad)


@pytest.mark.parametrize("draft", ["2019-09", "2020-12"])
def test_dependencies_are_understood_by_later_dialects(draft: str) -> None:
    schema = {
        "$schema": f"https://json-schema.org/draft/{draft}/schema",
        "type": "object",
        "dependencies": {"a": ["b"], "c": {"required": ["a"]}},
    }
    check(
        schema,
        '{} {"a":1,"b":1} {"c":1,"a":1,"b":1}',
        '{"a":1} {"c":1} {"c":1,"a":1}',
        any_order=True,
    )
