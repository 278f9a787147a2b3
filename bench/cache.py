"""python -m bench.cache: what a fresh process gains from a Redis in which another's masks lie.

Three processes go through the same schemas and tool sets side by side, case by case in turn, so
that whatever else the machine does meets all of them:

    alone     no store at all
    fresh     the Redis that another filled, and nothing else: what a new replica does
    warmed    the one that filled it, once more: its masks are there, its grammars compiled again

How it filled the empty Redis is told, too, as "first". Each case is compiled, and its texts are
walked token by token with a mask before each.
"""

import argparse
import json
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import mean
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from redis import Redis

from cache import NAMESPACE, open_store
from engine import Compiler, EngineError, Limits, Matcher, Vocabulary, token_order
from tests.redis_server import PATIENCE_SECONDS, RedisServer

from .data import bfcl, builtin_schemas, builtin_tools, maskbench
from .report import markdown
from .vocabularies import NAMES, load

KEY = b"sixteen bytes of secret"
SHOWN = (0.5, 0.9, 0.99)


class Case(NamedTuple):
    schema: Any
    texts: list[str]


class Pass(NamedTuple):
    """Microseconds by case: until the first mask, and for all; what the compiler counts since it
    began, and what was told of its start.
    """

    first_us: list[float]
    whole_us: list[float]
    compiler: dict[str, int]
    start: dict[str, int]


def cases(asked: argparse.Namespace) -> Iterator[Case]:
    """Schemas, then tool sets, each as the schema of a call of one of its tools."""
    schemas = builtin_schemas()
    if asked.maskbench:
        schemas = maskbench(Path(asked.maskbench), asked.schemas, half=asked.half)
    for case in schemas:
        yield Case(case.schema, [text for text, _ in case.texts])
    sets = bfcl(Path(asked.bfcl), asked.sets) if asked.bfcl else builtin_tools()
    for tools in sets:
        calls = [_call({"const": name}, schema) for name, schema in tools.tools]
        texts = [json.dumps({"name": name, "arguments": given}) for name, given in tools.calls]
        yield Case({"anyOf": calls}, texts)


def _call(name: Any, arguments: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"name": name, "arguments": arguments},
        "required": ["name", "arguments"],
        "additionalProperties": False,
    }


