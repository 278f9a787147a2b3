"""python -m bench.cache: what replicas gain from the log in Redis, and what following it costs.

Three processes take turns, case by case, on the same schemas and tool sets, so that other load of
the machine affects all of them equally:

    alone     without the log
    twin      also without the log: the difference of two equal processes is the noise of all ratios
    fresh     a new replica that follows the log in a Redis which the process "first" has filled

Each case is compiled, and its texts are walked token by token with a mask before each token.
Afterwards "first" computes masks that no replica has, and "fresh" waits until it can use them.
"""

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from redis import Redis

from cache import NAMESPACE, open_store
from engine import Compiler, EngineError, Limits, Matcher, Vocabulary
from tests.redis_server import PATIENCE_SECONDS, RedisServer

from .data import bfcl, builtin_schemas, builtin_tools, maskbench
from .report import markdown
from .vocabularies import NAMES, load

KEY = b"sixteen bytes of secret"
SHOWN = (0.5, 0.9, 0.99)
#: masks computed ahead per schema when two replicas share it
PREPARED = 64


class Case(NamedTuple):
    schema: Any
    texts: list[str]


class Pass(NamedTuple):
    """For each case the microseconds to its first mask, and those of all its masks; the compiler's
    counters since the first case; and the milliseconds of loading before it.
    """

    first_us: list[float]
    whole_us: list[float]
    counts: dict[str, int]
    load_ms: float


def cases(asked: argparse.Namespace) -> Iterator[Case]:
    """Return schemas, then tool sets, each as the schema of a call of one of its tools."""
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
    """A process's compiler, and the time of each case."""

    def __init__(self, asked: argparse.Namespace, url: str | None) -> None:
        loaded = load(asked.vocabulary)
        self._encoding = loaded.encoding
        self._store = url and open_store(redis_url=url, key=KEY, ttl_s=3600)
        vocabulary = Vocabulary(
            loaded.tokens,
            stop_token_ids=[loaded.stop],
            special_token_ids=loaded.special.values(),
        )
        # keep no grammar, so that each pass compiles all of them
        self.compiler = Compiler(
            vocabulary, store=self._store or None, limits=Limits(kept_grammars=1)
        )
        start = time.perf_counter()
        self.compiler.load_hottest(PATIENCE_SECONDS)
        self._load_ms = 1e3 * (time.perf_counter() - start)
        self.compiler.start(0)
        self._before = self.compiler.stats()
        self._mask = np.zeros((1, vocabulary.words), dtype=np.int32)
        self._cases = list(cases(asked))
        self._first: list[float] = []
        self._whole: list[float] = []

    def __len__(self) -> int:
        return len(self._cases)

    def step(self, number: int) -> None:
        """Walk one case; a refused one counts for no process."""
        case = self._cases[number]
        start = perf_counter_ns()
        try:
            compiled = self.compiler.compile_json_schema(case.schema)
        except EngineError:
            return
        Matcher(compiled).fill_bitmask(self._mask)
        spent = perf_counter_ns() - start
        self._first.append(spent / 1000)
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

    def end(self) -> Pass:
        self.compiler.flush()
        stats = self.compiler.stats()
        counts = {name: count - self._before.get(name, 0) for name, count in stats.items()}
        for name in ("shared_masks_loaded", "shared_masks_saved_ns"):
            counts[name] = stats.get(name, 0)
        return Pass(self._first, self._whole, counts, self._load_ms)

    def share(self, number: int) -> float:
        """Compute masks that no other replica has. Return the time of completion."""
        schema = {"type": "string", "pattern": f"^(?:{number}[a-z]{{1,9}} ){{3,20}}x$"}
        self.compiler.compile_json_schema(schema).prepare(PREPARED)
        return time.monotonic()

    def wait_for(self, loaded: int) -> tuple[float, int]:
        """Wait until more entries are loaded. Return the time, and their number."""
        end = time.monotonic() + PATIENCE_SECONDS
        while (now := self.compiler.stats()["shared_masks_loaded"]) <= loaded:
            if time.monotonic() > end:
                raise TimeoutError("the other replica's masks did not arrive")
            time.sleep(0.001)
        return time.monotonic(), now


def serve(end: Connection, asked: argparse.Namespace, url: str | None) -> None:
    """Run a replica in this process: serve calls of its methods until the end."""
    replica = Replica(asked, url)
    end.send(len(replica))
    while True:
        try:
            method, *given = end.recv()
        except EOFError:
            replica.compiler.close()
            return
        end.send(getattr(replica, method)(*given))


