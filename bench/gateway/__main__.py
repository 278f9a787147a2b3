"""python -m bench.gateway: streams through Switchyard and other gateways, in turn, in one run.

All stand before the same worker, which costs next to nothing (zero_worker). A round asks each
gateway once. The figures are medians of the rounds, and ratios to the first other gateway.

throughput   16 users; 64 chunks for each stream, sent by the worker at once
paced        streams with a token every 20 ms: the gaps between receptions that users see
memory       MB at the start with a real vocabulary, and KB of each idle stream
first        milliseconds to the first byte at half the throughput, beside the worker itself

With ``--calls``, every answer of throughput and paced is a tool call (``calls.py``).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from app.conversation.tokenizer import load_tokenizer
from bench.report import markdown
from engine import SPEC_VERSION
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.redis_server import free_port

from .calls import call_of
from .memory import idle_streams, resident, tokenizer_folder
from .processes import Process, running

OURS = "switchyard"
MODEL = "m"
INTERVAL_MS = 20.0
#: between two tokens of an idle stream
IDLE_MS = 30_000.0


def worker(
    stack: ExitStack, tokenizer: str, chunks: int, interval_ms: float = 0, *, calls: bool = False
) -> Process:
    """Start a worker. ``calls``: its answers are tool calls."""
    loaded = load_tokenizer(tokenizer, "auto")
    vocabulary = loaded.vocabulary
    plugin = {"spec_version": SPEC_VERSION, "vocabulary": vocabulary.fingerprint}
    info = {
        "grammar_backend": "switchyard",
        "context_length": 8192,
        "internal_states": [{"switchyard": plugin}],
    }
    port = free_port()
    command = [sys.executable, "-m", "bench.gateway.zero_worker", "--port", str(port)]
    command += ["--chunks", str(chunks), "--interval-ms", str(interval_ms), "--model", MODEL]
    command += ["--stop", str(vocabulary.stop_token_ids[0]), "--info", json.dumps(info)]
    if calls:
        command += ["--call", json.dumps(call_of(loaded, chunks - 1))]
    made = Process("worker", command, port)
    stack.enter_context(running(made))
    return made


def gateways(asked: argparse.Namespace, url: str, tokenizer: str) -> Iterator[Process]:
    """Yield the gateways before the worker at ``url``."""
    port = free_port()
    settings = {
        "SWITCHYARD_PORT": str(port),
        "SWITCHYARD_TOKENIZER": tokenizer,
        "SWITCHYARD_MODEL_NAME": MODEL,
        "SWITCHYARD_WORKERS": url,
        "SWITCHYARD_PROCESSES": str(asked.processes),
        # the other gateways have no such bounds
        "SWITCHYARD_MAX_CONNECTIONS": "20000",
        "SWITCHYARD_MAX_RUNNING": "20000",
    }
    yield Process(OURS, [sys.executable, "-m", "app"], port, settings)
    if asked.router:
        port = free_port()
        command = [asked.router, "-m", "sglang_router.launch_router", "--worker-urls", url]
        command += ["--port", str(port), "--policy", "round_robin", "--log-level", "error"]
        command += ["--prometheus-port", str(free_port())]
        yield Process("sglang-router", command, port)
    if asked.smg:
        port = free_port()
        command = [asked.smg, "-m", "smg.launch_router", "--worker-urls", url]
        command += ["--host", "127.0.0.1", "--port", str(port), "--policy", "round_robin"]
        # a failure counts instead of being sent again
        command += ["--disable-retries", "--log-level", "error"]
        command += ["--prometheus-port", str(free_port())]
        yield Process("smg", command, port)
    if asked.litellm:
        port = free_port()
        config = Path(tokenizer) / "litellm.yaml"
        entry = {"model": f"openai/{MODEL}", "api_base": f"{url}/v1", "api_key": "none"}
        models = [{"model_name": MODEL, "litellm_params": entry}]
        config.write_text(json.dumps({"model_list": models}))
        command = [str(Path(asked.litellm).with_name("litellm")), "--config", str(config)]
        # it starts without a key only if told so
        settings = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
        yield Process("litellm", [*command, "--port", str(port)], port, settings)


def load(process: Process, *options: str) -> dict[str, Any]:
    """Return the results of one load, and the CPU time of the gateway for each answer."""
    before = process.cpu_seconds()
    command = [sys.executable, "-m", "bench.gateway.load", "--url", process.url, "--model", MODEL]
    made = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(made.stdout)
    used = process.cpu_seconds() - before
    found["cpu_ms"] = 1000 * used / max(1, found["requests"])
    found["cpu_us_event"] = 1e6 * used / max(1, found["events"])
    return found


def rounds(
    processes: list[Process], count: int, *options: str
) -> dict[str, dict[str, list[float]]]:
    """Return the figures of each gateway, a list of one figure a round."""
    found: dict[str, dict[str, list[float]]] = {each.name: {} for each in processes}
    for _ in range(count):
        for process in processes:
            result = load(process, *options)
            first, gaps = result["first_ms_p50_p99"], result["gap_ms_p50_p99_max"]
            figures = {
                "requests/s": result["requests_per_s"],
                "events/s": result["events_per_s"],
                "cpu ms/request": result["cpu_ms"],
                "cpu us/event": result["cpu_us_event"],
                "first ms p50": first[0],
                "first ms p99": first[1],
                "gap ms p99": gaps[1],
                "gap ms max": gaps[2],
                "failed": result["failed"],
            }
            for name, figure in figures.items():
                found[process.name].setdefault(name, []).append(figure)
    return found


def table(title: str, found: dict[str, dict[str, list[float]]], figures: list[str]) -> str:
    names = [*found]
    other = next((name for name in names if name != OURS), None)
    head = [title, *names, *([f"{OURS} / {other}"] if other else [])]
    lines = [head]
    for figure in figures:
        medians = [median(found[name][figure]) for name in names]
        cells = [f"{value:,.2f}" for value in medians]
        if other:
            below = median(found[other][figure])
            cells.append(f"{medians[0] / below:.2f}" if below else "-")
        lines.append([figure, *cells])
    return markdown(lines)


@contextmanager
def started(
    asked: argparse.Namespace,
    interval_ms: float = 0,
    *,
    with_worker: bool = False,
    calls: bool = False,
) -> Iterator[list[Process]]:
    """Start the worker and the gateways. ``calls``: answers are tool calls."""
    with ExitStack() as stack:
        folder_ = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # a token of a call has several characters in a real vocabulary only
        tokenizer = (
            tokenizer_folder(folder_, asked.vocabulary) if calls else folder(folder_, TEMPLATE)
        )
        behind = worker(stack, tokenizer, asked.chunks, interval_ms, calls=calls)
        found = [*gateways(asked, behind.url, tokenizer)]
        for each in found:
            stack.enter_context(running(each))
        yield [*found, *([behind] if with_worker else [])]


def offered(asked: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of a load whose requests offer a tool, if calls are measured."""
    return ("--calls",) if asked.calls else ()


