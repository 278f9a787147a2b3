"""One piece of work that is done soon after it was asked for, on a thread of its own.

However often it is asked for meanwhile, it is done once; work that says there may be more is done
again after as long a pause.

Threads   ``ask`` from anywhere, and it never waits for the work. The thread ends when nothing is
          asked for, so that it holds nothing. It is a daemon: who needs the work done before the
          end does it himself.
"""

import threading
from collections.abc import Callable
from time import sleep


class Errand:
    """
    Args:
        work: returns whether to come back. It must not raise.
        pause_seconds: between asking and doing.
        name: of the thread.
    """

    def __init__(self, work: Callable[[], bool], *, pause_seconds: float, name: str) -> None:
        self._work = work
        self._pause_seconds = pause_seconds
        self._name = name
        self._is_asked = False
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()

    def ask(self) -> None:
        """Has it done; nothing happens where no thread is to be had."""
        thread = self._thread
        if self._is_asked and thread is not None and thread.is_alive():
            return
        with self._guard:
            self._is_asked = True
            if self._thread is not None and self._thread.is_alive():
                return
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            try:
                self._thread.start()
            except RuntimeError:
                self._thread = None

    def _run(self) -> None:
        while True:
            sleep(self._pause_seconds)
            self._is_asked = False
            if self._work():
                continue
            with self._guard:
                if not self._is_asked:
                    self._thread = None
                    return
