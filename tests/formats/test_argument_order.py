"""Arguments in elements and keyword arguments may stand in any order, if they are few."""

import json
import random
from itertools import permutations
from typing import Any

import pytest

from adapters.formats import (
    FormatPlan,
    JsonRules,
    OutputSpec,
    PastCall,
    Tool,
    for_own_engine,
    for_reading_foreign,
    get_format,
)
from adapters.formats.argument_schema import ALL_LEVELS, sorted_properties
from engine import Compiled, SpecError

from .cases import SPECIALS
from .harness import compiler, encode, is_accepted, read
from .test_styled_schemas import COMPILER

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
SCHEMA: Any = {
    "type": "object",
    "properties": {
        "city": STRING,
        "days": INTEGER,
        "where": {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}},
        "unit": {"enum": ["c", "f"]},
    },
    "required": ["city", "days"],
}
#: arguments that may have any order (json_schema.arguments)
MOST = 8
VALUES: Any = {"city": "Oslo", "days": 3, "where": {"x": 1, "y": 2}, "unit": "c"}
#: one of each notation
NAMES = (
    "qwen_coder",
    "glm_45",
    "minimax_m3",
    "kimi_k3",
    "deepseek_v32",
    "llama4_pythonic",
    "lfm2",
    "olmo_3",
    "step_3",
    "beam",
)


def planned(name: str, schema: Any, rules: JsonRules, *, foreign: bool = False) -> FormatPlan:
    output = OutputSpec((Tool("f", schema),), "required", reasoning="off", json_rules=rules)
    plan = get_format(name).plan(output, SPECIALS[name])
    return for_reading_foreign(plan) if foreign else for_own_engine(plan)


def call(name: str, arguments: Any) -> list[int]:
    family = get_format(name)
    text = family.calls_texts([PastCall("1", "f", json.dumps(arguments))])[0]
    return encode(
        name, text.removeprefix(getattr(family, "start", "")) + getattr(family, "tail", "")
    )


def grammar_of(name: str, plan: FormatPlan) -> Compiled:
    return compiler(name).compile_structural_tag(plan.spec_json)


ORDERS = list(permutations(VALUES))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_accepted_and_read_in_any_order(name: str) -> None:
    plan = planned(name, SCHEMA, JsonRules())
    grammar = grammar_of(name, plan)
    for order in ORDERS:
        arguments = {key: VALUES[key] for key in order}
        ids = call(name, arguments)
        assert is_accepted(grammar, ids), order
        ((_, said),) = read(plan, grammar, ids).calls
        assert list(json.loads(said).items()) == list(arguments.items())
    for wrong in ({"days": 3}, {"unit": "c", "city": "Oslo"}):
        assert not is_accepted(grammar, call(name, wrong))


@pytest.mark.parametrize("name", NAMES)
def test_the_setting_keeps_the_order_of_the_schema(name: str) -> None:
    grammar = grammar_of(name, planned(name, SCHEMA, JsonRules(argument_order="schema")))
    taken = [
        order
        for order in ORDERS
        if is_accepted(grammar, call(name, {key: VALUES[key] for key in order}))
    ]
    assert taken == [tuple(sorted(VALUES) if get_format(name).sorted_levels else VALUES)]


@pytest.mark.parametrize("name", NAMES)
def test_objects_inside_arguments_keep_the_order_of_the_schema(name: str) -> None:
    grammar = grammar_of(name, planned(name, SCHEMA, JsonRules()))
    arguments = {**VALUES, "where": {"y": 2, "x": 1}}
    assert not is_accepted(grammar, call(name, arguments))


@pytest.mark.parametrize("name", ["qwen_coder", "llama4_pythonic"])
def test_texts_of_foreign_engines_are_read_in_any_order(name: str) -> None:
    rules = JsonRules(argument_order="schema")
    grammar = grammar_of(name, planned(name, SCHEMA, rules, foreign=True))
    assert all(
        is_accepted(grammar, call(name, {key: VALUES[key] for key in order})) for order in ORDERS
    )


def wide(count: int) -> Any:
    return {"type": "object", "properties": {f"k{number}": INTEGER for number in range(count)}}


