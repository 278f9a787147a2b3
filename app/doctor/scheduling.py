"""Whether each rank of a worker answers, whether it keeps salts apart, and whether it knows the
priorities of keys.

A server says what it was started with; these are the questions whose answers show that it is so.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from secrets import token_hex

from adapters.workers import ALONE, Chunk, Generation, WorkerError

from ..access import KeyEntry, KeyFile, KeysUnreadable
from ..composition import make_redis_keys
from ..pool import Member
from ..service import ServedModel
from ..settings import GatewaySettings
from .finding import Finding

#: ranks that are asked, and of these at once
MAX_ASKED, AT_ONCE = 64, 8
#: ranks that a finding names
MAX_NAMED = 8
#: seconds for all ranks of a worker, for the prompts with salts, and for the keys in Redis
RANKS_SECONDS, SALTS_SECONDS, KEYS_SECONDS = 60.0, 60.0, 5.0
#: words of a prompt with a salt: more tokens than a page of any cache has
SALTED_WORDS = 256
_PROBE = Generation(rid="doctor", prompt="Hello", spec=None, max_tokens=1, temperature=0.0)


async def examine_ranks(member: Member) -> Finding | None:
    """Ask each rank for a token; None: the worker has no ranks to name."""
    ranks = [seat.rank for seat in member.seats if seat.rank is not None]
    if not ranks:
        return None
    limit = asyncio.Semaphore(AT_ONCE)
    failed: dict[int, str] = {}

    async def ask(rank: int) -> None:
        async with limit:
            try:
                await _answer(member, replace(_PROBE, rank=rank))
            except WorkerError as error:
                failed[rank] = error.message

    asked = ranks[:MAX_ASKED]
    place = f"worker {member.name}"
    try:
        async with asyncio.timeout(RANKS_SECONDS):
            await asyncio.gather(*map(ask, asked))
    except TimeoutError:
        text = f"its {len(ranks)} ranks did not all answer within {RANKS_SECONDS:g} s"
        return Finding("error", place, text, "see the log of the worker")
    if failed:
        rank, reason = min(failed.items())
        named = ", ".join(map(str, sorted(failed)[:MAX_NAMED]))
        text = f"{len(failed)} of {len(asked)} asked ranks fail ({named}); rank {rank}: {reason}"
        return Finding("error", place, text, "see the log of the worker")
    which = "each" if len(asked) == len(ranks) else f"each of the first {len(asked)}"
    return Finding("ok", place, f"{len(ranks)} data-parallel ranks, {which} answers")


async def examine_salts(served: ServedModel, member: Member) -> Finding | None:
    """Ask for one prompt with two salts; None: the clients share their caches, or the worker only
    decodes, and gets the keys and values of each prompt.
    """
    half = served.pool.half_of(member)
    is_separate = served.settings.kv_cache == "key" and served.settings.worker_kind == "sglang"
    if not is_separate or half == "decode":
        return None
    rank = member.seats[0].rank
    words = " ".join(f"salt {number}" for number in range(SALTED_WORDS // 2))
    bootstrap = None if half is None else ALONE
    asked = replace(_PROBE, prompt=words, rank=rank, bootstrap=bootstrap)
    place = f"worker {member.name}"
    try:
        async with asyncio.timeout(SALTS_SECONDS):
            own, other = token_hex(8), token_hex(8)
            await _answer(member, replace(asked, cache_salt=own))
            again = await _answer(member, replace(asked, cache_salt=own))
            apart = await _answer(member, replace(asked, cache_salt=other))
    except WorkerError as error:
        return Finding("error", place, f"a prompt with a salt fails: {error.message}")
    except TimeoutError:
        return Finding("error", place, f"no answer to salts within {SALTS_SECONDS:g} s")
    if apart:
        return Finding(
            "error",
            place,
            f"a prompt with another salt found {apart:,} cached tokens: salts do not separate",
            "use another server, or kv_cache=shared",
        )
    if not again:
        text = "it reports no cached tokens, not even for the same salt; separation was not seen"
        return Finding("ok", place, text)
    text = f"salts separate the KV caches of keys ({again:,} cached tokens with the same salt)"
    return Finding("ok", place, text)


async def examine_priorities(
    gateway: GatewaySettings, served: ServedModel, member: Member
) -> Finding | None:
    """Say whether the worker follows the priorities of keys; None: they have none."""
    if served.settings.worker_kind != "sglang" or not await _has_priorities(gateway):
        return None
    place = f"worker {member.name}"
    if member.health.details.get("priorities") is True:
        return Finding("ok", place, "its queue follows the priorities of keys")
    return Finding(
        "warning",
        place,
        "keys have priorities, but the worker's own queue ignores them",
        "start the server with `--enable-priority-scheduling`",
    )


async def _has_priorities(gateway: GatewaySettings) -> bool:
    """Return whether a key has a priority. Sources that cannot be read have no keys here; other
    findings are about them.
    """
    entries: Iterable[KeyEntry] = ()
    try:
        if gateway.keys_file is not None:
            entries = await asyncio.to_thread(KeyFile(gateway.keys_file).entries)
        if gateway.keys_redis:
            redis = make_redis_keys(gateway, lambda reason: None)
            try:
                async with asyncio.timeout(KEYS_SECONDS):
                    entries = [*entries, *await redis.entries()]
            finally:
                await redis.aclose()
    except (KeysUnreadable, TimeoutError):
        pass
    return any(entry.priority != "normal" for entry in entries)


async def _answer(member: Member, generation: Generation) -> int:
    """Return the cached tokens of an answer's prompt. Raises WorkerError, also if the server has no
    rank of the generation's number.
    """
    cached = 0

    def receive(chunk: Chunk) -> bool:
        nonlocal cached
        cached = chunk.cached_tokens
        return True

    run = member.worker.run(generation, receive)
    await run.wait()
    if getattr(run, "lost_rank", False):
        raise WorkerError(502, "the server refuses a rank of this number", reason="protocol")
    return cached
