"""Many processes that need the same masks at once make them once, with a real Redis."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from threading import Barrier
from typing import TypeVar

import engine
from cache import RedisStore
from cache.redis_bounds import RedisBounds
from engine import artifact
from engine.frontends import patternstore
from tests.engine.harness import new_mask
from tests.engine.test_exchange import DATE, MAIL, members
from tests.redis_server import RedisServer
from tests.vocabularies import small_vocabulary

PROCESSES = 6
SCHEMA = members(MAIL, DATE, {"type": "string", "pattern": "^[a-z]{2,40}[0-9]+$"})
#: automata of some thousand states
COSTLY = {
    "type": "object",
    "properties": {
        letter: {
            "type": "string",
            "pattern": f"^[a{letter}]*a[a{letter}]{{10}}$",
            "not": {"pattern": 3 * letter},
        }
        for letter in "bcdefghi"
    },
    "required": ["b"],
}
TEXT = b'{"p0": "a.b@c.de", "p1": "2020-02-'

Result = TypeVar("Result")

_barrier: Barrier


def begin(barrier: Barrier) -> None:
    global _barrier
    _barrier = barrier


def one_of_many(url: str) -> tuple[list[bytes], int]:
    """Masks along a text, and how many masks of automata preparing them made in this process."""
    artifact.LEAST_GAIN = 0
    bounds = RedisBounds(read_seconds=20.0)
    with_redis = RedisStore(url, namespace="together", key=None, trust="network", bounds=bounds)
    compiler = engine.Compiler(small_vocabulary(), store=with_redis)
    compiled = compiler.compile_json_schema(SCHEMA)
    _barrier.wait()  # all have asked, and there was nothing
    made = -compiler.stats()["triple_made"]
    compiler.prepare(compiled, 500, wait_seconds=60.0)
    made += compiler.stats()["triple_made"]
    matcher, mask, found = engine.Matcher(compiled), new_mask(compiler.vocabulary), []
    for byte in TEXT:
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
        assert matcher.accept_bytes(bytes([byte]))
    with_redis.flush(20.0)
    with_redis.close()
    return found, made


def together(work: Callable[[str], Result]) -> list[Result]:
    """What each process gets out of ``work`` with one Redis, all begun at once."""
    context = get_context("spawn")
    server = RedisServer()
    server.start()
    try:
        with ProcessPoolExecutor(
            PROCESSES, context, initializer=begin, initargs=(context.Barrier(PROCESSES),)
        ) as pool:
            return [
                each.result() for each in [pool.submit(work, server.url) for _ in range(PROCESSES)]
            ]
    finally:
        server.close()


def test_masks_that_many_need_at_once_are_made_once_or_twice() -> None:
    found = together(one_of_many)
    assert all(masks == found[0][0] for masks, _ in found)
    made = sorted(made for _, made in found)
    assert made[-1] > 10 and sum(made) <= 2 * made[-1], made


def compiles_costly_patterns(url: str) -> tuple[bytes, dict[str, int]]:
    """A mask of a schema with patterns that many compile at once, and what is counted."""
    bounds = RedisBounds(read_seconds=20.0)
    with_redis = RedisStore(url, namespace="together", key=None, trust="network", bounds=bounds)
    patternstore.MOST_WAIT_SECONDS = 60.0
    compiler = engine.Compiler(small_vocabulary(), store=with_redis)
    _barrier.wait()
    matcher = engine.Matcher(compiler.compile_json_schema(COSTLY))
    mask = new_mask(compiler.vocabulary)
    assert matcher.accept_bytes(b'{"b": "bab')
    matcher.fill_bitmask(mask)
    with_redis.flush(20.0)
    with_redis.close()
    return mask.tobytes(), compiler.stats()


def test_patterns_that_many_need_at_once_are_made_once_or_twice() -> None:
    found = together(compiles_costly_patterns)
    assert all(mask == found[0][0] for mask, _ in found)
    patterns = len(COSTLY["properties"])
    assert patterns <= sum(stats["store_pattern_puts"] for _, stats in found) <= 2 * patterns
    assert sum(stats["store_pattern_hits"] for _, stats in found) >= (PROCESSES - 2) * patterns


def test_who_waits_for_somebody_who_is_gone_makes_them_himself() -> None:
    """A lease runs out, and waiting has an end before that."""
    server = RedisServer()
    server.start()
    try:
        bounds = RedisBounds(read_seconds=20.0)
        first, second = (
            RedisStore(server.url, namespace="together", key=None, trust="network", bounds=bounds)
            for _ in range(2)
        )
        lost = engine.Compiler(small_vocabulary(), store=first).compile_json_schema(SCHEMA)
        group = artifact.store_group(small_vocabulary().fingerprint)
        keys = [group + b"/" + digest.hex().encode() for digest in lost.unknown_digests()]
        assert all(first.claim(keys, 60.0))
        compiler = engine.Compiler(small_vocabulary(), store=second)
        assert not any(second.claim(keys, 60.0))
        compiled = compiler.compile_json_schema(SCHEMA)
        assert compiler.prepare(compiled, 500, wait_seconds=0.05) > 0
        first.close()
        second.close()
    finally:
        server.close()
