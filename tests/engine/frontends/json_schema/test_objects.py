"""Objects by their keys: patterns, names and numbers of members, and what they have to do with one another."""

import json
import random
from typing import Any

import pytest

import engine
from engine.errors import SpecError
from tests.conformance.oracle import Oracle
from tests.engine.frontends.accepting import check, check_table, compiler
from tests.engine.frontends.random_schemas import byte_vocabulary, takes
from tests.vocabularies import small_vocabulary

STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def obj(**keywords: Any) -> dict[str, Any]:
    return {"type": "object", **keywords}


PATTERNS = [
    (obj(patternProperties={"^a": INTEGER}), '{} {"a":1} {"ab":1,"b":"x"} {"ba":"x"}', '{"a":"x"} {"ab":null} {"\\u0061b":"x"} {"b":1,"ab":"x"}'),
    ({"patternProperties": {"^a": INTEGER}}, '1 "a" {"a":1}', '{"a":"x"}'),
    (obj(patternProperties={"^a": INTEGER}, additionalProperties=False), '{} {"a":1} {"a":1,"ab":2}', '{"b":1} {"a":1,"b":1} {"ab":"x"}'),
    (obj(patternProperties={"^a": INTEGER}, additionalProperties=STRING), '{"a":1} {"b":"x"} {"b":"x","a":1}', '{"a":"x"} {"b":1}'),
    (obj(patternProperties={"^a": INTEGER, "b$": {"minimum": 5}}), '{"a":1} {"b":5} {"ab":5} {"b":"x"}', '{"ab":4} {"ab":"x"} {"b":4}'),
    (obj(patternProperties={"^a": INTEGER, "b$": STRING}), '{"a":1} {"b":"x"} {"aa":1,"bb":"x"}', '{"ab":1} {"ab":"x"}'),
    (obj(patternProperties={"^a": False}), '{} {"b":1} {"ba":1}', '{"a":1} {"b":1,"ab":1}'),
    (obj(patternProperties={"": INTEGER}), '{} {"":1} {"a":1}', '{"":"x"} {"a":"x"}'),
    (obj(patternProperties={"^$": INTEGER}), '{"":1} {"a":"x"}', '{"":"x"}'),
    (obj(patternProperties={"é": INTEGER}), '{"é":1} {"e":"x"} {"\\u00e9":1}', '{"é":"x"} {"\\u00e9":"x"} {"aéb":null}'),
    (obj(patternProperties={}), '{} {"a":1}', "1"),
    (obj(patternProperties={"^a": INTEGER, "^b": STRING, "^ab": {"minimum": 5}}), '{"a":1} {"b":"x"} {"ab":5} {"c":null}', '{"ab":4} {"b":1} {"a":"x"}'),
    (obj(patternProperties={"^a": INTEGER, "^[ab]": {"minimum": 5}, "^a$": {"maximum": 7}}), '{"a":6} {"ab":8} {"b":"x"}', '{"a":8} {"ab":4} {"b":4}'),
    (obj(patternProperties={"^.$": False, "a": INTEGER}, minProperties=3), '{"ab":1,"ac":2,"cd":"x"}', '{"a":1,"ab":1,"ac":2} {"ab":1,"ac":2}'),
    (obj(properties={"a": {"maximum": 9}}, patternProperties={"^a": INTEGER}), '{"a":9} {"ab":10} {"a":1,"ab":10}', '{"a":10} {"a":"x"} {"a":1,"ab":"x"}'),
    (obj(properties={"a": STRING}, patternProperties={"^b": INTEGER}, additionalProperties=False), '{} {"a":"x"} {"a":"x","b":1} {"bb":1}', '{"c":1} {"a":1} {"b":"x"}'),
    (obj(required=["ab"], patternProperties={"^a": INTEGER}), '{"ab":1} {"ab":1,"c":"x"}', '{} {"ab":"x"} {"a":1}'),
    (obj(required=["ab"], patternProperties={"^a": INTEGER}, additionalProperties=False), '{"ab":1} {"a":1,"ab":1}', '{} {"ab":1,"b":1}'),
    ({"allOf": [obj(patternProperties={"^a": INTEGER}), {"patternProperties": {"^a": {"minimum": 3}}}]}, '{"a":3} {"b":1}', '{"a":2} {"a":"x"}'),
    ({"allOf": [obj(patternProperties={"^a": INTEGER}, additionalProperties=False), {"additionalProperties": {"minimum": 3}}]}, '{} {"a":3}', '{"a":2} {"b":3}'),
    ({"allOf": [obj(properties={"a": {}}, additionalProperties=False), {"patternProperties": {"^a": INTEGER}}]}, '{} {"a":1}', '{"a":"x"} {"ab":1}'),
]  # fmt: skip

