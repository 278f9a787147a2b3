"""``switchyard warm``: compiles ahead what files ask for, in this process, and fills the store.

It is put together as a gateway is, from the same settings, so that it finds and leaves what
gateways look for: the same vocabulary, the same keys, the same seal. No gateway need run, and no
model is loaded. What is filled is Redis, the host's file, or both: whatever the settings name.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..composition import Core, build_core
from ..errors import ApiError
from ..logging import make_logger
from ..metrics import Metrics
from ..service.warming import Warmed, totals
from ..settings import SettingError, Settings
from .progress import with_progress
from .settings import Unusable
from .shared import open_redis
from .specs import Spec, read_specs
from .table import table
from .warned import warnings_of

#: a command is in no hurry: a reading that gateways would give up is waited for
READ_SECONDS = 2.0
#: requests after which what was learnt is written before more is made: the queue of the store has a
#: bound, and drops what comes beyond
WRITTEN_EVERY = 32
#: refusals that are listed
MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Written:
    """What one tier behind memory took, and what is missing there. A rule of which more was learnt
    is written again.
    """

    tier: str
    writes: int
    bytes: int
    lost: int
    is_down: bool


def warm(settings: Settings, files: Sequence[Path], *, wait_s: float) -> int:
    """Returns the exit status. Raises Unusable."""
    specs = [spec for file in files for spec in read_specs(file)]
    with warnings_of("cache") as warnings:
        core = _build(settings)
        try:
            start = time.perf_counter()
            warmed = asyncio.run(_warm_all(core, specs, wait_s))
            in_time = asyncio.run(core.warming.hand_over(wait_s))
            asyncio.run(core.compiles.aclose())
            seconds = time.perf_counter() - start
            written = [_written(name, stats) for name, stats in core.store.tiers()[1:]]
        finally:
            core.store.close()
    _tell_refusals(specs, warmed)
    print(table(_summary(warmed, written, seconds)))
    for warning in warnings:
        print(f"switchyard: {warning}", file=sys.stderr)
    is_complete = _tell_what_is_missing(written, in_time)
    return 0 if is_complete and all(each.status == "compiled" for each in warmed) else 1


def _build(settings: Settings) -> Core:
    _check_stores(settings)
    patient = {"cache_read_seconds": max(READ_SECONDS, settings.cache_read_seconds)}
    chosen = settings.model_copy(update=patient)
    try:
        return build_core(chosen, Metrics(), make_logger("error", sys.stderr))
    except SettingError as error:
        raise Unusable(str(error)) from None


def _check_stores(settings: Settings) -> None:
    """Connects to nothing, but says what is wrong before anything is compiled. Raises Unusable."""
    host_file = settings.cache_host_file
    if host_file is not None and not Path(host_file).absolute().parent.is_dir():
        raise Unusable(f"SWITCHYARD_CACHE_HOST_FILE: {host_file} is in no folder that is there")
    if settings.redis_url is None and host_file is None:
        raise Unusable(
            "there is no store to fill: set SWITCHYARD_REDIS_URL or SWITCHYARD_CACHE_HOST_FILE"
        )
    if settings.redis_url is None:
        return
    try:
        open_redis(settings).close()
    except Unusable as error:
        if host_file is None:
            raise
        print(error, file=sys.stderr)  # as in a gateway, which goes on with the file


async def _warm_all(core: Core, specs: Sequence[Spec], wait_s: float) -> list[Warmed]:
    warmed, is_late = [], False
    for number, spec in enumerate(with_progress(specs, "warming", sys.stderr), start=1):
        if isinstance(spec.request, ApiError):
            warmed.append(Warmed(""))
            warmed[-1].refuse(spec.request)
            continue
        warmed.append(await core.warming.warm_one(spec.request))
        if number % WRITTEN_EVERY == 0 and not is_late:
            is_late = not await core.warming.hand_over(wait_s)  # then once more, at the end
    return warmed


def _written(tier: str, stats: dict[str, int]) -> Written:
    lost = sum(stats.get(name, 0) for name in ("write_failures", "dropped", "queued"))
    return Written(
        tier,
        stats.get("writes", 0),
        stats.get("written_bytes", 0),
        lost,
        bool(stats.get("open", 0)),
    )


def _tell_refusals(specs: Sequence[Spec], warmed: Sequence[Warmed]) -> None:
    refused = [
        (spec.place, each.error.param, each.error.message)
        for spec, each in zip(specs, warmed, strict=True)
        if each.error is not None
    ]
    if refused:
        print(table([("refused", "parameter", "reason"), *refused[:MOST_LISTED]]))
        if len(refused) > MOST_LISTED:
            print(f"... and {len(refused) - MOST_LISTED:,} more")
        print()


def _summary(
    warmed: Sequence[Warmed], written: Sequence[Written], seconds: float
) -> list[tuple[str, int | float]]:
    sums = totals(warmed)
    rows: list[tuple[str, int | float]] = [
        ("compiled", sums["compiled"]),
        ("refused", sums["refused"]),
        ("relaxed", sum(bool(each.relaxed) for each in warmed)),
        ("grammars", sums["grammars"]),
        ("masks", sums["masks"]),
    ]
    for each in written:
        rows += [
            (f"writes to {each.tier}", each.writes),
            (f"bytes written to {each.tier}", each.bytes),
        ]
    return [*rows, ("seconds", round(seconds, 1))]


def _tell_what_is_missing(written: Sequence[Written], in_time: bool) -> bool:
    """Whether nothing is."""
    for each in written:
        if each.is_down:
            print(f"switchyard: {each.tier} could not be used", file=sys.stderr)
        if each.lost:
            print(f"switchyard: {each.lost:,} writes to {each.tier} are missing", file=sys.stderr)
    if not in_time:
        print("switchyard: not all was written in time", file=sys.stderr)
    return in_time and not any(each.is_down or each.lost for each in written)
