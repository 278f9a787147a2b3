"""The deprecated ``functions`` and ``function_call``: requests as tools, answers in the old shape.

    functions, function_call                 tools, tool_choice; one call an answer
    assistant message with function_call     one with a tool call
    message of role "function"               the tool message of the last call of its function

Not here   everything else: a converted request is like any other.
"""

from collections.abc import Sequence
from typing import Any

from ..errors import FieldNames, bad_request, dotted
from ..generation import ApiNames
from ..protocol import (
    AssistantMessage,
    CalledFunction,
    ChatMessage,
    ChatRequest,
    FunctionMessage,
    FunctionName,
    NamedTool,
    PastToolCall,
    ToolDefinition,
    ToolMessage,
)


def is_legacy(request: ChatRequest) -> bool:
    """Whether the answer must have the old shape."""
    return bool(request.functions)


def names_of(request: ChatRequest) -> FieldNames:
    """Return the client's names of the fields that ``with_tools`` makes."""
    if not request.functions:
        return dotted
    return ApiNames(
        fields={"tools": "functions", "tool_choice": "function_call"},
        tools=[f"functions[{number}]" for number in range(len(request.functions))],
    )


def with_tools(request: ChatRequest) -> ChatRequest:
    """Return the request with tools instead of functions. Raises ApiError 400."""
    _check(request)
    changes: dict[str, Any] = {}
    if any(_is_legacy_message(message) for message in request.messages):
        changes["messages"] = with_tool_messages(request.messages)
    if request.functions:
        changes |= {"functions": None, "function_call": None}
        changes["tools"] = [
            ToolDefinition(type="function", function=function) for function in request.functions
        ]
        choice = request.function_call
        if isinstance(choice, FunctionName):
            changes["tool_choice"] = NamedTool(type="function", function=choice)
        else:
            changes["tool_choice"] = choice
        changes["parallel_tool_calls"] = False
    return request.model_copy(update=changes) if changes else request


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


def _is_legacy_message(message: ChatMessage) -> bool:
    return isinstance(message, FunctionMessage) or (
        isinstance(message, AssistantMessage) and message.function_call is not None
    )


def with_tool_messages(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with tool calls; a result answers the last call of its function.

    Raises:
        ApiError: 400.
    """
    made: list[ChatMessage] = []
    #: the id of the last call of each function
    called: dict[str, str] = {}
    for at, message in enumerate(messages):
        if isinstance(message, FunctionMessage):
            made.append(
                ToolMessage(
                    role="tool",
                    content=message.content,
                    tool_call_id=called.get(message.name),
                    name=message.name,
                )
            )
        elif isinstance(message, AssistantMessage) and message.function_call is not None:
            called[message.function_call.name] = f"call_{at}"
            made.append(_call(at, message, message.function_call))
        else:
            made.append(message)
    return made


def _call(at: int, message: AssistantMessage, function: CalledFunction) -> AssistantMessage:
    if message.tool_calls:
        raise bad_request(
            "An assistant message has either 'function_call' or 'tool_calls'.",
            f"messages[{at}].function_call",
            "invalid_value",
        )
    call = PastToolCall(id=f"call_{at}", function=function)
    return message.model_copy(update={"tool_calls": [call], "function_call": None})
