"""``not``: the complement of every keyword, and of schemas made of others."""

from typing import Any

import pytest

from engine.errors import SpecError
from tests.engine.frontends.accepting import check, check_table, compiler

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def among(kind: str, schema: Any) -> dict[str, Any]:
    return {"type": kind, "not": schema}


SCALARS = [
    ({"not": STRING}, '1 0.5 null true [] {} ["a"]', '"" "a" "\\u0061"'),
    ({"not": {"type": ["string", "null"]}}, "1 true []", '"a" null'),
    ({"not": False}, '1 "a" null [] {}', ""),
    ({"not": {"not": STRING}}, '"a" ""', "1 null {}"),
    (among("string", {"minLength": 2}), '"" "a" "é" "\\ud83d\\ude00"', '"ab" "\\u0061b" "abc"'),
    (among("string", {"maxLength": 1}), '"ab" "éé"', '"" "a" "\\ud83d\\ude00"'),
    (among("string", {"minLength": 1, "maxLength": 2}), '"" "abc"', '"a" "ab"'),
    (among("string", {"pattern": "^a"}), '"" "b" "ba"', '"a" "ab" "\\u0061b"'),
    ({**among("string", {"pattern": "^a"}), "pattern": "b"}, '"b" "bab"', '"" "ab" "a" "c"'),
    ({**among("string", {"pattern": "^a"}), "maxLength": 2}, '"" "ba"', '"a" "bbb"'),
    (among("string", {"allOf": [{"pattern": "a"}, {"pattern": "b"}]}), '"" "a" "b"', '"ab" "ba"'),
    (among("string", {"format": "date"}), '"" "2023-02-29"', '"2024-02-29"'),
    (among("string", {"const": "a"}), '"" "b" "aa"', '"a" "\\u0061"'),
    (among("string", {"enum": ["a", "é", 1]}), '"" "b" "ae"', '"a" "é" "\\u00e9"'),
    ({"not": {"const": 1}}, '0 2 1.5 true "1" [1] null', "1 1.0 1.00"),
    ({"not": {"const": 0}}, "1 -1 0.5 false 10", "0 -0 0.0 -0.0"),
    ({"not": {"enum": [0, True, "a", None]}}, '1 false "b" [] {}', '0 true "a" null'),
    # REGRESSION
    ({"not": {"enum": [0]}}, "1 -1 0.5", "0 -0 0.0"),
    ({"not": {"enum": [True, False]}}, "1 0 null", "true false"),
    ({"enum": [1, 2, "a"], "not": {"enum": ["a", 2]}}, "1", '2 "a" 3'),
    (among("integer", {"minimum": 3}), "2 -5 2.0 -1e3", "3 4 3.0 1e3"),
    (among("integer", {"exclusiveMinimum": 3}), "3 -5", "4 5"),
    (among("number", {"maximum": 1.5}), "1.6 2 1e3", "1.5 1 -2 0.5"),
    (among("number", {"exclusiveMaximum": 1.5}), "1.5 2", "1.4 1 -2"),
    (among("number", {"minimum": 1, "maximum": 2}), "0.9 2.1 3 -1", "1 1.5 2 2.0"),
    (among("integer", {"multipleOf": 3}), "1 2 4 -1 100", "0 3 -6 9 300"),
    (among("integer", {"multipleOf": 3, "minimum": 0}), "1 -3 -1 4", "0 3 9"),
    (among("number", {"multipleOf": 0.5}), "0.3 0.25 -1.1", "0.5 1 2.0 -1.5 0"),
    (among("number", INTEGER), "0.5 -1.25 1.01", "1 1.0 0 100 -3"),
    (among("number", {"not": INTEGER}), "1 1.0 0 100", "0.5 -1.25"),
]  # fmt: skip

