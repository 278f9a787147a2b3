"""One seed gives one answer, whichever API asks: text, calls, reasoning and usage are equal.

RESPONSES_PARITY sets the number of random requests.
"""

import json
import os
import random
from typing import Any

import httpx
import pytest

from tests.app.examples import ALARM, LIGHT, json_schema
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

REQUESTS = int(os.environ.get("RESPONSES_PARITY", "300"))
#: requests of one test, so that tests run in parallel
BATCH = 50
FUNCTIONS = {"set_alarm": ALARM, "set_light": LIGHT}

#: a gateway whose answers may have reasoning, text and calls at once
thinking = gateway_fixture(format="hermes", reasoning="on")


def history(draw: random.Random) -> tuple[list[Any], list[Any]]:
    """A conversation as messages, and as items."""
    messages: list[Any] = []
    items: list[Any] = []
    for turn in range(draw.randint(1, 4)):
        text = draw.choice(["Wake me.", "é漢", "Answer in JSON.", ""])
        messages.append({"role": "user", "content": text})
        items.append({"role": "user", "content": [{"type": "input_text", "text": text}]})
        answer: dict[str, Any] = {"role": "assistant", "content": None}
        if draw.random() < 0.5:
            answer["reasoning_content"] = "I think."
            part = {"type": "reasoning_text", "text": "I think."}
            items.append(
                {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "content": [part]}
            )
        if draw.random() < 0.7 or "reasoning_content" not in answer:
            answer["content"] = "Well."
            part = {"type": "output_text", "text": "Well.", "annotations": []}
            items.append({"type": "message", "role": "assistant", "content": [part]})
        calls = [f"call_{turn}_{n}" for n in range(draw.choice([0, 0, 1, 2]))]
        if calls:
            answer["tool_calls"] = [
                {
                    "id": each,
                    "type": "function",
                    "function": {"name": "set_light", "arguments": "{}"},
                }
                for each in calls
            ]
        items += [
            {"type": "function_call", "call_id": each, "name": "set_light", "arguments": "{}"}
            for each in calls
        ]
        messages.append(answer)
        for each in calls:
            messages.append({"role": "tool", "tool_call_id": each, "content": "done"})
            items.append({"type": "function_call_output", "call_id": each, "output": "done"})
    last = {"role": draw.choice(["user", "developer"]), "content": "Now? In JSON."}
    return [*messages, last], [*items, last]


def bodies(draw: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """One request as a chat completion and as a response."""
    shared: dict[str, Any] = {"model": "noise", "seed": draw.randrange(1 << 30)}
    messages, items = history(draw)
    limit = draw.choice([3, 40, 8000])
    chat = {**shared, "messages": messages, "max_completion_tokens": limit}
    response = {**shared, "input": items, "max_output_tokens": limit, "store": False}
    if draw.random() < 0.3:
        chat["messages"] = [{"role": "system", "content": "Be brief."}, *messages]
        response["instructions"] = "Be brief."
    names = draw.sample(sorted(FUNCTIONS), draw.choice([0, 1, 2]))
    if names:
        functions = [
            {"name": name, "parameters": FUNCTIONS[name], "strict": True} for name in names
        ]
        chat["tools"] = [{"type": "function", "function": each} for each in functions]
        response["tools"] = [{"type": "function", **each} for each in functions]
        choose(draw, names[0], chat, response)
        if draw.random() < 0.3:
            chat["parallel_tool_calls"] = response["parallel_tool_calls"] = False
    if draw.random() < 0.4:
        chat["response_format"] = json_schema(ALARM, strict=True)
        wanted = {"type": "json_schema", "name": "answer", "schema": ALARM, "strict": True}
        response["text"] = {"format": wanted}
    if draw.random() < 0.3:
        chat["reasoning_effort"] = effort = draw.choice(["none", "low"])
        response["reasoning"] = {"effort": effort}
    return chat, response


def choose(draw: random.Random, name: str, chat: dict[str, Any], response: dict[str, Any]) -> None:
    kind = draw.choice(["", "auto", "none", "required", "named", "allowed"])
    if kind in ("auto", "none", "required"):
        chat["tool_choice"] = response["tool_choice"] = kind
    elif kind == "named":
        chat["tool_choice"] = {"type": "function", "function": {"name": name}}
        response["tool_choice"] = {"type": "function", "name": name}
    elif kind == "allowed":
        only = {"type": "function", "function": {"name": name}}
        allowed = {"mode": "auto", "tools": [only]}
        chat["tool_choice"] = {"type": "allowed_tools", "allowed_tools": allowed}
        tools = [{"type": "function", "name": name}]
        response["tool_choice"] = {"type": "allowed_tools", "mode": "auto", "tools": tools}


def of_chat(answer: dict[str, Any]) -> dict[str, Any]:
    (choice,) = answer["choices"]
    message, used = choice["message"], answer["usage"]
    calls = [each["function"] for each in message.get("tool_calls", [])]
    return {
        "text": message["content"] or "",
        "reasoning": message["reasoning_content"] or "",
        "calls": [(each["name"], each["arguments"]) for each in calls],
        "is_cut": choice["finish_reason"] == "length",
        "prompt": used["prompt_tokens"],
        "completion": used["completion_tokens"],
        "thoughts": used["completion_tokens_details"]["reasoning_tokens"],
    }


def of_response(answer: dict[str, Any]) -> dict[str, Any]:
    texts: dict[str, str] = {"message": "", "reasoning": ""}
    calls = []
    for item in answer["output"]:
        if item["type"] == "function_call":
            calls.append((item["name"], item["arguments"]))
        else:
            texts[item["type"]] += "".join(part["text"] for part in item["content"])
    used = answer["usage"]
    return {
        "text": texts["message"],
        "reasoning": texts["reasoning"],
        "calls": calls,
        "is_cut": answer["status"] == "incomplete",
        "prompt": used["input_tokens"],
        "completion": used["output_tokens"],
        "thoughts": used["output_tokens_details"]["reasoning_tokens"],
    }


@pytest.mark.parametrize("first", range(0, REQUESTS, BATCH))
def test_both_apis_give_the_same_answer(thinking: Gateway, first: int):
    kinds = set()
    with httpx.Client(base_url=f"{thinking.url}/v1", **OPTIONS) as client:
        for number in range(first, first + BATCH):
            chat, response = bodies(random.Random(number))
            one = client.post("/chat/completions", json=chat)
            other = client.post("/responses", json=response)
            assert (one.status_code, other.status_code) == (200, 200), (one.text, other.text)
            expected = of_chat(one.json())
            assert of_response(other.json()) == expected, json.dumps(response)
            kinds |= {name for name, value in expected.items() if value}
    assert kinds == {"text", "reasoning", "calls", "is_cut", "prompt", "completion", "thoughts"}
