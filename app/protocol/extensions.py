"""Constraints of answers beside OpenAI's: fields of vLLM and SGLang.

    structured_outputs                          vLLM
    guided_json, guided_regex, guided_choice, guided_grammar   vLLM before 0.12
    regex, ebnf, json_schema                    SGLang
    response_format of type structural_tag      SGLang and vLLM, in xgrammar's language

Not here   their meaning and conflicts (constraints.response_constraint).
"""

from typing import Annotated, Any, Literal

from pydantic import Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from .unserved_fields import Body
from .validation import Exact, Items, by_type

#: texts of a choice; longer lists are schemas with an enum
MAX_CHOICES = 10_000

#: a JSON Schema, or one as JSON text
SchemaSource = Annotated[
    Annotated[dict[str, Any], Tag("_object")] | Annotated[str, Field(min_length=1), Tag("_text")],
    by_type("an object or a string", _object=dict, _text=str),
]
GrammarSource = Annotated[str, Field(min_length=1)]
Choices = Annotated[list[str], Field(min_length=1, max_length=MAX_CHOICES, fail_fast=True)]


class StructuredOutputs(Exact):
    """The constraint of vLLM: exactly one of its fields, beside options of its JSON."""

    json_: SchemaSource | None = Field(None, alias="json")
    regex: GrammarSource | None = None
    choice: Choices | None = None
    grammar: GrammarSource | None = None
    json_object: bool | None = None
    structural_tag: GrammarSource | dict[str, Any] | None = None
    disable_additional_properties: bool | None = None
    disable_any_whitespace: bool | None = None
    whitespace_pattern: str | None = None


class ConstraintFields(Body):
    """The fields of chat completions and of text completions; a request has one of them."""

    structured_outputs: StructuredOutputs | None = None
    """A constraint as vLLM has it. A request has one constraint."""
    guided_json: SchemaSource | None = None
    """A JSON Schema that the content satisfies."""
    guided_regex: GrammarSource | None = None
    """A regular expression that the content matches."""
    guided_choice: Choices | None = None
    """Texts, one of which is the content."""
    guided_grammar: GrammarSource | None = None
    """A grammar of the content, as EBNF or Lark."""
    guided_whitespace_pattern: str | None = None
    """The white space of JSON, as a regular expression."""
    json_schema: SchemaSource | None = None
    """A JSON Schema that the content satisfies."""
    regex: GrammarSource | None = None
    """A regular expression that the content matches."""
    ebnf: GrammarSource | None = None
    """A grammar of the content, as EBNF."""


class Structure(Exact):
    """A tag around a schema."""

    begin: str
    schema_: dict[str, Any] | bool | None = Field(None, alias="schema")
    end: str


class StructuralTagFormat(Exact):
    """xgrammar's structural tag: ``format``, or in the older form structures and triggers."""

    type: Literal["structural_tag"]
    format: dict[str, Any] | None = None
    structures: Items[Structure] | None = Field(None, min_length=1)
    triggers: Items[str] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_form(self) -> "StructuralTagFormat":
        is_old = self.structures is not None and self.triggers is not None
        has_parts = self.structures is not None or self.triggers is not None
        if (self.format is not None) == has_parts or has_parts != is_old:
            raise PydanticCustomError(
                "structural_tag_form", "give either 'format', or 'structures' and 'triggers'"
            )
        return self
