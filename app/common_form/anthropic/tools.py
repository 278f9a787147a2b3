"""Tools and tool choices of Anthropic's API in the common form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from adapters.formats import Tool

from ...errors import bad_request
from ...generation import ChosenTool, ToolChoice
from ...protocol import (
    ClientFunction,
    DefinedTool,
    MessagesTool,
    MessagesToolChoice,
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


def _commands(commands: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an input with one of these commands and its fields."""
    return {
        "type": "object",
        "properties": {"command": {"type": "string", "enum": [*commands]}, **fields, **_EDIT},
        "required": ["command"],
        "additionalProperties": False,
    }


#: descriptions and inputs of the tools that Anthropic has defined for clients, by their types
_DEFINED: dict[str, tuple[str, dict[str, Any]]] = {
    "bash": (
        "Run a command in a shell that stays open, or restart the shell.",
        {
            "type": "object",
            "properties": {"command": _TEXT, "restart": {"type": "boolean"}},
            "additionalProperties": False,
        },
    ),
    "text_editor": (
        "View, create and edit text files.",
        _commands(("view", "create", "str_replace", "insert", "undo_edit"), {"path": _TEXT}),
    ),
    "memory": (
        "Read and write files under /memories, which outlast the conversation.",
        _commands(
            ("view", "create", "str_replace", "insert", "delete", "rename"),
            {"path": _TEXT, "old_path": _TEXT, "new_path": _TEXT},
        ),
    ),
}


def offered_tools(tools: Sequence[MessagesTool]) -> tuple[tuple[Tool, ...], list[str]]:
    """Return the tools that the model may call, and those that are left out: places and types."""
    offered: list[Tool] = []
    left_out: list[str] = []
    for number, tool in enumerate(tools):
        place = f"tools[{number}]"
        if isinstance(tool, ClientFunction) and tool.is_callable:
            offered.append(
                Tool(
                    tool.name,
                    tool.input_schema,
                    _described(tool),
                    tool.strict,
                    param=place,
                    schema_field="input_schema",
                )
            )
        elif isinstance(tool, DefinedTool):
            about, schema = _DEFINED[tool_family(tool.type)]
            offered.append(Tool(tool.name, schema, about, None, param=place))
        else:
            left_out.append(f"{pointer(place)} {tool.type or 'allowed_callers'}")
    return tuple(offered), left_out


def _described(tool: ClientFunction) -> str:
    examples = [json.dumps(each, ensure_ascii=False) for each in tool.input_examples or ()]
    told = ["Examples of its input:", *examples] if examples else []
    return "\n".join(filter(None, (tool.description, *told)))


def common_choice(
    choice: MessagesToolChoice | None, tools: Sequence[Tool], *, any_left_out: bool
) -> ToolChoice | None:
    """Return the choice; None: the request has none, or no tools.

    Raises:
        ApiError: 400, it requires a tool, and all are left out.
    """
    if choice is None:
        return None
    if not tools and any_left_out and choice.type in ("any", "tool"):
        raise bad_request(
            "Invalid value for 'tool_choice': it requires a call, but this server has none of "
            "these tools.",
            "tool_choice",
            "unsupported_value",
        )
    match choice.type:
        case "any":
            return ToolChoice("required")
        case "tool":
            chosen = ChosenTool(choice.name or "", False, ("tool_choice", "name"))
            return ToolChoice("named", (chosen,))
        case mode:
            return ToolChoice(mode) if tools else None
