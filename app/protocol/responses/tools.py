"""Tools, tool choices and formats of text, as the Responses API writes them."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from .. import tools as chat
from ..validation import Exact, Items, refuse_fields, refuse_type

#: fields of tools that are not served, with the values that leave the output as it is
OFF: dict[str, tuple[Any, ...]] = {
    "allowed_callers": (None, ["direct"]),
    "async": (None, False),
    "defer_loading": (None, False),
    "output_schema": (None,),
}


def _served(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    refuse_type(value.get("type"), ("function", "custom"), "Tools")
    return refuse_fields(value, OFF)


class FunctionTool(Exact):
    type: Literal["function"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None

    def shown(self) -> dict[str, Any]:
        """Return the tool as responses repeat it; its schema is not copied, which takes long."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def definition(self) -> chat.ToolDefinition:
        """Return the tool in the common form."""
        function = chat.FunctionDefinition.model_construct(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            strict=self.strict,
        )
        return chat.ToolDefinition.model_construct(type="function", function=function)


class GrammarInput(Exact):
    type: Literal["grammar"]
    syntax: Literal["lark", "regex"]
    definition: str = Field(min_length=1)

    def common(self) -> chat.GrammarInput:
        """Return the format in the common form."""
        grammar = chat.InputGrammar(syntax=self.syntax, definition=self.definition)
        return chat.GrammarInput(type="grammar", grammar=grammar)


class CustomTool(Exact):
    """A tool whose input is one text."""

    type: Literal["custom"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    format: Annotated[chat.TextInput | GrammarInput, Field(discriminator="type")] | None = None

    def shown(self) -> dict[str, Any]:
        """Return the tool as responses repeat it."""
        wanted = self.format or chat.TextInput(type="text")
        return {
            "type": self.type,
            "name": self.name,
            "description": self.description,
            "format": wanted.model_dump(),
        }

    def definition(self) -> chat.CustomToolDefinition:
        """Return the tool in the common form."""
        wanted = self.format.common() if isinstance(self.format, GrammarInput) else self.format
        custom = chat.CustomDefinition(name=self.name, description=self.description, format=wanted)
        return chat.CustomToolDefinition(type="custom", custom=custom)


#: tags of tools by their type; see _CHOICES
_TOOLS = {"function": "a function", "custom": "a text"}


def _tool_kind(value: Any) -> str:
    """Return the tag; other values than objects count as functions, and are refused there."""
    is_custom = isinstance(value, dict) and value.get("type") == "custom"
    return _TOOLS["custom" if is_custom else "function"]


Tool = Annotated[
    Annotated[
        Annotated[FunctionTool, Tag(_TOOLS["function"])]
        | Annotated[CustomTool, Tag(_TOOLS["custom"])],
        Discriminator(_tool_kind),
    ],
    BeforeValidator(_served),
]


class NamedTool(Exact):
    type: Literal["function", "custom"]
    name: str

    @model_validator(mode="before")
    @classmethod
    def _known_type(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        kind = value.get("type")
        refuse_type(kind, ("function", "custom"), "Tool choices")
        return chat.by_name(value, CustomTool if kind == "custom" else FunctionTool)

    def named(self) -> chat.NamedTool | chat.NamedCustomTool:
        """Return the choice in the common form."""
        if self.type == "custom":
            return chat.NamedCustomTool(type="custom", custom=chat.CustomName(name=self.name))
        return chat.NamedTool(type="function", function=chat.FunctionName(name=self.name))


class AllowedTools(Exact):
    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Items[NamedTool] = Field(min_length=1)


#: tags of choices by their type; the place of an error leaves tags out that are no key of the body
_CHOICES = {"function": "one tool", "custom": "one tool", "allowed_tools": "some tools"}


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
    | Annotated[NamedTool, Tag(_CHOICES["function"])]
    | Annotated[AllowedTools, Tag(_CHOICES["allowed_tools"])],
    Discriminator(
        _choice_kind,
        custom_error_type="invalid_tool_choice",
        custom_error_message="expected 'none', 'auto', 'required', or an object of type "
        "'function', 'custom' or 'allowed_tools'",
    ),
    BeforeValidator(_known),
]


def common_choice(choice: ToolChoice) -> chat.ToolChoice:
    """Return a choice in the common form."""
    if isinstance(choice, NamedTool):
        return choice.named()
    if isinstance(choice, AllowedTools):
        allowed = chat.AllowedTools.model_construct(
            mode=choice.mode, tools=[tool.named() for tool in choice.tools]
        )
        return chat.AllowedToolsChoice.model_construct(type="allowed_tools", allowed_tools=allowed)
    return choice


class JsonSchemaFormat(Exact):
    type: Literal["json_schema"]
    name: str = Field(pattern=chat.NAME)
    description: str | None = None
    schema_: dict[str, Any] = Field(alias="schema")
    strict: bool | None = None


def _flat(value: Any) -> Any:
    """Refuse the key under which chat completions have the fields of a schema."""
    return refuse_fields(value, {"json_schema": ()}) if isinstance(value, dict) else value


TextFormat = Annotated[
    chat.TextFormat | chat.JsonObjectFormat | JsonSchemaFormat,
    Field(discriminator="type"),
    BeforeValidator(_flat),
]


def shown_format(wanted: TextFormat) -> dict[str, Any]:
    """Return a format as responses repeat it; its schema is not copied."""
    fields = type(wanted).model_fields
    return {field.alias or name: getattr(wanted, name) for name, field in fields.items()}


def common_format(wanted: TextFormat) -> chat.ResponseFormat:
    """Return a format in the common form."""
    if isinstance(wanted, JsonSchemaFormat):
        schema = chat.JsonSchema.model_construct(
            name=wanted.name,
            description=wanted.description,
            schema_=wanted.schema_,
            strict=wanted.strict,
        )
        return chat.JsonSchemaFormat.model_construct(type="json_schema", json_schema=schema)
    return wanted
