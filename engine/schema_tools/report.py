"""The report on a schema: what is enforced, what is not, and the cost of its grammar.

    report = check_json_schema(schema, compiler)
    print(report.text())

The report lists every refused keyword, not only the first: each one is removed, and the rest is
checked again (relax).

It also lists the keywords that constrain, and those without effect. Only used schemas count: those
that the root applies, directly or through references. A keyword constrains, or has no effect for a
reason, or is a standard annotation, which is not listed.
"""

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..compiler import Compiler
from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..frontends.json_schema.formats import PATTERNS as FORMATS
from ..inspection import count_states
from ..json_pointer import Path, pointer_of
from ..native.resources import WorkBudget
from ..runtime.compiled import Compiled
from ..runtime.matcher import Matcher
from .document import schemas_below, target_of, value_at
from .keywords import CONSTRAINTS, KNOWN, NEEDS, OF_TYPE
from .relax import Relaxation, Relaxations, reason_of, relax

#: maximum refusals in a report
MAX_REFUSED = 1_000
#: maximum annotations in a report
MAX_ANNOTATIONS = 1_000
#: keywords of one schema between two checks for cancellation: less than a millisecond
KEYWORDS_PER_CHECK = 1_000
#: positions visited to count states: enough for the automata of most schemas
EXPLORED = 500
#: bytes of automata and rows after which that ends; the states of a schema of 100 KB take 55 MB
EXPLORED_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Keyword:
    """A use of a keyword without effect, for the reason ``no_effect``."""

    pointer: str
    keyword: str
    no_effect: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An unenforceable keyword. ``relaxed``: the keywords removed or changed instead; empty: it
    cannot be relaxed, so later refusals are unknown.
    """

    pointer: str
    keyword: str
    reason: str
    relaxed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mistake:
    """An error that relaxation cannot repair: an invalid or unsatisfiable schema, or a limit."""

    pointer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the enforceable part.

    States, edges and bytes count the automata built so far: they are built lazily, and ``EXPLORED``
    positions were visited, fewer of a grammar that grows beyond ``EXPLORED_BYTES``, and none of one
    that takes more steps than its compile left. Each time is a
    single measurement and depends on the compiler's caches.
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
    """``enforced`` counts keywords by name; ``annotations`` are keywords without effect."""

    enforced: dict[str, int]
    refused: tuple[Refused, ...]
    mistake: Mistake | None
    annotations: tuple[Keyword, ...]
    more_annotations: int
    cost: Cost | None

    @property
    def is_enforced(self) -> bool:
        """Whether all constraints are enforced."""
        return not self.refused and self.mistake is None

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        annotations = [
            {"pointer": each.pointer, "keyword": each.keyword, "reason": each.no_effect}
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
            yield f"invalid\n  {self.mistake.pointer or '/'}: {self.mistake.reason}"
        if self.refused:
            yield "refused"
        for refused in self.refused:
            yield f"  {refused.pointer or '/'}: {refused.reason}"
            if refused.relaxed != (refused.pointer,):
                places = ", ".join(refused.relaxed)
                yield f"    relaxed: {places}" if places else "    cannot be relaxed"

    def _other_lines(self) -> Iterator[str]:
        if self.annotations:
            yield "no effect"
        for each in self.annotations:
            yield f"  {each.pointer}: {each.no_effect}"
        if self.more_annotations:
            yield f"  and {self.more_annotations:,} more"
        if self.cost is not None:
            counts = ", ".join(f"{name} {count}" for name, count in self.enforced.items())
            yield f"enforced\n  {counts or 'no keyword: any value is accepted'}"
            yield from _cost_lines(self.cost)


def _cost_lines(cost: Cost) -> list[str]:
    return [
        "cost",
        f"  {cost.rules:,} rules, {cost.ir_nodes:,} IR nodes; {cost.states:,} states and "
        f"{cost.edges:,} edges after {EXPLORED:,} positions, {cost.bytes / 1000:,.0f} KB",
        f"  compiled in {cost.compile_ms:,.2f} ms, first mask in {cost.first_mask_ms:,.2f} ms",
    ]


def check_json_schema(
    schema: Any,
    compiler: Compiler,
    *,
    relaxations: Relaxations | None = None,
    budget: WorkBudget | None = None,
    is_measured: bool = True,
) -> Report:
    """Report on a schema as ``compiler.compile_json_schema`` would treat it. Never raises for it.

    Args:
        relaxations: a cache of relaxations; None: no cache.
        budget: the request's budget; None: a new one.
        is_measured: whether the report has the cost, for which automata are built and inspected.
    """
    budget = WorkBudget(compiler.limits) if budget is None else budget
    if relaxations is None:
        relaxation = relax(schema, limits=compiler.limits, most=MAX_REFUSED, budget=budget)
    else:
        relaxation = relaxations.of(schema, most=MAX_REFUSED, budget=budget)
    error, cost = relaxation.error, None
    if error is None:
        try:
            if is_measured:
                cost = measure(relaxation.schema, compiler, budget)
            else:
                compiler.compile_json_schema(relaxation.schema, budget=budget)
        except (SpecError, LimitExceeded) as found:
            error = found
    given = _Uses() if isinstance(error, LimitExceeded) else _uses_of(schema, budget)
    rest = given if relaxation.schema is schema or error else _uses_of(relaxation.schema, budget)
    return Report(
        dict(rest.enforced.most_common()) if error is None else {},
        _refused(relaxation),
        None
        if error is None or isinstance(error, UnsupportedSchema)
        else Mistake(error.pointer, reason_of(error)),
        tuple(given.annotations),
        given.more_annotations,
        cost,
    )


def _refused(relaxation: Relaxation) -> tuple[Refused, ...]:
    """Return the refused keywords in the order in which they were found."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for place in relaxation.places:
        refused = (place.refused, place.refused_keyword, place.reason)
        found.setdefault(refused, []).append(place.pointer)
    error = relaxation.error
    if isinstance(error, UnsupportedSchema):
        found.setdefault((error.pointer, error.keyword, error.message), [])
    return tuple(Refused(*refused, tuple(places)) for refused, places in found.items())


