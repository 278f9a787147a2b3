"""From an output spec to the grammar that constrains the answer.

An unenforceable keyword is relaxed if its schema is not strict (relaxation). Any other constraint
that cannot be enforced is refused with its location.

Cached grammars, refusals and relaxations are returned at once. Everything else is compiled in
threads that clients share (compile_scheduler), with one budget per request.

The mode (see mode) decides what becomes of the grammar. Without enforcement the plan has no spec
for the worker, and a grammar that asks for nothing reads the answer (free_text); a shadow compares
it.

Workers may run a foreign grammar engine. Keywords that it does not enforce (backend_limits) are
reported like relaxed ones, and refused in strict schemas. SGLang's llguidance has no structural
tags: it can only enforce a schema for the whole answer; all other constraints are refused.
"""

import asyncio
import json
import time
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, Protocol

from prometheus_client import Histogram

from adapters.formats import (
    Format,
    FormatError,
    FormatPlan,
    InputFormat,
    Location,
    Origin,
    OutputSpec,
    for_own_engine,
    for_reading_foreign,
    get_format,
)
from engine import (
    Cancelled,
    Compiled,
    Compiler,
    InternalError,
    LimitExceeded,
    Relaxations,
    Relaxed,
    SpecError,
    WorkBudget,
    is_relaxable,
    with_namespace,
)

from ..errors import ApiError, bad_request
from ..generation import token_node_ids
from ..observability import Logger, Metrics, ShadowMetrics
from ..settings import ConstraintMode
from .backend_limits import WITHOUT_TAGS, unenforced_keywords
from .compile_scheduler import CompileRunner, CompileScheduler
from .constraint_plan import NO_BACKEND, ConstraintPlan, Shadow, SpecKind, UnenforcedPlan
from .free_text import FreeText
from .mode import ModeSwitch
from .refusals import message_of, refusal, refusal_label
from .relaxation import MOST_LOGGED, RelaxedKeyword, SchemaRefused, relaxed_plan
from .shadow import Divergence
from .tenant_caches import TenantNamespaces, caches_of

#: Switchyard's own engine among the grammar backends of workers
OWN_BACKEND = "switchyard"
#: a plan whose grammar is kept, or the work that compiles it
Found = ConstraintPlan | Callable[[WorkBudget], ConstraintPlan]


class CompileMetrics(Protocol):
    """The metrics of a compile: those of enforced constraints, or of a shadow's."""

    @property
    def compile_seconds(self) -> Histogram: ...
    def refused(self, keyword: str) -> None: ...
    def relaxed(self, keyword: str) -> None: ...


