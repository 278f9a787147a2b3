"""The output spec of a request: which tools, which choice, which schema.

OpenAI's rules for fields that depend on each other are checked on the way.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from adapters.formats import (
    BUILTIN_TOOLS_PARAM,
    BuiltinTool,
    Effort,
    InputFormat,
    OutputSpec,
    Thought,
    Tool,
    custom_tool,
)

from ..errors import bad_request
from ..protocol import (
    UNBOUNDED,
    AllowedToolsChoice,
    ChatRequest,
    CustomToolDefinition,
    GrammarInput,
    JsonSchemaFormat,
    NamedCustomTool,
    NamedTool,
    ToolDefinition,
    ToolMode,
)
from ..settings import MAX_JSON_VALUES, ModelSettings
from .asked_thinking import asked_thinking
from .response_constraint import ResponseConstraint, response_constraint
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
Definition = ToolDefinition | CustomToolDefinition


def requested_output(
    request: ChatRequest, settings: ModelSettings, *, max_json_values: int = MAX_JSON_VALUES
) -> OutputSpec:
    """Return the output spec; settings decide what the request leaves open.

    ``max_json_values``: of JSON that a field has as text.

    Raises:
        ApiError: 400 that names the field.
    """
    definitions = request.tools or []
    _check_tools(definitions, settings.max_tools)
    # true is the default of vLLM and SGLang, whose clients send it without tools
    if request.parallel_tool_calls is False and request.tools is None:
        raise bad_request(
            "Invalid value for 'parallel_tool_calls': only allowed when 'tools' are specified.",
            "parallel_tool_calls",
        )
    if settings.strict_profile == "openai":
        _check_strict(request)
    tools = tuple(_tool(definition) for definition in definitions)
    builtin_tools = _builtin_tools(request)
    mode, name, barred = _choice(request, bool(builtin_tools))
    asked = asked_thinking(request)
    budget = _or(asked.budget, settings.thinking_token_budget)
    thinks = settings.reasons and asked.is_on is not False and budget != 0
    none = ResponseConstraint(param="response_format")
    in_prompt = _or(request.include_schema_in_prompt, settings.include_schema_in_prompt)
    wanted = response_constraint(request, max_json_values, in_prompt=in_prompt) or none
    if wanted.grammar is not None and builtin_tools and mode != "none":
        message = f"Invalid request: '{wanted.param}' and '{BUILTIN_TOOLS_PARAM}' cannot stand "
        message += "together: the constraint describes the whole answer."
        raise bad_request(message, wanted.param, "invalid_value")
    return OutputSpec(
        tools=tools,
        tool_choice=mode,
        tool_name=name,
        barred=barred,
        builtin_tools=builtin_tools,
        parallel_tool_calls=request.parallel_tool_calls is not False,
        response_schema=wanted.schema,
        response_grammar=wanted.grammar,
        response_param=wanted.param,
        response_strict=wanted.strict,
        response_name=wanted.name,
        response_description=wanted.description,
        schema_in_prompt=in_prompt,
        reasoning="auto" if thinks else "off",
        effort=_EFFORTS.get(asked.effort or ""),
        thinking_tokens=budget if thinks and budget != UNBOUNDED else None,
    )


def _or(given: Value | None, default: Value) -> Value:
    return default if given is None else given


def _tool(definition: Definition) -> Tool:
    if isinstance(definition, CustomToolDefinition):
        custom = definition.custom
        wanted = InputFormat()
        if isinstance(custom.format, GrammarInput):
            grammar = custom.format.grammar
            wanted = InputFormat(grammar.syntax, grammar.definition)
        return custom_tool(custom.name, custom.description or "", wanted)
    function = definition.function
    return Tool(
        function.name, function.parameters or {}, function.description or "", function.strict
    )


def _check_tools(definitions: Sequence[Definition], max_tools: int) -> None:
    if len(definitions) > max_tools:
        raise bad_request(
            f"Invalid 'tools': array too long. Expected an array with maximum length {max_tools}, "
            f"but got an array with length {len(definitions)} instead.",
            "tools",
            "array_above_max_length",
        )
    seen: dict[str, int] = {}
    for number, definition in enumerate(definitions):
        name = definition.name
        if name in seen:
            raise bad_request(
                f"Duplicate tool name '{name}': tools[{seen[name]}] has it already.",
                f"tools[{number}].{definition.type}.name",
                "duplicate_tool_name",
            )
        seen[name] = number


def _check_strict(request: ChatRequest) -> None:
    for number, definition in enumerate(request.tools or ()):
        if isinstance(definition, CustomToolDefinition):
            continue
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
    request: ChatRequest, has_builtin: bool
) -> tuple[ToolMode, str | None, tuple[str, ...]]:
    """Return the mode, the name of a named tool, and the names of tools that may not be called."""
    choice = request.tool_choice
    if choice is None:
        return "auto", None, ()
    if not request.tools:
        if has_builtin and isinstance(choice, str):
            return choice, None, ()
        if choice == "none" or (request.tools is not None and choice == "auto"):
            return choice, None, ()
        raise bad_request(
            "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified.",
            "tool_choice",
        )
    if isinstance(choice, str):
        return choice, None, ()
    known = frozenset((tool.type, tool.name) for tool in request.tools)
    if isinstance(choice, NamedTool | NamedCustomTool):
        _check_known(choice, known, "tool_choice")
        return "named", choice.name, ()
    return choice.allowed_tools.mode, None, _barred(choice, request.tools, known)


def _barred(
    choice: AllowedToolsChoice, tools: Sequence[Definition], known: Collection[tuple[str, str]]
) -> tuple[str, ...]:
    allowed = set()
    for number, tool in enumerate(choice.allowed_tools.tools):
        _check_known(tool, known, f"tool_choice.allowed_tools.tools[{number}]")
        allowed.add(tool.name)
    return tuple(tool.name for tool in tools if tool.name not in allowed)


def _check_known(
    choice: NamedTool | NamedCustomTool, known: Collection[tuple[str, str]], param: str
) -> None:
    if (choice.type, choice.name) not in known:
        raise bad_request(
            f"Tool choice '{choice.name[:100]}' not found in 'tools' parameter.",
            f"{param}.{choice.type}.name",
            "invalid_value",
        )


#: what the prompt says for a verbosity; "medium" is the model's own way
VERBOSITY: Mapping[str, str] = {
    "low": "Verbosity: low. Keep your answers short and to the point.",
    "high": "Verbosity: high. Make your answers thorough and detailed.",
}


def template_variables(request: ChatRequest, output: OutputSpec) -> dict[str, Any]:
    """Return the chat template's variables; the request's ``chat_template_kwargs`` come last."""
    variables: dict[str, Any] = {}
    if request.verbosity in VERBOSITY:
        variables["verbosity"] = request.verbosity
    if output.reasoning == "off":
        variables |= {"enable_thinking": False, "thinking": False}
    elif asked_thinking(request).is_on:
        variables |= {"enable_thinking": True, "thinking": True}
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