NAMES = [
    (obj(propertyNames={"pattern": "^a"}), '{} {"a":1} {"ab":1,"a":"x"}', '{"b":1} {"a":1,"b":1} {"":1}'),
    (obj(propertyNames={"maxLength": 2}), '{} {"":1} {"ab":1} {"😀é":1}', '{"abc":1} {"\\u0061bc":1}'),
    (obj(propertyNames={"minLength": 1}), '{} {"a":1}', '{"":1}'),
    (obj(propertyNames={"enum": ["a", "b", 5]}), '{} {"a":1} {"b":1} {"\\u0061":1}', '{"c":1} {"a":1,"c":1}'),
    (obj(propertyNames={"const": "a"}), '{} {"a":1}', '{"b":1}'),
    (obj(propertyNames={"format": "date"}), '{} {"2024-02-29":1}', '{"2023-02-29":1} {"a":1}'),
    (obj(propertyNames=False), "{}", '{"a":1} {"":1}'),
    (obj(propertyNames=True), '{} {"a":1}', "1"),
    (obj(propertyNames=INTEGER), "{}", '{"a":1} {"1":1}'),
    ({"propertyNames": {"pattern": "^a"}}, '1 "b" {"a":1}', '{"b":1}'),
    (obj(propertyNames={"not": {"pattern": "^a"}}), '{} {"b":1}', '{"a":1} {"ab":1}'),
    (obj(propertyNames={"anyOf": [{"pattern": "^a"}, {"maxLength": 1}]}), '{"a":1} {"abc":1} {"b":1}', '{"bc":1}'),
    (obj(propertyNames={"pattern": "^a"}, properties={"a": INTEGER, "b": {}}), '{} {"a":1} {"ab":"x"}', '{"b":1} {"a":"x"}'),
    (obj(propertyNames={"maxLength": 1}, required=["a"], additionalProperties=INTEGER), '{"a":1} {"a":1,"b":2}', '{} {"a":1,"bb":2} {"b":1}'),
    (obj(propertyNames={"maxLength": 2}, patternProperties={"^a": INTEGER}, additionalProperties=False), '{} {"a":1} {"ab":1}', '{"abc":1} {"b":1} {"a":"x"}'),
    (obj(propertyNames={"enum": ["a", "ab", "c"]}, patternProperties={"b$": INTEGER}), '{"a":"x"} {"ab":1} {"c":null}', '{"ab":"x"} {"b":1}'),
]  # fmt: skip

