"""What a JSON Schema comes to when all that can't be enforced is taken out of it.

    relaxation = relax(schema)
    relaxation.schema       what can be enforced: it accepts all that the schema accepts
    relaxation.places       what was taken out, where, and why
    relaxation.error        what is still refused; None: nothing

Only ``UnsupportedSchema`` is relaxed. A schema that means nothing, that nothing can satisfy, or
that passes a limit stays refused.

``Relaxations`` remembers them: clients send their schemas with every request.

Cost     one look of the front end at the schema for each place, and no automata; counted on the
         request's budget.
Not here how a schema becomes weaker (weaken).
"""

import json
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..frontends.json_schema import build_json_schema
from ..grammar.ir import Grammar
from ..limits import Limits
from ..native.resources import WorkBudget
from ..sharing.grammar_cache import SpecHash
from ..sharing.refusals import again
from .document import count_values, path_of, pointer_of
from .weaken import Weakening
from .words import KNOWN

#: refusals of one schema that are relaxed; people's schemas have fewer than ten, and each costs
#: another look at the schema
MOST_ROUNDS = 64
#: values that all these looks together may pass over, which take about three seconds; a schema of
#: 1 MB has about 100,000, and is looked at twenty times
MOST_VALUES = 2_000_000
#: bytes of relaxed schemas that are remembered, as JSON text; a schema of people takes about 5 KB
KEPT_BYTES = 16 << 20


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
    budget: WorkBudget | None = None,
) -> Relaxation:
    """The schema without what can't be enforced, as far as that makes it weaker and no more.

    Args:
        limits: bounds on work.
        extra_keys: see ``build_json_schema``.
        most: refusals that are relaxed; fewer where the schema is large, see ``MOST_VALUES``.
        budget: the request's; None: one of its own.

    Raises:
        Cancelled: somebody cancelled the budget.
    """
    places: list[Relaxed] = []
    budget = WorkBudget(limits) if budget is None else budget
    error = refusal(schema, limits, extra_keys, budget)
    if not isinstance(error, UnsupportedSchema):
        return Relaxation(schema, (), error)
    weakening = Weakening(schema)
    values = count_values(schema)
    for _ in range(min(most, MOST_VALUES // values)):
        if not isinstance(error, UnsupportedSchema):
            break
        refused = weakening.given(error.pointer)
        taken = weakening.take_out(error.pointer, error.keyword)
        if taken is None:
            break
        places += (Relaxed(place, refused, error.keyword, error.message) for place in taken)
        error = refusal(weakening.schema, limits, extra_keys, budget, weighed=values)
    return Relaxation(weakening.schema, tuple(places), _moved(error, weakening))


class Relaxations:
    """Relaxations by schema and options, remembered as JSON text within ``KEPT_BYTES``, the least
    recently used going first. Any thread.

    Invariants   never one that ended for want of a budget that others had a part of.
    """

    def __init__(self, limits: Limits, *, most_bytes: int = KEPT_BYTES) -> None:
        self._limits, self._most_bytes = limits, most_bytes
        self._digest = SpecHash(limits)
        self._kept: OrderedDict[bytes, tuple[Relaxation, str, int]] = OrderedDict()
        self._held = 0
        self._guard = threading.Lock()
        self._counts = {"relaxations_made": 0, "relaxation_hits": 0}

    def of(
        self,
        schema: Any,
        *,
        extra_keys: str = "anywhere",
        most: int = MOST_ROUNDS,
        budget: WorkBudget,
    ) -> Relaxation:
        """As ``relax``; the schema is JSON."""
        try:
            key = self._digest.of(f"relaxation {extra_keys} {most}", schema)
        except (SpecError, LimitExceeded) as error:
            return Relaxation(schema, (), error)
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                self._counts["relaxation_hits"] += 1
        if kept is not None:
            return Relaxation(json.loads(kept[1]), kept[0].places, kept[0].error)
        is_whole = budget.spent == 0 and budget.limit == self._limits.compile_steps
        budget.spend(1)
        made = relax(schema, limits=self._limits, extra_keys=extra_keys, most=most, budget=budget)
        end = made.error
        is_steps = isinstance(end, LimitExceeded) and end.limit == "compile_steps"
        if is_whole or not is_steps:
            self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: Relaxation) -> None:
        text = json.dumps(made.schema)
        places = (*made.places, *filter(None, [made.error]))
        size = len(text) + sum(len(repr(place)) for place in places)
        if size > self._most_bytes:
            return
        with self._guard:
            self._counts["relaxations_made"] += 1
            if key in self._kept:
                return
            self._kept[key] = Relaxation(None, made.places, made.error), text, size
            self._held += size
            while self._held > self._most_bytes:
                self._held -= self._kept.popitem(last=False)[1][2]

    def stats(self) -> dict[str, int]:
        with self._guard:
            sizes = {"relaxations": len(self._kept), "relaxation_bytes": self._held}
            return {**self._counts, **sizes}


def refusal(
    schema: Any, limits: Limits | None, extra_keys: str, budget: WorkBudget, *, weighed: int = 0
) -> SpecError | LimitExceeded | None:
    """Why the front end refuses the schema; None: it doesn't. ``weighed``: values of the schema, a
    step each for what making it weaker takes.
    """
    try:
        budget.spend(weighed)
        build_json_schema(Grammar(limits, budget), schema, extra_keys=extra_keys)
    except (SpecError, LimitExceeded) as error:
        # its traceback would hold the schema, for as long as the relaxation is remembered
        return again(error)
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
