"""Messages of Anthropic's API, and the blocks in them.

    text, thinking, tool_use, tool_result   read
    tool_addition, tool_removal             change what may be called
    image                                   in data, by a URL, or a file
    document, search_result                 shown as text; a document without text is not read
    LEFT_OUT                                what only Anthropic's server writes and reads
    others                                  what only newer clients know: left out, too

Unknown fields are ignored, since clients send back what a server sent them.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Tag
from pydantic_core import PydanticCustomError

from ..validation import Items, Lenient, NullAs, Options, PastText, Sealed, TextOr, unknown_type
from .tools import MessagesTool

#: blocks of features that this server lacks; prompts do not show them
LEFT_OUT = (
    *("advisor_tool_result", "bash_code_execution_tool_result", "browser_state"),
    *("code_execution_tool_result", "compaction", "container_upload", "fallback"),
    *("mcp_tool_listing", "mcp_tool_result", "mcp_tool_use", "redacted_thinking"),
    *("server_tool_use", "text_editor_code_execution_tool_result", "tool_reference"),
    *("tool_search_tool_result", "web_fetch_tool_result", "web_search_tool_result"),
)


class TextBlock(Lenient):
    type: Literal["text"]
    text: PastText


class ThinkingBlock(Lenient):
    """Reasoning of an earlier answer. ``signature``: this server's seal of it (sealing)."""

    type: Literal["thinking"]
    thinking: PastText = ""
    signature: Sealed = ""


class ToolUseBlock(Lenient):
    """``id``: "" if the client sent none. ``input``: an object; text of one that was cut, or null,
    in damaged histories.
    """

    type: Literal["tool_use"]
    id: PastText = ""
    name: str
    input: dict[str, Any] | str | None = None


class Source(Lenient):
    """Where an image or a document is. ``data``: in base64, or its text, of type "text";
    ``content``: its text or blocks.
    """

    type: str = ""
    data: str | None = None
    media_type: str | None = None
    url: str | None = None
    content: Any = None

    @property
    def image_url(self) -> str | None:
        """The image's URL; None: it is a file, or cannot be read."""
        if self.type == "base64" and self.data is not None and self.media_type is not None:
            return f"data:{self.media_type};base64,{self.data}"
        return self.url if self.type == "url" else None

    @property
    def text(self) -> str | None:
        """The document's text; None: it has no text alone."""
        match self.type, self.content:
            case "text", _:
                return self.data
            case "content", str(text):
                return text
            case "content", [*blocks]:
                texts = [each.get("text") for each in blocks if isinstance(each, dict)]
                shown = [text for text in texts if isinstance(text, str)]
                return "\n".join(shown) if len(shown) == len(blocks) else None
        return None


class MediaBlock(Lenient):
    type: Literal["image", "document"]
    source: Source | None = None
    title: str | None = None
    context: str | None = None

    @property
    def media_chars(self) -> int:
        """Characters that are media, and no text."""
        source = self.source
        return 0 if source is None or source.text is not None else len(source.data or "")


class MediaOfResult(MediaBlock):
    """One in a result."""


def _media_of_result(value: Any) -> Any:
    """Drop what cannot be read: a result must not end a session."""
    if not isinstance(value, dict):
        return value
    made = _texts(value, "type", "title", "context")
    if isinstance(source := value.get("source"), dict):
        texts = _texts(source, "type", "data", "media_type", "url")
        made["source"] = {**texts, "content": source.get("content")}
    return made


def _texts(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value[name] for name in names if isinstance(value.get(name), str)}


class SearchResultBlock(Lenient):
    type: Literal["search_result"]
    source: str
    title: str
    content: Annotated[Items[TextBlock], NullAs([])]


class ChangedTool(Options):
    """``name``: of a tool that is known; ``definition``: of a new one. ``server_name``: of tools
    that this server lacks.
    """

    type: str
    name: str | None = None
    server_name: Any = None
    definition: MessagesTool | None = None


