"""The response object, its items and its events as types; made by response_object, response_items.

Items that a response was made from are those of protocol.listed.
"""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from ..protocol import CLIENT_CALLS, CLIENT_RESULTS, LOADED_TOOLS, Detail, ToolName
from .logprobs import TokenLogprob

ItemStatus = Literal["in_progress", "completed", "incomplete"]
Status = Literal[ItemStatus, "failed", "cancelled", "queued"]
EndedName = Literal["response.completed", "response.incomplete", "response.failed"]
PieceName = Literal[
    "response.output_text.delta",
    "response.reasoning_text.delta",
    "response.function_call_arguments.delta",
    "response.custom_tool_call_input.delta",
]


# -- items -----------------------------------------------------------------------------------------
class OutputText(TypedDict):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: NotRequired[list[TokenLogprob]]


class RefusalText(TypedDict):
    type: Literal["refusal"]
    refusal: str


class ReasoningText(TypedDict):
    type: Literal["reasoning_text"]
    text: str


class SummaryText(TypedDict):
    type: Literal["summary_text"]
    text: str


class InputText(TypedDict):
    type: Literal["input_text"]
    text: str


class InputImage(TypedDict):
    """An image, in a URL or a file."""

    type: Literal["input_image"]
    detail: Detail
    image_url: NotRequired[str]
    file_id: NotRequired[str]


class InputFile(TypedDict):
    """A file, with the fields that the client sent."""

    type: Literal["input_file"]
    file_data: NotRequired[str]
    file_id: NotRequired[str]
    file_url: NotRequired[str]
    filename: NotRequired[str]


InputContent = InputText | InputImage | InputFile


class OutputMessage(TypedDict):
    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["assistant"]
    content: list[OutputText | RefusalText]


class ReasoningOutput(TypedDict):
    id: str
    type: Literal["reasoning"]
    status: ItemStatus
    summary: list[SummaryText]
    content: NotRequired[list[ReasoningText]]
    encrypted_content: NotRequired[
        Annotated[str, Field(description="The reasoning, sealed; send it back as it is.")]
    ]


class NamedCall(ToolName):
    """The fields of a call before its text."""

    call_id: str


class FunctionCallOutput(NamedCall):
    """A call of a function."""

    id: str
    type: Literal["function_call"]
    status: ItemStatus
    arguments: str


class CustomCallOutput(NamedCall):
    """A call of a custom tool."""

    id: str
    type: Literal["custom_tool_call"]
    status: NotRequired[ItemStatus]
    input: str


class CompactionOutput(TypedDict):
    """A sealed text in place of earlier items; send it back as it is."""

    id: str
    type: Literal["compaction"]
    encrypted_content: str


class _ClientCall(TypedDict):
    """The fields of every call of a client tool."""

    id: str
    status: ItemStatus
    call_id: str


class ShellCallOutput(_ClientCall):
    """Commands for the shell of the client."""

    type: Literal["shell_call"]
    action: dict[str, Any]
    environment: dict[str, Any]


class LocalShellCallOutput(_ClientCall):
    """A command for the shell of the client, as its arguments."""

    type: Literal["local_shell_call"]
    action: dict[str, Any]


class PatchCallOutput(_ClientCall):
    """A change of a file."""

    type: Literal["apply_patch_call"]
    operation: dict[str, Any]


ClientCallOutput = ShellCallOutput | LocalShellCallOutput | PatchCallOutput

OutputItem = Annotated[
    OutputMessage
    | ReasoningOutput
    | FunctionCallOutput
    | CustomCallOutput
    | ClientCallOutput
    | CompactionOutput,
    Field(discriminator="type"),
]


class ListedMessage(TypedDict):
    id: str
    type: Literal["message"]
    status: ItemStatus
    role: Literal["user", "system", "developer", "assistant"]
    content: list[InputContent | OutputText | RefusalText]


class ListedResult(TypedDict):
    """The result of a call: a text, or parts if some of them are images or files."""

    id: str
    type: Literal["function_call_output", "custom_tool_call_output"]
    status: NotRequired[ItemStatus]
    call_id: NotRequired[str]
    name: NotRequired[str]
    namespace: NotRequired[str]
    output: str | list[InputContent]


class ListedClientItem(TypedDict):
    """A call of a client tool, or its result, as the client sent it."""

    id: str
    type: Literal[(*CLIENT_CALLS, *CLIENT_RESULTS)]  # type: ignore[valid-type]
    status: str
    call_id: NotRequired[str]
    caller: NotRequired[Any]
    action: NotRequired[dict[str, Any]]
    operation: NotRequired[dict[str, Any]]
    environment: NotRequired[Any]
    output: NotRequired[Any]
    max_output_length: NotRequired[Any]


class ListedTools(TypedDict):
    """Tools that the conversation loaded, as the client sent them."""

    id: str
    type: Literal[LOADED_TOOLS]  # type: ignore[valid-type]
    status: str
    tools: list[Any]
    call_id: NotRequired[Any]
    caller: NotRequired[Any]
    execution: NotRequired[Any]
    role: NotRequired[Any]


