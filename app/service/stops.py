"""Stop strings in the content of an answer.

They are searched for in the text that clients see as content, and nowhere else: a stop string never
cuts reasoning or a call, whose arguments would be no JSON then.

Representation   the content that may still belong to a stop string is held back, as bytes.
Invariants       I1 nothing of a stop string, and nothing behind it, is handed on. I2 a call or
                 reasoning between two stretches of content ends the search in the first one.
"""

from collections.abc import Iterable, Sequence

from adapters.formats import ContentDelta, Delta
from adapters.workers import StopStrings


class ContentStops:
    """Cuts one answer at its first stop string. ``hit``: it came; nothing follows."""

    def __init__(self, stops: Sequence[str]) -> None:
        self.hit = False
        self._search = StopStrings(stops)
        self._held = b""

    def cut(self, deltas: Iterable[Delta]) -> list[Delta]:
        """The deltas that may be shown by now."""
        shown: list[Delta] = []
        for delta in deltas:
            if self.hit:
                break
            if isinstance(delta, ContentDelta):
                shown += self._content(delta.text.encode())
            else:
                shown += [*self.flush(), delta]
        return shown

    def flush(self) -> list[Delta]:
        """The content held back, at the end of a stretch of it."""
        held, self._held = self._held, b""
        self._search.reset()
        return _content(held)

    def _content(self, data: bytes) -> list[Delta]:
        found = self._search.feed(data)
        self.hit = found is not None
        behind = self._search.held if found is None else found.trim
        data = self._held + data
        end = len(data) - behind
        self._held = b"" if self.hit else data[end:]
        return _content(data[:end])


def _content(data: bytes) -> list[Delta]:
    return [ContentDelta(data.decode())] if data else []
