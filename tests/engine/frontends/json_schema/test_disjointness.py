"""Values that schemas plainly share (``json_schema.contents``): finding them saves work and changes no answer."""

from typing import Any

import pytest

from engine.errors import EngineError
from engine.frontends.json_schema import build_json_schema
from engine.grammar.ir import Grammar
from tests.engine.frontends.accepting import check, check_table

DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}
SHORT = {"type": "string", "maxLength": 1}


def tagged(tag: Any, **members: Any) -> dict[str, Any]:
    """Objects that the member ``k`` tells apart."""
    return {"properties": {"k": tag, **members}, "required": ["k"], "type": "object"}


def kind(name: str) -> dict[str, Any]:
    return {"type": "string", "const": name}


def matching(pattern: str) -> dict[str, Any]:
    return {"type": "string", "pattern": pattern}


def unless(schema: Any, other: Any) -> dict[str, Any]:
    """0, too, so that something fits."""
    return {"anyOf": [{"const": 0}, {"allOf": [schema, {"not": other}]}]}


CASES = [
    # members that tell objects apart
    ("constants", {"oneOf": [tagged(kind("a"), v=SHORT), tagged(kind("b"))]}, '{"k":"a","v":"x"} {"k":"b","v":1}', '{"k":"a","v":1} {"k":"c"} {}'),
    ("lists that overlap", {"oneOf": [tagged({"enum": ["a", "b"]}, v=SHORT), tagged({"enum": ["b", "c"]})]}, '{"k":"a"} {"k":"c","v":1} {"k":"b","v":1}', '{"k":"b"} {"k":"b","v":"x"} {"k":"a","v":1}'),
    ("types", {"oneOf": [tagged({"type": "string"}), tagged({"type": ["integer", "null"]})]}, '{"k":"a"} {"k":1} {"k":null}', '{"k":true} {"k":1.5} {}'),
    ("an integer is a number", {"oneOf": [tagged({"type": "integer"}), tagged({"type": "number"})]}, '{"k":1.5}', '{"k":1} {"k":"a"}'),
    ("1 is 1.0, and not true", {"oneOf": [tagged({"const": 1}), tagged({"const": 1.0}), tagged({"const": True})]}, '{"k":true}', '{"k":1} {"k":1.0} {"k":false}'),
    ("only one requires the member", {"oneOf": [tagged(kind("a")), {"type": "object", "properties": {"k": kind("b")}}]}, '{"k":"a"} {"k":"b"} {}', '{"k":"c"} {"k":1}'),
    ("required by neither", {"oneOf": [{"type": "object", "properties": {"k": kind("a")}}, {"type": "object", "properties": {"k": kind("b")}}]}, '{"k":"a"} {"k":"b"}', '{"k":"c"} {}'),
    ("a member that the other forbids", {"oneOf": [tagged({}), {"type": "object", "properties": {"v": {}}, "additionalProperties": False}]}, '{"k":1} {"v":1} {} {"k":1,"v":1}', '{"x":1}'),
    ("a list of values that the type forbids", {"oneOf": [tagged({"type": "string", "enum": [1, "a"]}), tagged({"const": 1})]}, '{"k":1} {"k":"a"}', '{"k":2}'),
    ("draft 4 has no constants", DRAFT_4 | {"oneOf": [tagged({"const": "a"}, v=SHORT), tagged({"const": "b"})]}, '{"k":"a","v":1} {"k":2,"v":1}', '{"k":"b"} {"k":"a","v":"x"} {}'),
    ("nor beside a reference to draft 7", DRAFT_7 | {"definitions": {"any": {}}, "oneOf": [tagged({"$ref": "#/definitions/any", "const": "a"}, v=SHORT), tagged({"const": "b"})]}, '{"k":"b","v":1} {"k":"a"} {"k":2,"v":"x"}', '{"k":"b"} {"k":"a","v":1}'),
    ("what is not a value", {"allOf": [tagged({"not": {"const": "a"}})], "oneOf": [tagged({"enum": ["a"]}), tagged({"enum": ["a", "b"]})]}, '{"k":"b"}', '{"k":"a"} {}'),
    ("what is not a type", {"oneOf": [tagged({"not": {"type": "string"}}), tagged({"type": "string"})]}, '{"k":"a"} {"k":1}', "{}"),
    ("what is not a value of a type", {"oneOf": [tagged({"not": {"type": "string", "enum": ["a", 1]}}), tagged({"const": 1})]}, '{"k":2} {"k":"b"}', '{"k":1} {"k":"a"}'),
    ("keys by patterns", {"oneOf": [tagged({}) | {"properties": {}, "patternProperties": {"k": kind("a")}}, tagged(kind("b"))]}, '{"k":"a"} {"k":"b"}', '{"k":"c"} {}'),
    ("if and then", {"allOf": [tagged({"enum": ["a", "b"]}), {"if": tagged(kind("a")), "then": {"required": ["v"]}}, {"if": tagged(kind("b")), "then": {"properties": {"v": False}}}]}, '{"k":"a","v":1} {"k":"b"}', '{"k":"a"} {"k":"b","v":1} {"k":"c"}'),
    # texts that patterns tell apart
    ("patterns without a common text", {"oneOf": [matching("^a+$"), matching("^b+$"), matching("^ab$")]}, '"a" "bb" "ab"', '"" "c" "aab" "ba"'),
    ("patterns within patterns", {"oneOf": [matching("^a"), matching("^aa"), matching("^aaa")]}, '"a" "ab"', '"aa" "aaa" "" "b"'),
    ("the first pattern again", {"oneOf": [matching("^a"), matching("^b"), matching("^a")]}, '"b"', '"a" "c"'),
    ("patterns that overlap in part", {"oneOf": [matching("a"), matching("b"), matching("^c"), matching("d$")]}, '"a" "xb" "c" "d"', '"ab" "ca" "cd" "x" "abcd"'),
    ("two patterns of one branch", {"type": "string", "pattern": "^a", "oneOf": [matching("b"), matching("c"), matching("d")]}, '"ab" "ac" "axd"', '"abc" "abcd" "a" "b"'),
    ("lengths and patterns", {"oneOf": [matching("^a") | {"maxLength": 2}, matching("^aa"), matching("^b")]}, '"a" "ab" "aaa" "b"', '"aa" "abc"'),
    ("a pattern that nothing matches", {"oneOf": [matching("^a"), matching("b^c"), matching("^aa")]}, '"a" "ab"', '"aa" "b"'),
    ("without one of several patterns", unless({"type": "string"}, {"oneOf": [matching("^a"), matching("b$"), matching("^c")]}), '"ab" "x" "acb" ""', '"a" "b" "c"'),
    # members of the same content
    ("without an object of the same members", unless(tagged({}, v=SHORT), tagged({}, v=dict(SHORT))), "", '{"k":1} {"k":1,"v":"x"} {}'),
    ("without an object of more members", unless(tagged({}, v=SHORT), tagged({}, v=dict(SHORT), w=SHORT)), '{"k":1,"w":1} {"k":1,"v":"x","w":"xy"}', '{"k":1} {"k":1,"w":"x"} {"k":1,"v":1,"w":1}'),
    ("annotations do not count", unless(tagged({}, v={**SHORT, "title": "one"}), tagged({}, v={**SHORT, "title": "two"})), "", '{"k":1} {"k":1,"v":"x"}'),
    ("names of keywords are members", unless(tagged({}, title=SHORT), tagged({}, title={"type": "string", "maxLength": 2})), "", '{"k":1} {"k":1,"title":"x"}'),
    ("1 and true are not the same content", unless(tagged({}, v={"enum": [1, 2]}), tagged({}, v={"enum": [True, 2]})), '{"k":1,"v":1}', '{"k":1,"v":2} {"k":1} {"k":1,"v":true}'),
    ("the same references", {"$defs": {"s": SHORT}} | unless(tagged({}, v={"$ref": "#/$defs/s"}), tagged({}, v={"$ref": "#/$defs/s", "title": "t"})), "", '{"k":1} {"k":1,"v":"x"}'),
    # items that all count, or none
    ("without arrays of other items", unless({"type": "array", "items": {"enum": ["a", "b"]}}, {"items": {"enum": ["c"]}}), '["a"] ["b","a"]', '[] ["c"] ["a","c"]'),
    ("without short arrays of other items", unless({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2}, {"items": {"enum": ["c"]}, "maxItems": 1}), '["a"] ["b","a"]', '[] ["c"] ["a","a","a"]'),
    ("items that are never contained", {"type": ["array", "null"], "items": {"type": "string"}, "allOf": [{"contains": {"type": "integer"}}]}, "null", '[] ["a"] [1]'),
    ("items that need not be contained", {"type": "array", "items": {"type": "string"}, "allOf": [{"contains": {"type": "integer"}, "minContains": 0, "maxContains": 1}]}, '[] ["a","b"]', '[1]'),
    ("items that are all contained", {"type": "array", "items": {"type": "string"}, "allOf": [{"contains": {"not": {"type": "integer"}}, "minContains": 2, "maxContains": 3}]}, '["a","b"] ["a","b","c"]', '["a"] ["a","b","c","d"] [1,1]'),
    ("items behind a prefix", {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "allOf": [{"not": {"prefixItems": [{}], "items": {"type": "integer"}}}]}, '[1,"a"] [1,"a","b"]', '[] [1] [1,1]'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "yes", "no"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_the_answers_are_those_of_the_oracle(schema: Any, yes: str, no: str) -> None:
    check_table(schema, yes, no)


def test_references_of_two_resources_are_not_the_same() -> None:
    """Not against the oracle, which knows one resource."""

    def resource(uri: str, value: str) -> dict[str, Any]:
        return {"$id": uri, "$defs": {"s": kind(value)}, **tagged({}, v={"$ref": "#/$defs/s"})}

    schema = unless(resource("http://one/", "a"), resource("http://two/", "b"))
    check(schema, '0 {"k":1,"v":"a"}', '1 {"k":1} {"k":1,"v":"b"}')


def chained(n: int) -> dict[str, Any]:
    """If the kind is this, then that object, for each of many kinds."""
    tag = {"type": "string", "enum": [f"kind {k}" for k in range(n)]}
    branches = [
        {
            "if": {"type": "object", "properties": {"k": kind(f"kind {k}")}},
            "then": tagged(kind(f"kind {k}"), v=SHORT, w={"type": "integer"}),
        }
        for k in range(n)
    ]
    return {"allOf": [tagged(tag), *branches]}


def alike(n: int) -> dict[str, Any]:
    """Objects of many equal members and one other."""
    members = [{f"m{k}": dict(SHORT) for k in range(30)} for _ in range(n)]
    return {
        "oneOf": [
            {"type": "object", "properties": {**each, "v": {"maximum": k}}}
            for k, each in enumerate(members)
        ]
    }


def listed(n: int) -> dict[str, Any]:
    """Arrays of other items, whose only common value is the empty one."""
    items = [{"enum": [f"{k} {item}" for item in range(5)]} for k in range(n)]
    return {"oneOf": [{"type": "array", "items": each, "maxItems": 25} for each in items]}


@pytest.mark.parametrize(
    ("name", "schema", "most"),
    [
        ("REGRESSION a chain of conditions", chained(20), 8_000),
        ("REGRESSION objects with equal members", alike(6), 3_000),
        ("REGRESSION arrays of other items", listed(5), 1_500),
        ("REGRESSION texts of other lengths", {"oneOf": [matching(f"^a{{{k}}}$") for k in range(1, 100)]}, 20_000),
        ("REGRESSION patterns within patterns", {"oneOf": [matching(f"^a{{{k}}}") for k in range(1, 100)]}, 20_000),
        ("REGRESSION many beginnings", {"oneOf": [matching(f"^a{k}") for k in range(300)]}, 30_000),
        ("many kinds", {"oneOf": [tagged(kind(f"kind {k}")) for k in range(40)]}, 5_000),
    ],
)  # fmt: skip
def test_alternatives_that_differ_at_first_sight_take_few_steps(
    name: str, schema: Any, most: int
) -> None:
    grammar = Grammar()
    build_json_schema(grammar, schema)
    assert grammar.budget.spent < most


@pytest.mark.parametrize(
    ("branches", "least"),
    [
        ([{"type": "array", "items": matching(f"^a{{{k}}}"), "minItems": 1} for k in range(25)], 25**3),
        ([{"type": "integer", "multipleOf": k + 2} for k in range(100)], 100**3 // 16),
    ],
    ids=["counts of items", "divisors"],
)  # fmt: skip
def test_each_constraint_of_many_branches_takes_steps(branches: list[Any], least: int) -> None:
    """REGRESSION: hundreds of branches took seconds and half a gigabyte in few steps. Each excludes
    the others one by one, and each time meets the constraints so far.
    """
    grammar = Grammar()
    with pytest.raises(EngineError):
        build_json_schema(grammar, {"oneOf": branches})
    assert grammar.budget.spent > least
