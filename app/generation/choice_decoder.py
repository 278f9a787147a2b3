"""The choice decoder: a worker's chunks in, the deltas of one choice out.

    chunk -> token ids -> the engine's parser -> events -> the format's reader -> deltas -> stops

The grammar that constrained the model also parses what it wrote. Output that does not parse is
therefore a bug here, or of a worker that ignored the grammar: the answer ends as an error, which
metrics count.

Invariant    an answer that a stop token ended is a whole word of its grammar.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from adapters.formats import Delta, Reader, TextDelta, ToolStart
from adapters.text_path import TextPath, TokenCounts, TokenStarts
from adapters.workers import Chunk
from engine import ParseDivergence, Parser

from .content_logprobs import ContentLogprobs, ContentToken
from .content_stops import ContentStops
from .foreign_parser import ForeignParser

#: "stop": a stop token or a stop string; "length": the output limit
Finish = Literal["stop", "length"]


@dataclass(slots=True)
class ChoiceDeltas:
    """The deltas of one chunk; may be empty. ``logprobs``: by delta, the tokens of its content;
    None if they were not asked for.
    """

    deltas: list[Delta]
    logprobs: list[list[ContentToken] | None] | None = None


@dataclass(frozen=True, slots=True)
class ChoiceEnd:
    """How a choice ended, and its token counts."""

    finish: Finish
    prompt_tokens: int
    completion_tokens: int
    #: whether the choice contains a tool call
    called: bool
    #: prompt tokens that the worker had cached
    cached_tokens: int
    #: completion tokens that begin inside a thought, its marks included
    reasoning_tokens: int
    #: the stop string that ended it
    stop_text: str | None = None


ChoiceItem = ChoiceDeltas | ChoiceEnd


class ChoiceDecoder:
    """The decoder of one choice.

    Args:
        tokens: the bytes of each token.
        logprobs: of the content, if they were asked for; made for the same reader.
    """

    def __init__(
        self,
        parser: Parser | ForeignParser,
        reader: Reader,
        stops: ContentStops,
        tokens: Sequence[bytes],
        logprobs: ContentLogprobs | None = None,
    ) -> None:
        self._parser = parser
        self._reader = reader
        self._stops = stops
        self._tokens = tokens
        self._logprobs = logprobs
        self._called = False
        self._starts = TokenStarts()
        self._path: TextPath | None = None

    def text_path(self, counts: TokenCounts) -> TextPath | None:
        """Return a path for the plain text of this choice; None: there is none, since each of its
        tokens has a log probability, its text is searched for stop strings, or it is not parsed.

        ``counts``: of the request.
        """
        if isinstance(self._parser, Parser) and self._logprobs is None and not self._stops.any:
            self._path = TextPath(self._parser, self._starts, counts)
        return self._path

    def next_text(self) -> TextDelta | None:
        """Return the delta, still empty, to which plain text adds now; None: text may be more."""
        node = self._parser.text_node() if isinstance(self._parser, Parser) else None
        return None if node is None else self._reader.next_text(node)

    @property
    def translate(self) -> Callable[[str], str] | None:
        """Return what makes the delta's text of plain text; None: it is the same."""
        return self._reader.translate

    @property
    def holds_newlines(self) -> bool:
        """Return whether line feeds at the end of text are held back now."""
        return self._reader.holds_newlines

    def feed(self, chunk: Chunk) -> tuple[ChoiceDeltas, ChoiceEnd | None]:
        """Return the deltas of a chunk, and the end of the choice if the chunk was the last one, or
        a stop string has ended it.

        Raises:
            ParseDivergence: the output does not fit its grammar.
        """
        parser, reader, stops = self._parser, self._reader, self._stops
        if self._path is not None:
            reader.pass_over(self._path.close())
        logprobs, finish = self._logprobs, chunk.finish_reason
        if logprobs is None:
            events = parser.feed_all(chunk.token_ids)
        else:
            events = logprobs.feed(parser, chunk)
        deltas = stops.cut(reader.feed(events))
        self._starts.take(chunk.token_ids, self._tokens)
        if finish is not None:
            deltas += stops.cut([*reader.feed(parser.finish()), *reader.finish()])
            deltas += stops.flush()
        shown = ChoiceDeltas(deltas, None if logprobs is None else logprobs.of(deltas))
        for delta in deltas:
            if type(delta) is ToolStart:
                self._called = True
        if finish is None and not stops.hit:
            return shown, None
        if finish == "stop" and not stops.hit and not parser.is_whole():
            raise ParseDivergence("the answer stopped where its grammar does not allow it")
        return shown, self._end(chunk)

    def _end(self, chunk: Chunk) -> ChoiceEnd:
        length = chunk.finish_reason == "length" and not self._stops.hit
        return ChoiceEnd(
            "length" if length else "stop",
            chunk.prompt_tokens,
            chunk.completion_tokens,
            self._called,
            chunk.cached_tokens,
            sum(self._starts.between(begin, end) for begin, end in self._reader.thoughts),
            self._stops.ended_by,
        )
