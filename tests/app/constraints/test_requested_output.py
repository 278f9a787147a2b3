"""Output specs of requests: invalid tools, reasoning effort, variables of the chat template."""

import json
from typing import Any

import pytest

from adapters.formats import OutputSpec
from app.api.body import parse_request
from app.constraints.requested_output import requested_output, template_variables
from app.errors import ApiError
from app.protocol.chat_request import MOST_VARIABLES, VARIABLE_CHARS
from app.settings import ModelSettings

USER = {"role": "user", "content": "hi"}


def read(**fields: Any) -> tuple[OutputSpec, dict[str, Any]]:
    """Return the output spec, and the variables of the chat template."""
    request = parse_request(json.dumps({"model": "m", "messages": [USER], **fields}).encode())
    output = requested_output(request, ModelSettings(reasoning="on"))
    return output, template_variables(request, output)


@pytest.mark.parametrize("choice", [None, "auto", "none"])
@pytest.mark.parametrize("parallel", [None, True, False])
def test_an_empty_list_of_tools_is_none(choice: str | None, parallel: bool | None):
    found, _ = read(tools=[], tool_choice=choice, parallel_tool_calls=parallel)
    assert found.tools == () and found.prompt_tools == ()


@pytest.mark.parametrize(
    "choice", ["required", {"type": "function", "function": {"name": "f"}}], ids=str
)
def test_a_call_of_no_tool_can_not_be_required(choice: Any):
    with pytest.raises(ApiError) as caught:
        read(tools=[], tool_choice=choice)
    assert (caught.value.status, caught.value.param) == (400, "tool_choice")


@pytest.mark.parametrize(
    ("effort", "reasoning", "asked", "told"),
    [
        (None, "auto", None, {}),
        ("none", "off", None, {"enable_thinking": False, "thinking": False}),
        (
            "minimal",
            "auto",
            "low",
            {"enable_thinking": True, "thinking": True, "reasoning_effort": "low"},
        ),
        (
            "xhigh",
            "auto",
            "high",
            {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
        ),
        (
            "max",
            "auto",
            "high",
            {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"},
        ),
    ],
)
def test_the_effort_reaches_grammar_and_template(
    effort: str | None, reasoning: str, asked: str | None, told: dict[str, Any]
):
    found, variables = read(reasoning_effort=effort)
    assert (found.reasoning, found.effort, variables) == (reasoning, asked, told)


def test_variables_of_the_request_come_last():
    own = {"enable_thinking": False, "custom": "x"}
    _, variables = read(reasoning_effort="high", chat_template_kwargs=own)
    assert variables == {
        "enable_thinking": False,
        "thinking": True,
        "reasoning_effort": "high",
        "custom": "x",
    }


def test_variables_are_few_and_short():
    read(chat_template_kwargs={f"v{n}": "x" * VARIABLE_CHARS for n in range(MOST_VARIABLES)})
    for variables in (
        {f"v{n}": 1 for n in range(MOST_VARIABLES + 1)},
        {"v": "x" * (VARIABLE_CHARS + 1)},
        {"v" * (VARIABLE_CHARS + 1): 1},
        {"v": {"nested": 1}},
        {"v": [1]},
        "text",
    ):
        with pytest.raises(ApiError) as caught:
            read(chat_template_kwargs=variables)
        assert caught.value.status == 400
        assert (caught.value.param or "").startswith("chat_template_kwargs"), caught.value.message


def test_an_effort_that_nobody_knows_is_refused():
    with pytest.raises(ApiError) as caught:
        read(reasoning_effort="extreme")
    assert (caught.value.status, caught.value.param) == (400, "reasoning_effort")


@pytest.mark.parametrize(
    ("fields", "default", "budget", "told"),
    [
        ({}, None, None, {}),
        ({}, 9, 9, {"thinking_budget": 9}),
        ({"thinking_token_budget": 5}, 9, 5, {"thinking_budget": 5}),
        ({"thinking_token_budget": 0}, None, None, {"enable_thinking": False, "thinking": False}),
        ({}, 0, None, {"enable_thinking": False, "thinking": False}),
    ],
)
def test_a_budget_of_thinking_reaches_grammar_and_template(
    fields: dict[str, int], default: int | None, budget: int | None, told: dict[str, Any]
):
    request = parse_request(json.dumps({"model": "m", "messages": [USER], **fields}).encode())
    output = requested_output(request, ModelSettings(reasoning="on", thinking_token_budget=default))
    assert output.thinking_tokens == budget
    assert (output.reasoning == "off") is ("enable_thinking" in told)
    assert template_variables(request, output) == told


READING = {"name": "reading", "description": "Of a meter", "schema": {"type": "object"}}


@pytest.mark.parametrize("setting", [True, False])
@pytest.mark.parametrize("field", [None, True, False])
def test_a_request_decides_before_the_setting_whether_the_prompt_tells_the_schema(
    setting: bool, field: bool | None
):
    wanted = {"type": "json_schema", "json_schema": READING}
    body = {"model": "m", "messages": [USER], "response_format": wanted}
    if field is not None:
        body["include_schema_in_prompt"] = field
    request = parse_request(json.dumps(body).encode())
    output = requested_output(request, ModelSettings(include_schema_in_prompt=setting))
    assert output.tells_schema is (setting if field is None else field)
    assert output.response_schema == READING["schema"]
    assert (output.response_name, output.response_description) == ("reading", "Of a meter")


def test_tools_that_are_shown_and_not_allowed_are_barred():
    tools = [{"type": "function", "function": {"name": name}} for name in "fgh"]
    allowed = {"mode": "auto", "tools": tools[1:2]}
    found, _ = read(tools=tools, tool_choice={"type": "allowed_tools", "allowed_tools": allowed})
    assert [tool.name for tool in found.callable_tools] == ["g"]
    assert found.barred == ("f", "h")
    assert [tool.name for tool in found.prompt_tools] == ["f", "g", "h"]
