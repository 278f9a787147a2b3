"""The compiler and the relaxations of a cache namespace.

With ``SWITCHYARD_CACHE_NAMESPACE=key`` each API key has caches of its own, so that no client can
measure whether another one has used a schema (engine.sharing.namespaces).
"""

from dataclasses import dataclass, field

from engine import Compiler, Namespaces, Relaxations, namespace_of

from .compile_scheduler import CompileRunner
from .format_plans import FormatPlans


@dataclass(frozen=True, slots=True)
class TenantCaches:
    """Everything that answers faster for a schema that was seen before."""

    compiler: Compiler
    relaxations: Relaxations
    plans: FormatPlans = field(default_factory=FormatPlans)


TenantNamespaces = Namespaces[TenantCaches]


async def caches_of(
    client: str, namespaces: TenantNamespaces, scheduler: CompileRunner
) -> tuple[str, TenantCaches]:
    """Return the namespace of a client and its caches, which are made in a compile thread.

    Raises:
        ApiError: 429, see CompileScheduler.run.
    """
    if not namespaces.most:
        return "", namespaces.shared
    name = namespace_of(client)
    found = namespaces.kept(name)
    if found is None:
        found = await scheduler.run(client, lambda budget: namespaces.of(name))
    return name, found
