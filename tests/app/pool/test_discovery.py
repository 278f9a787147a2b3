"""Workers from DNS: addresses that come and go, resolvers that fail or lie."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.workers import Chunk, WorkerError
from app.pool import discovery as module
from app.pool.discovery import Discovery, addresses_of, url_of
from app.pool.worker_pool import Pool
from tests.app.pool.fakes import DONE, Counted, Fake, chunks_of, run
from tests.waiting import eventually

NAME = "dns+http://workers:30000"


class Dns:
    """A resolver whose answer can be changed; an exception is raised, None hangs."""

    def __init__(self, *addresses: str) -> None:
        self.answer: Sequence[str] | Exception | None = addresses
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer or ()

    async def refreshed(self) -> None:
        """Wait until an answer that was given after now has been applied."""
        count = len(self.asked)
        await eventually(lambda: len(self.asked) >= count + 2)


class Found(Counted):
    """A pool whose workers come from DNS; ``made`` are all workers that were made, by URL."""

    def __init__(self, dns: Dns, *static: Fake) -> None:
        self.made: dict[str, Fake] = {}
        self.script: tuple[Chunk | None, ...] = (DONE,)
        found = Discovery([NAME], seconds=0.001, make_worker=self.make, resolve=dns)
        super().__init__(*static, discovery=found)

    def make(self, url: str) -> Fake:
        if url == "http://bad:30000":
            raise ValueError("a bad URL")
        worker = Fake(url, *self.script)
        self.made[url] = worker
        return worker

    @property
    def names(self) -> list[str]:
        return sorted(member.name for member in self.pool.members)


@asynccontextmanager
async def found(dns: Dns, *static: Fake) -> AsyncIterator[Found]:
    made = Found(dns, *static)
    await made.pool.start()
    try:
        yield made
    finally:
        await made.pool.aclose()


def urls(*addresses: str) -> list[str]:
    return [f"http://{address}:30000" for address in addresses]


async def test_each_address_of_a_name_is_a_worker():
    dns = Dns("10.0.0.2", "10.0.0.1", "::1", "10.0.0.1")
    async with found(dns, Fake("static")) as made:
        assert made.names == sorted(["static", *urls("10.0.0.1", "10.0.0.2", "[::1]")])
        assert dns.asked[0] == ("workers", 30000)
        assert all(worker.started and worker.checks for worker in made.made.values())
    assert all(worker.closed for worker in made.made.values())


async def test_workers_come_and_go_with_their_addresses():
    dns = Dns("10.0.0.1")
    async with found(dns) as made:
        dns.answer = ["10.0.0.1", "10.0.0.2"]
        await eventually(lambda: made.names == urls("10.0.0.1", "10.0.0.2"))
        kept = made.pool.members[0]
        dns.answer = ["10.0.0.1"]
        await eventually(lambda: made.names == urls("10.0.0.1"))
        await eventually(lambda: made.made[urls("10.0.0.2")[0]].closed)
        assert made.pool.members == [kept], "the others are not replaced"
        assert made.removals == urls("10.0.0.2")
        assert await run(made.pool) == [DONE]


async def test_a_worker_whose_address_is_gone_finishes_its_answers():
    dns = Dns("10.0.0.1")
    async with found(dns) as made:
        old = made.made[urls("10.0.0.1")[0]]
        old.script = (Chunk((1,)), Chunk((2,)), DONE)
        chunks = chunks_of(made.pool)
        await anext(chunks)
        dns.answer = ["10.0.0.2"]
        await eventually(lambda: made.names == urls("10.0.0.2"))
        await dns.refreshed()
        assert await run(made.pool) == [DONE]
        assert (old.calls, old.closed) == (1, False)
        assert [chunk async for chunk in chunks] == [Chunk((2,)), DONE]
        await eventually(lambda: old.closed)


#: answers of a resolver that must not change anything
USELESS = [OSError("no such name"), UnicodeError("label too long"), ()]


@pytest.mark.parametrize("answer", USELESS, ids=repr)
async def test_a_failed_or_empty_resolution_keeps_the_workers_and_is_logged_once(
    answer: Exception | tuple[str, ...],
):
    dns = Dns("10.0.0.1")
    async with found(dns) as made:
        for failures in (1, 2):
            dns.answer = answer
            await dns.refreshed()
            await dns.refreshed()
            assert made.names == urls("10.0.0.1")
            assert made.log.events.count("resolution failed") == failures
            dns.answer = ["10.0.0.1"]
            await dns.refreshed()
            assert made.log.events.count("resolution works again") == failures


async def test_a_name_without_addresses_at_startup_is_unready_until_it_has_some():
    dns = Dns()
    async with found(dns) as made:
        assert (made.pool.status, made.pool.max_model_len) == ("unready", None)
        assert "top_k" in made.pool.supported_sampling, "no request is refused for its options"
        with pytest.raises(WorkerError, match="no worker takes requests") as caught:
            await run(made.pool)
        assert caught.value.status == 503
        dns.answer = ["10.0.0.1"]
        await eventually(lambda: made.pool.status == "ok")
        assert await run(made.pool) == [DONE]


async def test_startup_does_not_wait_for_a_resolver_that_hangs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FIRST_S", 0.01)
    dns = Dns()
    dns.answer = None
    async with found(dns) as made:
        assert made.pool.status == "unready"


async def test_a_worker_that_cannot_be_made_keeps_no_other_from_joining():
    dns = Dns("10.0.0.1", "bad")
    async with found(dns) as made:
        assert made.names == urls("10.0.0.1")
        await dns.refreshed()
        dns.answer = ["10.0.0.2"]
        await eventually(lambda: made.names == urls("10.0.0.2"))


async def test_a_name_has_no_more_workers_than_the_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_WORKERS", 3)
    async with found(Dns(*(f"10.0.0.{number}" for number in range(1, 9)))) as made:
        assert made.names == urls("10.0.0.1", "10.0.0.2", "10.0.0.3")


@pytest.mark.parametrize(
    ("url", "address", "expected"),
    [
        ("dns+http://w:1", "10.0.0.1", "http://10.0.0.1:1"),
        ("dns+http://w", "10.0.0.1", "http://10.0.0.1"),
        ("dns+http://w:1/base", "::1", "http://[::1]:1/base"),
        ("dns+http://u:p%40@w:1", "10.0.0.1", "http://u:p%40@10.0.0.1:1"),
    ],
)
def test_the_rest_of_the_url_is_kept(url: str, address: str, expected: str):
    assert url_of(url, address) == expected


async def test_the_real_resolver_knows_this_host_and_no_invalid_name():
    assert "127.0.0.1" in await addresses_of("localhost", 80) or "::1" in await addresses_of(
        "localhost", 80
    )
    with pytest.raises(OSError, match=r".*"):
        await addresses_of("name.invalid", 80)


@pytest.mark.parametrize("begun", [False, True])
async def test_a_pool_that_closes_also_closes_a_worker_that_is_just_leaving(begun: bool):
    """REGRESSION: a task that is cancelled before it began closes nothing."""
    worker = Fake("a", Chunk((1,)), None)
    pool = Pool([worker, Fake("b")])
    await pool.start()
    chunks = chunks_of(pool)
    await anext(chunks)
    pool.remove(pool.members[0])
    if begun:
        await asyncio.sleep(0)
    await pool.aclose()
    assert worker.closed
    await chunks.aclose()


async def test_a_pool_without_workers_needs_discovery():
    with pytest.raises(ValueError, match="at least one worker"):
        Pool([])
