"""``switchyard warm``: compile the grammars of requests in files, and publish the results.

The command uses a gateway's settings: the same vocabulary, keys and seal. It needs no running
gateway and loads no model.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ..composition import Core, build_core
from ..errors import ApiError
from ..observability import Metrics, make_logger
from ..service import WarmupResult, shared_count, totals
from ..settings import Settings
from .environment import chosen_model
from .redis_entries import open_redis
from .terminal import table, warnings_of, with_progress
from .warmup_files import WarmupEntry, read_entries

#: requests between two publications, so that an interrupted command loses few
PUBLISHED_EVERY = 32
#: refusals that the output lists
MAX_LISTED = 1_000


def warm(
    settings: Settings, files: Sequence[Path], *, wait_s: float, model: str | None = None
) -> int:
    """Warm the cache of one model (``chosen_model``); return the exit status. Raises Unusable."""
    chosen = chosen_model(settings, model)
    entries = [entry for file in files for entry in read_entries(file)]
    with warnings_of("engine") as warnings:
        # reports an unusable Redis before anything is compiled
        open_redis(settings.gateway).close()
        core = build_core(settings.gateway, chosen, Metrics(), make_logger("error", sys.stderr))
        try:
            start = time.perf_counter()
            warmed = asyncio.run(_warm_all(core, entries))
            is_published = asyncio.run(core.warming.publish())
            asyncio.run(core.scheduler.aclose())
            seconds = time.perf_counter() - start
            in_time = core.engine.compiler.close(wait_s)
            stats = core.engine.compiler.stats()
        finally:
            core.engine.close()
    published, dropped = shared_count(stats, "published"), shared_count(stats, "dropped")
    _tell_refusals(entries, warmed)
    print(table(_summary(warmed, published, seconds)))
    for warning in warnings:
        print(f"switchyard: {warning}", file=sys.stderr)
    if dropped:
        print(f"switchyard: {dropped:,} artifacts could not be published", file=sys.stderr)
    if not (is_published and in_time):
        print("switchyard: Redis did not take everything in time", file=sys.stderr)
    is_complete = is_published and in_time and not dropped
    return 0 if is_complete and all(each.status == "compiled" for each in warmed) else 1


async def _warm_all(core: Core, entries: Sequence[WarmupEntry]) -> list[WarmupResult]:
    warmed = []
    for number, entry in enumerate(with_progress(entries, "warming", sys.stderr), start=1):
        if isinstance(entry.request, ApiError):
            warmed.append(WarmupResult(""))
            warmed[-1].refuse(entry.request)
            continue
        warmed.append(await core.warming.warm_one(entry.request))
        if number % PUBLISHED_EVERY == 0:
            await core.warming.publish()  # then once more, at the end
    return warmed


def _tell_refusals(entries: Sequence[WarmupEntry], warmed: Sequence[WarmupResult]) -> None:
    refused = [
        (entry.place, each.error.param, each.error.message)
        for entry, each in zip(entries, warmed, strict=True)
        if each.error is not None
    ]
    if refused:
        print(table([("refused", "parameter", "reason"), *refused[:MAX_LISTED]]))
        if len(refused) > MAX_LISTED:
            print(f"... and {len(refused) - MAX_LISTED:,} more")
        print()


def _summary(
    warmed: Sequence[WarmupResult], published: int, seconds: float
) -> list[tuple[str, int | float]]:
    sums = totals(warmed, seconds)
    return [
        ("compiled", sums["compiled"]),
        ("refused", sums["refused"]),
        ("relaxed", sum(bool(each.relaxed) for each in warmed)),
        ("grammars", sums["grammars"]),
        ("masks", sums["masks"]),
        ("artifacts published", published),
        ("seconds", round(seconds, 1)),
    ]
