"""Messages of chat completions in the common form."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..errors import bad_request
from ..generation import Call, Media, Message, Part, Text, Thought
from ..protocol import (
    MEDIA,
    AssistantMessage,
    ChatMessage,
    ContentPart,
    FunctionMessage,
    OtherCall,
    PastCustomCall,
    PastToolCall,
    ToolMessage,
    unknown_type,
)
from .media import common_media


def common_messages(messages: Sequence[ChatMessage]) -> tuple[Message, ...]:
    """Return the messages. Raises ApiError 400 for one whose fields do not fit each other."""
    return tuple(_common(at, message) for at, message in enumerate(messages))


def unshown_parts(messages: Sequence[ChatMessage]) -> tuple[str, ...]:
    """Return the parts and calls that prompts do not show: places and types."""
    return tuple(
        f"messages/{at}/{named}"
        for at, message in enumerate(messages)
        for named in _unshown(message)
    )


def _unshown(message: ChatMessage) -> Iterator[str]:
    content = message.content if isinstance(message.content, list) else ()
    yield from (f"content/{n} {part.left_out}" for n, part in enumerate(content) if part.left_out)
    calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
    for number, call in enumerate(calls or ()):
        if isinstance(call, OtherCall):
            yield f"tool_calls/{number} {unknown_type(call.type, 'call')}"


def _common(at: int, message: ChatMessage) -> Message:
    if isinstance(message, AssistantMessage):
        return Message("assistant", tuple(_said(message, at)), message.name)
    _refuse_thoughts(at, message.content)
    has_images = message.role not in ("system", "developer")
    parts = tuple(_shown(message.content, at, has_images=has_images))
    if isinstance(message, ToolMessage):
        return Message("tool", parts, message.name, message.tool_call_id or "")
    assert not isinstance(message, FunctionMessage), "legacy_functions makes a tool message of it"
    return Message(message.role, parts, message.name)


def _refuse_thoughts(at: int, content: Any) -> None:
    if not isinstance(content, list):
        return
    for number, part in enumerate(content):
        if part.type == "thinking":
            raise bad_request(
                "Content parts of type 'thinking' are only allowed in assistant messages.",
                f"messages[{at}].content[{number}]",
                "unsupported_value",
            )


def _shown(
    content: str | Sequence[ContentPart] | None, at: int, *, has_images: bool
) -> Iterator[Text | Media]:
    """Yield text and media in order. ``has_images``: whether a model may see images there."""
    if content is None:
        return
    if isinstance(content, str):
        yield Text(content)
        return
    if not content:
        yield Text("")
    for number, part in enumerate(content):
        if part.type in MEDIA:
            yield common_media(part, f"messages[{at}].content[{number}]", has_images=has_images)
        elif part.left_out:
            yield Text(part.text)
        else:
            yield Text(part.refusal if part.type == "refusal" else part.text)


def _said(message: AssistantMessage, at: int) -> Iterator[Part]:
    """Yield the parts of an earlier answer: its reasoning, its text, its calls."""
    if thought := message.reasoning_content or message.reasoning or _thoughts(message.content):
        yield Thought(thought)
    yield from _shown(message.content, at, has_images=False)
    if message.refusal is not None:
        yield Text(message.refusal)
    for call in message.tool_calls or ():
        if not isinstance(call, OtherCall):
            yield _call(call)


def _thoughts(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    thoughts = [part.thinking for part in parts if part.type == "thinking"]
    return "".join(
        each if isinstance(each, str) else "".join(piece.text for piece in each)
        for each in thoughts
    )


def _call(call: PastToolCall | PastCustomCall) -> Call:
    if isinstance(call, PastCustomCall):
        return Call(call.custom.name, call.custom.input, call.id or "", is_custom=True)
    arguments = call.function.arguments
    text = arguments if isinstance(arguments, str) else _json(arguments or {})
    return Call(call.function.name, text, call.id or "")


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
