"""The plain form of messages, from which prompts are made.

Representation   plain dicts with role and content (text or None) and, if present, name,
                 tool_call_id, reasoning_content, and tool_calls in OpenAI's form. An id is "" where
                 the client sent none.
Not here         which result answers which call (pairing).
"""

import json
from collections.abc import Sequence
from typing import Any

from adapters.formats import INPUT_ARGUMENT

from ..generation import Call, Media, Message, Part, Text, Thought

#: before the result of a call that failed
FAILED = "[The call failed.]\n"


def plain_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the conversation as dicts, in the client's order."""
    return [_plain(message) for message in messages]


def _plain(message: Message) -> dict[str, Any]:
    texts = [text for part in message.parts if (text := _text(part)) is not None]
    # parts are concatenated, as templates do it
    plain: dict[str, Any] = {"role": message.role, "content": "".join(texts) if texts else None}
    if message.role == "tool":
        told = (FAILED if message.is_error else "") + (plain["content"] or "")
        plain |= {"content": told, "tool_call_id": message.call_id}
    elif message.role == "assistant":
        if calls := message.calls:
            plain["tool_calls"] = [_plain_call(call) for call in calls]
        if thought := "".join(part.text for part in message.parts if isinstance(part, Thought)):
            plain["reasoning_content"] = thought
    if message.name:
        plain["name"] = message.name
    return plain


def _text(part: Part) -> str | None:
    match part:
        case Text():
            return part.text
        case Media():
            return part.line
    return None


def _plain_call(call: Call) -> dict[str, Any]:
    """Return a call; that of a custom tool in the form in which models write it."""
    arguments = call.arguments
    if call.is_custom:
        arguments = json.dumps({INPUT_ARGUMENT: call.arguments}, ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}
