"""Composition: from settings to the components of an app.

Only this module names concrete classes. ``build`` makes everything, ``Components.aclose`` closes it
in reverse order. Nothing heavy is imported early: a gateway in front of SGLang never loads torch,
and one without a model never loads transformers.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from adapters.workers import Worker, WorkerError
from cache import RedisLog, may_use_redis, open_store
from engine import ARTIFACT_VERSION, SPEC_VERSION, Compiler, Limits, Relaxations

from . import version
from .constraints.compile_scheduler import CompileScheduler
from .constraints.planner import OWN_BACKEND, ConstraintPlanner
from .conversation.tokenizer import Tokenizer, load_tokenizer
from .observability.logs import Logger
from .observability.metrics import Metrics
from .pool.worker_pool import Pool
from .server.offload import Offload
from .service.cache_report import cache_report
from .service.chat_service import ChatService
from .service.check_service import CheckService
from .service.faults import Faults
from .service.warm_service import WarmService
from .settings import SettingError, Settings


@dataclass(frozen=True, slots=True)
class Core:
    """The components that compile, in a gateway and in ``switchyard warm``."""

    store: RedisLog | None
    tokenizer: Tokenizer
    compiler: Compiler
    scheduler: CompileScheduler
    relaxations: Relaxations
    planner: ConstraintPlanner
    warming: WarmService


@dataclass(frozen=True, slots=True)
class Components:
    """The components of an app."""

    chat: ChatService
    checks: CheckService
    scheduler: CompileScheduler
    warming: WarmService
    cache_report: Callable[[], dict[str, Any]]
    pool: Pool
    store: RedisLog | None
    tokenizer: Tokenizer
    workers: list[Worker]
    offload: Offload
    compiler: Compiler
    load_seconds: float
    loads_per_second: int

    async def start(self) -> None:
        """Start the pool and the cache. Raises SettingError if a worker cannot load its model."""
        try:
            await self.pool.start()
        except WorkerError as error:
            raise SettingError("MODEL", error.message) from error
        self.compiler.start(self.load_seconds, loads_per_second=self.loads_per_second)

    async def aclose(self) -> None:
        """Close everything in reverse order; a failure does not keep the others open."""
        closers: list[Callable[[], Awaitable[None]]] = [
            self.pool.aclose,
            self._close_offload,
            self.scheduler.aclose,
            self._close_store,
        ]
        failures = []
        for close in closers:
            try:
                await close()
            except Exception as error:
                failures.append(error)
        if failures:
            raise ExceptionGroup("closing failed", failures)

    async def _close_offload(self) -> None:
        await asyncio.to_thread(self.offload.close)

    async def _close_store(self) -> None:
        """Publish the last entries, then disconnect."""
        await asyncio.to_thread(close_store, self.compiler, self.store)


def build_core(
    settings: Settings,
    metrics: Metrics,
    logger: Logger,
    load: Callable[[str | None, str], Tokenizer] = load_tokenizer,
) -> Core:
    """Load the tokenizer, but no model. The caller must call ``close_store``.

    Args:
        load: returns the tokenizer of a source and a format; see ``load_tokenizer``.

    Raises:
        SettingError: no such tokenizer, or the format does not fit it.
    """
    store = make_store(settings, logger)
    try:
        tokenizer = load(settings.tokenizer_source, settings.format)
    except ValueError as error:
        if store is not None:
            store.close()
        raise SettingError("TOKENIZER" if settings.tokenizer else "MODEL", error) from error
    limits = Limits().within(settings.compiler_memory_bytes)
    compiler = Compiler(
        tokenizer.vocabulary,
        store=store,
        limits=limits,
    )
    scheduler = CompileScheduler(
        limits, threads=settings.compile_threads, queue=settings.compile_queue
    )
    relaxations = Relaxations(limits)
    planner = ConstraintPlanner(
        compiler,
        tokenizer.wire,
        tokenizer.special_texts,
        metrics,
        logger,
        backend=backend_of(settings),
        scheduler=scheduler,
        relaxations=relaxations,
    )
    warming = WarmService(settings, planner, compiler)
    return Core(store, tokenizer, compiler, scheduler, relaxations, planner, warming)


def build(
    settings: Settings,
    metrics: Metrics,
    logger: Logger,
    load: Callable[[str | None, str], Tokenizer] = load_tokenizer,
) -> Components:
    """Make all components; load the tokenizer, and a model that runs in this process.

    ``load``: see ``build_core``.
    """
    core = build_core(settings, metrics, logger, load)
    store, tokenizer, compiler = core.store, core.tokenizer, core.compiler
    workers = make_workers(settings, compiler, tokenizer)
    pool = make_pool(settings, workers, metrics, logger)
    if store is not None:
        metrics.watch("cache", "The log in Redis: counters", store.stats)
    metrics.watch(
        "compiler",
        "The engine's compiler: counters and sizes",
        lambda: compiler.stats() | core.relaxations.stats(),
    )
    metrics.watch("compiles", "Compiles that run, wait or were turned away", core.scheduler.stats)
    metrics.watch("workers_running", "Open generations by worker", lambda: running(pool))
    metrics.watch(
        "workers_available",
        "Whether a worker is healthy and not ejected, by worker",
        lambda: available(pool),
        across="livemin",
    )
    metrics.describe(
        version=version(),
        format=tokenizer.wire.name,
        vocabulary=tokenizer.vocabulary.fingerprint,
        artifact=str(ARTIFACT_VERSION),
    )
    offload = Offload()
    chat = ChatService(
        settings=settings,
        offload=offload,
        planner=core.planner,
        tokenizer=tokenizer,
        pool=pool,
        metrics=metrics,
        faults=Faults(metrics, logger),
        system_fingerprint=fingerprint(settings, tokenizer),
    )
    checks = CheckService(compiler, settings.strict_profile, core.scheduler, core.relaxations)
    report = partial(
        cache_report,
        store,
        compiler,
        wire=tokenizer.wire.name,
        vocabulary=tokenizer.vocabulary,
    )
    return Components(
        chat,
        checks,
        core.scheduler,
        core.warming,
        report,
        pool,
        store,
        tokenizer,
        workers,
        offload,
        compiler,
        settings.cache_prefetch_seconds,
        settings.cache_loads_per_second,
    )


def close_store(compiler: Compiler, store: RedisLog | None) -> None:
    """Publish new entries, end the compiler's background thread, and disconnect."""
    compiler.close()
    if store is not None:
        store.close()


