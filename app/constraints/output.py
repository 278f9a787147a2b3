"""From a request to an Ask: which tools, which choice, which schema.

OpenAI's rules for fields that depend on each other are checked on the way.

Representation   an Asking is the Ask for the format, all tools that the prompt shows, for each tool
                 of the Ask its number in the request (tool_choice "allowed_tools" leaves some out),
                 and whether the response format is strict.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from adapters.formats import Ask, Effort, Thought, Tool

from ..conversation.history import mentions_json
from ..errors import ApiError, bad_request
from ..protocol.chat_request import (
    AllowedToolsChoice,
    ChatRequest,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedTool,
    ToolDefinition,
    ToolMode,
)
from ..settings import Settings
from .strict_profile import check_strict

#: OpenAI's names for how much a model thinks, in the three that Harmony knows
_EFFORTS: Mapping[str, Effort] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
Value = TypeVar("Value")
_TOOL_NUMBER = re.compile(r"\Atools\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Asking:
    """See the file's header."""

    ask: Ask
    shown: tuple[Tool, ...]
    numbers: tuple[int, ...]
    is_strict_response: bool = False

    def is_strict(self, param: str) -> bool:
        """Whether the schema at this place of the Ask says ``strict: true``."""
        match = _TOOL_NUMBER.match(param)
        return bool(self.ask.tools[int(match[1])].strict) if match else self.is_strict_response

    def param(self, param: str | None) -> str | None:
        """The request's place for one in the Ask: tools are numbered as the client sent them."""
        match = _TOOL_NUMBER.match(param or "")
        if match is None or param is None:
            return param
        return f"tools[{self.numbers[int(match[1])]}]{param[match.end() :]}"


def make_asking(request: ChatRequest, settings: Settings) -> Asking:
    """What a request leaves open, the settings decide. Raises ApiError 400 that names the place."""
    definitions = request.tools or []
    _check_tools(definitions, settings.max_tools)
    if request.parallel_tool_calls is not None and request.tools is None:
        raise bad_request(
            "Invalid value for 'parallel_tool_calls': only allowed when 'tools' are specified.",
            "parallel_tool_calls",
        )
    if settings.strict_profile == "openai":
        _check_strict(request)
    tools = tuple(_tool(definition) for definition in definitions)
    mode, name, numbers = _choice(request, [tool.name for tool in tools])
    budget = _or(request.thinking_token_budget, settings.thinking_token_budget)
    thinks = settings.reasons and request.reasoning_effort != "none" and budget != 0
    may_be_called = frozenset(numbers)
    wanted = request.response_format
    described = wanted.json_schema if isinstance(wanted, JsonSchemaFormat) else None
    ask = Ask(
        tools=tuple(tools[number] for number in numbers),
        tool_choice=mode,
        tool_name=name,
        barred=tuple(tool.name for at, tool in enumerate(tools) if at not in may_be_called),
        parallel_tool_calls=request.parallel_tool_calls is not False,
        response_schema=_response_schema(request),
        response_name=described.name if described else "",
        response_description=(described.description or "") if described else "",
        schema_in_prompt=_or(request.include_schema_in_prompt, settings.include_schema_in_prompt),
        reasoning="auto" if thinks else "off",
        effort=_EFFORTS.get(request.reasoning_effort or ""),
        thinking_tokens=budget if thinks else None,
    )
    is_strict = described is not None and bool(described.strict)
    return Asking(ask, tools if mode != "none" else (), numbers, is_strict)


def _or(given: Value | None, default: Value) -> Value:
    return default if given is None else given


def _tool(definition: ToolDefinition) -> Tool:
    function = definition.function
    return Tool(
        function.name, function.parameters or {}, function.description or "", function.strict
    )


