"""The fair queue: a bounded number of running generations, and jobs that wait for their turn.

A job is one request; it holds ``streams`` generations, one for each choice. The next job is that of
the highest priority class, in it of the client with the fewest running streams (max-min fairness),
and among those of the flow that has waited longest for a turn. A flow is the jobs of one client for
one model; its own jobs are in order.

If more jobs wait than allowed, the newest job of the client with the most waiting jobs in the
lowest class gives way (longest queue drop), so that no client can fill the queue for others.

Invariants       I1 running streams never exceed the bounds: in all, of a client, of a model.
                 I2 no job waits that could run: each call starts all jobs that may run. A job that
                    needs more streams than are free reserves them, so that smaller jobs cannot
                    delay it for ever.
                 I3 a job holds its streams from its start until ``remove``, which may be repeated.
Cost             O(waiting flows) per call.
Threads          one.
Not here         time, waiting and errors (admission).
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

#: "new": not submitted yet; "ended": removed, or evicted
JobState = Literal["new", "waiting", "running", "ended"]


@dataclass(eq=False, slots=True)
class Job:
    """A request; ``priority`` 0 is the highest class, ``client_bound`` limits its client."""

    client: str
    model: str
    streams: int = 1
    priority: int = 0
    client_bound: int | None = None
    state: JobState = "new"
    number: int = field(default=0, repr=False)


class FairQueue:
    """See the file's header. ``running``: streams that run; ``waiting``: jobs that wait.

    Args:
        running: maximum streams at once.
        waiting: maximum jobs that wait.
        model_bound: maximum streams of a model at once; None: no bound of its own.
    """

    def __init__(
        self,
        *,
        running: int,
        waiting: int,
        model_bound: Callable[[str], int | None] = lambda model: None,
    ) -> None:
        self._bound = running
        self._max_waiting = waiting
        self._model_bound = model_bound
        self.running = 0
        self._by_client: Counter[str] = Counter()
        self._by_model: Counter[str] = Counter()
        # per class: flows in the order of their turns
        self._flows: dict[int, OrderedDict[tuple[str, str], deque[Job]]] = {}
        # per class: waiting jobs by client
        self._queued: dict[int, Counter[str]] = {}
        self.waiting = 0
        self._submitted = 0

    def running_of(self, client: str) -> int:
        return self._by_client[client]

    def most_streams(self, model: str, client_bound: int | None) -> int:
        """Return the streams of the largest job that can ever run."""
        most, model_bound = self._bound, self._model_bound(model)
        if model_bound is not None and model_bound < most:
            most = model_bound
        return most if client_bound is None or client_bound > most else client_bound

    def would_refuse(self, client: str, priority: int, client_bound: int | None) -> bool:
        """Whether ``submit`` would refuse a job of one stream, whatever its model."""
        at_bound = client_bound is not None and self._by_client[client] >= client_bound
        if (self.running < self._bound and not at_bound) or self.waiting < self._max_waiting:
            return False
        lowest = max(self._queued, default=priority)
        if lowest != priority:
            return lowest < priority
        queued = self._queued.get(priority) or Counter()
        return queued[client] + 1 >= max(queued.values(), default=0)

    def submit(self, job: Job) -> tuple[Job | None, list[Job]]:
        """Add a job. Return the job that gives way if too many wait, maybe this one, and the jobs
        that run from now on.
        """
        self._submitted += 1
        job.number = self._submitted
        if (
            not self.waiting
            and self.running + job.streams <= self._bound
            and self._fits(job, set())
        ):
            # nothing else waits for a turn
            self._run(job)
            return None, [job]
        job.state = "waiting"
        flows = self._flows.setdefault(job.priority, OrderedDict())
        flows.setdefault((job.client, job.model), deque()).append(job)
        self._queued.setdefault(job.priority, Counter())[job.client] += 1
        self.waiting += 1
        started = self._start_all()
        if self.waiting <= self._max_waiting:
            return None, started
        evicted = self._victim(job)
        return evicted, started + self.remove(evicted)

    def remove(self, job: Job) -> list[Job]:
        """End a running job, or take a waiting one out. Return the jobs that run from now on."""
        if job.state == "running":
            self.running -= job.streams
            _subtract(self._by_client, job.client, job.streams)
            _subtract(self._by_model, job.model, job.streams)
        elif job.state == "waiting":
            self._dequeue(job)
        else:
            return []
        job.state = "ended"
        return self._start_all()

    # -- turns -------------------------------------------------------------------------------------
    def _start_all(self) -> list[Job]:
        started = []
        while self.waiting and self.running < self._bound:
            job = self._next()
            if job is None or self.running + job.streams > self._bound:
                break
            flow = (job.client, job.model)
            self._dequeue(job)
            if flow in self._flows.get(job.priority, ()):
                self._flows[job.priority].move_to_end(flow)
            self._run(job)
            started.append(job)
        return started

    def _run(self, job: Job) -> None:
        self.running += job.streams
        self._by_client[job.client] += job.streams
        self._by_model[job.model] += job.streams
        job.state = "running"

    def _next(self) -> Job | None:
        """Return the job whose turn it is; the streams of all bounds but the first are free."""
        held_back: set[tuple[str, str]] = set()
        for priority in sorted(self._flows):
            best, least = None, 0
            for jobs in self._flows[priority].values():
                job = jobs[0]
                held = self._by_client[job.client]
                if (best is None or held < least) and self._fits(job, held_back):
                    best, least = job, held
                    if not held:
                        break
            if best is not None:
                return best
        return None

    def _fits(self, job: Job, held_back: set[tuple[str, str]]) -> bool:
        """Whether client and model have streams left; if not, reserve those for this job."""
        client, model = ("client", job.client), ("model", job.model)
        if client in held_back or model in held_back:
            return False
        if not _within(job.client_bound, self._by_client[job.client] + job.streams):
            held_back.add(client)
            return False
        if not _within(self._model_bound(job.model), self._by_model[job.model] + job.streams):
            held_back.add(model)
            return False
        return True

    def _victim(self, newest: Job) -> Job:
        """Return the job that gives way to ``newest``, which waits already; maybe itself."""
        lowest = max(self._queued)
        queued = self._queued[lowest]
        most = max(queued.values())
        if lowest == newest.priority and queued[newest.client] >= most:
            return newest
        flows = self._flows[lowest].items()
        latest = (jobs[-1] for (client, _), jobs in flows if queued[client] == most)
        return max(latest, key=lambda job: job.number)

    def _dequeue(self, job: Job) -> None:
        flows, flow = self._flows[job.priority], (job.client, job.model)
        flows[flow].remove(job)
        if not flows[flow]:
            del flows[flow]
        if not flows:
            del self._flows[job.priority]
        _subtract(self._queued[job.priority], job.client, 1)
        if not self._queued[job.priority]:
            del self._queued[job.priority]
        self.waiting -= 1


def _within(bound: int | None, count: int) -> bool:
    return bound is None or count <= bound


def _subtract(counts: Counter[str], name: str, count: int) -> None:
    """Subtract, and drop a count of 0."""
    counts[name] -= count
    if not counts[name]:
        del counts[name]
