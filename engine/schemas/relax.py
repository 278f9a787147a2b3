"""What a JSON Schema comes to when all that can't be enforced is taken out of it.

    relaxation = relax(schema)
    relaxation.schema       what can be enforced: it accepts all that the schema accepts
    relaxation.places       what was taken out, where, and why
    relaxation.error        what is still refused; None: nothing

Only ``UnsupportedSchema`` is relaxed. A schema that means nothing, that nothing can satisfy, or
that passes a limit stays refused.

Cost     one look of the front end at the schema for each place, and no automata.
Not here how a schema becomes weaker (weaken).
"""

from dataclasses import dataclass
from typing import Any

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..frontends.json_schema import build_json_schema
from ..ir import Grammar
from ..limits import Limits
from .document import count_values, path_of, pointer_of
from .weaken import Weakening
from .words import KNOWN

#: refusals of one schema that are relaxed; people's schemas have fewer than ten, and each costs
#: another look at the schema
MOST_ROUNDS = 64
#: values that all these looks together may pass over, which take about three seconds; a schema of
#: 1 MB has about 100,000, and is looked at twenty times
MOST_VALUES = 2_000_000


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A keyword that was taken out, or a oneOf that was made an anyOf.

    ``pointer``  its place in the schema as it was given.
    ``refused``  the place of the keyword that can't be enforced, ``refused_keyword`` its name, and
                 ``reason`` why; the same place, or one that would have made the schema narrower by
                 going alone.
    """

    pointer: str
    refused: str
    refused_keyword: str
    reason: str

    @property
    def keyword(self) -> str:
        return self.pointer.rpartition("/")[2]

    @property
    def outline(self) -> str:
        """The pointer with a * for every name that is no word of JSON Schema: for logs, which must
        not hold what a client wrote."""
        steps = path_of(self.pointer)
        return pointer_of(
            tuple(step if step in KNOWN or step.isdecimal() else "*" for step in steps)
        )


@dataclass(frozen=True, slots=True)
class Relaxation:
    """See the file's header. Pointers are into the schema as it was given."""

    schema: Any
    places: tuple[Relaxed, ...]
    error: SpecError | LimitExceeded | None


def relax(
    schema: Any,
    *,
    limits: Limits | None = None,
    extra_keys: str = "anywhere",
    most: int = MOST_ROUNDS,
) -> Relaxation:
    """The schema without what can't be enforced, as far as that makes it weaker and no more.

    Args:
        limits: bounds on work.
        extra_keys: see ``build_json_schema``.
        most: refusals that are relaxed; fewer where the schema is large, see ``MOST_VALUES``.
    """
    places: list[Relaxed] = []
    error = refusal(schema, limits, extra_keys)
    if not isinstance(error, UnsupportedSchema):
        return Relaxation(schema, (), error)
    weakening = Weakening(schema)
    for _ in range(min(most, MOST_VALUES // count_values(schema))):
        if not isinstance(error, UnsupportedSchema):
            break
        refused = weakening.given(error.pointer)
        taken = weakening.take_out(error.pointer, error.keyword)
        if taken is None:
            break
        places += (Relaxed(place, refused, error.keyword, error.message) for place in taken)
        error = refusal(weakening.schema, limits, extra_keys)
    return Relaxation(weakening.schema, tuple(places), _moved(error, weakening))


def refusal(
    schema: Any, limits: Limits | None, extra_keys: str
) -> SpecError | LimitExceeded | None:
    """Why the front end refuses the schema; None: it doesn't."""
    try:
        build_json_schema(Grammar(limits), schema, extra_keys=extra_keys)
    except (SpecError, LimitExceeded) as error:
        return error
    return None


def _moved(
    error: SpecError | LimitExceeded | None, weakening: Weakening
) -> SpecError | LimitExceeded | None:
    """The error with the place as it was given."""
    match error:
        case UnsupportedSchema():
            return UnsupportedSchema(weakening.given(error.pointer), error.keyword, error.message)
        case SpecError():
            return SpecError(error.message, weakening.given(error.pointer))
        case LimitExceeded():
            place = weakening.given(error.pointer)
            return LimitExceeded(error.limit, error.maximum, error.got, place)
    return None
