"""The multiplexer: the choices of an answer as one stream of (number of the choice, item).

Each choice runs in one task from its first chunk to its last, so that whatever a worker holds open
belongs to one task. The queue is bounded: a slow client slows the workers down instead of filling
memory.

Invariants   I1 ``start`` returns true when every choice has its first item, or raises what the
                first failed choice raised. Nothing was sent by then, so an ordinary error answer is
                still possible.
             I2 after ``aclose`` no task is left, and every worker's generator is closed.
             I3 a choice's ChoiceEnd is passed on after its generator has ended: a caller closes the
                multiplexer after the last ChoiceEnd, which would cancel a generator that still
                runs.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from .choice_decoder import ChoiceEnd, ChoiceItem

#: items per choice that wait for a slow client
QUEUED = 32


class Multiplexer:
    """See the file's header. ``timeout``: seconds for each whole choice."""

    def __init__(
        self, choices: Sequence[AsyncGenerator[ChoiceItem, None]], *, timeout: float
    ) -> None:
        self._queue: asyncio.Queue[tuple[int, ChoiceItem | Exception]] = asyncio.Queue(
            QUEUED * len(choices)
        )
        self._choices = choices
        self._timeout = timeout
        self._tasks: list[asyncio.Task[None]] = []
        #: choices without their first item
        self._silent = len(choices)
        self._has_begun = asyncio.Event()
        #: of the first choice that failed before its first item, until it is raised: errors hold
        #: the frames of their tasks, and so this multiplexer
        self._failures: list[Exception] = []

    async def start(self, seconds: float | None = None) -> bool:
        """Start the choices and wait until each has its first item, at most ``seconds``. Return
        whether all have; if not, call it again to wait on. On an error everything has been stopped.
        """
        if not self._tasks:
            numbered = enumerate(self._choices)
            self._tasks = [asyncio.create_task(self._run(*choice)) for choice in numbered]
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._has_begun.wait()
            if self._failures:
                raise self._failures.pop()
        except BaseException:
            await self.aclose()
            raise
        return self._has_begun.is_set()

    async def batches(self) -> AsyncGenerator[list[tuple[int, ChoiceItem]], None]:
        """Yield all items, the first ones included, until every choice has ended; those that wait
        together in one batch. Call it once.
        """
        open_choices = len(self._choices)
        while open_choices:
            batch: list[tuple[int, ChoiceItem]] = []
            failure: Exception | None = None
            number, item = await self._queue.get()
            while not isinstance(item, Exception):
                open_choices -= isinstance(item, ChoiceEnd)
                batch.append((number, item))
                if self._queue.empty():
                    break
                number, item = self._queue.get_nowait()
            else:
                failure = item
            if batch:
                yield batch
            if failure is not None:
                try:
                    raise failure
                finally:
                    del failure, item

    async def aclose(self) -> None:
        """Cancel the choices that still run, and wait for them."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        # tasks and errors hold this multiplexer: it must not wait for a collection to be freed
        self._tasks.clear()
        self._failures.clear()
        while not self._queue.empty():
            self._queue.get_nowait()

    async def _run(self, number: int, choice: AsyncGenerator[ChoiceItem, None]) -> None:
        ended: ChoiceEnd | None = None
        is_silent = True
        try:
            async with asyncio.timeout(self._timeout), aclosing(choice):
                async for item in choice:
                    if is_silent:
                        self._begin()
                        is_silent = False
                    if isinstance(item, ChoiceEnd):
                        ended = item
                    else:
                        await self._queue.put((number, item))
                if ended is not None:
                    await self._queue.put((number, ended))
        except Exception as error:
            if is_silent:  # raised by start()
                self._failures = self._failures or [error]
                self._has_begun.set()
            else:  # raised by batches()
                await self._queue.put((number, error))

    def _begin(self) -> None:
        self._silent -= 1
        if not self._silent:
            self._has_begun.set()
