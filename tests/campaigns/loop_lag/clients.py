"""The clients of the campaign: plain ones, whose latency counts, and hostile ones."""

import asyncio
import json
import time
from contextlib import suppress
from random import Random
from urllib.parse import urlsplit

from .bodies import heavy_schema

CHAT = "/v1/chat/completions"
#: bytes of a request's headers
_HEAD = (
    "POST %s HTTP/1.1\r\nhost: gateway\r\n"
    "content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
)


class Clients:
    """Of one gateway."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname, parts.port
        #: (start, seconds) of every plain request
        self.plain: list[tuple[float, float]] = []
        self.failed = 0

    async def post(self, body: bytes, path: str = CHAT) -> tuple[int, bytes]:
        """(status, answer) of a request, by default a chat completion."""
        reader, writer = await asyncio.open_connection(*self._address)
        try:
            writer.write((_HEAD % (path, len(body))).encode() + body)
            answer = await reader.read()
        finally:
            writer.close()
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), text

    async def ask_plainly(self, pause_s: float) -> None:
        """Small requests, one after the other, for ever."""
        body = json.dumps(
            {
                "model": "noise",
                "messages": [{"role": "user", "content": "hi"}],
                "max_completion_tokens": 8,
            }
        ).encode()
        while True:
            start = time.monotonic()
            status, _ = await self.post(body)
            self.plain.append((start, time.monotonic() - start))
            self.failed += status != 200
            await asyncio.sleep(pause_s)

    async def ask_for_schemas(self, seed: int) -> None:
        """A schema that must be compiled, one after the other, for ever."""
        rng = Random(seed)
        while True:
            schema = {"name": "a", "schema": heavy_schema(rng)}
            asked = {
                "model": "noise",
                "messages": [{"role": "user", "content": "hi"}],
                "max_completion_tokens": 40,
                "response_format": {"type": "json_schema", "json_schema": schema},
            }
            await self.post(json.dumps(asked).encode())

    async def send_slowly(self, number: int) -> None:
        """A connection that is idle, or in the middle of its headers or its body, for ever."""
        sent = ("", "POST /v1/chat/completions HTTP/1.1\r\nhost: ", _HEAD % (CHAT, 100))[number % 3]
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(*self._address)
                writer.write(sent.encode())
                while not reader.at_eof():
                    with suppress(TimeoutError):
                        await asyncio.wait_for(reader.read(1000), 1)
                    if sent:
                        writer.write(b"x")
                writer.close()