class Replica:
    """A process's compiler, and what it took for each case."""

    def __init__(self, asked: argparse.Namespace, url: str | None) -> None:
        loaded = load(asked.vocabulary)
        self._encoding = loaded.encoding
        self._store = None
        if url is not None:
            self._store = open_store(
                memory_bytes=0,
                redis_url=url,
                key=KEY,
                ttl_s=3600,
                read_seconds=asked.read_seconds,
            )
        start = perf_counter_ns()
        vocabulary = Vocabulary(
            loaded.tokens,
            stop_token_ids=[loaded.stop],
            special_token_ids=loaded.special.values(),
            store=self._store,
        )
        self._told = {"vocabulary_us": (perf_counter_ns() - start) // 1000}
        self._told["order_us"] = _order_us(vocabulary, self._store)
        # no grammar is kept, so that each pass compiles them all
        self._compiler = Compiler(vocabulary, store=self._store, limits=Limits(kept_grammars=1))
        start = perf_counter_ns()
        self._told["prefetched"] = self._compiler.prefetch(1.0)
        self._told["prefetch_us"] = (perf_counter_ns() - start) // 1000
        self._mask = np.zeros((1, vocabulary.words), dtype=np.int32)
        self._cases = list(cases(asked))
        self._first: list[float] = []
        self._whole: list[float] = []

    def __len__(self) -> int:
        return len(self._cases)

    def step(self, number: int) -> None:
        """One case; one that is refused counts for nobody."""
        case = self._cases[number]
        start = perf_counter_ns()
        try:
            compiled = self._compiler.compile_json_schema(case.schema)
        except EngineError:
            return
        Matcher(compiled).fill_bitmask(self._mask)
        self._first.append((perf_counter_ns() - start) / 1000)
        spent = perf_counter_ns() - start
        for text in case.texts:
            tokens = self._encoding.encode(text, disallowed_special=())
            start = perf_counter_ns()
            matcher = Matcher(compiled)
            for token in tokens:
                matcher.fill_bitmask(self._mask)
                if not matcher.accept_token(token):
                    break
            else:
                matcher.fill_bitmask(self._mask)
            spent += perf_counter_ns() - start
        self._whole.append(spent / 1000)

    def end_pass(self) -> Pass:
        """Hands over what was learnt, and begins to count anew."""
        self._compiler.flush()
        if self._store is not None:
            self._store.flush(PATIENCE_SECONDS)
        done = Pass(self._first, self._whole, self._compiler.stats(), self._told)
        self._first, self._whole = [], []
        return done


def serve(end: Connection, asked: argparse.Namespace, url: str | None) -> None:
    """A process: says how many cases there are, and does one for each number that it gets; for None
    it tells of the pass.
    """
    replica = Replica(asked, url)
    end.send(len(replica))
    while True:
        try:
            number = end.recv()
        except EOFError:
            return
        if number is None:
            end.send(replica.end_pass())
        else:
            replica.step(number)
            end.send(number)


def _order_us(vocabulary: Vocabulary, store: Any) -> int:
    """What the order of the tokens takes, of all that building the index does: from the store as it
    is read there, or sorted as it is where there is none.
    """
    start = perf_counter_ns()
    if store is None:
        tokens = vocabulary.tokens
        special = set(vocabulary.special_token_ids)
        ids = (number for number, token in enumerate(tokens) if token and number not in special)
        sorted(ids, key=tokens.__getitem__)
    else:
        (value,) = store.get_many([token_order.store_key(vocabulary.fingerprint)])
        count = (len(value or b"") - token_order.HEAD_BYTES) // token_order.ID_BYTES
        token_order.decode(value or b"", fingerprint=vocabulary.fingerprint, count=count)
    return (perf_counter_ns() - start) // 1000


class Process:
    """One of the processes side by side."""

    def __init__(self, asked: argparse.Namespace, url: str | None) -> None:
        # a fresh interpreter, as a new replica is one
        context = multiprocessing.get_context("spawn")
        self._end, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, asked, url), daemon=True)
        self._process.start()
        theirs.close()
        self.cases: int = self._end.recv()

    def step(self, number: int) -> None:
        self._end.send(number)
        self._end.recv()

    def end_pass(self) -> Pass:
        self._end.send(None)
        done: Pass = self._end.recv()
        return done

    def close(self) -> None:
        self._end.close()
        self._process.join()


def measure(asked: argparse.Namespace) -> tuple[dict[str, Pass], int]:
    """The passes, by name; and the bytes in Redis."""
    redis = RedisServer()
    redis.start()
    processes: dict[str, Process] = {}
    try:
        processes["warmed"] = Process(asked, redis.url)
        for number in range(processes["warmed"].cases):
            processes["warmed"].step(number)
        found = {"first": processes["warmed"].end_pass()}
        processes["alone"] = Process(asked, None)
        processes["fresh"] = Process(asked, redis.url)
        names = ["alone", "fresh", "warmed"]
        for number in range(processes["warmed"].cases):
            for name in names:
                processes[name].step(number)
            names = [*names[1:], names[0]]
        found |= {name: processes[name].end_pass() for name in sorted(names)}
        return found, _bytes(redis.url)
    finally:
        for each in processes.values():
            each.close()
        redis.close()


def _bytes(url: str) -> int:
    """What the entries of all masks, automata and patterns take in Redis, by its own account."""
    with Redis.from_url(url) as client:
        return sum(
            client.memory_usage(key, samples=0) or 0
            for kind in ("masks", "automata", "patterns")
            for key in client.scan_iter(f"{NAMESPACE}:{kind}/*")
        )


def table(found: dict[str, Pass]) -> str:
    rows = []
    made = _made_ns(found)
    for name, one in found.items():
        row = [name, f"{made[name] / 1e6:,.1f}"]
        for times in (one.first_us, one.whole_us):
            row += [f"{q:,.0f}" for q in (mean(times), *np.quantile(times, SHOWN))]
        rows.append(row)
    heads = ["pass", "masks of automata (ms)"]
    for what in ("first mask", "whole"):
        heads += [f"{what} (us) mean", "p50", "p90", "p99"]
    return markdown([heads, *rows])


