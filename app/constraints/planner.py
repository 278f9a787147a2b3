"""From an output spec to the constraint of an answer, which depends on the model's mode.

enforce        the workers enforce the grammar (enforcement)
shadow, off    the plan has no spec for the worker, and a grammar that asks for nothing reads the
               answer (free_text); a shadow compares it

Cached grammars, refusals and relaxations are returned at once. Everything else is compiled in
threads that clients share (compile_scheduler), with one budget per request.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from adapters.formats import Format, JsonRules, OutputSpec, get_format
from engine import InternalError, WorkBudget, from_caches

from ..errors import ApiError
from ..generation import token_node_ids
from ..observability import ShadowMetrics
from ..settings import ConstraintMode
from .compile_scheduler import CompileRunner
from .constraint_plan import NO_BACKEND, ConstraintPlan, UnenforcedPlan
from .enforcement import Enforcement, Work
from .free_text import FreeText
from .mode import ModeSwitch
from .shadow import Divergence, ShadowParser
from .tenant_caches import TenantNamespaces, caches_of

#: a plan whose grammar is cached, or the work that compiles it
Found = ConstraintPlan | Work


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintPlanner:
    """Plans constraints for the requests of one model.

    ``shadow``           the model's metrics of shadow constraints.
    ``namespaces``       caches of tenants; None: all clients use those of ``enforcement``.
    ``names_namespace``  whether specs tell workers the namespace.
    """

    enforcement: Enforcement
    scheduler: CompileRunner
    switch: ModeSwitch
    shadow: ShadowMetrics
    namespaces: TenantNamespaces | None = None
    names_namespace: bool = False

    def of_text(self) -> "ConstraintPlanner":
        """Return a planner of text without calls and reasoning, which shares everything else."""
        return replace(self, enforcement=replace(self.enforcement, wire=get_format("plain")))

    def explaining(self, wire: Format, scheduler: CompileRunner) -> "ConstraintPlanner":
        """Return a planner of a format that always enforces, for explanations: its specs are for
        people and name no namespace.
        """
        enforcement = replace(self.enforcement, wire=wire)
        always = ModeSwitch()
        return replace(
            self,
            enforcement=enforcement,
            scheduler=scheduler,
            switch=always,
            names_namespace=False,
        )

    def enforcing(self) -> "ConstraintPlanner":
        """Return a planner that always enforces, with the shared caches, for operators."""
        return replace(self, switch=ModeSwitch(), namespaces=None)

    async def of_client(self, client: str) -> "ConstraintPlanner":
        """Return a planner with the client's caches. Raises ApiError 429."""
        if self.namespaces is None:
            return self
        name, caches = await caches_of(client, self.namespaces, self.scheduler)
        name = name if self.names_namespace else ""
        return replace(self, enforcement=replace(self.enforcement, caches=caches, namespace=name))

    async def plan(self, output: OutputSpec, client: str) -> ConstraintPlan:
        """Return the constraint plan, found in a thread that clients do not share fairly. Raises
        as ``of_client``, ``find`` and ``compiled``.
        """
        planner = await self.of_client(client)
        return await self.compiled(await asyncio.to_thread(planner.find, output), client)

    def find(self, output: OutputSpec) -> Found:
        """Return the plan if its grammar is cached, else the work that compiles it; takes time in
        proportion to the constraints.

        Raises:
            ApiError: 400 if a constraint cannot be enforced (in other modes than "enforce": if the
                request relies on one).
            engine.InternalError: a fault of the engine.
        """
        mode = self.switch.mode
        self.switch.check(output, mode)
        if mode == "enforce":
            work = self.enforcement.begin(output)
        else:
            work = partial(self._free_plan, mode, output)
        return from_caches(work) or work

    async def compiled(self, found: Found, client: str) -> ConstraintPlan:
        """Return the plan that ``find`` found, compiled in a compile thread if it is not cached.

        Raises:
            ApiError: as ``find``, and 429 if the client has too many waiting compiles.
            engine.InternalError: a fault of the engine.
        """
        if isinstance(found, ConstraintPlan):
            return found
        return await self.scheduler.run(client, found)

    # -- unenforced constraints --------------------------------------------------------------------
    def _free_plan(
        self, mode: ConstraintMode, output: OutputSpec, budget: WorkBudget
    ) -> ConstraintPlan:
        """Return the plan of an answer that nothing constrains."""
        base = self.enforcement
        free = FreeText(base.caches.compiler, base.wire, base.special_texts)
        plan, compiled = free.compile(output, budget)
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

    def _shadow_of(
        self, output: OutputSpec, budget: WorkBudget
    ) -> Callable[[], ShadowParser] | None:
        """Return the comparison with the grammar that would have been enforced; None: the request
        would have been refused, which is counted.
        """
        metrics, logger = self.shadow, self.enforcement.logger
        bound = logger.bind(constraints="shadow")
        try:
            # an answer that only writes its JSON in another way than asked is no divergence
            free = replace(output, json_rules=JsonRules())
            found = replace(self.enforcement, metrics=metrics, logger=bound).begin(free)(budget)
        except ApiError as error:
            metrics.request("refused")
            logger.info("enforcing would refuse", param=error.param, code=error.code)
            return None
        except InternalError as error:
            metrics.refused("internal_error")
            metrics.request("refused")
            logger.error("a shadow cannot be compiled", exc_info=error)
            return None
        metrics.request("relaxed" if found.relaxed else "compiled")
        return partial(self._compare, found)

    def _compare(self, expected: ConstraintPlan) -> ShadowParser:
        self.shadow.answer()
        roles, tokens = expected.format_plan.roles, expected.compiled.vocabulary.tokens
        return ShadowParser(expected.parser(), roles, tokens, self._report_divergence)

    def _report_divergence(self, found: Divergence) -> None:
        self.shadow.diverged(found.place)
        self.enforcement.logger.info(
            "answer left its grammar", place=found.place, token=found.token
        )
