"""Planners for tests, with new parts for all that a test does not give."""

from adapters.formats import Format
from app.constraints import ModeSwitch
from app.constraints.compile_scheduler import CompileRunner, CompileScheduler
from app.constraints.enforcement import Enforcement
from app.constraints.grammar_backend import BACKENDS
from app.constraints.planner import ConstraintPlanner
from app.constraints.tenant_caches import TenantCaches, TenantNamespaces
from app.observability import Logger, Metrics, ShadowMetrics
from engine import Compiler, Relaxations


def make_planner(
    compiler: Compiler,
    wire: Format,
    special_texts: tuple[str, ...],
    metrics: Metrics,
    logger: Logger,
    *,
    backend: str = "switchyard",
    scheduler: CompileRunner | None = None,
    relaxations: Relaxations | None = None,
    switch: ModeSwitch | None = None,
    shadow: ShadowMetrics | None = None,
    namespaces: TenantNamespaces | None = None,
    names_namespace: bool = False,
) -> ConstraintPlanner:
    return ConstraintPlanner(
        enforcement=Enforcement(
            wire=wire,
            special_texts=special_texts,
            backend=BACKENDS[backend],
            caches=TenantCaches(compiler, relaxations or Relaxations(compiler.limits)),
            metrics=metrics,
            logger=logger,
        ),
        scheduler=scheduler or CompileScheduler(compiler.limits),
        switch=switch or ModeSwitch(),
        shadow=shadow or ShadowMetrics(metrics, ""),
        namespaces=namespaces,
        names_namespace=names_namespace,
    )