def figures(found: dict[str, Pass], found_bytes: int) -> list[str]:
    """What the goals are about, in sentences."""
    alone, first, fresh = found["alone"], found["first"], found["fresh"]
    made = _made_ns(found)
    told = fresh.compiler
    spent = told["store_read_ns"] + told["store_load_ns"]
    quantiles = {name: np.quantile(one.first_us, SHOWN) for name, one in found.items()}
    asked = told["store_hits"] + told["store_misses"]
    indexes = alone.start["vocabulary_us"], fresh.start["vocabulary_us"]
    orders = alone.start["order_us"], fresh.start["order_us"]
    return [
        f"masks of automata made again: {made['fresh'] / made['alone']:.1%} of the time alone",
        _loaded("masks", spent, told["store_saved_ns"], told["store_hits"]),
        _loaded(
            "patterns",
            told["store_pattern_read_ns"],
            told["store_pattern_saved_ns"],
            told["store_pattern_hits"],
        ),
        _loaded(
            "automata",
            told["store_automaton_read_ns"],
            told["store_automaton_saved_ns"],
            told["store_automaton_hits"],
        ),
        f"the order of the tokens: {orders[1] / 1000:,.1f} ms for {orders[0] / 1000:,.1f}, "
        f"{orders[1] / orders[0]:.2f}",
        f"the vocabulary's whole index: {indexes[1] / 1000:,.0f} ms for {indexes[0] / 1000:,.0f}, "
        f"{indexes[1] / indexes[0]:.2f}",
        f"of {asked} rules looked for {told['store_hits']} were there and "
        f"{told['store_rejected']} refused",
        f"compiles that found all, some, nothing of what they looked for: {told['store_perfect']}, "
        f"{told['store_partial']}, {told['store_none']}",
        f"prefetched {fresh.start['prefetched']} rules in "
        f"{fresh.start['prefetch_us'] / 1000:,.1f} ms",
        "first mask, fresh / alone at p50, p90, p99: "
        + ", ".join(f"{q:.2f}" for q in quantiles["fresh"] / quantiles["alone"]),
        "whole, fresh / alone at p50, p90, p99: "
        + ", ".join(
            f"{q:.2f}"
            for q in np.quantile(fresh.whole_us, SHOWN) / np.quantile(alone.whole_us, SHOWN)
        ),
        f"first mask p99, fresh / warmed: {quantiles['fresh'][2] / quantiles['warmed'][2]:.2f}",
        f"in Redis {found_bytes:,} bytes; {first.compiler['store_puts']:,} puts of masks, "
        f"{first.compiler['store_pattern_puts']:,} of patterns",
        f"all of a pass, alone {sum(alone.whole_us) / 1e6:,.2f} s, "
        f"first {sum(first.whole_us) / 1e6:,.2f}, fresh {sum(fresh.whole_us) / 1e6:,.2f}",
    ]


def _made_ns(found: dict[str, Pass]) -> dict[str, int]:
    """What masks of automata took to make in each pass; "warmed" is a process's second one."""
    made = {name: one.compiler["triple_made_ns"] for name, one in found.items()}
    return {**made, "warmed": made["warmed"] - made["first"]}


def _loaded(what: str, spent_ns: int, saved_ns: int, hits: int) -> str:
    return (
        f"{what}: loading {hits}, with the way through Redis, {spent_ns / 1e6:,.1f} ms for what "
        f"took {saved_ns / 1e6:,.1f} ms to make: {spent_ns / max(1, saved_ns):.2f}"
    )


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.cache",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--vocabulary", default="llama3", choices=(*NAMES, "bytes"))
    add("--maskbench", default=os.environ.get("SWITCHYARD_MASKBENCH"), help="folder")
    add("--half", type=int, choices=(0, 1), help="of MaskBench's files, every second one")
    add("--bfcl", default=os.environ.get("SWITCHYARD_BFCL"), help="folder")
    add("--read-seconds", type=float, default=0.02, help="what a compile waits for Redis")
    add("--schemas", type=int, default=300)
    add("--sets", type=int, default=300)
    return parser.parse_args(given)


def main() -> None:
    found, found_bytes = measure(arguments())
    print(table(found), "", *figures(found, found_bytes), sep="\n")


if __name__ == "__main__":
    main()
