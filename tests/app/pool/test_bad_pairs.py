"""One bad worker of two, of either half, over real sockets, as a table of faults.

No request fails before its first output while each side has a spare, no answer is wrong, and the
other half is free at once. The campaign in tests/campaigns/disaggregation sends requests through a
whole gateway, with more faults.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from adapters.workers import Bootstrap, Chunk, Generation, Half, SGLangWorker, Worker
from app.conversation.tokenizer import BuiltinTokenizer
from app.pool import HALF_PROBE, PairedPool, Pool
from tests.campaigns.disaggregation.faults import FAULTS, OF_HALVES
from tests.campaigns.disaggregation.halves import FakeHalf, Rooms
from tests.waiting import eventually

#: requests, and how many run at a time
REQUESTS, AT_ONCE = 12, 6
#: seconds: short, but longer than a busy machine stops a good worker
DEADLINE_S = 2.0
HALVES: tuple[Half, ...] = ("decode", "prefill")
OF_ANY = ("refuses connections", "status 500", "status 503", "closes at once", "stream ends")
CASES = [
    *((half, fault.name) for half, own in OF_HALVES.items() for fault in own),
    *((half, name) for half in HALVES for name in OF_ANY),
]


def meet(worker: Worker, room: int) -> Bootstrap:
    assert isinstance(worker, SGLangWorker)
    return worker.bootstrap(room)


class World:
    """Two workers of each half, and a pool of real clients."""

    def __init__(self, halves: Sequence[FakeHalf], pool: PairedPool, tokens: Sequence[bytes]):
        self.halves, self.pool, self._tokens = halves, pool, tokens

    async def ask(self, number: int) -> bytes:
        """Return the answer to a request."""
        text = b"number %d" % number
        ids = [self._tokens.index(bytes([byte])) for byte in text]
        got: list[int] = []

        def receive(chunk: Chunk) -> bool:
            got.extend(chunk.token_ids)
            return True

        asked = Generation(rid="r", prompt=ids, spec=None, max_tokens=60)
        await self.pool.generate(asked, lambda attempt: receive)
        return b"".join(self._tokens[number] for number in got[:-1])

    async def load(self) -> list[bytes]:
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(number: int) -> bytes:
            async with gate:
                return await self.ask(number)

        return list(await asyncio.gather(*(one(number) for number in range(REQUESTS))))

    @property
    def is_idle(self) -> bool:
        members = [member for side in self.pool.sides for member in side]
        return not any([half.open for half in self.halves] + [each.running for each in members])


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    vocabulary, rooms = BuiltinTokenizer().vocabulary, Rooms()
    halves = [FakeHalf(vocabulary, rooms, half) for half in HALVES for _ in range(2)]
    for half in halves:
        await half.listen()
    workers = [SGLangWorker(w.url, tokens=vocabulary.tokens, half=w.half) for w in halves]
    deadlines = {"first_token_seconds": DEADLINE_S, "token_seconds": DEADLINE_S}
    shared = {"health_seconds": 0.05, "probe": HALF_PROBE, **deadlines}
    prefill = Pool(workers[2:], **shared)  # type: ignore[arg-type]
    pool = PairedPool(workers[:2], prefill=prefill, meet=meet, **shared)
    await pool.start()
    yield World(halves, pool, vocabulary.tokens)
    await pool.aclose()
    for half in halves:
        await half.refuse()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("half", "name"), CASES)
async def test_requests_that_a_bad_worker_has_not_begun_are_answered_by_others(
    half: Half, name: str
):
    right = [b'{"n": %d}' % number for number in range(REQUESTS)]
    async with world() as made:
        bad = made.halves[HALVES.index(half) * 2]
        bad.fault = FAULTS[half, name]
        if not bad.fault.listens:
            await bad.refuse()
        assert await made.load() == right
        await eventually(lambda: made.is_idle)
        bad.fault = None
        await bad.listen()
        await eventually(lambda: made.pool.status == "ok")
        assert await made.load() == right
        await eventually(lambda: made.is_idle)
