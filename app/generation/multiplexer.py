"""Several choices at once, as one stream of (number of the choice, item).

Every choice runs in a task of its own from its first chunk to its last, so that whatever a worker
holds open belongs to one task. The queue is bounded: a client that reads slowly slows the workers
down, not the memory up.

Invariants   I1 ``start`` returns when every choice has shown its first item, or raises what the
             first failed one raised: nothing was sent by then, so an ordinary error answer is still
             possible.
             I2 after ``aclose`` no task is left, and every worker's generator is closed.
             I3 a choice's Ended is handed on when its generator is through: whoever has all that
                he waits for closes the Merge, and would cut off what comes behind an answer.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from .choice_decoder import Ended, Item

#: items waiting for a slow client, per choice
QUEUED = 32


class Merge:
    """See the file's header. ``timeout`` is in seconds, for each choice as a whole."""

    def __init__(self, choices: Sequence[AsyncGenerator[Item, None]], *, timeout: float) -> None:
        self._queue: asyncio.Queue[tuple[int, Item | Exception]] = asyncio.Queue(
            QUEUED * len(choices)
        )
        self._choices = choices
        self._timeout = timeout
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Waits for the first item of every choice. On an error everything is stopped already."""
        loop = asyncio.get_running_loop()
        begun: list[asyncio.Future[None]] = [loop.create_future() for _ in self._choices]
        for number, (choice, first) in enumerate(zip(self._choices, begun, strict=True)):
            self._tasks.append(asyncio.create_task(self._run(number, choice, first)))
        try:
            await asyncio.gather(*begun)
        except BaseException:
            await self.aclose()
            raise

    async def items(self) -> AsyncGenerator[tuple[int, Item], None]:
        """Everything, the first items included, until every choice has ended. Call it once."""
        open_choices = len(self._choices)
        while open_choices:
            number, item = await self._queue.get()
            if isinstance(item, Exception):
                raise item
            open_choices -= isinstance(item, Ended)
            yield number, item

    async def aclose(self) -> None:
        """Stops whatever still runs, and waits for it."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(
        self, number: int, choice: AsyncGenerator[Item, None], begun: "asyncio.Future[None]"
    ) -> None:
        ended: Ended | None = None
        try:
            async with asyncio.timeout(self._timeout), aclosing(choice):
                async for item in choice:
                    if not begun.done():
                        begun.set_result(None)
                    if isinstance(item, Ended):
                        ended = item
                    else:
                        await self._queue.put((number, item))
                if ended is not None:
                    await self._queue.put((number, ended))
        except Exception as error:  # handed to whoever waits for the choice
            if not begun.done():
                begun.set_exception(error)
            elif not begun.cancelled():
                await self._queue.put((number, error))
