"""Waiting for what other tasks, threads or processes do; a test fails if it never happens."""

import asyncio
import time
from collections.abc import Callable

#: seconds that it may take on a slow machine
PATIENCE = 60.0


def until(happened: Callable[[], object]) -> None:
    """Wait in this thread."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


async def eventually(happened: Callable[[], object]) -> None:
    """Wait while the event loop runs."""
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await asyncio.sleep(0.001)