AB = obj(properties={"a": {}, "b": {}, "c": {}}, additionalProperties=False)
COUNTS = [
    (obj(minProperties=1), '{"a":1} {"a":1,"b":1}', "{}"),
    (obj(maxProperties=0), "{}", '{"a":1}'),
    (obj(maxProperties=2), '{} {"a":1} {"a":1,"b":2}', '{"a":1,"b":2,"c":3}'),
    (obj(minProperties=1, maxProperties=1), '{"a":1} {"":1}', '{} {"a":1,"b":2}'),
    ({**AB, "minProperties": 2}, '{"a":1,"b":1} {"a":1,"c":1} {"b":1,"c":1} {"a":1,"b":1,"c":1}', '{} {"a":1} {"c":1}'),
    ({**AB, "maxProperties": 1}, '{} {"a":1} {"b":1} {"c":1}', '{"a":1,"b":1} {"a":1,"b":1,"c":1}'),
    ({**AB, "minProperties": 2, "maxProperties": 2}, '{"a":1,"b":1} {"a":1,"c":1} {"b":1,"c":1}', '{} {"a":1} {"a":1,"b":1,"c":1}'),
    ({**AB, "minProperties": 3}, '{"a":1,"b":1,"c":1}', '{"a":1,"b":1}'),
    ({**AB, "required": ["b"], "maxProperties": 2}, '{"b":1} {"a":1,"b":1} {"b":1,"c":1}', '{} {"a":1,"c":1} {"a":1,"b":1,"c":1}'),
    (obj(properties={"a": {}}, maxProperties=2), '{} {"a":1} {"x":1,"a":1} {"x":1,"y":1}', '{"a":1,"x":1,"y":1}'),
    (obj(required=["a"], maxProperties=2), '{"a":1} {"a":1,"x":1}', '{} {"x":1} {"x":1,"a":1,"y":1}'),
    (obj(required=["a"], minProperties=1), '{"a":1} {"a":1,"b":1}', '{} {"b":1}'),
    (obj(patternProperties={"^a": INTEGER}, additionalProperties=False, maxProperties=1), '{} {"a":1} {"ab":1}', '{"a":1,"ab":1} {"b":1} {"a":"x"}'),
    (obj(patternProperties={"^a": INTEGER}, propertyNames={"maxLength": 2}, maxProperties=2, properties={"b": STRING}), '{} {"b":"x","ab":1} {"c":null,"a":1}', '{"b":1} {"ab":"x"} {"abc":1} {"b":"x","a":1,"c":1}'),
    (obj(properties={"a": False, "b": {}, "c": {}}, additionalProperties=False, minProperties=2), '{"b":1,"c":1}', '{"b":1} {"a":1,"b":1}'),
    (obj(minProperties=2), '{"a":1,"b":2} {"a":1,"b":2,"c":3}', '{} {"a":1}'),
    (obj(required=["a"], minProperties=2), '{"a":1,"x":2} {"x":2,"a":1}', '{"a":1} {"x":1,"y":2}'),
    (obj(patternProperties={"^a": INTEGER}, additionalProperties=False, minProperties=2), '{"a":1,"ab":2}', '{"a":1} {"a":1,"b":2}'),
    (obj(propertyNames={"enum": ["a", "b", "c"]}, minProperties=2), '{"a":1,"b":1} {"c":1,"a":1}', '{"a":1} {"a":1,"d":1}'),
    (obj(minProperties=2, maxProperties=2), '{"a":1,"b":2}', '{"a":1} {"a":1,"b":2,"c":3}'),
    ({"minProperties": 1, "maxProperties": 1}, '1 [] {"a":1}', '{} {"a":1,"b":1}'),
    ({"anyOf": [{**AB, "maxProperties": 1}, {**AB, "required": ["a", "b", "c"]}]}, '{} {"a":1} {"a":1,"b":1,"c":1}', '{"a":1,"b":1}'),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "good", "bad"), [*PATTERNS, *NAMES, *COUNTS], ids=str)
def test_members_are_judged_by_their_keys_and_their_number(
    schema: Any, good: str, bad: str
) -> None:
    check_table(schema, good, bad)


@pytest.mark.parametrize("most", [3, 20])
def test_a_number_of_members_is_kept_at_its_bound(most: int) -> None:
    schema = obj(properties={"k0": {}}, maxProperties=most)
    members = [f'"k{n}":1' for n in range(most + 1)]
    check(schema, f"{{{','.join(members[:most])}}}", f"{{{','.join(members)}}}")


def test_keys_that_are_not_listed_may_repeat_unless_it_matters() -> None:
    """Any member that a reader takes is valid: names differ where members are counted."""
    check(obj(additionalProperties=INTEGER), '{"x":1,"x":2}', '{"x":1,"x":"a"}')
    check(obj(maxProperties=2), '{"x":1,"x":2}', '{"x":1,"x":2,"x":3}')
    check(obj(minProperties=2), '{"x":1,"y":2}', '{"x":1,"x":2} {"x":1,"\\u0078":2}')
    check(obj(**{"not": {"additionalProperties": STRING}}), '{"x":1,"y":"a"}', '{"x":1,"x":"a"}')
    check(obj(properties={"a": {}}), '{"a":1}', '{"a":1,"a":2}')


