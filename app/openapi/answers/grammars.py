"""Answers of POST /v1/grammars/explain."""

from typing import Literal

from pydantic import Field

from .base import Answer, ErrorObject
from .operations import KeywordWithoutEffect, RefusedKeyword, SchemaMistake


class ExplainedError(ErrorObject):
    pointer: str = Field(description="A JSON pointer into the request.")


class SchemaReport(Answer):
    param: str
    pointer: str = Field(description="The schema in the request; other pointers start there.")
    is_enforced: bool
    enforced: dict[str, int]
    refused: list[RefusedKeyword]
    more_refused: int
    mistake: SchemaMistake | None
    annotations: list[KeywordWithoutEffect]
    more_annotations: int


class RelaxedPlace(Answer):
    pointer: str = Field(description="A JSON pointer into the request.")
    keyword: str
    reason: str


class GrammarRule(Answer):
    name: str
    kind: str
    automaton: str
    minimum: int
    maximum: int | None
    states: int = Field(description="States of its automaton that were built.")
    text: str = Field(description="The start of the rule.")


class DrawnNode(Answer):
    id: int
    title: str
    lines: list[str]
    is_final: bool


class DrawnEdge(Answer):
    source: int
    target: int
    label: str


class GrammarDrawing(Answer):
    rule: str | None = Field(description="The rule whose automaton this is; null: the rows.")
    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    hidden_nodes: int
    hidden_edges: int


class ExplainedGrammar(Answer):
    backend: str
    spec: str = Field(description="The structural tag, or the schema, that workers get.")
    more_spec: int = Field(description="Characters left out.")
    rules: list[GrammarRule]
    more_rules: int
    drawing: GrammarDrawing | None = Field(
        description="null: the grammar is too large; then no rules are listed either."
    )


class TracedToken(Answer):
    id: int
    text: str


class Rejection(Answer):
    text: str = Field(description="The rejected token.")
    byte: int = Field(description="The first rejected byte of it.")
    accepted_text: str
    expected: str = Field(description="Bytes that may stand there.")
    items: list[str] = Field(description="Parts of the grammar that are open there.")
    more_items: int


class AllowedTokens(Answer):
    tokens: list[TracedToken]
    count: int
    may_end: bool
    forced: str = Field(description="Text that must come next.")


class OutputTrace(Answer):
    tokens: list[TracedToken]
    accepted: int = Field(description="Number of accepted tokens.")
    is_complete: bool = Field(description="Whether the output may end here.")
    rejected: Rejection | None
    problem: str | None = Field(description="The reason for reading no further.")
    at: int
    next: AllowedTokens


class GrammarExplanation(Answer):
    """The grammar of a request; `grammar` is null if the request is refused."""

    object: Literal["grammar.explanation"]
    format: str
    formats: list[str] = Field(description="Formats whose tokens the vocabulary has.")
    error: ExplainedError | None = Field(description="The error that a completion would get.")
    schemas: list[SchemaReport]
    more_schemas: int
    relaxed: list[RelaxedPlace]
    more_relaxed: int
    grammar: ExplainedGrammar | None
    trace: OutputTrace | None
