"""One thread with a bounded queue before it: work that may as well be left undone.

Invariants   I1 at most ``most`` calls wait or run; what comes beyond is refused at once.
             I2 what a call raises is logged, and the thread lives on.
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
        """Has it called, in its turn; False where there is no room, or the process ends."""
        if not self._room.acquire(blocking=False):
            return False
        try:
            self._thread.submit(self._run, call, *arguments)
        except RuntimeError:  # the process ends
            self._room.release()
            return False
        return True

    def wait(self) -> None:
        """Until all that was submitted so far is done."""
        self._thread.submit(int).result()

    def _run(self, call: Callable[..., Any], *arguments: Any) -> None:
        try:
            call(*arguments)
        except Exception:
            _log.exception("work ahead of time failed")
        finally:
            self._room.release()
