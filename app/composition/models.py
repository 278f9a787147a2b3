"""The components of one model."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from operator import attrgetter

from engine import ARTIFACT_VERSION

from ..concurrency import Offload
from ..constraints import CompileScheduler, ConstraintPlanner, Enforcement, ModeSwitch
from ..conversation import Tokenizer, shown_answers
from ..images import ImageLoader
from ..observability import Logger, Metrics, ModelMetrics, ShadowMetrics
from ..pool import PairedPool, Pool
from ..sealing import Seal
from ..service import (
    CacheSalts,
    ChatPrompts,
    ChatService,
    CheckService,
    CompletionService,
    ExplainService,
    Faults,
    GenerationService,
    MessagesService,
    ResponsesService,
    ServedModel,
    TokenizeService,
    WarmService,
    cache_report,
)
from ..settings import GatewaySettings, ModelSettings
from ..state import ConversationStore, ResponseStore, RunStore
from ..version import version
from .engines import Engine
from .workers import (
    backend_of,
    by_rank,
    by_worker,
    make_pool,
    make_workers,
    workers_of_adapters,
)

#: returns the tokenizer of a source and a format, and whether it teaches; see ``load_tokenizer``
Load = Callable[[str | None, str, bool], Tokenizer]


@dataclass(frozen=True, slots=True)
class Shared:
    """The components that all models of an app share. ``warming``: held during a warm-up."""

    gateway: GatewaySettings
    metrics: Metrics
    logger: Logger
    offload: Offload
    seal: Seal
    scheduler: CompileScheduler
    warming: asyncio.Lock
    state: ResponseStore
    runs: RunStore
    conversations: ConversationStore
    images: ImageLoader


@dataclass(frozen=True, slots=True)
class Core:
    """The components of one model that compile, in a gateway and in ``switchyard warm``."""

    engine: Engine
    tokenizer: Tokenizer
    scheduler: CompileScheduler
    planner: ConstraintPlanner
    warming: WarmService
    switch: ModeSwitch


def load_tokenizers(models: Iterable[ModelSettings], load: Load) -> list[Tokenizer]:
    """Return each model's tokenizer; models with equal settings share one. Raises SettingError."""
    loaded: dict[tuple[str | None, str, bool], Tokenizer] = {}
    tokenizers = []
    for model in models:
        key = (model.tokenizer_source, model.format, model.teaches)
        try:
            tokenizers.append(loaded.get(key) or loaded.setdefault(key, load(*key)))
        except ValueError as error:
            raise model.error("tokenizer" if model.tokenizer else "model", error) from error
    return tokenizers


def make_core(shared: Shared, model: ModelSettings, tokenizer: Tokenizer, engine: Engine) -> Core:
    """Return the components of a model that compile."""
    switch = ModeSwitch(model.constraints, unenforced_strict=model.unenforced_strict)
    backend = backend_of(model)
    planner = ConstraintPlanner(
        enforcement=Enforcement(
            wire=tokenizer.wire,
            special_texts=tokenizer.special_texts,
            backend=backend,
            caches=engine.namespaces.shared,
            metrics=shared.metrics,
            logger=shared.logger,
        ),
        scheduler=shared.scheduler,
        switch=switch,
        shadow=ShadowMetrics(shared.metrics, model.served_model),
        namespaces=engine.namespaces if engine.namespaces.most else None,
        names_namespace=model.worker_kind == "sglang" and backend.reads_namespaces,
    )
    warming = WarmService(
        model,
        shown_answers(tokenizer.wire, tokenizer.profile),
        planner.enforcing(),
        engine.compiler,
        shared.warming,
    )
    return Core(engine, tokenizer, shared.scheduler, planner, warming, switch)


