"""Answers, streamed or not, in one form that can be compared."""

import json
from typing import Any

from tests.app.wire import check_event


def payloads(text: str) -> list[str]:
    """The data of a stream's events."""
    return [line[6:] for line in text.split("\n") if line.startswith("data: ")]


def events(text: str) -> list[Any]:
    """The stream's events as JSON, ``[DONE]`` left out; checks that nothing else is in it."""
    found = payloads(text)
    assert text == "".join(f"data: {data}\n\n" for data in found)
    assert found.pop() == "[DONE]"
    read = list(map(json.loads, found))
    for event in read:
        check_event(event)
    return read


def added_up(chunks: list[Any], choices: int = 1) -> list[dict[str, Any]]:
    """The messages that the deltas make, ids of calls left out."""
    messages: list[dict[str, Any]] = [{} for _ in range(choices)]
    for chunk in chunks:
        for choice in chunk["choices"]:
            message, delta = messages[choice["index"]], choice["delta"]
            for key in ("content", "reasoning_content", "reasoning"):
                if isinstance(delta.get(key), str):
                    message[key] = message.get(key, "") + delta[key]
            for call in delta.get("tool_calls", []):
                add_call(message.setdefault("tool_calls", []), call)
            if choice["finish_reason"]:
                message["finish_reason"] = choice["finish_reason"]
    return messages


def add_call(calls: list[dict[str, str]], call: dict[str, Any]) -> None:
    function = call["function"]
    if "id" in call:
        assert call["index"] == len(calls)
        assert (call["type"], function["arguments"]) == ("function", "")
        calls.append({"name": function["name"], "arguments": ""})
    else:
        assert set(call) == {"index", "function"}
        assert set(function) == {"arguments"}
        calls[call["index"]]["arguments"] += function["arguments"]


def whole(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The same form from an answer that was not streamed."""
    messages = []
    for choice in answer["choices"]:
        kept = {
            k: v for k, v in choice["message"].items() if v and k not in ("role", "annotations")
        }
        if "tool_calls" in kept:
            kept["tool_calls"] = [
                {"name": call["function"]["name"], "arguments": call["function"]["arguments"]}
                for call in kept["tool_calls"]
            ]
        if choice["message"]["content"] == "":
            kept["content"] = ""
        messages.append({**kept, "finish_reason": choice["finish_reason"]})
    return messages
