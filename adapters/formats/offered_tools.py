"""Parts that every family derives from an output spec: the offered tools, a JSON value."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from engine import Style

from .argument_schema import argument_schema, sorted_properties
from .custom_tools import input_part, input_style
from .output_spec import FormatError, JsonLayout, OutputSpec, Tool
from .parts import ARGUMENTS, JSON_STYLE, VALUE, Kind, Origin, Part, Role, json_value
from .response_grammar import grammar_value
from .spelling import Spelling

#: the field of a request that offers builtin tools
BUILTIN_TOOLS_PARAM = "chat_template_kwargs.builtin_tools"


@dataclass(frozen=True)
class OfferedTool:
    """A tool of a spec. ``spelled``: its name as the format writes it. ``param``: its field in the
    request. ``layout``: of its arguments, if they are JSON. ``sorted_levels``: see Format.
    """

    tool: Tool
    spelled: str
    param: str
    layout: JsonLayout | None = None
    sorted_levels: int = 0

    def arguments(self, style: str | Style = JSON_STYLE) -> Part:
        """Return the node of the arguments: always an object."""
        if self.tool.input is not None:
            return input_part(self.tool.input, style, f"{self.param}.format", self.layout)
        param = f"{self.param}.{self.tool.schema_field}"
        origin = Origin(param, is_schema=True, is_strict=bool(self.tool.strict))
        schema = sorted_properties(argument_schema(self.tool.parameters, param), self.sorted_levels)
        return json_value(schema, ARGUMENTS, origin, style)

    def role(self, style: str | Style = JSON_STYLE, call_id: str = "") -> Role:
        """Return the role of the call's tag; ``call_id``: see Role."""
        wanted = self.tool.input
        if wanted is not None:
            style = input_style(wanted, style)
        return Role(Kind.CALL, self.tool.name, call_id, style, is_custom=wanted is not None)

    @property
    def origin(self) -> Origin:
        return Origin(self.param)


def answer_value(output: OutputSpec) -> Part | None:
    """Return the node of content that is a JSON value or constrained; None: it is free text."""
    if output.response_grammar is not None:
        return grammar_value(output.response_grammar)
    if output.response_schema is None:
        return None
    origin = Origin(output.response_param, is_schema=True, is_strict=output.response_strict)
    return json_value(output.response_schema, VALUE, origin)


def must_call(output: OutputSpec) -> bool:
    """Whether the answer must be calls."""
    return output.tool_choice in ("required", "named")


def one_call_only(output: OutputSpec) -> bool:
    """Whether the answer contains at most one call."""
    return output.tool_choice == "named" or not output.parallel_tool_calls


def tool_param(number: int, tool: Tool) -> str:
    """Return the field of a request that defines its tool of this number."""
    return tool.param or f"tools[{number}].{'function' if tool.input is None else 'custom'}"


def _offered(output: OutputSpec) -> list[tuple[int, Tool]]:
    """Return the tools that may be called, with their numbers in the request.

    Raises:
        FormatError: the choice names no tool, or two tools have the same name.
    """
    names = [tool.name for tool in output.tools]
    first = {name: number for number, name in reversed(list(enumerate(names)))}
    for number, name in enumerate(names):
        if first[name] != number:
            place = tool_param(number, output.tools[number])
            raise FormatError(f"a second tool named {name!r}", f"{place}.name")
    if output.tool_choice == "none":
        return []
    if output.tool_choice == "named":
        if output.tool_name not in names:
            raise FormatError(f"no tool is named {output.tool_name!r}", "tool_choice")
        number = names.index(output.tool_name)
        return [(number, output.tools[number])]
    if output.tool_choice == "required" and not names and not output.builtin_tools:
        raise FormatError("a call is required but there are no tools", "tool_choice")
    return [(n, tool) for n, tool in enumerate(output.tools) if tool.name not in output.barred]


def offered_tools(
    output: OutputSpec,
    spell: Spelling,
    marks: Sequence[str],
    builtin_names: Collection[str] | None = None,
    *,
    sorted_levels: int = 0,
) -> list[OfferedTool]:
    """Return the tools that may be called. ``marks``: texts that no name may contain.
    ``builtin_names``: of the builtin tools' calls; None: the format has no builtin tools.
    ``sorted_levels``: see Format.

    Raises:
        FormatError: the format has no builtin tools, or cannot spell a name unambiguously.
    """
    if output.builtin_tools and builtin_names is None:
        raise FormatError("this model's format has no builtin tools", BUILTIN_TOOLS_PARAM)
    found = []
    for number, tool in _offered(output):
        param = tool_param(number, tool)
        spelled = spell(tool.name)
        if spelled is None or any(mark in tool.name or mark in spelled for mark in marks if mark):
            raise FormatError(f"this format cannot spell the name {tool.name!r}", f"{param}.name")
        if tool.name in (builtin_names or ()):
            raise FormatError(f"{tool.name!r} is the name of a builtin tool", f"{param}.name")
        layout = output.json_rules.layout
        found.append(OfferedTool(tool, spelled, param, layout, sorted_levels))
    return found
