"""strict: true adds OpenAI's rules, in OpenAI's words."""

from typing import Any

import pytest

from app.constraints import strict_profile as strict
from app.constraints.strict_profile import check_strict, violations
from app.errors import ApiError
from tests.app.examples import LIGHT, closed, json_schema, tool
from tests.app.service.scripted import Service, script

TEXT = {"type": "string"}


def nested(levels: int) -> dict[str, Any]:
    """A schema whose leaf lies so many levels below the root."""
    schema: dict[str, Any] = TEXT
    for _ in range(levels):
        schema = closed(a=schema)
    return schema


def texts(count: int, chars: int) -> list[str]:
    """So many different strings with so many characters in all."""
    short = [f"{n:05}" for n in range(count)]
    return [*short[:-1], short[-1] + "x" * (chars - 5 * count)]


GOOD = {
    "empty": closed(),
    "nested": closed(a=closed(b=TEXT), c={"type": "array", "items": closed(d=TEXT)}),
    "optional by null": closed(a={"type": ["string", "null"]}),
    "anyOf below the root": closed(a={"anyOf": [closed(b=TEXT), TEXT]}),
    "recursion": closed(next={"anyOf": [{"$ref": "#"}, {"type": "null"}]}),
    "definitions": {**closed(a={"$ref": "#/$defs/x"}), "$defs": {"x": closed(b=TEXT)}},
    "a root that is a definition": {"$ref": "#/$defs/x", "$defs": {"x": closed(b=TEXT)}},
    "supported keywords": closed(
        a={"type": "string", "pattern": "^a", "format": "hostname"},
        b={"type": "number", "multipleOf": 2, "minimum": 1, "maximum": 9},
        c={"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 9},
        d={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2},
    ),
    "annotations": closed(a={**TEXT, "title": "A", "description": "b", "default": "c", "x-y": 1}),
    "values without a type": closed(a={"enum": [1]}, b={"const": 2}),
    "all levels": nested(10),
    "all properties": closed(**{f"p{n}": TEXT for n in range(5_000)}),
    "properties of definitions": {
        **closed(**{f"p{n}": TEXT for n in range(2_500)}),
        "$defs": {"x": closed(**{f"p{n}": TEXT for n in range(2_500)})},
    },
    "all enum values": closed(a={"enum": list(range(500))}, b={"enum": list(range(500))}),
    "a long enum": closed(a={"enum": texts(251, 15_000)}),
    "an enum that is not long": closed(a={"enum": texts(250, 20_000)}),
    "all characters": {
        # names: 1 + 1 + 2; values: 3 + 5 + 4 + 4
        **closed(a={"$ref": "#/$defs/xy"}, b={"const": "x" * 119_980}),
        "$defs": {"xy": {"anyOf": [{"const": 123}, {"enum": ["abcde", 1.25, [12]]}]}},
    },
}


@pytest.mark.parametrize("schema", GOOD.values(), ids=GOOD.keys())
def test_schemas_within_the_rules_pass(schema: dict[str, Any]):
    assert [violation.message for violation in violations(schema)] == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "open object": (
        {"type": "object", "properties": {}},
        "In context=(), 'additionalProperties' is required to be supplied and to be false.",
    ),
    "open object inside": (
        closed(a={"type": "object"}),
        "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to "
        "be false (at /properties/a).",
    ),
    "an object among other types": (
        closed(a={"type": ["string", "object"]}),
        "In context=('properties', 'a'), 'additionalProperties' is required to be supplied and to "
        "be false (at /properties/a).",
    ),
    "optional property": (
        closed(a={**closed(b=TEXT, c=TEXT), "required": ["b"]}),
        "In context=('properties', 'a'), 'required' is required to be supplied and to be an array "
        "including every key in properties. Missing 'c' (at /properties/a).",
    ),
    "unknown required": (
        {**closed(), "required": ["z"]},
        "In context=(), 'required' names 'z', which is not in properties.",
    ),
    "root array": (
        {"type": "array", "items": TEXT},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    ),
    "root without a type": (
        {"properties": {}, "additionalProperties": False},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
    ),
    "root that refers to an array": (
        {"$ref": "#/$defs/x", "$defs": {"x": {"type": "array", "items": TEXT}}},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'.",
    ),
    "root that refers to itself": (
        {"$ref": "#"},
        "schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.",
    ),
    "root anyOf": (
        {**closed(), "anyOf": [closed()]},
        "In context=(), 'anyOf' is not permitted at the root.",
    ),
    "not in items": (
        closed(a={"type": "array", "items": {"type": "string", "not": {}}}),
        "In context=('properties', 'a', 'items'), 'not' is not permitted (at /properties/a/items).",
    ),
    "if in a definition": (
        {**closed(), "$defs": {"x": {**TEXT, "if": {}}}},
        "In context=('$defs', 'x'), 'if' is not permitted (at /$defs/x).",
    ),
    "a name that a pointer must escape": (
        closed(**{"a/b~": {**TEXT, "minLength": 1}}),
        "In context=('properties', 'a/b~'), 'minLength' is not permitted (at /properties/a~1b~0).",
    ),
    "an array without items": (
        closed(a={"type": "array"}),
        "In context=('properties', 'a'), array schema missing items (at /properties/a).",
    ),
    "an array without items among other types": (
        closed(a={"type": ["null", "array"]}),
        "In context=('properties', 'a', 'type', '1'), array schema missing items "
        "(at /properties/a/type/1).",
    ),
    "anything": (
        closed(a={"description": "whatever"}),
        "In context=('properties', 'a'), schema must have a 'type' key (at /properties/a).",
    ),
    "anything at all": (
        closed(a=True),
        "In context=('properties', 'a'), schema must have a 'type' key (at /properties/a).",
    ),
    "another format": (
        closed(a={"type": "string", "format": "uri"}),
        "In context=('properties', 'a'), 'uri' is not a valid format (at /properties/a).",
    ),
    "a reference to no definition": (
        closed(a=TEXT, b={"$ref": "#/properties/a"}),
        "In context=('properties', 'b'), reference can only point to definitions defined at the "
        "top level of the schema (at /properties/b).",
    ),
    "a level too deep": (nested(11), "11 levels of nesting exceeds limit of 10."),
    "a level too deep in arrays": (
        closed(a={"type": "array", "items": nested(9)}),
        "11 levels of nesting exceeds limit of 10.",
    ),
    "a property too many": (
        closed(**{f"p{n}": TEXT for n in range(5_001)}),
        "5001 parameters exceeds limit of 5000.",
    ),
    "a property too many in a definition": (
        {**GOOD["properties of definitions"], **closed(**{f"p{n}": TEXT for n in range(2_501)})},
        "5001 parameters exceeds limit of 5000.",
    ),
    "an enum value too many": (
        closed(a={"enum": list(range(500))}, b={"enum": list(range(501))}),
        "Expected at most 1000 enum values in total within a schema when using structured outputs, "
        "but received 1001. Consider reducing the number of enums, or use 'strict: false' to opt "
        "out of structured outputs.",
    ),
    "a long enum with too much text": (
        closed(a={"enum": texts(251, 15_001)}),
        "Expected at most 15000 characters in an enum of more than 250 strings, but received "
        "15001.",
    ),
    "a character too many": (
        {**GOOD["all characters"], "definitions": {"z": TEXT}},
        "Expected at most 120000 total string length for names, enum values, and constant values "
        "in a schema when using structured outputs, but received 120001. Consider reducing the "
        "number/length of names, or use 'strict: false' to opt out of structured outputs.",
    ),
}