@pytest.mark.parametrize("name", ["qwen_coder", "llama4_pythonic"])
@pytest.mark.parametrize(("count", "any_order"), [(MOST, True), (MOST + 1, False)])
def test_many_arguments_keep_the_order_of_the_schema(
    name: str, count: int, any_order: bool
) -> None:
    grammar = grammar_of(name, planned(name, wide(count), JsonRules()))
    keys = list(wide(count)["properties"])
    assert is_accepted(grammar, call(name, dict.fromkeys(keys, 1)))
    for seed in range(5):
        shuffled = random.Random(seed).sample(keys, count)
        assert is_accepted(grammar, call(name, dict.fromkeys(shuffled, 1))) is any_order


#: unlike the schema's, and the order that models write at one level, and at all
PLACES: Any = {"where": {"y": 2, "x": 1}, "city": "Oslo"}
SORTED_ONCE = {"city": "Oslo", "where": {"y": 2, "x": 1}}
SORTED = {"city": "Oslo", "where": {"x": 1, "y": 2}}


def schema_of(value: Any) -> Any:
    if not isinstance(value, dict):
        return {"const": value}
    properties = {key: schema_of(each) for key, each in value.items()}
    return {"type": "object", "properties": properties, "required": [*value]}


@pytest.mark.parametrize(
    ("name", "written"), [("hermes", PLACES), ("beam", SORTED_ONCE), ("inkling", SORTED)]
)
@pytest.mark.parametrize("place", ["", "allOf", "$ref", "member"])
def test_models_that_sort_arguments_write_them_in_that_order(
    name: str, written: Any, place: str
) -> None:
    schema = schema_of(PLACES)
    if place == "allOf":
        schema = {"allOf": [schema]}
    if place == "$ref":
        schema = {"$defs": {"a": schema}, "$ref": "#/$defs/a"}
    if place == "member":
        # as pydantic writes a model inside of a model
        where = schema["properties"]["where"]
        schema["properties"]["where"] = {"$ref": "#/$defs/Where"}
        schema["$defs"] = {"Where": where}
    grammar = grammar_of(name, planned(name, schema, JsonRules(argument_order="schema")))
    assert is_accepted(grammar, call(name, written))
    others = (PLACES, SORTED_ONCE, SORTED)
    assert not any(is_accepted(grammar, call(name, each)) for each in others if each is not written)


def test_many_arguments_of_a_model_that_sorts_them_are_sorted() -> None:
    properties = {f"k{number}": INTEGER for number in range(MOST, -1, -1)}
    schema = {"type": "object", "properties": properties}
    grammar = grammar_of("beam", planned("beam", schema, JsonRules()))
    assert is_accepted(grammar, call("beam", dict.fromkeys(sorted(properties), 1)))
    assert not is_accepted(grammar, call("beam", dict.fromkeys(properties, 1)))


def test_names_of_properties_are_no_keywords_where_they_are_sorted() -> None:
    """A property may be called ``properties``, and a constant may look like a schema."""
    constant = {"properties": {"b": 1, "a": 2}}
    inner = {"type": "object", "properties": {"properties": {"const": constant}}}
    made = sorted_properties(inner, ALL_LEVELS)
    assert json.dumps(made) == json.dumps(inner)
    deep: Any = {"type": "string"}
    for _ in range(500):
        deep = {"properties": {"b": deep, "a": True}}
    assert list(sorted_properties(deep, ALL_LEVELS)["properties"]) == ["a", "b"]


def test_counted_arguments_keep_the_order_of_the_schema() -> None:
    schema = {**SCHEMA, "maxProperties": 3}
    grammar = grammar_of("qwen_coder", planned("qwen_coder", schema, JsonRules()))
    assert is_accepted(grammar, call("qwen_coder", {"city": "x", "days": 1, "unit": "c"}))
    assert not is_accepted(grammar, call("qwen_coder", {"days": 1, "city": "x"}))


@pytest.mark.parametrize(
    ("style", "order", "message"),
    [("qwen_xml", "sorted", '"schema" or "any"'), ("json", "any", "requires a style")],
)
def test_another_order_is_refused(style: str, order: str, message: str) -> None:
    node = {"type": "json_schema", "json_schema": SCHEMA, "style": style}
    own = {"version": 7, "argument_order": order}
    with pytest.raises(SpecError, match=message) as caught:
        COMPILER.compile_structural_tag(
            {"type": "structural_tag", "format": {**node, "switchyard": own}}
        )
    assert caught.value.pointer == "/format/switchyard/argument_order"
