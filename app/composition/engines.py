"""The engines of an app: a compiler for each different vocabulary, with and without detours."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from cache import RedisLog, may_use_redis, open_store
from engine import Compiler, Limits, Namespaces, Relaxations, Vocabulary

from ..constraints import TenantCaches, TenantNamespaces
from ..observability import Logger
from ..settings import GatewaySettings, ModelSettings


@dataclass(frozen=True, slots=True)
class Engine:
    """The compiler of a vocabulary. Models with equal vocabularies and `detours` share it.

    ``store`` is its own: only one thread may follow the log through one client. ``namespaces``:
    the compilers of API keys, which have no store; without them, only the shared one.
    """

    namespaces: TenantNamespaces
    store: RedisLog | None

    @property
    def compiler(self) -> Compiler:
        """The shared compiler."""
        return self.namespaces.shared.compiler

    def stats(self) -> dict[str, int]:
        """Return counters and sizes: of the shared caches, and the number of namespaces."""
        shared = self.compiler.stats() | self.namespaces.shared.relaxations.stats()
        return shared | (self.namespaces.stats() if self.namespaces.most else {})

    def close(self) -> None:
        """Publish new entries, end the compiler's background thread, and disconnect."""
        self.compiler.close()
        if self.store is not None:
            self.store.close()


def engine_name(model: ModelSettings, vocabulary: Vocabulary) -> str:
    """Return the identity of a model's engine: the fingerprint, and whether masks have detours."""
    detours = "" if model.detours == "avoid" else " with detours"
    return f"{vocabulary.fingerprint}{detours}"


def make_engines(
    gateway: GatewaySettings, models: Iterable[tuple[ModelSettings, Vocabulary]], logger: Logger
) -> dict[str, Engine]:
    """Return an engine for each different ``engine_name``.

    The compilers divide the memory budget equally: a compiler cannot lend memory to another one.
    """
    different = {engine_name(*each): each for each in models}
    most = gateway.cache_namespaces if gateway.cache_namespace == "key" else 0
    limits = limits_of(gateway, compilers=len(different) * (1 + most))
    if gateway.redis_url is not None and not may_use_redis(gateway.secret, gateway.cache_trust):
        logger.warning("redis is not used: set CACHE_KEY, or CACHE_TRUST=network")
    engines = {}
    for name, (model, vocabulary) in different.items():
        store = make_store(gateway)
        avoids = model.detours == "avoid"
        compiler = Compiler(vocabulary, store=store, limits=limits, avoid_detours=avoids)
        shared = TenantCaches(compiler, Relaxations(limits))
        make = partial(_of_tenant, vocabulary, limits, avoids)
        engines[name] = Engine(Namespaces(shared, make, most=most), store)
    return engines


def _of_tenant(vocabulary: Vocabulary, limits: Limits, avoids_detours: bool) -> TenantCaches:
    """Return new caches. They have no store: what Redis shares, all tenants share."""
    compiler = Compiler(vocabulary, limits=limits, avoid_detours=avoids_detours)
    return TenantCaches(compiler, Relaxations(limits))


def limits_of(gateway: GatewaySettings, *, compilers: int = 1) -> Limits:
    """Return the limits of one of several compilers, which divide the memory budget."""
    return Limits().within(gateway.compiler_memory_bytes // compilers)


def make_store(gateway: GatewaySettings) -> RedisLog | None:
    """Return the log in Redis; None: none is configured, or it may not be used."""
    url = gateway.redis_url
    return open_store(
        redis_url=None if url is None else url.get_secret_value(),
        key=gateway.secret,
        ttl_s=gateway.cache_ttl_seconds,
        trust=gateway.cache_trust,
    )
