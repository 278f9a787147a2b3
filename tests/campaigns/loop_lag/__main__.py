"""A gateway in a process of its own, hostile clients, and plain requests beside them.

    python -m tests.campaigns.loop_lag [--times 2] [--seconds 60] [--idle 500] [--limit 0.1]
        [--traces FILE] [--tokenizer FOLDER]

First every kind of body is sent alone, ``--times`` times; then all of them come at once, with heavy
schemas and ``--idle`` slow connections. Prints the answers, the latency of the plain requests, and
the lag of the loop: late is wall-clock time, own is the part of it in which the gateway's process
ran, bare is a loop beside it that does nothing; each as the 99th and 99.9th percentile and the
maximum in milliseconds. Leaves with 1 where an answer is a wrong one or a stall of its own passes
the limit.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

from tests.real_input.served import served_gateway

from .bodies import BODIES, BYTES
from .clients import Clients

#: plain clients, and seconds between two requests of one
PLAIN, PAUSE_S = 4, 0.05
Load = Coroutine[Any, Any, None]
MODULE = "tests.campaigns.loop_lag.lagging_gateway"


class Campaign:
    """Phases of load, each with its stalls and latencies."""

    def __init__(self, clients: Clients, file: Path, bare: Path) -> None:
        self._clients = clients
        self._file = file
        self._bare = bare
        self.wrong: list[str] = []
        self.longest = 0.0

    async def run(self, times: int, seconds: float, idle: int) -> None:
        plain = [asyncio.create_task(self._clients.ask_plainly(PAUSE_S)) for _ in range(PLAIN)]
        await asyncio.sleep(1)
        await self._phase("plain requests alone", asyncio.sleep(5))
        for name in BODIES:
            await self._phase(name, self._send(name, times))
        await self._phase("slow connections", self._together(seconds / 4, self._slow(idle)))
        await self._phase("heavy schemas", self._together(seconds / 4, self._heavy()))
        everything = [*self._slow(idle), *self._heavy(), self._all_bodies()]
        await self._phase("all at once", self._together(seconds, everything))
        await end(plain)

    async def _phase(self, name: str, load: Load) -> None:
        start = time.monotonic()
        await load
        stop = time.monotonic()
        await asyncio.sleep(0.3)
        took = [seconds for at, seconds in self._clients.plain if start <= at <= stop]
        late, own = lags(self._file, start, stop + 0.2)
        bare, _ = lags(self._bare, start, stop + 0.2)
        self.longest = max(self.longest, own[-1])
        cuts = quantiles(took, n=100) if len(took) > 1 else [0.0] * 99
        shown = f"p50 {cuts[49]:.3f}  p99 {cuts[98]:.3f}  max {max(took, default=0):.3f}"
        print(
            f"{name:32} {len(took):5} plain: {shown}  lag: "
            f"own {percentiles(own)}  late {percentiles(late)}  bare {percentiles(bare)}",
            flush=True,
        )

    async def _send(self, name: str, times: int) -> None:
        kind = BODIES[name]
        body = kind.make(BYTES * kind.times)
        for _ in range(times):
            status, text = await self._clients.post(body, kind.path)
            # its first line is the length of a chunk
            is_stream = b"event: " in text[:100]
            error = {} if is_stream else json.loads(text).get("error") or {}
            if (status, error.get("code")) != (kind.status, kind.code):
                self.wrong.append(f"{name}: {status} {error}"[:300])

    async def _all_bodies(self) -> None:
        while True:
            for name in BODIES:
                await self._send(name, 1)

    def _slow(self, idle: int) -> list[Load]:
        return [self._clients.send_slowly(number) for number in range(idle)]

    def _heavy(self) -> list[Load]:
        return [self._clients.ask_for_schemas(seed) for seed in range(2)]

    async def _together(self, seconds: float, loads: Sequence[Load]) -> None:
        tasks = [asyncio.create_task(load) for load in loads]
        await asyncio.sleep(seconds)
        await end(tasks)


def lags(file: Path, start: float, stop: float) -> tuple[list[float], list[float]]:
    """Seconds of every timer in ascending order: (late, own); at least one of each."""
    late, own = [0.0], [0.0]
    for line in file.read_text().rpartition("\n")[0].splitlines():
        ended, waited, used = map(float, line.split())
        if start <= ended <= stop:
            late.append(waited)
            own.append(min(waited, used))
    return sorted(late), sorted(own)


def percentiles(seconds: list[float]) -> str:
    """The 99th and the 99.9th percentile and the maximum, in milliseconds."""
    places = (int(share * len(seconds)) for share in (0.99, 0.999))
    found = [*(seconds[min(place, len(seconds) - 1)] for place in places), seconds[-1]]
    return "/".join(f"{1000 * value:.0f}" for value in found)


@contextmanager
def bare_loop(file: Path) -> Iterator[None]:
    """Run a loop that does nothing."""
    environment = {**os.environ, "LAG_FILE": str(file)}
    process = subprocess.Popen([sys.executable, "-m", MODULE, "--bare"], env=environment)
    try:
        yield
    finally:
        process.kill()
        process.wait()


async def end(tasks: Sequence["asyncio.Task[None]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.loop_lag")
    parser.add_argument("--times", type=int, default=2, help="bodies of each kind")
    parser.add_argument("--seconds", type=float, default=60, help="of all at once")
    parser.add_argument("--idle", type=int, default=500, help="slow connections")
    parser.add_argument("--limit", type=float, default=0.1, help="seconds of a stall")
    parser.add_argument("--traces", help="file for the stacks of all threads during a stall")
    parser.add_argument("--tokenizer", help="folder of a tokenizer for the noise worker")
    given = parser.parse_args(arguments)
    if given.traces:
        os.environ["LAG_TRACES"] = given.traces
    with TemporaryDirectory() as folder:
        file, bare = Path(folder) / "gateway", Path(folder) / "bare"
        os.environ["LAG_FILE"] = str(file)
        settings = {"TOKENIZER": given.tokenizer, "WORKERS": "noise"} if given.tokenizer else {}
        with served_gateway(settings, module=MODULE) as url, bare_loop(bare):
            clients = Clients(url)
            campaign = Campaign(clients, file, bare)
            asyncio.run(campaign.run(given.times, given.seconds, given.idle))
    for text in campaign.wrong:
        print(f"wrong answer: {text}")
    print(f"{clients.failed} plain requests failed; longest stall {campaign.longest:.3f} s")
    return int(bool(campaign.wrong or clients.failed or campaign.longest > given.limit))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
