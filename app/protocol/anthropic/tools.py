"""Tools and tool choices as Anthropic writes them.

{"name", "input_schema"}            a function of the client
CLIENT_TOOLS                        functions of the client whose inputs Anthropic has defined
SERVER_TOOLS                        what only Anthropic's server can run: left out
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from ..validation import Exact, Items, Lenient, Options, refuse_type

#: Anthropic's bound on names of tools
NAME = r"^[a-zA-Z0-9_.-]{1,128}$"
#: examples of a tool's input
MAX_EXAMPLES = 32
#: types of tools that run at the client, without the date at their end
CLIENT_TOOLS = ("bash", "memory", "text_editor")
#: types of tools that do not
SERVER_TOOLS = (
    *("advisor", "browser_toolset", "code_execution", "computer", "computer_toolset"),
    *("mcp_toolset", "tool_search_tool_bm25", "tool_search_tool_regex", "web_fetch", "web_search"),
)


def tool_family(kind: str) -> str:
    """Return the type of a tool without the date at its end."""
    name, _, date = kind.rpartition("_")
    return name if date.isdecimal() else kind


class CallableTool(BaseModel):
    """``allowed_callers``: a tool without "direct" is for programs of Anthropic's server only.
    ``cache_control``, ``defer_loading``, ``eager_input_streaming``: no effect.
    """

    allowed_callers: Items[str] | None = None
    cache_control: Any = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None

    @property
    def is_callable(self) -> bool:
        """Whether the model may call it."""
        return self.allowed_callers is None or "direct" in self.allowed_callers


class ClientFunction(CallableTool, Exact):
    """A function."""

    type: Literal["custom"] | None = None
    name: str = Field(pattern=NAME)
    description: str | None = None
    input_schema: dict[str, Any]
    strict: bool | None = None
    input_examples: Annotated[list[dict[str, Any]], Field(max_length=MAX_EXAMPLES)] | None = None


class DefinedTool(CallableTool, Options):
    """A tool whose input follows from its type. Other fields than its name: no effect."""

    type: str
    name: str = Field(pattern=NAME)
    input_examples: Any = None
    max_characters: Any = None
    strict: Any = None


class ServerTool(Lenient):
    """A tool that is left out."""

    type: str
    name: str | None = None


def _known(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if isinstance(kind, str) and tool_family(kind) not in (*CLIENT_TOOLS, *SERVER_TOOLS):
        refuse_type(kind, ("custom",), "Tools")
    return value


def _kind(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind == "custom":
        return "a function"
    return "a defined tool" if tool_family(kind) in CLIENT_TOOLS else "a server tool"


MessagesTool = Annotated[
    Annotated[ClientFunction, Tag("a function")]
    | Annotated[DefinedTool, Tag("a defined tool")]
    | Annotated[ServerTool, Tag("a server tool")],
    Discriminator(_kind),
    BeforeValidator(_known),
]


class MessagesToolChoice(Exact):
    """``name``: of the tool, with the type "tool"."""

    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _names_a_tool(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("type") == "tool" and value.get("name") is None:
            raise PydanticCustomError("missing_text", "this choice needs it", {"kind": "name"})
        return value
