"""All components of an app, and their life: made, started and closed together."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.workers import WorkerError

from ..access import Keys, KeysUnreadable
from ..admission import Admission
from ..concurrency import Offload
from ..constraints import CompileScheduler
from ..conversation import load_tokenizer
from ..observability import Logger, Metrics
from ..sealing import Seal
from ..service import ServedModel, ServedModels
from ..settings import PREFIX, GatewaySettings, ModelSettings, SettingError, Settings
from ..state import ConversationStore, ResponseStore, RunStore
from .access import make_admission, make_keys, make_tokens
from .engines import Engine, engine_name, limits_of, make_engines
from .images import make_images
from .models import Core, Load, Shared, load_tokenizers, make_core, make_model
from .state import make_bytes

if TYPE_CHECKING:
    from ..access.token_verifier import TokenVerifier


@dataclass(frozen=True, slots=True)
class Components:
    """The components of an app. ``tokens``: None, tokens are off."""

    models: ServedModels
    engines: Sequence[Engine]
    shared: Shared
    tokens: "TokenVerifier | None"
    keys: Keys
    admission: Admission

    async def start(self) -> None:
        """Start the pools, the caches and the keys.

        Raises:
            SettingError: a worker cannot load its model, or a file of keys has a mistake.
        """
        started = await asyncio.gather(*map(_start, self.models), return_exceptions=True)
        failures = [each for each in started if each is not None]
        mistakes = [each for each in failures if isinstance(each, SettingError)]
        if mistakes:
            raise SettingError(*(text for each in mistakes for text in each.sentences))
        if failures:
            raise failures[0]
        gateway = self.shared.gateway
        for engine in self.engines:
            engine.compiler.start(
                gateway.cache_prefetch_seconds, loads_per_second=gateway.cache_loads_per_second
            )
        try:
            await self.keys.start()
        except KeysUnreadable as error:
            raise SettingError(f"{PREFIX}{error.setting}: {error}") from error

    def cache_stats(self) -> dict[str, int] | None:
        """Return the counters of the log in Redis, summed over all vocabularies; None: no Redis."""
        total: Counter[str] = Counter()
        for engine in self.engines:
            if engine.store is not None:
                total.update(engine.store.stats())
        return dict(total) or None

    async def aclose(self) -> None:
        """Close everything in reverse order; a failure does not keep the others open."""
        async with AsyncExitStack() as stack:
            for engine in self.engines:
                stack.push_async_callback(asyncio.to_thread, engine.close)
            stack.push_async_callback(self.shared.scheduler.aclose)
            stack.push_async_callback(asyncio.to_thread, self.shared.offload.close)
            stack.callback(self.shared.images.close)
            stack.push_async_callback(self.shared.state.aclose)
            for model in self.models:
                stack.push_async_callback(model.pool.aclose)
            stack.push_async_callback(self.admission.aclose)
            stack.push_async_callback(self.keys.aclose)


async def _start(model: ServedModel) -> None:
    try:
        await model.pool.start()
    except WorkerError as error:
        raise model.settings.error("model", error.message) from error


def build(
    settings: Settings,
    metrics: Metrics,
    logger: Logger,
    load: Load = load_tokenizer,
) -> Components:
    """Make all components; load the tokenizers, and models that run in this process.

    ``load``: see ``load_tokenizer``.

    Raises:
        SettingError: no such tokenizer, the format does not fit it, or tokens cannot be verified.
    """
    tokens = make_tokens(settings.gateway)
    tokenizers = load_tokenizers(settings.models, load)
    shared = make_shared(settings.gateway, metrics, logger)
    vocabularies = [tokenizer.vocabulary for tokenizer in tokenizers]
    parts = list(zip(settings.models, vocabularies, strict=True))
    engines = make_engines(settings.gateway, parts, logger)
    with ExitStack() as stack:
        for engine in engines.values():
            stack.callback(engine.close)
        models = ServedModels(
            [
                make_model(
                    shared, model, tokenizer, engines[engine_name(model, tokenizer.vocabulary)]
                )
                for model, tokenizer in zip(settings.models, tokenizers, strict=True)
            ]
        )
        stack.pop_all()
    components = Components(
        models,
        tuple(engines.values()),
        shared,
        tokens,
        make_keys(settings.gateway, tokens, metrics, logger),
        make_admission(settings.gateway, models, metrics, logger),
    )
    if components.cache_stats() is not None:
        metrics.watch("cache", "The log in Redis: counters", lambda: components.cache_stats() or {})
    for name, engine in engines.items():
        text = "The engine's compiler: counters and sizes"
        metrics.watch("compiler", text, engine.stats, vocabulary=name)
    text = "Compiles that run, wait or were turned away"
    metrics.watch("compiles", text, shared.scheduler.stats)
    return components


def build_core(
    gateway: GatewaySettings, model: ModelSettings, metrics: Metrics, logger: Logger
) -> Core:
    """Make the components of one model that compile. The caller must close the engine.

    Raises:
        SettingError: see ``build``.
    """
    (tokenizer,) = load_tokenizers([model], load_tokenizer)
    (engine,) = make_engines(gateway, [(model, tokenizer.vocabulary)], logger).values()
    return make_core(make_shared(gateway, metrics, logger), model, tokenizer, engine)


def make_shared(gateway: GatewaySettings, metrics: Metrics, logger: Logger) -> Shared:
    """Return the components that all models share."""
    scheduler = CompileScheduler(
        limits_of(gateway),
        threads=gateway.compile_threads,
        queue=gateway.compile_queue,
    )
    offload = Offload()
    store = make_bytes(gateway, logger)
    most = gateway.responses_max_bytes
    state = ResponseStore(store, offload, max_bytes=most)
    conversations = ConversationStore(store, offload, max_bytes=most)
    return Shared(
        gateway,
        metrics,
        logger,
        offload,
        Seal(gateway.secret),
        scheduler,
        asyncio.Lock(),
        state,
        RunStore(store, max_bytes=most),
        conversations,
        make_images(gateway, offload, metrics),
    )
