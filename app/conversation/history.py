"""The messages of a request, and the plain form from which prompts are made.

Representation   plain dicts with role and content (text or None) and, if present, name,
                 tool_call_id, reasoning_content, and tool_calls in OpenAI's form. An id is "" where
                 the client sent none.
Not here         which result answers which call (pairing).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.formats import INPUT_ARGUMENT

from ..errors import bad_request
from ..protocol import (
    AssistantMessage,
    ChatRequest,
    Message,
    PastCustomCall,
    PastToolCall,
    ToolMessage,
    content_text,
)


def check_messages(messages: Sequence[Message]) -> None:
    """Raise ApiError 400 for a message whose fields do not fit each other."""
    for at, message in enumerate(messages):
        _check_parts(at, message)


def _check_parts(at: int, message: Message) -> None:
    if isinstance(message, AssistantMessage) or not isinstance(message.content, list):
        return
    for number, part in enumerate(message.content):
        if part.type == "thinking":
            raise bad_request(
                "Content parts of type 'thinking' are only allowed in assistant messages.",
                f"messages[{at}].content[{number}]",
                "unsupported_value",
            )


def left_out(messages: Sequence[Message]) -> list[str]:
    """Return the parts of results that prompts do not show: places and types."""
    return [
        f"messages/{at}/content/{number} {part.left_out}"
        for at, message in enumerate(messages)
        if isinstance(message, ToolMessage) and isinstance(message.content, list)
        for number, part in enumerate(message.content)
        if part.left_out
    ]


def _thought_of(message: AssistantMessage) -> str:
    if thought := message.reasoning_content or message.reasoning:
        return thought
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [part.thinking for part in parts if part.type == "thinking"]
    return "".join(
        each if isinstance(each, str) else "".join(piece.text for piece in each)
        for each in thoughts
    )


def plain_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the conversation as dicts, in the client's order."""
    return [_plain(message) for message in request.messages]


def _plain(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": content_text(message.content)}
    if isinstance(message, ToolMessage):
        plain |= {"content": plain["content"] or "", "tool_call_id": message.tool_call_id or ""}
    elif isinstance(message, AssistantMessage):
        if message.refusal is not None:
            plain["content"] = (plain["content"] or "") + message.refusal
        if message.tool_calls:
            plain["tool_calls"] = [_plain_call(call) for call in message.tool_calls]
        if thought := _thought_of(message):
            plain["reasoning_content"] = thought
    if message.name:
        plain["name"] = message.name
    return plain


def _plain_call(call: PastToolCall | PastCustomCall) -> dict[str, Any]:
    """Return a call; that of a custom tool in the form in which models write it."""
    if isinstance(call, PastCustomCall):
        function = {
            "name": call.custom.name,
            "arguments": _json({INPUT_ARGUMENT: call.custom.input}),
        }
    else:
        arguments = call.function.arguments
        text = arguments if isinstance(arguments, str) else _json(arguments or {})
        function = {"name": call.function.name, "arguments": text}
    return {"id": call.id or "", "type": "function", "function": function}


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)
