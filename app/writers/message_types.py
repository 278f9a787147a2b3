"""Answers of Anthropic's Messages API, as its official types have them."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field, RootModel
from typing_extensions import TypedDict


class TextContent(TypedDict):
    type: Literal["text"]
    text: str


class ThinkingContent(TypedDict):
    type: Literal["thinking"]
    thinking: str
    signature: Annotated[str, Field(description="The thought, sealed; send it back as it is.")]


class ToolUseContent(TypedDict):
    type: Literal["tool_use"]
    id: str
    name: str
    input: dict[str, Any]


ContentBlock = TextContent | ThinkingContent | ToolUseContent
StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]


class TokenDetails(TypedDict):
    thinking_tokens: int


class DeltaUsage(TypedDict):
    """Token counts. ``input_tokens`` are those that the worker had not cached."""

    input_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    output_tokens: int
    output_tokens_details: TokenDetails


class MessageUsage(DeltaUsage):
    service_tier: Literal["standard"]


class MessageObject(TypedDict):
    """A message of the assistant."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[Annotated[ContentBlock, Field(discriminator="type")]]
    stop_reason: StopReason | None
    stop_sequence: Annotated[str | None, Field(description="The one that ended the answer.")]
    usage: MessageUsage


# -- events of a stream ----------------------------------------------------------------------------


class MessageStart(TypedDict):
    type: Literal["message_start"]
    message: MessageObject


class Ping(TypedDict):
    type: Literal["ping"]


class BlockStart(TypedDict):
    type: Literal["content_block_start"]
    index: int
    content_block: Annotated[ContentBlock, Field(discriminator="type")]


class TextDelta(TypedDict):
    type: Literal["text_delta"]
    text: str


class ThinkingDelta(TypedDict):
    type: Literal["thinking_delta"]
    thinking: str


class SignatureDelta(TypedDict):
    type: Literal["signature_delta"]
    signature: str


class InputDelta(TypedDict):
    type: Literal["input_json_delta"]
    partial_json: str


BlockChange = TextDelta | ThinkingDelta | SignatureDelta | InputDelta


class BlockDelta(TypedDict):
    type: Literal["content_block_delta"]
    index: int
    delta: Annotated[BlockChange, Field(discriminator="type")]


class BlockStop(TypedDict):
    type: Literal["content_block_stop"]
    index: int


class MessageEnd(TypedDict):
    stop_reason: StopReason
    stop_sequence: str | None


class MessageDelta(TypedDict):
    type: Literal["message_delta"]
    delta: MessageEnd
    usage: DeltaUsage


class MessageStop(TypedDict):
    type: Literal["message_stop"]


class MessagesErrorDetails(TypedDict):
    error_code: str


class MessagesErrorObject(TypedDict):
    type: Annotated[str, Field(examples=["invalid_request_error", "overloaded_error"])]
    message: Annotated[str, Field(description="The problem, with the field at fault.")]
    details: NotRequired[MessagesErrorDetails]


class MessagesError(TypedDict):
    """The answer of every error, and the last event of a stream that failed."""

    type: Literal["error"]
    error: MessagesErrorObject
    request_id: str | None


WrittenEvent = (
    MessageStart
    | Ping
    | BlockStart
    | BlockDelta
    | BlockStop
    | MessageDelta
    | MessageStop
    | MessagesError
)


class MessageEvent(RootModel[Annotated[WrittenEvent, Field(discriminator="type")]]):
    """The data of an event; the event's name is its type. There is no `[DONE]`."""
