"""The objects of chat completions, whole and as chunks, as types; made by chat_objects."""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from ..errors import ErrorResponse
from .logprobs import ChoiceLogprobs

FinishReason = Literal["stop", "length", "tool_calls", "function_call"]


class FunctionText(TypedDict):
    name: str
    arguments: Annotated[str, Field(description="JSON text.")]


class CustomText(TypedDict):
    name: str
    input: str


class FunctionToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: FunctionText


class CustomToolCall(TypedDict):
    id: str
    type: Literal["custom"]
    custom: CustomText


class ChatMessage(TypedDict):
    role: Literal["assistant"]
    content: str | None
    refusal: None
    annotations: Annotated[list[None], Field(max_length=0)]
    reasoning_content: str | None
    reasoning: str | None
    tool_calls: NotRequired[list[FunctionToolCall | CustomToolCall]]
    function_call: NotRequired[FunctionText]


class ChatChoice(TypedDict):
    index: int
    message: ChatMessage
    logprobs: ChoiceLogprobs | None
    finish_reason: FinishReason


class PromptDetails(TypedDict):
    cached_tokens: int
    cache_write_tokens: int
    text_tokens: int
    image_tokens: int
    audio_tokens: int


class CompletionDetails(TypedDict):
    reasoning_tokens: int
    text_tokens: int
    audio_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int


class TokenCounts(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatUsage(TokenCounts):
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class Enveloped(TypedDict):
    id: str
    created: Annotated[int, Field(description="Seconds since 1970.")]
    model: str
    system_fingerprint: str


class ServiceTier(TypedDict, total=False):
    service_tier: Literal["default"]


class ChatCompletion(Enveloped, ServiceTier):
    """A whole chat completion."""

    object: Literal["chat.completion"]
    choices: list[ChatChoice]
    usage: ChatUsage


class FunctionDelta(TypedDict):
    name: NotRequired[str]
    arguments: str


class CustomDelta(TypedDict):
    name: NotRequired[str]
    input: str


class ToolCallDelta(TypedDict):
    """A call begins with its id, type and name; more of its arguments or input follow."""

    index: int
    id: NotRequired[str]
    type: NotRequired[Literal["function", "custom"]]
    function: NotRequired[FunctionDelta]
    custom: NotRequired[CustomDelta]


class ChatDelta(TypedDict):
    reasoning_content: str | None
    reasoning: str | None
    role: NotRequired[Literal["assistant"]]
    content: NotRequired[str | None]
    tool_calls: NotRequired[list[ToolCallDelta]]
    function_call: NotRequired[FunctionDelta]


class ChunkChoice(TypedDict):
    index: int
    delta: ChatDelta
    logprobs: ChoiceLogprobs | None
    finish_reason: FinishReason | None


class ChatCompletionChunk(Enveloped, ServiceTier):
    """A part of a chat completion. With `include_usage`, the last one has the usage and no choice,
    and all others have null.
    """

    object: Literal["chat.completion.chunk"]
    choices: list[ChunkChoice]
    usage: NotRequired[ChatUsage | None]


ChatCompletionEvent = TypeAliasType(
    "ChatCompletionEvent",
    Annotated[
        ChatCompletionChunk | ErrorResponse,
        Field(
            description="The data of an event: a chunk, or the error that ends the stream. The "
            "data of the last event of a complete stream is the text `[DONE]` instead."
        ),
    ],
)
