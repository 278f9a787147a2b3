"""The run of a worker in this process, whose chunks an async generator makes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from .base import Chunk, Receive


class GeneratorRun:
    """See Run. A paused generator is not asked for its next chunk."""

    def __init__(self, chunks: AsyncGenerator[Chunk, None], receive: Receive) -> None:
        self._chunks = chunks
        self._receive = receive
        self._resumed: asyncio.Event | None = None

    async def wait(self) -> None:
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                if not self._receive(chunk):
                    return
                while self._resumed is not None:
                    await self._resumed.wait()

    def pause(self) -> None:
        self._resumed = self._resumed or asyncio.Event()

    def resume(self) -> None:
        if self._resumed is not None:
            self._resumed.set()
            self._resumed = None
