"""A plan with other schemas is the plan that those schemas would have made."""

from typing import Any

import pytest

from adapters.formats import FORMATS, OutputSpec, Tool

OBJECT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
OTHER = {"type": "object", "properties": {"b": {"type": "null"}}}
TOOLS = (Tool("f", OBJECT), Tool("g", OTHER))
OUTPUTS = {
    "auto": OutputSpec(TOOLS, response_schema=OBJECT, reasoning="auto"),
    "required": OutputSpec(TOOLS, "required"),
    "none": OutputSpec(response_schema=OBJECT),
}


def plans(name: str, output: OutputSpec) -> Any:
    return FORMATS[name].plan(output, FORMATS[name].own_tokens)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_the_same_schemas_make_the_same_plan(name: str, output: OutputSpec):
    plan = plans(name, output)
    assert plan.with_schemas(lambda origin, schema: schema) == plan


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_every_schema_is_changed_wherever_it_stands(name: str, output: OutputSpec):
    plan = plans(name, output)
    before = plan.spec_json
    changed = plan.with_schemas(lambda origin, schema: OTHER)
    tools = tuple(Tool(tool.name, OTHER) for tool in output.tools)
    response = None if output.response_schema is None else OTHER
    assert changed == plans(name, OutputSpec(tools, output.tool_choice, response_schema=response,
                                      reasoning=output.reasoning))  # fmt: skip
    assert plan.spec_json == before


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("schema", [{}, {"anyOf": [{}, OBJECT]}, {"minProperties": 1}])
def test_arguments_stay_objects(name: str, schema: dict[str, Any]):
    changed = plans(name, OUTPUTS["required"]).with_schemas(lambda origin, _: schema)
    objects = {"type": "object", **schema}
    assert changed == plans(name, OutputSpec((Tool("f", objects), Tool("g", objects)), "required"))