def _check_tools(definitions: list[ToolDefinition], max_tools: int) -> None:
    if len(definitions) > max_tools:
        raise bad_request(
            f"Invalid 'tools': array too long. Expected an array with maximum length {max_tools}, "
            f"but got one with length {len(definitions)} instead.",
            "tools",
            "array_above_max_length",
        )
    seen: dict[str, int] = {}
    for number, definition in enumerate(definitions):
        name = definition.function.name
        if name in seen:
            raise bad_request(
                f"Duplicate tool name '{name}': tools[{seen[name]}] has it already.",
                f"tools[{number}].function.name",
                "duplicate_tool_name",
            )
        seen[name] = number


def _check_strict(request: ChatRequest) -> None:
    for number, definition in enumerate(request.tools or ()):
        function = definition.function
        if function.strict and function.parameters is not None:
            param = f"tools[{number}].function.parameters"
            check_strict(
                function.parameters,
                f"function '{function.name}'",
                param,
                "invalid_function_parameters",
            )
    wanted = request.response_format
    if isinstance(wanted, JsonSchemaFormat) and wanted.json_schema.strict:
        what = f"response_format '{wanted.json_schema.name}'"
        check_strict(wanted.json_schema.schema_, what, "response_format", "invalid_json_schema")


def _response_schema(request: ChatRequest) -> dict[str, Any] | None:
    wanted = request.response_format
    if isinstance(wanted, JsonSchemaFormat):
        return wanted.json_schema.schema_
    if isinstance(wanted, JsonObjectFormat):
        if not mentions_json(request.messages):
            raise bad_request(
                "'messages' must contain the word 'json' in some form, to use 'response_format' "
                "of type 'json_object'.",
                "messages",
            )
        return {"type": "object"}
    return None


def _choice(request: ChatRequest, names: list[str]) -> tuple[ToolMode, str | None, tuple[int, ...]]:
    """(mode, the one tool's name, numbers of the tools that may be called)."""
    choice, every = request.tool_choice, tuple(range(len(names)))
    if choice is None:
        return "auto", None, every
    if not names:
        if request.tools is not None and choice in ("auto", "none"):
            return choice, None, every
        raise bad_request(
            "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified.",
            "tool_choice",
        )
    if isinstance(choice, str):
        return choice, None, every
    numbers = {name: number for number, name in enumerate(names)}
    if isinstance(choice, NamedTool):
        _number(choice.function.name, numbers, "tool_choice.function.name")
        return "named", choice.function.name, every
    return choice.allowed_tools.mode, None, _allowed(choice, numbers)


def _allowed(choice: AllowedToolsChoice, numbers: Mapping[str, int]) -> tuple[int, ...]:
    allowed = {
        _number(tool.function.name, numbers, f"tool_choice.allowed_tools.tools[{at}].function.name")
        for at, tool in enumerate(choice.allowed_tools.tools)
    }
    return tuple(sorted(allowed))


def _number(name: str, numbers: Mapping[str, int], param: str) -> int:
    if name not in numbers:
        raise _unknown_tool(name, param)
    return numbers[name]


def _unknown_tool(name: str, param: str) -> ApiError:
    return bad_request(
        f"Tool choice '{name[:100]}' not found in 'tools' parameter.", param, "invalid_value"
    )


def template_variables(request: ChatRequest, ask: Ask) -> dict[str, Any]:
    """What the request sets for a chat template: its own ``chat_template_kwargs`` come last."""
    variables: dict[str, Any] = {}
    if ask.reasoning == "off":
        variables = {"enable_thinking": False, "thinking": False}
    elif request.reasoning_effort is not None:
        variables = {"enable_thinking": True, "thinking": True}
    if ask.effort is not None:
        variables["reasoning_effort"] = ask.effort
    if ask.thinking_tokens is not None:
        variables["thinking_budget"] = ask.thinking_tokens
    return variables | dict(request.chat_template_kwargs or {})


def behind_prompt(asking: Asking, thought: Thought, *, one_call: bool) -> Asking:
    """The asking of an answer that begins where its prompt ends; ``one_call``: the chat template
    shows one call a turn.
    """
    ask = replace(asking.ask, thought=thought)
    if one_call:
        ask = replace(ask, parallel_tool_calls=False)
    return replace(asking, ask=ask)
