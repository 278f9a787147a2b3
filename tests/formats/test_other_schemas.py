"""A plan with other schemas is the plan that those schemas would have made."""

from typing import Any

import pytest

from adapters.formats import FORMATS, Ask, Tool

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
OTHER = {"type": "object", "properties": {"b": {"type": "null"}}}
ASK = {"auto": Ask((Tool("f", OBJECT), Tool("g", OTHER)), response_schema=OBJECT, reasoning="auto")}
ASK["required"] = Ask((Tool("f", OBJECT), Tool("g", OTHER)), "required")
ASK["none"] = Ask(response_schema=OBJECT)


def plans(name: str, ask: Ask) -> Any:
    return FORMATS[name].plan(ask, FORMATS[name].own_tokens)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK.keys())
def test_the_same_schemas_make_the_same_plan(name: str, ask: Ask):
    plan = plans(name, ask)
    assert plan.with_schemas(lambda param, schema: schema) == plan


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ask", ASK.values(), ids=ASK.keys())
def test_every_schema_is_changed_wherever_it_stands(name: str, ask: Ask):
    plan = plans(name, ask)
    before = plan.spec_json
    changed = plan.with_schemas(lambda param, schema: OTHER)
    tools = tuple(Tool(tool.name, OTHER) for tool in ask.tools)
    response = None if ask.response_schema is None else OTHER
    assert changed == plans(name, Ask(tools, ask.tool_choice, response_schema=response,
                                      reasoning=ask.reasoning))  # fmt: skip
    assert plan.spec_json == before


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("schema", [{}, {"anyOf": [{}, OBJECT]}, {"minProperties": 1}])
def test_arguments_stay_objects(name: str, schema: dict[str, Any]):
    changed = plans(name, ASK["required"]).with_schemas(lambda param, _: schema)
    objects = {"type": "object", **schema}
    assert changed == plans(name, Ask((Tool("f", objects), Tool("g", objects)), "required"))