def make_store(settings: Settings, logger: Logger) -> RedisLog | None:
    """Return the log in Redis; None: none is configured, or it may not be used."""
    key = settings.cache_key
    secret = None if key is None else key.get_secret_value().encode()
    url = settings.redis_url
    if url is not None and not may_use_redis(secret, settings.cache_trust):
        logger.warning("redis is not used: set CACHE_KEY, or CACHE_TRUST=network")
    return open_store(
        redis_url=None if url is None else url.get_secret_value(),
        key=secret,
        ttl_s=settings.cache_ttl_seconds,
        trust=settings.cache_trust,
    )


def make_workers(settings: Settings, compiler: Compiler, tokenizer: Tokenizer) -> list[Worker]:
    """Return the workers that MODEL and WORKERS name."""
    kind, model = settings.worker_kind, settings.served_model
    if kind == "noise":
        from adapters.workers import NoiseWorker

        return [NoiseWorker(compiler, seed=settings.noise_seed, model=model)]
    if kind == "transformers":
        try:
            from adapters.workers import TransformersWorker
        except ModuleNotFoundError as error:
            raise SettingError("MODEL", error) from error

        return [TransformersWorker(settings.model or "", compiler)]
    from adapters.workers import SGLangWorker

    key = settings.worker_api_key
    return [
        SGLangWorker(
            url,
            model=model,
            tokens=tokenizer.vocabulary.tokens,
            stop_token_ids=tokenizer.vocabulary.stop_token_ids,
            grammar_backend=settings.grammar_backend,
            plugin={
                "spec_version": SPEC_VERSION,
                "vocabulary": tokenizer.vocabulary.fingerprint,
            },
            api_key=None if key is None else key.get_secret_value(),
        )
        for url in settings.workers
    ]


def make_pool(settings: Settings, workers: list[Worker], metrics: Metrics, logger: Logger) -> Pool:
    """Return the pool; only remote workers have deadlines."""
    is_remote = settings.worker_kind == "sglang"
    return Pool(
        workers,
        health_seconds=settings.worker_health_seconds,
        first_token_seconds=settings.worker_first_token_seconds if is_remote else None,
        token_seconds=settings.worker_token_seconds if is_remote else None,
        on_failure=lambda name, reason: metrics.worker_failures.labels(name, reason).inc(),
        on_ejection=lambda name: metrics.worker_ejections.labels(name).inc(),
        logger=logger,
    )


def backend_of(settings: Settings) -> str:
    """Return the grammar backend; workers in this process use the own engine."""
    return settings.grammar_backend if settings.worker_kind == "sglang" else OWN_BACKEND


def running(pool: Pool) -> dict[str, int]:
    """Return open generations by worker; a number tells workers of one name apart."""
    return {f"{n}:{member.worker.name}": member.running for n, member in enumerate(pool.members)}


def available(pool: Pool) -> dict[str, int]:
    """Return 1 for each healthy worker that is not ejected, 0 for the others."""
    return {f"{n}:{member.worker.name}": member.available for n, member in enumerate(pool.members)}


def fingerprint(settings: Settings, tokenizer: Tokenizer) -> str:
    """Return the system fingerprint: it covers what may change the answer to one seed."""
    parts = (
        version(),
        settings.served_model,
        settings.worker_kind,
        tokenizer.wire.name,
        tokenizer.vocabulary.fingerprint,
    )
    return f"fp_{sha256('/'.join(parts).encode()).hexdigest()[:12]}"
