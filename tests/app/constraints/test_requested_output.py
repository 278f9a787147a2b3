"""Output specs of requests: invalid tools, reasoning effort, variables of the chat template."""

import json
from typing import Any

import pytest

from adapters.formats import OutputSpec
from app.common_form import common_chat
from app.common_form.legacy_functions import with_tools
from app.constraints.requested_output import (
    output_after_prompt,
    requested_output,
    template_variables,
)
from app.errors import ApiError
from app.generation import GenerationRequest, ShownAnswers
from app.protocol.chat_request import MAX_VARIABLES, VARIABLE_CHARS
from app.settings import ModelSettings
from tests.app.bodies import parse_request

USER = {"role": "user", "content": "hi"}


def common(**fields: Any) -> GenerationRequest:
    return common_chat(parse_request(json.dumps({"model": "m", **fields}).encode()))


def read(**fields: Any) -> tuple[OutputSpec, dict[str, Any]]:
    """Return the output spec, and the variables of the chat template."""
    request = common(messages=[USER], **fields)
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


OFF, ON = {"enable_thinking": False, "thinking": False}, {"enable_thinking": True, "thinking": True}
LOW = ON | {"reasoning_effort": "low"}
#: (fields of other servers, reasoning, effort, tokens, variables of the template)
THINKING: list[tuple[dict[str, Any], str, str | None, int | None, dict[str, Any]]] = [
    ({"enable_thinking": False}, "off", None, None, OFF),
    ({"enable_thinking": True}, "auto", None, None, ON),
    ({"thinking": {"type": "disabled"}}, "off", None, None, OFF),
    ({"thinking": {"type": "enabled"}}, "auto", None, None, ON),
    ({"thinking": {"type": "adaptive", "display": "omitted"}}, "auto", None, None, {}),
    ({"thinking": {"type": "auto"}}, "auto", None, None, {}),
    (
        {"thinking": {"type": "enabled", "budget_tokens": 9, "keep": "all"}},
        *("auto", None, 9, ON | {"thinking_budget": 9}),
    ),
    ({"thinking": {"type": "disabled", "budget_tokens": 9}}, "off", None, None, OFF),
    ({"reasoning": {"enabled": False}}, "off", None, None, OFF),
    ({"reasoning": {"enabled": True, "exclude": False}}, "auto", None, None, ON),
    ({"reasoning": {"effort": "none"}}, "off", None, None, OFF),
    ({"reasoning": {"effort": "low", "summary": "auto"}}, "auto", "low", None, LOW),
    ({"reasoning": {"effort": "low"}, "reasoning_effort": "low"}, "auto", "low", None, LOW),
    ({"reasoning": {"max_tokens": 9}}, "auto", None, 9, {"thinking_budget": 9}),
    ({"reasoning": {}, "thinking": None, "enable_thinking": None}, "auto", None, None, {}),
    ({"enable_thinking": True, "reasoning_effort": "low"}, "auto", "low", None, LOW),
    ({"thinking_token_budget": -1}, "auto", None, None, {}),
]


@pytest.mark.parametrize(("fields", "reasoning", "effort", "tokens", "told"), THINKING)
def test_fields_of_other_servers_turn_reasoning_on_and_off(
    fields: dict[str, Any],
    reasoning: str,
    effort: str | None,
    tokens: int | None,
    told: dict[str, Any],
):
    found, variables = read(**fields)
    assert (found.reasoning, found.effort, found.thinking_tokens) == (reasoning, effort, tokens)
    assert variables == told


#: (fields, the refused field, the field that it contradicts)
CONTRADICTIONS: list[tuple[dict[str, Any], str, str]] = [
    ({"reasoning_effort": "none", "enable_thinking": True}, "enable_thinking", "reasoning_effort"),
    ({"reasoning_effort": "low", "enable_thinking": False}, "enable_thinking", "reasoning_effort"),
    (
        {"reasoning_effort": "low", "reasoning": {"effort": "high"}},
        *("reasoning.effort", "reasoning_effort"),
    ),
    ({"reasoning": {"effort": "low", "enabled": False}}, "reasoning.enabled", "reasoning.effort"),
    (
        {"thinking": {"type": "disabled"}, "enable_thinking": True},
        *("enable_thinking", "thinking.type"),
    ),
    (
        {"thinking": {"type": "disabled"}, "reasoning_effort": "high"},
        *("thinking.type", "reasoning_effort"),
    ),
    (
        {"thinking_token_budget": 8, "reasoning": {"max_tokens": 9}},
        *("reasoning.max_tokens", "thinking_token_budget"),
    ),
]


@pytest.mark.parametrize(("fields", "param", "other"), CONTRADICTIONS)
def test_fields_that_contradict_are_refused(fields: dict[str, Any], param: str, other: str):
    with pytest.raises(ApiError) as caught:
        read(**fields)
    assert (caught.value.status, caught.value.param) == (400, param)
    assert caught.value.message == f"Invalid value for '{param}': it contradicts '{other}'."


