"""One piece of work that is done soon after it was asked for, on a thread of its own.

However often it is asked for meanwhile, it is done once; it is done again after as long a pause
while it says that there may be more, and for some time after it was asked for last.

Cost      while the thread runs, asking is to set one flag and look at another: compiles ask.
Threads   ``ask`` from anywhere, and it never waits for the work. The thread ends when nothing is
          asked for, so that it holds nothing. A fork has none of its parent's, which each errand
          is told of at the fork: asking shall not have to look. It is a daemon: who needs the work
          done before the end does it himself.
"""

import os
import threading
from collections.abc import Callable
from time import monotonic, sleep
from weakref import WeakSet


class Errand:
    """
    Args:
        work: returns whether to come back. It must not raise.
        pause_seconds: between asking and doing.
        linger_seconds: for which it is done again and again after it was asked for.
        name: of the thread.
    """

    def __init__(
        self,
        work: Callable[[], bool],
        *,
        pause_seconds: float,
        linger_seconds: float = 0.0,
        name: str,
    ) -> None:
        self._work = work
        self._pause_seconds = pause_seconds
        self._linger_seconds = linger_seconds
        self._name = name
        self._is_asked = False
        self._is_running = False
        self._guard = threading.Lock()
        _ALL.add(self)

    def ask(self) -> None:
        """Has it done; nothing happens where no thread is to be had."""
        # in this order: a thread that is about to end looks whether it is asked for after it has
        # said that it does
        self._is_asked = True
        if not self._is_running:
            self._start()

    def _start(self) -> None:
        with self._guard:
            if self._is_running:
                return
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._is_running = True
            try:
                thread.start()
            except RuntimeError:
                self._is_running = False
            except BaseException:
                self._is_running = False
                raise

    def _run(self) -> None:
        try:
            self._work_until_the_end()
        except BaseException:
            self._is_running = False
            raise

    def _work_until_the_end(self) -> None:
        until = 0.0
        while True:
            sleep(self._pause_seconds)
            if self._is_asked:
                self._is_asked = False
                until = monotonic() + self._linger_seconds
            if not self._work() and monotonic() >= until and self._ends():
                return

    def _ends(self) -> bool:
        """Whether nobody has asked meanwhile; who asks from now on starts another thread."""
        with self._guard:
            # said before looking, see ``ask``
            self._is_running = False
            self._is_running = is_asked = self._is_asked
            return not is_asked

    def begin_anew(self) -> None:
        """In a fork, which has no thread of its parent's."""
        self._is_running = False
        self._guard = threading.Lock()


_ALL: "WeakSet[Errand]" = WeakSet()


def _begin_anew() -> None:
    for errand in _ALL:
        errand.begin_anew()


os.register_at_fork(after_in_child=_begin_anew)
