"""Worker processes under a watchdog: a case that hangs or ends its worker costs that worker only.

The parent sends a case; the worker answers with the name of each phase (text) and at last with the
outcome. A phase that lasts longer than the deadline ends the worker, and a new one takes its place.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import connection

import engine
from tests.vocabularies import VOCABULARIES

from .cases import Case, Outcome, run_case

#: seconds of one phase of a case
DEADLINE = 10.0
#: bytes of one worker's address space: a case that wants more fails, and the machine goes on
MAX_MEMORY = 6 << 30
#: cases that one compiler meets, so that later ones meet what earlier ones left in its caches
CASES_OF_ONE_COMPILER = 200
#: phases in which the engine has no part
NOT_OURS = frozenset({"judge"})

Serve = Callable[[connection.Connection], None]
_CONTEXT = multiprocessing.get_context("spawn")


def serve(pipe: connection.Connection) -> None:
    """A worker's life: cases in, phases and outcomes out, until the pipe closes."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    compilers: dict[str, engine.Compiler] = {}
    served = 0
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        if served % CASES_OF_ONE_COMPILER == 0:
            compilers.clear()
        served += 1
        if case.vocabulary not in compilers:
            pipe.send("prepare")
            compilers[case.vocabulary] = engine.Compiler(VOCABULARIES[case.vocabulary]())
        pipe.send(run_case(compilers[case.vocabulary], case, pipe.send))


class Worker:
    """One process, and the case that it has."""

    def __init__(self, serves: Serve) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=serves, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self.case: Case | None = None
        self._enter("prepare")

    def _enter(self, phase: str) -> None:
        self._phase, self._since = phase, time.monotonic()

    def give(self, case: Case) -> None:
        self.case = case
        self._enter("prepare")
        self.pipe.send(case)

    def outcome(self) -> Outcome | None:
        """That of the case, if the worker told it or died; call it when the pipe has something."""
        try:
            told = self.pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            outcome = Outcome(result="died")
            outcome.find("died", f"{self._phase}: exit code {self._process.exitcode}")
            return outcome
        if not isinstance(told, str):
            return told
        self._enter(told)
        return None

    def overdue(self, deadline: float) -> Outcome | None:
        """The outcome of a case whose phase lasts too long; the worker must be ended."""
        seconds = time.monotonic() - self._since
        if self.case is None or seconds < (deadline if self._phase != "prepare" else 60):
            return None
        outcome = Outcome(result=f"hang in {self._phase}")
        if self._phase in NOT_OURS:
            outcome.counts["schemas not judged"] += 1
        else:
            outcome.find("hang", f"{self._phase}: over {deadline:g} s")
        return outcome

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


class Workers:
    """So many workers. Use it as a context manager: at its end they are ended."""

    def __init__(self, jobs: int, serves: Serve = serve) -> None:
        self._serves = serves
        self._workers = [Worker(serves) for _ in range(jobs)]

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.end()

    def outcomes(
        self, cases: Iterable[Case], deadline: float = DEADLINE
    ) -> Iterator[tuple[Case, Outcome]]:
        """The outcome of each case, as they come."""
        waiting = iter(cases)
        for worker in self._workers:
            hand_next(worker, waiting)
        while busy := {worker.pipe: worker for worker in self._workers if worker.case}:
            ready = set(connection.wait(list(busy), timeout=0.2))
            for pipe, worker in busy.items():
                outcome = worker.outcome() if pipe in ready else worker.overdue(deadline)
                if outcome is None:
                    continue
                case, worker.case = worker.case, None
                if pipe not in ready or outcome.result == "died":
                    worker = self._replaced(worker)
                hand_next(worker, waiting)
                assert case is not None
                yield case, outcome

    def _replaced(self, worker: Worker) -> Worker:
        worker.end()
        self._workers[self._workers.index(worker)] = made = Worker(self._serves)
        return made


def hand_next(worker: Worker, waiting: Iterator[Case]) -> None:
    case = next(waiting, None)
    if case is not None:
        worker.give(case)
