"""Answers of chat completions and text completions, whole and as chunks (writers.chat_objects)."""

from typing import Literal

from pydantic import Field, RootModel

from .base import (
    ABSENT,
    Answer,
    ChatUsage,
    ChoiceLogprobs,
    CustomText,
    ErrorResponse,
    FinishReason,
    FunctionText,
)


# -- chat completions ------------------------------------------------------------------------------
class FunctionToolCall(Answer):
    id: str
    type: Literal["function"]
    function: FunctionText


class CustomToolCall(Answer):
    id: str
    type: Literal["custom"]
    custom: CustomText


class ChatMessage(Answer):
    role: Literal["assistant"]
    content: str | None
    refusal: None
    annotations: list[None] = Field(max_length=0)
    reasoning_content: str | None
    reasoning: str | None
    tool_calls: list[FunctionToolCall | CustomToolCall] = ABSENT
    function_call: FunctionText = ABSENT


class ChatChoice(Answer):
    index: int
    message: ChatMessage
    logprobs: ChoiceLogprobs | None
    finish_reason: FinishReason


class ChatCompletion(Answer):
    """A whole chat completion."""

    id: str
    object: Literal["chat.completion"]
    created: int = Field(description="Seconds since 1970.")
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
    system_fingerprint: str


class FunctionDelta(Answer):
    name: str = ABSENT
    arguments: str


class CustomDelta(Answer):
    name: str = ABSENT
    input: str


class ToolCallDelta(Answer):
    """A call begins with its id, type and name; more of its arguments or input follow."""

    index: int
    id: str = ABSENT
    type: Literal["function", "custom"] = ABSENT
    function: FunctionDelta = ABSENT
    custom: CustomDelta = ABSENT


class ChatDelta(Answer):
    reasoning_content: str | None
    reasoning: str | None
    role: Literal["assistant"] = ABSENT
    content: str | None = ABSENT
    tool_calls: list[ToolCallDelta] = ABSENT
    function_call: FunctionDelta = ABSENT


class ChunkChoice(Answer):
    index: int
    delta: ChatDelta
    logprobs: ChoiceLogprobs | None
    finish_reason: FinishReason | None


class ChatCompletionChunk(Answer):
    """A part of a chat completion. With `include_usage`, the last one has the usage and no choice,
    and all others have null."""

    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[ChunkChoice]
    usage: ChatUsage | None = ABSENT


class ChatCompletionEvent(RootModel[ChatCompletionChunk | ErrorResponse]):
    """The data of an event: a chunk, or the error that ends the stream. The data of the last event
    of a complete stream is the text `[DONE]` instead."""


# -- text completions ------------------------------------------------------------------------------
class TextLogprobs(Answer):
    tokens: list[str]
    token_logprobs: list[float]
    top_logprobs: list[dict[str, float]]
    text_offset: list[int]


class TextChoice(Answer):
    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Literal["stop", "length"]


class TextPromptDetails(Answer):
    cached_tokens: int


class TextUsage(Answer):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: TextPromptDetails


class TextCompletion(Answer):
    """A whole text completion."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChoice]
    usage: TextUsage


class TextChunkChoice(Answer):
    index: int
    text: str
    logprobs: TextLogprobs | None
    finish_reason: Literal["stop", "length"] | None


class TextCompletionChunk(Answer):
    """A part of a text completion; see ChatCompletionChunk for its usage."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    system_fingerprint: str
    choices: list[TextChunkChoice]
    usage: TextUsage | None = ABSENT


class TextCompletionEvent(RootModel[TextCompletionChunk | ErrorResponse]):
    """The data of an event, see ChatCompletionEvent."""