class Process:
    """One of the processes."""

    def __init__(self, asked: argparse.Namespace, url: str | None) -> None:
        # a fresh interpreter, like a new replica
        context = multiprocessing.get_context("spawn")
        self._end, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, asked, url), daemon=True)
        self._process.start()
        theirs.close()
        self.cases: int = self._end.recv()

    def begin(self, method: str, *given: Any) -> Callable[[], Any]:
        """Call a method; return a function that waits for its result."""
        self._end.send((method, *given))
        return self._end.recv

    def call(self, method: str, *given: Any) -> Any:
        return self.begin(method, *given)()

    def close(self) -> None:
        self._end.close()
        self._process.join()


class Found(NamedTuple):
    """Passes by name, bytes and entries in Redis, seconds from one replica to the other."""

    passes: dict[str, Pass]
    redis_bytes: int
    redis_entries: int
    delays: list[float]


def measure(asked: argparse.Namespace) -> Found:
    with ExitStack() as stack:
        redis = RedisServer()
        redis.start()
        stack.callback(redis.close)
        first = _process(stack, asked, redis.url)
        for number in range(first.cases):
            first.call("step", number)
        passes = {"first": first.call("end")}
        side_by_side = {
            "alone": _process(stack, asked, None),
            "twin": _process(stack, asked, None),
            "fresh": _process(stack, asked, redis.url),
        }
        names = list(side_by_side)
        for number in range(first.cases):
            for name in names:
                side_by_side[name].call("step", number)
            names = [*names[1:], names[0]]
        passes |= {name: process.call("end") for name, process in side_by_side.items()}
        held = _held(redis.url)
        delays = list(_delays(first, side_by_side["fresh"], asked.shared))
        return Found(passes, *held, delays)


def _process(stack: ExitStack, asked: argparse.Namespace, url: str | None) -> Process:
    process = Process(asked, url)
    stack.callback(process.close)
    return process


def _delays(maker: Process, user: Process, rounds: int) -> Iterator[float]:
    """Return the seconds from a mask at one replica to its use at the other one."""
    loaded = user.call("end").counts["shared_masks_loaded"]
    for number in range(rounds):
        usable = user.begin("wait_for", loaded)
        made = maker.call("share", number)
        at, loaded = usable()
        yield at - made


def _held(url: str) -> tuple[int, int]:
    """Return the bytes of all entries in Redis, as Redis reports them, and their number."""
    with Redis.from_url(url) as client:
        sizes = [
            client.memory_usage(key, samples=0) or 0
            for key in client.scan_iter(f"{NAMESPACE}:masks/*")
        ]
    return sum(sizes), len(sizes)


def table(found: Found) -> str:
    rows = [
        [
            "pass",
            "masks made (ms)",
            "first mask (us) p50",
            "p90",
            "p99",
            "case (us) p50",
            "p90",
            "p99",
        ]
    ]
    for name, one in found.passes.items():
        figures = [*np.quantile(one.first_us, SHOWN), *np.quantile(one.whole_us, SHOWN)]
        made = f"{one.counts['token_mask_made_ns'] / 1e6:,.1f}"
        rows.append([name, made, *(f"{figure:,.0f}" for figure in figures)])
    return markdown(rows)


def figures(found: Found) -> str:
    alone, fresh = found.passes["alone"], found.passes["fresh"]
    made = {name: one.counts["token_mask_made_ns"] for name, one in found.passes.items()}
    rows = [["measure", "p50", "p90", "p99"]]
    for what in ("first_us", "whole_us"):
        base = np.quantile(getattr(alone, what), SHOWN)
        for name in ("twin", "fresh"):
            ratios = np.quantile(getattr(found.passes[name], what), SHOWN) / base
            label = "first mask" if what == "first_us" else "case"
            rows.append([f"{label}, {name} / alone", *(f"{ratio:.2f}" for ratio in ratios)])
    rows.append(
        ["from one replica to the other (ms)"]
        + [f"{1e3 * q:,.0f}" for q in np.quantile(found.delays, SHOWN)]
    )
    told = [
        f"masks recomputed by the fresh process: {made['fresh'] / made['alone']:.1%} of the time "
        "alone",
        f"in Redis {found.redis_entries:,} entries, {found.redis_bytes:,} bytes",
        f"the fresh process loaded {fresh.counts['shared_masks_loaded']:,} entries, at start in "
        f"{fresh.load_ms:,.0f} ms; computing them took "
        f"{fresh.counts['shared_masks_saved_ns'] / 1e6:,.0f} ms",
    ]
    return "\n".join([markdown(rows), "", *told])


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
    add("--schemas", type=int, default=300)
    add("--sets", type=int, default=300)
    add("--shared", type=int, default=100, help="rounds of two replicas")
    return parser.parse_args(given)


def main() -> None:
    found = measure(arguments())
    print(table(found), "", figures(found), sep="\n")


if __name__ == "__main__":
    main()
