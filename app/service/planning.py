"""From an Ask to a compiled grammar; what can't be enforced is refused with its place.

But where a schema is not strict, and a keyword can't be enforced, that keyword alone is relaxed
(relaxing) and the rest compiled.
"""

import asyncio
import time
from dataclasses import dataclass

from adapters.formats import Format, FormatError, Plan, for_own_engine, for_reading_stock
from engine import Compiled, Compiler, LimitExceeded, Parser, SpecError, UnsupportedSchema

from ..errors import ApiError, bad_request
from ..logging import Logger
from ..metrics import Metrics
from .asking import Asking
from .relaxing import MOST_LOGGED, RelaxedPlace, StillRefused, relaxed_plan
from .stock import StockParser, tokens_by_id


@dataclass(frozen=True, slots=True)
class Planned:
    """What constrains an answer (``wire``, for the worker), and what reads it (``compiled``).

    ``by_id``: see stock.StockParser; None: the workers' engine is ours. ``relaxed``: what the
    answer need not fit.
    """

    plan: Plan
    wire: str
    compiled: Compiled
    by_id: frozenset[int] | None = None
    relaxed: tuple[RelaxedPlace, ...] = ()

    def parser(self) -> Parser | StockParser:
        """For one answer."""
        parser = self.compiled.parser()
        if self.by_id is None:
            return parser
        return StockParser(parser, self.compiled.vocabulary, self.by_id)


class Planner:
    """Holds what does not change between requests."""

    def __init__(
        self,
        compiler: Compiler,
        wire: Format,
        special_texts: tuple[str, ...],
        metrics: Metrics,
        logger: Logger,
        *,
        stock: bool = False,
    ) -> None:
        """``stock``: the workers' grammar engine is not ours, see adapters.formats.dialects."""
        self._compiler = compiler
        self._wire = wire
        self._special_texts = special_texts
        self._metrics = metrics
        self._logger = logger
        self._stock = stock

    async def plan(self, asking: Asking) -> Planned:
        """Raises ApiError 400 for what can't be enforced, and engine.InternalError."""
        return await asyncio.to_thread(self._plan, asking)

    def _plan(self, asking: Asking) -> Planned:
        start = time.perf_counter()
        try:
            plan = self._wire.plan(asking.ask, self._special_texts)
        except FormatError as error:
            self._metrics.refused("format")
            raise refusal(asking.param(error.param), error.pointer, error.message) from None
        relaxed: tuple[RelaxedPlace, ...] = ()
        try:
            wire, compiled = self._compile(plan)
        except (SpecError, LimitExceeded) as error:
            plan, relaxed = self._relax(plan, asking, error)
            try:
                wire, compiled = self._compile(plan)
            except (SpecError, LimitExceeded) as left:
                raise self._refusal(asking, *plan.blame(left.pointer), left) from None
        self._metrics.compile_seconds.observe(time.perf_counter() - start)
        by_id = tokens_by_id(plan.spec, self._compiler.vocabulary) if self._stock else None
        self._tell(relaxed)
        return Planned(plan, wire, compiled, by_id, relaxed)

    def _compile(self, plan: Plan) -> tuple[str, Compiled]:
        """Raises SpecError and LimitExceeded."""
        wire = plan.spec_json if self._stock else for_own_engine(plan.spec)
        compiled = self._compiler.compile_structural_tag(wire)
        if self._stock:
            # compiled as asked, so that what can't be enforced is refused; read loosely
            compiled = self._compiler.compile_structural_tag(for_reading_stock(plan.spec))
        return wire, compiled

    def _relax(
        self, plan: Plan, asking: Asking, error: SpecError | LimitExceeded
    ) -> tuple[Plan, tuple[RelaxedPlace, ...]]:
        """What is left to compile after ``error``. Raises ApiError 400: nothing."""
        if isinstance(error, UnsupportedSchema):
            try:
                weaker, places = relaxed_plan(
                    plan,
                    asking,
                    self._compiler.limits,
                    extra_keys="anywhere" if self._stock else "last",
                )
            except StillRefused as left:
                raise self._refusal(asking, left.param, left.error.pointer, left.error) from None
            if places:
                return weaker, places
        raise self._refusal(asking, *plan.blame(error.pointer), error) from None

    def _refusal(
        self, asking: Asking, param: str | None, pointer: str, error: SpecError | LimitExceeded
    ) -> ApiError:
        """``param``: the place in the Ask, ``pointer``: inside of it."""
        self._metrics.refused(keyword_of(error))
        return refusal(asking.param(param), pointer, message_of(error))

    def _tell(self, relaxed: tuple[RelaxedPlace, ...]) -> None:
        for place in relaxed:
            self._metrics.relaxed(place.relaxed.keyword)
        if relaxed:
            outlines = [place.outline for place in relaxed[:MOST_LOGGED]]
            self._logger.warning("schema relaxed", count=len(relaxed), places=outlines)


def keyword_of(error: SpecError | LimitExceeded) -> str:
    """What a refusal is counted under."""
    if isinstance(error, UnsupportedSchema):
        return error.keyword
    return error.limit if isinstance(error, LimitExceeded) else "invalid"


def message_of(error: SpecError | LimitExceeded) -> str:
    """The engine's message without its place: that is the spec's, not the request's."""
    if isinstance(error, LimitExceeded):
        return f"{error.limit}: at most {error.maximum:,} allowed, got {error.got:,}"
    return error.message


def refusal(param: str | None, pointer: str, message: str) -> ApiError:
    """400 that names the place: the parameter, and a JSON pointer inside of it."""
    what = "response_format" if param == "response_format" else (param or "the request")
    place = f"at {pointer}: " if pointer else ""
    return bad_request(
        f"Invalid schema for {what}: {place}{message}.", param, "invalid_json_schema"
    )
