"""Arrays whose items are counted, must differ, or stand at places of their own."""

from typing import Any

import pytest

from engine.errors import SpecError
from tests.engine.frontends.accepting import check, check_table, compiler

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
DRAFTS = {
    year: f"https://json-schema.org/draft/{year}/schema" for year in ("2019-09", "2020-12")
} | {"7": "http://json-schema.org/draft-07/schema#"}


def arr(**keywords: Any) -> dict[str, Any]:
    return {"type": "array", **keywords}


ONE = {"const": 1}
CONTAINS = [
    (arr(contains=ONE), "[1] [2,1] [1,1,2] [1.0]", "[] [2] [2,3]"),
    ({"contains": ONE}, '"a" 1 {} [1]', "[] [2]"),
    (arr(contains=True), '[1] ["a"]', "[]"),
    (arr(contains=ONE, minContains=2), "[1,1] [1,2,1] [2,1,1,1]", "[] [1] [1,2]"),
    (arr(contains=ONE, maxContains=1), "[1] [2,1,2]", "[] [2] [1,1] [1,2,1]"),
    (arr(contains=ONE, minContains=0), "[] [2] [1,1]", "1"),
    (arr(contains=ONE, minContains=0, maxContains=1), "[] [2,3] [2,1]", "[1,1] [1,2,1]"),
    (arr(contains=ONE, maxContains=0, minContains=0), "[] [2]", "[1] [2,1]"),
    (arr(contains=ONE, minContains=2, maxContains=3), "[1,1] [1,2,1,1]", "[1] [1,1,1,1]"),
    (arr(contains=ONE, minContains=1.0, maxContains=2.0), "[1] [1,1]", "[] [1,1,1]"),
    (arr(minContains=2, maxContains=1), '[] [1,1] ["a"]', "1"),
    (arr(contains=INTEGER, items={"minimum": 5}), '["a",5] [7]', '["a"] [4] [5,4] []'),
    (arr(contains=STRING, prefixItems=[STRING, INTEGER]), '["a"] ["a",1] ["a",1,"b"]', '[] [1] ["a","b"]'),
    (arr(contains=STRING, prefixItems=[INTEGER]), '[1,"a"] [1,2,"a"]', '[] [1] ["a"] [1,2]'),
    (arr(contains=STRING, prefixItems=[INTEGER, {}], items=INTEGER), '[1,"a"] [1,"a",2]', '[1] [1,2] [1,2,"a"]'),
    (arr(contains=INTEGER, maxContains=1, minItems=2, maxItems=3), '[1,"a"] ["a","b",1]', '[1] [1,2] ["a","b"] [1,"a","b","c"]'),
    (arr(contains=STRING, maxContains=2, maxItems=4, items={"type": ["string", "null"]}), '["a"] [null,"a","b",null]', '[] [null] ["a","b","c"]'),
    ({"allOf": [arr(contains=ONE), {"contains": {"const": 2}}]}, "[1,2] [2,3,1]", "[1] [2] [] [3]"),
    ({"allOf": [arr(contains={"multipleOf": 2}, minContains=2), {"contains": {"multipleOf": 3}, "maxContains": 1}], "items": INTEGER}, "[2,6] [2,3,4] [6,4]", "[6,6] [2,4] [3,2] [6]"),
    (arr(contains={"contains": ONE}), "[[1]] [2,[1]] [2]", "[] [[]] [[2]]"),
    (arr(contains=arr(contains=ONE)), "[[1]] [[],[2,1]]", "[1] [[2]] [[]]"),
    (arr(contains={"type": "object", "required": ["a"]}), '[{"a":1}] [1,{"a":1}]', '[{}] [1,{"b":1}]'),
    ({"$ref": "#/$defs/t", "$defs": {"t": arr(items={"$ref": "#/$defs/t"}, contains={"maxItems": 0}, minContains=0, maxContains=1)}}, "[] [[]] [[],[[]]]", "[[],[]] [1]"),
]  # fmt: skip

