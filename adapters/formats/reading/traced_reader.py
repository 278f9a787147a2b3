"""A reader that also tells where content comes from, for log probabilities of content tokens.

Representation   for text and for JSON values each, a queue of runs: (begin in the answer's bytes,
                 length). The runs are the content in order, without bytes that are not content:
                 marks, dropped line feeds, white space between calls.
Invariants       I1 the runs of a kind have as many bytes as its ContentDeltas so far: the methods
                 that emit content, and no others, record its runs. A character that the answer's
                 end cuts becomes U+FFFD; its run then reaches past the end.
Cost             a tuple for each piece of content; readers without a trace pay nothing.
Not here         stop strings, which end the text: the rest of its runs stays in the queue.
"""

from collections import deque
from collections.abc import Iterable, Mapping

from ..parts import Role
from .deltas import ContentDelta
from .reader import Reader, TagWhitespace

Run = tuple[int, int]


class TracedReader(Reader):
    """See the file's header."""

    def __init__(
        self, roles: Mapping[str, Role], whitespace: TagWhitespace, taken_ids: Iterable[str] = ()
    ) -> None:
        super().__init__(roles, whitespace, taken_ids)
        self._text_runs: deque[Run] = deque()
        self._value_runs: deque[Run] = deque()
        #: of the white space in ``_gap``
        self._gap_runs: list[Run] = []
        #: the position of the next byte that is not decoded
        self._next = 0

    def take_runs(self, delta: ContentDelta) -> list[Run]:
        """Return the runs of a delta. Call it once for each ContentDelta that is shown, in order;
        its text may be a part of what the reader returned.
        """
        queue = self._value_runs if delta.is_value else self._text_runs
        left = len(delta.text.encode())
        taken: list[Run] = []
        while left:
            begin, length = queue.popleft()
            if length > left:
                queue.appendleft((begin + left, length - left))
                length = left
            taken.append((begin, length))
            left -= length
        return taken

    def _text(self, role: Role, data: bytes) -> None:
        if role.kind is not self._kind or role.region is not self._region:
            self._end_stretch()
            self._next = self._position - len(data)
        super()._text(role, data)

    def _route(self, text: str) -> None:
        self._next += len(text.encode())
        super()._route(text)

    def _unchanged(self, text: str, *, is_value: bool) -> None:
        queue = self._value_runs if is_value else self._text_runs
        size = len(text.encode())
        queue.append((self._next - size, size))
        super()._unchanged(text, is_value=is_value)

    def _content(self, text: str) -> None:
        if not self._gap:
            self._gap_runs.clear()
        if text:
            size = len(text.encode())
            self._gap_runs.append((self._next - size, size))
        super()._content(text)
        if self._gap is None:
            self._text_runs.extend(self._gap_runs)
            self._gap_runs.clear()
