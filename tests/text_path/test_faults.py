"""Faults, ends and other events than plain text: they take the general path, and end as there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from adapters.formats import for_own_engine
from adapters.workers import WorkerError
from tests.formats.cases import FREE, quiet
from tests.formats.harness import compiled_as

from .streams import PROMPT, Answered, answered, sse

STOP = {"type": "stop"}


def event(ids: list[int], made: int, finish: Any = None, **meta: Any) -> bytes:
    counts = {"finish_reason": finish, "prompt_tokens": len(PROMPT), "completion_tokens": made}
    return sse({"text": "", "output_ids": ids, "meta_info": {**counts, **meta}})


A, B, C = (ord(letter) for letter in "abc")
PLAIN = [event([A], 1), event([B], 2), event([C], 3)]
PLAN, GRAMMAR = compiled_as("hermes", quiet(FREE), for_own_engine)
EOS = GRAMMAR.vocabulary.stop_token_ids[0]
BEYOND = GRAMMAR.vocabulary.size
END = event([EOS], 4, STOP)

#: reads of one stream, and the most tokens that were asked for
STREAMS: dict[str, tuple[list[bytes], int]] = {
    "an ordinary end": ([*PLAIN, END], 100),
    "all at once": ([b"".join([*PLAIN, END])], 100),
    "text with the end": ([*PLAIN[:2], PLAIN[2] + END], 100),
    "a stop token without an end": ([*PLAIN, event([EOS], 4), event([A], 5), END], 100),
    "tokens behind a stop token": ([*PLAIN, event([A, EOS, B], 6, STOP)], 100),
    "the limit": ([*PLAIN, END], 3),
    "the limit within an event": ([*PLAIN, event([A, B, C], 6)], 5),
    "more than the limit": ([*PLAIN, event([A], 4), event([B], 5)], 4),
    "REGRESSION: a limit of more than 32 bits": ([*PLAIN, END], 1 << 40),
    "fewer ids than counted": ([*PLAIN, event([A], 5)], 100),
    "a count that falls": ([*PLAIN, event([A], 1)], 100),
    "an id beyond the vocabulary": ([*PLAIN, event([BEYOND], 4)], 100),
    "an event that is none": ([*PLAIN, b"data: {}\n\n"], 100),
    "an event inside of a broken one": (
        [*PLAIN[:2], b'data: {"text": "', PLAIN[2], b'"}\n\n', END],
        100,
    ),
    "an error": ([*PLAIN, b'data: {"error": {"message": "out of memory"}}\n\n'], 100),
    "an abort": ([*PLAIN, event([], 3, {"type": "abort", "message": "m"})], 100),
    "half of a character": ([*PLAIN[:1], event([0xC3], 2), event([0xA9], 3), END], 100),
    "no character": ([*PLAIN[:1], event([0xC3], 2), event([C], 3), END], 100),
    "comments": ([*PLAIN[:2], b": ping\n\n" + PLAIN[2], b": ping\n\n", END], 100),
    "CR LF": ([each.replace(b"\n", b"\r\n") for each in (*PLAIN, END)], 100),
    "bytes of an event": ([bytes([byte]) for byte in b"".join([*PLAIN, END])], 100),
    "events without a token": ([PLAIN[0], event([], 1), event([A], 1), *PLAIN[1:], END], 100),
    "more cached than the prompt has": ([*PLAIN, event([A], 4, cached_tokens=9), END], 100),
}


def both(ask: Callable[[bool], Awaitable[Answered]]) -> tuple[Answered, Answered]:
    """Return an answer with a path and one without."""

    async def work() -> tuple[Answered, Answered]:
        return await ask(True), await ask(False)

    return asyncio.run(work())


@pytest.mark.parametrize("what", STREAMS)
def test_it_ends_as_on_the_general_path(what: str) -> None:
    reads, most = STREAMS[what]
    compiled, general = both(
        lambda has_path: answered(PLAN, GRAMMAR, [reads], has_path=has_path, max_tokens=most)
    )
    assert compiled.deltas == general.deltas
    assert repr(compiled.error) == repr(general.error)
    assert compiled.counted == general.counted


def test_nothing_is_written_behind_the_failure_of_another_choice() -> None:
    failing = [*PLAIN, b"data: {}\n\n"]
    lasting = [*(event([A], made) for made in range(1, 50)), event([EOS], 50, STOP)]
    compiled, general = both(
        lambda has_path: answered(PLAN, GRAMMAR, [failing, lasting], has_path=has_path)
    )
    assert compiled.deltas == general.deltas
    assert isinstance(compiled.error, WorkerError) and compiled.passed > 0
    assert len(compiled.deltas[1][0]["text"]) < 10


def test_counts_are_kept_while_text_passes() -> None:
    """Operators see the tokens of running requests."""
    compiled, _ = both(lambda has_path: answered(PLAN, GRAMMAR, [[*PLAIN, END]], has_path=has_path))
    assert compiled.passed > 0 and compiled.counts[:3] == [1, 2, 3]