def throughput(asked: argparse.Namespace) -> None:
    users = ("--users", str(asked.users), *offered(asked))
    options = (*users, "--seconds", str(asked.seconds))
    with started(asked, calls=asked.calls) as processes:
        rounds(processes, 1, *users, "--seconds", "1")
        found = rounds(processes, asked.rounds, *options)
    figures = ["requests/s", "events/s", "cpu ms/request", "first ms p50", "first ms p99"]
    figures += ["gap ms max", "failed"]
    title = f"{asked.users} users, {asked.chunks} chunks{' of a call' if asked.calls else ''}"
    print(table(title, found, figures), end="\n\n")


def paced(asked: argparse.Namespace) -> None:
    with started(asked, INTERVAL_MS, calls=asked.calls) as processes:
        for users in map(int, asked.streams.split(",")):
            options = ("--users", str(users), "--seconds", str(asked.seconds), "--paced")
            found = rounds(processes, asked.rounds, *options, *offered(asked))
            figures = ["requests/s", "cpu us/event", "gap ms p99", "first ms p50", "first ms p99"]
            figures.append("failed")
            title = f"{users} paced {'calls' if asked.calls else 'streams'}"
            print(table(title, found, figures), end="\n\n")


def first(asked: argparse.Namespace) -> None:
    with started(asked, with_worker=True) as processes:
        users = ("--users", str(asked.users), "--seconds")
        most = load(processes[0], *users, "3")["requests_per_s"]
        options = (*users, str(asked.seconds), "--rate", str(most / 2))
        found = rounds(processes, asked.rounds, *options)
    figures = ["requests/s", "first ms p50", "first ms p99", "failed"]
    print(table(f"{most / 2:,.0f} requests/s", found, figures), end="\n\n")


def memory(asked: argparse.Namespace) -> None:
    rows: list[list[str]] = []
    with ExitStack() as stack:
        folder_ = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        tokenizer = tokenizer_folder(folder_, asked.vocabulary)
        behind = worker(stack, tokenizer, 1000, IDLE_MS)
        ours = next(gateways(asked, behind.url, tokenizer))
        stack.enter_context(running(ours))
        load(ours, "--users", "8", "--seconds", "2")
        at_start = resident(ours)
        for count in (0, *map(int, asked.streams.split(","))):
            with idle_streams(ours, MODEL, count):
                found = resident(ours)
            more = 1024 * (found["PSS MB, all"] - at_start["PSS MB, all"])
            figures = [f"{value:,.0f}" for value in found.values()]
            rows.append([str(count), *figures, f"{more / count:,.0f}" if count else "-"])
    head = ["idle streams", *at_start, "KB for each stream"]
    print(markdown([head, *rows]), end="\n\n")


PARTS = {"throughput": throughput, "paced": paced, "first": first, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.gateway", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=", ".join(PARTS))
    parser.add_argument("--router", help="a Python with sglang-router")
    parser.add_argument("--smg", help="a Python with smg")
    parser.add_argument("--litellm", help="a Python with litellm[proxy]")
    parser.add_argument("--processes", type=int, default=1, help="of switchyard")
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--chunks", type=int, default=64)
    parser.add_argument(
        "--calls", action="store_true", help="throughput, paced: answers are tool calls"
    )
    parser.add_argument("--streams", default="50,100,200", help="paced: numbers of streams")
    parser.add_argument("--vocabulary", default="o200k_harmony", help="of memory and --calls")
    parser.add_argument("--seconds", type=float, default=5, help="of each load")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    print(f"{os.cpu_count()} cores, {asked.rounds} rounds of {asked.seconds:g} s\n")
    for part in asked.parts or PARTS:
        PARTS[part](asked)


if __name__ == "__main__":
    main()
