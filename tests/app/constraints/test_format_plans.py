"""A kept format plan is found for an equal output of the same model, and for no other one."""

from dataclasses import fields, replace
from typing import Any

import pytest

from adapters.formats import (
    COMPACT,
    FORMATS,
    Format,
    FormatPlan,
    InputFormat,
    JsonRules,
    OutputSpec,
    ResponseGrammar,
    Tool,
    get_format,
)
from app.constraints.format_plans import ENTRY_BYTES, PROMPT_FIELDS, FormatPlans, identity
from app.constraints.tenant_caches import TenantCaches
from engine import Compiler, Limits, Relaxations, Vocabulary
from tests.formats.cases import SPECIALS

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}
TOOL = Tool("f", SCHEMA, "about f", param="tools[0].function")
OUTPUT = OutputSpec(tools=(TOOL, Tool("g", {})), response_name="n", reasoning="off")
PLAIN = get_format("plain")

#: another value of each field
OTHERS: dict[str, Any] = {
    "tools": (TOOL,),
    "tool_choice": "named",
    "tool_name": "f",
    "barred": ("f",),
    "builtin_tools": ("python",),
    "parallel_tool_calls": False,
    "response_schema": SCHEMA,
    "response_grammar": ResponseGrammar("regex", "a+", "regex"),
    "response_param": "text.format",
    "response_strict": True,
    "response_name": "other",
    "response_description": "other",
    "schema_in_prompt": False,
    "schema_style": "json_schema",
    "instructions": "other",
    "json_rules": JsonRules(layout=COMPACT),
    "layout_param": "json_layout",
    "reasoning": "auto",
    "thought": "open",
    "effort": "high",
    "thinking_tokens": 5,
    "calls_before": 3,
}
OTHERS_OF_TOOL: dict[str, Any] = {
    "name": "h",
    "parameters": {"type": "object"},
    "description": "other",
    "strict": True,
    "input": InputFormat("regex", "a+"),
    "param": "tools[7].function",
    "schema_field": "schema",
}
OTHERS_OF_RULES: dict[str, Any] = {
    "layout": COMPACT,
    "element_space": True,
    "extra_keys": "none",
    "argument_order": "schema",
    "max_items": 3,
    "max_length": 3,
}
OTHERS_OF_GRAMMAR: dict[str, Any] = {"kind": "ebnf", "value": "b", "param": "other"}
GRAMMAR = ResponseGrammar("regex", "a+", "regex")


def with_tool(**changes: Any) -> OutputSpec:
    return replace(OUTPUT, tools=(replace(TOOL, **changes), *OUTPUT.tools[1:]))


CHANGED = {
    **{name: replace(OUTPUT, **{name: value}) for name, value in OTHERS.items()},
    **{f"tool {name}": with_tool(**{name: value}) for name, value in OTHERS_OF_TOOL.items()},
    **{
        f"rules {name}": replace(OUTPUT, json_rules=replace(OUTPUT.json_rules, **{name: value}))
        for name, value in OTHERS_OF_RULES.items()
    },
}


def test_the_tables_have_every_field():
    """A new field needs a row here, so that ``identity`` has it or leaves it out on purpose."""
    tables = {
        OutputSpec: OTHERS,
        Tool: OTHERS_OF_TOOL,
        JsonRules: OTHERS_OF_RULES,
        ResponseGrammar: OTHERS_OF_GRAMMAR,
    }
    for kind, others in tables.items():
        assert {each.name for each in fields(kind)} == others.keys()


@pytest.mark.parametrize("name", CHANGED)
def test_every_field_tells_plans_apart_but_those_of_prompts(name: str):
    is_left_out = name.rpartition(" ")[2] in PROMPT_FIELDS
    assert (identity(CHANGED[name]) == identity(OUTPUT)) is is_left_out


@pytest.mark.parametrize("name", OTHERS_OF_GRAMMAR)
def test_every_field_of_a_grammar_tells_plans_apart(name: str):
    changed = replace(GRAMMAR, **{name: OTHERS_OF_GRAMMAR[name]})
    one, other = (replace(OUTPUT, response_grammar=each) for each in (GRAMMAR, changed))
    assert identity(one) != identity(other)


@pytest.mark.parametrize("field", ["syntax", "definition", "param"])
def test_every_field_of_an_input_tells_plans_apart(field: str):
    changed = replace(InputFormat("regex", "a+", "p"), **{field: "lark"})
    one, other = with_tool(input=InputFormat("regex", "a+", "p")), with_tool(input=changed)
    assert identity(one) != identity(other)


