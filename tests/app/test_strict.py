"""strict: true adds OpenAI's rules, in OpenAI's words."""

from typing import Any

import pytest

from app.errors import ApiError
from app.service import strict
from app.service.strict import check_strict


def closed(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


TEXT = {"type": "string"}


def nested(levels: int) -> dict[str, Any]:
    """A schema of so many levels, its leaf counted."""
    schema: dict[str, Any] = TEXT
    for _ in range(levels - 1):
        schema = closed(a=schema)
    return schema


GOOD = {
    "empty": closed(),
    "nested": closed(a=closed(b=TEXT), c={"type": "array", "items": closed(d=TEXT)}),
    "optional by null": closed(a={"type": ["string", "null"]}),
    "anyOf below the root": closed(a={"anyOf": [closed(b=TEXT), TEXT]}),
    "recursion": {**closed(next={"anyOf": [{"$ref": "#"}, {"type": "null"}]})},
    "definitions": {**closed(a={"$ref": "#/$defs/x"}), "$defs": {"x": closed(b=TEXT)}},
    "all levels": nested(strict.MAX_LEVELS),
    "all properties": closed(**{f"p{n}": {} for n in range(strict.MAX_PROPERTIES)}),
    "all enum values": closed(a={"enum": list(range(strict.MAX_ENUM_VALUES))}),
    "a long enum": closed(a={"enum": ["x" * 50 + f"{n:05}" for n in range(251)]}),
}


@pytest.mark.parametrize("schema", GOOD.values(), ids=GOOD.keys())
def test_schemas_within_the_rules_pass(schema: dict[str, Any]):
    check_strict(schema, "response_format 'x'", "response_format", None)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "open object": (
        {"type": "object", "properties": {}},
        "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ),
    "open object inside": (
        closed(a={"type": "object"}),
        "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to "
        "be false.",
    ),
    "optional property": (
        closed(a={**closed(b=TEXT, c=TEXT), "required": ["b"]}),
        "In context=('properties', 'a'), 'required' is required to be supplied and to be an array "
        "including every key in properties. Missing 'c'.",
    ),
    "unknown required": (
        {**closed(), "required": ["z"]},
        "In context=(), 'required' names 'z', which is not in properties.",
    ),
    "root array": (
        {"type": "array"},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    ),
    "root anyOf": ({"anyOf": [closed()]}, "In context=(), 'anyOf' is not permitted at the root."),
    "allOf": (closed(a={"allOf": []}), "In context=('properties', 'a'), 'allOf' is not permitted."),
    "not in items": (
        closed(a={"type": "array", "items": {"not": {}}}),
        "In context=('properties', 'a', 'items'), 'not' is not permitted.",
    ),
    "if in a definition": (
        {**closed(), "$defs": {"x": {"if": {}}}},
        "In context=('$defs', 'x'), 'if' is not permitted.",
    ),
    "a level too deep": (
        nested(strict.MAX_LEVELS + 1),
        f"In context={('properties', 'a') * strict.MAX_LEVELS!r}, schema exceeds the maximum of 10 "
        "levels of nesting.",
    ),
    "a property too many": (
        closed(**{f"p{n}": {} for n in range(strict.MAX_PROPERTIES + 1)}),
        "at most 5,000 properties are allowed, got 5,001.",
    ),
    "an enum value too many": (
        closed(a={"enum": list(range(500))}, b={"enum": list(range(501))}),
        "at most 1,000 enum values are allowed, got 1,001.",
    ),
    "too much text": (
        closed(a={"const": "x" * strict.MAX_CHARS}),
        "at most 120,000 characters in names and values are allowed, got 120,001.",
    ),
    "a long enum with too much text": (
        closed(a={"enum": ["x" * 55 + f"{n:05}" for n in range(251)]}),
        "at most 15,000 characters in an enum of more than 250 values are allowed, got 15,060.",
    ),
}


@pytest.mark.parametrize(("schema", "words"), BAD.values(), ids=BAD.keys())
def test_a_broken_rule_is_told_as_openai_tells_it(schema: dict[str, Any], words: str):
    with pytest.raises(ApiError) as caught:
        check_strict(schema, "function 'f'", "tools[2].function.parameters", "some_code")
    error = caught.value
    assert error.message == f"Invalid schema for function 'f': {words}"
    assert (error.param, error.code) == ("tools[2].function.parameters", "some_code")


def test_nonsense_is_left_to_the_engine():
    check_strict(closed(a=3, b={"items": 4, "anyOf": 5, "enum": 6}), "x", "y", None)
