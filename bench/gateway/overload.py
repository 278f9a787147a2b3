"""python -m bench.gateway.overload: answers per second at and beyond the capacity of one gateway.

The gateway stands before the worker of zero_worker. Users ask again as soon as they have an answer,
or in ``--retry-s`` seconds after a refusal. The first load has as many users as streams may run;
the next ones have three times as many. Goodput counts complete answers only.

paced      a token every 20 ms: the capacity is MAX_RUNNING streams
cpu        all tokens at once: the capacity is the gateway's CPU
refusals   one running stream and no queue: the cost of a refusal
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.report import markdown
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.redis_server import free_port

from .__main__ import INTERVAL_MS, MODEL, worker
from .processes import Process, running

#: times as many users as streams may run
BEYOND = 3


@contextmanager
def gateway(chunks: int, interval_ms: float, settings: Mapping[str, Any]) -> Iterator[Process]:
    with ExitStack() as stack:
        tokenizer = folder(Path(stack.enter_context(tempfile.TemporaryDirectory())), TEMPLATE)
        port = free_port()
        variables = {
            "port": port,
            "tokenizer": tokenizer,
            "model_name": MODEL,
            "workers": worker(stack, tokenizer, chunks, interval_ms).url,
            **settings,
        }
        named = {f"SWITCHYARD_{name.upper()}": str(value) for name, value in variables.items()}
        process = Process("switchyard", [sys.executable, "-m", "app"], port, named)
        stack.enter_context(running(process))
        yield process


def load(process: Process, users: int, seconds: float, retry_s: float) -> dict[str, Any]:
    before = process.cpu_seconds()
    command = [sys.executable, "-m", "bench.gateway.load", "--url", process.url, "--model", MODEL]
    command += ["--users", str(users), "--seconds", str(seconds), "--retry-s", str(retry_s)]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(made.stdout)
    return {**found, "cpu_s": process.cpu_seconds() - before}


def goodput(asked: argparse.Namespace, interval_ms: float, streams: int) -> None:
    """Print one table: the maximum, then overload with a queue and with refusals only."""
    most = {"max_running": streams, "max_queued": 0}
    cases = [
        ("maximum", streams, most),
        (f"{BEYOND}x, queue", BEYOND * streams, {"max_running": streams}),
        (f"{BEYOND}x, refusals", BEYOND * streams, most),
    ]
    found: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in cases}
    for _ in range(asked.rounds):
        for name, users, settings in cases:
            with gateway(asked.chunks, interval_ms, settings) as process:
                load(process, streams, 1, asked.retry_s)
                found[name].append(load(process, users, asked.seconds, asked.retry_s))
    best = median(each["requests_per_s"] for each in found["maximum"])
    lines = [["load", "users", "answers/s", "of maximum", "first ms p50", "refused/s", "failed"]]
    for name, users, _ in cases:
        rate = median(each["requests_per_s"] for each in found[name])
        first = median(each["first_ms_p50_p99"][0] for each in found[name])
        refused = median(each["refused"] for each in found[name]) / asked.seconds
        failed = sum(each["failed"] for each in found[name])
        cells = [f"{rate:,.1f}", f"{rate / best:.2f}", f"{first:,.1f}", f"{refused:,.0f}"]
        lines.append([name, str(users), *cells, str(failed)])
    print(markdown(lines), end="\n\n")


def paced(asked: argparse.Namespace) -> None:
    print(f"paced: {asked.streams} streams of {asked.chunks} tokens, {INTERVAL_MS:g} ms each\n")
    goodput(asked, INTERVAL_MS, asked.streams)


def cpu(asked: argparse.Namespace) -> None:
    print(f"cpu: {asked.users} streams of {asked.chunks} tokens at once\n")
    goodput(asked, 0, asked.users)


def refusals(asked: argparse.Namespace) -> None:
    """Refuse nearly all requests: one of the users streams, the others ask without a pause."""
    with gateway(100_000, INTERVAL_MS, {"max_running": 1, "max_queued": 0}) as process:
        found = load(process, asked.users, asked.seconds, 0)
    each = 1000 * found["cpu_s"] / max(1, found["refused"])
    p50, p99 = found["refused_ms_p50_p99"]
    print(f"refusals: {found['refused'] / asked.seconds:,.0f}/s, {each:.3f} ms of CPU each, ")
    print(f"answered in {p50} ms (p50), {p99} ms (p99) with {asked.users} users\n")


PARTS = {"paced": paced, "cpu": cpu, "refusals": refusals}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway.overload", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--streams", type=int, default=64, help="paced: streams that may run")
    parser.add_argument("--users", type=int, default=16, help="cpu, refusals: users")
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--retry-s", type=float, default=1, help="pause after a refusal")
    asked = parser.parse_args()
    for part in asked.parts or PARTS:
        PARTS[part](asked)


if __name__ == "__main__":
    main()
