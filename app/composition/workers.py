"""The workers of a model, and their pool."""

import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from adapters.workers import Bootstrap, Half, Worker
from engine import SPEC_VERSION, Compiler

from ..constraints import BACKENDS, OWN_BACKEND, GrammarBackend
from ..conversation import Tokenizer
from ..observability import Logger, ModelMetrics
from ..pool import (
    HALF_PROBE,
    Discovery,
    Member,
    Observer,
    PairedPool,
    Pool,
    RetryBudget,
    make_policy,
)
from ..settings import ModelSettings
from ..version import version

if TYPE_CHECKING:
    from adapters.workers import SGLangWorker


def make_workers(
    settings: ModelSettings, compiler: Compiler, tokenizer: Tokenizer, *, is_separate: bool = False
) -> list[Worker]:
    """Return the workers that the settings `model` and `workers` name. ``is_separate``: whether
    each API key has caches of its own.
    """
    kind, model = settings.worker_kind, settings.served_model
    if kind == "noise":
        from adapters.workers import NoiseWorker

        return [NoiseWorker(compiler, seed=settings.noise_seed, model=model)]
    if kind == "transformers":
        try:
            from adapters.workers import TransformersWorker
        except ModuleNotFoundError as error:
            raise settings.error("model", error) from error

        return [
            TransformersWorker(
                settings.model or "",
                compiler,
                device=settings.embedded_device,
                dtype=settings.embedded_dtype,
                threads=settings.embedded_threads,
            )
        ]
    # reports unusable files at the start, even if all workers come from DNS
    make_worker_tls(settings)
    half: Half | None = "decode" if settings.prefill_workers else None
    return [
        make_sglang_worker(settings, tokenizer, url, is_separate=is_separate, half=half)
        for url in settings.workers
        if url not in settings.dns_workers
    ]


def make_worker_tls(settings: ModelSettings) -> ssl.SSLContext | None:
    """Return the TLS to https servers; None: the default. Raises SettingError."""
    authorities, certificate = settings.worker_tls_ca, settings.worker_tls_certificate
    if authorities is None and certificate is None:
        return None
    try:
        context = ssl.create_default_context(cafile=authorities)
    except OSError as error:  # ssl.SSLError is one
        raise settings.error("worker_tls_ca", f"{authorities}: {error}") from error
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, settings.worker_tls_key)
        except OSError as error:
            files = f"{certificate} and {settings.worker_tls_key or 'its key'}"
            raise settings.error("worker_tls_certificate", f"{files}: {error}") from error
    return context


def make_sglang_worker(
    settings: ModelSettings,
    tokenizer: Tokenizer,
    url: str,
    *,
    is_separate: bool = False,
    half: Half | None = None,
) -> Worker:
    """Return the worker at this URL. ``is_separate``: its plug-in must separate caches, too.
    ``half``: None: it runs whole generations.
    """
    from adapters.workers import SGLangWorker

    key = settings.worker_api_key
    return SGLangWorker(
        url,
        model=settings.served_model,
        tokens=tokenizer.vocabulary.tokens,
        stop_token_ids=tokenizer.vocabulary.stop_token_ids,
        grammar_backend=settings.grammar_backend,
        plugin={
            "spec_version": SPEC_VERSION,
            "vocabulary": tokenizer.vocabulary.fingerprint,
            **({"namespace": "key"} if is_separate else {}),
        },
        release=version(),
        api_key=None if key is None else key.get_secret_value(),
        connect_seconds=settings.worker_connect_seconds,
        tls=make_worker_tls(settings),
        separates_caches=settings.kv_cache == "key",
        half=half,
        bootstrap_host=settings.bootstrap_hosts.get(urlsplit(url).hostname or ""),
    )


def make_pool(
    settings: ModelSettings,
    tokenizer: Tokenizer,
    workers: list[Worker],
    metrics: ModelMetrics,
    logger: Logger,
    *,
    is_separate: bool = False,
) -> Pool:
    """Return the pool; only remote workers have deadlines, and may come from DNS."""
    is_remote = settings.worker_kind == "sglang"
    make = partial(make_sglang_worker, settings, tokenizer, is_separate=is_separate)
    shared: dict[str, Any] = {
        "health_seconds": settings.worker_health_seconds,
        "first_token_seconds": settings.worker_first_token_seconds if is_remote else None,
        "token_seconds": settings.worker_token_seconds if is_remote else None,
        "observer": Observer(
            on_failure=metrics.worker_failed,
            on_ejection=metrics.worker_ejected,
            on_removal=metrics.forget_worker,
            on_retry=metrics.retried,
            logger=logger.bind(model=settings.served_model),
        ),
    }
    own: dict[str, Any] = {
        "policy": make_policy(settings.worker_policy),
        "max_running": settings.worker_max_running,
        "retry_budget": RetryBudget(settings.worker_retry_share, settings.worker_retry_floor),
    }
    if not settings.prefill_workers:
        found = _discovery(settings, settings.dns_workers, make)
        return Pool(workers, **shared, **own, discovery=found)
    return _paired_pool(settings, workers, make, shared, own)


def _paired_pool(
    settings: ModelSettings,
    workers: list[Worker],
    make: Callable[..., Worker],
    shared: dict[str, Any],
    own: dict[str, Any],
) -> PairedPool:
    """Return a pool whose ``workers`` decode. ``shared``: options of both sides; ``own``: of the
    decode side.
    """
    shared = {**shared, "probe": HALF_PROBE}
    make_decode, make_prefill = partial(make, half="decode"), partial(make, half="prefill")
    dns = settings.dns_prefill_workers
    prefill = Pool(
        [make_prefill(url) for url in settings.prefill_workers if url not in dns],
        **shared,
        policy=make_policy(settings.prefill_policy),
        max_running=settings.prefill_max_running,
        discovery=_discovery(settings, dns, make_prefill),
    )
    found = _discovery(settings, settings.dns_workers, make_decode)
    return PairedPool(workers, prefill=prefill, meet=_meet, **shared, **own, discovery=found)


def _meet(worker: Worker, room: int) -> Bootstrap:
    return cast("SGLangWorker", worker).bootstrap(room)


def _discovery(
    settings: ModelSettings, names: Sequence[str], make: Callable[[str], Worker]
) -> Discovery | None:
    seconds = settings.worker_dns_seconds
    return Discovery(names, seconds=seconds, make_worker=make) if names else None


def backend_of(settings: ModelSettings) -> GrammarBackend:
    """Return the grammar backend; workers in this process use the own engine."""
    is_remote = settings.worker_kind == "sglang"
    return BACKENDS[settings.grammar_backend if is_remote else OWN_BACKEND]


def by_worker(pool: Pool, number: Callable[[Member], int]) -> dict[str, int]:
    """Return a number of each member; its place in the pool tells workers of one name apart."""
    return {f"{n}:{member.name}": number(member) for n, member in enumerate(pool.members)}


def by_rank(pool: Pool) -> dict[str, int]:
    """Return the running generations of each rank of the members that have several."""
    return {
        f"{n}:{seat.name}": seat.running
        for n, member in enumerate(pool.members)
        for seat in member.seats
        if seat.rank is not None
    }


def workers_of_adapters(settings: ModelSettings, pool: Pool) -> dict[str, int]:
    """Return for each adapter that a setting names the number of available workers that have it; of
    pairs, on the side that has fewer.
    """
    return {
        name: min(
            sum(member.available and member.has_adapter(name) for member in side)
            for side in pool.sides
        )
        for name in dict.fromkeys(settings.adapters.values())
    }
