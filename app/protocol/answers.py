"""Answers in OpenAI's shapes: the message of a choice, a whole completion, the chunks of a stream.

Both ways are made from the same deltas, so that a stream adds up to the message of the same answer:

    content     null while the message holds something else and no text; "" when it holds nothing at
                all
    tool calls  numbered in order; ids are made here, once for each call

Not here    transport (streaming), and when things happen (chat).
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolStart,
)

from ..generation.choice_decoder import Ended
from .chat_request import ToolMode

FinishReason = Literal["stop", "length", "tool_calls"]


def finish_reason(ended: Ended, choice: ToolMode) -> FinishReason:
    """A named tool's call ends with "stop": the client knows that a call is all it gets."""
    if ended.finish == "length":
        return "length"
    return "tool_calls" if ended.called and choice != "named" else "stop"


def usage(endings: Sequence[Ended]) -> dict[str, Any]:
    """The tokens of all choices. The prompt is read once, however many choices are written."""
    prompt = endings[0].prompt_tokens
    completion = sum(ended.completion_tokens for ended in endings)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": endings[0].cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": sum(ended.reasoning_tokens for ended in endings),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def new_call_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


@dataclass(slots=True)
class Message:
    """The message of one choice, as far as it has come."""

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[tuple[str, str, list[str]]] = field(default_factory=list)

    def add(self, deltas: Iterable[Delta]) -> None:
        for delta in deltas:
            match delta:
                case ContentDelta(text):
                    self.content.append(text)
                case ReasoningDelta(text):
                    self.reasoning.append(text)
                case ToolStart(_, name):
                    self.calls.append((new_call_id(), name, []))
                case ToolArguments(index, text):
                    self.calls[index][2].append(text)

    def as_json(self) -> dict[str, Any]:
        empty = not (self.content or self.reasoning or self.calls)
        text = "".join(self.content) if self.content or empty else None
        message: dict[str, Any] = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": [],
        }
        if self.reasoning:
            message |= _reasoning("".join(self.reasoning))
        if self.calls:
            message["tool_calls"] = [
                {
                    "id": number,
                    "type": "function",
                    "function": {"name": name, "arguments": "".join(parts)},
                }
                for number, name, parts in self.calls
            ]
        return message


@dataclass(frozen=True, slots=True)
class Head:
    """What every object of one answer repeats."""

    id: str
    created: int
    model: str
    system_fingerprint: str

    def completion(self, choices: list[dict[str, Any]], used: dict[str, Any]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": used,
            "system_fingerprint": self.system_fingerprint,
        }

    def chunk(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
            "choices": choices,
        }


def choice(number: int, message: dict[str, Any], reason: FinishReason) -> dict[str, Any]:
    return {"index": number, "message": message, "logprobs": None, "finish_reason": reason}


class ChoiceStream:
    """The chunks of one choice, in OpenAI's order: role, content and calls, finish reason."""

    def __init__(self, head: Head, number: int) -> None:
        self._head = head
        self._number = number
        self._begun = False

    def deltas(self, deltas: Iterable[Delta]) -> Iterable[dict[str, Any]]:
        for delta in deltas:
            if not self._begun:
                yield self._begin("" if isinstance(delta, ContentDelta) else None)
            yield self._chunk(_delta(delta))

    def end(self, reason: FinishReason) -> Iterable[dict[str, Any]]:
        if not self._begun:
            yield self._begin("")
        yield self._chunk({}, reason)

    def _begin(self, content: str | None) -> dict[str, Any]:
        self._begun = True
        return self._chunk({"role": "assistant", "content": content})

    def _chunk(self, delta: dict[str, Any], reason: FinishReason | None = None) -> dict[str, Any]:
        return self._head.chunk(
            [{"index": self._number, "delta": delta, "logprobs": None, "finish_reason": reason}]
        )


def _delta(delta: Delta) -> dict[str, Any]:
    match delta:
        case ContentDelta(text):
            return {"content": text}
        case ReasoningDelta(text):
            return _reasoning(text)
        case ToolArguments(index, text):
            return {"tool_calls": [{"index": index, "function": {"arguments": text}}]}
        case ToolStart(index, name):
            function = {"name": name, "arguments": ""}
            call = {"index": index, "id": new_call_id(), "type": "function", "function": function}
            return {"tool_calls": [call]}


def _reasoning(text: str) -> dict[str, str]:
    """Clients disagree about the name, so both are given."""
    return {"reasoning_content": text, "reasoning": text}
