"""A closed loop of users that stream chat completions, with next to no cost of its own.

Each user has one connection and asks again as soon as an answer is complete, or with ``--rate`` at
times of its own. The bytes of an answer
are not parsed: an answer ends with the empty chunk of HTTP, and events are counted.

python -m bench.gateway.load --url http://127.0.0.1:8000 --users 16 --seconds 10
"""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlsplit

import uvloop

from .calls import TOOLS

END = b"0\r\n\r\n"
#: seconds that answers may take after the end of a run; what is open then does not count
LAST_WORDS_S = 10.0


@dataclass
class Results:
    """``first``, ``whole``: seconds of each answer; ``gaps``: seconds between two receptions
    of an answer; ``refused``: seconds of each 429 and 503.
    """

    first: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    events: int = 0
    failed: int = 0


class User(asyncio.Protocol):
    """One user. ``request``: the bytes of the request. ``every``: seconds between two requests; a
    late answer delays the next one only. After a refusal, the user asks again in ``retry_s``
    seconds; None: never.
    """

    def __init__(
        self,
        request: bytes,
        results: Results,
        until: float,
        *,
        every: float = 0.0,
        retry_s: float | None = None,
    ) -> None:
        self._every, self._due = every, 0.0
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request, self._results, self._until = request, results, until
        self._retry_s = retry_s
        self._is_refused = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def _ask(self) -> None:
        now = time.perf_counter()
        if now > self._until:
            self._transport.close()
            return
        self._due = self._due or now
        self._start, self._last, self._tail, self._is_first = now, now, b"", True
        self._is_refused = False
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if self._is_refused:
            self._tail += data
            self._await_retry()
            return
        if self._is_first:
            self._is_first = False
            if self._retry_s is not None and data.startswith((b"HTTP/1.1 429", b"HTTP/1.1 503")):
                self._is_refused, self._tail = True, data
                self._results.refused.append(now - self._start)
                self._await_retry()
                return
            self._results.first.append(now - self._start)
            if not data.startswith(b"HTTP/1.1 200"):
                self._results.failed += 1
                self._transport.close()
                return
        else:
            self._results.gaps.append(now - self._last)
        self._last = now
        self._results.events += data.count(b"data: ")
        self._tail = (self._tail + data)[-len(END) :]
        if self._tail == END:
            self._results.whole.append(now - self._start)
            self._due = max(now, self._due + self._every)
            asyncio.get_running_loop().call_later(max(0.0, self._due - now), self._ask)

    def _await_retry(self) -> None:
        """Ask again after the pause, once the refusal has arrived as a whole."""
        head, _, body = self._tail.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]
        if length and len(body) == int(length):
            asyncio.get_running_loop().call_later(self._retry_s or 0, self._ask)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


async def run(asked: argparse.Namespace) -> dict[str, Any]:
    parts = urlsplit(asked.url)
    body = {"model": asked.model, "stream": True, "max_tokens": 1000}
    body["messages"] = [{"role": "user", "content": "Tell me about the weather in Oslo."}]
    if asked.calls:
        body["tools"] = TOOLS
    content = json.dumps(body).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {parts.netloc}\r\n"
    head += f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
    head += "authorization: Bearer sk-1234\r\n\r\n"
    request = head.encode() + content
    every = asked.users / asked.rate if asked.rate else 0.0
    results, begin = Results(), time.perf_counter()
    until = begin + asked.seconds
    loop, users = asyncio.get_running_loop(), []
    for number in range(asked.users):
        if asked.paced:
            # users that begin together would measure one burst after another
            await asyncio.sleep(asked.ramp_s / asked.users if number else 0)
        elif every:
            await asyncio.sleep(every / asked.users)
        _, user = await loop.create_connection(
            lambda: User(request, results, until, every=every, retry_s=asked.retry_s),
            parts.hostname,
            parts.port,
        )
        users.append(user.done)
    await asyncio.wait(users, timeout=asked.seconds + LAST_WORDS_S)
    return summary(results, time.perf_counter() - begin)


def summary(results: Results, seconds: float) -> dict[str, Any]:
    def at(values: list[float], *percents: float) -> list[float]:
        ordered = sorted(values) or [0.0]
        places = (min(len(ordered) - 1, int(p / 100 * len(ordered))) for p in percents)
        return [round(1000 * ordered[place], 2) for place in places]

    return {
        "requests": len(results.whole),
        "failed": results.failed,
        "refused": len(results.refused),
        "refused_ms_p50_p99": at(results.refused, 50, 99),
        "requests_per_s": round(len(results.whole) / seconds, 1),
        "events": results.events,
        "events_per_s": round(results.events / seconds),
        "first_ms_p50_p99": at(results.first, 50, 99),
        "whole_ms_p50_p99": at(results.whole, 50, 99),
        "gap_ms_p50_p99_max": at(results.gaps, 50, 99, 100),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True)
    parser.add_argument("--model", default="m")
    parser.add_argument("--users", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--calls", action="store_true", help="offer a tool")
    parser.add_argument("--paced", action="store_true", help="users begin one after another")
    parser.add_argument("--rate", type=float, default=0, help="requests/s of all users together")
    parser.add_argument(
        "--ramp-s", type=float, default=2, help="with --paced: seconds of the start"
    )
    parser.add_argument("--retry-s", type=float, help="seconds until a refused user asks again")
    json.dump(uvloop.run(run(parser.parse_args())), sys.stdout)
    print()


if __name__ == "__main__":
    main()
