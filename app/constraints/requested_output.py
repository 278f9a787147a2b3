"""The output spec of a request: which tools, which choice, which schema.

OpenAI's rules for fields that depend on each other are checked on the way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, get_args

from adapters.formats import (
    BUILTIN_TOOLS_PARAM,
    NAMED_LAYOUTS,
    NO_PARAMETERS,
    BuiltinTool,
    Effort,
    JsonRules,
    OutputSpec,
    ResponseGrammar,
    Thought,
    Tool,
    tool_param,
)

from ..errors import bad_field, bad_request
from ..generation import AskedLayout, ChosenTool, GenerationRequest, ShownAnswers, ToolMode
from ..protocol import UNBOUNDED
from ..settings import MAX_JSON_VALUES, ModelSettings
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
#: answers of a model of which nothing is known
_ANY = ShownAnswers()
#: layouts that leave the white space to the model, unless a pattern asks for them
_FREE = ("template", "flexible")


def requested_output(
    request: GenerationRequest,
    settings: ModelSettings,
    shown: ShownAnswers = _ANY,
    *,
    max_json_values: int = MAX_JSON_VALUES,
) -> OutputSpec:
    """Return the output spec; settings decide what the request leaves open.

    ``shown``: how the model answers by itself.
    ``max_json_values``: of JSON that a field has as text.

    Raises:
        ApiError: 400 that names the field.
    """
    tools = request.tools or ()
    _check_tools(tools, settings.max_tools)
    # true is the default of vLLM and SGLang, whose clients send it without tools
    if request.parallel_tool_calls is False and request.tools is None:
        raise bad_request(
            "Invalid value for 'parallel_tool_calls': only allowed when 'tools' are specified.",
            "parallel_tool_calls",
        )
    if settings.strict_profile == "openai":
        _check_strict(request)
    builtin_tools = _builtin_tools(request)
    mode, name, barred = _choice(request, bool(builtin_tools))
    asked = request.thinking
    budget = _or(asked.budget, settings.thinking_token_budget)
    thinks = settings.reasons and asked.is_on is not False and budget != 0
    in_prompt = _or(request.schema_in_prompt, settings.include_schema_in_prompt)
    wanted = response_constraint(request, max_json_values, in_prompt=in_prompt)
    wanted = wanted or ResponseConstraint(param="response_format")
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
        parallel_tool_calls=several_calls(request.parallel_tool_calls, settings, shown),
        response_schema=wanted.schema,
        response_grammar=wanted.grammar,
        response_param=wanted.param,
        response_strict=wanted.strict,
        response_name=wanted.name,
        response_description=wanted.description,
        schema_in_prompt=in_prompt,
        schema_style=settings.schema_style,
        json_rules=_json_rules(request, settings, shown.json_rules),
        layout_param=_relied_upon(request.json_layout, wanted.grammar),
        reasoning="auto" if thinks else "off",
        effort=_EFFORTS.get(asked.effort or ""),
        thinking_tokens=budget if thinks and budget != UNBOUNDED else None,
        # other engines take much longer for the new grammar of each turn
        calls_before=0 if settings.grammar_backend == "switchyard" else None,
    )


def several_calls(asked: bool | None, settings: ModelSettings, shown: ShownAnswers) -> bool:
    """Whether an answer may have several calls; ``asked``: what its request says."""
    if asked is not None:
        return asked
    default = settings.parallel_tool_calls
    return shown.several_calls if default == "template" else default == "true"


def _json_rules(request: GenerationRequest, settings: ModelSettings, rules: JsonRules) -> JsonRules:
    """Return the rules of an answer; ``rules``: the model's own. Raises ApiError 400."""
    closes = request.closes_objects
    if closes and settings.grammar_backend != "switchyard":
        param = "structured_outputs.disable_additional_properties"
        raise bad_request(
            f"Invalid value for '{param}': the workers' grammar backend "
            f"'{settings.grammar_backend}' cannot enforce it. Set 'additionalProperties' to false "
            "in the schema.",
            param,
            "unsupported_value",
        )
    layout = settings.json_layout if request.json_layout is None else request.json_layout.name
    return replace(
        rules,
        layout=rules.layout if layout == "template" else NAMED_LAYOUTS[layout],
        extra_keys=settings.extra_keys if closes is None else "none" if closes else "last",
        argument_order=settings.argument_order,
        max_items=settings.default_max_items,
        max_length=settings.default_max_length,
    )