def make_model(
    shared: Shared, model: ModelSettings, tokenizer: Tokenizer, engine: Engine
) -> ServedModel:
    """Return a model with its workers, not yet started, and its series in the metrics."""
    core = make_core(shared, model, tokenizer, engine)
    metrics = ModelMetrics(shared.metrics, model.served_model)
    is_separate = engine.namespaces.most > 0
    workers = make_workers(model, engine.compiler, tokenizer, is_separate=is_separate)
    pool = make_pool(model, tokenizer, workers, metrics, shared.logger, is_separate=is_separate)
    _export(shared, model, tokenizer, pool)
    generation = _generation(shared, model, core, pool, metrics)
    system_fingerprint = fingerprint(model, tokenizer)
    return ServedModel(
        settings=model,
        tokenizer=tokenizer,
        workers=workers,
        pool=pool,
        chat=ChatService(generation, system_fingerprint=system_fingerprint),
        completions=CompletionService(generation, system_fingerprint=system_fingerprint),
        responses=ResponsesService(
            generation,
            shared.state,
            shared.conversations,
            shared.seal,
            on_unstored=shared.metrics.responses_unstored.inc,
        ),
        messages=MessagesService(generation, shared.seal),
        tokenizing=TokenizeService(
            generation, tokenizer=tokenizer, pool=pool, offload=shared.offload
        ),
        checks=CheckService(engine.namespaces, model.strict_profile, shared.scheduler),
        explanations=_explanations(shared, model, core),
        warming=core.warming,
        switch=core.switch,
        cache_report=partial(
            cache_report,
            engine.store,
            engine.compiler,
            model=model.served_model,
            wire=tokenizer.wire.name,
            vocabulary=tokenizer.vocabulary,
        ),
    )


def _generation(
    shared: Shared, model: ModelSettings, core: Core, pool: Pool, metrics: ModelMetrics
) -> GenerationService:
    return GenerationService(
        settings=model,
        offload=shared.offload,
        planner=core.planner,
        tokenizer=core.tokenizer,
        prompts=ChatPrompts(
            model,
            core.tokenizer,
            pool,
            shared.images,
            max_images=shared.gateway.max_images,
            max_json_values=shared.gateway.max_json_values,
        ),
        pool=pool,
        metrics=metrics,
        faults=Faults(shared.metrics, shared.logger),
        comment_seconds=shared.gateway.stream_comment_seconds,
        salts=CacheSalts(is_separate=model.kv_cache == "key", secret=shared.gateway.secret or b""),
    )


def _explanations(shared: Shared, model: ModelSettings, core: Core) -> ExplainService:
    return ExplainService(
        settings=model,
        tokenizer=core.tokenizer,
        planner=core.planner,
        namespaces=core.engine.namespaces,
        scheduler=shared.scheduler,
        offload=shared.offload,
    )


def _export(shared: Shared, model: ModelSettings, tokenizer: Tokenizer, pool: Pool) -> None:
    """Add the series of a model that are read on each request for /metrics."""
    watch, name = shared.metrics.watch, model.served_model
    text, running = "Open generations by worker", attrgetter("running")
    watch("workers_running", text, partial(by_worker, pool, running), model=name)
    watch("ranks_running", "Open generations by rank", partial(by_rank, pool), model=name)
    text = "Whether a worker is healthy, not ejected and not draining, by worker"
    available = partial(by_worker, pool, attrgetter("available"))
    watch("workers_available", text, available, across="livemin", model=name)
    if isinstance(pool, PairedPool):
        text = "Open prefill halves of generations by worker"
        watch(
            "prefill_workers_running", text, partial(by_worker, pool.prefill, running), model=name
        )
        text = "Whether a prefill worker is healthy, not ejected and not draining, by worker"
        available = partial(by_worker, pool.prefill, attrgetter("available"))
        watch("prefill_workers_available", text, available, across="livemin", model=name)
    if model.adapters:
        text = "Available workers with an adapter that a setting names"
        counted = partial(workers_of_adapters, model, pool)
        watch("adapter_workers", text, counted, across="livemin", model=name)
    shared.metrics.describe(
        model.served_model,
        version=version(),
        format=tokenizer.wire.name,
        vocabulary=tokenizer.vocabulary.fingerprint,
        artifact=str(ARTIFACT_VERSION),
    )


#: settings that change prompts, grammars or limits of requests that do not ask for something else
_SHAPING = {
    "reasoning",
    "thinking_token_budget",
    "unseen_media",
    "unknown_syntax",
    "default_completion_tokens",
    "json_layout",
    "include_schema_in_prompt",
    "schema_style",
    "parallel_tool_calls",
    "extra_keys",
    "argument_order",
    "default_max_items",
    "default_max_length",
    "constraints",
    "detours",
}


def fingerprint(settings: ModelSettings, tokenizer: Tokenizer) -> str:
    """Return the system fingerprint: it covers what may change the answer to one seed."""
    parts = (
        version(),
        settings.served_model,
        settings.worker_kind,
        tokenizer.wire.name,
        # formats that are made have one name
        tokenizer.evidence.shown if tokenizer.evidence.family is not None else "",
        tokenizer.vocabulary.fingerprint,
        settings.model_dump_json(include=_SHAPING),
    )
    return f"fp_{sha256('/'.join(parts).encode()).hexdigest()[:12]}"
