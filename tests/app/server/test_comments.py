"""Comments in silence: after every silence, never into a full buffer, never after the end."""

import asyncio
from contextlib import ExitStack

from app.server.comments import SWEEPS, Comments
from tests.waiting import PATIENCE

#: of silence
SECONDS = 0.008


class Writer:
    """A writer that keeps what is written."""

    def __init__(self, *, is_full: bool = False) -> None:
        self.is_full = is_full
        self.has_written = False
        self.written: list[bytes] = []

    def write(self, data: bytes) -> None:
        self.has_written = True
        self.written.append(data)

    async def write_all(self, events: object) -> None:
        raise NotImplementedError

    async def until(self, number: int) -> None:
        """Waits until something was written so often."""
        async with asyncio.timeout(PATIENCE):
            while len(self.written) < number:
                await asyncio.sleep(SECONDS / SWEEPS)


async def test_every_silence_gets_a_comment_of_its_own_stream():
    comments, one, two = Comments(SECONDS), Writer(), Writer()
    with comments.within(one, b"1"), comments.within(two, b"2"):
        await one.until(3)
        await two.until(3)
    assert (set(one.written), set(two.written)) == ({b"1"}, {b"2"})


async def test_a_full_writer_gets_none_until_it_has_room():
    comments, full, other = Comments(SECONDS), Writer(is_full=True), Writer()
    with comments.within(full, b"1"), comments.within(other, b"2"):
        await other.until(3)
        assert full.written == []
        full.is_full = False
        await full.until(1)


async def test_a_stream_that_writes_gets_none():
    comments, busy, other = Comments(SECONDS), Writer(), Writer()
    with comments.within(busy, b"1"), comments.within(other, b"2"):
        for number in range(1, 4):
            while len(other.written) < number:
                busy.has_written = True
                await asyncio.sleep(0)
    assert busy.written == []


async def test_none_comes_after_the_end_and_later_streams_get_theirs():
    comments, early, late = Comments(SECONDS), Writer(), Writer()
    with comments.within(early, b"1"):
        await early.until(1)
    number = len(early.written)
    # the sweep has stopped meanwhile, or has not
    for pause in (0.0, 2 * SECONDS):
        await asyncio.sleep(pause)
        late.written.clear()
        with comments.within(late, b"2"):
            await late.until(2)
    assert len(early.written) == number


async def test_all_streams_share_one_timer():
    loop, comments = asyncio.get_running_loop(), Comments(PATIENCE)
    timers: list[float] = []
    call_later = loop.call_later

    def counted(delay: float, *rest: object) -> asyncio.TimerHandle:
        timers.append(delay)
        return call_later(delay, *rest)  # type: ignore[arg-type]

    loop.call_later = counted  # type: ignore[method-assign, assignment]
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(comments.within(Writer(), b""))
    assert timers == [PATIENCE / SWEEPS]


async def test_zero_seconds_are_never():
    never, other = Writer(), Writer()
    with Comments(0).within(never, b"1"), Comments(SECONDS).within(other, b"2"):
        await other.until(2)
    assert never.written == []
