"""The inputs of a chat template: how it takes tools, and the variables that it requires."""

from datetime import date
from typing import Any

import pytest
from jinja2 import Environment

from app.conversation.inputs import TemplateInputs, inputs_of
from app.conversation.profile import Messages, TemplateError, Variables
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of

TOOL = {
    "type": "function",
    "function": {
        "name": "wordtool",
        "description": "é",
        "parameters": {"type": "object", "properties": {"a": {}, "b": {"description": "wordb"}}},
    },
}


def found(source: str) -> TemplateInputs:
    def render(messages: Messages, variables: Variables) -> str:
        try:
            return Environment().from_string(source).render(messages=messages, **variables)
        except Exception as error:
            raise TemplateError(str(error)) from error

    return inputs_of(render, source)


@pytest.mark.parametrize(
    ("source", "inputs"),
    [
        ("{{ messages[0].content }}{{ tools }}", TemplateInputs()),
        ("{{ messages[0].content }}", TemplateInputs()),
        ("{{ messages[0].content", TemplateInputs()),
        ("{{ tools }}{{ xml_tools }}", TemplateInputs()),
        ("{% for t in xml_tools %}{{ t }}{% endfor %}", TemplateInputs("xml_tools")),
        ("{{ xml_tools }}{{ python_tools }}", TemplateInputs("xml_tools")),
        ("{{ 'x' + functions }}", TemplateInputs("functions", is_text=True)),
        (
            "{{ 'x' + functions + datetime }}",
            TemplateInputs("functions", is_text=True, dates=("datetime",)),
        ),
        ("{{ 'on ' + today_date }}{{ tools }}", TemplateInputs(dates=("today_date",))),
        ("{{ tools }}{{ today_date }}", TemplateInputs()),
        (
            "{% for p in tools[0].function.parameters.properties.values() %}"
            "{{ p.description + '' }}{% endfor %}{{ tools }}",
            TemplateInputs(requires_descriptions=True),
        ),
        # a document is no tool, and a variable that the template sets is no input
        ("{{ documents }}", TemplateInputs()),
        ("{% set my_tools = documents %}{{ my_tools }}", TemplateInputs()),
    ],
)
def test_inputs_are_found_by_rendering(source: str, inputs: TemplateInputs) -> None:
    assert found(source) == inputs


@pytest.mark.parametrize(
    ("inputs", "tools", "values"),
    [
        (TemplateInputs(), None, {"tools": None}),
        (TemplateInputs(), [], {"tools": []}),
        (TemplateInputs(), [TOOL], {"tools": [TOOL]}),
        (TemplateInputs("xml_tools"), [TOOL], {"xml_tools": [TOOL]}),
        (TemplateInputs("xml_tools"), None, {"xml_tools": None}),
        (TemplateInputs("functions", is_text=True), None, {"functions": ""}),
        (
            TemplateInputs(dates=("today",)),
            None,
            {"tools": None, "today": date.today().isoformat()},
        ),
    ],
)
def test_values_of_inputs(inputs: TemplateInputs, tools: Any, values: dict[str, Any]) -> None:
    assert inputs.values(tools) == values


def test_functions_as_text_and_descriptions() -> None:
    inputs = TemplateInputs("functions", is_text=True, requires_descriptions=True)
    text = inputs.values([TOOL])["functions"]
    assert '"name": "wordtool"' in text and "é" in text and '"type": "function"' not in text
    assert '"description": ""' in text and "wordb" in text


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_a_client_sets_a_date_but_no_tools() -> None:
    template: Any = tokenizer_of("fireworks-ai-llama-3-firefunction-v2")._template
    question = [{"role": "user", "content": "worduser"}]
    own = {"datetime": "worddate", "functions": "wordforged"}
    with_tools = template(question, [TOOL], own)
    assert "wordtool" in with_tools and "worddate" in with_tools
    assert "wordforged" not in with_tools
    assert "wordforged" in template(question, None, own)
    assert date.today().isoformat() in template(question, None, {})