CONTRADICTORY = [
    obj(patternProperties={"^a": False}, required=["ab"]),
    obj(patternProperties={"^a": STRING, "b$": INTEGER}, required=["ab"]),
    obj(patternProperties={"b": {}}, additionalProperties=False, required=["a"]),
    obj(propertyNames=False, minProperties=1),
    obj(propertyNames={"pattern": "^b"}, required=["a"]),
    obj(propertyNames={"enum": ["b"]}, required=["a"]),
    obj(minProperties=2, maxProperties=1),
    {**AB, "minProperties": 4},
    obj(required=["a"], dependentRequired={"a": ["b"]}, properties={"b": False}),
    obj(required=["a"], dependentSchemas={"a": False}),
    obj(unevaluatedProperties=False, minProperties=1),
]


@pytest.mark.parametrize("schema", CONTRADICTORY, ids=str)
def test_an_object_that_can_not_be_is_refused(schema: Any) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler().compile_json_schema(schema)


def test_sets_of_many_counted_keys_are_told_apart_in_any_order() -> None:
    """REGRESSION: the bit of a required key past the thirty-second was lost."""
    keys = {f"k{n:02}": {} for n in range(40)}
    schema = {"properties": keys, "required": ["k35"], "minProperties": 2, "maxProperties": 2}
    compiled = engine.Compiler(byte_vocabulary()).compile_json_schema(
        {"type": "object", "additionalProperties": False, **schema}, any_order=True
    )
    for text, right in (
        (b'{"k00":1,"k01":1}', False),
        (b'{"k35":1,"k01":1}', True),
        (b'{"k01":1,"k35":1}', True),
    ):
        matcher = engine.Matcher(compiled)
        assert (matcher.accept_bytes(text) and matcher.can_stop()) == right


SOURCES = ["^a", "^b", "^ab", "b$", "^[ab]", "^.$", "^a?$", "c", "^(ab|ba)$", "^[^a]*$"]
KEYS = ["", "a", "b", "c", "ab", "ba", "abc", "bb", "cb"]


@pytest.mark.parametrize("seed", range(60))
def test_keys_that_several_patterns_divide_are_judged_as_a_validator_does(seed: int) -> None:
    rng = random.Random(seed)
    sources = rng.sample(SOURCES, rng.randrange(2, 6))
    values = [{"minimum": 3}, {"maximum": 5}, {"multipleOf": 2}, {"maximum": 0}, {"minimum": 7}]
    schema = obj(
        patternProperties=dict(zip(sources, values, strict=False)),
        additionalProperties=rng.choice([INTEGER, False]),
    )
    oracle, compiled = Oracle(schema), compiler().compile_json_schema(schema)
    for key in KEYS:
        for value in (-2, 3, 4, 8):
            text = json.dumps({key: value}, separators=(",", ":"))
            assert takes(compiled, text) == oracle.accepts({key: value}), (schema, text)


def steps_of(schema: Any, made: engine.Compiler) -> int:
    budget = engine.WorkBudget()
    made.clear()
    made.compile_json_schema(schema, budget=budget)
    return budget.spent


def test_automata_that_classes_of_keys_share_cost_each_of_them_their_steps() -> None:
    """So that it takes as many where some of the classes are known."""
    patterns = {"^a": INTEGER, "^ab": STRING, "b$": {"minimum": 5}}
    one = obj(patternProperties=patterns, properties={"ac": {}}, minProperties=2)
    both = obj(properties={"x": one, "y": {**one, "minProperties": 3}})
    made = engine.Compiler(small_vocabulary())
    alone = steps_of(one, engine.Compiler(small_vocabulary()))
    first = steps_of(both, made)
    assert steps_of(both, made) == first
    assert steps_of(one, made) == alone
