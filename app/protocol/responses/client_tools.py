"""Tools of the Responses API that the client runs, and whose calls have item types of their own.

    type          item of a call     its field     item of a result
    shell         shell_call         action        shell_call_output
    local_shell   local_shell_call   action        local_shell_call_output
    apply_patch   apply_patch_call   operation     apply_patch_call_output

The model sees each as a function, and the arguments of a call are the field of its item.

Not here   the items (client_items), their names in prompts (common_form.responses.tool_names).
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from ..validation import Exact

CallType = Literal["shell_call", "local_shell_call", "apply_patch_call"]
FieldName = Literal["action", "operation"]


class ShellAction(TypedDict):
    commands: list[str]
    timeout_ms: NotRequired[int | None]
    max_output_length: NotRequired[int | None]


class LocalShellAction(TypedDict):
    type: Literal["exec"]
    command: list[str]
    env: dict[str, str]
    timeout_ms: NotRequired[int | None]
    user: NotRequired[str | None]
    working_directory: NotRequired[str | None]


class WriteOperation(TypedDict):
    type: Literal["create_file", "update_file"]
    path: str
    diff: str


class DeleteOperation(TypedDict):
    type: Literal["delete_file"]
    path: str


@dataclasses.dataclass(frozen=True, slots=True)
class ClientTool:
    """A row of the table. ``parameters``: the schema of ``field``, and ``arguments`` its type.

    ``absent``: of the field, what stands for optional members that the model left out. ``beside``:
    members of the item beside the field.
    """

    type: str
    call: CallType
    field: FieldName
    description: str
    parameters: Mapping[str, Any]
    arguments: TypeAdapter[Any]
    absent: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    beside: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def result(self) -> str:
        """The item type of a result."""
        return f"{self.call}_output"


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {**required, **optional},
        "required": list(required),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
#: numbers that fit 32 bits, as clients in every language read them
_NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_TIMEOUT = {**_NUMBER, "description": "Milliseconds."}
_PATH = {**_TEXT, "description": "Relative to the root of the workspace."}
_DIFF = {**_TEXT, "description": "Unified diff; of a new file, each line begins with +."}

_SHELL = ClientTool(
    "shell",
    "shell_call",
    "action",
    "Run shell commands, and return the output and the exit code of each.",
    _object(
        {"commands": _TEXTS},
        timeout_ms=_TIMEOUT,
        max_output_length={**_NUMBER, "description": "Characters."},
    ),
    TypeAdapter(ShellAction),
    absent={"timeout_ms": None, "max_output_length": None},
    beside={"environment": {"type": "local"}},
)
_LOCAL_SHELL = ClientTool(
    "local_shell",
    "local_shell_call",
    "action",
    "Run a command, given as its arguments, and return its output.",
    _object(
        {
            "type": {"const": "exec"},
            "command": _TEXTS,
            "env": {"type": "object", "additionalProperties": _TEXT},
        },
        timeout_ms=_TIMEOUT,
        user=_TEXT,
        working_directory=_TEXT,
    ),
    TypeAdapter(LocalShellAction),
)
_APPLY_PATCH = ClientTool(
    "apply_patch",
    "apply_patch_call",
    "operation",
    "Create, update or delete a file.",
    {
        "anyOf": [
            _object({"type": {"const": "create_file"}, "path": _PATH, "diff": _DIFF}),
            _object({"type": {"const": "update_file"}, "path": _PATH, "diff": _DIFF}),
            _object({"type": {"const": "delete_file"}, "path": _PATH}),
        ]
    },
    TypeAdapter(WriteOperation | DeleteOperation),
)
#: by type
CLIENT_TOOLS: Mapping[str, ClientTool] = {
    each.type: each for each in (_SHELL, _LOCAL_SHELL, _APPLY_PATCH)
}


class OfferedClientTool(Exact):
    """A client tool in a request. ``environment``: of shell; other ones than local are OpenAI's."""

    type: Literal[tuple(CLIENT_TOOLS)]  # type: ignore[valid-type]
    environment: dict[str, Any] | None = None

    @property
    def runs_here(self) -> bool:
        """Whether the client runs it, rather than a container of OpenAI's server."""
        return self.environment is None or self.environment.get("type") == "local"

    @property
    def description(self) -> str:
        """The description for the model, with the skills of the environment."""
        lines = [CLIENT_TOOLS[self.type].description]
        skills = (self.environment or {}).get("skills")
        for skill in skills if isinstance(skills, list) else ():
            if isinstance(skill, dict):
                name, about, path = (skill.get(key) for key in ("name", "description", "path"))
                lines.append(f"Skill {name} in {path}: {about}")
        return "\n".join(lines)

    def shown(self) -> dict[str, Any]:
        """Return the tool as responses repeat it."""
        return self.model_dump(exclude_none=True)
