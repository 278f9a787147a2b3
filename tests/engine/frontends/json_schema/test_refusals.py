"""Keywords that can't be enforced, are invalid or too large are refused by name, place and number."""

import itertools
import json
import random
import sys
from typing import Any

import pytest

from engine.errors import EngineError, InternalError, LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import Grammar
from engine.limits import Limits

OLD = "http://json-schema.org/draft-07/schema#"

# (schema, pointer, keyword)
UNSUPPORTED = [
    # too many numbers of members or items
    ({"type": "object", "maxProperties": 30_000}, "/maxProperties", "maxProperties"),
    ({"type": "object", "minProperties": 30_000}, "/minProperties", "minProperties"),
    ({"contains": {"const": 1}, "maxContains": 200, "maxItems": 200}, "/contains", "contains"),
    # equal items
    ({"not": {"uniqueItems": True}}, "/not/uniqueItems", "uniqueItems"),
    ({"anyOf": [{"type": "string"}, {"not": {"uniqueItems": True}}]}, "/anyOf/1/not/uniqueItems", "uniqueItems"),
    ({"if": {"uniqueItems": True}, "else": {"maxItems": 3}}, "/if/uniqueItems", "uniqueItems"),
    ({"properties": {"a/b~": {"items": {"not": {"uniqueItems": True}}}}}, "/properties/a~1b~0/items/not/uniqueItems", "uniqueItems"),
    ({"$defs": {"x": {"not": {"uniqueItems": True}}}, "items": {"$ref": "#/$defs/x"}}, "/$defs/x/not/uniqueItems", "uniqueItems"),
    ({"items": {"items": {"enum": [[None]]}, "$ref": "#"}}, "/items/items", "enum"),
    # what is not of a format that is written more narrowly than it is defined
    ({"not": {"format": "uri-template"}}, "/not/format", "format"),
    ({"not": {"propertyNames": {"format": "date"}}}, "/not/propertyNames", "propertyNames"),
    ({"not": {"propertyNames": {"anyOf": [{"pattern": "a"}, {"maxLength": 1}]}}}, "/not/propertyNames", "propertyNames"),
    ({"if": {"format": "iri-reference"}, "else": {"maxLength": 3}}, "/if/format", "format"),
    # references
    ({"$ref": "other.json"}, "/$ref", "$ref"),
    ({"$ref": "http://x/y#/a"}, "/$ref", "$ref"),
    ({"$dynamicRef": "http://x/y"}, "/$dynamicRef", "$dynamicRef"),
    ({"$dynamicRef": "#x", "$defs": {"a": {"$dynamicAnchor": "x"}, "b": {"$dynamicAnchor": "x"}}}, "/$dynamicRef", "$dynamicRef"),
    ({"type": "string", "pattern": r"(a)\1"}, "/pattern", "pattern"),
    # REGRESSION: taken for an annotation, so that less was enforced than was asked for
    ({"x-guidance": {"item_separator": ", "}}, "/x-guidance", "x-guidance"),
    ({"x-guidance": {"whitespace_flexible": True, "whitespace_pattern": " ?"}}, "/x-guidance", "x-guidance"),
    ({"x-guidance": {"json_allowed_escapes": "n"}}, "/x-guidance", "x-guidance"),
    ({"x-guidance": {"new": 1}}, "/x-guidance", "x-guidance"),
    ({"allOf": [{"contains": {"const": n}} for n in range(30)]}, "/allOf/0/contains", "contains"),
    ({"allOf": [{"not": {"properties": {f"x{n}": True}, "additionalProperties": False}} for n in range(33)]}, "/allOf/0/not", "not"),
    ({"allOf": [{"anyOf": [{"properties": {f"{name}{n}": {"type": "string"}}} for name in "ab"]} for n in range(20)]}, "/allOf/9/anyOf", "anyOf"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "keyword"), UNSUPPORTED)
