"""Where the slow steps of requests run."""

import asyncio
import threading
from typing import Any

import pytest

from app.concurrency import fair_threads
from app.concurrency.offload import (
    HUGE_BYTES,
    IMAGE_THREADS,
    LARGE_BYTES,
    MAX_LARGE,
    MAX_SMALL,
    SMALL_BYTES,
    Offload,
)
from app.errors import ApiError


def thread() -> str:
    return threading.current_thread().name


@pytest.mark.parametrize(
    ("size", "name"),
    [
        (SMALL_BYTES - 1, "MainThread"),
        (SMALL_BYTES, "small-requests"),
        (LARGE_BYTES - 1, "small-requests"),
        (LARGE_BYTES, "large-requests"),
        (HUGE_BYTES - 1, "large-requests"),
        (HUGE_BYTES, "huge-requests"),
    ],
)
async def test_each_size_of_request_has_its_threads(size: int, name: str):
    offload = Offload()
    assert (await offload.run("a", size, thread)).startswith(name)
    offload.close()


async def test_images_have_threads_of_which_one_client_takes_all_but_one():
    offload, started, done = Offload(), [], threading.Event()

    def wait() -> None:
        started.append(thread())
        done.wait()

    mine = [asyncio.create_task(offload.run_image("a", wait)) for _ in range(IMAGE_THREADS)]
    while len(started) < IMAGE_THREADS - 1:
        await asyncio.sleep(0.001)
    # a step holds the lock of Python in its threads, so it is let go before another one begins
    other = asyncio.create_task(offload.run_image("b", thread))
    assert (await offload.run("a", HUGE_BYTES, thread)).startswith("huge-requests")
    assert len(started) == IMAGE_THREADS - 1
    done.set()
    await asyncio.gather(*mine)
    assert {name.rpartition("_")[0] for name in (*started, await other)} == {"image-requests"}
    offload.close()


async def test_what_a_step_raises_is_raised():
    offload = Offload()
    for size in (0, SMALL_BYTES, LARGE_BYTES):
        with pytest.raises(ValueError, match="not a number"):
            await offload.run("a", size, lambda: int("not a number"))
    offload.close()


@pytest.mark.parametrize(
    ("size", "free_to_one", "most"),
    [(HUGE_BYTES, 1, MAX_LARGE), (LARGE_BYTES, 1, MAX_LARGE), (SMALL_BYTES, 3, MAX_SMALL)],
)
async def test_a_client_that_floods_is_refused_and_others_are_not(
    size: int, free_to_one: int, most: int, monkeypatch: pytest.MonkeyPatch
):
    """REGRESSION: when one client had filled the queue of large requests, all others got 503."""
    monkeypatch.setattr(fair_threads, "REFUSAL_S", 0)
    offload, done = Offload(), threading.Event()

    def begin(client: str) -> "asyncio.Task[Any]":
        return asyncio.create_task(offload.run(client, size, done.wait))

    mine = [begin("a") for _ in range(free_to_one + most)]
    await asyncio.sleep(0)
    with pytest.raises(ApiError) as caught:
        await begin("a")
    assert (caught.value.status, caught.value.code) == (503, "overloaded")
    assert "Retry-After" in caught.value.headers
    # small requests have a thread that one client cannot take
    others = [begin(client) for client in ("b", "c")]
    await asyncio.sleep(0)
    assert await offload.run("b", 0, lambda: 1) == 1
    done.set()
    assert await asyncio.gather(*others) == [True, True]
    answers = await asyncio.gather(*mine, return_exceptions=True)
    refused = [each for each in answers if isinstance(each, ApiError)]
    assert len(refused) == (2 if free_to_one == 1 else 1)
    assert answers.count(True) == len(mine) - len(refused)
    offload.close()
