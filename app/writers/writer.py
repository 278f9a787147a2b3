"""Writers: they turn the items of choices into the objects of one API.

A writer is made for one answer. The generation gives it the items in order, and closes an answer
with ``whole`` or ``end``, or with ``failed``.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from adapters.formats import TextDelta

from ..errors import ApiError
from ..generation import Batch, ChoiceDeltas
from .events import DONE, event


class WholeWriter(Protocol):
    """Writes one answer as one object."""

    def write(self, batch: Batch) -> object:
        """Add items."""

    async def whole(self) -> Mapping[str, Any]:
        """Return the object, after the last item."""


class EventWriter(Protocol):
    """Writes one answer as the events of a stream, encoded; each method may return none."""

    def begin(self) -> bytes:
        """Return the events before the first item."""

    def write(self, batch: Batch) -> bytes:
        """Return the events of these items."""

    def text_encoder(self, number: int, delta: TextDelta) -> Callable[[str], bytes]:
        """Return what writes more text that adds to a delta of a choice."""
        return lambda text: self.write(((number, ChoiceDeltas([replace(delta, text=text)])),))

    async def end(self) -> bytes:
        """Return the events after the last item."""

    def failed(self, error: ApiError) -> bytes:
        """Return the last events of an answer that could not be finished."""


class ChunkEvents(EventWriter):
    """The events of a completion whose last one is [DONE]. With ``include_usage`` each chunk has
    the key ``usage``, and a last one has the numbers.
    """

    def __init__(self, *, include_usage: bool) -> None:
        self._include_usage = include_usage

    def begin(self) -> bytes:
        """Return nothing: the first item begins a choice."""
        return b""

    def encode(self, chunks: Sequence[Mapping[str, Any]]) -> bytes:
        """Return the events of these chunks."""
        return b"".join(event(self.extended(chunk)) for chunk in chunks)

    def extended(self, chunk: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a chunk with the keys that all of them have."""
        return {**chunk, "usage": None} if self._include_usage else chunk

    @abstractmethod
    def counted(self) -> Mapping[str, Any]:
        """Return the chunk of the usage."""

    async def end(self) -> bytes:
        """Return the chunk of the usage, if it was asked for, and [DONE]."""
        return (event(self.counted()) if self._include_usage else b"") + DONE

    def failed(self, error: ApiError) -> bytes:
        """Return the error as the last event."""
        return event(error.body())
