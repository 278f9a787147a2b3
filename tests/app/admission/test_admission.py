"""Admission: every way in has one way out, and every refusal is counted."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.workers import Chunk
from app.access.client import Client
from app.admission.admission import Admission, Ticket
from app.admission.rate_limits import MemoryLimiter
from app.concurrency.fair_queue import FairQueue
from app.errors import ApiError
from app.observability.metrics import Metrics
from app.observability.request_record import RequestRecord
from tests.app.gateway import PATIENCE

ANYONE = Client("anyone")


class Gate:
    """An Admission with counters at hand."""

    def __init__(self, running: int = 1, waiting: int = 9, seconds: float = PATIENCE) -> None:
        self.metrics = Metrics()
        self.limiter = MemoryLimiter(clock=lambda: 0.0)
        self.queue = FairQueue(running=running, waiting=waiting)
        self.admission = Admission(self.queue, self.limiter, self.metrics, queue_seconds=seconds)

    async def entered(self, client: Client = ANYONE, **more: Any) -> Ticket:
        ticket = Ticket(self.admission, client, RequestRecord("r"))
        await ticket.charge(0)
        await ticket.enter("m", **{"streams": 1, **more})
        return ticket

    def start(self, client: Client = ANYONE, **more: Any) -> "asyncio.Task[Ticket]":
        return asyncio.create_task(self.entered(client, **more))

    async def waits(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.queue.waiting != count:
                await asyncio.sleep(0)

    def refused(self, reason: str) -> float:
        name = "switchyard_admission_refused_total"
        return self.metrics.registry.get_sample_value(name, {"reason": reason}) or 0.0


async def refusal(work: Any) -> tuple[int, str | None]:
    with pytest.raises(ApiError) as caught:
        await work
    if caught.value.status in (429, 503):
        assert int(caught.value.headers["Retry-After"]) >= 1
    return caught.value.status, caught.value.code


async def test_a_ticket_frees_its_streams_once() -> None:
    gate = Gate(running=3)
    first, second = await gate.entered(streams=2), await gate.entered()
    waiting = gate.start()
    await gate.waits(1)
    first.close()
    first.close()
    third = await waiting
    assert gate.admission.stats() == {"running": 2, "waiting": 0}
    for ticket in (second, third):
        ticket.close()
    assert gate.admission.stats() == {"running": 0, "waiting": 0}


async def test_a_waiting_request_that_is_cancelled_leaves_the_queue() -> None:
    gate = Gate()
    running, gone, next_one = await gate.entered(), gate.start(), gate.start()
    await gate.waits(2)
    gone.cancel()
    await asyncio.wait([gone])
    assert gate.queue.waiting == 1
    running.close()
    (await next_one).close()
    assert gate.queue.running == 0


async def test_a_request_that_is_cancelled_in_its_turn_loses_no_stream() -> None:
    """The turn comes, and before the task runs again, it is cancelled."""
    gate = Gate()
    running, gone, next_one = await gate.entered(), gate.start(), gate.start()
    await gate.waits(2)
    running.close()
    assert gate.queue.running == 1
    gone.cancel()
    (await next_one).close()
    assert gone.cancelled()
    assert gate.admission.stats() == {"running": 0, "waiting": 0}


async def test_the_deadline_of_the_queue_is_a_503() -> None:
    gate = Gate(seconds=0.01)
    running = await gate.entered()
    assert await refusal(gate.entered()) == (503, "overloaded")
    assert gate.refused("queue_timeout") == 1
    assert gate.queue.waiting == 0
    running.close()
    (await gate.entered()).close()


async def test_a_key_at_its_own_bound_gets_429() -> None:
    gate = Gate(running=9, seconds=0.01)
    client = Client("c", max_running=2)
    tickets = [await gate.entered(client) for _ in range(2)]
    assert await refusal(gate.entered(client)) == (429, "rate_limit_exceeded")
    assert gate.refused("key_max_running") == 1
    for ticket in tickets:
        ticket.close()


async def test_a_full_queue_refuses_before_the_body_is_read() -> None:
    gate = Gate(waiting=0)
    running = await gate.entered()
    assert await refusal(Ticket(gate.admission, ANYONE, RequestRecord("r")).charge(0)) == (
        503,
        "overloaded",
    )
    assert gate.refused("queue_full") == 1
    running.close()


async def test_a_request_that_gives_way_is_refused_and_the_other_is_next() -> None:
    gate = Gate(waiting=2)
    running, flood, others = await gate.entered(), Client("flood"), Client("other")
    waiting = [gate.start(flood) for _ in range(2)]
    await gate.waits(2)
    other = gate.start(others)
    assert await refusal(waiting[1]) == (503, "overloaded")
    running.close()
    (await waiting[0]).close()
    (await other).close()
    assert gate.admission.stats() == {"running": 0, "waiting": 0}


async def test_a_higher_class_is_served_first() -> None:
    gate = Gate()
    running, order = await gate.entered(), list[str]()

    async def run(client: Client) -> None:
        ticket = await gate.entered(client)
        order.append(client.id)
        ticket.close()

    clients = [Client("low", priority="low"), Client("normal"), Client("high", priority="high")]
    tasks = [asyncio.create_task(run(client)) for client in clients]
    await gate.waits(3)
    running.close()
    await asyncio.gather(*tasks)
    assert order == ["high", "normal", "low"]


@pytest.mark.parametrize(
    ("client", "streams", "error"),
    [
        (Client("c", max_running=2), 3, (400, "integer_above_max_value")),
        (ANYONE, 5, (400, "integer_above_max_value")),
    ],
)
async def test_a_request_that_can_never_run_does_not_wait(
    client: Client, streams: int, error: tuple[int, str]
) -> None:
    gate = Gate(running=4)
    assert await refusal(gate.entered(client, streams=streams)) == error
    assert gate.admission.stats() == {"running": 0, "waiting": 0}


# -- limits ----------------------------------------------------------------------------------------


async def test_a_limit_per_minute_is_a_429_with_headers() -> None:
    gate, headers = Gate(), dict[str, str]()
    client = Client("c", requests_per_minute=1)
    await Ticket(gate.admission, client, RequestRecord("r")).charge(0)
    error = await refusal(Ticket(gate.admission, client, RequestRecord("r"), headers).charge(0))
    assert error == (429, "rate_limit_exceeded")
    assert headers["x-ratelimit-remaining-requests"] == "0"
    assert gate.refused("requests_per_minute") == 1


async def tokens_left(gate: Gate, client: Client) -> int:
    await asyncio.sleep(0)  # the settlement runs in the background
    return round((await gate.limiter.charge(client, 0)).tokens)


@pytest.mark.parametrize(
    ("size", "runs", "chunks", "charged"),
    [
        # refused before it ran: the estimate is given back
        (400, False, [], 0),
        # the worker's counts replace the estimate
        (400, True, [Chunk((1, 2), None, 30), Chunk((3,), "stop", 30)], 33),
        # two choices have one prompt
        (400, True, [Chunk((1,), "stop", 30), Chunk((1,), "stop", 30)], 32),
        # the client left before the first token
        (400, True, [], 100),
        (401, True, [Chunk((1,), None, 0)], 102),
    ],
)
async def test_tokens_are_settled_at_the_end(
    size: int, runs: bool, chunks: list[Chunk], charged: int
) -> None:
    gate, client = Gate(), Client("c", tokens_per_minute=1000)
    ticket = Ticket(gate.admission, client, RequestRecord("r"))
    await ticket.charge(size)
    if runs:
        await ticket.enter("m", 1, size)
    for chunk in chunks:
        ticket.record.count(chunk)
    for _ in range(2):
        ticket.close()
    assert await tokens_left(gate, client) == 1000 - charged


async def test_media_count_no_tokens() -> None:
    """They are known when the body has been read; what is left is an estimate until the end."""
    gate, client = Gate(), Client("c", tokens_per_minute=1000)
    ticket = Ticket(gate.admission, client, RequestRecord("r"))
    await ticket.charge(4000)
    assert await tokens_left(gate, client) == 0
    ticket.count_off(3600)
    assert await tokens_left(gate, client) == 900
    await ticket.enter("m", 1, 4000)
    ticket.close()
    assert await tokens_left(gate, client) == 900


async def test_answers_may_leave_a_debt_that_later_requests_wait_for() -> None:
    gate, client = Gate(), Client("c", tokens_per_minute=10)
    ticket = await gate.entered(client)
    ticket.record.count(Chunk(tuple(range(50)), "stop", 5))
    ticket.close()
    assert await tokens_left(gate, client) == -45
    assert await refusal(gate.entered(client)) == (429, "rate_limit_exceeded")
    await gate.admission.aclose()


# -- any order of events ---------------------------------------------------------------------------

EVENTS = st.one_of(
    st.tuples(st.just("start"), st.sampled_from("abc"), st.integers(1, 3)),
    st.tuples(st.just("finish"), st.integers(0, 9), st.none()),
    st.tuples(st.just("cancel"), st.integers(0, 9), st.none()),
    st.tuples(st.just("step"), st.none(), st.none()),
)
CLIENTS = {
    "a": Client("a", max_running=3),
    "b": Client("b", priority="high"),
    "c": Client("c"),
}


@given(st.lists(EVENTS, max_size=40))
def test_no_order_of_starts_ends_and_cancellations_loses_a_place(events: list[Any]) -> None:
    """Requests close their tickets at their end, as the middleware does."""

    async def play() -> None:
        gate = Gate(running=4, waiting=3)
        tasks: list[asyncio.Task[None]] = []
        ends: list[asyncio.Event] = []

        async def request(client: Client, streams: int, end: asyncio.Event) -> None:
            ticket = Ticket(gate.admission, client, RequestRecord("r"))
            try:
                await ticket.charge(0)
                await ticket.enter("m", streams)
                await end.wait()
            except ApiError:
                return
            finally:
                ticket.close()

        for kind, what, streams in events:
            if kind == "start":
                ends.append(asyncio.Event())
                tasks.append(asyncio.create_task(request(CLIENTS[what], streams, ends[-1])))
            elif kind == "step":
                await asyncio.sleep(0)
            elif what < len(tasks):
                if kind == "cancel":
                    tasks[what].cancel()
                else:
                    ends[what].set()
            assert gate.queue.running <= 4
            assert gate.queue.waiting <= 3
        for end in ends:
            end.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert all(task.cancelled() or task.exception() is None for task in tasks)
        assert gate.admission.stats() == {"running": 0, "waiting": 0}
        assert gate.admission._turns == {}

    asyncio.run(play())
