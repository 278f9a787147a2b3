"""The messages of a request: their order, and the plain form from which prompts are made.

    tool message    answers a call of the last assistant message before it
    tool_calls      each is answered before the conversation goes on; the answers' order is free

Representation   plain dicts with role and content (text or None) and, if present, name,
                 tool_call_id, reasoning_content, and tool_calls in OpenAI's form.
"""

import json
from collections.abc import Sequence
from typing import Any

from adapters.formats import INPUT_ARGUMENT

from ..errors import ApiError, bad_request
from ..protocol.chat_request import ChatRequest
from ..protocol.messages import (
    AssistantMessage,
    ContentPart,
    Message,
    PastCustomCall,
    PastToolCall,
    ToolMessage,
)


def check_order(messages: Sequence[Message]) -> None:
    """Raise ApiError 400 for a tool message without a call, or a call without a tool message."""
    waiting: dict[str, None] = {}
    caller = 0
    for at, message in enumerate(messages):
        _check_parts(at, message)
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                raise _orphan(at, message, caller > 0 or bool(waiting))
            del waiting[message.tool_call_id]
            continue
        if waiting:
            raise _unanswered(caller, waiting)
        if isinstance(message, AssistantMessage):
            _check_assistant(at, message)
            waiting = {call.id: None for call in message.tool_calls or ()}
            caller = at
    if waiting:
        raise _unanswered(caller, waiting)


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


def _check_assistant(at: int, message: AssistantMessage) -> None:
    seen: set[str] = set()
    for number, call in enumerate(message.tool_calls or ()):
        if call.id in seen:
            place = f"messages[{at}].tool_calls[{number}].id"
            raise bad_request(f"Duplicate value for '{place}'.", place, "invalid_value")
        seen.add(call.id)


def _orphan(at: int, message: ToolMessage, called_before: bool) -> ApiError:
    if called_before:
        return bad_request(
            f"Invalid parameter: 'tool_call_id' of messages[{at}] answers no open call of the last "
            "assistant message.",
            f"messages[{at}].tool_call_id",
            "invalid_value",
        )
    return bad_request(
        "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
        "with 'tool_calls'.",
        f"messages[{at}].role",
        "invalid_value",
    )


def _unanswered(caller: int, waiting: dict[str, None]) -> ApiError:
    ids = ", ".join(list(waiting)[:10])
    return bad_request(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to "
        f"each 'tool_call_id'. The following tool_call_ids did not have response messages: {ids}",
        f"messages[{caller}].tool_calls",
        "invalid_value",
    )


def text_of(content: str | list[ContentPart] | None) -> str | None:
    """Return content as one text without thoughts; parts are concatenated, as templates do it."""
    if content is None or isinstance(content, str):
        return content
    return "".join(part.refusal if part.type == "refusal" else part.text for part in content)


def _thought_of(message: AssistantMessage) -> str:
    if thought := message.reasoning_content or message.reasoning:
        return thought
    parts = message.content if isinstance(message.content, list) else []
    thoughts = [part.thinking for part in parts if part.type == "thinking"]
    return "".join(
        each if isinstance(each, str) else "".join(piece.text for piece in each)
        for each in thoughts
    )


def mentions_json(messages: Sequence[Message]) -> bool:
    """Check OpenAI's condition for json_object; without it models may write endless white space."""
    return any("json" in (text_of(message.content) or "").lower() for message in messages)


def plain_messages(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the conversation as dicts, the results of each answer in the order of its calls.

    Most templates write results without ids: the model assigns them to calls by their order.
    """
    messages = [_plain(message) for message in request.messages]
    at = 0
    while at < len(messages):
        calls = messages[at].get("tool_calls") or ()
        places = {call["id"]: number for number, call in enumerate(calls)}
        at = begin = at + 1
        while at < len(messages) and messages[at].get("tool_call_id") in places:
            at += 1
        messages[begin:at] = sorted(
            messages[begin:at], key=lambda result: places[result["tool_call_id"]]
        )
    return messages


def _plain(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": text_of(message.content)}
    if isinstance(message, ToolMessage):
        plain["tool_call_id"] = message.tool_call_id
    elif isinstance(message, AssistantMessage):
        if message.refusal is not None:
            plain["content"] = (plain["content"] or "") + message.refusal
        if message.tool_calls:
            plain["tool_calls"] = [_plain_call(call) for call in message.tool_calls]
        if thought := _thought_of(message):
            plain["reasoning_content"] = thought
    if not isinstance(message, ToolMessage) and message.name:
        plain["name"] = message.name
    return plain


def _plain_call(call: PastToolCall | PastCustomCall) -> dict[str, Any]:
    """Return a call; that of a custom tool in the form in which models write it."""
    if isinstance(call, PastCustomCall):
        arguments = json.dumps({INPUT_ARGUMENT: call.custom.input}, ensure_ascii=False)
        function = {"name": call.custom.name, "arguments": arguments}
    else:
        function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}
