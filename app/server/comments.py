"""Comments in silent streams: clients skip them, and proxies see traffic.

One sweep serves all streams of a process. A write costs an attribute, not a timer: each sweep
clears ``has_written``, and counts how often in a row it was not set.

Invariants   I1 a stream gets a comment after ``seconds`` of silence, at most an eighth later, and
                again after as many; 0: never.
             I2 none is added while bytes wait for the client.
Threads      the event loop only.
"""

import asyncio
from dataclasses import dataclass

from .body_writers import BodyWriter

#: sweeps within the seconds of silence
SWEEPS = 8


class Comments:
    """See the file's header."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._streams: set[_Stream] = set()
        self._is_sweeping = False

    def within(self, writer: BodyWriter, text: bytes) -> "_Stream":
        """Write ``text`` whenever the writer is silent within the block."""
        return _Stream(self, writer, text)

    def begin(self, stream: "_Stream") -> None:
        """Watch a stream. Called by streams."""
        if not self._seconds:
            return
        # the silence begins now, not at the last sweep
        stream.writer.has_written = True
        self._streams.add(stream)
        if not self._is_sweeping:
            self._sweep_later()

    def end(self, stream: "_Stream") -> None:
        """Watch a stream no longer. Called by streams."""
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


@dataclass(slots=True, eq=False)
class _Stream:
    """An open stream. ``silent``: sweeps since its last write."""

    comments: Comments
    writer: BodyWriter
    text: bytes
    silent: int = 0

    def __enter__(self) -> None:
        self.comments.begin(self)

    def __exit__(self, *_: object) -> None:
        self.comments.end(self)
