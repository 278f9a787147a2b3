"""Log probabilities of the tokens of one choice's content.

A token is listed if at least one of its bytes is a byte of content that the client gets. Tokens are
listed once, in order, with the delta that has their first byte of content. Tokens of calls,
reasoning and marks are not listed, nor those that a stop string removes whole.

Representation   the tokens that no content has reached yet, each with its range in the answer's
                 bytes; the reader has the ranges of content (formats' TracedReader).
Cost             O(1) amortised per token and run; made only for requests that ask for it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adapters.formats import ContentDelta, Delta, TracedReader
from adapters.workers import Chunk, TokenLogprob
from engine import Event, Parser

from .foreign_parser import ForeignParser


class ContentToken(NamedTuple):
    """A token with its bytes; ``top``: of the most likely tokens, most likely first."""

    data: bytes
    logprob: float
    top: tuple[tuple[bytes, float], ...]


class _Waiting(NamedTuple):
    begin: int
    end: int
    token: int
    logprob: TokenLogprob


class ContentLogprobs:
    """See the file's header. ``tokens``: the bytes of each token."""

    def __init__(self, reader: TracedReader, tokens: Sequence[bytes]) -> None:
        self._reader = reader
        self._tokens = tokens
        self._waiting: deque[_Waiting] = deque()
        self._position = 0

    def feed(self, parser: Parser | ForeignParser, chunk: Chunk) -> list[Event]:
        """Feed the parser, and return its events."""
        events: list[Event] = []
        for token, logprob in zip(chunk.token_ids, chunk.logprobs, strict=True):
            shift = _shift(parser)
            events += parser.feed(token)
            begin = self._position
            self._position += len(self._tokens[token]) + _shift(parser) - shift
            if self._position > begin:
                self._waiting.append(_Waiting(begin, self._position, token, logprob))
        return events

    def of(self, deltas: Iterable[Delta]) -> list[list[ContentToken] | None]:
        """Return the tokens of each delta that is shown; None: the delta has no content."""
        return [
            self._listed(delta) if isinstance(delta, ContentDelta) else None for delta in deltas
        ]

    def _listed(self, delta: ContentDelta) -> list[ContentToken]:
        listed: list[ContentToken] = []
        waiting = self._waiting
        for begin, length in self._reader.take_runs(delta):
            while waiting and waiting[0].begin < begin + length:
                each = waiting.popleft()
                if each.end > begin:
                    listed.append(self._named(each))
        return listed

    def _named(self, each: _Waiting) -> ContentToken:
        top = tuple((self._tokens[number], logprob) for number, logprob in each.logprob.top)
        return ContentToken(self._tokens[each.token], each.logprob.logprob, top)


def _shift(parser: Parser | ForeignParser) -> int:
    return parser.shift if isinstance(parser, ForeignParser) else 0
