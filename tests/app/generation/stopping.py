"""Random requests with random stop strings, and what their answers must be.

The noise worker draws the same tokens for the same seed, with and without stop strings. So the
answer without them is the oracle: ``expected`` cuts it as the API's documentation says, by looking
for substrings in the whole content, and knows nothing of chunks.
"""

import json
import random
from dataclasses import dataclass, field
from typing import Any

from tests.app.examples import json_schema, tool

PARAMETERS: dict[str, dict[str, Any]] = {
    "set_light": {
        "type": "object",
        "properties": {"on": {"type": "boolean"}},
        "required": ["on"],
        "additionalProperties": False,
    },
    "say": {
        "type": "object",
        "properties": {"text": {"type": "string", "maxLength": 12}, "loud": {"enum": [1, "é{}"]}},
        "required": ["text"],
        "additionalProperties": False,
    },
    "ping": {"type": "object", "properties": {}, "additionalProperties": False},
}
ANSWER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
    },
    "required": ["name", "list"],
    "additionalProperties": False,
}
#: pieces of answers of all families and their marks, and unrelated text
PIECES = (
    "<tool_call>", "</tool_call>", "<tool", "_call>", "<function=", "<function=say>", "</function>",
    "<think>", "</think>", "<|im_end|>", "<|eot_id|>", "<|python_tag|>", "<|channel|>", "<|call|>",
    "<|return|>", "<|message|>", "analysis", "commentary", "final", " to=functions.", "js",
    '{"name"', '{"name": "say"', '"arguments": ', '"parameters"', "set_light", "say", "text", "on",
    "true", '"', "{", "}", "{}", "}}", '"}', ":", ": ", ",", "[", "]", "; ", "\n", "\n\n", " ", "e",
    "a", "<", ">", "\\", "0", "é", "漢", "😀", "\u0301", "\u200d", "�", "x" * 1000, "no such text",
)  # fmt: skip
CHOICES: tuple[Any, ...] = (
    "auto",
    "auto",
    "none",
    "required",
    {"type": "function", "function": {"name": "say"}},
)


def random_request(chance: random.Random) -> dict[str, Any]:
    """A request without stop strings."""
    asked: dict[str, Any] = {"seed": chance.randrange(1000)}
    asked["max_completion_tokens"] = chance.choice([3, 40, 200, 400, 1000])
    if chance.random() < 0.7:
        names = ["say", *chance.sample(["set_light", "ping"], chance.randrange(3))]
        asked["tools"] = [tool(name, PARAMETERS[name]) for name in names]
        asked["tool_choice"] = chance.choice(CHOICES)
        asked["parallel_tool_calls"] = chance.random() < 0.7
    if chance.random() < 0.3:
        asked["response_format"] = chance.choice([json_schema(ANSWER), {"type": "json_object"}])
    if chance.random() < 0.3:
        asked["reasoning_effort"] = "none"
    return asked


def random_stops(chance: random.Random, answer: dict[str, Any]) -> list[str]:
    """Up to four, also out of the answer itself."""
    calls = answer.get("tool_calls", [])
    texts = [answer.get("content", ""), answer.get("reasoning_content", "")]
    texts = list(filter(None, texts + [call["arguments"] for call in calls]))
    stops = []
    for _ in range(chance.randrange(1, 5)):
        if texts and chance.random() < 0.5:
            text = chance.choice(texts)
            at = chance.randrange(len(text))
            stops.append(text[at : at + chance.choice([1, 2, 3, 5, 9])])
        else:
            stops.append("".join(chance.choices(PIECES, k=chance.choice([1, 1, 1, 2]))))
    return [stop[:1000] for stop in stops]


@dataclass
class Told:
    """An answer as its stream tells it. ``begun``: per call, how much content came before it."""

    content: str = ""
    reasoning: list[tuple[int, str]] = field(default_factory=list)
    calls: list[dict[str, str]] = field(default_factory=list)
    begun: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, chunks: list[Any]) -> "Told":
        told = cls()
        for chunk in chunks:
            for choice in chunk["choices"]:
                told._add(choice["delta"])
        return told

    def _add(self, delta: dict[str, Any]) -> None:
        if delta.get("reasoning_content"):
            self.reasoning.append((len(self.content), delta["reasoning_content"]))
        self.content += delta.get("content") or ""
        for call in delta.get("tool_calls", []):
            if "id" in call:
                self.calls.append({"name": call["function"]["name"], "arguments": ""})
                self.begun.append(len(self.content))
            self.calls[call["index"]]["arguments"] += call["function"]["arguments"]


def is_text(asked: dict[str, Any], told: Told) -> bool:
    """Whether the content is text; beside calls there is no JSON value."""
    return "response_format" not in asked or bool(told.calls)


def must_go_on(asked: dict[str, Any]) -> bool:
    """Whether text alone is no answer."""
    forced = asked.get("tool_choice") not in (None, "auto", "none")
    return forced or "response_format" in asked


def first_stop(content: str, stops: list[str]) -> tuple[int, int] | None:
    """Where the stop string that is complete first begins and ends; the longer one of two."""
    found = [(content.find(stop), len(stop)) for stop in stops if stop in content]
    return min(
        ((at, at + size) for at, size in found), key=lambda hit: (hit[1], hit[0]), default=None
    )


def expected(asked: dict[str, Any], told: Told, finish: str, stops: list[str]) -> dict[str, Any]:
    """The message, as test_streams.whole has it, cut by the rules of docs/api.md."""
    hit = first_stop(told.content, stops) if is_text(asked, told) else None
    content, calls, reasoning = told.content, told.calls, told.reasoning
    if hit is not None:
        start, end = hit
        if must_go_on(asked):
            before = [at for at in told.begun if start < at < end]
        else:
            calls = [call for call, at in zip(calls, told.begun, strict=True) if at < end]
            before = [at for at in told.begun[: len(calls)] if start < at]
            reasoning = [(at, text) for at, text in reasoning if at < end]
            named = isinstance(asked.get("tool_choice"), dict)
            finish = "tool_calls" if calls and not named else "stop"
        # what was shown before a call, or before a thought, can't be taken back
        before += [at for at, _ in reasoning if start < at < end]
        content = content[: max([start, *before])]
    message: dict[str, Any] = {"finish_reason": finish}
    if content:
        message["content"] = content
    if thoughts := "".join(text for _, text in reasoning):
        message |= {"reasoning_content": thoughts, "reasoning": thoughts}
    if calls:
        message["tool_calls"] = calls
    return message


def without_empty(message: dict[str, Any]) -> dict[str, Any]:
    """Drop empty content, which an otherwise empty answer contains."""
    return {k: v for k, v in message.items() if v != ""}


def shown(pair: Any) -> str:
    return json.dumps(pair, ensure_ascii=False)