@pytest.mark.parametrize("name", sorted(SPECIALS))
@pytest.mark.parametrize("field", sorted(PROMPT_FIELDS))
def test_no_plan_depends_on_what_only_prompts_show(name: str, field: str):
    special = SPECIALS[name]
    for output in (replace(OUTPUT, tools=(TOOL,)), OutputSpec(response_schema=SCHEMA)):
        if field == "description":
            tools = tuple(replace(tool, description="other") for tool in output.tools)
            changed = replace(output, tools=tools)
        else:
            changed = replace(output, **{field: OTHERS[field]})
        assert FORMATS[name].plan(changed, special) == FORMATS[name].plan(output, special)


class Counted:
    """A format that counts its plans."""

    def __init__(self) -> None:
        self.made = 0

    def plan(self, output: OutputSpec, special_texts: tuple[str, ...]) -> FormatPlan:
        self.made += 1
        return PLAIN.plan(output, special_texts)


def counted() -> Any:
    return Counted()


def of_schema(schema: Any) -> OutputSpec:
    return OutputSpec(response_schema=schema, reasoning="off")


def test_a_plan_is_made_once():
    plans, wire = FormatPlans(), counted()
    first = plans.of(wire, (), of_schema({"const": 1}))
    assert plans.of(wire, (), of_schema({"const": 1})) is first
    assert wire.made == 1


def test_one_output_has_a_plan_for_each_format_and_in_each_cache():
    output = of_schema({"const": 1})
    first, second, wire, other = FormatPlans(), FormatPlans(), counted(), counted()
    made = [each.of(kind, (), output) for each in (first, second) for kind in (wire, other, wire)]
    assert len({id(plan) for plan in made}) == 4
    changed = replace(output, response_schema={"const": 2})
    assert first.of(wire, (), changed) == PLAIN.plan(changed, ())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"const": 1}, {"const": True}),
        ({"const": 1}, {"const": 1.0}),
        ({"const": 0}, {"const": False}),
        ({"const": [1]}, {"const": ["1"]}),
        ({"properties": {"a": {}, "b": {}}}, {"properties": {"b": {}, "a": {}}}),
    ],
)
def test_values_that_python_takes_as_equal_have_plans_of_their_own(one: Any, other: Any):
    plans = FormatPlans()
    assert plans.of(PLAIN, (), of_schema(one)).spec_json == PLAIN.plan(of_schema(one), ()).spec_json
    expected = PLAIN.plan(of_schema(other), ()).spec_json
    assert plans.of(PLAIN, (), of_schema(other)).spec_json == expected


def test_models_with_other_formats_or_special_tokens_have_plans_of_their_own():
    plans, output = FormatPlans(), OutputSpec(reasoning="off")
    made: list[tuple[Format, tuple[str, ...]]] = [
        *((wire, ("<a>",)) for wire in (PLAIN, get_format("hermes"), replace(PLAIN, marks=("x",)))),
        (PLAIN, ("<b>",)),
    ]
    for wire, special in made:
        assert plans.of(wire, special, output) == wire.plan(output, special)


def test_the_bytes_of_kept_plans_have_a_bound():
    """At the bound, the least recently used one goes; one beyond the bound is not kept."""
    outputs = [of_schema({"const": n}) for n in range(3)]
    size = ENTRY_BYTES + len(PLAIN.plan(outputs[0], ()).spec_json)
    plans, wire = FormatPlans(most_bytes=2 * size), counted()
    for output in (outputs[0], outputs[1], outputs[0], outputs[2], outputs[0]):
        plans.of(wire, (), output)
    assert wire.made == 3
    plans.of(wire, (), outputs[1])
    assert wire.made == 4
    small = FormatPlans(most_bytes=size - 1)
    for _ in range(2):
        small.of(wire, (), outputs[0])
    assert wire.made == 6


def test_a_spec_beyond_the_limits_is_not_kept():
    plans, wire = FormatPlans(Limits(spec_bytes=50)), counted()
    for _ in range(2):
        plans.of(wire, (), of_schema({"const": "x" * 100}))
    assert wire.made == 2


def test_namespaces_share_no_plans():
    vocabulary = Vocabulary([bytes([n]) for n in range(256)], stop_token_ids=[0])
    one, other = (TenantCaches(Compiler(vocabulary), Relaxations(Limits())) for _ in range(2))
    wire: Any = counted()
    one.plans.of(wire, (), OUTPUT)
    other.plans.of(wire, (), OUTPUT)
    assert wire.made == 2
