"""The targets of references inside a document, and the keywords of each dialect."""

from typing import Any

import pytest

from engine.errors import SpecError, UnsupportedSchema
from tests.engine.frontends.accepting import check, check_table, compiler

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
D4, D6, D7 = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7))
D2019, D2020 = (f"https://json-schema.org/draft/{n}/schema" for n in ("2019-09", "2020-12"))

REFERENCES = [
    ({"$ref": "#/$defs/x", "$defs": {"x": INTEGER}}, "1", '"a"'),
    ({"$ref": "#/$defs/x", "$defs": {"x": INTEGER}, "minimum": 3}, "3", "1"),
    ({"$ref": "#/$defs/a~1b~0c%25%20", "$defs": {"a/b~c% ": INTEGER}}, "1", '"a"'),
    ({"$ref": "#/anyOf/1", "anyOf": [{}, INTEGER]}, "1", '"a"'),
    ({"$ref": "#x", "$defs": {"a": {"$anchor": "x", **INTEGER}}}, "1", '"a"'),
    ({"items": {"$ref": "#x"}, "$defs": {"a": {"properties": {"b": {"$anchor": "x", **INTEGER}}}}}, '[1] "a"', '["a"]'),
    ({"$id": "http://x/root", "$ref": "http://x/root#/$defs/a", "$defs": {"a": INTEGER}}, "1", '"a"'),
    ({"$id": "http://x/root", "$ref": "other", "$defs": {"a": {"$id": "other", **INTEGER}}}, "1", '"a"'),
    ({"$id": "http://x/dir/root", "$ref": "/other#y", "$defs": {"a": {"$id": "/other", "$defs": {"b": {"$anchor": "y", **INTEGER}}}}}, "1", '"a"'),
    ({"$ref": "urn:x:a", "$defs": {"a": {"$id": "urn:x:a", **INTEGER}}}, "1", '"a"'),
    ({"$id": "http://x/root", "$ref": "a", "$defs": {"a": {"$id": "a", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": INTEGER}}, "n": STRING}}, '[1] "x"', '["a"]'),
    ({"items": {"$id": "http://x/in", "properties": {"a": {"$ref": "#"}}, "type": "object"}}, '[{"a":{}}] []', '[1] [{"a":1}]'),
    ({"$dynamicRef": "#x", "$defs": {"a": {"$dynamicAnchor": "x", **INTEGER}}}, "1", '"a"'),
    ({"$dynamicRef": "#/$defs/a", "$defs": {"a": INTEGER}}, "1", '"a"'),
    ({"$dynamicAnchor": "t", "type": "array", "items": {"$dynamicRef": "#t"}}, "[] [[],[[]]]", "1 [1] [[1]]"),
    ({"$schema": D2019, "type": "array", "items": {"$recursiveRef": "#"}}, "[] [[],[[]]]", "1 [1] [[1]]"),
    ({"$schema": D2019, "$recursiveAnchor": True, "type": "array", "items": {"$recursiveRef": "#"}}, "[] [[]]", "1 [1]"),
    ({"properties": {"$ref": STRING}}, '{"$ref":"a"}', '{"$ref":1}'),
    ({"enum": [{"$ref": "#/nowhere"}]}, '{"$ref":"#/nowhere"}', "{}"),
    ({"type": "object", "properties": {"next": {"$ref": "#"}}, "additionalProperties": False}, '{} {"next":{"next":{}}}', '{"next":1} {"a":1}'),
    ({"$ref": "#/$defs/n", "$defs": {"n": {"type": ["object", "null"], "properties": {"l": {"$ref": "#/$defs/n"}, "r": {"$ref": "#/$defs/n"}}, "required": ["l", "r"]}}}, 'null {"l":null,"r":{"l":null,"r":null}}', '{} {"l":null} {"l":1,"r":null}'),
    ({"$schema": D7, "$ref": "#/definitions/x", "type": "string", "definitions": {"x": INTEGER}}, "1", '"a"'),
    ({"$schema": D7, "$ref": "#x", "definitions": {"a": {"$id": "#x", **INTEGER}}}, "1", '"a"'),
    ({"$schema": D4, "$ref": "#x", "definitions": {"a": {"id": "#x", **INTEGER}}}, "1", '"a"'),
    ({"$schema": D4, "id": "http://x/root", "$ref": "#/definitions/a", "definitions": {"a": INTEGER}}, "1", '"a"'),
    ({"$schema": D7, "items": {"$ref": "#/definitions/x", "$id": "http://x/ignored", "minimum": 5}, "definitions": {"x": INTEGER}}, "[1]", '["a"]'),
]  # fmt: skip

DIALECTS = [
    ({"$schema": D4, "const": 1}, '1 "a"', ""),
    ({"$schema": D4, "contains": {"const": 1}, "propertyNames": False}, '[] {"a":1}', ""),
    # REGRESSION
    ({"$schema": D4, "anyOf": [{"const": 1}]}, '1 "a"', ""),
    ({"$schema": D4, "not": {"enum": [[None], {"a": 1}]}}, '[] [1] {"a":2} 1', '[null] {"a":1}'),
    ({"$schema": D6, "const": 1}, "1", '"a"'),
    ({"$schema": D4, "maximum": 3, "exclusiveMaximum": True, "type": "integer"}, "2", "3"),
    ({"$schema": D4, "maximum": 3, "exclusiveMaximum": False, "type": "integer"}, "2 3", "4"),
    ({"$schema": D6, "if": STRING, "then": False}, '1 "a"', ""),
    ({"$schema": D7, "if": STRING, "then": False}, "1", '"a"'),
    ({"$schema": D7, "dependentRequired": {"a": ["b"]}, "unevaluatedProperties": False}, '{"a":1}', ""),
    ({"$schema": D7, "contains": {"const": 1}, "minContains": 2}, "[1]", "[]"),
    ({"$schema": D2019, "contains": {"const": 1}, "minContains": 2}, "[1,1]", "[1]"),
    ({"$schema": D7, "prefixItems": [INTEGER]}, '["a"]', ""),
    ({"$schema": D2019, "prefixItems": [INTEGER]}, '["a"]', ""),
    ({"$schema": D2020, "prefixItems": [INTEGER]}, "[1]", '["a"]'),
    ({"$schema": D2020, "$recursiveRef": "#nowhere"}, "1", ""),
    ({"$schema": D7.rstrip("#"), "$ref": "#/definitions/x", "minimum": 5, "definitions": {"x": INTEGER}}, "1", '"a"'),
    ({"$schema": D2019, "$ref": "#/$defs/x", "minimum": 5, "$defs": {"x": INTEGER}}, "5", '1 "a"'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), [*REFERENCES, *DIALECTS], ids=str)
def test_references_and_dialects_mean_what_the_standard_says(
    schema: Any, good: str, bad: str
) -> None:
    check_table(schema, good, bad)


# what is understood whatever the dialect: (schema, accepted, rejected)
ELSEWHERE = [
    ({"$schema": "http://example.com/own", "const": 1}, "1", "2"),
    ({"$ref": "#/definitions/x", "definitions": {"x": INTEGER}}, "1", '"a"'),
    ({"type": "integer", "minimum": 3, "exclusiveMinimum": True}, "4", "3"),
    ({"type": "string", "nullable": True}, 'null "a"', "1"),
    ({"type": "string", "nullable": False}, '"a"', "null"),
    ({"nullable": True, "enum": ["a"]}, '"a"', "null"),
    ({"type": "string", "nullable": True, "enum": ["a", None]}, '"a" null', '"b"'),
    ({"$dynamicRef": "#/$defs/x", "$defs": {"x": INTEGER}}, "1", '"a"'),
    ({"items": {"$ref": "/$defs/a~1b%20"}, "$defs": {"a/b ": INTEGER}}, "[1]", '["a"]'),
]


@pytest.mark.parametrize(("schema", "good", "bad"), ELSEWHERE, ids=str)
def test_other_spellings_are_understood_everywhere(schema: Any, good: str, bad: str) -> None:
    check(schema, good, bad)


# (schema, pointer, words)
REFUSED = [
    ({"$ref": "#"}, "", "leads back"),
    ({"allOf": [{"$ref": "#"}]}, "", "leads back"),
    ({"not": {"$ref": "#"}}, "", "leads back"),
    ({"if": {"$ref": "#"}, "else": False}, "", "leads back"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, INTEGER]}, "b": {"$ref": "#/$defs/a"}}}, "/$defs/a", "leads back"),
    ({"$dynamicAnchor": "x", "$dynamicRef": "#x"}, "", "leads back"),
    ({"$ref": "#/$defs/x"}, "/$ref", "names nothing"),
    ({"$ref": "#/$defs/x/items/0", "$defs": {"x": {}}}, "/$ref", "names nothing"),
    ({"$ref": "#nowhere"}, "/$ref", "names nothing"),
    ({"$ref": "a#b", "$defs": {"x": {"$id": "a"}}}, "/$ref", "names nothing"),
    ({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}, "/properties/a", "nothing can satisfy"),
    ({"type": "array", "minItems": 1, "items": {"$ref": "#"}}, "/items", "nothing can satisfy"),
    ({"type": "array", "contains": {"$ref": "#"}}, "", "nothing can satisfy"),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "required": ["x"], "additionalProperties": {"$ref": "#/$defs/b"}}, "b": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/a"}}}}, "", "nothing can satisfy"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "words"), REFUSED, ids=str)
