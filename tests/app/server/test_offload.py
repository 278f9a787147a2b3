"""Where the slow steps of requests run."""

import asyncio
import threading

import pytest

from app.errors import ApiError
from app.server.offload import LARGE_BYTES, MOST_WAITING, SMALL_BYTES, Offload


@pytest.mark.parametrize(("size", "own"), [(LARGE_BYTES - 1, False), (LARGE_BYTES, True)])
async def test_large_requests_have_threads_of_their_own(size: int, own: bool):
    offload = Offload()
    name = await offload.run(size, lambda: threading.current_thread().name)
    assert name.startswith("large-requests") is own
    offload.close()


@pytest.mark.parametrize(("size", "own"), [(SMALL_BYTES - 1, True), (SMALL_BYTES, False)])
async def test_tiny_requests_need_no_thread(size: int, own: bool):
    offload = Offload()
    thread = await offload.run(size, threading.current_thread)
    assert (thread is threading.current_thread()) is own
    offload.close()


async def test_what_a_step_raises_is_raised():
    offload = Offload()
    for size in (0, SMALL_BYTES, LARGE_BYTES):
        with pytest.raises(ValueError, match="not a number"):
            await offload.run(size, lambda: int("not a number"))
    offload.close()


async def test_one_more_than_may_wait_is_refused_and_small_ones_are_not():
    offload, done = Offload(), threading.Event()
    waiting = [
        asyncio.create_task(offload.run(LARGE_BYTES, done.wait)) for _ in range(MOST_WAITING)
    ]
    await asyncio.sleep(0)
    with pytest.raises(ApiError) as caught:
        await offload.run(LARGE_BYTES, done.wait)
    assert (caught.value.status, caught.value.code) == (503, "overloaded")
    assert "Retry-After" in caught.value.headers
    assert await offload.run(0, lambda: 1) == 1
    done.set()
    assert await asyncio.gather(*waiting) == [True] * MOST_WAITING
    assert await offload.run(LARGE_BYTES, lambda: 1) == 1
    offload.close()


async def test_a_client_that_leaves_frees_its_place():
    offload, done = Offload(), threading.Event()
    waiting = [
        asyncio.create_task(offload.run(LARGE_BYTES, done.wait)) for _ in range(MOST_WAITING)
    ]
    await asyncio.sleep(0)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)
    done.set()
    assert await offload.run(LARGE_BYTES, lambda: 1) == 1
    offload.close()
