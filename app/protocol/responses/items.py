"""Input items: what a client sends, and what earlier responses wrote.

    message               of a user, of the system or a developer, or of an assistant
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

Not here   the order of items (conversation), how they are listed (listing).
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
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

from ..media import MEDIA, MediaPart, image_of_others, image_of_user, media_fields
from ..messages import other_part
from ..validation import (
    Items,
    Lenient,
    NullAs,
    PastText,
    Sealed,
    TextOr,
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


def _read_part(value: Any, image: Callable[[Mapping[str, Any]], Any]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if not isinstance(kind, str):
        return value
    if kind in MEDIA:
        return media_fields(kind, value, image)
    if kind not in _TEXTS:
        return other_part(kind, value, "input_text")
    if _TEXTS[kind] not in value:
        raise PydanticCustomError(
            "missing_text", "a part of type '{kind}' needs it", {"kind": _TEXTS[kind]}
        )
    texts = {name: value[name] for name in ("text", "refusal") if name in value}
    return {"type": kind, **texts}


class ItemPart(MediaPart):
    """A part of a message or of a result: text or media. ``left_out``: the type of another part,
    in whose place the text is.
    """

    type: Literal[("input_text", "output_text", "refusal", *MEDIA)]  # type: ignore[valid-type]
    text: PastText = ""
    refusal: PastText = ""
    left_out: str = ""

    @property
    def shown(self) -> str:
        """The text, of whichever type; "": of media."""
        return self.refusal if self.type == "refusal" else self.text


class UserItemPart(ItemPart):
    """A part of a user's message."""


_reads_others = BeforeValidator(partial(_read_part, image=image_of_others))
Content = TextOr[Annotated[ItemPart, _reads_others]]
UserContent = TextOr[
    Annotated[UserItemPart, BeforeValidator(partial(_read_part, image=image_of_user))]
]


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


class UserMessageItem(MessageItem):
    role: Literal["user"]
    content: Annotated[UserContent, NullAs("")]  # type: ignore[assignment]


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
    output: Content | None = None


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
    if kind is None and set(value) <= {"id", "type"} and value:
        return "item_reference"
    if kind in (None, "message") and isinstance(value, dict) and value.get("role") == "user":
        return "user message"
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
    | Annotated[UserMessageItem, Tag("user message")]
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


def thought_of(item: ReasoningItem) -> str:
    """Return the text of reasoning; its summary, if that is all there is."""
    return "".join(part.text for part in item.content or item.summary)
