"""The deprecated functions: as tools to the model, in their old shape to the client."""

import json
from typing import Any

import jsonschema
import openai
import pytest

from tests.app.examples import ALARM, LIGHT, MESSAGES, TOOLS, body
from tests.app.gateway import Gateway

FUNCTIONS = [each["function"] for each in TOOLS]
SCHEMAS = {"set_alarm": ALARM, "set_light": LIGHT}
CALL = {"role": "assistant", "content": None,
        "function_call": {"name": "set_light", "arguments": '{"on": true}'}}  # fmt: skip
RESULT = {"role": "function", "name": "set_light", "content": "done"}


def as_tools(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The choices in the new shape, without ids."""
    made = []
    for choice in choices:
        message = dict(choice["message"])
        call = message.pop("function_call", None)
        calls = [each["function"] for each in message.pop("tool_calls", [])]
        reason = choice["finish_reason"].replace("function_call", "tool_calls")
        made.append((message, [call] if call else calls, reason))
    return made


#: function_call, and the tool choice with the same meaning
CHOICES: list[tuple[Any, Any]] = [
    (None, None),
    ("auto", "auto"),
    ("none", "none"),
    ({"name": "set_light"}, {"type": "function", "function": {"name": "set_light"}}),
]


@pytest.mark.parametrize(("old", "new"), CHOICES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_functions_are_tools_in_another_shape(
    gateway: Gateway, old: Any, new: Any, seed: int
) -> None:
    """One request in both forms gets one answer."""
    limits = {"seed": seed, "max_completion_tokens": 1500, "n": 2}
    given = gateway.post(body(functions=FUNCTIONS, function_call=old, **limits)).json()
    wanted = gateway.post(
        body(tools=TOOLS, tool_choice=new, parallel_tool_calls=False, **limits)
    ).json()
    assert as_tools(given["choices"]) == as_tools(wanted["choices"])
    assert "tool_calls" not in json.dumps(given)
    assert given["usage"] == wanted["usage"]


def test_the_official_client_reads_a_call(client: openai.OpenAI) -> None:
    asked = body(functions=FUNCTIONS, function_call={"name": "set_alarm"})
    choice = client.chat.completions.create(**asked).choices[0]
    call = choice.message.function_call
    assert call is not None and choice.finish_reason == "stop"
    assert (choice.message.content, choice.message.tool_calls) == (None, None)
    jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
    name, arguments, reasons = "", "", []
    for chunk in client.chat.completions.create(**asked, stream=True):
        (part,) = chunk.choices
        assert part.delta.tool_calls is None
        if part.delta.function_call is not None:
            name += part.delta.function_call.name or ""
            arguments += part.delta.function_call.arguments or ""
        reasons.append(part.finish_reason)
    assert (name, arguments) == (call.name, call.arguments)
    assert reasons == [None] * (len(reasons) - 1) + ["stop"]


def test_a_call_of_the_models_choice_finishes_as_one(gateway: Gateway) -> None:
    """With "auto", noise calls for some seeds."""
    reasons = set()
    for seed in range(40):
        asked = body(functions=FUNCTIONS, seed=seed, max_completion_tokens=300)
        (choice,) = gateway.post(asked).json()["choices"]
        called = "function_call" in choice["message"]
        assert (choice["finish_reason"] == "function_call") <= called
        reasons.add(choice["finish_reason"])
    assert "function_call" in reasons


HISTORIES: dict[str, list[Any]] = {
    "one call": [*MESSAGES, CALL, RESULT],
    "two calls in turn": [*MESSAGES, CALL, RESULT, CALL, RESULT, *MESSAGES],
    "null as a result": [*MESSAGES, CALL, {**RESULT, "content": None}],
    "REGRESSION: a call without a result": [*MESSAGES, CALL, *MESSAGES],
    "REGRESSION: a call at the end": [*MESSAGES, CALL],
    "text beside the call": [*MESSAGES, {**CALL, "content": "Now."}, RESULT],
}


#: REGRESSION: these were refused
SCATTERED: dict[str, list[Any]] = {
    "a result without a call": [*MESSAGES, RESULT],
    "a result of another function": [*MESSAGES, CALL, {**RESULT, "name": "f"}],
    "a message before the result": [CALL, *MESSAGES, RESULT],
}


@pytest.mark.parametrize("messages", SCATTERED.values(), ids=SCATTERED.keys())
def test_calls_and_results_may_stand_apart(gateway: Gateway, messages: list[Any]) -> None:
    answer = gateway.post(body(messages=messages, max_completion_tokens=1))
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("fields", [{}, {"functions": FUNCTIONS}, {"tools": TOOLS}])
def test_a_history_of_functions_is_one_of_tools(
    gateway: Gateway, name: str, fields: dict[str, Any]
) -> None:
    """The prompt has as many tokens as that of the same history with tools."""
    messages, modern = HISTORIES[name], []
    for at, message in enumerate(messages):
        made = dict(message)
        if call := made.pop("function_call", None):
            made["tool_calls"] = [{"id": f"call_{at}", "type": "function", "function": call}]
        if made["role"] == "function":
            del made["name"]
            made |= {"role": "tool", "tool_call_id": f"call_{at - 1}"}
            made["content"] = made["content"] or ""
        modern.append(made)
    old, new = (
        gateway.post(body(messages=each, max_completion_tokens=1, **more)).json()["usage"]
        for each, more in [(messages, fields), (modern, {"tools": TOOLS} if fields else {})]
    )
    assert old == new


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "functions and tools": ({"functions": FUNCTIONS, "tools": TOOLS}, "tools"),
    "functions and a tool choice": ({"functions": FUNCTIONS, "tool_choice": "auto"}, "tool_choice"),
    "functions and parallel calls": (
        {"functions": FUNCTIONS, "parallel_tool_calls": True},
        "parallel_tool_calls",
    ),
    "a choice without functions": ({"function_call": "auto"}, "function_call"),
    "a choice without any": ({"functions": [], "function_call": "auto"}, "function_call"),
    "a choice beside tools": ({"tools": TOOLS, "function_call": "auto"}, "function_call"),
    "required": ({"functions": FUNCTIONS, "function_call": "required"}, "function_call"),
    "a number": ({"functions": FUNCTIONS, "function_call": 1}, "function_call"),
    "no name": ({"functions": FUNCTIONS, "function_call": {}}, "function_call.name"),
    "an unknown name": (
        {"functions": FUNCTIONS, "function_call": {"name": "f"}},
        "function_call.name",
    ),
    "no name of a function": ({"functions": [{}]}, "functions[0].name"),
    "one name twice": ({"functions": [*FUNCTIONS, FUNCTIONS[0]]}, "functions[2].name"),
    "a wrong schema": (
        {"functions": [{"name": "f", "parameters": {"type": 3}}]},
        "functions[0].parameters",
    ),
    "too many": ({"functions": [{"name": f"f{n}"} for n in range(1025)]}, "functions"),
    "both kinds of calls": (
        {
            "messages": [
                *MESSAGES,
                {**CALL, "tool_calls": [{"id": "a", "function": CALL["function_call"]}]},
                RESULT,
            ]
        },
        "messages[1].function_call",
    ),
    "a result without a name": (
        {"messages": [*MESSAGES, CALL, {"role": "function", "content": ""}]},
        "messages[2].name",
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_mistakes_have_their_place_in_the_request(
    gateway: Gateway, name: str, stream: bool
) -> None:
    fields, param = BAD[name]
    answer = gateway.post(body(**fields, stream=stream))
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, param), error
    assert "tools[" not in error["message"]


def test_no_functions_are_none(gateway: Gateway) -> None:
    asked = body(functions=[], max_completion_tokens=3)
    assert (
        gateway.post(asked).json()["choices"]
        == (gateway.post(body(max_completion_tokens=3)).json()["choices"])
    )
