"""Compilations for SGLang: one for all requests that wait for a grammar, and a look-up after.

Representation   ``_known``: what was compiled lately, by what was wanted, weakly: how long a
                 grammar is kept is the compiler's business, which counts its bytes.
                 ``_under_way``: each compilation that somebody waits for, with their futures.
Invariants       I1 a failure is not remembered here: the next request asks the compiler again,
                    which knows what it has refused.
                 I2 cancelling one request's future leaves the others'; cancelling the last one ends
                    the compilation.
                 I3 the texts kept stay below ``grammar_text_bytes``.
Threads          a pool that compiles, and a line for masks ahead, so that no compilation waits for
                 masks; ``known`` and ``start`` are the scheduler's, and do not wait.
Not here         what is compiled (requests).
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any
from weakref import ref

from engine import Cancelled, Compiled, Compiler, WorkBudget

from .executor import BoundedExecutor
from .requests import Wanted, compile_wanted
from .settings import Settings

#: grammars that wait for their masks ahead; beyond them a prefill is over before its turn comes
MOST_AHEAD = 8
#: masks of the first look ahead during a prefill; each look is twice as far
FIRST_LOOK = 4

#: what a request gets of a compilation, made of the grammar or of what went wrong
Deliver = Callable[["Compiled | Exception"], Any]


@dataclass(slots=True, eq=False)
class _UnderWay:
    """One compilation, and those who wait for it."""

    budget: WorkBudget
    waiting: list[tuple[Future[Any], Deliver]] = field(default_factory=list)

    def is_wanted(self) -> bool:
        return not all(future.cancelled() for future, _ in self.waiting)


class Compilations:
    """See the file's header."""

    def __init__(self, compiler: Compiler, settings: Settings) -> None:
        self._compiler = compiler
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.compile_threads, "switchyard-compile")
        self.ahead = BoundedExecutor("switchyard-prefill", MOST_AHEAD)
        self._guard = threading.Lock()
        self._known: OrderedDict[Wanted, ref[Compiled]] = OrderedDict()
        self._text_bytes = 0
        self._under_way: dict[Wanted, _UnderWay] = {}
        self.counts = {"compiles": 0, "compile_failures": 0, "shared_compiles": 0, "hits": 0}

    def known(self, wanted: Wanted) -> Compiled | None:
        """The grammar, if it is there and may still be used."""
        with self._guard:
            found = self._known.get(wanted)
            compiled = None if found is None else found()
            if compiled is None:
                self._forget(wanted)
            else:
                self._known.move_to_end(wanted)
                self.counts["hits"] += 1
                self._compiler.note_use(compiled)
            return compiled

    def start(self, wanted: Wanted, prompt_tokens: int, deliver: Deliver) -> Future[Any]:
        """Compiles; ``deliver`` makes the future's result, in a thread of the pool."""
        future: Future[Any] = Future()
        with self._guard:
            known = self._under_way.get(wanted)
            work = known or _UnderWay(WorkBudget(self._compiler.limits))
            work.waiting.append((future, deliver))
            self._under_way[wanted] = work
            self.counts["shared_compiles"] += known is not None
        future.add_done_callback(lambda _: self._leave(wanted, work))
        if known is None:
            self._pool.submit(self._run, wanted, work, prompt_tokens)
        return future

    def _leave(self, wanted: Wanted, work: _UnderWay) -> None:
        """Ends a compilation that nobody waits for any more."""
        with self._guard:
            if work.is_wanted():
                return
            work.budget.cancel()
            self._end(wanted, work)

    def clear(self) -> None:
        """Forgets what was compiled."""
        with self._guard:
            self._clear()

    # -- in the pool -------------------------------------------------------------------------------
    def _run(self, wanted: Wanted, work: _UnderWay, prompt_tokens: int) -> None:
        with self._guard:
            if not work.is_wanted():
                self._end(wanted, work)
                return
        made = self._compile(wanted, work.budget)
        with self._guard:
            waiting = self._end(wanted, work)
            if isinstance(made, Compiled):
                self._remember(wanted, made)
        for future, deliver in waiting:
            if future.set_running_or_notify_cancel():
                _settle(future, deliver, made)
        if isinstance(made, Compiled):
            self.ahead.submit(self._prepare, made, prompt_tokens)

    def _compile(self, wanted: Wanted, budget: WorkBudget) -> Compiled | Exception:
        try:
            made: Compiled | Exception = compile_wanted(self._compiler, wanted, budget)
        except Cancelled as error:
            return error
        except Exception as error:  # whatever it is, those who wait must hear of it
            made = error
        self.counts["compiles" if isinstance(made, Compiled) else "compile_failures"] += 1
        return made

    def _prepare(self, compiled: Compiled, prompt_tokens: int) -> None:
        """Masks ahead, while the model reads the prompt: the longer that takes, the more."""
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
    def _end(self, wanted: Wanted, work: _UnderWay) -> list[tuple[Future[Any], Deliver]]:
        """Take the waiting futures; a later request starts the work anew. The work drops its
        futures, so a delivered grammar lives as long as its requests.
        """
        if self._under_way.get(wanted) is work:
            del self._under_way[wanted]
        waiting, work.waiting = work.waiting, []
        return waiting

    def _clear(self) -> None:
        self._known.clear()
        self._text_bytes = 0

    def _remember(self, wanted: Wanted, compiled: Compiled) -> None:
        self._forget(wanted)
        self._known[wanted] = ref(compiled)
        self._text_bytes += getsizeof(wanted.text)
        while self._known and (
            len(self._known) > self._settings.grammars
            or self._text_bytes > self._settings.grammar_text_bytes
        ):
            self._forget(next(iter(self._known)))

    def _forget(self, wanted: Wanted) -> None:
        if self._known.pop(wanted, None) is not None:
            self._text_bytes -= getsizeof(wanted.text)


def _settle(future: Future[Any], deliver: Deliver, made: Compiled | Exception) -> None:
    try:
        future.set_result(deliver(made))
    except Exception as error:
        future.set_exception(error)
