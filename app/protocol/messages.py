"""Messages of a chat completion as clients send them.

Unknown fields are ignored, since clients send back what a server sent them; ignored_fields names
them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from .media import MEDIA, MediaPart, image_of_others, image_of_user, media_fields
from .unknown_fields import NAME_CHARS
from .unserved_fields import unsupported_field
from .validation import Items, Lenient, NullAs, PastText, TextOr, by_type, unknown_type

#: types of parts of text
PARTS = ("text", "refusal", "thinking")


def other_part(kind: str, part: dict[str, Any], text_type: str) -> dict[str, Any]:
    """Return the text part in place of one of a type that only newer clients know."""
    text = part.get("text")
    shown = text if isinstance(text, str) else f"[{kind[:NAME_CHARS]}: not shown]"
    return {"type": text_type, "text": shown, "left_out": unknown_type(kind, "part")}


class ThoughtPart(Lenient):
    type: Literal["text"]
    text: str


#: the content of a part of type "thinking": text, or parts of text as Mistral writes it
Thoughts = TextOr[ThoughtPart]


def _read_part(value: Any, image: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Keep only the field that the type names: clients send other fields of an answer back."""
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if not isinstance(kind, str):
        return value
    if kind in MEDIA:
        return media_fields(kind, value, image)
    if kind not in PARTS:
        return other_part(kind, value, "text")
    if kind not in value:
        raise PydanticCustomError(
            "missing_text", "a part of type '{kind}' needs it", {"kind": kind}
        )
    return {"type": kind, kind: value[kind]}


class ContentPart(MediaPart):
    """A part of a message: text or media. ``left_out``: the type of another part, in whose place
    the text is.
    """

    type: Literal[PARTS + MEDIA]  # type: ignore[valid-type]
    text: PastText = ""
    refusal: PastText = ""
    thinking: Annotated[Thoughts, NullAs("")] = ""
    left_out: str = ""


class UserPart(ContentPart):
    """A part of a user's message."""


_reads_others = BeforeValidator(partial(_read_part, image=image_of_others))
Content = TextOr[Annotated[ContentPart, _reads_others]]
#: the content of a message that is no answer; null is an empty text
SystemContent = Annotated[Content, NullAs("")]
UserContent = Annotated[
    TextOr[Annotated[UserPart, BeforeValidator(partial(_read_part, image=image_of_user))]],
    NullAs(""),
]


#: arguments of a past call: JSON text, or an object as some servers and frameworks write it
Arguments = Annotated[
    Annotated[str, Tag("text")] | Annotated[dict[str, Any], Tag("object")],
    by_type("a string or an object", text=str, object=dict),
]


class CalledFunction(Lenient):
    name: str
    arguments: Arguments | None = None


class PastToolCall(Lenient):
    """A tool call of an earlier answer; without an id, its result is found by order (pairing)."""

    id: str | None = None
    type: Literal["function"] | None = None
    function: CalledFunction


class CalledCustomTool(Lenient):
    name: str
    input: PastText


class PastCustomCall(Lenient):
    """A call of a custom tool in an earlier answer."""

    id: str | None = None
    type: Literal["custom"]
    custom: CalledCustomTool


class OtherCall(Lenient):
    """A call of a type that only newer clients know; prompts do not show it."""

    type: str


def _call_kind(value: Any) -> str:
    """Return the tag; other values than objects count as functions, and are refused there."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    if not isinstance(kind, str):
        return "function"
    return kind if kind in ("function", "custom") else "other"


AnyPastCall = Annotated[
    Annotated[PastToolCall, Tag("function")]
    | Annotated[PastCustomCall, Tag("custom")]
    | Annotated[OtherCall, Tag("other")],
    Discriminator(_call_kind),
]


class SystemMessage(Lenient):
    role: Literal["system", "developer"]
    content: SystemContent
    name: str | None = None


class UserMessage(Lenient):
    role: Literal["user"]
    content: UserContent
    name: str | None = None


#: fields with reasoning as blocks
_BLOCKS = frozenset(("reasoning_details", "thinking_blocks"))


def _thoughts(blocks: Any) -> str:
    """Return the text of blocks of reasoning as OpenRouter and LiteLLM write them."""
    blocks = (
        [block for block in blocks if isinstance(block, dict)] if isinstance(blocks, list) else ()
    )
    texts = (block.get("text") or block.get("thinking") or block.get("summary") for block in blocks)
    return "".join(text for text in texts if isinstance(text, str))


class AssistantMessage(Lenient):
    role: Literal["assistant"]
    content: Content | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: Items[AnyPastCall] | None = None
    function_call: CalledFunction | None = None
    name: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_reasoning(cls, value: Any) -> Any:
        """Read reasoning that a client sends back as blocks only."""
        if not isinstance(value, dict) or value.keys().isdisjoint(_BLOCKS):
            return value
        if value.get("reasoning_content") or value.get("reasoning"):
            return value
        blocks = value.get("reasoning_details") or value.get("thinking_blocks")
        return {**value, "reasoning": _thoughts(blocks)} if blocks else value


class ToolMessage(Lenient):
    """The result of a call; some clients have null for an empty one, the tool's name, or no id."""

    role: Literal["tool"]
    content: Content | None = None
    tool_call_id: str | None = None
    name: str | None = None


class FunctionMessage(Lenient):
    """The deprecated form of a tool message; legacy_functions converts it."""

    role: Literal["function"]
    name: str
    content: Content | None


ChatMessage = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolMessage | FunctionMessage,
    Field(discriminator="role"),
]


def _not_continued(messages: Any) -> Any:
    """Refuse a last message that the answer should continue, as with DeepSeek, Kimi, Mistral."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    if isinstance(last, dict) and last.get("role") == "assistant":
        for name in ("prefix", "partial"):
            if last.get(name) is True:
                raise unsupported_field(name, f"messages[{len(messages) - 1}].")
    return messages


Messages = Annotated[Items[ChatMessage], Field(min_length=1), BeforeValidator(_not_continued)]
