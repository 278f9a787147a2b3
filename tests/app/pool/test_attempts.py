"""One attempt whose text passes by a path: its deadlines."""

import asyncio
import time
from typing import Any, cast
from unittest.mock import Mock

import pytest

from adapters.workers import Chunk, Receive, TextRun, Worker, WorkerError
from app.concurrency import Deadline, DeadlineSweep
from app.pool.attempts import AttemptRun, Deadlines
from tests.app.pool.fakes import DONE, generation


class Begun(TextRun):
    """A run that has passed a chunk on, and waits for ``ends`` to pass on the last one."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.ends = asyncio.Event()

    async def wait(self) -> None:
        self._receive(Chunk((1,)))
        await self.ends.wait()
        self._receive(DONE)


class Attempt:
    """An attempt with 10 ms for a token, whose path took its last text at this time."""

    def __init__(self, last_at: float) -> None:
        self.sweep = DeadlineSweep()
        self.path = Mock(last_at=last_at)
        worker = Mock(run=self._run)
        deadlines = Deadlines(first_token=60, token=0.01)
        attempt = AttemptRun(cast(Worker, worker), generation(), deadlines, self.sweep)
        attempt.text_path = self.path
        self.work = asyncio.create_task(attempt.wait(lambda chunk: True))

    def _run(self, generation: Any, receive: Receive) -> Begun:
        self.run = Begun(receive)
        return self.run

    async def until(self, seconds: float) -> None:
        """Wait for a later deadline of the same sweep."""
        passed = asyncio.Event()
        later = Deadline(passed.set)
        later.at = asyncio.get_running_loop().time() + seconds
        self.sweep.add(later)
        await passed.wait()


async def test_text_that_passes_moves_the_deadline():
    made = Attempt(time.perf_counter() + 3600)
    await made.until(0.2)
    # moved for good: not by the time of this look
    made.path.last_at = -3600
    await made.until(0.2)
    assert not made.work.done()
    made.run.ends.set()
    await made.work


@pytest.mark.parametrize("ago", [float("inf"), 60.0])
async def test_text_that_passed_long_ago_does_not(ago: float):
    with pytest.raises(WorkerError, match=r"no next token within 0\.01 s"):
        await Attempt(time.perf_counter() - ago).work
