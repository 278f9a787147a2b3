"""python -m bench.cache_together: many processes meet one cold schema at once, with one Redis.

Each compiles the schema, all at the same moment, and then prepares its masks, again at the same
moment. Told is how many masks and patterns each of them made, and how long it took; alone, a
process makes all of them. What takes less than a way to Redis is not shared: everybody makes that.
"""

import argparse
import multiprocessing
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from time import perf_counter
from typing import Any, NamedTuple

from cache import open_store
from engine import Compiler, Vocabulary
from engine.frontends import patternstore
from tests.redis_server import PATIENCE_SECONDS, RedisServer

from .report import markdown
from .vocabularies import NAMES, load

KEY = b"sixteen bytes of secret"
#: masks that are made at most
BUDGET = 500
#: what costs: a format and a pattern's string, whose masks take long, and patterns that take long
#: themselves
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mail": {"type": "string", "format": "email", "maxLength": 80},
        "at": {"type": "string", "format": "date-time"},
        "code": {"type": "string", "pattern": "^[ab]*a[ab]{10}$", "not": {"pattern": "bbb"}},
        "path": {"type": "string", "pattern": "^(?:/[^/]+)+$", "maxLength": 200},
    },
    "required": ["mail", "at", "code", "path"],
    "additionalProperties": False,
}


class Made(NamedTuple):
    """By one process."""

    masks: int
    patterns: int
    patterns_loaded: int
    compile_ms: float
    prepare_ms: float


_together: Barrier


def begin(together: Barrier) -> None:
    global _together
    _together = together


def work(asked: argparse.Namespace, url: str | None) -> Made:
    """In a process of its own."""
    patternstore.MOST_READ_NS = int(1e9 * asked.read_seconds)
    loaded = load(asked.vocabulary)
    store = None
    if url is not None:
        store = open_store(
            memory_bytes=0, redis_url=url, key=KEY, ttl_s=3600, read_seconds=asked.read_seconds
        )
    special = loaded.special.values()
    vocabulary = Vocabulary(
        loaded.tokens, stop_token_ids=[loaded.stop], special_token_ids=special, store=store
    )
    compiler = Compiler(vocabulary, store=store)
    before = compiler.stats()
    _together.wait()
    start = perf_counter()
    compiled = compiler.compile_json_schema(SCHEMA)
    compiled_at = perf_counter()
    _together.wait()
    prepare_from = perf_counter()
    compiler.prepare(compiled, BUDGET, wait_seconds=PATIENCE_SECONDS)
    done = perf_counter()
    after = compiler.stats()
    if store is not None:
        store.flush(PATIENCE_SECONDS)
        store.close()
    counted = {name: after.get(name, 0) - before.get(name, 0) for name in after}
    return Made(
        counted["triple_made"],
        counted.get("store_pattern_puts", 0),
        counted.get("store_pattern_hits", 0),
        1000 * (compiled_at - start),
        1000 * (done - prepare_from),
    )


def measure(asked: argparse.Namespace) -> list[Made]:
    """One process without a store, and then those that have one Redis."""
    redis = RedisServer()
    redis.start()
    try:
        return [*_side_by_side(asked, None, 1), *_side_by_side(asked, redis.url, asked.processes)]
    finally:
        redis.close()


def _side_by_side(asked: argparse.Namespace, url: str | None, processes: int) -> list[Made]:
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(processes)
    with context.Pool(processes, begin, (together,)) as pool:
        return pool.starmap(work, [(asked, url)] * processes, chunksize=1)


def table(found: Sequence[Made]) -> str:
    rows = []
    for number, each in enumerate(found):
        name = "alone" if number == 0 else str(number)
        took = f"{each.compile_ms:,.0f}", f"{each.prepare_ms:,.0f}"
        rows.append([name, *map(str, each[:3]), *took])
    heads = ["process", "masks made", "patterns put", "patterns loaded"]
    return markdown([[*heads, "compile (ms)", "prepare (ms)"], *rows])


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cache_together",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--vocabulary", default="llama3", choices=(*NAMES, "bytes"))
    add("--processes", type=int, default=16)
    # so many processes on few processors are late for everything
    add("--read-seconds", type=float, default=5.0, help="what a compile waits for Redis")
    return parser.parse_args(given)


def main() -> None:
    found = measure(arguments())
    print(table(found), "", sep="\n")
    masks = sum(each.masks for each in found[1:])
    patterns = sum(each.patterns for each in found[1:])
    print(f"made by {len(found) - 1} processes together: masks {masks}, patterns {patterns}")


if __name__ == "__main__":
    main()
