"""Stop strings in the bytes of tokens, exact across token boundaries.

Representation   for each stop string the length of its longest prefix at the end of the text (the
                 automaton of Knuth, Morris and Pratt), and the tokens held back: (ids, number of
                 bytes).
Invariants       I1 the stop string that is complete first wins; of two complete at one byte the
                    longer one.
                 I2 a token is released when none of its bytes can belong to a stop string, so
                    released tokens are final.
Cost             O(1) amortised per byte and stop string; none without stop strings.
Not here         stop tokens (the grammar's), limits on number and length of stop strings (the
                 app's).
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple


class Hit(NamedTuple):
    """The stop string that ended a text. ``trim``: bytes from its beginning to the text's end."""

    text: str
    trim: int


class StopStrings:
    """Finds the first complete stop string in a stream of bytes. Stop feeding it after a hit."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [(stop, stop.encode("utf-8", "surrogatepass")) for stop in stops]
        if any(not stop for stop in stops):
            raise ValueError("a stop string must not be empty")
        self._failures = [_failures(word) for _, word in self._stops]
        self._matched = [0] * len(self._stops)

    @property
    def held(self) -> int:
        """Return the number of bytes at the end of the text that may begin a stop string."""
        return max(self._matched, default=0)

    def reset(self) -> None:
        """Begin a new text."""
        self._matched = [0] * len(self._stops)

    def feed(self, data: bytes) -> Hit | None:
        for position, byte in enumerate(data if self._stops else b"", 1):
            if hit := self._step(byte):
                text, length = hit
                return Hit(text, length + len(data) - position)
        return None

    def _step(self, byte: int) -> tuple[str, int] | None:
        found: tuple[str, int] | None = None
        for n, (text, word) in enumerate(self._stops):
            matched, failures = self._matched[n], self._failures[n]
            while matched and word[matched] != byte:
                matched = failures[matched - 1]
            matched += word[matched] == byte
            if matched == len(word):
                if found is None or matched > found[1]:
                    found = (text, matched)
                matched = failures[-1]
            self._matched[n] = matched
        return found


def _failures(word: bytes) -> list[int]:
    """Return, for each prefix, the length of its longest proper prefix that is also a suffix."""
    failures, matched = [0] * len(word), 0
    for n in range(1, len(word)):
        while matched and word[matched] != word[n]:
            matched = failures[matched - 1]
        matched += word[matched] == word[n]
        failures[n] = matched
    return failures


class StopGate:
    """Holds tokens back while they may belong to a stop string.

    ``push`` takes tokens with their bytes and returns the released ids. Once ``hit`` is set,
    ``flush`` returns the others; the last ``hit.trim`` bytes of the text are the stop string and
    the rest of its last token.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = StopStrings(stops)
        self._open: deque[tuple[tuple[int, ...], int]] = deque()
        self._open_bytes = 0
        self.hit: Hit | None = None

    def push(self, ids: tuple[int, ...], data: bytes) -> tuple[int, ...]:
        self.hit = self._stops.feed(data)
        self._open.append((ids, len(data)))
        self._open_bytes += len(data)
        if self.hit is not None:
            return ()
        released: tuple[int, ...] = ()
        while self._open and self._open_bytes - self._open[0][1] >= self._stops.held:
            ids, size = self._open.popleft()
            self._open_bytes -= size
            released += ids
        return released

    def flush(self) -> tuple[int, ...]:
        rest = tuple(number for ids, _ in self._open for number in ids)
        self._open.clear()
        self._open_bytes = 0
        return rest
