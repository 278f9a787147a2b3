"""Relaxation: removal of unenforceable keywords from schemas that are not strict.

A schema with ``strict: true`` is refused instead (enforcement). A response header names the removed
keywords to the client, the log shows their outline (without the client's names), and a metric
counts them.

    x-switchyard-relaxed: tools/0/function/parameters#/properties/a/uniqueItems, +3 more
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from adapters.formats import FormatPlan, Location, Origin
from engine import Relaxation, Relaxed

from ..observability import header_listing as named
from .refusals import refusal

RELAXED_HEADER = "x-switchyard-relaxed"
#: relaxed keywords that one log line names
MAX_LOGGED = 20
#: what a URI's fragment may contain (RFC 3986), except the comma, which separates entries
_FRAGMENT = "/?:@!$&'()*+;=-._~"


@dataclass(frozen=True, slots=True)
class RelaxedKeyword:
    """A keyword that was removed from the schema at ``location``."""

    location: Location
    relaxed: Relaxed

    @property
    def fragment(self) -> str:
        """The keyword's location, for clients."""
        return f"{self.location.path}#{quote(self.relaxed.pointer, safe=_FRAGMENT)}"

    @property
    def outline(self) -> str:
        """The keyword's location without the client's names, for logs."""
        return f"{self.location.path}#{self.relaxed.outline}"


def relaxed_plan(
    plan: FormatPlan, relax: Callable[..., Relaxation], *, extra_keys: str
) -> tuple[FormatPlan, tuple[RelaxedKeyword, ...]]:
    """Return the plan without the unenforceable keywords of lenient schemas, and these keywords;
    see ``engine.relax``.

    Raises:
        ConstraintRefused: a schema is invalid, or no keyword can be removed.
    """
    done: dict[str, Relaxation] = {}

    def change(origin: Origin, schema: Any) -> Any:
        if origin.is_strict:
            return schema
        if origin.param not in done:
            done[origin.param] = relax(schema, extra_keys=extra_keys, style=origin.style)
        error = done[origin.param].error
        if error is not None:
            raise refusal(Location(origin.param, error.pointer), error) from None
        return done[origin.param].schema

    changed = plan.with_schemas(change)
    relaxed = tuple(
        RelaxedKeyword(Location(param), each)
        for param, relaxation in done.items()
        for each in relaxation.places
    )
    return (changed, relaxed) if relaxed else (plan, ())


def relaxed_header(keywords: Sequence[RelaxedKeyword]) -> dict[str, str]:
    """Return the response header that names the keywords; no header for no keyword."""
    return named(RELAXED_HEADER, [keyword.fragment for keyword in keywords])
