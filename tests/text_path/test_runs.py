"""Runs of a SGLang server with a path: where texts are written, and which runs let none pass."""

from contextvars import ContextVar, copy_context
from typing import Any

import pytest

from adapters.workers import Chunk, Generation, SamplingOptions

from .streams import PROMPT, Reads
from .test_faults import GRAMMAR, A, B, event
from .test_plain_text import STOPS, Path

VARIABLE: ContextVar[int] = ContextVar("variable", default=0)


class Begun:
    """A run that has begun in a context of its own, with an open path."""

    def __init__(self, **asked: Any) -> None:
        self.chunks: list[Chunk] = []
        self.seen: list[int] = []
        self.made = Path()
        self.made.path.leave()
        generation = Generation("r", PROMPT, None, max_tokens=9, **asked)
        self.run = Reads([], GRAMMAR.vocabulary.tokens, STOPS, generation, self._receive)
        self.run.text_path = self.made.path
        context = copy_context()
        context.run(VARIABLE.set, 1)
        context.run(self.run._begin, self.run, self.run._made, 1 << 20)  # type: ignore[arg-type]
        self.run.on_head(200)
        self.made.path.open(str.encode, self._write)

    def _receive(self, chunk: Chunk) -> bool:
        self.chunks.append(chunk)
        return True

    def _write(self, data: bytes) -> None:
        self.made.written.append(data)
        self.seen.append(VARIABLE.get())


def test_a_text_is_written_in_the_context_of_its_run() -> None:
    """REGRESSION: it was that of the connection, which another request may have made."""
    begun = Begun()
    begun.run.on_data(event([A], 1))
    assert begun.made.written == [b"a"] and begun.seen == [1]


def test_a_path_takes_no_text_that_is_searched_for_a_stop_string() -> None:
    """REGRESSION: it was written, the stop string too."""
    begun = Begun(stop=("ab",))
    begun.run.on_data(event([A], 1))
    begun.run.on_data(event([B], 2))
    assert begun.made.written == []
    assert [(chunk.finish_reason, chunk.stop_text) for chunk in begun.chunks] == [("stop", "ab")]


@pytest.mark.parametrize("top", [0, 2])
def test_a_path_takes_no_token_with_a_log_probability(top: int) -> None:
    """REGRESSION: it was written without one."""
    begun = Begun(sampling=SamplingOptions(logprobs=top))
    logprobs = {"output_token_logprobs": [[-0.5, A, None]]}
    if top:
        logprobs["output_top_logprobs"] = [[[-0.5, A, None], [-1.0, B, None]]]  # type: ignore[list-item]
    begun.run.on_data(event([A], 1, **logprobs))
    assert begun.made.written == [] and len(begun.chunks[0].logprobs) == 1
