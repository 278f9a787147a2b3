"""The deprecated ``functions`` and ``function_call``: requests as tools, answers in the old shape.

    functions, function_call                 tools, tool_choice; one call an answer
    assistant message with function_call     one with a tool call
    message of role "function"               the tool message that answers it

Not here   everything else: a converted request is like any other.
"""

import re
from collections.abc import Sequence
from typing import Any

from ..errors import ApiError, bad_request
from .chat_request import ChatRequest
from .messages import (
    AssistantMessage,
    CalledFunction,
    FunctionMessage,
    Message,
    PastToolCall,
    ToolMessage,
)
from .tools import FunctionName, NamedTool, ToolDefinition

#: places in a converted request, and in the client's own
_PLACES = (
    (re.compile(r"^tools\[(\d+)\]\.function"), r"functions[\1]"),
    (re.compile(r"^tools"), "functions"),
    (re.compile(r"^tool_choice\.function"), "function_call"),
    (re.compile(r"^tool_choice"), "function_call"),
)


def is_legacy(request: ChatRequest) -> bool:
    """Whether the answer must have the old shape."""
    return bool(request.functions)


def with_tools(request: ChatRequest) -> ChatRequest:
    """Return the request with tools instead of functions. Raises ApiError 400."""
    _check(request)
    changes: dict[str, Any] = {"functions": None, "function_call": None}
    if any(_is_legacy_message(message) for message in request.messages):
        changes["messages"] = _messages(request.messages)
    if request.functions:
        changes["tools"] = [
            ToolDefinition(type="function", function=function) for function in request.functions
        ]
        choice = request.function_call
        if isinstance(choice, FunctionName):
            changes["tool_choice"] = NamedTool(type="function", function=choice)
        else:
            changes["tool_choice"] = choice
        changes["parallel_tool_calls"] = False
    return request.model_copy(update=changes)


def _check(request: ChatRequest) -> None:
    if not request.functions:
        if request.function_call is not None:
            raise bad_request(
                "Invalid value for 'function_call': it is only allowed when 'functions' are "
                "specified.",
                "function_call",
            )
        return
    for name in ("tools", "tool_choice", "parallel_tool_calls"):
        if getattr(request, name) is not None:
            raise bad_request(
                f"Setting 'functions' and '{name}' at the same time is not supported: 'functions' "
                "is the deprecated form of 'tools'.",
                name,
                "invalid_value",
            )


def _is_legacy_message(message: Message) -> bool:
    return isinstance(message, FunctionMessage) or (
        isinstance(message, AssistantMessage) and message.function_call is not None
    )


def _messages(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with tool calls; each call of a function is answered by the next message.

    Raises:
        ApiError: 400.
    """
    made: list[Message] = []
    for at, message in enumerate(messages):
        before = messages[at - 1] if at else None
        if isinstance(message, FunctionMessage):
            made.append(_answer(at, message, before))
        elif isinstance(message, AssistantMessage) and message.function_call is not None:
            after = messages[at + 1] if at + 1 < len(messages) else None
            made.append(_call(at, message, message.function_call, after))
        else:
            made.append(message)
    return made


def _call(
    at: int, message: AssistantMessage, function: CalledFunction, after: Message | None
) -> AssistantMessage:
    place = f"messages[{at}].function_call"
    if message.tool_calls:
        raise bad_request(
            "An assistant message has either 'function_call' or 'tool_calls'.",
            place,
            "invalid_value",
        )
    if not isinstance(after, FunctionMessage):
        raise bad_request(
            "An assistant message with 'function_call' must be followed by a message of role "
            "'function'.",
            place,
            "invalid_value",
        )
    call = PastToolCall(id=f"call_{at}", function=function)
    return message.model_copy(update={"tool_calls": [call], "function_call": None})


def _answer(at: int, message: FunctionMessage, before: Message | None) -> ToolMessage:
    call = before.function_call if isinstance(before, AssistantMessage) else None
    if call is None:
        raise bad_request(
            "Invalid parameter: messages with role 'function' must be a response to a preceding "
            "message with 'function_call'.",
            f"messages[{at}].role",
            "invalid_value",
        )
    if call.name != message.name:
        raise bad_request(
            f"Invalid value: '{message.name[:100]}'. The preceding message calls the function "
            f"'{call.name[:100]}'.",
            f"messages[{at}].name",
            "invalid_value",
        )
    content = "" if message.content is None else message.content
    return ToolMessage(role="tool", content=content, tool_call_id=f"call_{at - 1}")


def legacy_error(error: ApiError) -> ApiError:
    """Return an error of a converted request with the place in the client's request."""
    param = error.param or ""
    for pattern, place in _PLACES:
        if pattern.match(param):
            changed = pattern.sub(place, param)
            message = error.message.replace(param, changed)
            message = message.replace("'tools'", "'functions'").replace("tools[", "functions[")
            return ApiError(
                error.status, message, param=changed, code=error.code, headers=error.headers
            )
    return error


def legacy_choice(choice: dict[str, Any]) -> dict[str, Any]:
    """Return a choice of an answer or of a chunk in the old shape."""
    key = "message" if "message" in choice else "delta"
    said = dict(choice[key])
    for call in said.pop("tool_calls", ()):
        said["function_call"] = call["function"]
    reason = choice["finish_reason"]
    return {
        **choice,
        key: said,
        "finish_reason": "function_call" if reason == "tool_calls" else reason,
    }