#: (fields, param, code)
WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"thinking": True}, "thinking", "invalid_type"),
    ({"thinking": {}}, "thinking.type", "missing_required_parameter"),
    ({"thinking": {"type": "on"}}, "thinking.type", "invalid_value"),
    ({"thinking": {"type": "auto", "budget_tokens": ""}}, "thinking.budget_tokens", "invalid_type"),
    ({"enable_thinking": "true"}, "enable_thinking", "invalid_type"),
    ({"reasoning": "high"}, "reasoning", "invalid_type"),
    ({"reasoning": {"effort": 3}}, "reasoning.effort", "invalid_value"),
    ({"reasoning": {"enabled": 1}}, "reasoning.enabled", "invalid_type"),
    ({"thinking_token_budget": -2}, "thinking_token_budget", "integer_below_min_value"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "param", "code"), WRONG)
def test_mistakes_in_them_have_their_place(fields: dict[str, Any], param: str, code: str):
    with pytest.raises(ApiError) as caught:
        read(**fields)
    assert (caught.value.param, caught.value.code) == (param, code)


FUNCTION = {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False}
CUSTOM = {"name": "c", "description": "d", "format": {"type": "text"}}
BOTH = [{"type": "function", "function": FUNCTION}, {"type": "custom", "custom": CUSTOM}]


@pytest.mark.parametrize("tool", BOTH, ids=["function", "custom"])
def test_a_choice_may_hold_the_whole_tool(tool: dict[str, Any]):
    """REGRESSION: it is read by its name; other fields than those of a tool are unknown."""
    name = tool[tool["type"]]["name"]
    found, _ = read(tools=BOTH, tool_choice=tool)
    assert (found.tool_choice, found.tool_name) == ("named", name)
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [tool]}}
    found, _ = read(tools=BOTH, tool_choice=allowed)
    assert found.barred == tuple({"f", "c"} - {name})
    kind = tool["type"]
    with pytest.raises(ApiError) as caught:
        read(tools=BOTH, tool_choice={"type": kind, kind: {"name": name, "nmae": 1}})
    assert (caught.value.param, caught.value.code) == (
        f"tool_choice.{kind}.nmae",
        "unknown_parameter",
    )


def test_a_function_call_may_hold_the_whole_function():
    request = {"messages": [USER], "functions": [FUNCTION], "function_call": FUNCTION}
    assert with_tools(parse_request(json.dumps(request).encode())).tool_choice.function.name == "f"


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
    read(chat_template_kwargs={f"v{n}": "x" * VARIABLE_CHARS for n in range(MAX_VARIABLES)})
    for variables in (
        {f"v{n}": 1 for n in range(MAX_VARIABLES + 1)},
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
    request = common(messages=[USER], **fields)
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
    request = common_chat(parse_request(json.dumps(body).encode()))
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


# -- several calls ---------------------------------------------------------------------------------
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


@pytest.mark.parametrize("shows_several", [False, True])
@pytest.mark.parametrize("setting", ["template", "true", "false"])
@pytest.mark.parametrize("asked", [None, False, True])
def test_a_request_decides_on_several_calls_then_the_setting_then_the_template(
    asked: bool | None, setting: Any, shows_several: bool
):
    request = common(messages=[USER], tools=[TOOL], parallel_tool_calls=asked)
    settings = ModelSettings(parallel_tool_calls=setting)
    output = requested_output(request, settings, ShownAnswers(several_calls=shows_several))
    by_default = shows_several if setting == "template" else setting == "true"
    assert output.parallel_tool_calls is (by_default if asked is None else asked)


@pytest.mark.parametrize(
    ("value", "word"), [(True, "true"), (False, "false"), ("true", "true"), ("False", "false")]
)
def test_the_setting_of_several_calls_may_be_a_boolean(value: Any, word: str):
    assert ModelSettings(parallel_tool_calls=value).parallel_tool_calls == word


# -- how JSON is written ---------------------------------------------------------------------------
@pytest.mark.parametrize("setting", ["none", "last"])
@pytest.mark.parametrize("asked", [None, False, True])
def test_a_request_decides_on_additional_keys_then_the_setting(asked: bool | None, setting: Any):
    wanted = {"json": {"type": "object"}, "disable_additional_properties": asked}
    request = common(messages=[USER], structured_outputs=wanted)
    settings = ModelSettings(extra_keys=setting, default_max_items=3, default_max_length=9)
    by_request = "none" if asked else "last"
    rules = requested_output(request, settings).json_rules
    assert rules.extra_keys == (setting if asked is None else by_request)
    assert (rules.max_items, rules.max_length) == (3, 9)


@pytest.mark.parametrize("backend", ["xgrammar", "llguidance"])
def test_closed_objects_are_refused_where_the_backend_cannot_enforce_them(backend: Any):
    def output(asked: bool | None) -> OutputSpec:
        wanted = {"json": {"type": "object"}, "disable_additional_properties": asked}
        request = common(messages=[USER], structured_outputs=wanted)
        return requested_output(request, ModelSettings(grammar_backend=backend))

    with pytest.raises(ApiError) as caught:
        output(True)
    assert (caught.value.status, caught.value.param) == (
        400,
        "structured_outputs.disable_additional_properties",
    )
    assert backend in caught.value.message
    output(False)
    output(None)


@pytest.mark.parametrize("backend", ["switchyard", "xgrammar", "llguidance"])
def test_grammars_of_other_engines_do_not_depend_on_the_calls_before(backend: Any):
    """Their compiles of each turn would take longer than the answer's numbers are worth."""
    output = requested_output(common(messages=[USER]), ModelSettings(grammar_backend=backend))
    after = output_after_prompt(output, "closed", 5)
    assert after.thought == "closed"
    assert after.calls_before == (5 if backend == "switchyard" else None)
