"""Tools, tool choices and formats of text, as the Responses API writes them."""

from typing import Annotated, Any, Literal, NotRequired

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator
from typing_extensions import TypedDict

from .. import tools as chat
from ..validation import Exact, Items, Lenient, refuse_fields, refuse_type, tag_of
from .client_tools import CLIENT_TOOLS, OfferedClientTool

#: fields of tools that are not served, with the values that leave the output as it is
RESPONSES_TOOL_OFF: dict[str, tuple[Any, ...]] = {
    "allowed_callers": (None, ["direct"]),
    "async": (None, False),
    "output_schema": (None,),
}
#: types of tools that only OpenAI's server can run
HOSTED = (
    *("code_interpreter", "computer", "computer_use", "computer_use_preview", "file_search"),
    *("image_generation", "mcp", "programmatic_tool_calling", "tool_search", "web_search"),
    *("web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
)


def _served(value: Any, *kinds: str) -> Any:
    if not isinstance(value, dict):
        return value
    refuse_type(value.get("type"), ("function", "custom", *kinds, *HOSTED), "Tools")
    return value if value.get("type") in HOSTED else refuse_fields(value, RESPONSES_TOOL_OFF)


class FunctionTool(Exact):
    """``defer_loading``: without effect, the model knows all tools from the beginning."""

    type: Literal["function"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None

    def shown(self) -> dict[str, Any]:
        """Return the tool as responses repeat it; its schema is not copied, which takes long."""
        tool = {name: getattr(self, name) for name in type(self).model_fields}
        return _without_nulls(tool, "defer_loading")


def _without_nulls(value: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return an object without those of these fields that are null: OpenAI's types forbid it."""
    return {name: each for name, each in value.items() if each is not None or name not in names}


class ResponseGrammarInput(Exact):
    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str = Field(min_length=1)


class CustomTool(Exact):
    """A tool whose input is one text. ``defer_loading``: as in FunctionTool."""

    type: Literal["custom"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    format: Annotated[chat.TextInput | ResponseGrammarInput, Field(discriminator="type")] | None = (
        None
    )
    defer_loading: bool | None = None

    def shown(self) -> dict[str, Any]:
        """Return the tool as responses repeat it."""
        wanted = self.format or chat.TextInput(type="text")
        tool = {
            "type": self.type,
            "name": self.name,
            "description": self.description,
            "format": wanted.model_dump(),
            "defer_loading": self.defer_loading,
        }
        return _without_nulls(tool, "description", "defer_loading")


class HostedTool(Lenient):
    """A tool that is left out."""

    type: Literal[HOSTED]  # type: ignore[valid-type]


#: tags of tools by their type; see _CHOICES
_TOOLS = {"function": "a function", "custom": "a text", "namespace": "a namespace"}
_TOOLS |= dict.fromkeys(HOSTED, "a hosted tool") | dict.fromkeys(CLIENT_TOOLS, "a client tool")


#: all types that have a treatment
TOOL_TYPES = frozenset(_TOOLS)
#: other values than objects count as functions, and are refused there
_BY_TYPE = Discriminator(lambda value: tag_of(value, _TOOLS, "a function"))
_Function = Annotated[FunctionTool, Tag(_TOOLS["function"])]
_Custom = Annotated[CustomTool, Tag(_TOOLS["custom"])]
_Hosted = Annotated[HostedTool, Tag("a hosted tool")]
_Client = Annotated[OfferedClientTool, Tag("a client tool")]
NamespacedTool = Annotated[
    Annotated[_Function | _Custom | _Hosted, _BY_TYPE],
    BeforeValidator(_served),
]


class NamespaceTool(Exact):
    """Tools with a common prefix of their names (tool_names)."""

    type: Literal["namespace"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    tools: Items[NamespacedTool]

    @property
    def about(self) -> str:
        """The description, for the description of the first tool."""
        text = self.description
        return f"About all tools whose names begin with {self.name}__: {text}" if text else ""

    def shown(self) -> dict[str, Any]:
        """Return the namespace as responses repeat it."""
        served = [each.shown() for each in self.tools if not isinstance(each, HostedTool)]
        about = self.description or ""
        return {"type": self.type, "name": self.name, "description": about, "tools": served}


ResponseTool = Annotated[
    Annotated[
        _Function
        | _Custom
        | _Hosted
        | _Client
        | Annotated[NamespaceTool, Tag(_TOOLS["namespace"])],
        _BY_TYPE,
    ],
    BeforeValidator(lambda value: _served(value, "namespace", *CLIENT_TOOLS)),
]


class ResponseNamedTool(Exact):
    type: Literal["function", "custom"]
    name: str
    namespace: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _known_type(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kind = value.get("type")
        refuse_type(kind, ("function", "custom"), "Tool choices")
        return chat.by_name(value, CustomTool if kind == "custom" else FunctionTool)


class AllowedNamespace(Exact):
    """All tools of a namespace."""

    type: Literal["namespace"]
    name: str


_ALLOWED = {"namespace": "a namespace", **dict.fromkeys(HOSTED, "a hosted tool")}
_ALLOWED |= dict.fromkeys(CLIENT_TOOLS, "a client tool")
AllowedTool = Annotated[
    Annotated[ResponseNamedTool, Tag("a tool")]
    | Annotated[AllowedNamespace, Tag("a namespace")]
    | _Hosted
    | _Client,
    Discriminator(lambda value: tag_of(value, _ALLOWED, "a tool")),
]


class ResponseAllowedTools(Exact):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Items[AllowedTool] = Field(min_length=1)


#: tags of choices by their type; the place of an error leaves tags out that are no key of the body
_CHOICES = {"function": "one tool", "custom": "one tool", "allowed_tools": "some tools"}
_CHOICES |= dict.fromkeys(CLIENT_TOOLS, "a client tool")


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        refuse_type(value.get("type"), tuple(_CHOICES), "Tool choices")
    return value


def _choice_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else None
    return _CHOICES.get(kind) if isinstance(kind, str) else None


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[ResponseNamedTool, Tag(_CHOICES["function"])]
    | Annotated[ResponseAllowedTools, Tag(_CHOICES["allowed_tools"])]
    | _Client,
    Discriminator(
        _choice_kind,
        custom_error_type="invalid_tool_choice",
        custom_error_message="expected 'none', 'auto', 'required', or an object of type "
        "'function', 'custom', 'allowed_tools', or a client tool",
    ),
    BeforeValidator(_known),
]


class ResponseJsonSchemaFormat(Exact):
    type: Literal["json_schema"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


def _flat(value: Any) -> Any:
    """Refuse the key under which chat completions have the fields of a schema."""
    return refuse_fields(value, {"json_schema": ()})


ResponseTextFormat = Annotated[
    chat.TextFormat | chat.JsonObjectFormat | ResponseJsonSchemaFormat,
    Field(discriminator="type"),
    BeforeValidator(_flat),
]


def shown_format(wanted: ResponseTextFormat) -> dict[str, Any]:
    """Return a format as responses repeat it; its schema is not copied."""
    fields = type(wanted).model_fields
    shown = {field.alias or name: getattr(wanted, name) for name, field in fields.items()}
    return _without_nulls(shown, "description", "strict")


class ToolName(TypedDict):
    """The fields of a call that name its tool."""

    name: str
    namespace: NotRequired[str]
