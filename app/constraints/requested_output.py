"""The output spec of a request: which tools, which choice, which schema.

OpenAI's rules for fields that depend on each other are checked on the way.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, TypeVar, get_args

from adapters.formats import (
    BUILTIN_TOOLS_PARAM,
    BuiltinTool,
    Effort,
    OutputSpec,
    Thought,
    Tool,
)

from ..conversation.history import mentions_json
from ..errors import bad_request
from ..protocol.chat_request import ChatRequest
from ..protocol.tools import (
    AllowedToolsChoice,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamedTool,
    ToolDefinition,
    ToolMode,
)
from ..settings import ModelSettings
from .strict_profile import check_strict

#: OpenAI's reasoning efforts as the three that formats know
_EFFORTS: Mapping[str, Effort] = {
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}
Value = TypeVar("Value")


def requested_output(request: ChatRequest, settings: ModelSettings) -> OutputSpec:
    """Return the output spec; settings decide what the request leaves open.

    Raises:
        ApiError: 400 that names the field.
    """
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
    builtin_tools = _builtin_tools(request)
    mode, name, barred = _choice(request, [tool.name for tool in tools], bool(builtin_tools))
    budget = _or(request.thinking_token_budget, settings.thinking_token_budget)
    thinks = settings.reasons and request.reasoning_effort != "none" and budget != 0
    wanted = request.response_format
    described = wanted.json_schema if isinstance(wanted, JsonSchemaFormat) else None
    return OutputSpec(
        tools=tools,
        tool_choice=mode,
        tool_name=name,
        barred=barred,
        builtin_tools=builtin_tools,
        parallel_tool_calls=request.parallel_tool_calls is not False,
        response_schema=_response_schema(request),
        response_strict=described is not None and bool(described.strict),
        response_name=described.name if described else "",
        response_description=(described.description or "") if described else "",
        schema_in_prompt=_or(request.include_schema_in_prompt, settings.include_schema_in_prompt),
        reasoning="auto" if thinks else "off",
        effort=_EFFORTS.get(request.reasoning_effort or ""),
        thinking_tokens=budget if thinks else None,
    )


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


def _builtin_tools(request: ChatRequest) -> tuple[BuiltinTool, ...]:
    """Return the builtin tools, in the variable of gpt-oss's own chat template."""
    value = (request.chat_template_kwargs or {}).get("builtin_tools") or ()
    known = get_args(BuiltinTool)
    if not isinstance(value, list | tuple) or any(name not in known for name in value):
        raise bad_request(
            f"Invalid value for '{BUILTIN_TOOLS_PARAM}': expected an array of "
            f"{' and '.join(map(repr, known))}.",
            BUILTIN_TOOLS_PARAM,
            "invalid_value",
        )
    return tuple(name for name in known if name in value)


def _choice(
    request: ChatRequest, names: list[str], has_builtin: bool
) -> tuple[ToolMode, str | None, tuple[str, ...]]:
    """Return the mode, the name of a named tool, and the names of tools that may not be called."""
    choice = request.tool_choice
    if choice is None:
        return "auto", None, ()
    if not names:
        if has_builtin and isinstance(choice, str):
            return choice, None, ()
        if request.tools is not None and choice in ("auto", "none"):
            return choice, None, ()
        raise bad_request(
            "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified.",
            "tool_choice",
        )
    if isinstance(choice, str):
        return choice, None, ()
    if isinstance(choice, NamedTool):
        _check_known(choice.function.name, names, "tool_choice.function.name")
        return "named", choice.function.name, ()
    return choice.allowed_tools.mode, None, _barred(choice, names)


def _barred(choice: AllowedToolsChoice, names: list[str]) -> tuple[str, ...]:
    allowed = set()
    known = frozenset(names)
    for number, tool in enumerate(choice.allowed_tools.tools):
        param = f"tool_choice.allowed_tools.tools[{number}].function.name"
        _check_known(tool.function.name, known, param)
        allowed.add(tool.function.name)
    return tuple(name for name in names if name not in allowed)


def _check_known(name: str, known: Collection[str], param: str) -> None:
    if name not in known:
        raise bad_request(
            f"Tool choice '{name[:100]}' not found in 'tools' parameter.", param, "invalid_value"
        )


def template_variables(request: ChatRequest, output: OutputSpec) -> dict[str, Any]:
    """Return the chat template's variables; the request's ``chat_template_kwargs`` come last."""
    variables: dict[str, Any] = {}
    if output.reasoning == "off":
        variables = {"enable_thinking": False, "thinking": False}
    elif request.reasoning_effort is not None:
        variables = {"enable_thinking": True, "thinking": True}
    if output.effort is not None:
        variables["reasoning_effort"] = output.effort
    if output.thinking_tokens is not None:
        variables["thinking_budget"] = output.thinking_tokens
    return variables | dict(request.chat_template_kwargs or {})


def output_after_prompt(output: OutputSpec, thought: Thought, *, one_call: bool) -> OutputSpec:
    """Return the spec of an answer that begins where its prompt ends.

    ``one_call``: the chat template shows one call a turn.
    """
    parallel = output.parallel_tool_calls and not one_call
    return replace(output, thought=thought, parallel_tool_calls=parallel)