def test_an_unsupported_keyword_is_refused_by_name_and_pointer(
    schema: dict, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        build_json_schema(Grammar(), schema, pointer="/base")
    assert (caught.value.pointer, caught.value.keyword) == ("/base" + pointer, keyword)


# keywords that could not be enforced where they stand, and that nothing depends on there
NOT_IN_FORCE = [
    {"type": "string", "minProperties": 30_000, "$recursiveRef": "other"},
    {"type": "integer", "anyOf": [{"minLength": 1, "maxProperties": 30_000}, {"minProperties": 30_000}]},
    {"type": "integer", "anyOf": [{"not": {"format": "regex"}}, {}], "pattern": r"(a)\1"},
    {"propertyNames": {}, "unevaluatedProperties": True, "unevaluatedItems": {}, "uniqueItems": False},
    {"uniqueItems": True, "maxItems": 1, "minContains": 3, "then": 5, "else": 5},
    {"if": {"not": {"uniqueItems": True}}, "properties": {}},
    {"anyOf": [{}, {"not": {"uniqueItems": True}}]},
    {"enum": [[1, 2]], "uniqueItems": True},
    {"$defs": {"unused": {"not": {"uniqueItems": True}, "$ref": "nowhere"}}, "definitions": {"x": 5}},
    {"$anchor": "a", "$dynamicAnchor": "b", "$vocabulary": {}, "contentMediaType": "text/plain"},
    {"items": {"$id": "x", "type": "string"}},
    {"items": {"x-guidance": {"item_separator": ";"}}},
    {"x-guidance": {"lenient": True, "coerce_one_of": False, "whitespace_flexible": True}},
    {"x-guidance": {"item_separator": ",", "key_separator": ":", "whitespace_pattern": None}},
    {"$id": "http://x/y", "items": {"$ref": "http://x/y#"}},
    {"additionalItems": 5, "nullable": 5, "items": {}},
    {"$schema": OLD, "$ref": "#/definitions/x", "not": {"uniqueItems": True}, "definitions": {"x": {}}},
    {"$schema": OLD, "unevaluatedItems": 5, "dependentRequired": 5, "prefixItems": 5, "maxContains": 5},
]  # fmt: skip


@pytest.mark.parametrize("schema", NOT_IN_FORCE)
def test_a_keyword_that_constrains_nothing_is_not_refused(schema: dict) -> None:
    build_json_schema(Grammar(), schema)


# (schema, pointer, words)
ILL_FORMED = [
    (5, "", "must be an object or a boolean, not a number"),
    ([], "", "not an array"),
    ({"type": 5}, "/type", "name"),
    ({"type": []}, "/type", "name"),
    ({"type": "float"}, "/type", "unknown type 'float'"),
    ({"type": ["string", "string"]}, "/type", "twice"),
    ({"properties": []}, "/properties", "object"),
    ({"properties": {"a": 5}}, "/properties/a", "not a number"),
    ({"properties": {"a": None}}, "/properties/a", "not null"),
    ({"required": "a"}, "/required", "array of strings"),
    ({"required": [1]}, "/required", "array of strings"),
    ({"required": True}, "/required", "array of strings"),
    ({"required": ["a", "a"]}, "/required", "twice"),
    ({"additionalProperties": "no"}, "/additionalProperties", "not a string"),
    ({"items": 5}, "/items", "not a number"),
    ({"prefixItems": {}}, "/prefixItems", "array"),
    ({"minItems": -1}, "/minItems", "whole number >= 0"),
    ({"maxItems": 1.5}, "/maxItems", "whole number"),
    ({"minLength": "x"}, "/minLength", "whole number"),
    ({"maxLength": True}, "/maxLength", "whole number"),
    ({"minLength": 2**31}, "/minLength", "no value can reach"),
    ({"minProperties": 10**5000}, "/minProperties", "no value can reach"),
    ({"pattern": 5}, "/pattern", "string"),
    ({"type": "string", "pattern": "("}, "/pattern", "position 1"),
    ({"format": 5}, "/format", "string"),
    ({"minimum": "1"}, "/minimum", "number"),
    ({"minimum": True}, "/minimum", "number"),
    ({"maximum": float("inf")}, "/maximum", "finite"),
    ({"maximum": float("nan")}, "/maximum", "finite"),
    ({"minimum": 10**400}, "/minimum", "400 digits"),
    ({"minimum": 10**5000}, "/minimum", "400 digits"),
    ({"exclusiveMinimum": True}, "/exclusiveMinimum", "needs minimum"),
    ({"multipleOf": 0}, "/multipleOf", "greater than 0"),
    ({"multipleOf": "x"}, "/multipleOf", "number"),
    ({"multipleOf": -1}, "/multipleOf", "greater than 0"),
    ({"multipleOf": True}, "/multipleOf", "got a boolean"),
    ({"multipleOf": float("inf")}, "/multipleOf", "finite"),
    ({"enum": "a"}, "/enum", "array"),
    ({"enum": [1, {"a": "\ud800"}]}, "/enum/1", "lone surrogate"),
    ({"const": float("inf")}, "/const", "finite"),
    ({"enum": [10**5000]}, "/enum/0", "400 digits"),
    ({"anyOf": []}, "/anyOf", "non-empty array"),
    ({"allOf": {}}, "/allOf", "non-empty array"),
    ({"oneOf": [1]}, "/oneOf/0", "not a number"),
    ({"not": 5}, "/not", "not a number"),
    ({"if": 5, "then": {}}, "/if", "not a number"),
    ({"if": {}, "then": []}, "/then", "not an array"),
    ({"if": {"const": 1}, "else": None}, "/else", "not null"),
    ({"dependentRequired": ["a"]}, "/dependentRequired", "object"),
    ({"dependentRequired": {"a": "b"}}, "/dependentRequired/a", "arrays of strings"),
    ({"dependentSchemas": []}, "/dependentSchemas", "object"),
    ({"dependentSchemas": {"a/b": 5}}, "/dependentSchemas/a~1b", "not a number"),
    ({"dependencies": {"a": "b"}}, "/dependencies/a", "not a string"),
    ({"patternProperties": []}, "/patternProperties", "object"),
    ({"patternProperties": {"a": 5}}, "/patternProperties/a", "not a number"),
    ({"patternProperties": {"(": {}}}, "/patternProperties/(", "position 1"),
    ({"propertyNames": 5}, "/propertyNames", "not a number"),
    ({"maxProperties": -1}, "/maxProperties", "whole number >= 0"),
    ({"unevaluatedProperties": 5}, "/unevaluatedProperties", "not a number"),
    ({"unevaluatedItems": "x"}, "/unevaluatedItems", "not a string"),
    ({"contains": 5}, "/contains", "not a number"),
    ({"contains": {}, "minContains": -1}, "/minContains", "whole number >= 0"),
    ({"contains": {}, "maxContains": 1.5}, "/maxContains", "whole number"),
    ({"uniqueItems": 1}, "/uniqueItems", "true or false"),
    ({"x-guidance": True}, "/x-guidance", "an object"),
    ({"x-guidance": {"whitespace_flexible": 0}}, "/x-guidance/whitespace_flexible", "true or false, got 0"),
    ({"items": [{}, 5]}, "/items/1", "not a number"),
    ({"items": [{}], "additionalItems": 5}, "/additionalItems", "not a number"),
    ({"items": [{}], "prefixItems": [{}]}, "/items", "beside prefixItems"),
    ({"type": "string", "nullable": 1}, "/nullable", "true or false"),
    ({"$dynamicRef": 5}, "/$dynamicRef", "string"),
    ({"$dynamicRef": "#x"}, "/$dynamicRef", "names nothing"),
    ({"$ref": "#anchor"}, "/$ref", "names nothing"),
    ({"$ref": 5}, "/$ref", "string"),
    ({"$ref": "#/$defs/x"}, "/$ref", "names nothing"),
    ({"$ref": "#/anyOf/0000000009", "anyOf": [{}]}, "/$ref", "names nothing"),
    ({"$ref": "#/title", "title": "x"}, "/$ref", "names no schema"),
    ({"$ref": "#"}, "", "leads back here"),
    ({"anyOf": [{"$ref": "#"}, {"type": "string"}]}, "", "leads back here"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}, "/$defs/b", "leads back here"),
    ({"not": {"$ref": "#"}}, "", "leads back here"),
    ({"if": {"$ref": "#"}, "then": {}}, "", "leads back here"),
    ({"oneOf": [{"$ref": "#"}, {"type": "string"}]}, "", "leads back here"),
    ({"dependentSchemas": {"a": {"$ref": "#"}}}, "", "leads back here"),
    ({"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}, "", "leads back here"),
    ({"properties": {"a": {"type": "string", "minItems": "x"}}}, "/properties/a/minItems", "whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "words"), ILL_FORMED)
def test_an_ill_formed_schema_is_refused_with_its_place(
    schema: Any, pointer: str, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        build_json_schema(Grammar(), schema, pointer="/base")
    assert not isinstance(caught.value, UnsupportedSchema)
    assert caught.value.pointer == "/base" + pointer
    assert words in caught.value.message


@pytest.mark.parametrize(
    "options", [{"whitespace": "none"}, {"unknown_formats": "x"}, {"extra_keys": "first"}]
)
def test_unknown_options_are_the_callers_bug(options: dict) -> None:
    with pytest.raises(ValueError, match="must be"):
        build_json_schema(Grammar(), {}, **options)


# -- bad input in bulk ----------------------------------------------------------------------------

KEYWORDS = (
    "type properties required additionalProperties items prefixItems minItems maxItems enum const anyOf allOf oneOf not "
    "$ref $defs minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum format multipleOf "
    "uniqueItems contains minContains maxContains patternProperties propertyNames minProperties maxProperties "
    "dependentRequired dependentSchemas dependencies if then else $id id $anchor $dynamicAnchor $schema $dynamicRef "
    "$recursiveRef unevaluatedProperties unevaluatedItems additionalItems nullable"
).split()
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 1.5, float("inf"), float("nan"), 10**5000, 2**31, "", "x", "(", "[z-a]", "#", "#/",
    "#/$defs/x", "http://a", "\ud800", "integer", [], [None], [1], ["a", "a"], [{}], [True, False], [[]], {}, {"a": 1},
    {"a": {}}, {"a": True}, {"": []}, {"\ud800": {}}, [{"type": "string"}], ["\ud800"], [1.0, 1, True],
]  # fmt: skip


def test_no_value_of_any_keyword_brings_anything_but_a_refusal() -> None:
    rng = random.Random(1)
    for keyword, value in itertools.product(KEYWORDS, VALUES):
        other = {rng.choice(KEYWORDS): rng.choice(VALUES)}
        for schema in (
            {keyword: value},
            {"properties": {"a": {keyword: value}}, "required": ["a"]},
            {**other, keyword: value},
        ):
            try:
                build_json_schema(Grammar(), schema)
            except EngineError as error:
                assert not isinstance(error, InternalError)
                assert getattr(error, "pointer", "")[:1] in ("", "/")


# -- limits ---------------------------------------------------------------------------------------


def nested(levels: int, kind: str) -> Any:
    schema: Any = {}
    for _ in range(levels):
        schema = (
            {"items": schema}
            if kind == "items"
            else {"anyOf": [schema]}
            if kind == "anyOf"
            else {"properties": {"a": schema}}
        )
    return schema


@pytest.mark.parametrize(("kind", "levels"), [("items", 127), ("anyOf", 63), ("properties", 63)])
def test_nesting_is_bounded_and_the_bound_does_not_need_pythons_stack(
    kind: str, levels: int
) -> None:
    def below(frames: int) -> None:
        if frames:
            return below(frames - 1)
        build_json_schema(Grammar(), nested(levels, kind))
        return None

    below(min(300, sys.getrecursionlimit() // 3))
    with pytest.raises(LimitExceeded) as caught:
        build_json_schema(Grammar(), nested(levels + 1, kind))
    assert (caught.value.limit, caught.value.maximum) == ("spec_depth", 128)
    assert caught.value.got > 128


def test_a_schema_of_ten_thousand_levels_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        build_json_schema(Grammar(), nested(10_000, "items"))


def chain(length: int, link: Any) -> dict[str, Any]:
    defs = {str(n): link({"$ref": f"#/$defs/{n + 1}"}) for n in range(length)}
    return {"$ref": "#/$defs/0", "$defs": {**defs, str(length): {"type": "string"}}}


def test_a_long_chain_of_references_is_bounded_only_where_no_value_lies_between() -> None:
    build_json_schema(
        Grammar(), chain(3_000, lambda ref: {"properties": {"a": ref}, "required": ["a"]})
    )
    build_json_schema(Grammar(), chain(3_000, lambda ref: ref))
    build_json_schema(Grammar(), chain(126, lambda ref: {"allOf": [ref]}))
    with pytest.raises(LimitExceeded) as caught:
        build_json_schema(Grammar(), chain(128, lambda ref: {"allOf": [ref]}))
    assert (caught.value.limit, caught.value.maximum) == ("spec_depth", 128)


def test_the_number_of_listed_values_is_bounded() -> None:
    grammar = Grammar(Limits(enum_values=3))
    build_json_schema(grammar, {"enum": [1, 2, 3]})
    with pytest.raises(LimitExceeded) as caught:
        build_json_schema(grammar, {"items": {"enum": [1, 2, 3, 4]}}, pointer="/s")
    error = caught.value
    assert (error.limit, error.maximum, error.got, error.pointer) == (
        "enum_values",
        3,
        4,
        "/s/items/enum",
    )


def test_a_pattern_that_needs_an_automaton_is_bounded() -> None:
    grammar = Grammar(Limits(pattern_states=50))
    build_json_schema(grammar, {"type": "string", "pattern": "^(ab|c)*$", "maxLength": 1_000})
    build_json_schema(grammar, {"type": "string", "pattern": "^(ab|c){5}$", "maxLength": 8})
    with pytest.raises(LimitExceeded) as caught:
        build_json_schema(grammar, {"type": "string", "pattern": "^(ab|c){60}$", "maxLength": 90})
    assert (caught.value.limit, caught.value.pointer) == ("pattern_states", "/pattern")
    build_json_schema(grammar, {"type": "string", "pattern": "^[a-z]{1,4000}$", "maxLength": 3_000})


def test_large_schemas_take_linear_many_nodes() -> None:
    def nodes(schema: Any) -> int:
        grammar = Grammar()
        build_json_schema(grammar, schema)
        return len(grammar.nodes)

    def properties(count: int) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {f"key{n}": {"type": "string"} for n in range(count)},
        }

    assert nodes(properties(2_000)) < 2.2 * nodes(properties(1_000))
    assert nodes({"enum": [f"v{n}" for n in range(20_000)]}) < 20_100
    prefix = {"type": "array", "prefixItems": [{"type": "integer"}] * 5_000}
    # an integer's own spellings take most of them
    assert nodes(prefix) < 150


def test_the_grammar_does_not_depend_on_anything_but_the_schema() -> None:
    schema = json.loads(
        json.dumps(chain(5, lambda ref: {"properties": {"b": ref, "a": {"enum": ["x", 1]}}}))
    )
    first, second = Grammar(), Grammar()
    build_json_schema(first, schema)
    build_json_schema(second, json.loads(json.dumps(schema)))
    assert (first.nodes, first.rules, first.rule_names) == (
        second.nodes,
        second.rules,
        second.rule_names,
    )
