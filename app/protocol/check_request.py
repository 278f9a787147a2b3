"""The body of POST /v1/grammars/check."""

from typing import Any

from pydantic import Field

from .validation import Exact


class CheckRequest(Exact):
    """A schema to check. ``strict``: check the rules of ``strict: true`` too. ``model``: the one
    whose vocabulary and rules apply; the only model may stay unnamed.
    """

    schema_: bool | dict[str, Any] = Field(alias="schema")
    strict: bool | None = None
    model: str | None = None
