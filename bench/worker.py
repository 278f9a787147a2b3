"""A process with one engine, which may be killed if a task is too slow or too large.

A task is a function of a module: ``task(engine, loaded, *more)``, with pickled arguments and
results. It returns a value, or is a generator whose parts are sent at once; the limit in seconds
applies to each part. A task that exceeds a limit is killed, and the next one gets a fresh process.
No limit includes the setup of the engine.
"""

import multiprocessing
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from multiprocessing.connection import Connection
from types import GeneratorType
from typing import Any, NamedTuple, Protocol

from .engines import ENGINES, Engine
from .vocabularies import Loaded, load

OK, TIME_OUT, DIED, FAILED = "ok", "time-outs", "died", "failed"


class Setup(NamedTuple):
    """``options``: arguments of the engine's constructor besides the vocabulary."""

    engine: str
    vocabulary: str
    options: dict[str, Any] = {}  # noqa: RUF012

    def make(self) -> tuple[Engine, Loaded]:
        loaded = load(self.vocabulary)
        return ENGINES[self.engine](loaded, **self.options), loaded


class Bounds(NamedTuple):
    """Limits: ``seconds`` of a task or a part of it; ``bytes`` of the process's address space."""

    seconds: float = 15.0
    bytes: int = 8 << 30

    def long(self) -> "Bounds":
        """Return limits for tasks with hundreds of cases in each part."""
        return self._replace(seconds=10 * self.seconds)


class Outcome(NamedTuple):
    """``status``, and the result of a task or the list of its parts."""

    status: str
    value: Any = None


class Runner(Protocol):
    """``seconds``: the limit of a task."""

    seconds: float

    def run(self, task: Callable[..., Any], *more: Any) -> Outcome: ...


class Here:
    """Runs tasks in this process without a limit."""

    seconds = float("inf")

    def __init__(self, setup: Setup) -> None:
        self.engine, self.loaded = setup.make()

    def run(self, task: Callable[..., Any], *more: Any) -> Outcome:
        value = task(self.engine, self.loaded, *more)
        return Outcome(OK, list(value) if isinstance(value, GeneratorType) else value)


def _answers(made: tuple[Engine, Loaded], task: Callable[..., Any], more: Any) -> Iterable[Any]:
    try:
        value = task(*made, *more)
        if isinstance(value, GeneratorType):
            for part in value:
                yield "part", part
            value = []
        yield OK, value
    except BaseException as error:  # an engine's panic is no Exception
        print(f"{type(error).__name__}: {str(error)[:300]}", file=sys.stderr)
        yield FAILED, traceback.format_exc()


def _serve(pipe: Connection, setup: Setup, most_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))
    load(setup.vocabulary)
    import_module(ENGINES[setup.engine].library_name)
    start = time.perf_counter()
    made = setup.make()
    pipe.send(time.perf_counter() - start)
    while (asked := pipe.recv()) is not None:
        for answer in _answers(made, *asked):
            pipe.send(answer)


class Worker:
    """Runs tasks in another process.

    ``setup_seconds``: of the latest start, from the import of the engine and the vocabulary to the
    first grammar.
    """

    def __init__(self, setup: Setup, bounds: Bounds) -> None:
        self._setup, self._bounds, self.seconds = setup, bounds, bounds.seconds
        self._process: Any = None
        self.setup_seconds = 0.0

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (theirs, self._setup, self._bounds.bytes)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        theirs.close()
        try:
            self.setup_seconds = self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"{self._setup.engine} did not start; see above") from None

    def run(self, task: Callable[..., Any], *more: Any) -> Outcome:
        if self._process is None:
            self._start()
        self._pipe.send((task, more))
        parts: list[Any] = []
        while True:
            status, value = self._receive()
            if status != "part":
                break
            parts.append(value)
        if status in (TIME_OUT, DIED):
            self._end()
        return Outcome(status, parts or value if status == OK else parts)

    def _receive(self) -> tuple[str, Any]:
        if not self._pipe.poll(self._bounds.seconds):
            return TIME_OUT, None
        try:
            return self._pipe.recv()
        except EOFError:
            return DIED, None

    def _end(self) -> None:
        self._process.kill()
        self._process.join()
        self._pipe.close()
        self._process = None

    def close(self) -> None:
        if self._process is not None:
            self._end()


@contextmanager
def workers(setups: dict[str, Setup], bounds: Bounds) -> Iterator[dict[str, Worker]]:
    """Workers, one for each setup, which start at their first task and end together."""
    with ExitStack() as stack:
        made = {name: Worker(setup, bounds) for name, setup in setups.items()}
        for worker in made.values():
            stack.callback(worker.close)
        yield made
