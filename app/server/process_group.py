"""The parent of several equal gateway processes: it starts, restarts and stops them.

    start      all processes at once. One that ends before it serves ends the group; so does an
               unusable setting, which is reported once.
    restart    a process that ends later starts again, at once at first, then with a growing delay.
    stop       SIGTERM and SIGINT are passed on, so that every process drains. A process that does
               not end in time is killed.
    failure    if the parent itself fails, it stops and, if necessary, kills every process before
               its exception goes on.

Processes are forked: what the parent has loaded is theirs as well, in the same memory.

Invariants   I1 the parent has no event loop, no threads of its own and no connections: a fork would
                copy their locks.
             I2 a process whose parent ends drains, too: it reads the end of a pipe.
Threads      the main thread only.
Not here     what a process does (cli.serve).
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import FrameType
from typing import Any

from ..observability import Logger
from ..settings import SettingError

#: seconds until a process is started again; doubles with every end in a row
BACKOFF_S = 0.5
BACKOFF_MAX_S = 30.0
#: seconds of service after which an end counts as the first one
STEADY_S = 60.0
#: seconds beyond the longest shutdown of a process until it is killed
KILL_S = 10.0
#: ends of a process that a signal stopped: uvicorn raises the signal again
STOPPED = (0, -signal.SIGTERM, -signal.SIGINT)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)

_fork = get_context("fork")


class ProcessLink:
    """A process's side of the group: what it reports, and the parent's end."""

    def __init__(self, report: Connection, parent: int) -> None:
        self._report = report
        #: a file descriptor that becomes readable when the parent has ended
        self.parent = parent

    def serving(self) -> None:
        """Report that the process accepts connections."""
        self._report.send(None)

    def unusable(self, error: SettingError) -> None:
        """Report the setting that keeps the process from starting."""
        self._report.send(str(error))


@dataclass(slots=True)
class _Slot:
    """One place of the group. ``failures``: ends in a row; ``due``: when to start it again."""

    number: int
    process: ForkProcess | None = None
    report: Connection | None = None
    serving_since: float | None = None
    failures: int = 0
    due: float = 0.0


class ProcessGroup:
    """See the file's header.

    Args:
        run: what a process does: its number and its link in, its exit status out.
        on_end: called with the number of each process that has ended.
        shutdown_s: the longest shutdown of a process, in seconds.
    """

    def __init__(
        self,
        count: int,
        run: Callable[[int, ProcessLink], int],
        *,
        on_end: Callable[[int], None],
        shutdown_s: float,
        logger: Logger,
    ) -> None:
        self._slots = [_Slot(number) for number in range(count)]
        self._run_process = run
        self._on_end = on_end
        self._shutdown_s = shutdown_s
        self._logger = logger
        self._has_served = False
        self._failed = False
        self._kill_at: float | None = None
        self.signal: int | None = None
        self.setting_error: str | None = None

    def run(self) -> int:
        """Run the group to its end; return the exit status. Then ``signal`` is the signal that
        ended it, and ``setting_error`` the message of an unusable setting.
        """
        alive, self._alive = os.pipe()
        try:
            with _wakeup() as wakeup:
                for slot in self._slots:
                    self._start(slot, alive)
                while self._is_busy:
                    self._wait(wakeup)
                    self._collect()
                    self._start_due(alive)
        except BaseException:
            self._end_all()
            raise
        finally:
            os.close(alive)
            os.close(self._alive)
        return 1 if self._failed else 0

    @property
    def _is_busy(self) -> bool:
        is_running = any(slot.process is not None for slot in self._slots)
        return is_running or self._kill_at is None

    # -- processes ---------------------------------------------------------------------------------
    def _start(self, slot: _Slot, alive: int) -> None:
        slot.report, theirs = _fork.Pipe(duplex=False)
        slot.serving_since = None
        slot.process = _fork.Process(target=self._child, args=(slot.number, theirs, alive))
        # a signal to the new process must not meet the parent's handlers there
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        slot.process.start()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def _child(self, number: int, report: Connection, alive: int) -> None:
        """Run in the new process."""
        signal.set_wakeup_fd(-1)
        for name in _SIGNALS:
            signal.signal(name, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.close(self._alive)
        raise SystemExit(self._run_process(number, ProcessLink(report, alive)))

    def _wait(self, wakeup: socket.socket) -> None:
        """Wait for a signal, a report, an end, or the next start."""
        waited: list[Any] = [wakeup]
        times = [] if self._kill_at is None else [self._kill_at]
        for slot in self._slots:
            if slot.process is None:
                times += [slot.due] if self._kill_at is None else []
                continue
            waited.append(slot.process.sentinel)
            if slot.report is not None:
                waited.append(slot.report)
        seconds = max(0.0, min(times) - time.monotonic()) if times else None
        if wakeup in wait(waited, seconds):
            self.signal = max(wakeup.recv(64))
            # a terminal sends SIGINT to every process, and the second one ends it at once
            is_hurried = self.signal == signal.SIGINT and self._kill_at is not None
            self._stop(signal.SIGINT if is_hurried else signal.SIGTERM)
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._kill()

    def _collect(self) -> None:
        for slot in self._slots:
            if slot.report is not None and slot.report.poll():
                self._read(slot)
            if slot.process is not None and slot.process.exitcode is not None:
                self._end(slot, slot.process.exitcode)

    def _read(self, slot: _Slot) -> None:
        assert slot.report is not None
        try:
            error = slot.report.recv()
        except (EOFError, OSError):
            error = None
        else:
            if error is None:
                slot.serving_since = time.monotonic()
                self._has_served = True
        slot.report.close()
        slot.report = None
        if error is not None and not self._has_served:
            self.setting_error = self.setting_error or error
        elif error is not None:
            self._logger.error("process cannot start", process=slot.number, reason=error)

    def _end(self, slot: _Slot, status: int) -> None:
        assert slot.process is not None
        slot.process.close()
        slot.process = None
        self._on_end(slot.number)
        if self._kill_at is not None:
            self._failed |= status not in STOPPED
            return
        if not self._has_served:
            self._failed = True
            self._stop()
            return
        since, now = slot.serving_since, time.monotonic()
        is_steady = since is not None and now - since >= STEADY_S
        slot.failures = 1 if is_steady else slot.failures + 1
        delay = 0.0
        if slot.failures > 1:
            delay = min(BACKOFF_MAX_S, BACKOFF_S * 2.0 ** min(slot.failures - 2, 16))
        slot.due = now + delay
        self._logger.error("process ended", process=slot.number, status=status, restart_s=delay)

    def _start_due(self, alive: int) -> None:
        if self._kill_at is not None:
            return
        for slot in self._slots:
            if slot.process is None and slot.due <= time.monotonic():
                self._start(slot, alive)

    # -- end ---------------------------------------------------------------------------------------
    def _stop(self, number: int = signal.SIGTERM) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + self._shutdown_s + KILL_S
        for slot in self._slots:
            if slot.process is not None and slot.process.pid is not None:
                os.kill(slot.process.pid, number)

    def _end_all(self) -> None:
        """Stop every process, and kill those that do not end in time. Without it, the interpreter
        would wait at its end for a process that hangs.
        """
        running = [slot.process for slot in self._slots if slot.process is not None]
        for process in running:
            process.terminate()
        until = time.monotonic() + self._shutdown_s + KILL_S
        for process in running:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
            process.join()

    def _kill(self) -> None:
        for slot in self._slots:
            if slot.process is not None:
                self._logger.error("process killed: it did not stop", process=slot.number)
                slot.process.kill()
        self._kill_at = time.monotonic() + KILL_S


@contextmanager
def _wakeup() -> Iterator[socket.socket]:
    """Yield a socket that receives the number of each signal, in place of the signals' actions."""

    def ignore(number: int, frame: FrameType | None) -> None:
        pass

    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.setblocking(False)
        before = signal.set_wakeup_fd(theirs.fileno())
        handlers = {name: signal.signal(name, ignore) for name in _SIGNALS}
        try:
            yield ours
        finally:
            signal.set_wakeup_fd(before)
            for name, handler in handlers.items():
                signal.signal(name, handler)
