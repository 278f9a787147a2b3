"""Stop strings in the content of an answer.

Only text that clients see as content is searched. A stop string never cuts reasoning, a JSON value
or a call, whose arguments would then be no JSON.

Representation   content that may still become a stop string is held back, as bytes.
Invariants       I1 the content of an answer contains no stop string and nothing behind one.
                 I2 nothing is held back across a call or a thought: the part of a stop string
                 before it is shown.
"""

from collections.abc import Iterable, Sequence

from adapters.formats import ContentDelta, Delta
from adapters.workers import StopStrings


class ContentStops:
    """Cut the content of one answer at its first stop string.

    ``may_end``: the answer ends there too; otherwise only its text does, since a call or a value
    must still follow. ``ended_by``: the stop string that ended the answer.
    """

    def __init__(self, stops: Sequence[str], *, may_end: bool = True) -> None:
        self.ended_by: str | None = None
        self._may_end = may_end
        self._is_over = False
        self._has_stops = bool(stops)
        self._search = StopStrings(stops)
        self._held = b""

    @property
    def any(self) -> bool:
        """Whether there are stop strings."""
        return self._has_stops

    @property
    def hit(self) -> bool:
        """Whether the answer has ended."""
        return self.ended_by is not None

    def cut(self, deltas: Iterable[Delta]) -> list[Delta]:
        """Return the deltas that may be shown now."""
        if not self._has_stops:
            return list(deltas)
        shown: list[Delta] = []
        for delta in deltas:
            if self.hit:
                break
            if isinstance(delta, ContentDelta) and not delta.is_value:
                shown += [] if self._is_over else self._content(delta.text.encode())
            else:
                shown += [*self.flush(), delta]
        return shown

    def flush(self) -> list[Delta]:
        """Return the content that was held back, at the end of a stretch of content."""
        held, self._held = self._held, b""
        return _content(held)

    def _content(self, data: bytes) -> list[Delta]:
        found = self._search.feed(data)
        self._is_over = found is not None
        if found is not None and self._may_end:
            self.ended_by = found.text
        behind = self._search.held if found is None else found.trim
        data = self._held + data
        # a part of it may have been shown before a call
        end = max(0, len(data) - behind)
        self._held = b"" if self._is_over else data[end:]
        return _content(data[:end])


def _content(data: bytes) -> list[Delta]:
    return [ContentDelta(data.decode())] if data else []
