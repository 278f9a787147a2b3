"""Closed objects and default bounds narrow a schema, and never leave it without values."""

import json
from random import Random
from typing import Any

import pytest

import engine
from engine.errors import SpecError
from engine.frontends.structural_tag.tag_styles import STYLES
from tests.conformance.schemas import SchemaMaker
from tests.conformance.walking import takes, vocabulary, walk
from tests.engine.frontends.json_schema.schema_cases import CASES
from tests.engine.frontends.recognise import accepts, schema_language
from tests.turns import part, seeds

AB = {"a": {"type": "integer"}, "b": {}}
ITEM = {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}

# (schema, texts that "none" accepts, texts that only "last" accepts)
CLOSED: list[tuple[Any, tuple[str, ...], tuple[str, ...]]] = [
    ({"properties": AB}, ("{}", '{"a":1}', '{"a":1,"b":{"x":1}}', "[1]"), ('{"a":1,"x":1}',)),
    ({"type": "object"}, ('{"x":1}',), ()),
    ({"type": "object", "properties": {}}, ('{"x":1}',), ()),
    ({"properties": AB, "additionalProperties": True}, ('{"a":1,"x":1}',), ()),
    ({"properties": AB, "additionalProperties": {}}, ('{"a":1,"x":1}',), ()),
    ({"properties": AB, "unevaluatedProperties": True}, ('{"a":1,"x":1}',), ()),
    ({"properties": AB, "patternProperties": {"^x": {}}}, ('{"a":1,"y":1}',), ()),
    ({"properties": AB, "propertyNames": {}}, ('{"a":1,"x":1}',), ()),
    ({"properties": AB, "required": ["z"]}, ('{"b":1,"z":1}',), ('{"z":1,"x":1}',)),
    ({"properties": AB, "minProperties": 2}, ('{"a":1,"b":1}',), ('{"a":1,"x":1}',)),
    ({"properties": AB, "minProperties": 3}, ('{"a":1,"b":1,"x":1}',), ()),
    (
        {"properties": {"a": False}, "type": "object", "minProperties": 1},
        ('{"x":1}',),
        (),
    ),
    (
        {"properties": AB, "dependentRequired": {"a": ["z"]}},
        ('{"b":1}', '{"a":1,"z":1}'),
        ('{"b":1,"x":1}',),
    ),
    (
        {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        ('{"a":1,"b":2}',),
        ('{"a":1,"x":2}',),
    ),
    (
        {"allOf": [{"properties": AB}, {"additionalProperties": True}]},
        ('{"a":1,"x":1}',),
        (),
    ),
    (
        {"allOf": [{"properties": AB}, {"unevaluatedProperties": True}]},
        ('{"a":1,"x":1}',),
        (),
    ),
    (
        {"$ref": "#/$defs/x", "properties": {"c": {}}, "$defs": {"x": {"properties": AB}}},
        ('{"c":1,"a":1}',),
        ('{"a":1,"x":1}',),
    ),
    (
        {
            "properties": AB,
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"c": {}}, "required": ["c"]},
        },
        ('{"a":1,"c":0}', '{"a":2}'),
        ('{"a":1,"c":0,"x":0}', '{"a":2,"c":0}'),
    ),
    (
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "properties": AB},
        ('{"a":1}', '{"b":1}'),
        ('{"a":1,"x":1}',),
    ),
    # REGRESSION: without additional keys, nothing would satisfy these
    (
        {"type": "array", "items": ITEM, "uniqueItems": True, "minItems": 2},
        ('[{"a":1},{"a":1,"x":1}]',),
        (),
    ),
    (
        {"type": "object", "properties": {"n": {"$ref": "#"}}, "minProperties": 1},
        ('{"x":1}',),
        (),
    ),
]


