"""Answers of the three APIs, whole or streamed, as the same facts."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.app.anthropic_messages import assembled, events_of
from tests.app.messages import added_up, events, payloads


@dataclass(slots=True)
class Facts:
    """The contents of an answer. ``calls``: names, and arguments as the model wrote them.
    ``reason``: cut, calls or end.
    """

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    reason: str = ""
    prompt: int = 0
    completion: int = 0
    thoughts: int = 0


def of_chat(answer: httpx.Response, *, is_named: bool) -> Facts:
    """Return the facts of a chat completion. ``is_named``: a choice named its tool, and OpenAI's
    reason for such an answer is "stop".
    """
    if answer.text.startswith("data: "):
        chunks = events(answer.text)
        (message,), used = added_up(chunks), chunks[-1]["usage"]
        functions, ended = message.get("tool_calls", []), message["finish_reason"]
    else:
        (choice,) = answer.json()["choices"]
        message, used = choice["message"], answer.json()["usage"]
        functions, ended = message.get("tool_calls") or [], choice["finish_reason"]
        functions = [each["function"] for each in functions]
    reason = {"length": "cut", "tool_calls": "calls", "stop": "end"}[ended]
    if reason == "end" and is_named and functions:
        reason = "calls"
    return Facts(
        text=message.get("content") or "",
        reasoning=message.get("reasoning_content") or "",
        calls=[(each["name"], each["arguments"]) for each in functions],
        reason=reason,
        prompt=used["prompt_tokens"],
        completion=used["completion_tokens"],
        thoughts=used["completion_tokens_details"]["reasoning_tokens"],
    )


def of_response(answer: httpx.Response) -> Facts:
    """Return the facts of a response; those of a stream are its deltas, with the last event's
    items and counts.
    """
    facts, whole = Facts(), None
    if answer.text.startswith("event: "):
        whole = _read_events(facts, [json.loads(data) for data in payloads(answer.text)])
    else:
        whole = answer.json()
    texts = {"message": "", "reasoning": ""}
    for item in whole["output"]:
        if item["type"] == "function_call":
            facts.calls.append((item["name"], item["arguments"]))
        else:
            texts[item["type"]] += "".join(part["text"] for part in item["content"])
    if answer.text.startswith("event: "):
        assert (facts.text, facts.reasoning) == (texts["message"], texts["reasoning"])
    facts.text, facts.reasoning = texts["message"], texts["reasoning"]
    is_cut = whole["status"] == "incomplete"
    facts.reason = "cut" if is_cut else "calls" if facts.calls else "end"
    used = whole["usage"]
    facts.prompt, facts.completion = used["input_tokens"], used["output_tokens"]
    facts.thoughts = used["output_tokens_details"]["reasoning_tokens"]
    return facts


def _read_events(facts: Facts, read: list[dict[str, Any]]) -> dict[str, Any]:
    """Add up the texts of a stream's events; return the response of the last one."""
    for event in read:
        match event["type"]:
            case "response.output_text.delta":
                facts.text += event["delta"]
            case "response.reasoning_text.delta":
                facts.reasoning += event["delta"]
    last: dict[str, Any] = read[-1]["response"]
    return last


def of_message(answer: httpx.Response) -> Facts:
    """Return the facts of a message."""
    if answer.text.startswith("event: "):
        read = events_of(answer)
        whole, inputs = assembled(read), _streamed_inputs(read)
    else:
        whole, inputs = answer.json(), list(_inputs(answer.text))
    facts = Facts(reason=_REASONS[whole["stop_reason"]])
    for block in whole["content"]:
        if block["type"] == "text":
            facts.text += block["text"]
        elif block["type"] == "thinking":
            facts.reasoning += block["thinking"]
        else:
            facts.calls.append((block["name"], inputs[len(facts.calls)]))
    used = whole["usage"]
    facts.prompt, facts.completion = used["input_tokens"], used["output_tokens"]
    facts.thoughts = used["output_tokens_details"]["thinking_tokens"]
    return facts


_REASONS = {
    "max_tokens": "cut",
    "tool_use": "calls",
    "end_turn": "end",
    "stop_sequence": "end",
}
#: what stands before a call's input
_INPUT = re.compile(r'"type":"tool_use","id":"[^"]*","name":"[^"]*","input":')


def _inputs(text: str) -> Iterator[str]:
    """Yield the inputs of calls as they stand in a message."""
    decoder = json.JSONDecoder(parse_int=str)
    for begun in _INPUT.finditer(text):
        _, end = decoder.raw_decode(text, begun.end())
        yield text[begun.end() : end]


def _streamed_inputs(read: list[dict[str, Any]]) -> list[str]:
    """Return the inputs of calls as the events of a message add up to them."""
    inputs: list[str] = []
    for event in read:
        if event["type"] == "content_block_start":
            inputs += [""] if event["content_block"]["type"] == "tool_use" else []
        elif event["type"] == "content_block_delta":
            inputs[-1:] = [each + event["delta"].get("partial_json", "") for each in inputs[-1:]]
    return inputs