class ToolChangeBlock(Lenient):
    type: Literal["tool_addition", "tool_removal"]
    tool: ChangedTool


class LeftOutBlock(Lenient):
    """A block of LEFT_OUT, one where its type has no place, or of a type that only newer clients
    know.
    """

    type: str
    text: Any = None

    @property
    def kind(self) -> str:
        """How answers name it."""
        return self.type if self.type in (*BLOCKS, *LEFT_OUT) else unknown_type(self.type, "block")

    @property
    def shown(self) -> str | None:
        """The text of a block that only newer clients know."""
        return self.text if isinstance(self.text, str) and self.kind != self.type else None


class LeftOutOfSystem(LeftOutBlock):
    """One in the instructions."""


class LeftOutOfResult(LeftOutBlock):
    """One in a result."""


#: tags of blocks by their types; others are left out
SYSTEM_BLOCKS = {"text": "text"}
RESULT_BLOCKS = {
    **SYSTEM_BLOCKS,
    "image": "media",
    "document": "media",
    "search_result": "search result",
}
BLOCKS = {
    **RESULT_BLOCKS,
    "thinking": "thinking",
    "tool_addition": "tool change",
    "tool_removal": "tool change",
    "tool_use": "tool use",
    "tool_result": "tool result",
}

#: fields of messages and of BLOCKS in Anthropic's client, whether they are read or not
BLOCK_FIELDS = frozenset(
    (
        *("cache_control", "caller", "citations", "clear_at", "content", "context", "data"),
        *("id", "input", "is_error", "name", "output_config", "role", "signature", "source"),
        *("text", "thinking", "title", "tool", "tool_use_id", "toolset_name"),
        *("transformations", "type"),
    )
)


def _typed(value: Any) -> Any:
    """Refuse a block without a type."""
    if isinstance(value, dict) and not isinstance(value.get("type"), str):
        raise PydanticCustomError("missing_text", "a block needs it", {"kind": "type"})
    return value


def _by_type(tags: Mapping[str, str]) -> Discriminator:
    """Return the discriminator of blocks; other values than objects count as text, and are refused
    there.
    """
    return Discriminator(
        lambda value: tags.get(value["type"], "left out") if isinstance(value, dict) else "text"
    )


SystemBlock = Annotated[
    Annotated[TextBlock, Tag("text")] | Annotated[LeftOutOfSystem, Tag("left out")],
    _by_type(SYSTEM_BLOCKS),
    BeforeValidator(_typed),
]
_Shown = Annotated[TextBlock, Tag("text")] | Annotated[SearchResultBlock, Tag("search result")]
ResultBlock = Annotated[
    _Shown
    | Annotated[MediaOfResult, BeforeValidator(_media_of_result), Tag("media")]
    | Annotated[LeftOutOfResult, Tag("left out")],
    _by_type(RESULT_BLOCKS),
    BeforeValidator(_typed),
]


class ToolResultBlock(Lenient):
    type: Literal["tool_result"]
    tool_use_id: PastText = ""
    content: TextOr[ResultBlock] | None = None
    is_error: bool | None = None


MessageBlock = Annotated[
    _Shown
    | Annotated[MediaBlock, Tag("media")]
    | Annotated[LeftOutBlock, Tag("left out")]
    | Annotated[ThinkingBlock, Tag("thinking")]
    | Annotated[ToolChangeBlock, Tag("tool change")]
    | Annotated[ToolUseBlock, Tag("tool use")]
    | Annotated[ToolResultBlock, Tag("tool result")],
    _by_type(BLOCKS),
    BeforeValidator(_typed),
]


class InputMessage(Lenient):
    """A message. ``clear_at``, ``output_config``: of one of the system; whether later turns of the
    user end it, and an effort, which has no effect there.
    """

    role: Literal["user", "assistant", "system"]
    content: TextOr[MessageBlock] | None = None
    output_config: Any = None
    clear_at: Literal["next_user_message", "never"] | None = None