def measure(schema: Any, compiler: Compiler, budget: WorkBudget | None = None) -> Cost:
    """Compile the schema, compute the first mask, and return the cost. The steps that are left then
    pay for exploring; without enough of them nothing is explored.
    """
    budget = WorkBudget(compiler.limits) if budget is None else budget
    words = compiler.vocabulary.words
    bitmask = memoryview(bytearray(4 * words)).cast("i", (1, words))
    start = time.perf_counter()
    compiled = compiler.compile_json_schema(schema, budget=budget)
    made = time.perf_counter()
    Matcher(compiled).fill_bitmask(bitmask)
    masked = time.perf_counter()
    explored, states, edges = _explored(schema, compiler, budget)
    return Cost(
        rules=len(compiled.grammar.rules),
        ir_nodes=len(compiled.grammar.nodes),
        states=states,
        edges=edges,
        bytes=(explored or compiled).held_bytes(),
        compile_ms=round((made - start) * 1000, 3),
        first_mask_ms=round((masked - made) * 1000, 3),
    )


def _explored(
    schema: Any, compiler: Compiler, budget: WorkBudget
) -> tuple[Compiled | None, int, int]:
    """Return a copy of a schema's grammar of which positions were visited, and its states and
    edges.
    """
    most = min(EXPLORED_BYTES, compiler.limits.most_generation_bytes)
    limits = replace(compiler.limits, most_generation_bytes=most)
    copy = None
    try:
        copy = compiler.copy_json_schema(schema, limits=limits, budget=budget)
        return copy, *_counted(copy, budget)
    except LimitExceeded as error:
        if error.limit != "compile_steps":
            raise
    return copy, 0, 0


def _counted(copy: Compiled, budget: WorkBudget) -> tuple[int, int]:
    try:
        return count_states(copy, EXPLORED, budget)
    except LimitExceeded as error:
        if error.limit != "most_generation_bytes":
            raise
    return count_states(copy)


# -- keyword use -----------------------------------------------------------------------------------
@dataclass(slots=True)
class _Uses:
    """The keywords of a schema: uses of constraining ones by name, and those without effect."""

    enforced: Counter[str] = field(default_factory=Counter)
    annotations: list[Keyword] = field(default_factory=list)
    more_annotations: int = 0

    def add(self, keyword: str, place: Path, no_effect: str) -> None:
        if not no_effect:
            if keyword in CONSTRAINTS:
                self.enforced[keyword] += 1
        elif len(self.annotations) < MAX_ANNOTATIONS:
            pointer = pointer_of((*place, keyword))
            self.annotations.append(Keyword(pointer, keyword, no_effect))
        else:
            self.more_annotations += 1


def _uses_of(schema: Any, budget: WorkBudget) -> _Uses:
    """Return the keywords of all used schemas, except the standard's annotations.

    Raises:
        Cancelled: the budget was cancelled. It counts no steps: a compile has counted the schemas.
    """
    found = _Uses()
    for node, place in _used(schema):
        for number, keyword in enumerate(node):
            if number % KEYWORDS_PER_CHECK == 0:
                budget.check()
            found.add(keyword, place, _no_effect(node, keyword))
    return found


def _used(schema: Any) -> Iterator[tuple[dict[str, Any], Path]]:
    """Yield each used schema once, breadth first."""
    queue: list[tuple[Any, Path]] = [(schema, ())]
    met: set[int] = set()
    for node, place in queue:
        if not isinstance(node, dict) or id(node) in met:
            continue
        met.add(id(node))
        yield node, place
        queue += schemas_below(node, place)
        reference = node.get("$ref")
        target = target_of(schema, reference) if isinstance(reference, str) else None
        if target is not None:
            queue.append((value_at(schema, target), target))


def _no_effect(node: dict[str, Any], keyword: str) -> str:
    if keyword not in KNOWN:
        return "unknown keyword"
    if NEEDS.get(keyword, keyword) not in node:
        return f"has no effect without {NEEDS[keyword]!r}"
    if keyword == "additionalItems" and not isinstance(node.get("items"), list):
        return "has no effect if 'items' is not an array"
    constrained = next((kind for kind, words in OF_TYPE.items() if keyword in words), None)
    types = _types(node)
    if constrained is not None and types and constrained not in types:
        return f"has no effect on type {' or '.join(map(repr, types))}"
    if keyword == "format":
        name = node["format"]
        if isinstance(name, str) and name not in FORMATS:
            return f"unknown format {name!r}"
    return ""


def _types(node: dict[str, Any]) -> list[str]:
    """Return the listed types; "integer" includes "number"."""
    given = node.get("type")
    names = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return [*names, *(["number"] if "integer" in names else [])]
