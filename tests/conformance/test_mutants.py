"""No keyword is dropped in silence: without it as much more is taken as is valid, and no less."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import engine
from engine.schema_tools.keywords import CONSTRAINTS
from tests.engine.frontends.json_schema.schema_cases import CASES
from tests.turns import draws

from .mutants import check_mutants, keywords, without
from .schemas import documents
from .walking import vocabulary

pytestmark = pytest.mark.campaign

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
A = {"properties": {"a": INTEGER}}
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"

# every keyword at least once, in schemas in which each of them matters, and how many of the mutants
# are refused: what a keyword names is left out, or what made another one enforceable
TABLE: list[tuple[dict[str, Any], int]] = [
    ({"type": "string", "minLength": 1, "maxLength": 2, "pattern": "^a*$"}, 0),
    ({"type": "string", "format": "date"}, 0),
    ({"type": "number", "minimum": 1, "maximum": 10, "multipleOf": 2}, 0),
    ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 10}, 0),
    ({"$schema": DRAFT_4, "type": "number", "minimum": 1, "exclusiveMinimum": True}, 1),
    ({"$schema": DRAFT_4, "type": "number", "maximum": 10, "exclusiveMaximum": True}, 1),
    ({"type": "array", "prefixItems": [STRING], "items": INTEGER, "minItems": 1, "maxItems": 2}, 0),
    ({"$schema": DRAFT_7, "items": [STRING], "additionalItems": INTEGER}, 0),
    ({"type": "array", "contains": INTEGER, "minContains": 2}, 0),
    ({"type": "array", "contains": INTEGER, "maxContains": 1}, 0),
    ({"items": {"enum": [1, 2, "a"]}, "uniqueItems": True}, 0),
    ({"type": "array", "prefixItems": [STRING], "unevaluatedItems": INTEGER}, 0),
    ({"type": "object", **A, "required": ["b"], "additionalProperties": STRING}, 0),
    ({"patternProperties": {"^a": INTEGER}, "propertyNames": {"maxLength": 2}}, 0),
    ({"type": "object", "minProperties": 1, "maxProperties": 2}, 0),
    ({"dependentRequired": {"a": ["b"]}}, 0),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, 0),
    ({"$schema": DRAFT_7, "dependencies": {"a": ["b"], "b": {"required": ["ab"]}}}, 0),
    ({"allOf": [A], "unevaluatedProperties": False}, 0),
    ({"enum": [1, "a", None], "not": {"const": 1}}, 1),
    ({"allOf": [{"minimum": 2}, {"maximum": 5}], "anyOf": [STRING, {"multipleOf": 2}]}, 0),
    ({"oneOf": [{"minimum": 2}, {"multipleOf": 2}]}, 0),
    ({"if": STRING, "then": {"minLength": 2}, "else": {"type": "null"}}, 0),
    ({"$ref": "#/$defs/x", "$defs": {"x": STRING}}, 0),
    ({"$dynamicRef": "#x", "$defs": {"x": {"$dynamicAnchor": "x", "type": "string"}}}, 1),
    ({"$schema": DRAFT_2019, "type": "array", "items": {"$recursiveRef": "#"}}, 0),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "refused"), TABLE, ids=str)
def test_every_keyword_of_the_table_is_seen_to_matter(schema: dict[str, Any], refused: int) -> None:
    counts = check_mutants(engine.Compiler(vocabulary()), schema, Random(0))
    assert (counts["mutants refused"], counts["mutants not shown"]) == (refused, 0)


def test_the_table_has_every_keyword_that_constrains() -> None:
    named = {step for schema, _ in TABLE for path in keywords(schema) for step in path}
    # about white space, which the mutants' texts don't vary
    assert named >= CONSTRAINTS - {"x-guidance"}


@pytest.mark.parametrize("group", range(4))
def test_no_keyword_of_the_front_ends_cases_is_dropped(group: int) -> None:
    compiler, counts = engine.Compiler(vocabulary()), Counter[str]()
    for _, schema, _ in CASES[group::4]:
        counts += check_mutants(compiler, schema, Random(0))
    assert counts["mutants shown"] > counts["mutants not shown"]


SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)


@given(documents, st.integers(0, 1 << 30))
@draws(25, suppress_health_check=SLOW)
def test_no_keyword_of_a_drawn_schema_is_dropped(schema: Any, seed: int) -> None:
    check_mutants(engine.Compiler(vocabulary()), schema, Random(seed))


def test_inner_keywords_are_left_out_too() -> None:
    schema = {"properties": {"type": {"items": {"maxLength": 2}}}, "enum": [{"type": 1}]}
    paths = list(keywords(schema))
    assert paths == [
        ("properties",),
        ("properties", "type", "items"),
        ("properties", "type", "items", "maxLength"),
        ("enum",),
    ]
    assert without(schema, paths[2])["properties"] == {"type": {"items": {}}}
