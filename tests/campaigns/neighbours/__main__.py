"""A gateway in a process of its own, one key at its worst, and another key's plain chats.

    python -m tests.campaigns.neighbours [--seconds 10] [--behaviour NAME]... [--limit 0.2]
                                         [--larger-limit 1]

Each behaviour lasts ``--seconds``. The plain clients send small chats and chats of 70 KB, and read
a stored response again and again. Prints for each behaviour how many failed, and the latency of the
small and of the larger chats in milliseconds (median, 99th percentile, maximum); "alone" is without
any neighbour, on this machine at this time. Exits with 1 if a plain request failed, or the 99th
percentile of small or of larger chats is beyond its limit; it is infinite if none finished.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any

from tests.real_input.served import served_gateway

from .behaviours import BEHAVIOURS, Neighbour, misbehave

#: plain clients of each kind, and seconds between two requests of one
PLAIN, PAUSE_S = 2, 0.05
#: seconds after a behaviour, in which what it began ends
REST_S = 2.0
#: seconds in which a behaviour begins
START_S = 7.0
ALONE = "alone"
CHAT = "/v1/chat/completions"


def chat(size: int) -> bytes:
    """Return a chat of so many bytes."""
    asked = {
        "model": "noise",
        "messages": [{"role": "user", "content": "hello " * (size // 6)}],
        "max_completion_tokens": 8,
    }
    return json.dumps(asked).encode()


@dataclass
class Plain:
    """The requests of the other key."""

    client: Neighbour
    small: list[float] = field(default_factory=list)
    larger: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def ask(self, body: bytes, seconds: list[float]) -> None:
        """Send a chat, one after the other, for ever."""
        while True:
            start = time.monotonic()
            await self._post(CHAT, body)
            seconds.append(time.monotonic() - start)
            await asyncio.sleep(PAUSE_S)

    async def store(self) -> str:
        """Store a response; return its id."""
        asked = {"model": "noise", "input": "hi", "max_output_tokens": 4, "store": True}
        found = json.loads(await self._post("/v1/responses", json.dumps(asked).encode()))
        return str(found["id"])

    async def go_on(self, number: str) -> None:
        """Continue a stored response: it must be there."""
        asked: dict[str, Any] = {"model": "noise", "max_output_tokens": 4, "input": "go on"}
        asked |= {"previous_response_id": number, "store": False}
        await self._post("/v1/responses", json.dumps(asked).encode())

    async def _post(self, path: str, body: bytes) -> bytes:
        try:
            status, text = await self.client.post(path, body)
        except (OSError, IndexError) as error:
            self.failures.append(f"{path}: {type(error).__name__}")
            return b"{}"
        if status != 200:
            self.failures.append(f"{path}: {status} {text[:200].decode(errors='replace')}")
        return text


@contextmanager
def neighbour(url: str, name: str) -> Iterator[SpawnProcess | None]:
    """Run a behaviour in a process of its own: it would delay the plain clients in theirs."""
    if name == ALONE:
        yield None
        return
    process = get_context("spawn").Process(target=misbehave, args=(url, name), daemon=True)
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


async def beside(url: str, name: str, seconds: float) -> Plain:
    """Run plain clients beside a behaviour."""
    plain = Plain(Neighbour(url, "good"))
    number = await plain.store()
    with neighbour(url, name) as hostile:
        await asyncio.sleep(START_S)
        await _ask(plain, seconds)
        if hostile is not None and not hostile.is_alive():
            plain.failures.append(f"the load ended with {hostile.exitcode}")
        await plain.go_on(number)
    await asyncio.sleep(REST_S)
    return plain


async def _ask(plain: Plain, seconds: float) -> None:
    asking = [
        asyncio.create_task(plain.ask(body, found))
        for body, found in ((chat(100), plain.small), (chat(70_000), plain.larger))
        for _ in range(PLAIN)
    ]
    await asyncio.sleep(seconds)
    for task in asking:
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)


def percentiles(seconds: list[float]) -> tuple[float, float, float]:
    """Return (median, 99th percentile, maximum) in seconds."""
    ranked = sorted(seconds) or [float("inf")]
    last = len(ranked) - 1
    return ranked[last // 2], ranked[min(last, int(0.99 * len(ranked)))], ranked[-1]


def shown(seconds: list[float]) -> str:
    return " / ".join(f"{1000 * value:.0f}" for value in percentiles(seconds))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.neighbours")
    parser.add_argument("--seconds", type=float, default=10, help="of each behaviour")
    parser.add_argument("--behaviour", action="append", choices=BEHAVIOURS, help="default: all")
    parser.add_argument("--limit", type=float, default=0.2, help="seconds, of small chats")
    parser.add_argument("--larger-limit", type=float, default=1, help="seconds, of larger chats")
    given = parser.parse_args(arguments)
    found: list[str] = []
    print("| one key | plain requests | failed | small chats, ms | chats of 70 KB, ms |")
    print("|---|---:|---:|---:|---:|")
    with served_gateway({"API_KEYS": "good,bad"}) as url:
        for name in (ALONE, *(given.behaviour or BEHAVIOURS)):
            plain = asyncio.run(beside(url, name, given.seconds))
            sent = len(plain.small) + len(plain.larger)
            row = (name, sent, len(plain.failures), shown(plain.small), shown(plain.larger))
            print(f"| {' | '.join(map(str, row))} |", flush=True)
            found += [f"{name}: {text}" for text in sorted(set(plain.failures))[:3]]
            for kind, seconds, limit in (
                ("small", plain.small, given.limit),
                ("larger", plain.larger, given.larger_limit),
            ):
                if percentiles(seconds)[1] > limit:
                    found.append(f"{name}: 99th percentile of {kind} chats beyond {limit:g} s")
    for text in found:
        print(text)
    return int(bool(found))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main(sys.argv[1:]))
