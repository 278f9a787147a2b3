"""From an Ask to a compiled grammar; what can't be enforced is refused with its place.

But where a schema is not strict, and a keyword can't be enforced, that keyword alone is relaxed
(relaxing) and the rest compiled.

What is kept (grammars, refusals, relaxations) is found at once; all else is compiled in threads
that clients share (compiling), on one budget for all that a request asks for.

Workers may run another engine than ours ("stock"). What it is known to let pass (gaps) is told as
what is relaxed, and refused where a schema is strict. SGLang's llguidance knows no structural tags:
there only a schema that is the whole answer can be enforced, and everything else is refused.
"""

import asyncio
import json
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from adapters.formats import Format, FormatError, Plan, for_own_engine, for_reading_stock
from engine import (
    Cancelled,
    Compiled,
    Compiler,
    LimitExceeded,
    Parser,
    Relaxations,
    Relaxed,
    SpecError,
    UnsupportedSchema,
    WorkBudget,
)

from ..errors import ApiError, bad_request
from ..observability.logs import Logger
from ..observability.metrics import Metrics
from .backend_limits import Gap, gaps_of
from .compile_scheduler import Compiles, without_work
from .foreign_backend import StockParser, tokens_by_id
from .output import Asking
from .relaxation import MOST_LOGGED, RelaxedPlace, StillRefused, relaxed_plan, steps_of

#: our own engine among the backends of workers
OURS = "switchyard"
#: SGLang's backend that takes no structural tags
WITHOUT_TAGS = "llguidance"


@dataclass(frozen=True, slots=True)
class Planned:
    """What constrains an answer (``wire``, for the worker), and what reads it (``compiled``).

    ``wire`` is of the kind ``wire_kind``; None: nothing needs to be enforced. ``backend`` does it.
    ``by_id``: see stock.StockParser; None: the workers' engine is ours. ``relaxed``: what the
    answer need not fit.
    """

    plan: Plan
    wire: str | None
    wire_kind: Literal["structural_tag", "json_schema"]
    backend: str
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
        backend: str = OURS,
        compiles: Compiles | None = None,
        relaxations: Relaxations | None = None,
    ) -> None:
        """``backend``: the workers' grammar engine, see adapters.formats.dialects. ``compiles`` and
        ``relaxations``: those of the app; None: its own.
        """
        self._compiler = compiler
        self._compiles = compiles or Compiles(compiler.limits)
        self._relaxations = relaxations or Relaxations(compiler.limits)
        self._wire = wire
        self._special_texts = special_texts
        self._metrics = metrics
        self._logger = logger
        self._backend = backend
        self._stock = backend != OURS

    async def plan(self, asking: Asking, client: str = "") -> Planned:
        """Raises ApiError 400 for what can't be enforced, and 429 for a client that has too many
        compiles waiting; and engine.InternalError.
        """
        try:
            return await asyncio.to_thread(self._plan, asking, without_work())
        except Cancelled:
            return await self._compiles.run(client, partial(self._plan, asking))

    def _plan(self, asking: Asking, budget: WorkBudget) -> Planned:
        start = time.perf_counter()
        if self._stock and asking.ask.thinking_tokens is not None:
            self._metrics.refused("backend")
            message = f"The workers' grammar backend {self._backend!r} can't bound reasoning."
            raise bad_request(message, "thinking_token_budget", "unsupported_by_backend")
        try:
            plan = self._wire.plan(asking.ask, self._special_texts)
        except FormatError as error:
            self._metrics.refused("format")
            raise refusal(asking.param(error.param), error.pointer, error.message) from None
        relaxed: tuple[RelaxedPlace, ...] = ()
        try:
            compiled = self._compile(plan, budget)
        except (SpecError, LimitExceeded) as error:
            plan, relaxed = self._relax(plan, asking, error, budget)
            try:
                compiled = self._compile(plan, budget)
            except (SpecError, LimitExceeded) as left:
                raise self._refusal(asking, *plan.blame(left.pointer), left) from None
        wire, kind = self._wire_of(plan, asking)
        relaxed += self._let_pass(plan, asking)
        self._metrics.compile_seconds.observe(time.perf_counter() - start)
        by_id = tokens_by_id(plan.spec, self._compiler.vocabulary) if self._stock else None
        self._tell(relaxed)
        return Planned(plan, wire, kind, self._backend, compiled, by_id, relaxed)

    def _compile(self, plan: Plan, budget: WorkBudget) -> Compiled:
        """Raises SpecError, LimitExceeded and Cancelled."""
        compile_tag = partial(self._compiler.compile_structural_tag, budget=budget)
        if not self._stock:
            return compile_tag(for_own_engine(plan.spec))
        # compiled as asked, so that what can't be enforced is refused; read loosely
        compile_tag(plan.spec_json)
        return compile_tag(for_reading_stock(plan.spec))

    # -- other engines
    # -----------------------------------------------------------------------------

    def _wire_of(
        self, plan: Plan, asking: Asking
    ) -> tuple[str | None, Literal["structural_tag", "json_schema"]]:
        """What the worker is sent. Raises ApiError 400: its engine can't take it."""
        if not self._stock:
            return for_own_engine(plan.spec), "structural_tag"
        if self._backend != WITHOUT_TAGS:
            return plan.spec_json, "structural_tag"
        answer = plan.spec["format"]
        if answer["type"] == "json_schema":
            return json.dumps(answer["json_schema"]), "json_schema"
        if asking.ask.tools or asking.ask.response_schema is not None:
            self._metrics.refused("backend")
            param = "tools" if asking.ask.tools else "response_format"
            message = (
                f"The workers' grammar backend {self._backend!r} can't enforce tools, nor a "
                "response format behind reasoning: it takes no structural tags."
            )
            raise bad_request(message, param, "unsupported_by_backend")
        return None, "structural_tag"

    def _let_pass(self, plan: Plan, asking: Asking) -> tuple[RelaxedPlace, ...]:
        """What the worker's engine lets pass. Raises ApiError 400: of a schema that is strict."""
        found: list[RelaxedPlace] = []

        def look(param: str, schema: Any) -> Any:
            for gap in gaps_of(self._backend, schema):
                if asking.is_strict(param):
                    self._metrics.refused(gap.keyword)
                    raise refusal(asking.param(param), gap.pointer, self._reason(gap))
                place = Relaxed(gap.pointer, gap.pointer, gap.keyword, self._reason(gap))
                found.append(RelaxedPlace(steps_of(asking.param(param)), place))
            return schema

        if self._stock:
            plan.with_schemas(look)
        return tuple(found)

    def _reason(self, gap: Gap) -> str:
        return f"the workers' grammar backend {self._backend!r} does not enforce {gap.keyword!r}"

    def _relax(
        self, plan: Plan, asking: Asking, error: SpecError | LimitExceeded, budget: WorkBudget
    ) -> tuple[Plan, tuple[RelaxedPlace, ...]]:
        """What is left to compile after ``error``. Raises ApiError 400: nothing."""
        if isinstance(error, UnsupportedSchema):
            try:
                weaker, places = relaxed_plan(
                    plan,
                    asking,
                    partial(self._relaxations.of, budget=budget),
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
