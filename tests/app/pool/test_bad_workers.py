"""One bad worker of two or three, over real sockets, as a table of faults.

Before its first output, other workers answer its requests. After it, only the answers that it had
begun fail. The others are never at fault, and it is readmitted when it is well. The campaign in
tests/campaigns/workers sends more requests through a whole gateway, with more faults.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import get_args

import pytest

from adapters.workers import Chunk, FailureReason, Generation, SGLangWorker, WorkerError
from app.conversation.tokenizer import BuiltinTokenizer
from app.pool import health_checks, member, recovery
from app.pool.policies import make_policy
from app.pool.recovery import Observer
from app.pool.worker_pool import Pool
from app.settings import ModelSettings
from app.settings.model import PolicyName
from engine import Vocabulary
from tests.campaigns.workers.fake import FakeWorker, Fault, Reply
from tests.campaigns.workers.faults import FAULTS
from tests.waiting import eventually

#: requests, and how many run at a time
REQUESTS, AT_ONCE = 40, 8
#: seconds: short, but longer than a busy machine stops a good worker
DEADLINE_S = 2.0

BEFORE = [
    *(
        "status 500",
        "status 503",
        "status 500, garbage",
        "a web page",
        "not HTTP",
        "closes at once",
    ),
    *("informational answers without end", "headers without end", "white space without end"),
    *("stream comments without end", "stream events without tokens"),
    *("refuses connections", "never answers", "half a head", "stream hangs", "stream resets"),
    *("stream garbage event", "stream id out of range", "stream ends", "stream closes"),
]
MIDWAY = [
    f"mid-answer {what}"
    for what in ("closes", "resets", "hangs", "ends", "garbage event", "id out of range")
] + ["mid-answer comments without end", "mid-answer lost tokens", "mid-answer error event"]


@dataclass
class World:
    """A pool of real clients, the first of whose servers can be made bad."""

    vocabulary: Vocabulary
    servers: Sequence[FakeWorker]
    pool: Pool
    failures: set[tuple[str, FailureReason]]
    errors: list[Exception] = field(default_factory=list)

    async def ask(self, number: int) -> None:
        """Send one request, and keep its error; an answer must be the right one."""
        text = b"number %d" % number
        ids = [self.vocabulary.tokens.index(bytes([byte])) for byte in text]
        asked = Generation(rid="r", prompt=ids, spec=None, max_tokens=60)
        got: list[int] = []

        def receive(chunk: Chunk) -> bool:
            got.extend(chunk.token_ids)
            return True

        try:
            await self.pool.generate(asked, lambda attempt: receive)
        except WorkerError as error:
            self.errors.append(error)
            return
        answer = b"".join(self.vocabulary.tokens[number] for number in got[:-1])
        assert answer == b'{"n": %d}' % number

    async def load(self) -> None:
        numbers = iter(range(REQUESTS))

        async def client() -> None:
            for number in numbers:
                await self.ask(number)

        await asyncio.gather(*(client() for _ in range(AT_ONCE)))

    async def spoil(self, fault: Fault) -> None:
        self.servers[0].fault = fault
        if not fault.listens:
            await self.servers[0].refuse()

    async def cure(self) -> None:
        """Make the worker well, and wait until it is readmitted and has answered a request."""
        self.servers[0].fault = None
        await self.servers[0].listen()
        await eventually(lambda: self.pool.status == "ok")
        answers = self.servers[0].answers
        while self.servers[0].answers == answers:
            await asyncio.gather(*(self.ask(number) for number in range(AT_ONCE)))

    @property
    def at_fault(self) -> set[str]:
        return {name for name, _ in self.failures}


@asynccontextmanager
async def world(count: int, policy: PolicyName = "least-load") -> AsyncIterator[World]:
    vocabulary = BuiltinTokenizer().vocabulary
    servers = [FakeWorker(vocabulary) for _ in range(count)]
    for server in servers:
        await server.listen()
    workers = [SGLangWorker(server.url, tokens=vocabulary.tokens) for server in servers]
    failures: set[tuple[str, FailureReason]] = set()
    pool = Pool(
        workers,
        health_seconds=0.05,
        first_token_seconds=DEADLINE_S,
        token_seconds=DEADLINE_S,
        policy=make_policy(policy),
        observer=Observer(on_failure=lambda name, reason: failures.add((name, reason))),
    )
    await pool.start()
    yield World(vocabulary, servers, pool, failures)
    await pool.aclose()
    for server in servers:
        await server.refuse()


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", BEFORE)
async def test_requests_that_a_bad_worker_has_not_begun_are_answered_by_others(
    name: str, count: int
):
    async with world(count) as made:
        await made.spoil(FAULTS[name])
        await made.load()
        assert made.errors == []
        assert made.at_fault == {made.pool.members[0].name}
        await made.cure()
        assert made.errors == []


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", MIDWAY)
async def test_only_the_answers_that_a_bad_worker_had_begun_fail(name: str, count: int):
    async with world(count) as made:
        await made.spoil(FAULTS[name])
        await made.load()
        assert made.errors, "a client that saw text gets an error, not a second beginning"
        assert len(made.errors) <= made.servers[0].attempts
        assert made.at_fault == {made.pool.members[0].name}
        await made.cure()
        assert made.at_fault == {made.pool.members[0].name}


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("policy", get_args(PolicyName))
async def test_under_every_policy_others_answer_for_a_bad_worker(policy: PolicyName):
    async with world(3, policy) as made:
        await made.spoil(FAULTS["status 500"])
        await made.load()
        assert made.at_fault == {made.pool.members[0].name}
        await made.cure()
        assert made.errors == []


async def slowly(reply: Reply) -> None:
    """Ten milliseconds for each token; the fake closes the connection after any fault."""
    await reply.raw(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
        b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    )
    for made in range(1, len(reply.ids)):
        await asyncio.sleep(0.01)
        await reply.event(reply.state(reply.ids[:made]))
    await reply.event(reply.state(reply.ids, {"type": "stop", "matched": reply.ids[-1]}))
    await reply.piece(b"data: [DONE]\n\n")
    await reply.end()


@pytest.mark.parametrize("count", [2, 3])
async def test_a_slow_worker_is_not_ejected_and_gets_fewer_requests(count: int):
    async with world(count) as made:
        await made.spoil(Fault("slow", "before", slowly))
        await made.load()
        assert (made.errors, made.failures, made.pool.status) == ([], set(), "ok")
        assert made.servers[0].attempts < min(server.answers for server in made.servers[1:])


def test_a_worker_that_is_well_again_is_readmitted_within_ten_seconds():
    """The longest ways to a readmission: a probe that hangs, and a health check that hangs."""
    assert recovery.PROBE_S + member.BACKOFF_MAX_S < 10
    checks = max(health_checks.HEALTH_DEADLINE_S, ModelSettings().worker_health_seconds)
    assert checks + member.BACKOFF_S < 10