ABC = {"enum": ["a", "b", "c"]}
UNIQUE = [
    (arr(items=ABC, uniqueItems=True), '[] ["a"] ["b","a"] ["a","b","c"] ["a","\\u0062"]', '["a","a"] ["a","b","a"] ["a","\\u0061"] ["d"]'),
    (arr(items={"enum": [1, 1.0, True, "1"]}, uniqueItems=True), '[1] [1,true,"1"]', "[1,1] [1,1.0] [true,true]"),
    (arr(items={"type": ["boolean", "null"]}, uniqueItems=True), "[] [true,null,false]", "[true,true] [null,false,null]"),
    (arr(items={"enum": [[1], {"a": 1}, []]}, uniqueItems=True), '[[],[1],{"a":1}] [[1],[]]', '[[1],[1]] [[1],[1.0]] [{"a":1},{"a":1}]'),
    (arr(items=ABC, uniqueItems=True, minItems=2, maxItems=2), '["a","b"] ["c","a"]', '["a"] ["a","a"] ["a","b","c"]'),
    (arr(items=ABC, uniqueItems=True, minItems=3), '["a","b","c"] ["c","b","a"]', '["a","b"] ["a","b","a"]'),
    (arr(prefixItems=[STRING, INTEGER, {"type": "null"}], items=False, uniqueItems=True), '[] ["a",1,null]', '["a",1,null,2] [1]'),
    (arr(prefixItems=[STRING, INTEGER], maxItems=2, uniqueItems=True), '["a",1] ["a"]', '["a","a"] ["a",1,2]'),
    # REGRESSION
    (arr(items={"enum": [1, 2]}, uniqueItems=True, contains={"maximum": 5}), "[1] [1,2] [2,1]", "[] [1,1]"),
    (arr(uniqueItems=True), '[] [1,2,"1",true,[],{}] [[1],[2]] [{"a":1},{"b":1},{"a":1,"b":1}]', '[1,1] [1,1.0] [10,1e1] [0,-0] ["a","\\u0061"] [[],[]] [[1],[1.0]] [{"a":1},{"a":1}]'),
    (arr(uniqueItems=True, items={"type": "string"}), '["a","b","ab"]', '["a","b","a"] [1]'),
    (arr(uniqueItems=True, items={"type": "integer"}, minItems=2), "[1,2] [1,-1,100]", "[1] [1,1] [1,2,1.0]"),
    (arr(uniqueItems=True, items=arr(uniqueItems=True)), "[[],[1],[1,2],[2,1]]", "[[1,1]] [[1],[1]]"),
    (arr(uniqueItems=True, contains=INTEGER, maxContains=1), '[1,"a"] ["a","b",1]', '[] [1,2] ["a","a",1]'),
    ({"anyOf": [arr(uniqueItems=True), arr(items=INTEGER)]}, '[1,1] ["a",1]', '["a","a"] ["a",1,1]'),
    (arr(uniqueItems=True, maxItems=1), '[] [1] ["a"]', "[1,1] [1,2]"),
    (arr(uniqueItems=False), "[1,1]", "1"),
    (arr(prefixItems=[{"enum": [1, 2]}], items={"enum": [2, 3]}, uniqueItems=True), "[1] [1,2,3] [2,3]", "[2,2] [1,2,2] [3]"),
    (arr(items={"enum": [1, 2, 3]}, uniqueItems=True, contains={"minimum": 3}), "[3] [1,3] [3,2,1]", "[] [1,2] [3,3]"),
    (arr(items={"enum": [1, 2, 3]}, uniqueItems=True, contains={"maximum": 2}, maxContains=1), "[1] [2,3] [3,1]", "[3] [1,2] [1,1]"),
    ({"enum": [[1, 1], [1, 2], "a"], "uniqueItems": True}, '[1,2] "a"', "[1,1]"),
    ({"const": [[1], [1.0]], "type": "array", "anyOf": [{"uniqueItems": False}, {}]}, "[[1],[1]]", "[]"),
]  # fmt: skip

PREFIX = [
    (arr(prefixItems=[STRING, INTEGER], items={"type": "null"}), '[] ["a"] ["a",1] ["a",1,null]', '[1] ["a",1,2] ["a","b"]'),
    (arr(prefixItems=[STRING], unevaluatedItems=False), '[] ["a"]', '[1] ["a",1]'),
    ({"$schema": DRAFTS["7"], **arr(items=[STRING, INTEGER])}, '[] ["a"] ["a",1,null]', '[1] ["a","b"]'),
    ({"$schema": DRAFTS["7"], **arr(items=[STRING], additionalItems=INTEGER)}, '["a"] ["a",1,2]', '["a","b"] [1]'),
    ({"$schema": DRAFTS["7"], **arr(items=[STRING], additionalItems=False)}, '[] ["a"]', '["a","b"] [1]'),
    ({"$schema": DRAFTS["2019-09"], **arr(items=[STRING], additionalItems=INTEGER)}, '["a"] ["a",1,2]', '["a","b"] [1]'),
    ({"$schema": DRAFTS["7"], **arr(items=STRING, additionalItems=False)}, '[] ["a","b"]', "[1]"),
    ({"$schema": DRAFTS["7"], **arr(additionalItems=False)}, '[] ["a","b"]', "1"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), [*CONTAINS, *UNIQUE, *PREFIX], ids=str)
def test_items_are_counted_and_told_apart(schema: Any, good: str, bad: str) -> None:
    check_table(schema, good, bad)


def test_items_as_an_array_are_understood_by_the_current_dialect() -> None:
    check(arr(items=[STRING, INTEGER]), '[] ["a"] ["a",1,null]', '[1] ["a","b"]')
    check(arr(items=[STRING], additionalItems=False), '[] ["a"]', '[1] ["a",1]')


@pytest.mark.parametrize("count", [10, 11])
def test_values_that_must_differ_may_be_many(count: int) -> None:
    """Up to ten have a state for each set of them."""
    values = list(range(count))
    good, bad = ("[" + ",".join(map(str, each)) + "]" for each in (values, [*values, 3]))
    check(arr(items={"enum": values}, uniqueItems=True), good, f"{bad} [5,5]")


CONTRADICTORY = [
    arr(contains=False),
    arr(contains=STRING, items=INTEGER),
    arr(contains=STRING, minContains=2, maxContains=1),
    arr(contains=STRING, minContains=2, maxItems=1),
    arr(contains=STRING, maxItems=0),
    arr(contains=STRING, prefixItems=[INTEGER], items=False),
    arr(items=ABC, uniqueItems=True, minItems=4),
    arr(items={"type": "boolean"}, uniqueItems=True, minItems=3),
    arr(unevaluatedItems=False, minItems=1),
    {"allOf": [arr(contains=STRING, maxContains=1), {"contains": STRING, "minContains": 2}]},
]


@pytest.mark.parametrize("schema", CONTRADICTORY, ids=str)
def test_an_array_that_can_not_be_is_refused(schema: Any) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler().compile_json_schema(schema)
