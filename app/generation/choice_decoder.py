"""One choice of an answer: a worker's chunks in, deltas out.

    chunk -> token ids -> the engine's parser -> events -> the format's reader -> deltas -> stops

The grammar that constrained the model is the grammar that parses what it wrote, so output that does
not parse is a fault of our own (or of a worker that ignored the grammar): the answer ends as an
error, and it is counted.

Invariants   I1 exactly the last item is an Ended; it comes after every delta. I2 an answer that a
             stop token ended is a whole word of its grammar.
"""

from array import array
from bisect import bisect_left
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from adapters.formats import Delta, Reader, ToolStart
from adapters.workers import Chunk
from engine import Event, ParseDivergence, Parser

from ..constraints.foreign_backend import StockParser
from .content_stops import ContentStops

#: a stop token or stop string came, or the output limit
Finish = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Deltas:
    """What one chunk adds; may be empty."""

    deltas: list[Delta]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a choice ended, and its tokens."""

    finish: Finish
    prompt_tokens: int
    completion_tokens: int
    #: whether a tool call was begun
    called: bool
    #: of the prompt's tokens, those that the worker did not compute anew
    cached_tokens: int
    #: of the completion's tokens, those that begin in a thought, its marks included
    reasoning_tokens: int


Item = Deltas | Ended


async def read_choice(
    chunks: AsyncGenerator[Chunk, None],
    parser: Parser | StockParser,
    reader: Reader,
    stops: ContentStops,
    tokens: Sequence[bytes],
) -> AsyncGenerator[Item, None]:
    """The items of one answer; closes ``chunks``. ``tokens``: the bytes of each token.

    Raises ParseDivergence, and what ``chunks`` raises.
    """
    called, starts, size = False, array("Q"), 0
    async with aclosing(chunks):
        async for chunk in chunks:
            deltas = stops.cut(reader.feed(_events(parser, chunk.token_ids)))
            for number in chunk.token_ids:
                starts.append(size)
                size += len(tokens[number])
            if chunk.finish_reason is not None:
                deltas += stops.cut([*reader.feed(parser.finish()), *reader.finish()])
                deltas += stops.flush()
            called |= any(isinstance(delta, ToolStart) for delta in deltas)
            if chunk.finish_reason is None and not stops.hit:
                yield Deltas(deltas)
                continue
            if chunk.finish_reason == "stop" and not stops.hit and not parser.is_whole():
                raise ParseDivergence("the answer stopped where its grammar does not allow it")
            yield Deltas(deltas)
            length = chunk.finish_reason == "length" and not stops.hit
            yield Ended(
                "length" if length else "stop",
                chunk.prompt_tokens,
                chunk.completion_tokens,
                called,
                chunk.cached_tokens,
                sum(
                    bisect_left(starts, size if end is None else end) - bisect_left(starts, begin)
                    for begin, end in reader.thoughts
                ),
            )
            return


def _events(parser: Parser | StockParser, token_ids: tuple[int, ...]) -> list[Event]:
    return [event for number in token_ids for event in parser.feed(number)]
