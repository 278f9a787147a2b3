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
    assert taken == [tuple(VALUES)]


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
    own = {"version": 6, "argument_order": order}
    with pytest.raises(SpecError, match=message) as caught:
        COMPILER.compile_structural_tag(
            {"type": "structural_tag", "format": {**node, "switchyard": own}}
        )
    assert caught.value.pointer == "/format/switchyard/argument_order"
