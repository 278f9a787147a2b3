"""The choice decoder: a worker's chunks in, the deltas of one choice out.

    chunk -> token ids -> the engine's parser -> events -> the format's reader -> deltas -> stops

The grammar that constrained the model also parses what it wrote. Output that does not parse is
therefore a bug here, or of a worker that ignored the grammar: the answer ends as an error, which
metrics count.

Invariants   I1 exactly the last item is a ChoiceEnd; it comes after every delta. I2 an answer that
             a stop token ended is a whole word of its grammar.
"""

from array import array
from bisect import bisect_left
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from adapters.formats import Delta, Reader, ToolStart
from adapters.workers import Chunk
from engine import Event, ParseDivergence, Parser

from .content_logprobs import ContentLogprobs, ContentToken
from .content_stops import ContentStops
from .foreign_parser import ForeignParser

#: "stop": a stop token or a stop string; "length": the output limit
Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
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


async def decode_choice(
    chunks: AsyncGenerator[Chunk, None],
    parser: Parser | ForeignParser,
    reader: Reader,
    stops: ContentStops,
    tokens: Sequence[bytes],
    logprobs: ContentLogprobs | None = None,
    on_chunk: Callable[[Chunk], None] = lambda chunk: None,
) -> AsyncGenerator[ChoiceItem, None]:
    """Yield the items of one choice, then close ``chunks``.

    Args:
        tokens: the bytes of each token.
        logprobs: of the content, if they were asked for; made for the same reader.
        on_chunk: called with each chunk.

    Raises:
        ParseDivergence: the output does not fit its grammar.
    """
    called, starts, size = False, array("Q"), 0
    async with aclosing(chunks):
        async for chunk in chunks:
            on_chunk(chunk)
            events = (
                _events(parser, chunk.token_ids)
                if logprobs is None
                else logprobs.feed(parser, chunk)
            )
            deltas = stops.cut(reader.feed(events))
            for number in chunk.token_ids:
                starts.append(size)
                size += len(tokens[number])
            if chunk.finish_reason is not None:
                deltas += stops.cut([*reader.feed(parser.finish()), *reader.finish()])
                deltas += stops.flush()
            shown = ChoiceDeltas(deltas)
            if logprobs is not None:
                shown = ChoiceDeltas(deltas, logprobs.of(deltas))
            called |= any(isinstance(delta, ToolStart) for delta in deltas)
            if chunk.finish_reason is None and not stops.hit:
                yield shown
                continue
            if chunk.finish_reason == "stop" and not stops.hit and not parser.is_whole():
                raise ParseDivergence("the answer stopped where its grammar does not allow it")
            yield shown
            length = chunk.finish_reason == "length" and not stops.hit
            yield ChoiceEnd(
                "length" if length else "stop",
                chunk.prompt_tokens,
                chunk.completion_tokens,
                called,
                chunk.cached_tokens,
                sum(
                    bisect_left(starts, size if end is None else end) - bisect_left(starts, begin)
                    for begin, end in reader.thoughts
                ),
                stops.ended_by,
            )
            return


def _events(parser: Parser | ForeignParser, token_ids: tuple[int, ...]) -> list[Event]:
    return [event for number in token_ids for event in parser.feed(number)]
