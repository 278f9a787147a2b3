"""The event loop's lag, and the numbers that other processes show.

A timer that fires late shows how long the loop was busy. Twenty timers a second cost 0.05 % of a
processor.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from .metrics import Metrics

#: seconds between two timers
TICK_S = 0.05
#: timers between two publications of watched numbers
PUBLISHED_EVERY = 20


@asynccontextmanager
async def observed(metrics: Metrics) -> AsyncIterator[None]:
    """Observe the running event loop meanwhile, and publish watched numbers."""
    task = asyncio.create_task(_observe(metrics))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _observe(metrics: Metrics) -> None:
    loop, ticks = asyncio.get_running_loop(), 0
    while True:
        due = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        metrics.loop_lag_seconds.observe(max(0.0, loop.time() - due))
        ticks += 1
        if ticks % PUBLISHED_EVERY == 0:
            metrics.publish()
