"""Reports for authors of schemas: what is enforced, what is refused, and what it costs.

    report = check_json_schema(schema, compiler)
    print(report.text())

A report lists all refused places, not only the first: refused keywords are relaxed, and the rest
is checked again (relax).
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ..compiler import Compiler
from ..errors import EngineError, LimitExceeded, SpecError, UnsupportedSchema
from ..frontends.json_schema import build_json_schema
from ..grammar.ir import Grammar
from ..inspection import inspect
from ..native.resources import WorkBudget
from ..runtime.matcher import Matcher
from .reading import Keyword, keywords_of
from .relax import Relaxation, Relaxations, relax

#: listed refusals: authors want to know all of them
MOST_REFUSED = 1_000
#: listed keywords without effect
MOST_ANNOTATIONS = 1_000
#: rows explored to count states, enough for the automata of most schemas
EXPLORED = 500


@dataclass(frozen=True, slots=True)
class Refused:
    """A keyword that cannot be enforced; ``relaxed`` lists the places that relaxing it changes.

    If ``relaxed`` is empty, the keyword cannot be relaxed, and later refusals are unknown.
    """

    pointer: str
    keyword: str
    reason: str
    relaxed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error that relaxing does not cure: an ill-formed schema, or one beyond a limit."""

    pointer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the enforceable schema.

    States, edges and bytes are those of the automata after exploring ``EXPLORED`` rows; automata
    are built lazily. Times are single measurements and depend on the compiler's caches.
    """

    rules: int
    ir_nodes: int
    states: int
    edges: int
    bytes: int
    compile_ms: float
    first_mask_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """A report; ``enforced`` counts keywords by name, ``annotations`` are those without effect."""

    enforced: dict[str, int]
    refused: tuple[Refused, ...]
    mistake: Mistake | None
    annotations: tuple[Keyword, ...]
    more_annotations: int
    cost: Cost | None

    @property
    def is_enforced(self) -> bool:
        """Whether every constraint is enforced."""
        return not self.refused and self.mistake is None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        annotations = [
            {"pointer": each.pointer, "keyword": each.keyword, "reason": each.says_nothing}
            for each in self.annotations
        ]
        return {
            "is_enforced": self.is_enforced,
            "enforced": self.enforced,
            "refused": [asdict(each) | {"relaxed": [*each.relaxed]} for each in self.refused],
            "mistake": None if self.mistake is None else asdict(self.mistake),
            "annotations": annotations,
            "more_annotations": self.more_annotations,
            "cost": None if self.cost is None else asdict(self.cost),
        }

    def text(self) -> str:
        """Return the report as text."""
        return "\n".join([*self._refused_lines(), *self._other_lines()]) + "\n"

    def _refused_lines(self) -> Iterator[str]:
        if self.mistake is not None:
            yield f"a mistake\n  {self.mistake.pointer or '/'}: {self.mistake.reason}"
        if self.refused:
            yield "refused"
        for refused in self.refused:
            yield f"  {refused.pointer or '/'}: {refused.reason}"
            if refused.relaxed != (refused.pointer,):
                places = ", ".join(refused.relaxed)
                yield f"    relaxed: {places}" if places else "    it can't be relaxed"

    def _other_lines(self) -> Iterator[str]:
        if self.annotations:
            yield "no effect"
        for each in self.annotations:
            yield f"  {each.pointer}: {each.says_nothing}"
        if self.more_annotations:
            yield f"  and {self.more_annotations:,} more"
        if self.cost is not None:
            counts = ", ".join(f"{name} {count}" for name, count in self.enforced.items())
            yield f"enforced\n  {counts or 'nothing: everything is accepted'}"
            yield from _cost_lines(self.cost)


def _cost_lines(cost: Cost) -> list[str]:
    return [
        "cost",
        f"  {cost.rules:,} rules, {cost.ir_nodes:,} IR nodes; {cost.states:,} states and "
        f"{cost.edges:,} edges after {EXPLORED:,} places, {cost.bytes / 1000:,.0f} KB",
        f"  compiled in {cost.compile_ms:,.2f} ms, first mask in {cost.first_mask_ms:,.2f} ms",
    ]


def check_json_schema(
    schema: Any,
    compiler: Compiler,
    *,
    relaxations: Relaxations | None = None,
    budget: WorkBudget | None = None,
) -> Report:
    """Report on a schema as ``compiler.compile_json_schema`` treats it. No schema raises an error.

    Args:
        relaxations: a cache of relaxations, if any.
        budget: the request's budget; None: a new one.
    """
    budget = WorkBudget(compiler.limits) if budget is None else budget
    if relaxations is None:
        relaxation = relax(schema, limits=compiler.limits, most=MOST_REFUSED, budget=budget)
    else:
        relaxation = relaxations.of(schema, most=MOST_REFUSED, budget=budget)
    error, cost = relaxation.error, None
    if error is None:
        try:
            cost = measure(relaxation.schema, compiler, budget)
        except (SpecError, LimitExceeded) as found:
            error = found
    enforced = _enforced(relaxation.schema) if cost else {}
    says_nothing = [] if isinstance(error, LimitExceeded) else _says_nothing(schema)
    return Report(
        enforced,
        _refused(relaxation),
        None if error is None or isinstance(error, UnsupportedSchema) else _mistake(error),
        tuple(says_nothing[:MOST_ANNOTATIONS]),
        max(0, len(says_nothing) - MOST_ANNOTATIONS),
        cost,
    )


def _enforced(schema: Any) -> dict[str, int]:
    """Count constraining keywords by name, the most frequent first."""
    found = keywords_of(schema, is_known_format)
    return dict(Counter(each.keyword for each in found if not each.says_nothing).most_common())


def _says_nothing(schema: Any) -> list[Keyword]:
    return [each for each in keywords_of(schema, is_known_format) if each.says_nothing]


def _mistake(error: SpecError | LimitExceeded) -> Mistake:
    if isinstance(error, LimitExceeded):
        reason = f"{error.limit}: at most {error.maximum:,} allowed, got {error.got:,}"
        return Mistake(error.pointer, reason)
    return Mistake(error.pointer, error.message)


def _refused(relaxation: Relaxation) -> tuple[Refused, ...]:
    """Group relaxed places by refusal, in the order of discovery."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for place in relaxation.places:
        refused = (place.refused, place.refused_keyword, place.reason)
        found.setdefault(refused, []).append(place.pointer)
    error = relaxation.error
    if isinstance(error, UnsupportedSchema):
        found.setdefault((error.pointer, error.keyword, error.message), [])
    return tuple(Refused(*refused, tuple(places)) for refused, places in found.items())