def _relied_upon(layout: AskedLayout | None, grammar: ResponseGrammar | None) -> str | None:
    """Return the field whose layout the client relies on; None: there is none.

    Raises:
        ApiError: 400 beside a structural tag, which layouts do not change.
    """
    if layout is None or (layout.param == "json_layout" and layout.name in _FREE):
        return None
    if grammar is not None and grammar.kind == "structural_tag":
        raise bad_field(
            "Invalid request: '{at}' and '{second}' cannot stand together: a structural tag has "
            "the white space that it describes.",
            layout.param,
            "invalid_value",
            second=(grammar.param,),
        )
    return layout.param


def _or(given: Value | None, default: Value) -> Value:
    return default if given is None else given


def _check_tools(tools: Sequence[Tool], max_tools: int) -> None:
    if len(tools) > max_tools:
        raise bad_field(
            "Invalid '{at}': array too long. Expected an array with maximum length {most}, but got "
            "an array with length {got} instead.",
            ("tools",),
            "array_above_max_length",
            most=max_tools,
            got=len(tools),
        )
    seen: dict[str, int] = {}
    for number, tool in enumerate(tools):
        name = tool.name
        if name in seen:
            raise bad_field(
                "Duplicate tool name '{name}': {first} has it already.",
                f"{tool_param(number, tool)}.name",
                "duplicate_tool_name",
                name=name,
                first=("tools", seen[name]),
            )
        seen[name] = number


def _check_strict(request: GenerationRequest) -> None:
    for number, tool in enumerate(request.tools or ()):
        if tool.strict and tool.input is None and tool.parameters is not NO_PARAMETERS:
            check_strict(
                dict(tool.parameters),
                f"function '{tool.name}'",
                f"{tool_param(number, tool)}.{tool.schema_field}",
                "invalid_function_parameters",
            )
    for each in request.constraints:
        if each.is_format and each.strict:
            what = f"{each.param} '{each.name}'"
            check_strict(each.value, what, each.param, "invalid_json_schema")


def _builtin_tools(request: GenerationRequest) -> tuple[BuiltinTool, ...]:
    """Return the builtin tools, in the variable of gpt-oss's own chat template."""
    value = request.template_variables.get("builtin_tools")
    if not value:
        return ()
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
    request: GenerationRequest, has_builtin: bool
) -> tuple[ToolMode, str | None, tuple[str, ...]]:
    """Return the mode, the name of a named tool, and the names of tools that may not be called."""
    choice = request.tool_choice
    if choice is None:
        return "auto", None, ()
    if not request.tools:
        if not choice.tools:
            if has_builtin or choice.mode == "none":
                return choice.mode, None, ()
            if request.tools is not None and choice.mode == "auto":
                return "auto", None, ()
        raise bad_request(
            "Invalid value for 'tool_choice': it is only allowed when 'tools' are specified.",
            "tool_choice",
        )
    if not choice.tools:
        return choice.mode, None, ()
    _check_known(choice.tools, request.tools)
    names = [tool.name for tool in choice.tools]
    if choice.mode == "named":
        return "named", names[0], ()
    return choice.mode, None, tuple(tool.name for tool in request.tools if tool.name not in names)


def _check_known(chosen: Sequence[ChosenTool], tools: Sequence[Tool]) -> None:
    known = {(tool.name, tool.input is not None) for tool in tools}
    for tool in chosen:
        if (tool.name, tool.is_custom) not in known:
            raise bad_field(
                "Tool choice '{name}' not found in '{tools}' parameter.",
                tool.at,
                "invalid_value",
                name=tool.name[:100],
                tools=("tools",),
            )


#: what the prompt says for a verbosity; "medium" is the model's own way
VERBOSITY: Mapping[str, str] = {
    "low": "Verbosity: low. Keep your answers short and to the point.",
    "high": "Verbosity: high. Make your answers thorough and detailed.",
}


def template_variables(request: GenerationRequest, output: OutputSpec) -> dict[str, Any]:
    """Return the chat template's variables; those of the request come last."""
    variables: dict[str, Any] = {}
    if request.verbosity in VERBOSITY:
        variables["verbosity"] = request.verbosity
    if output.reasoning == "off":
        variables |= {"enable_thinking": False, "thinking": False}
    elif request.thinking.is_on:
        variables |= {"enable_thinking": True, "thinking": True}
    if output.effort is not None:
        variables["reasoning_effort"] = output.effort
    if output.thinking_tokens is not None:
        variables["thinking_budget"] = output.thinking_tokens
    return variables | dict(request.template_variables)


def output_after_prompt(output: OutputSpec, thought: Thought, calls_before: int = 0) -> OutputSpec:
    """Return the spec of an answer that begins where its prompt ends, behind these calls."""
    before = None if output.calls_before is None else calls_before
    if (thought, before) == (output.thought, output.calls_before):
        return output
    return replace(output, thought=thought, calls_before=before)