class ConstraintPlanner:
    """Plans constraints for the requests of one app."""

    def __init__(
        self,
        compiler: Compiler,
        wire: Format,
        special_texts: tuple[str, ...],
        metrics: Metrics,
        logger: Logger,
        *,
        backend: str = OWN_BACKEND,
        scheduler: CompileScheduler | None = None,
        relaxations: Relaxations | None = None,
        switch: ModeSwitch | None = None,
        shadow: ShadowMetrics | None = None,
        namespaces: TenantNamespaces | None = None,
        names_namespace: bool = False,
    ) -> None:
        """``backend``: the workers' grammar engine (see adapters.formats.dialects). ``scheduler``
        and ``relaxations``: the app's; None: new ones. ``switch``: the mode; None: always enforce.
        ``shadow``: the model's metrics of shadow constraints. ``namespaces``: caches of tenants;
        None: all share the compiler. ``names_namespace``: whether specs tell workers the namespace.
        """
        self._compiler = compiler
        self._scheduler: CompileRunner = scheduler or CompileScheduler(compiler.limits)
        self._relaxations = relaxations or Relaxations(compiler.limits)
        self._wire = wire
        self._special_texts = special_texts
        self._metrics: CompileMetrics = metrics
        self._shadow = shadow or ShadowMetrics(metrics, "")
        self._switch = switch or ModeSwitch()
        self._namespaces = namespaces
        self._names_namespace = names_namespace
        self._namespace = ""
        self._logger = logger
        self._backend = backend
        self._is_foreign = backend != OWN_BACKEND

    def of_text(self) -> "ConstraintPlanner":
        """Return a planner of text without calls and reasoning, which shares everything else."""
        planner = copy(self)
        planner._wire = get_format("plain")
        return planner

    def explaining(self, wire: Format, scheduler: CompileRunner) -> "ConstraintPlanner":
        """Return a planner of a format that always enforces, for explanations: its specs are for
        people and name no namespace.
        """
        planner = copy(self)
        planner._wire, planner._switch, planner._names_namespace = wire, ModeSwitch(), False
        planner._scheduler = scheduler
        return planner

    def enforcing(self) -> "ConstraintPlanner":
        """Return a planner that always enforces, with the shared caches, for operators."""
        planner = copy(self)
        planner._switch, planner._namespaces = ModeSwitch(), None
        return planner

    async def of_client(self, client: str) -> "ConstraintPlanner":
        """Return a planner with the client's caches. Raises ApiError 429."""
        if self._namespaces is None:
            return self
        name, caches = await caches_of(client, self._namespaces, self._scheduler)
        planner = copy(self)
        planner._namespace = name
        planner._compiler, planner._relaxations = caches
        return planner

    async def plan(self, output: OutputSpec, client: str = "") -> ConstraintPlan:
        """Return the constraint plan, found in a thread that clients do not share fairly. Raises
        as ``of_client``, ``find`` and ``compiled``.
        """
        planner = await self.of_client(client)
        return await self.compiled(await asyncio.to_thread(planner.find, output), client)

    def find(self, output: OutputSpec) -> Found:
        """Return the plan if its grammar is kept, else the work that compiles it; takes time in
        proportion to the constraints.

        Raises:
            ApiError: 400 if a constraint cannot be enforced (in other modes than "enforce": if the
                request relies on one).
            engine.InternalError: a fault of the engine.
        """
        mode = self._switch.mode
        self._switch.check(output, mode)
        return self._find(output) if mode == "enforce" else self._find_free(mode, output)

    async def compiled(self, found: Found, client: str) -> ConstraintPlan:
        """Return the plan that ``find`` found, compiled in a compile thread if it is not kept.

        Raises:
            ApiError: as ``find``, and 429 if the client has too many waiting compiles.
            engine.InternalError: a fault of the engine.
        """
        if isinstance(found, ConstraintPlan):
            return found
        return await self._scheduler.run(client, found)

    def _find(self, output: OutputSpec) -> Found:
        start = time.perf_counter()
        plan = self._format_plan(output)
        constrain = partial(self._constrain, output, plan, time.perf_counter() - start)
        try:
            return constrain(WorkBudget.exhausted())
        except Cancelled:
            return constrain

    # -- unenforced constraints --------------------------------------------------------------------
    def _find_free(self, mode: ConstraintMode, output: OutputSpec) -> Found:
        """Return the same as ``_find``, for an answer that nothing constrains."""
        read = partial(self._free_plan, mode, output)
        try:
            return read(WorkBudget.exhausted())
        except Cancelled:
            return read

    def _free_plan(
        self, mode: ConstraintMode, output: OutputSpec, budget: WorkBudget
    ) -> ConstraintPlan:
        plan, compiled = FreeText(self._compiler, self._wire, self._special_texts).compile(
            output, budget
        )
        return UnenforcedPlan(
            plan,
            None,
            "structural_tag",
            NO_BACKEND,
            compiled,
            token_node_ids(plan.spec, compiled.vocabulary),
            mode=mode,
            shadow=self._shadow_of(output, budget) if mode == "shadow" else None,
        )

    def _shadow_of(self, output: OutputSpec, budget: WorkBudget) -> Shadow | None:
        """Return the grammar that would have been enforced; None: the request would have been
        refused, which is counted.
        """
        enforcing, metrics = copy(self), self._shadow
        enforcing._metrics = metrics
        enforcing._logger = self._logger.bind(constraints="shadow")
        try:
            found = enforcing._constrain(output, enforcing._format_plan(output), 0.0, budget)
        except ApiError as error:
            metrics.request("refused")
            self._logger.info("enforcing would refuse", param=error.param, code=error.code)
            return None
        except InternalError as error:
            metrics.refused("internal_error")
            metrics.request("refused")
            self._logger.error("a shadow cannot be compiled", exc_info=error)
            return None
        metrics.request("relaxed" if found.relaxed else "compiled")
        return Shadow(found, metrics.answer, self._report_divergence)

    def _report_divergence(self, found: Divergence) -> None:
        self._shadow.diverged(found.place)
        self._logger.info("answer left its grammar", place=found.place, token=found.token)

    # -- enforced constraints ----------------------------------------------------------------------
    def _format_plan(self, output: OutputSpec) -> FormatPlan:
        if self._is_foreign and output.thinking_tokens is not None:
            message = f"The workers' grammar backend {self._backend!r} cannot bound reasoning."
            raise self._beyond_backend(message, "thinking_token_budget")
        try:
            return self._wire.plan(output, self._special_texts)
        except FormatError as error:
            self._metrics.refused("format")
            raise refusal(error.location, error.message) from None

    def _constrain(
        self, output: OutputSpec, plan: FormatPlan, seconds: float, budget: WorkBudget
    ) -> ConstraintPlan:
        """``seconds``: what the format plan took."""
        start = time.perf_counter()
        self._check_grammars(plan, budget)
        relaxed: tuple[RelaxedKeyword, ...] = ()
        try:
            enforced, compiled = self._compile(plan, budget)
        except (SpecError, LimitExceeded) as error:
            plan, relaxed = self._relax(plan, error, budget)
            try:
                enforced, compiled = self._compile(plan, budget)
            except (SpecError, LimitExceeded) as left:
                raise self._refusal(plan.locate(left.pointer), left) from None
        spec, kind = self._spec_of(enforced, output)
        relaxed += self._unenforced(plan)
        self._metrics.compile_seconds.observe(seconds + time.perf_counter() - start)
        token_ids = None
        if self._is_foreign:
            token_ids = token_node_ids(plan.spec, self._compiler.vocabulary)
        self._report(relaxed)
        return ConstraintPlan(enforced, spec, kind, self._backend, compiled, token_ids, relaxed)

    def _compile(self, plan: FormatPlan, budget: WorkBudget) -> tuple[FormatPlan, Compiled]:
        """Return the plan in the workers' dialect, and the grammar that reads the answer.

        Raises:
            SpecError, LimitExceeded, Cancelled: see ``engine.Compiler``.
        """
        compile_tag = partial(self._compiler.compile_structural_tag, budget=budget)
        if not self._is_foreign:
            plan = for_own_engine(plan)
            return plan, compile_tag(self._text_of(plan))
        # compile strictly first, so that unenforceable keywords are refused
        compile_tag(plan.spec)
        return plan, compile_tag(for_reading_foreign(plan).spec)

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
                    raise self._refusal(Location(origin.param, what=origin.what), error) from None
            if self._is_foreign and origin.is_own:
                message = f"The workers' grammar backend {self._backend!r} reads no Lark grammars."
                raise self._beyond_backend(message, origin.param)

    def _compile_alone(self, grammar: InputFormat, budget: WorkBudget) -> None:
        if grammar.syntax == "regex":
            self._compiler.compile_regex(grammar.definition, budget=budget)
        else:
            self._compiler.compile_grammar(grammar.definition, grammar.syntax, budget=budget)

    def _text_of(self, plan: FormatPlan) -> str:
        """Return the spec as JSON text: the compiler's cache key, and the worker's input."""
        try:
            return plan.spec_json
        except FormatError as error:
            self._metrics.refused("format")
            raise refusal(error.location, error.message) from None

    # -- foreign backends --------------------------------------------------------------------------
    def _spec_of(self, plan: FormatPlan, output: OutputSpec) -> tuple[str | None, SpecKind]:
        """Return the worker's spec. Raises ApiError 400 if its engine cannot enforce the plan."""
        if self._backend != WITHOUT_TAGS:
            text = self._text_of(plan)
            named = with_namespace(text, self._namespace) if self._names_namespace else text
            return named, "structural_tag"
        answer = plan.spec["format"]
        if answer["type"] == "json_schema" and output.response_grammar is None:
            return json.dumps(answer["json_schema"]), "json_schema"
        if output.tools or not output.is_text:
            message = (
                f"The workers' grammar backend {self._backend!r} cannot enforce tools, nor a "
                "response format behind reasoning: it takes no structural tags."
            )
            grammar = output.response_grammar
            param = output.response_param if grammar is None else grammar.param
            raise self._beyond_backend(message, "tools" if output.tools else param)
        return None, "structural_tag"

    def _beyond_backend(self, message: str, param: str) -> ApiError:
        self._metrics.refused("backend")
        return bad_request(message, param, "unsupported_by_backend")

    def _unenforced(self, plan: FormatPlan) -> tuple[RelaxedKeyword, ...]:
        """Return the keywords that a foreign backend does not enforce.

        Raises:
            ApiError: 400, the schema of such a keyword is strict.
        """
        found: list[RelaxedKeyword] = []

        def reason_of(keyword: str) -> str:
            return f"the workers' grammar backend {self._backend!r} does not enforce {keyword!r}"

        def collect(origin: Origin, schema: Any) -> Any:
            for pointer, keyword in unenforced_keywords(self._backend, schema):
                reason = reason_of(keyword)
                if origin.is_strict:
                    self._metrics.refused(keyword)
                    raise refusal(Location(origin.param, pointer), reason)
                relaxed = Relaxed(pointer, pointer, keyword, reason)
                found.append(RelaxedKeyword(Location(origin.param), relaxed))
            return schema

        if self._is_foreign:
            plan.with_schemas(collect)
            # a structural tag of the client is enforced as a whole
            for place, schema in plan.constrained_schemas():
                for pointer, keyword in unenforced_keywords(self._backend, schema):
                    self._metrics.refused(keyword)
                    raise refusal(plan.locate(place + pointer), reason_of(keyword))
        return tuple(found)

    # -- unenforceable constraints ----------------------------------------------------------------
    def _relax(
        self, plan: FormatPlan, error: SpecError | LimitExceeded, budget: WorkBudget
    ) -> tuple[FormatPlan, tuple[RelaxedKeyword, ...]]:
        """Return the plan without unenforceable keywords.

        Raises:
            ApiError: 400, the schema is strict, or removing keywords does not help.
        """
        if is_relaxable(error):
            try:
                weaker, relaxed = relaxed_plan(
                    plan,
                    partial(self._relaxations.of, budget=budget),
                    extra_keys="anywhere" if self._is_foreign else "last",
                )
            except SchemaRefused as refused:
                raise self._refusal(refused.location, refused.error) from None
            if relaxed:
                return weaker, relaxed
        raise self._refusal(plan.locate(error.pointer), error) from None

    def _refusal(self, location: Location, error: SpecError | LimitExceeded) -> ApiError:
        self._metrics.refused(refusal_label(error))
        return refusal(location, message_of(error))

    def _report(self, relaxed: tuple[RelaxedKeyword, ...]) -> None:
        for each in relaxed:
            self._metrics.relaxed(each.relaxed.keyword)
        if relaxed:
            outlines = [each.outline for each in relaxed[:MOST_LOGGED]]
            self._logger.warning("schema relaxed", count=len(relaxed), places=outlines)
