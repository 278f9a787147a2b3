"""Clients that ask all the time, and what became of each request.

Representation   a thread runs the loop of all clients. Every second request streams. A request is
                 good if its answer is whole and its own: ``{"n":N}`` to ``number N``.
Invariants       I1 a client sends its next request when it has the answer to the last one, so
                 after a fault each client fails once, unless failures go on.
"""

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from tests.app.messages import payloads

#: seconds that a client waits for an answer; nothing in the stack should take that long
PATIENCE_S = 60.0
#: seconds that a client waits after a failure, as clients do
BACK_OFF_S = 0.1


@dataclass(frozen=True)
class Request:
    """Times are those of ``time.monotonic``; ``failure`` is empty if the answer was good."""

    client: int
    began: float
    ended: float
    failure: str


class Load:
    """``with Load(url, key, clients=8) as load``: asks until the end of the block."""

    def __init__(self, url: str, key: str, *, clients: int) -> None:
        self.requests: list[Request] = []
        self.clients = clients
        self.key = key
        self._url = f"{url}/v1/chat/completions"
        self._numbers = itertools.count(1)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> "Load":
        self._thread.start()
        self.settle(1)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2 * PATIENCE_S)

    @property
    def failures(self) -> list[str]:
        return [request.failure for request in list(self.requests) if request.failure]

    def since(self, moment: float) -> list[Request]:
        """Requests that ended after a moment."""
        return [request for request in list(self.requests) if request.ended >= moment]

    def settle(self, count: int = 5) -> None:
        """Wait until each client's last ``count`` requests, begun from now on, are good."""
        start = time.monotonic()

        def settled(client: int) -> bool:
            own = [r for r in list(self.requests) if r.client == client and r.began >= start]
            return len(own) >= count and not any(request.failure for request in own[-count:])

        self._wait(lambda: all(map(settled, range(self.clients))))

    def recovery(self, moment: float) -> float:
        """Seconds from a moment to the end of its last failure; 0: none failed."""
        failed = [request.ended for request in self.since(moment) if request.failure]
        return max(failed) - moment if failed else 0.0

    def silence(self, moment: float) -> float:
        """Longest time without a good answer after a moment, in seconds."""
        good = sorted(request.ended for request in self.since(moment) if not request.failure)
        return max((b - a for a, b in itertools.pairwise([moment, *good])), default=0.0)

    def _wait(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + 3 * PATIENCE_S
        while not holds():
            assert time.monotonic() < until, self.failures[-3:]
            time.sleep(0.05)

    async def _run(self) -> None:
        timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
            await asyncio.gather(*(self._client(session, n) for n in range(self.clients)))

    async def _client(self, session: aiohttp.ClientSession, client: int) -> None:
        while not self._stop.is_set():
            number, began = next(self._numbers), time.monotonic()
            try:
                failure = await self._ask(session, number)
            except (TimeoutError, aiohttp.ClientError, ValueError, KeyError) as error:
                failure = repr(error)
            self.requests.append(Request(client, began, time.monotonic(), failure))
            if failure:
                await asyncio.sleep(BACK_OFF_S)

    async def _ask(self, session: aiohttp.ClientSession, number: int) -> str:
        streams = number % 2 == 0
        body = {
            "model": "numbers",
            "messages": [{"role": "user", "content": f"number {number}"}],
            "max_tokens": 50,
            "stream": streams,
        }
        head = {"authorization": f"Bearer {self.key}"}
        async with session.post(self._url, json=body, headers=head) as answer:
            text = await answer.text()
            if answer.status != 200:
                error = json.loads(text)["error"]
                assert set(error) == {"message", "type", "param", "code"}
                assert answer.headers["x-request-id"]
                return f"{answer.status} {error['code']}"
        content = _streamed(text) if streams else _whole(text)
        return "" if json.loads(content) == {"n": number} else f"wrong answer: {content}"


def _whole(text: str) -> str:
    return str(json.loads(text)["choices"][0]["message"]["content"])


def _streamed(text: str) -> str:
    *found, last = payloads(text)
    if last != "[DONE]":
        raise ValueError(f"the stream ends with {last[:100]}")
    deltas = [choice["delta"] for data in found for choice in json.loads(data)["choices"]]
    return "".join(delta.get("content") or "" for delta in deltas)
