"""Tools and tool choices of Anthropic's API in the common form."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adapters.formats import Tool

from ...errors import ApiError, bad_request
from ...generation import ChosenTool, ToolChoice
from ...protocol import (
    ClientFunction,
    DefinedTool,
    MessagesTool,
    MessagesToolChoice,
    ServerTool,
    ToolChangeBlock,
    pointer,
    tool_family,
)

_TEXT, _COUNT = {"type": "string"}, {"type": "integer"}
_RANGE = {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2}
_EDIT = {
    "file_text": _TEXT,
    "old_str": _TEXT,
    "new_str": _TEXT,
    "insert_line": _COUNT,
    "insert_text": _TEXT,
    "view_range": _RANGE,
}
#: commands on files, and the fields that they need
_FILES: dict[str, Sequence[str]] = {
    "view": ("path",),
    "create": ("path", "file_text"),
    "str_replace": ("path", "old_str"),
    "insert": ("path", "insert_line"),
}


def _commands(fields: Mapping[str, Any], commands: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the schema of an input with one of these commands. ``commands``: their required
    fields, beside the command.
    """
    return {
        "type": "object",
        "properties": {"command": {"type": "string", "enum": [*commands]}, **fields, **_EDIT},
        "required": ["command"],
        "additionalProperties": False,
        "anyOf": [
            {"properties": {"command": {"const": name}}, "required": ["command", *required]}
            for name, required in commands.items()
        ],
    }


#: descriptions and inputs of the tools that Anthropic has defined for clients, by their types
_DEFINED: dict[str, tuple[str, dict[str, Any]]] = {
    "bash": (
        "Run a command in a shell that stays open, or restart the shell.",
        {
            "type": "object",
            "properties": {"command": _TEXT, "restart": {"type": "boolean"}},
            "additionalProperties": False,
            "anyOf": [{"required": ["command"]}, {"required": ["restart"]}],
        },
    ),
    "text_editor": (
        "View, create and edit text files.",
        _commands({"path": _TEXT}, _FILES | {"undo_edit": ("path",)}),
    ),
    "memory": (
        "Read and write files under /memories, which outlast the conversation.",
        _commands(
            {"path": _TEXT, "old_path": _TEXT, "new_path": _TEXT},
            _FILES
            | {
                "str_replace": ("path", "old_str", "new_str"),
                "insert": ("path", "insert_line", "insert_text"),
                "delete": ("path",),
                "rename": ("old_path", "new_path"),
            },
        ),
    ),
}


@dataclass(slots=True)
class OfferedTools:
    """The tools of a request, with the changes that its messages make.

    ``tools``     that the prompt shows; a message that defines one again moves it to the end.
    ``removed``   names of those among them that may not be called any more: the prompt keeps them,
                  so that its beginning stays in the workers' caches.
    ``left_out``  names of tools that this server lacks; "": of one without a name.
    ``ignored``   places and kinds of these, and of changes without effect.
    """

    removed: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    ignored: list[str] = field(default_factory=list)
    #: by their places, and the places by names
    _tools: dict[str, Tool] = field(default_factory=dict)
    _places: dict[str, list[str]] = field(default_factory=dict)

    @property
    def tools(self) -> Sequence[Tool]:
        return [*self._tools.values()]

    def offer(self, tool: MessagesTool, place: str) -> None:
        """Add a tool, or leave it out."""
        if not isinstance(tool, ServerTool) and tool.is_callable:
            self._tools[place] = _common_tool(tool, place)
            self._places.setdefault(tool.name, []).append(place)
            return
        kind = tool_family(tool.type) if isinstance(tool, ServerTool) else "allowed_callers"
        self.left_out.add(tool.name or "")
        self.ignored.append(f"{pointer(place)} {kind}")

    def change(self, block: ToolChangeBlock, place: str) -> None:
        """Offer a tool that a message defines, in place of its namesake; or allow or forbid one."""
        name = block.tool.name
        if block.type == "tool_addition" and (tool := block.tool.definition) is not None:
            name = tool.name
            for former in self._places.pop(name or "", ()):
                del self._tools[former]
            self.offer(tool, f"{place}.tool.definition")
        elif name not in self._places:
            self.ignored.append(f"{pointer(place)} {block.type}")
        if name is not None:
            (self.removed.add if block.type == "tool_removal" else self.removed.discard)(name)

    @property
    def callable(self) -> list[str]:
        """The names of the tools that may be called."""
        return [tool.name for tool in self.tools if tool.name not in self.removed]


def offered_tools(
    tools: Sequence[MessagesTool], changes: Sequence[tuple[str, ToolChangeBlock]]
) -> OfferedTools:
    """Return the tools of a request. ``changes``: with their places."""
    offered = OfferedTools()
    for number, tool in enumerate(tools):
        offered.offer(tool, f"tools[{number}]")
    for place, block in changes:
        offered.change(block, place)
    return offered


def _common_tool(tool: ClientFunction | DefinedTool, place: str) -> Tool:
    if isinstance(tool, DefinedTool):
        about, schema = _DEFINED[tool_family(tool.type)]
        return Tool(tool.name, schema, about, None, param=place)
    return Tool(
        tool.name,
        tool.input_schema,
        _described(tool),
        tool.strict,
        param=place,
        schema_field="input_schema",
    )


def _described(tool: ClientFunction) -> str:
    examples = [json.dumps(each, ensure_ascii=False) for each in tool.input_examples or ()]
    told = ["Examples of its input:", *examples] if examples else []
    return "\n".join(filter(None, (tool.description, *told)))


def common_choice(choice: MessagesToolChoice | None, offered: OfferedTools) -> ToolChoice | None:
    """Return the choice; None: the request has none, or no tools.

    Raises:
        ApiError: 400, it requires a tool that may not be called.
    """
    may = offered.callable
    kind = "auto" if choice is None else choice.type
    if choice is not None and kind == "tool":
        name = choice.name or ""
        if name not in may and name in offered.left_out | offered.removed:
            raise _uncallable(f"the tool '{name[:100]}' cannot be called here", "tool_choice.name")
        return ToolChoice("named", (ChosenTool(name, False, ("tool_choice", "name")),))
    if kind == "any" and not may and (offered.left_out or offered.removed):
        raise _uncallable(
            "it requires a call, but none of the tools can be called here", "tool_choice"
        )
    if not offered.tools and kind != "any":
        return None
    if kind == "none" or (not may and kind == "auto"):
        return ToolChoice("none")
    allowed = [ChosenTool(name, False, ("tools",)) for name in may] if offered.removed else []
    if choice is None and not allowed:
        return None
    return ToolChoice("required" if kind == "any" else "auto", tuple(allowed))


def _uncallable(problem: str, param: str) -> ApiError:
    message = f"Invalid value for '{param}': {problem}."
    return bad_request(message, param, "unsupported_value")
