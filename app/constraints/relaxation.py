"""What can't be enforced and is not strict: taken out of its schema, and told.

A tool or a response format that says ``strict: true`` is refused instead (planning). What was taken
out is told in three places: to the client in a response header, in the log by its outline, since
names are the client's own, and by keyword in a metric.

    x-switchyard-relaxed: tools/0/function/parameters#/properties/a/uniqueItems, +3 more
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from adapters.formats import Plan
from engine import LimitExceeded, Relaxation, Relaxed, SpecError

from .output import Asking

HEADER = "x-switchyard-relaxed"
#: characters of the header; common servers and proxies take 4 to 8 KB of headers in all
MOST_HEADER_CHARS = 1024
#: places that a line of the log names
MOST_LOGGED = 20
#: what a URI's fragment may hold (RFC 3986), but for the comma that separates places
_FRAGMENT = "/?:@!$&'()*+;=-._~"


@dataclass(frozen=True, slots=True)
class RelaxedPlace:
    """``schema``: the place of the schema in the request, as steps."""

    schema: str
    relaxed: Relaxed

    @property
    def fragment(self) -> str:
        return f"{self.schema}#{quote(self.relaxed.pointer, safe=_FRAGMENT)}"

    @property
    def outline(self) -> str:
        return f"{self.schema}#{self.relaxed.outline}"


class StillRefused(Exception):
    """A schema that has to be refused after all; ``param`` is its place in the Ask."""

    def __init__(self, param: str, error: SpecError | LimitExceeded) -> None:
        super().__init__(param, error)
        self.param = param
        self.error = error


def relaxed_plan(
    plan: Plan, asking: Asking, relax: Callable[..., Relaxation], *, extra_keys: str
) -> tuple[Plan, tuple[RelaxedPlace, ...]]:
    """The plan without what can't be enforced in schemas that are not strict; see ``engine.relax``.

    Raises:
        StillRefused: a schema that means nothing, or from which nothing can be taken.
    """
    done: dict[str, Relaxation] = {}

    def change(param: str, schema: Any) -> Any:
        if asking.is_strict(param):
            return schema
        if param not in done:
            done[param] = relax(schema, extra_keys=extra_keys)
        error = done[param].error
        if error is not None:
            raise StillRefused(param, error)
        return done[param].schema

    changed = plan.with_schemas(change)
    places = tuple(
        RelaxedPlace(steps_of(asking.param(param)), relaxed)
        for param, relaxation in done.items()
        for relaxed in relaxation.places
    )
    return (changed, places) if places else (plan, ())


def steps_of(param: str | None) -> str:
    """``tools[0].function.parameters`` -> ``tools/0/function/parameters``."""
    if param == "response_format":
        return "response_format/json_schema/schema"
    return (param or "").replace("[", "/").replace("]", "").replace(".", "/")


def header(places: Sequence[RelaxedPlace]) -> dict[str, str]:
    """The response header that names the places; nothing where there are none."""
    shown: list[str] = []
    room = MOST_HEADER_CHARS - len(f", +{len(places)} more")
    for place in places:
        room -= len(place.fragment) + len(", ")
        if room < 0:
            break
        shown.append(place.fragment)
    left = len(places) - len(shown)
    return {HEADER: ", ".join([*shown, *([f"+{left} more"] if left else [])])} if places else {}