ONE = {"const": 1}
ITEMS = [
    ({"not": {"const": [1, {"a": 2}]}}, '[] [1] [1,{"a":3}] [1,{"a":2},3] [1,{}] {"a":2} 1', '[1,{"a":2}]'),
    ({"not": {"enum": [[1], [], "a"]}}, '[2] [1,1] ["a"] "b"', '[1] [] "a"'),
    (among("array", {"minItems": 2}), "[] [1]", "[1,2] [1,2,3]"),
    (among("array", {"maxItems": 1}), "[1,2] [1,2,3]", "[] [1]"),
    (among("array", {"items": INTEGER}), '["a"] [1,"a"] [1.5]', "[] [1] [1,2]"),
    (among("array", {"items": False}), "[1] [1,2]", "[]"),
    (among("array", {"prefixItems": [INTEGER, STRING]}), '["a"] [1,2] ["a","b"]', '[] [1] [1,"b"] [1,"b",3]'),
    (among("array", {"prefixItems": [{}, STRING], "items": INTEGER}), '[1,2] [1,"a","b"] [1,"a",2,null]', '[] [1] [1,"b"] [1,"b",3]'),
    (among("array", {"contains": ONE}), "[] [2] [2,3]", "[1] [2,1]"),
    (among("array", {"contains": ONE, "minContains": 2}), "[] [1] [2,1]", "[1,1] [1,2,1]"),
    (among("array", {"contains": ONE, "maxContains": 1}), "[] [2] [1,1] [1,1,1]", "[1] [1,2]"),
    (among("array", {"contains": ONE, "minContains": 0, "maxContains": 1}), "[1,1] [1,2,1]", "[] [1] [2,3]"),
    ({"items": {"not": STRING}, "type": "array"}, "[] [1]", '["a"] [1,"a"]'),
    (among("array", {"prefixItems": [ONE], "unevaluatedItems": False}), "[2] [1,2]", "[] [1]"),
]  # fmt: skip

CLOSED = {"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": False}
MEMBERS = [
    ({"not": {"const": {"a": 1}}}, '{} {"a":2} {"a":1,"b":1} {"b":1} [] 1', '{"a":1} {"a":1.0}'),
    (among("object", {"required": ["a"]}), '{} {"b":1}', '{"a":1} {"b":1,"a":1}'),
    (among("object", {"required": ["a", "b"]}), '{} {"a":1} {"b":1}', '{"a":1,"b":1}'),
    (among("object", {"properties": {"a": INTEGER}}), '{"a":"x"}', '{} {"a":1} {"b":"x"}'),
    (among("object", {"properties": {"a": ONE}, "required": ["a"]}), '{} {"a":2} {"b":1}', '{"a":1} {"a":1,"b":2}'),
    (among("object", {"minProperties": 1}), "{}", '{"a":1}'),
    ({**CLOSED, "not": {"maxProperties": 1}}, '{"a":1,"b":2}', '{} {"a":1} {"b":1}'),
    ({**CLOSED, "not": {"minProperties": 2}}, '{} {"a":1} {"b":1}', '{"a":1,"b":2}'),
    (among("object", {"additionalProperties": False}), '{"a":1} {"b":1}', "{}"),
    (among("object", {"additionalProperties": STRING}), '{"a":1} {"a":"x","b":1}', '{} {"a":"x"}'),
    (among("object", {"patternProperties": {"^a": STRING}}), '{"a":1} {"ab":1,"b":"x"}', '{} {"a":"x"} {"b":1}'),
    (among("object", {"maxProperties": 1}), '{"a":1,"b":1}', '{} {"a":1}'),
    (among("object", {"properties": {"a": {}}, "additionalProperties": False}), '{"b":1} {"a":1,"b":1}', '{} {"a":1}'),
    ({**CLOSED, "not": {"additionalProperties": STRING}}, '{"a":1} {"a":"x","b":1}', '{} {"a":"x"} {"a":"x","b":"y"}'),
    (among("object", {"patternProperties": {"^a": False}}), '{"a":1} {"ab":1,"c":1}', '{} {"b":1}'),
    ({**CLOSED, "not": {"patternProperties": {"^a": STRING}}}, '{"a":1}', '{} {"a":"x"} {"b":1}'),
    (among("object", {"propertyNames": {"pattern": "^a"}}), '{"b":1} {"a":1,"b":1}', '{} {"a":1} {"ab":1}'),
    (among("object", {"propertyNames": {"maxLength": 1}}), '{"ab":1} {"a":1,"ab":1}', '{} {"a":1}'),
    # REGRESSION: called ill-formed
    (among("object", {"propertyNames": {"minLength": 3, "maxLength": 1}}), '{"":1} {"a":1,"bcd":1}', "{}"),
    (among("object", {"propertyNames": {"enum": ["a", "b"]}}), '{"c":1}', '{} {"a":1} {"a":1,"b":2}'),
    (among("object", {"propertyNames": {"const": "a"}}), '{"c":1} {"":1}', '{} {"a":1}'),
    (among("object", {"dependentRequired": {"a": ["b"]}}), '{"a":1} {"a":1,"c":1}', '{} {"b":1} {"a":1,"b":1}'),
    (among("object", {"dependentSchemas": {"a": {"required": ["b"]}}}), '{"a":1}', '{} {"b":1} {"a":1,"b":1}'),
    (among("object", {"properties": {"a": {}}, "unevaluatedProperties": False}), '{"b":1} {"a":1,"b":1}', '{} {"a":1}'),
    ({"properties": {"a": {"not": {"type": "null"}}}}, '{} {"a":1} {"b":null} 1', '{"a":null}'),
]  # fmt: skip

