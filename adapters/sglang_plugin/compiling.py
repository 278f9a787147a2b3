"""Compiles for SGLang: requests that need one grammar share one compile.

Representation   ``_under_way``: running compiles with the futures of waiting requests. Only the
                 compiler keeps grammars and refusals.
Invariants       cancelling one request's future leaves the others; cancelling the last one ends the
                 compile.
Threads          compile threads, and one thread for masks during the prefill, so that no compile
                 waits for masks. The scheduler calls ``known`` and ``start``, which never wait.
Not here         what is compiled (grammar_specs).
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from engine import Cancelled, Compiled, Compiler, Namespaces, WorkBudget

from .executor import BoundedExecutor
from .grammar_specs import GrammarSpec, compile_grammar, find_grammar
from .settings import Settings

#: grammars that wait for masks; with more, prefills would end before their turn
MAX_AHEAD = 8
#: masks of the first look-ahead during a prefill; each further one has twice as many
FIRST_LOOK = 4

#: makes a request's result from the grammar or the failure
Deliver = Callable[["Compiled | Exception"], Any]


@dataclass(slots=True, eq=False)
class _UnderWay:
    """One compile, and the futures of the requests that wait for it."""

    budget: WorkBudget
    waiting: list[tuple[Future[Any], Deliver]] = field(default_factory=list)

    def has_waiters(self) -> bool:
        return not all(future.cancelled() for future, _ in self.waiting)


class Compilations:
    """See the file's header."""

    def __init__(self, compilers: Namespaces[Compiler], settings: Settings) -> None:
        self._compilers = compilers
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.compile_threads, "switchyard-compile")
        self.prefill = BoundedExecutor("switchyard-prefill", MAX_AHEAD)
        self._guard = threading.Lock()
        self._under_way: dict[GrammarSpec, _UnderWay] = {}
        self.counts = {"compiles": 0, "compile_failures": 0, "shared_compiles": 0, "hits": 0}

    def known(self, spec: GrammarSpec) -> Compiled | None:
        """Return the grammar if its namespace's compiler still keeps it.

        Raises:
            SpecError, LimitExceeded: the compiler keeps a refusal of the spec.
        """
        compiler = self._compilers.kept(spec.namespace)
        found = None if compiler is None else find_grammar(compiler, spec)
        self.counts["hits"] += found is not None
        return found

    def start(self, spec: GrammarSpec, prompt_tokens: int, deliver: Deliver) -> Future[Any]:
        """Compile in a thread, which calls ``deliver`` for the future's result."""
        future: Future[Any] = Future()
        with self._guard:
            known = self._under_way.get(spec)
            work = known or _UnderWay(WorkBudget(self._compilers.shared.limits))
            work.waiting.append((future, deliver))
            self._under_way[spec] = work
            self.counts["shared_compiles"] += known is not None
        future.add_done_callback(lambda _: self._leave(spec, work))
        if known is None:
            self._pool.submit(self._run, spec, work, prompt_tokens)
        return future

    def _leave(self, spec: GrammarSpec, work: _UnderWay) -> None:
        """End a compile that no request waits for."""
        with self._guard:
            if work.has_waiters():
                return
            work.budget.cancel()
            self._end(spec, work)

    # -- in the pool -------------------------------------------------------------------------------
    def _run(self, spec: GrammarSpec, work: _UnderWay, prompt_tokens: int) -> None:
        with self._guard:
            if not work.has_waiters():
                self._end(spec, work)
                return
        made = self._compile(spec, work.budget)
        with self._guard:
            waiting = self._end(spec, work)
        for future, deliver in waiting:
            if future.set_running_or_notify_cancel():
                _settle(future, deliver, made)
        if isinstance(made, Compiled):
            self.prefill.submit(self._prepare, made, prompt_tokens)

    def _compile(self, spec: GrammarSpec, budget: WorkBudget) -> Compiled | Exception:
        try:
            made: Compiled | Exception = compile_grammar(
                self._compilers.of(spec.namespace), spec, budget
            )
        except Cancelled as error:
            return error
        except Exception as error:  # delivered to the waiting requests
            made = error
        self.counts["compiles" if isinstance(made, Compiled) else "compile_failures"] += 1
        return made

    def _prepare(self, compiled: Compiled, prompt_tokens: int) -> None:
        """Compute masks while the model reads the prompt; a longer prompt allows more time."""
        settings = self._settings
        budget_ms = min(
            settings.prefill_most_ms, settings.prefill_us_per_token * prompt_tokens / 1000
        )
        if budget_ms <= 0:
            return
        end = time.perf_counter() + budget_ms / 1000
        look = FIRST_LOOK
        made = compiled.prepare(look)
        while made and time.perf_counter() < end:
            look *= 2
            made = compiled.prepare(look)

    # -- under the guard ---------------------------------------------------------------------------
    def _end(self, spec: GrammarSpec, work: _UnderWay) -> list[tuple[Future[Any], Deliver]]:
        """Return the waiting futures; a later request starts a new compile. The work drops the
        futures, so that a delivered grammar lives as long as its requests.
        """
        if self._under_way.get(spec) is work:
            del self._under_way[spec]
        waiting, work.waiting = work.waiting, []
        return waiting


def _settle(future: Future[Any], deliver: Deliver, made: Compiled | Exception) -> None:
    try:
        future.set_result(deliver(made))
    except Exception as error:
        future.set_exception(error)