@pytest.mark.parametrize(
    ("schema", "taken", "left_out"), CLOSED, ids=[json.dumps(case[0])[:60] for case in CLOSED]
)
def test_objects_that_say_nothing_of_other_members_are_closed(
    schema: Any, taken: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    closed, last = (schema_language(schema, extra_keys=keys) for keys in ("none", "last"))
    assert all(accepts(last, text) for text in (*taken, *left_out))
    assert [text for text in (*taken, *left_out) if accepts(closed, text)] == [*taken]


LONG, SHORT = '["' + "a" * 9 + '"]', '["aaa"]'
# (schema, texts within the bounds, texts beyond them)
BOUNDED: list[tuple[Any, tuple[str, ...], tuple[str, ...]]] = [
    (True, (SHORT, "[1,1]"), (LONG, "[1,1,1]", '{"x":"aaaa"}', '{"x":[1,1,1]}')),
    ({"type": "string"}, ('"aaa"',), ('"aaaa"',)),
    ({"type": "string", "minLength": 5}, ('"aaaaa"',), ('"aaaaaa"',)),
    ({"type": "string", "maxLength": 5}, ('"aaaaa"',), ()),
    ({"type": "string", "pattern": "^a*$"}, ('"aaaaa"',), ()),
    ({"type": "string", "format": "uri"}, ('"a:bcde"',), ()),
    ({"const": "aaaaa"}, ('"aaaaa"',), ()),
    ({"enum": [[1, 1, 1], "aaaaa"]}, ('"aaaaa"', "[1,1,1]"), ()),
    ({"items": {"type": "integer"}, "type": "array"}, ("[]", "[1,1]"), ("[1,1,1]",)),
    ({"type": "array", "minItems": 3}, ("[1,1,1]",), ("[1,1,1,1]",)),
    ({"type": "array", "maxItems": 3}, ("[1,1,1]",), ()),
    ({"type": "array", "contains": {"const": 1}}, ("[1,2,3,4]",), ()),
    ({"properties": {"aaaaa": {}}, "additionalProperties": {}}, ('{"aaaaa":1,"bbbbb":1}',), ()),
    (
        {
            "items": {"type": "array", "items": {"type": "boolean"}},
            "type": "array",
            "uniqueItems": True,
            "minItems": 9,
        },
        (
            "[[],[true],[true,true],[true,true,true],[false],[false,false],[false,false,false],"
            "[true,false],[false,true]]",
        ),
        (),
    ),
]


@pytest.mark.parametrize(
    ("schema", "within", "beyond"), BOUNDED, ids=[json.dumps(case[0])[:60] for case in BOUNDED]
)
def test_arrays_and_strings_without_a_bound_get_the_default(
    schema: Any, within: tuple[str, ...], beyond: tuple[str, ...]
) -> None:
    bounded, free = (
        schema_language(schema, max_items=items, max_length=length)
        for items, length in ((2, 3), (None, None))
    )
    assert all(accepts(free, text) for text in (*within, *beyond))
    assert [text for text in (*within, *beyond) if accepts(bounded, text)] == [*within]


# -- narrower, and never empty ---------------------------------------------------------------------
def compiled(schema: Any, style: str = "json", **options: Any) -> engine.Compiled | None:
    """Return the compiled schema; None: it is refused."""
    own = {"version": engine.SPEC_VERSION, **options}
    node = {"type": "json_schema", "json_schema": schema, "style": style, "switchyard": own}
    try:
        return engine.Compiler(vocabulary()).compile_structural_tag(
            {"type": "structural_tag", "format": node}
        )
    except (SpecError, engine.LimitExceeded):
        return None


NARROW = {"extra_keys": "none", "max_items": 2, "max_length": 3}


@pytest.mark.parametrize("schema", [case[1] for case in part(CASES)], ids=str)
def test_a_schema_with_values_keeps_some(schema: Any) -> None:
    assert (compiled(schema, extra_keys="last") is None) == (compiled(schema, **NARROW) is None)


def members(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("schema", "is_closed"),
    [
        (members(b=members(a={"type": "string"})), True),
        # REGRESSION: the second build met rules that the first one had left undefined
        (members(b={"type": "array", "items": ITEM, "uniqueItems": True, "minItems": 2}), False),
    ],
    ids=["closed", "open"],
)
def test_arguments_of_every_style_are_closed_unless_nothing_would_fit(
    style: str, schema: dict[str, Any], is_closed: bool
) -> None:
    within = {**schema, "additionalProperties": False} if is_closed else schema
    narrow, last = (compiled(schema, style, extra_keys=keys) for keys in ("none", "last"))
    wanted = compiled(within, style, extra_keys="last")
    assert (narrow is None) == (last is None)
    if narrow is None or wanted is None:  # the style cannot compare items
        return
    rng = Random(style)
    for _ in range(3):
        text = walk(narrow, rng)
        assert text is None or takes(wanted, text), text


def test_texts_of_narrowed_schemas_are_texts_of_the_schemas() -> None:
    walks = 0
    for seed in seeds(300):
        rng = Random(seed)
        schema = SchemaMaker(rng).document()
        last, narrow = compiled(schema, extra_keys="last"), compiled(schema, **NARROW)
        assert narrow is not None or last is None, (seed, schema)
        if last is None or narrow is None:
            continue
        for _ in range(3):
            text = walk(narrow, rng)
            walks += text is not None
            assert text is None or takes(last, text), (seed, schema, text)
    assert walks
