"""python -m bench.sglang WHAT [options] --out FOLDER: grammar backends inside a real SGLang server.

meter        times of one backend's calls, from the meter
steps        microseconds per step in the backend, by kind of call
throughput   tokens per second, ours and each of the others in turns
ttft         time to the first text of requests with new tools
drafts       tokens per pass in real tool calls, with and without drafts of forced text
soak         many requests of all kinds, some aborted; exit status 1 on any finding

The server's venv is that of the tests (SWITCHYARD_SGLANG_PYTHON, see tests/sglang/environment.py);
this runs in the project's own, which needs no torch. Tables are Markdown; FOLDER/WHAT.json has all.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..__main__ import BFCL
from ..data import bfcl, builtin_tools
from . import BACKENDS, FREE, OURS, PEERS, drafts, first_token, soak, steps, throughput
from .client import load
from .figures import keep
from .fleet import Fleet, made_model, meter
from .workload import schemas

OTHERS = (FREE, *PEERS)


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.sglang",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("what", choices=PARTS)
    add("--out", type=Path, help="folder for WHAT.json")
    add("--model", type=Path, help="folder of a model; else a tiny random one")
    add("--vocabulary", type=int, help="its tokens: 32,000, which is the most; soak: 4,096")
    add("--padding", type=int, default=128, help="further rows of its logits")
    add("--peers", default=",".join(OTHERS), help=f"steps, throughput, ttft: {', '.join(OTHERS)}")
    add("--backend", default=OURS, choices=BACKENDS, help="meter: whose")
    add("--at-once", default="1,16,64", help="steps: requests under way")
    add("--rounds", type=int, default=5, help="steps: of each pair")
    add("--pairs", type=int, default=10, help="throughput: of runs, with each peer")
    add("--requests", type=int, help="meter: 16; throughput: 48 a run; soak: 10,000")
    add("--tokens", type=int, default=200, help="throughput: of each answer")
    add("--sets", type=int, help="sets of tools: ttft 100; drafts 40, with a call each")
    add("--bfcl", type=Path, default=Path(BFCL), help="drafts: folder of BFCL's data")
    add("--tools", type=int, default=40, help="ttft: at most, in a set")
    add("--seed", type=int, default=1, help="soak: of its requests")
    add("--first", type=int, default=0, help="soak: the first request's number")
    add("--memory", type=float, default=52.0, help="soak: MB that the compiler may keep")
    add("--growth", type=float, default=64.0, help="soak: MB that the scheduler may grow by")
    asked = parser.parse_args(given)
    if unknown := set(asked.peers.split(",")) - set(OTHERS):
        parser.error(f"no such peer: {', '.join(sorted(unknown))}")
    return asked


def _model(asked: argparse.Namespace) -> Path:
    vocabulary = asked.vocabulary or (4_096 if asked.what == "soak" else 32_000)
    return asked.model or made_model(vocabulary, asked.padding)


def _meter(asked: argparse.Namespace) -> Any:
    with Fleet(_model(asked)) as fleet, fleet.running(asked.backend) as servers:
        server = servers[asked.backend]
        meter(server)
        load(server.base_url, schemas(asked.backend, asked.requests or 16), 16)
        told = meter(server)
    for kind, calls, took in zip(told["kinds"], told["calls"], told["ns"], strict=True):
        if calls:
            print(f"{kind:14} {calls:9,} calls {took / calls / 1000:9.2f} us each")
    print(f"{told['steps']:,} steps by masks filled: {told['sizes']}; {told['overhead_ns']}")
    return told


def _steps(asked: argparse.Namespace) -> Any:
    sizes = [int(size) for size in asked.at_once.split(",")]
    with Fleet(_model(asked)) as fleet:
        return steps.measure(fleet, sizes, asked.rounds, asked.peers.split(","))


def _throughput(asked: argparse.Namespace) -> Any:
    options = {"requests": asked.requests or 48, "tokens": asked.tokens}
    with Fleet(_model(asked), metered=FREE in asked.peers.split(",")) as fleet:
        return throughput.measure(fleet, asked.peers.split(","), asked.pairs, **options)


def _ttft(asked: argparse.Namespace) -> Any:
    with Fleet(_model(asked)) as fleet:
        return first_token.measure(fleet, asked.peers.split(","), asked.sets or 100, asked.tools)


def _drafts(asked: argparse.Namespace) -> Any:
    has_data = asked.bfcl.is_dir()
    return drafts.measure(bfcl(asked.bfcl, asked.sets or 40) if has_data else builtin_tools())


def _soak(asked: argparse.Namespace) -> Any:
    memory = str(int(asked.memory * 2**20))
    with Fleet(_model(asked), metered=False, SWITCHYARD_COMPILER_MEMORY_BYTES=memory) as fleet:
        requests = asked.requests or 10_000
        return soak.run(fleet, requests, asked.seed, asked.growth, asked.first)


PARTS: dict[str, Callable[[argparse.Namespace], Any]] = {
    "meter": _meter,
    "steps": _steps,
    "throughput": _throughput,
    "ttft": _ttft,
    "drafts": _drafts,
    "soak": _soak,
}


def main(given: list[str] | None = None) -> None:
    asked = arguments(given)
    found = PARTS[asked.what](asked)
    keep(asked.out, asked.what, found)
    if asked.what == "soak" and found["findings"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
