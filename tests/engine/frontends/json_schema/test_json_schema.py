"""Schemas accept exactly the texts whose values ``jsonschema`` calls valid, in every layout and spelling."""

import json
from typing import Any

import pytest

import engine
from engine.errors import SpecError
from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import Grammar
from tests.engine.frontends.json_schema.schema_cases import CASES
from tests.engine.frontends.oracle import is_valid
from tests.engine.frontends.recognise import accepts, layouts, quoted, schema_language

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {}, "c": {}},
    "required": ["b"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(("name", "schema", "values"), CASES, ids=[case[0] for case in CASES])
def test_valid_values_are_accepted_and_others_are_not(
    name: str, schema: Any, values: list[Any]
) -> None:
    found = schema_language(schema)
    for value in values:
        valid = is_valid(schema, value)
        for text in layouts(value):
            assert accepts(found, text) == valid, text


def test_the_table_has_valid_and_invalid_values() -> None:
    verdicts = [is_valid(schema, value) for _, schema, values in CASES for value in values]
    assert min(verdicts.count(True), verdicts.count(False)) > 300


# -- texts ----------------------------------------------------------------------------------------

# (text, whether flexible white space takes it, whether compact does)
WHITE_SPACE = [
    ('{"a":[1,2],"b":{}}', True, True),
    ('{"a": [1, 2], "b": {}}', True, False),
    ('{ "a" : [ 1 , 2 ] , "b" : { } }', True, False),
    ('{\n"a":\n [\n  1\n,\n    2\n],\n"b":{\n}\n}', True, False),
    ('{\n"a":\n\t[\n  1\n,\n    2\n],\n"b":{\n}\n}', False, False),
    ('{"a":\n' + " " * 20 + '[1,2],"b":{}}', True, False),
    ('{"a":\n' + " " * 21 + '[1,2],"b":{}}', False, False),
    ('{"a":  [1,2],"b":{}}', False, False),
    ('{"a":\t[1,2],"b":{}}', False, False),
    ('{"a":\n\n[1,2],"b":{}}', False, False),
    ('{"a":\r\n[1,2],"b":{}}', False, False),
    (' {"a":[1,2],"b":{}}', False, False),
    ('{"a":[1,2],"b":{}} ', False, False),
    ('{"a":[1,2],"b":{},}', False, False),
    ('{"a":[1,,2],"b":{}}', False, False),
    ('{,"a":[1,2],"b":{}}', False, False),
    ('{"a":[1 2],"b":{}}', False, False),
]


@pytest.mark.parametrize(("text", "flexible", "compact"), WHITE_SPACE)
@pytest.mark.parametrize(
    "schema", [{}, {"properties": {"a": {"items": {"type": "integer"}}, "b": {"maxProperties": 0}}}]
)
def test_white_space_stands_between_tokens_only(
    schema: dict, text: str, flexible: bool, compact: bool
) -> None:
    assert accepts(schema_language(schema), text) == flexible
    assert accepts(schema_language(schema, whitespace="compact"), text) == compact
    options = {"x-guidance": {"whitespace_flexible": False}}
    assert accepts(schema_language({**schema, **options}), text) == compact


@pytest.mark.parametrize("layout", [{"indent": 2}, {"separators": (", ", ": ")}])
def test_two_layouts_at_once_are_refused(layout: dict) -> None:
    schema = {"x-guidance": {"whitespace_flexible": False}}
    assert accepts(schema_language(schema, separators=(",", ":")), '{"a":1}')
    with pytest.raises(engine.UnsupportedSchema, match="x-guidance asks for compact JSON"):
        schema_language(schema, **layout)


@pytest.mark.parametrize(
    "text",
    ["01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "--1", "NaN", "Infinity", "nul", "True", '"', '"\n"',
     '"\x00"', '"\\x41"', '"\\u12"', '"\\ud800"', '"\\udc00\\ud800"', '"a', "'a'", "[", "{1:2}", '{"a"}', "", " "],
)  # fmt: skip
def test_what_is_not_json_is_not_accepted(text: str) -> None:
    assert not accepts(schema_language({}), text)
    assert not accepts(
        schema_language({"type": ["string", "number", "array", "object"], "minLength": 0}), text
    )


@pytest.mark.parametrize(
    "text", ["1e5", "1E+05", "-0", "-0.0e-0", "1.50", '"\\/\\b\\f"', '"\\uD83D\\uDE00"', "1e999"]
)
def test_every_json_spelling_of_scalars_is_accepted(text: str) -> None:
    assert accepts(schema_language({}), text)


ORDER = [
    ({"a": 1, "b": 2, "c": 3}, True),
    ({"b": 2}, True),
    ({"a": 1, "b": 2}, True),
    ({"b": 2, "c": 3}, True),
    ({"b": 2, "a": 1}, False),
    ({"c": 3, "b": 2}, False),
    ({"a": 1, "c": 3}, False),
    ({}, False),
]


@pytest.mark.parametrize(("value", "in_order"), ORDER)
def test_listed_keys_stand_in_the_order_of_properties(value: dict, in_order: bool) -> None:
    assert accepts(schema_language(CLOSED), json.dumps(value)) == in_order
    assert accepts(schema_language(CLOSED, any_order=True), json.dumps(value)) == ("b" in value)


def test_a_listed_key_stands_once() -> None:
    for schema in (CLOSED, {**CLOSED, "additionalProperties": True}):
        for any_order in (False, True):
            found = schema_language(schema, any_order=any_order)
            assert accepts(found, '{"a":1,"b":2}')
            assert not accepts(found, '{"a":1,"a":1,"b":2}')
            assert not accepts(found, '{"a":1,"b":2,"\\u0062":2}')


def test_no_spelling_of_a_listed_key_is_an_additional_one() -> None:
    found = schema_language({"properties": {"a/b": {"type": "integer"}}, "type": "object"})
    for key in ('"a/b"', '"a\\/b"', '"\\u0061\\u002fb"', quoted("a/b")):
        assert accepts(found, f"{{{key}:1}}")
        assert not accepts(found, f'{{{key}:"x"}}')
        assert not accepts(found, f'{{{key}:1,"c":1,{key}:"x"}}')


@pytest.mark.parametrize("any_order", [False, True])
@pytest.mark.parametrize(
    ("text", "anywhere", "last"),
    [
        ('{"a":1}', True, True),
        ('{"a":1,"x":2,"y":3}', True, True),
        ('{"a":1,"b":2,"x":3}', True, True),
        ('{"x":2,"a":1}', True, False),
        ('{"a":1,"x":2,"b":3}', True, False),
        ('{"x":2}', False, False),
    ],
)
def test_additional_keys_stand_anywhere_or_last(
    text: str, anywhere: bool, last: bool, any_order: bool
) -> None:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    assert accepts(schema_language(schema, any_order=any_order), text) == anywhere
    assert accepts(schema_language(schema, any_order=any_order, extra_keys="last"), text) == last


@pytest.mark.parametrize("count", [8, 9, 60])
def test_any_number_of_keys_may_stand_in_any_order(count: int) -> None:
    schema = {"type": "object", "properties": {f"k{n}": {} for n in range(count)}}
    found = schema_language(schema, any_order=True)
    keys = [f"k{n}" for n in reversed(range(count))]
    assert accepts(found, json.dumps(dict.fromkeys(keys, 0)))
    assert not accepts(found, '{"k1":0,"k0":0,"k1":0}')


def test_values_of_enum_keep_the_order_of_their_keys() -> None:
    found = schema_language({"enum": [{"b": 1, "a": 2}]})
    assert accepts(found, '{"b":1,"a":2}')
    assert not accepts(found, '{"a":2,"b":1}')


def test_numbers_of_enum_take_any_zeros_behind_their_last_digit() -> None:
    found = schema_language({"enum": [3.0, 5, -0.0, 0.5, 1e22]})
    good = "3 3.0 3.00 5 5.0 0 0.0 0.5 0.50 1e+22 10000000000000000000000".split()
    bad = "3. 03 -0 -0.0 .5 0.05 0.51 5e0 50e-1 1e22 1.0e+22".split()
    assert [text for text in good if not accepts(found, text)] == []
    assert [text for text in bad if accepts(found, text)] == []


def test_integers_are_digits_with_zeros_behind_a_point_or_one_digit_with_an_exponent() -> None:
    found = schema_language({"type": "integer"})
    good = "0 -0 12 -120 1.0 -7.000 0.0 1e1 2E3 -2e+3 1.0e3 9e15 100000000000000.0".split()
    bad = "01 1.5 1. 1.10 0.5e1 1e-1 1e16 12e1 0e1 1000000000000000.0 1.5e3".split()
    assert [text for text in good if not accepts(found, text)] == []
    assert [text for text in bad if accepts(found, text)] == []


# -- schemas that nothing satisfies ---------------------------------------------------------------

LOOP = {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/x"}}}
IMPOSSIBLE = [
    False,
    {"not": {}},
    {"not": True},
    {"type": "string", "minLength": 3, "maxLength": 2},
    {"type": "string", "pattern": "a^b"},
    {"type": "string", "pattern": "^a+$", "minLength": 1, "maxLength": 0},
    {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "^b"}]},
    {"type": "integer", "minimum": 5, "maximum": 4},
    {"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 5},
    {"type": "integer", "minimum": 0.1, "maximum": 0.9},
    # REGRESSION: values of this type were possible, without a text
    {"type": "integer", "multipleOf": 5, "minimum": 1, "maximum": 4},
    {"type": "integer", "minimum": 1, "maximum": 2, "not": {"enum": [1, 2]}},
    {"type": "number", "exclusiveMinimum": 1, "maximum": 1},
    {"type": "array", "minItems": 2, "maxItems": 1},
    {"type": "array", "minItems": 2, "prefixItems": [{}, False]},
    {"type": "object", "required": ["a"], "additionalProperties": False},
    {"type": "object", "required": ["\ud800"]},
    {"type": "object", "required": ["a", "b"], "maxProperties": 1},
    {"type": "object", "properties": {"a": {}}, "additionalProperties": False, "minProperties": 2},
    {"enum": []},
    {"type": "string", "enum": [1, None]},
    {"enum": ["a"], "const": "b"},
    {"anyOf": [False, {"enum": []}]},
    {"type": "string", "anyOf": [{"type": "integer"}, {"type": "null"}]},
    {"allOf": [{"type": "string"}, {"type": "integer"}]},
    {"$ref": "#/$defs/x", "$defs": {"x": False}},
]
#: (schema, the place of the required part that nothing satisfies)
IMPOSSIBLE_PARTS: list[tuple[Any, str]] = [
    ({"type": "array", "minItems": 1, "items": False}, "/items"),
    ({"type": "object", "required": ["a"], "properties": {"a": False}}, "/properties/a"),
    ({"$ref": "#/$defs/x", "$defs": {"x": LOOP}}, "/$defs/x/properties/a"),
    (
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/x"}, "$defs": {"x": LOOP}},
        "/$defs/x/properties/a",
    ),
]


@pytest.mark.parametrize(
    ("schema", "place"), [*((each, "") for each in IMPOSSIBLE), *IMPOSSIBLE_PARTS], ids=repr
)
def test_a_schema_that_nothing_satisfies_is_refused(schema: Any, place: str) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy this schema") as caught:
        build_json_schema(Grammar(), schema, pointer="/tools/0")
    assert caught.value.pointer == f"/tools/0{place}"


@pytest.mark.parametrize(
    "schema", [s for s in IMPOSSIBLE if not (isinstance(s, dict) and "$defs" in s)], ids=repr
)
def test_what_nothing_satisfies_may_be_left_out(schema: Any) -> None:
    found = schema_language({"type": "object", "properties": {"a": schema, "b": {"items": schema}}})
    for text, good in (("{}", True), ('{"b":[]}', True), ('{"b":1}', True), ('{"c":1}', True)):
        assert accepts(found, text) == good
    for value in ("1", '"a"', "{}", "[]", "null", "[1]"):
        assert not accepts(found, f'{{"a":{value}}}')
        assert not accepts(found, f'{{"b":[{value}]}}')
