"""Requests of Anthropic's Messages API, and their answers judged by its official types."""

import json
from typing import Any

import httpx
from anthropic.types import Message

from tests.app.gateway import OPTIONS, Gateway
from tests.app.wire import check, check_event

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 8}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"name": "weather", "description": "Tell the weather.", "input_schema": CITY}
HELLO: dict[str, Any] = {
    "model": "noise",
    "max_tokens": 500,
    "messages": [{"role": "user", "content": "Hello"}],
}


def post(gateway: Gateway, path: str = "/v1/messages", **body: Any) -> httpx.Response:
    return httpx.post(gateway.url + path, json=body, **OPTIONS)


def create(gateway: Gateway, **body: Any) -> dict[str, Any]:
    """Return a message that Anthropic's type describes."""
    answer = post(gateway, **HELLO | body)
    assert answer.status_code == 200, answer.text
    message: dict[str, Any] = answer.json()
    check(Message, message)
    return message


def events(gateway: Gateway, **body: Any) -> list[dict[str, Any]]:
    """Return the events of a stream; all are of Anthropic's types."""
    return events_of(post(gateway, **HELLO | body | {"stream": True}))


def events_of(answer: httpx.Response) -> list[dict[str, Any]]:
    """Return the events of an answer; all are of Anthropic's types."""
    assert answer.status_code == 200, answer.text
    read: list[dict[str, Any]] = []
    for block in answer.text.strip().split("\n\n"):
        name, data = block.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        check_event(value)
        read.append(value)
    return read


def assembled(read: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the message that the events of a stream make; checks their order."""
    kinds = [each["type"] for each in read]
    assert kinds[:2] == ["message_start", "ping"]
    assert kinds[-2:] == ["message_delta", "message_stop"]
    message: dict[str, Any] = read[0]["message"]
    is_open = False
    for each in read[2:-2]:
        match each["type"]:
            case "content_block_start":
                assert not is_open and each["index"] == len(message["content"])
                message["content"].append(each["content_block"])
                is_open, partial = True, ""
            case "content_block_delta":
                assert is_open and each["index"] == len(message["content"]) - 1
                block, change = message["content"][-1], each["delta"]
                match change["type"]:
                    case "text_delta":
                        block["text"] += change["text"]
                    case "thinking_delta":
                        block["thinking"] += change["thinking"]
                    case "signature_delta":
                        block["signature"] = change["signature"]
                    case "input_json_delta":
                        partial += change["partial_json"]
            case "content_block_stop":
                assert is_open
                block, is_open = message["content"][-1], False
                if block["type"] == "tool_use" and read[-2]["delta"]["stop_reason"] == "tool_use":
                    block["input"] = json.loads(partial)
            case other:
                raise AssertionError(other)
    message["usage"] |= read[-2]["usage"]
    return message | read[-2]["delta"]