def test_a_reference_to_nothing_or_without_an_end_is_refused(
    schema: Any, pointer: str, words: str
) -> None:
    with pytest.raises(SpecError, match=words) as caught:
        compiler().compile_json_schema(schema)
    assert caught.value.pointer == pointer


REMOTE = [
    ({"$ref": "other.json"}, "/$ref", "$ref"),
    ({"$id": "http://x/a", "items": {"$ref": "b"}}, "/items/$ref", "$ref"),
    ({"$ref": "/$defs/x"}, "/$ref", "$ref"),
    ({"$ref": "//$defs/x", "$defs": {"x": {}}}, "/$ref", "$ref"),
    ({"$id": "http://x/a", "items": {"$ref": "/$defs/x"}, "$defs": {"x": {}}}, "/items/$ref", "$ref"),
    ({"$ref": D7}, "/$ref", "$ref"),
    ({"$dynamicRef": "http://x/y#z"}, "/$dynamicRef", "$dynamicRef"),
    ({"$dynamicRef": "#x", "$defs": {"a": {"$dynamicAnchor": "x"}, "b": {"$id": "b", "$dynamicAnchor": "x"}}}, "/$dynamicRef", "$dynamicRef"),
    ({"$schema": D2019, "$recursiveAnchor": True, "items": {"$recursiveRef": "#"}, "$defs": {"b": {"$id": "b"}}}, "/items/$recursiveRef", "$recursiveRef"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "pointer", "keyword"), REMOTE, ids=str)
def test_a_reference_that_leaves_the_document_or_depends_on_the_way_is_refused(
    schema: Any, pointer: str, keyword: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        compiler().compile_json_schema(schema)
    assert (caught.value.pointer, caught.value.keyword) == (pointer, keyword)
