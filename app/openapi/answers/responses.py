"""The response object, its items, its events, and pages of items (protocol.responses)."""

from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from .base import ABSENT, Answer, TokenLogprob

ItemStatus = Literal["in_progress", "completed", "incomplete"]


# -- items -----------------------------------------------------------------------------------------
class OutputText(Answer):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[TokenLogprob] = ABSENT


class RefusalText(Answer):
    type: Literal["refusal"]
    refusal: str


class ReasoningText(Answer):
    type: Literal["reasoning_text"]
    text: str


class SummaryText(Answer):
    type: Literal["summary_text"]
    text: str


class InputText(Answer):
    type: Literal["input_text"]
    text: str


class OutputMessage(Answer):
    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputText | RefusalText]


class ReasoningOutput(Answer):
    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[SummaryText]
    content: list[ReasoningText] = ABSENT


class FunctionCallOutput(Answer):
    """A call of a function."""

    id: str
    type: Literal["function_call"]
    status: ItemStatus
    call_id: str
    name: str
    namespace: str = ABSENT
    arguments: str


class CustomCallOutput(Answer):
    """A call of a custom tool."""

    id: str
    type: Literal["custom_tool_call"]
    status: ItemStatus = ABSENT
    call_id: str
    name: str
    namespace: str = ABSENT
    input: str


OutputItem = Annotated[
    OutputMessage | ReasoningOutput | FunctionCallOutput | CustomCallOutput,
    Field(discriminator="type"),
]


class ListedMessage(Answer):
    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["user", "system", "developer", "assistant"]
    content: list[InputText | OutputText | RefusalText]


class ListedResult(Answer):
    """The result of a call."""

    id: str
    type: Literal["function_call_output", "custom_tool_call_output"]
    status: ItemStatus
    call_id: str = ABSENT
    name: str = ABSENT
    namespace: str = ABSENT
    output: str


class ItemPage(Answer):
    """Input items of a response."""

    object: Literal["list"]
    data: list[
        ListedMessage | ReasoningOutput | FunctionCallOutput | CustomCallOutput | ListedResult
    ]
    first_id: str | None
    last_id: str | None
    has_more: bool


# -- the response ----------------------------------------------------------------------------------
class ResponseError(Answer):
    code: str
    message: str
    param: str | None
    type: str


class IncompleteDetails(Answer):
    reason: Literal["max_output_tokens"]


class ReasoningSettings(Answer):
    effort: str | None
    summary: None


class TextSettings(Answer):
    format: dict[str, Any]
    verbosity: str


class CachedTokens(Answer):
    cached_tokens: int
    cache_write_tokens: int


class ReasoningTokens(Answer):
    reasoning_tokens: int


class ResponseUsage(Answer):
    input_tokens: int
    input_tokens_details: CachedTokens
    output_tokens: int
    output_tokens_details: ReasoningTokens
    total_tokens: int


class ResponseObject(Answer):
    """A response: the request's fields as they were applied, the output and the usage."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["in_progress", "completed", "incomplete", "failed"]
    background: bool
    completed_at: int | None
    error: ResponseError | None
    frequency_penalty: float
    incomplete_details: IncompleteDetails | None
    instructions: str | None
    max_output_tokens: int | None
    max_tool_calls: int | None
    metadata: dict[str, str]
    model: str
    output: list[OutputItem]
    presence_penalty: float
    parallel_tool_calls: bool
    previous_response_id: str | None
    prompt_cache_key: str | None
    reasoning: ReasoningSettings
    safety_identifier: str | None
    service_tier: str
    store: bool = Field(description="Whether the response was stored.")
    temperature: float
    text: TextSettings
    tool_choice: str | dict[str, Any]
    tools: list[dict[str, Any]]
    top_logprobs: int
    top_p: float
    truncation: str
    usage: ResponseUsage | None
    user: str | None


class ResponseDeleted(Answer):
    id: str
    object: Literal["response"]
    deleted: bool


# -- events ----------------------------------------------------------------------------------------
class Numbered(Answer):
    sequence_number: int = Field(description="Counted from 0.")


class ResponseState(Numbered):
    """The whole response: it begins, or it has ended."""

    type: Literal[
        "response.created",
        "response.in_progress",
        "response.completed",
        "response.incomplete",
        "response.failed",
    ]
    response: ResponseObject


class ItemState(Numbered):
    """An output item begins, or ends."""

    type: Literal["response.output_item.added", "response.output_item.done"]
    output_index: int
    item: OutputItem


class PartState(Numbered):
    """A part of an item begins, or ends."""

    type: Literal["response.content_part.added", "response.content_part.done"]
    item_id: str
    output_index: int
    content_index: int
    part: OutputText | ReasoningText


class PieceAdded(Numbered):
    """More of a text, of arguments or of an input."""

    type: Literal[
        "response.output_text.delta",
        "response.reasoning_text.delta",
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
    ]
    item_id: str
    output_index: int
    content_index: int = ABSENT
    logprobs: list[TokenLogprob] = ABSENT
    delta: str


class TextDone(Numbered):
    """A whole text."""

    type: Literal["response.output_text.done", "response.reasoning_text.done"]
    item_id: str
    output_index: int
    content_index: int
    logprobs: list[TokenLogprob] = ABSENT
    text: str


class ArgumentsDone(Numbered):
    """The arguments of a call."""

    type: Literal["response.function_call_arguments.done"]
    item_id: str
    output_index: int
    name: str
    arguments: str


class InputDone(Numbered):
    """The input of a call of a custom tool."""

    type: Literal["response.custom_tool_call_input.done"]
    item_id: str
    output_index: int
    input: str


class ResponseEvent(
    RootModel[
        Annotated[
            ResponseState
            | ItemState
            | PartState
            | PieceAdded
            | TextDone
            | ArgumentsDone
            | InputDone,
            Field(discriminator="type"),
        ]
    ]
):
    """The data of an event; the event's name is its type. There is no `[DONE]`."""
