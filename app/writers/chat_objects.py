"""Answers as OpenAI writes them: the message of a choice, a completion, the chunks of a stream.

Whole answers and streams are made from the same deltas, so that the chunks of a stream add up to
the message of the same answer:

    content     null if the message has reasoning or calls and no text; "" for an empty message
    reasoning   null if there is none, in every message and delta: clients read the attribute
    tool calls  numbered in order; each call gets its id here

Not here    transport (server.event_stream), the order of events (chat_writers).
"""

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

from adapters.formats import (
    ContentDelta,
    Delta,
    ReasoningDelta,
    ToolArguments,
    ToolInput,
    ToolStart,
)

from ..generation import ChoiceDeltas, ChoiceEnd, ContentToken, ToolMode
from .chat_types import (
    ChatChoice,
    ChatCompletion,
    ChatCompletionChunk,
    ChatDelta,
    ChatMessage,
    ChatUsage,
    ChunkChoice,
    CustomToolCall,
    FinishReason,
    FunctionText,
    FunctionToolCall,
    ToolCallDelta,
)
from .logprobs import ChoiceLogprobs, logprobs_object

#: what a delta without reasoning has
NO_REASONING: ChatDelta = {"reasoning_content": None, "reasoning": None}


def finish_reason(end: ChoiceEnd, choice: ToolMode) -> FinishReason:
    """Return the finish reason; "stop" for a call of a named tool, as with OpenAI."""
    if end.finish == "length":
        return "length"
    return "tool_calls" if end.called and choice != "named" else "stop"


