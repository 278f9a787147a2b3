"""Input items: what a client sends, and what earlier responses wrote.

    message               text of a user, a system or developer message, or an assistant
    reasoning             the reasoning of an assistant, as text, as a summary, or sealed
    function_call         a call of an assistant
    function_call_output  the result of a call
    shell_call, ...       the same of client tools (client_items)
    tool_search_output    tools that the model may call, too (loaded_tools)
    item_reference        an item of a stored response, by its id
    compaction            a sealed text in place of earlier items
    compaction_trigger, configuration_update   see configuration
    LEFT_OUT              items of tools that only another server can run
    others                items that only newer clients know: left out, too

Unknown fields are ignored, since clients send back what a server sent them. A client may leave out
the type of messages and references.

Not here   the order of items (conversation).
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..messages import MEDIA, other_part, without_media
from ..validation import (
    Items,
    Lenient,
    NullAs,
    PastText,
    Sealed,
    TextOr,
    refuse_type,
    unknown_type,
)
from .client_items import (
    CLIENT_CALLS,
    CLIENT_RESULTS,
    ClientCallItem,
    ClientResultItem,
    ItemId,
    PastId,
    is_readable,
)
from .configuration import CompactionTriggerItem, ConfigurationItem
from .loaded_tools import LOADED_TOOLS, LoadedToolsItem

#: types of input items that this server reads
KINDS = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    *CLIENT_CALLS,
    *CLIENT_RESULTS,
    *LOADED_TOOLS,
    "item_reference",
    "compaction",
    "compaction_trigger",
    "configuration_update",
)
#: types of items that conversations with other servers have; prompts do not show them
LEFT_OUT = (
    *("code_interpreter_call", "computer_call", "computer_call_output", "file_search_call"),
    "image_generation_call",
    *("mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools", "program"),
    *("program_output", "tool_search_call", "web_search_call"),
)
#: types of parts of items and of reasoning
ITEM_PARTS = (
    *("input_text", "output_text", "refusal", "input_image", "input_file"),
    *("summary_text", "reasoning_text"),
)
#: fields of items of KINDS and of their parts in OpenAI's client, whether they are read or not
ITEM_FIELDS = frozenset(
    (
        *("action", "annotations", "arguments", "async", "call_id", "caller", "content"),
        *("detail", "encrypted_content", "environment", "execution", "file_data", "file_id"),
        *("file_url", "filename", "id", "image_url", "input", "logprobs", "max_output_length"),
        *("name", "namespace", "operation", "outcome", "output", "phase"),
        *("prompt_cache_breakpoint", "reasoning", "refusal", "role", "status", "stderr", "stdout"),
        *("summary", "text", "tools", "type"),
    )
)
#: fields with the text of each type of content part
_TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal"}


def _only_text(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if not isinstance(kind, str):
        return value
    if kind in MEDIA:
        refuse_type(kind, tuple(_TEXTS), "Content parts")
    if kind not in _TEXTS:
        return other_part(kind, value, "input_text")
    if _TEXTS[kind] not in value:
        raise PydanticCustomError(
            "missing_text", "a part of type '{kind}' needs it", {"kind": _TEXTS[kind]}
        )
    return {**value, "left_out": ""}


class TextPart(Lenient):
    """A part of a message or of a result; this server reads text only. ``left_out``: the type of
    another part, in whose place the text is.
    """

    type: Literal["input_text", "output_text", "refusal"]
    text: PastText = ""
    refusal: PastText = ""
    left_out: str = ""

    @property
    def shown(self) -> str:
        """The text, of whichever type."""
        return self.refusal if self.type == "refusal" else self.text


class ResponseResultPart(TextPart):
    """A part of a result; of an image, the text says that it is missing."""


def _result_text(value: Any) -> Any:
    return without_media(value, "input_text") or _only_text(value)


Content = TextOr[Annotated[TextPart, BeforeValidator(_only_text)]]
OutputContent = TextOr[Annotated[ResponseResultPart, BeforeValidator(_result_text)]]


class MessageItem(Lenient):
    type: Literal["message"] = "message"
    id: PastId = None
    role: Literal["user", "system", "developer", "assistant"]
    content: Annotated[Content, NullAs("")]

    @model_validator(mode="before")
    @classmethod
    def _with_text(cls, value: Any) -> Any:
        """Read an answer without content, as clients keep one that had calls only."""
        if isinstance(value, dict) and value.get("role") == "assistant":
            return {"content": "", **value}
        return value


class SummaryPart(Lenient):
    type: Literal["summary_text"]
    text: PastText


class ReasoningPart(Lenient):
    type: Literal["reasoning_text"]
    text: PastText


_Summary = Annotated[Items[SummaryPart], NullAs([])]


class ReasoningItem(Lenient):
    type: Literal["reasoning"]
    id: PastId = None
    summary: _Summary = Field(default_factory=list)
    content: Items[ReasoningPart] | None = None
    encrypted_content: Sealed = ""


class CompactionItem(Lenient):
    type: Literal["compaction"]
    id: PastId = None
    encrypted_content: Sealed = ""


class CallItem(Lenient):
    """A call of an assistant; ``call_id``: "" if the client sent none."""

    id: PastId = None
    call_id: PastText = ""
    name: str
    namespace: str | None = None


def _json_text(value: Any) -> Any:
    """Return the text of arguments that a client keeps as an object, or has lost."""
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return "" if value is None else value


_Arguments = Annotated[
    str, BeforeValidator(_json_text, json_schema_input_type=str | dict[str, Any] | None)
]


class FunctionCallItem(CallItem):
    type: Literal["function_call"]
    arguments: _Arguments = ""


class CustomCallItem(CallItem):
    type: Literal["custom_tool_call"]
    input: PastText = ""


class CallOutputItem(Lenient):
    """The result of a call; without its id, a text that an agent adds under a tool's name."""

    id: PastId = None
    call_id: str | None = None
    name: str | None = None
    namespace: str | None = None
    output: OutputContent | None = None


