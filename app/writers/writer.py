"""Writers: they turn the items of choices into the objects of one API.

A writer is made for one answer. The generation gives it the items in order, and closes an answer
with ``whole`` or ``end``, or with ``failed``.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..errors import ApiError
from ..generation import ChoiceItem

#: items of an answer, each with the number of its choice
Batch = Sequence[tuple[int, ChoiceItem]]


class WholeWriter(Protocol):
    """Writes one answer as one object."""

    def write(self, batch: Batch) -> None:
        """Add items."""

    async def whole(self) -> Mapping[str, Any]:
        """Return the object, after the last item."""


class EventWriter(Protocol):
    """Writes one answer as the events of a stream, encoded; each method may return none."""

    def begin(self) -> bytes:
        """Return the events before the first item."""

    def write(self, batch: Batch) -> bytes:
        """Return the events of these items."""

    async def end(self) -> bytes:
        """Return the events after the last item."""

    def failed(self, error: ApiError) -> bytes:
        """Return the last events of an answer that could not be finished."""