def usage(endings: Sequence[ChoiceEnd]) -> ChatUsage:
    """Return the usage object; the prompt counts once, whatever the number of choices."""
    prompt = endings[0].prompt_tokens
    completion = sum(end.completion_tokens for end in endings)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {
            "cached_tokens": endings[0].cached_tokens,
            "cache_write_tokens": 0,
            "text_tokens": prompt,
            "image_tokens": 0,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": sum(end.reasoning_tokens for end in endings),
            "text_tokens": completion,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def new_id(prefix: str) -> str:
    """Return a random id."""
    return f"{prefix}{uuid.uuid4().hex[:24]}"


def new_call_id() -> str:
    """Return a random id of a tool call."""
    return new_id("call_")


@dataclass(slots=True)
class MessageBuilder:
    """The message of one choice, built from deltas. ``tokens``: of the content; None: log
    probabilities were not asked for.
    """

    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list["_Call"] = field(default_factory=list)
    tokens: list[ContentToken] | None = None

    def add(self, item: ChoiceDeltas) -> None:
        """Append deltas."""
        if item.logprobs is not None:
            self.tokens = self.tokens or []
            self.tokens += [token for listed in item.logprobs for token in listed or ()]
        for delta in item.deltas:
            match delta:
                case ContentDelta(text):
                    self.content.append(text)
                case ReasoningDelta(text):
                    self.reasoning.append(text)
                case ToolStart(_, name, written, is_custom):
                    self.calls.append(_Call(written or new_call_id(), name, is_custom))
                case ToolArguments(index, text) | ToolInput(index, text):
                    self.calls[index].parts.append(text)

    def as_json(self) -> ChatMessage:
        """Return the message object."""
        empty = not (self.content or self.reasoning or self.calls)
        text = "".join(self.content) if self.content or empty else None
        reasoning = "".join(self.reasoning) if self.reasoning else None
        message: ChatMessage = {
            "role": "assistant",
            "content": text,
            "refusal": None,
            "annotations": [],
            "reasoning_content": reasoning,
            "reasoning": reasoning,
        }
        if self.calls:
            message["tool_calls"] = [call.as_json() for call in self.calls]
        return message


@dataclass(slots=True)
class _Call:
    """A call of a function, or of a custom tool, with its arguments or its input."""

    id: str
    name: str
    is_custom: bool
    parts: list[str] = field(default_factory=list)

    def as_json(self) -> FunctionToolCall | CustomToolCall:
        text = "".join(self.parts)
        if self.is_custom:
            return {"id": self.id, "type": "custom", "custom": {"name": self.name, "input": text}}
        function: FunctionText = {"name": self.name, "arguments": text}
        return {"id": self.id, "type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class Envelope:
    """The fields that every object of one answer repeats: id, time, model, fingerprint, and the
    tier, if the request asks for one.
    """

    id: str
    created: int
    model: str
    system_fingerprint: str
    has_tier: bool = False

    @classmethod
    def new(
        cls, prefix: str, model: str, system_fingerprint: str, *, has_tier: bool = False
    ) -> Self:
        """Return the envelope of an answer that begins now. ``prefix``: of its id."""
        number = f"{prefix}-{uuid.uuid4().hex}"
        return cls(number, int(time.time()), model, system_fingerprint, has_tier)

    def completion(self, choices: list[ChatChoice], used: ChatUsage) -> ChatCompletion:
        """Return a whole completion."""
        whole: ChatCompletion = {
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": used,
            "system_fingerprint": self.system_fingerprint,
        }
        if self.has_tier:
            whole["service_tier"] = "default"
        return whole

    def chunk(self, choices: list[ChunkChoice]) -> ChatCompletionChunk:
        """Return a chunk of a stream."""
        chunk: ChatCompletionChunk = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
            "choices": choices,
        }
        if self.has_tier:
            chunk["service_tier"] = "default"
        return chunk


def choice_object(number: int, builder: MessageBuilder, reason: FinishReason) -> ChatChoice:
    """Return a choice of a whole completion; one without content has no log probabilities."""
    message = builder.as_json()
    logprobs = None
    if builder.tokens is not None and message["content"] is not None:
        logprobs = logprobs_object(builder.tokens)
    return {"index": number, "message": message, "logprobs": logprobs, "finish_reason": reason}


class ChoiceStream:
    """The chunks of one choice: role first, then content and calls, then the finish reason.

    ``has_begun``: the first chunk, with the role, was made.
    """

    def __init__(self, envelope: Envelope, number: int) -> None:
        self._envelope = envelope
        self._number = number
        self.has_begun = False

    def deltas(self, item: ChoiceDeltas) -> Iterable[ChatCompletionChunk]:
        """Yield the chunks of these deltas."""
        listed = item.logprobs
        for number, delta in enumerate(item.deltas):
            if not self.has_begun:
                yield self._begin("" if isinstance(delta, ContentDelta) else None)
            tokens = None if listed is None else listed[number]
            logprobs = None if tokens is None else logprobs_object(tokens)
            yield self.chunk(delta, logprobs)

    def chunk(self, delta: Delta, logprobs: ChoiceLogprobs | None = None) -> ChatCompletionChunk:
        """Return the chunk of one delta, which is not the first one."""
        return self._chunk(_delta(delta), None, logprobs)

    def end(self, reason: FinishReason) -> Iterable[ChatCompletionChunk]:
        """Yield the last chunk."""
        if not self.has_begun:
            yield self._begin("")
        yield self._chunk(NO_REASONING, reason)

    def _begin(self, content: str | None) -> ChatCompletionChunk:
        self.has_begun = True
        return self._chunk({"role": "assistant", "content": content, **NO_REASONING})

    def _chunk(
        self,
        delta: ChatDelta,
        reason: FinishReason | None = None,
        logprobs: ChoiceLogprobs | None = None,
    ) -> ChatCompletionChunk:
        return self._envelope.chunk(
            [{"index": self._number, "delta": delta, "logprobs": logprobs, "finish_reason": reason}]
        )


def _delta(delta: Delta) -> ChatDelta:
    match delta:
        case ContentDelta(text):
            return {"content": text, **NO_REASONING}
        case ReasoningDelta(text):
            return _reasoning(text)
        case ToolArguments(index, text):
            call: ToolCallDelta = {"index": index, "function": {"arguments": text}}
        case ToolInput(index, text):
            call = {"index": index, "custom": {"input": text}}
        case ToolStart(index, name, written, is_custom):
            call = {"index": index, "id": written or new_call_id(), "type": "function"}
            if is_custom:
                call |= {"type": "custom", "custom": {"name": name, "input": ""}}
            else:
                call["function"] = {"name": name, "arguments": ""}
    return {"tool_calls": [call], **NO_REASONING}


def _reasoning(text: str) -> ChatDelta:
    """Return reasoning under both names that clients read."""
    return {"reasoning_content": text, "reasoning": text}