class FunctionCallOutputItem(CallOutputItem):
    type: Literal["function_call_output"]


class CustomCallOutputItem(CallOutputItem):
    type: Literal["custom_tool_call_output"]


class LeftOutItem(Lenient):
    """An item that prompts cannot show, one that cannot be read, and one of a type that only newer
    clients know.
    """

    type: str

    @property
    def kind(self) -> str:
        """How answers name it."""
        is_known = self.type in (*LEFT_OUT, *KINDS)
        return self.type if is_known else unknown_type(self.type, "item")


class ItemReference(Lenient):
    type: Literal["item_reference"] = "item_reference"
    id: ItemId


def _kind(value: Any) -> str:
    """Return the type; other values than objects count as messages, and are refused there."""
    kind = value.get("type") if isinstance(value, dict) else "message"
    if kind is None:
        return "item_reference" if set(value) <= {"id", "type"} and value else "message"
    if kind in (*CLIENT_CALLS, *CLIENT_RESULTS):
        tag = "client call" if kind in CLIENT_CALLS else "client result"
        return tag if is_readable(value) else "left out"
    if kind in LOADED_TOOLS:
        return "loaded tools" if isinstance(value.get("tools"), list) else "left out"
    if not isinstance(kind, str):
        return "message"
    return kind if kind in KINDS else "left out"


#: an item that holds its content
ContentItem = (
    MessageItem
    | ReasoningItem
    | FunctionCallItem
    | FunctionCallOutputItem
    | CustomCallItem
    | CustomCallOutputItem
    | CompactionItem
    | ClientCallItem
    | ClientResultItem
    | LoadedToolsItem
    | ConfigurationItem
)
InputItem = Annotated[
    Annotated[MessageItem, Tag("message")]
    | Annotated[ReasoningItem, Tag("reasoning")]
    | Annotated[FunctionCallItem, Tag("function_call")]
    | Annotated[FunctionCallOutputItem, Tag("function_call_output")]
    | Annotated[CustomCallItem, Tag("custom_tool_call")]
    | Annotated[CustomCallOutputItem, Tag("custom_tool_call_output")]
    | Annotated[CompactionItem, Tag("compaction")]
    | Annotated[ClientCallItem, Tag("client call")]
    | Annotated[ClientResultItem, Tag("client result")]
    | Annotated[LoadedToolsItem, Tag("loaded tools")]
    | Annotated[ConfigurationItem, Tag("configuration_update")]
    | Annotated[CompactionTriggerItem, Tag("compaction_trigger")]
    | Annotated[ItemReference, Tag("item_reference")]
    | Annotated[LeftOutItem, Tag("left out")],
    Discriminator(_kind),
]
#: validates items of stored responses
ITEMS: TypeAdapter[list[Any]] = TypeAdapter(list[InputItem])


def item_text(content: str | Sequence[TextPart] | None) -> str:
    """Return content as one text."""
    if content is None or isinstance(content, str):
        return content or ""
    return "".join(part.shown for part in content)


def thought_of(item: ReasoningItem) -> str:
    """Return the text of reasoning; its summary, if that is all there is."""
    return "".join(part.text for part in item.content or item.summary)


def listed(item: ContentItem, number: str) -> dict[str, Any]:
    """Return an input item as the API lists it, with its own id or else ``number``."""
    base = {"id": item.id or number, "type": item.type}
    match item:
        case MessageItem():
            is_answer = item.role == "assistant"
            parts = [
                _listed_part(part, is_answer=is_answer)
                for part in (
                    [TextPart(type="input_text", text=item.content)]
                    if isinstance(item.content, str)
                    else item.content
                )
            ]
            return {**base, "role": item.role, "status": "completed", "content": parts}
        case ReasoningItem():
            shown = item.model_dump(include={"summary", "content"}, exclude_none=True)
            if item.encrypted_content:
                shown["encrypted_content"] = item.encrypted_content
        case CompactionItem():
            return {**base, "encrypted_content": item.encrypted_content}
        case CallItem():
            shown = item.model_dump(exclude={"id", "type"}, exclude_none=True)
        case CallOutputItem():
            shown = item.model_dump(exclude={"id", "type", "output"}, exclude_none=True)
            shown["output"] = item_text(item.output)
        case ClientCallItem() | ClientResultItem() | LoadedToolsItem() | ConfigurationItem():
            return {**base, **item.listed()}
    return {**base, **shown, "status": "completed"}


def _listed_part(part: TextPart, *, is_answer: bool) -> dict[str, Any]:
    if part.type == "refusal":
        return {"type": "refusal", "refusal": part.refusal}
    if is_answer:
        return {"type": "output_text", "text": part.text, "annotations": []}
    return {"type": "input_text", "text": part.text}
