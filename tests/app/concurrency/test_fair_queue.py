"""The fair queue: bounds, turns, priorities, and which job gives way."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.concurrency.fair_queue import FairQueue, Job


class Jobs:
    """A queue with jobs by name; the first letter of a name is its client."""

    def __init__(self, running: int, waiting: int = 100, **bounds: int) -> None:
        self.bounds = bounds
        self.queue = FairQueue(running=running, waiting=waiting, model_bound=bounds.get)
        self.jobs: dict[str, Job] = {}
        self.order: list[str] = []

    def submit(
        self,
        name: str,
        streams: int = 1,
        *,
        model: str = "m",
        priority: int = 1,
        bound: int | None = None,
    ) -> str | None:
        """Submit a job; return the name of the evicted job, if any."""
        job = self.jobs[name] = Job(name[0], model, streams, priority, bound)
        evicted, started = self.queue.submit(job)
        self._note(started)
        return None if evicted is None else self.name(evicted)

    def end(self, name: str) -> list[str]:
        return self._note(self.queue.remove(self.jobs[name]))

    def name(self, job: Job) -> str:
        return next(name for name, each in self.jobs.items() if each is job)

    def _note(self, started: list[Job]) -> list[str]:
        names = [self.name(job) for job in started]
        self.order += names
        return names

    def drain(self) -> list[str]:
        """End running jobs, the oldest first, until none waits; return the order of starts."""
        ended: set[str] = set()
        while self.queue.waiting:
            first = next(name for name in self.order if name not in ended)
            ended.add(first)
            self.end(first)
        return self.order


def test_jobs_run_at_once_up_to_the_bound() -> None:
    jobs = Jobs(2)
    for name in ("a0", "b0", "c0"):
        assert jobs.submit(name) is None
    assert jobs.order == ["a0", "b0"]
    assert jobs.end("b0") == ["c0"]
    assert (jobs.queue.running, jobs.queue.waiting) == (2, 0)


def test_a_flooding_client_does_not_delay_the_next_one() -> None:
    jobs = Jobs(1)
    for number in range(5):
        jobs.submit(f"a{number}")
    jobs.submit("b0")
    jobs.submit("c0")
    assert jobs.drain() == ["a0", "a1", "b0", "c0", "a2", "a3", "a4"]


def test_a_client_that_asks_again_at_once_waits_for_the_turns_of_others() -> None:
    jobs = Jobs(1)
    for name in ("a0", "b0", "b1", "c0"):
        jobs.submit(name)
    assert jobs.end("a0") == ["b0"]
    jobs.submit("a1")
    assert jobs.end("b0") == ["c0"]
    assert jobs.end("c0") == ["b1"]
    assert jobs.end("b1") == ["a1"]


def test_a_client_with_fewer_running_streams_is_next() -> None:
    jobs = Jobs(3)
    for name in ("a0", "a1", "a2", "a3", "b0", "b1"):
        jobs.submit(name)
    assert jobs.end("a0") == ["b0"]
    assert jobs.end("a1") == ["a3"]  # a has one stream, as b has, and waited longer for a turn
    assert jobs.end("a2") == ["b1"]


@pytest.mark.parametrize("first", ["x", "a"])
def test_a_higher_class_is_first_whatever_its_client_holds(first: str) -> None:
    jobs = Jobs(1)
    jobs.submit(f"{first}0", priority=1)
    jobs.submit("c0", priority=2)
    jobs.submit("b0", priority=1)
    jobs.submit("a1", priority=0)
    assert jobs.drain() == [f"{first}0", "a1", "b0", "c0"]


def test_a_client_at_its_own_bound_does_not_hold_up_others() -> None:
    jobs = Jobs(3)
    for name in ("a0", "a1", "b0"):
        jobs.submit(name, bound=1)
    assert jobs.order == ["a0", "b0"]
    assert jobs.end("a0") == ["a1"]


def test_a_model_at_its_bound_does_not_hold_up_others() -> None:
    jobs = Jobs(9, m=1)
    jobs.submit("a0")
    jobs.submit("b0")
    jobs.submit("b1", model="other")
    assert jobs.order == ["a0", "b1"]
    assert jobs.end("a0") == ["b0"]


def test_a_large_job_reserves_what_becomes_free() -> None:
    jobs = Jobs(4)
    for number in range(4):
        jobs.submit(f"a{number}")
    jobs.submit("b0", streams=3)
    jobs.submit("c0")
    assert (jobs.end("a0"), jobs.end("a1")) == ([], [])
    assert jobs.end("a2") == ["b0"]
    assert jobs.end("a3") == ["c0"]


def test_a_large_job_reserves_streams_of_its_model() -> None:
    jobs = Jobs(9, m=2)
    for name in ("a0", "a1"):
        jobs.submit(name)
    jobs.submit("b0", streams=2)
    jobs.submit("c0")
    assert jobs.end("a0") == []
    assert jobs.end("a1") == ["b0"]


def test_a_large_job_that_leaves_gives_its_reservation_back() -> None:
    jobs = Jobs(2)
    for name in ("a0", "a1"):
        jobs.submit(name)
    jobs.submit("b0", streams=2)
    jobs.submit("c0")
    assert jobs.end("a0") == []
    assert jobs.end("b0") == ["c0"]


@pytest.mark.parametrize(
    ("waiting", "newcomer", "priority", "evicted"),
    [
        (["a1", "a2"], "b0", 1, "a2"),
        (["a1", "a2"], "a3", 1, "a3"),
        (["a1", "b0"], "c0", 1, "c0"),
        (["a1", "b0"], "c0", 0, "b0"),
        (["a1", "b0"], "c0", 2, "c0"),
        ([], "b0", 0, "b0"),
    ],
)
def test_the_newest_job_of_the_client_that_waits_most_gives_way(
    waiting: list[str], newcomer: str, priority: int, evicted: str
) -> None:
    jobs = Jobs(1, waiting=len(waiting))
    for name in ["a0", *waiting]:
        assert jobs.submit(name) is None
    refuses = jobs.queue.would_refuse(newcomer[0], priority, None)
    assert jobs.submit(newcomer, priority=priority) == evicted
    assert refuses is (evicted == newcomer)
    assert jobs.jobs[evicted].state == "ended"
    assert jobs.queue.waiting == len(waiting)


def test_a_full_queue_of_a_client_at_its_bound_refuses_only_that_client() -> None:
    jobs = Jobs(2, waiting=1)
    jobs.submit("a0", bound=1)
    jobs.submit("a1", bound=1)
    assert jobs.queue.would_refuse("a", 1, 1)
    assert not jobs.queue.would_refuse("b", 1, None)
    assert jobs.submit("a2", bound=1) == "a2"
    assert jobs.submit("b0") is None
    assert jobs.order == ["a0", "b0"]


CLIENTS = {"a": None, "b": 2, "c": 3}
MODELS = {"m": None, "n": 2}
BOUND, WAITING = 4, 5


class QueueMachine(RuleBasedStateMachine):
    """Any order of calls keeps the bounds and loses no stream."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = FairQueue(running=BOUND, waiting=WAITING, model_bound=MODELS.get)
        self.jobs: list[Job] = []

    @rule(
        client=st.sampled_from(sorted(CLIENTS)),
        model=st.sampled_from(sorted(MODELS)),
        streams=st.integers(1, BOUND),
        priority=st.integers(0, 2),
    )
    def submit(self, client: str, model: str, streams: int, priority: int) -> None:
        bound = CLIENTS[client]
        streams = min(streams, self.queue.most_streams(model, bound))
        job = Job(client, model, streams, priority, bound)
        refuses = self.queue.would_refuse(client, priority, bound)
        evicted, _ = self.queue.submit(job)
        self.jobs.append(job)
        assert not refuses or evicted is job
        assert evicted is None or evicted.state == "ended"

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.jobs))
        was = job.state
        started = self.queue.remove(job)
        assert job.state == "ended"
        assert was != "ended" or started == []
        assert all(each.state == "running" for each in started)

    def streams(self, **fields: str) -> int:
        return sum(
            job.streams
            for job in self.jobs
            if job.state == "running"
            and all(getattr(job, name) == value for name, value in fields.items())
        )

    @invariant()
    def counts_are_those_of_the_jobs(self) -> None:
        assert self.queue.running == self.streams()
        assert self.queue.waiting == sum(job.state == "waiting" for job in self.jobs)
        for client in CLIENTS:
            assert self.queue.running_of(client) == self.streams(client=client)

    @invariant()
    def bounds_hold(self) -> None:
        assert self.queue.running <= BOUND
        assert self.queue.waiting <= WAITING
        for client, bound in CLIENTS.items():
            assert bound is None or self.streams(client=client) <= bound
        for model, most in MODELS.items():
            assert most is None or self.streams(model=model) <= most

    @invariant()
    def nothing_waits_while_all_is_free(self) -> None:
        assert self.queue.running or not self.queue.waiting

    def teardown(self) -> None:
        """When all jobs have left, nothing is kept."""
        for job in self.jobs:
            self.queue.remove(job)
        assert (self.queue.running, self.queue.waiting) == (0, 0)
        kept = vars(self.queue)
        assert not any(kept[name] for name in ("_by_client", "_by_model", "_flows", "_queued"))


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
