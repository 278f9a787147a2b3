"""A thread with a bounded queue, for optional work.

Invariants   I1 at most ``most`` calls wait or run; further calls are refused at once.
             I2 exceptions of calls are logged and do not end the thread.
Threads      ``submit`` from any thread; it never waits.
"""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any

_log = logging.getLogger(__name__)


class BoundedExecutor:
    """See the file's header.

    Args:
        name: of the thread.
        most: calls that may wait or run.
    """

    def __init__(self, name: str, most: int) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._room = BoundedSemaphore(most)

    def submit(self, call: Callable[..., Any], *arguments: Any) -> bool:
        """Queue the call; return False if the queue is full or the process is exiting."""
        if not self._room.acquire(blocking=False):
            return False
        try:
            self._thread.submit(self._run, call, *arguments)
        except RuntimeError:  # the process is exiting
            self._room.release()
            return False
        return True

    def wait(self) -> None:
        """Wait until all calls submitted so far are done."""
        self._thread.submit(int).result()

    def _run(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception:
            _log.exception("optional work failed")
        finally:
            self._room.release()
