"""Comments in silent streams: clients skip them, and proxies see traffic.

One sweep serves all streams of a process. A write costs an attribute, not a timer: each sweep
clears ``has_written``, and counts how often in a row it was not set.

Invariants   I1 a stream gets a comment after ``seconds`` of silence, at most an eighth later, and
                again after as many; 0: never.
             I2 none is added while bytes wait for the client.
Threads      the event loop only.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .body_writers import BodyWriter

#: sweeps within the seconds of silence
SWEEPS = 8


@dataclass(slots=True, eq=False)
class _Stream:
    """An open stream. ``silent``: sweeps since its last write."""

    writer: BodyWriter
    text: bytes
    silent: int = 0


class Comments:
    """See the file's header."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._streams: set[_Stream] = set()
        self._is_sweeping = False

    @contextmanager
    def within(self, writer: BodyWriter, text: bytes) -> Iterator[None]:
        """Write ``text`` whenever the writer is silent meanwhile."""
        if not self._seconds:
            yield
            return
        stream = _Stream(writer, text)
        # the silence begins now, not at the last sweep
        writer.has_written = True
        self._streams.add(stream)
        if not self._is_sweeping:
            self._sweep_later()
        try:
            yield
        finally:
            self._streams.discard(stream)

    def _sweep_later(self) -> None:
        self._is_sweeping = True
        asyncio.get_running_loop().call_later(self._seconds / SWEEPS, self._sweep)

    def _sweep(self) -> None:
        for stream in tuple(self._streams):
            writer = stream.writer
            if writer.has_written:
                writer.has_written, stream.silent = False, 0
                continue
            stream.silent += 1
            if stream.silent >= SWEEPS and not writer.is_full:
                writer.write(stream.text)
                writer.has_written, stream.silent = False, 0
        # the timer is not stopped with the last stream: another one follows soon on a busy gateway
        self._is_sweeping = False
        if self._streams:
            self._sweep_later()
