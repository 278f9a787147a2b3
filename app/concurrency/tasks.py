"""Tasks that run beside others."""

import asyncio
from typing import Any


async def cancel(*tasks: "asyncio.Future[Any] | None") -> None:
    """Cancel tasks and wait until they have ended; ignore their results, and None."""
    running = [task for task in tasks if task is not None]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running)
    for task in running:
        if not task.cancelled():
            task.exception()
