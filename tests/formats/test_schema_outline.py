"""Outlines of JSON Schemas in prompts: what they say, and which schemas have none."""

import json
from typing import Any

import pytest
from hypothesis import given

from adapters.formats.schema_outline import schema_outline
from tests.engine.frontends.random_schemas import nested as nested_schemas

TEXT = {"type": "string"}

#: (schema, its outline)
OUTLINES: list[tuple[Any, str]] = [
    ({"type": "string"}, "string"),
    ({"type": "boolean", "description": "paid\n already?"}, "true or false (paid already?)"),
    ({"type": ["integer", "null"], "minimum": 1}, "integer or null (1 or more)"),
    ({"type": "number", "minimum": 0.5, "maximum": 2}, "number (0.5 to 2)"),
    (
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "number (more than 0; less than 1)",
    ),
    ({"type": "integer", "multipleOf": 5}, "integer (a multiple of 5)"),
    ({"type": "string", "minLength": 2, "maxLength": 8}, "string (2 to 8 characters)"),
    (
        {"type": "string", "maxLength": 8, "pattern": "^a"},
        "string (up to 8 characters; matches ^a)",
    ),
    (
        {"type": "string", "format": "date", "default": "2026-01-01"},
        'string (format date; default "2026-01-01")',
    ),
    ({"type": "string", "examples": ["a", "b"]}, 'string (for example ["a", "b"])'),
    ({"enum": ["a", 1, None]}, '"a" or 1 or null'),
    ({"type": "string", "enum": ["ä"], "deprecated": True}, '"ä" (deprecated)'),
    ({"type": "string", "const": "a", "deprecated": False}, '"a"'),
    ({"anyOf": [TEXT, {"type": "null"}], "description": "d"}, "string or null (d)"),
    ({"oneOf": [TEXT, {"type": "integer", "minimum": 1}]}, "string or integer (1 or more)"),
    ({"type": "array"}, "any list"),
    ({"type": "array", "items": True}, "list of any value"),
    (
        {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
        "list of string (1 or more items; no item twice)",
    ),
    ({"type": "array", "items": {"enum": [1, 2]}, "maxItems": 3}, "list of 1 or 2 (up to 3 items)"),
    (
        {"anyOf": [{"type": "array", "items": TEXT}, {"type": "null"}]},
        "(list of string) or null",
    ),
    ({"type": "array", "items": {"type": ["string", "null"]}}, "list of string or null"),
    ({"type": "object"}, "any object"),
    ({"type": "object", "additionalProperties": False}, "{}"),
    (
        {"type": "object", "additionalProperties": TEXT, "minProperties": 1},
        "{any key: string} (1 or more keys)",
    ),
    (
        {"type": "object", "properties": {"a": TEXT}, "additionalProperties": True},
        '{"a": string (optional), any other key: any value}',
    ),
    (
        {"type": "object", "properties": {"a b": TEXT, "c": {}}, "required": ["a b"]},
        '{"a b": string, "c": any value (optional)}',
    ),
    (
        {"type": "object", "properties": {"a": {"type": "integer", "description": "d"}}},
        '{"a": integer (optional; d)}',
    ),
    # Pydantic's titles repeat their keys and definitions
    (
        {
            "title": "Order",
            "type": "object",
            "properties": {
                "unit_price": {"title": "Unit Price", "type": "number"},
                "place": {"$ref": "#/$defs/Place"},
                "home": {"$ref": "#/definitions/Home", "description": "d"},
            },
            "required": ["unit_price", "place", "home"],
            "$defs": {"Place": {"title": "Place", "type": "string"}},
            "definitions": {"Home": {"title": "A home", "type": "string"}},
        },
        '{"unit_price": number, "place": string, "home": string (A home) (d)}',
    ),
]


@pytest.mark.parametrize(("schema", "outline"), OUTLINES)
def test_an_outline_says_everything_that_its_schema_says(schema: Any, outline: str) -> None:
    assert schema_outline(schema, "order") == outline


#: schemas without an outline
UNSAID: dict[str, Any] = {
    "an unknown keyword": {"type": "string", "contentEncoding": "base64"},
    "allOf": {"allOf": [TEXT]},
    "a nested keyword": {"type": "array", "items": {"not": TEXT}},
    "patternProperties": {"type": "object", "patternProperties": {"^a": TEXT}},
    "prefixItems": {"type": "array", "prefixItems": [TEXT]},
    "two shapes": {"type": "string", "anyOf": [TEXT]},
    "properties of any type": {"properties": {"a": TEXT}},
    "properties beside alternatives": {"anyOf": [TEXT], "properties": {"a": TEXT}},
    "a required key that is not listed": {"type": "object", "required": ["a"]},
    "a recursion": {
        "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
    },
    "a reference to the root": {"type": "array", "items": {"$ref": "#"}},
    "a reference elsewhere": {"type": "array", "items": {"$ref": "#/items/$defs/a"}},
    "an unknown definition": {"$ref": "#/$defs/b", "$defs": {"a": TEXT}},
    "no value": False,
    "no alternative": {"enum": []},
    "nothing to say": {},
    "an unknown type": {"type": "date"},
    "types that are no names": {"type": [["string"]]},
    "a reference that is no pointer": {"$ref": "$defs/a", "$defs": {"a": TEXT}},
    "a reference that is no text": {"$ref": 3},
    "a description that is no text": {"type": "string", "description": 3},
    "values that are not listed": {"enum": 3},
    "properties that are no table": {"type": "object", "properties": [TEXT]},
    "required keys that are no names": {
        "type": "object",
        "properties": {"a": TEXT},
        "required": [["a"]],
    },
}


@pytest.mark.parametrize("why", UNSAID)
def test_a_schema_that_an_outline_cannot_say_has_none(why: str) -> None:
    assert schema_outline(UNSAID[why]) is None


def nested(depth: int) -> Any:
    schema: Any = TEXT
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def test_a_value_of_32_levels_has_an_outline_and_one_of_33_has_none() -> None:
    assert schema_outline(nested(31)) == "list of " * 31 + "string"
    assert schema_outline(nested(32)) is None
    assert schema_outline(nested(500)) is None


def test_references_that_double_at_each_step_are_not_written_out() -> None:
    steps = {
        f"s{n}": {"type": "array", "items": {"anyOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2}}
        for n in range(30)
    }
    schema = {"$ref": "#/$defs/s0", "$defs": {**steps, "s30": TEXT}}
    assert schema_outline(schema) is None


def test_separators_and_brackets_count() -> None:
    """REGRESSION: the outline of many short keys was longer than their schema."""
    keys = [chr(0x100 + number) for number in range(200)]
    schema = {"type": "object", "properties": dict.fromkeys(keys, {}), "required": keys}
    assert schema_outline(schema) is None
    few = {"type": "object", "properties": dict.fromkeys(keys[:20], {}), "required": keys[:20]}
    assert schema_outline(few) is not None


@given(nested_schemas)
def test_an_outline_is_never_longer_than_its_schema(schema: Any) -> None:
    outline = schema_outline(schema)
    assert outline is None or len(outline) <= len(json.dumps(schema, ensure_ascii=False))