class ListedConfiguration(TypedDict):
    """Settings of the responses after it."""

    id: str
    type: Literal["configuration_update"]
    reasoning: NotRequired[dict[str, Any]]
    text: NotRequired[dict[str, Any]]


ListedItem = TypeAliasType(
    "ListedItem",
    Annotated[
        ListedMessage
        | ReasoningOutput
        | FunctionCallOutput
        | CustomCallOutput
        | ListedResult
        | CompactionOutput
        | ListedClientItem
        | ListedTools
        | ListedConfiguration,
        Field(description="An input item of a response, or an item of a conversation."),
    ],
)


# -- the response ----------------------------------------------------------------------------------
class ResponseError(TypedDict):
    code: str
    message: str
    param: str | None
    type: str


class IncompleteDetails(TypedDict):
    reason: Literal["max_output_tokens"]


class ReasoningSettings(TypedDict):
    effort: str | None
    summary: None


class TextSettings(TypedDict):
    format: dict[str, Any]
    verbosity: str


class CachedTokens(TypedDict):
    cached_tokens: int
    cache_write_tokens: int


class ReasoningTokens(TypedDict):
    reasoning_tokens: int


class ResponseUsage(TypedDict):
    input_tokens: int
    input_tokens_details: CachedTokens
    output_tokens: int
    output_tokens_details: ReasoningTokens
    total_tokens: int


class CompactedResponse(TypedDict):
    """A compacted conversation: messages of users, instructions, tools and settings, and one
    compaction item.
    """

    id: str
    object: Literal["response.compaction"]
    created_at: int
    output: list[ListedMessage | ListedTools | ListedConfiguration | CompactionOutput]
    usage: ResponseUsage


class ConversationOfResponse(TypedDict):
    """The conversation that has the items of a response."""

    id: str


class ResponseObject(TypedDict):
    """A response: the request's fields as they were applied, the output and the usage."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Status
    background: bool
    completed_at: int | None
    conversation: ConversationOfResponse | None
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
    prompt_cache_retention: NotRequired[Literal["in_memory", "24h"]]
    reasoning: ReasoningSettings
    safety_identifier: str | None
    service_tier: str
    store: Annotated[bool, Field(description="Whether the response was stored.")]
    temperature: float
    text: TextSettings
    tool_choice: str | dict[str, Any]
    tools: list[dict[str, Any]]
    top_logprobs: int
    top_p: float
    truncation: str
    usage: ResponseUsage | None
    user: str | None


# -- events, which get their sequence numbers when they are sent ----------------------------------
class ItemPlace(TypedDict):
    """The fields that tell where an event belongs."""

    item_id: str
    output_index: int


class PartPlace(ItemPlace):
    content_index: int


class TextPlace(PartPlace):
    """The place of a text, and the log probabilities of a message's."""

    logprobs: NotRequired[list[TokenLogprob]]


class ResponseState(TypedDict):
    """The whole response: it begins, or it has ended."""

    type: Literal["response.created", "response.queued", "response.in_progress", EndedName]
    response: ResponseObject


class ItemState(TypedDict):
    """An output item begins, or ends."""

    type: Literal["response.output_item.added", "response.output_item.done"]
    output_index: int
    item: OutputItem


class PartState(PartPlace):
    """A part of an item begins, or ends."""

    type: Literal["response.content_part.added", "response.content_part.done"]
    part: OutputText | ReasoningText


class PieceAdded(ItemPlace):
    """More of a text, of arguments or of an input."""

    type: PieceName
    content_index: NotRequired[int]
    logprobs: NotRequired[list[TokenLogprob]]
    delta: str


class TextDone(TextPlace):
    """A whole text."""

    type: Literal["response.output_text.done", "response.reasoning_text.done"]
    text: str


class Compacting(ItemPlace):
    """The text of a compaction is being made."""

    type: Literal["response.compaction.compacting"]


class ArgumentsDone(ItemPlace):
    """The arguments of a call."""

    type: Literal["response.function_call_arguments.done"]
    name: str
    arguments: str


class InputDone(ItemPlace):
    """The input of a call of a custom tool."""

    type: Literal["response.custom_tool_call_input.done"]
    input: str


class CommandState(TypedDict):
    """A command of a shell begins, or is whole."""

    type: Literal["response.shell_call_command.added", "response.shell_call_command.done"]
    output_index: int
    command_index: int
    command: str


class CommandAdded(TypedDict):
    """More of a command."""

    type: Literal["response.shell_call_command.delta"]
    output_index: int
    command_index: int
    delta: str


Event = (
    ResponseState
    | ItemState
    | PartState
    | PieceAdded
    | TextDone
    | Compacting
    | ArgumentsDone
    | InputDone
    | CommandState
    | CommandAdded
)
ResponseEvent = TypeAliasType(
    "ResponseEvent",
    Annotated[
        Event,
        Field(
            discriminator="type",
            description="The data of an event; the event's name is its type. There is no `[DONE]`.",
        ),
    ],
)