@pytest.mark.parametrize(("schema", "words"), BAD.values(), ids=BAD.keys())
def test_a_broken_rule_is_told_as_openai_tells_it(schema: dict[str, Any], words: str):
    with pytest.raises(ApiError) as caught:
        check_strict(schema, "function 'f'", "tools[2].function.parameters", "some_code")
    error = caught.value
    assert error.message == f"Invalid schema for function 'f': {words}"
    assert (error.param, error.code) == ("tools[2].function.parameters", "some_code")


@pytest.mark.parametrize("keyword", strict.NOT_PERMITTED)
def test_keywords_that_openai_does_not_list_are_refused_by_name(keyword: str):
    (violation,) = violations(closed(a={"type": "string", keyword: 1}))
    assert violation.text == f"'{keyword}' is not permitted"
    assert violation.pointer == "/properties/a"


def test_all_broken_rules_are_found_in_the_order_of_the_document():
    schema = closed(a={"type": "array"}, b=closed(c={"not": {}}), d={"type": "object"})
    assert [violation.pointer for violation in violations(schema)] == [
        "/properties/a",
        "/properties/b/properties/c",
        "/properties/b/properties/c",
        "/properties/d",
    ]


def test_nonsense_is_left_to_the_engine():
    check_strict(
        closed(a=3, b={"type": 1, "items": 4, "anyOf": 5, "enum": 6, "$ref": 7, "format": 8}),
        *("x", "y", "z"),
    )


OPEN = {"type": "object", "properties": {"on": {"type": "boolean"}}, "minProperties": 0}


@pytest.mark.parametrize(
    ("asked", "param", "code"),
    [
        ({"tools": [tool("f", OPEN, strict=True)]}, "tools[0].function.parameters",
         "invalid_function_parameters"),
        ({"response_format": json_schema(OPEN, strict=True)}, "response_format",
         "invalid_json_schema"),
    ],
)  # fmt: skip
async def test_the_profile_decides_whether_openais_rules_hold(
    asked: dict[str, Any], param: str, code: str
):
    steps = (
        script('{"on": true}<|im_end|>') if param == "response_format" else script("a<|im_end|>")
    )
    await Service(steps).complete(**asked)
    with pytest.raises(ApiError) as caught:
        await Service(steps, strict_profile="openai").complete(**asked)
    assert (caught.value.param, caught.value.code) == (param, code)


async def test_without_strict_openais_rules_do_not_hold():
    await Service(script("a<|im_end|>")).complete(tools=[tool("f", OPEN), tool("g", LIGHT)])
