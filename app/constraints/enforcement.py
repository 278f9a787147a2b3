"""Enforced constraints: from an output spec to the grammar that the workers enforce.

An unenforceable keyword is relaxed if its schema is not strict (relaxation). Any other constraint
that cannot be enforced is refused with its location. Keywords that the workers' engine does not
enforce (grammar_backend) are reported like relaxed ones, and refused in strict schemas.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from adapters.formats import Format, FormatError, FormatPlan, InputFormat, Location, OutputSpec
from engine import (
    LimitExceeded,
    SpecError,
    WorkBudget,
    attempts_of,
    is_relaxable,
    with_namespace,
)

from ..observability import Logger, Metrics, ShadowMetrics
from .constraint_plan import ConstraintPlan
from .grammar_backend import GrammarBackend
from .refusals import BeyondBackend, ConstraintRefused, refusal
from .relaxation import MAX_LOGGED, RelaxedKeyword, relaxed_plan
from .tenant_caches import TenantCaches

#: compiles a plan with a budget
Work = Callable[[WorkBudget], ConstraintPlan]
Refused = ConstraintRefused | BeyondBackend
_REFUSALS = (FormatError, ConstraintRefused, BeyondBackend)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """How one model's workers enforce constraints.

    ``wire``           the format of answers.
    ``special_texts``  the vocabulary's special tokens.
    ``caches``         those of all clients, or of one.
    ``namespace``      of the caches, which specs name; "": they name none.
    """

    wire: Format
    special_texts: tuple[str, ...]
    backend: GrammarBackend
    caches: TenantCaches
    metrics: Metrics | ShadowMetrics
    logger: Logger
    namespace: str = ""

    def begin(self, output: OutputSpec) -> Work:
        """Return the work that compiles the grammar; takes time in proportion to the constraints.

        Raises (as the work does):
            ApiError: 400 if a constraint cannot be enforced.
            engine.InternalError: a fault of the engine.
        """
        start = time.perf_counter()
        try:
            self.backend.check(output)
            plan = self.caches.plans.of(self.wire, self.special_texts, output)
        except _REFUSALS as error:
            raise self._counted(error) from None
        return partial(self._compile, output, plan, time.perf_counter() - start)

    def _compile(
        self, output: OutputSpec, plan: FormatPlan, seconds: float, budget: WorkBudget
    ) -> ConstraintPlan:
        """``seconds``: what the format plan took."""
        start = time.perf_counter()
        backend, compiler = self.backend, self.caches.compiler
        try:
            self._check_grammars(plan, budget)
            relaxed: tuple[RelaxedKeyword, ...] = ()
            try:
                enforced, compiled = backend.compile(compiler, plan, budget)
            except (SpecError, LimitExceeded) as error:
                plan, relaxed = self._relax(plan, error, budget)
                try:
                    enforced, compiled = backend.compile(compiler, plan, budget)
                except (SpecError, LimitExceeded) as left:
                    raise refusal(plan.locate(left.pointer), left) from None
            spec, kind = backend.spec(enforced, output)
            relaxed += backend.unenforced(plan)
        except _REFUSALS as error:
            raise self._counted(error) from None
        self.metrics.compile_seconds.observe(seconds + time.perf_counter() - start)
        self._report(relaxed)
        if spec is not None:
            spec = with_namespace(spec, self.namespace)
        token_ids = backend.token_ids(plan, compiler.vocabulary)
        return ConstraintPlan(enforced, spec, kind, backend.name, compiled, token_ids, relaxed)

    def _check_grammars(self, plan: FormatPlan, budget: WorkBudget) -> None:
        """Check the client's grammars where the spec does not show their errors.

        Raises:
            ApiError: 400, a grammar is invalid alone, though maybe not as a part of the spec, or
                the workers' engine does not read it.
        """
        for origin in plan.origins.values():
            if origin.grammar is not None:
                try:
                    self._compile_alone(origin.grammar, budget)
                except (SpecError, LimitExceeded) as error:
                    raise refusal(Location(origin.param, what=origin.what), error) from None
            self.backend.check_origin(origin)

    def _compile_alone(self, grammar: InputFormat, budget: WorkBudget) -> None:
        compiler = self.caches.compiler
        if grammar.syntax == "regex":
            compiler.compile_regex(grammar.definition, budget=budget)
        else:
            compiler.compile_grammar(grammar.definition, grammar.syntax, budget=budget)

    def _relax(
        self, plan: FormatPlan, error: SpecError | LimitExceeded, budget: WorkBudget
    ) -> tuple[FormatPlan, tuple[RelaxedKeyword, ...]]:
        """Return the plan without unenforceable keywords.

        Raises:
            ApiError: 400, the schema is strict, or removing keywords does not help.
        """
        if is_relaxable(error):
            attempts = attempts_of(self.caches.compiler.limits)
            relax = partial(self.caches.relaxations.of, budget=budget, attempts=attempts)
            weaker, relaxed = relaxed_plan(plan, relax, extra_keys=self.backend.extra_keys)
            if relaxed:
                return weaker, relaxed
        raise refusal(plan.locate(error.pointer), error) from None

    # -- metrics and log ---------------------------------------------------------------------------
    def _counted(self, error: FormatError | Refused) -> Refused:
        """Count a refusal, and return it; one is made of what the format cannot write."""
        if isinstance(error, FormatError):
            error = ConstraintRefused(error.location, error.message, "format")
        self.metrics.refused(error.label)
        return error

    def _report(self, relaxed: tuple[RelaxedKeyword, ...]) -> None:
        for each in relaxed:
            self.metrics.relaxed(each.relaxed.keyword)
        if relaxed:
            outlines = [each.outline for each in relaxed[:MAX_LOGGED]]
            self.logger.warning("schema relaxed", count=len(relaxed), places=outlines)
