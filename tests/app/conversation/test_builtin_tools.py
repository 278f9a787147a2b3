"""The builtin tools of gpt-oss: offered by a request, called by the model, and shown in history."""

import json
from typing import Any

import pytest

from adapters.formats import BUILTIN_TOOLS_PARAM
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, folder_of, tokenizer_of
from tests.app.gateway import Gateway

GPT_OSS = "openai-gpt-oss-120b"
needs_templates = pytest.mark.skipif(GPT_OSS not in TEMPLATES, reason=FETCH)
QUESTION = {"role": "user", "content": "What is 2**100?"}


def asked(*tools: str, **more: Any) -> dict[str, Any]:
    variables = {"builtin_tools": list(tools)}
    body = {"model": "m", "messages": [QUESTION], "chat_template_kwargs": variables, "seed": 1}
    return {**body, "max_tokens": 2000, **more}


@needs_templates
def test_a_loop_of_calls_of_builtin_tools() -> None:
    called, messages = set(), [QUESTION]
    with Gateway(tokenizer=folder_of(GPT_OSS), model_name="m") as gateway:
        for seed in range(12):
            body = asked("python", "browser", messages=messages, tool_choice="required", seed=seed)
            (choice,) = gateway.post(body).json()["choices"]
            if choice["finish_reason"] == "length":
                continue
            assert choice["finish_reason"] == "tool_calls"
            (call,) = choice["message"]["tool_calls"]
            arguments = json.loads(call["function"]["arguments"])
            called.add(call["function"]["name"])
            if call["function"]["name"] == "python":
                assert list(arguments) == ["code"]
            result = {"role": "tool", "tool_call_id": call["id"], "content": "12"}
            messages = [*messages, choice["message"], result]
    assert {"python"} < called <= {"python", "browser.search", "browser.open", "browser.find"}


@needs_templates
def test_the_history_shows_the_code() -> None:
    from app.common_form import common_chat
    from app.constraints.requested_output import requested_output
    from app.protocol.chat_request import ChatRequest
    from app.settings import ModelSettings

    function = {"name": "python", "arguments": json.dumps({"code": "print(2**100)"})}
    call = {"id": "call_1", "type": "function", "function": function}
    messages = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12"},
    ]
    output = requested_output(
        common_chat(ChatRequest.model_validate(asked("python"))), ModelSettings()
    )
    tokenizer = tokenizer_of(GPT_OSS)
    ids = tokenizer.render(messages, (), output).prompt
    shown = tokenizer._tokenizer.decode(ids)
    assert "to=python<|channel|>analysis code<|message|>print(2**100)<|call|>" in shown
    assert "<|start|>python to=assistant<|channel|>analysis<|message|>12<|end|>" in shown


@pytest.mark.parametrize("value", ["python", ["ruby"], ["python", "ruby"], {"python": True}, 1])
def test_other_values_are_refused_by_name(value: Any) -> None:
    with Gateway(model_name="m") as gateway:
        answer = gateway.post(asked(chat_template_kwargs={"builtin_tools": value}))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith(BUILTIN_TOOLS_PARAM)


def test_a_format_without_builtin_tools_refuses_them_by_name() -> None:
    with Gateway(model_name="m") as gateway:
        answer = gateway.post(asked("python"))
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, BUILTIN_TOOLS_PARAM)