COMPOSED = [
    ({"not": {"anyOf": [STRING, INTEGER]}}, "0.5 null []", '"a" 1'),
    (among("integer", {"allOf": [{"minimum": 1}, {"maximum": 5}]}), "0 6", "1 3 5"),
    ({"not": {"oneOf": [INTEGER, {"minimum": 3}]}}, "5 2.5", '1 3.5 "x" null'),
    ({"not": {"$ref": "#/$defs/x"}, "$defs": {"x": {"type": ["string", "array"]}}}, "1 {}", '"a" []'),
    ({"not": {"if": STRING, "then": {"minLength": 2}}}, '"" "a"', '"ab" 1 null'),
    ({"not": {"if": STRING, "then": {"minLength": 2}, "else": INTEGER}}, '"" "a" 0.5 null', '"ab" 1'),
    ({"allOf": [{"not": {"const": "a"}}, {"not": {"const": "b"}}], "enum": ["a", "b", "c"]}, '"c"', '"a" "b"'),
    ({"not": {"properties": {"a": {"not": {"const": 1}}}}}, '{"a":1}', '{} {"a":2} 1'),
    ({"items": {"$ref": "#/$defs/t"}, "type": "array", "$defs": {"t": {"not": {"items": {"$ref": "#/$defs/t"}}}}}, "[] [[[]]] [[[],[]]]", "[[]] [1] [[[[]]]]"),
    ({"anyOf": [{"not": STRING}, {"minLength": 2}]}, '1 "ab"', '"a"'),
    ({"not": {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["x", "y"]}}}}, '{} {"kind":"z"} 1', '{"kind":"x"} {"kind":"y","a":1}'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "good", "bad"), [*SCALARS, *ITEMS, *MEMBERS, *COMPOSED], ids=str
)
def test_not_takes_what_does_not_fit(schema: Any, good: str, bad: str) -> None:
    check_table(schema, good, bad)


def test_lengths_that_a_negated_pattern_rules_out_are_refused() -> None:
    """REGRESSION: an internal error, of a schema and of keys."""
    longer = {"type": "string", "minLength": 3, "not": {"pattern": "^[^]{3,}$"}}
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler().compile_json_schema(longer)
    keys = {"type": "object", "propertyNames": {"anyOf": [longer, {"const": "a"}]}}
    check(keys, '{} {"a":1}', '{"aaaa":1} {"b":1}')