def measure(schema: Any, compiler: Compiler, budget: WorkBudget | None = None) -> Cost:
    """Compile the schema, compute the first mask, and measure both."""
    words = compiler.vocabulary.words
    bitmask = memoryview(bytearray(4 * words)).cast("i", (1, words))
    start = time.perf_counter()
    compiled = compiler.compile_json_schema(schema, budget=budget)
    made = time.perf_counter()
    Matcher(compiled).fill_bitmask(bitmask)
    masked = time.perf_counter()
    states = inspect(compiled, explore=EXPLORED).states.values()
    return Cost(
        rules=len(compiled.grammar.rules),
        ir_nodes=len(compiled.grammar.nodes),
        states=len(states),
        edges=sum(len(state.edges) for state in states),
        bytes=compiled.held_bytes(),
        compile_ms=round((made - start) * 1000, 3),
        first_mask_ms=round((masked - made) * 1000, 3),
    )


@lru_cache(maxsize=256)
def is_known_format(name: str) -> bool:
    """Whether the front end enforces a format, found by building two schemas."""
    try:
        build_json_schema(Grammar(), {"type": "string", "format": name}, unknown_formats="annotate")
    except EngineError:
        return True
    try:
        build_json_schema(Grammar(), {"type": "string", "format": name}, unknown_formats="refuse")
    except UnsupportedSchema:
        return False
    return True
