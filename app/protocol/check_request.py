"""The body of POST /v1/grammars/check."""

from typing import Any

from pydantic import Field

from .validation import Exact


class CheckRequest(Exact):
    """A schema to check; `strict`: by the rules of strict schemas, too."""

    schema_: bool | dict[str, Any] = Field(alias="schema")
    strict: bool | None = None
    model: str | None = None
