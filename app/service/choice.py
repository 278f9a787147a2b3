"""One choice of an answer: a worker's chunks in, deltas out.

    chunk -> token ids -> the engine's parser -> events -> the format's reader -> deltas

The grammar that constrained the model is the grammar that parses what it wrote, so output that does
not parse is a fault of our own (or of a worker that ignored the grammar): the answer ends as an
error, and it is counted.

Invariants   I1 exactly the last item is an Ended; it comes after every delta. I2 text behind a stop
             string is never shown: workers hand out no token that may still belong to one, the last
             chunk says how much to cut.
             I3 an answer that a stop token ended is a whole word of its grammar.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from adapters.formats import Delta, Reader
from adapters.workers import Chunk
from engine import Event, ParseDivergence, Parser

from .stock import StockParser

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


Item = Deltas | Ended


async def read_choice(
    chunks: AsyncGenerator[Chunk, None], parser: Parser | StockParser, reader: Reader
) -> AsyncGenerator[Item, None]:
    """Raises ParseDivergence, and what ``chunks`` raises. Closes ``chunks``."""
    async with aclosing(chunks):
        async for chunk in chunks:
            events = _events(parser, chunk.token_ids)
            if chunk.finish_reason is None:
                yield Deltas(reader.feed(events))
                continue
            events = without_tail([*events, *parser.finish()], chunk.trim)
            if chunk.finish_reason == "stop" and chunk.stop_text is None and not parser.is_whole():
                raise ParseDivergence("the answer stopped where its grammar does not allow it")
            yield Deltas([*reader.feed(events), *reader.finish()])
            yield _ended(chunk, reader)
            return


def _ended(chunk: Chunk, reader: Reader) -> Ended:
    return Ended(
        "length" if chunk.finish_reason == "length" else "stop",
        chunk.prompt_tokens,
        chunk.completion_tokens,
        reader.tool_calls_started > 0,
    )


def _events(parser: Parser | StockParser, token_ids: tuple[int, ...]) -> list[Event]:
    return [event for number in token_ids for event in parser.feed(number)]


def without_tail(events: list[Event], size: int) -> list[Event]:
    """The events without their last ``size`` bytes; a mark that is cut into was not written."""
    kept = list(events)
    while size > 0 and kept:
        last = kept.pop()
        left = len(last.bytes) - size
        if left > 0 and last.kind == "text":
            kept.append(last._replace(bytes=last.bytes[:left]))
        size -= len(last.bytes)
    return kept
