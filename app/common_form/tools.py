"""Tools and tool choices of chat completions in the common form."""

from collections.abc import Sequence

from adapters.formats import NO_PARAMETERS, InputFormat, Tool, custom_tool

from ..errors import FieldNames, FieldPath, dotted
from ..generation import ChosenTool, ToolChoice
from ..protocol import (
    AllowedToolsChoice,
    AnyToolDefinition,
    ChatToolChoice,
    CustomToolDefinition,
    GrammarInput,
    NamedCustomTool,
    NamedTool,
)


def common_tools(
    definitions: Sequence[AnyToolDefinition] | None, names: FieldNames = dotted
) -> tuple[Tool, ...] | None:
    """Return the tools, each with the client's name of the field that defines it."""
    if definitions is None:
        return None
    return tuple(
        _tool(each, names(("tools", number, each.type))) for number, each in enumerate(definitions)
    )


def _tool(definition: AnyToolDefinition, param: str) -> Tool:
    if isinstance(definition, CustomToolDefinition):
        custom = definition.custom
        wanted = InputFormat()
        if isinstance(custom.format, GrammarInput):
            grammar = custom.format.grammar
            wanted = InputFormat(grammar.syntax, grammar.definition)
        return custom_tool(custom.name, custom.description or "", wanted, param)
    function = definition.function
    parameters = NO_PARAMETERS if function.parameters is None else function.parameters
    about = function.description or ""
    return Tool(function.name, parameters, about, function.strict, param=param)


def common_choice(choice: ChatToolChoice | None) -> ToolChoice | None:
    """Return the choice; None: the request has none."""
    if choice is None:
        return None
    if isinstance(choice, str):
        return ToolChoice(choice)
    if isinstance(choice, AllowedToolsChoice):
        allowed, place = choice.allowed_tools, ("tool_choice", "allowed_tools", "tools")
        tools = (_chosen(each, (*place, number)) for number, each in enumerate(allowed.tools))
        return ToolChoice(allowed.mode, tuple(tools))
    return ToolChoice("named", (_chosen(choice, ("tool_choice",)),))


def _chosen(tool: NamedTool | NamedCustomTool, at: FieldPath) -> ChosenTool:
    named = tool.function if isinstance(tool, NamedTool) else tool.custom
    return ChosenTool(named.name, tool.type == "custom", (*at, tool.type, "name"))
