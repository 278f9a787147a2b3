"""Tools, tool choices and response formats of a request."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from .extensions import StructuralTagFormat
from .validation import Exact, Items, refuse_type

#: OpenAI's own bound on names of tools and schemas; the dot is our addition, for names as in
#: `math.add`
NAME = r"^[a-zA-Z0-9_.-]{1,64}$"
#: fields of tools that are ignored: hints for caches (Anthropic, GitHub Copilot) and for streams
#: (Anthropic), the type of the result (transformers), whether the model knows the tool from the
#: beginning, which it always does
TOOL_HINTS = (
    *("cache_control", "copilot_cache_control", "defer_loading", "eager_input_streaming"),
    "return",
)


def without_hints(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a tool without fields that have no effect."""
    if tool.keys().isdisjoint(TOOL_HINTS):
        return tool
    return {name: each for name, each in tool.items() if name not in TOOL_HINTS}


class FunctionDefinition(Exact):
    name: str = Field(pattern=NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None

    @model_validator(mode="before")
    @classmethod
    def _served(cls, value: Any) -> Any:
        return without_hints(value) if isinstance(value, dict) else value


class ToolDefinition(Exact):
    type: Literal["function"]
    function: FunctionDefinition


class TextInput(Exact):
    type: Literal["text"]


class InputGrammar(Exact):
    syntax: Literal["lark", "regex"]
    definition: str = Field(min_length=1)


class GrammarInput(Exact):
    type: Literal["grammar"]
    grammar: InputGrammar


class CustomDefinition(Exact):
    name: str = Field(pattern=NAME)
    description: str | None = None
    format: Annotated[TextInput | GrammarInput, Field(discriminator="type")] | None = None


class CustomToolDefinition(Exact):
    """A tool whose input is one text."""

    type: Literal["custom"]
    custom: CustomDefinition


def _known_tool(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    refuse_type(value.get("type"), ("function", "custom"), "Tools")
    return without_hints(value)


AnyToolDefinition = Annotated[
    Annotated[ToolDefinition | CustomToolDefinition, Field(discriminator="type")],
    BeforeValidator(_known_tool),
]


def by_name(value: Any, definition: type[Exact]) -> Any:
    """Return a tool by its name, if a client sends the whole definition where a name is enough."""
    if not isinstance(value, dict):
        return value
    others = (definition.model_fields.keys() | {*TOOL_HINTS}) - {"type", "name"}
    return {name: each for name, each in value.items() if name not in others}


class ToolByName(Exact):
    """A tool that a choice names. ``definition``: of tools of this kind."""

    definition: ClassVar[type[Exact]]
    name: str

    @model_validator(mode="before")
    @classmethod
    def _named(cls, value: Any) -> Any:
        return by_name(value, cls.definition)


class FunctionName(ToolByName):
    definition = FunctionDefinition


class CustomName(ToolByName):
    definition = CustomDefinition


class NamedTool(Exact):
    type: Literal["function"]
    function: FunctionName


class NamedCustomTool(Exact):
    type: Literal["custom"]
    custom: CustomName


AnyNamedTool = Annotated[NamedTool | NamedCustomTool, Field(discriminator="type")]


class AllowedTools(Exact):
    mode: Literal["auto", "required"]
    tools: Items[AnyNamedTool] = Field(min_length=1)


class AllowedToolsChoice(Exact):
    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _choice_kind(value: Any) -> str | None:
    if isinstance(value, str):
        return "mode"
    kind = value.get("type") if isinstance(value, dict) else None
    return kind if kind in ("function", "custom", "allowed_tools") else None


ChatToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("mode")]
    | Annotated[NamedTool, Tag("function")]
    | Annotated[NamedCustomTool, Tag("custom")]
    | Annotated[AllowedToolsChoice, Tag("allowed_tools")],
    Discriminator(
        _choice_kind,
        custom_error_type="invalid_tool_choice",
        custom_error_message="expected 'none', 'auto', 'required', or an object of type "
        "'function', 'custom' or 'allowed_tools'",
    ),
]


FunctionChoice = Annotated[
    Annotated[Literal["none", "auto"], Tag("mode")] | Annotated[FunctionName, Tag("name")],
    Discriminator(
        lambda value: {str: "mode", dict: "name"}.get(type(value)),
        custom_error_type="invalid_function_call",
        custom_error_message="expected 'none', 'auto', or an object with the name of a function",
    ),
]


class TextFormat(Exact):
    type: Literal["text"]


class JsonObjectFormat(Exact):
    type: Literal["json_object"]


#: the name of a schema that came without one
UNNAMED = "response"


class JsonSchema(Exact):
    name: str = Field(pattern=NAME)
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


class JsonSchemaFormat(Exact):
    type: Literal["json_schema"]
    json_schema: JsonSchema


def _with_schema(value: Any) -> Any:
    """Accept ``schema`` beside the type, as llama.cpp, Together and others have it."""
    if not isinstance(value, dict) or value.get("schema") is None or "json_schema" in value:
        return value
    if value.get("type") not in ("json_object", "json_schema"):
        return value
    rest = {name: each for name, each in value.items() if name not in ("type", "schema")}
    described = {"name": UNNAMED, "schema": value["schema"]}
    return {"type": "json_schema", "json_schema": described, **rest}


ResponseFormat = Annotated[
    Annotated[
        TextFormat | JsonObjectFormat | JsonSchemaFormat | StructuralTagFormat,
        Field(discriminator="type"),
    ],
    BeforeValidator(_with_schema),
]
