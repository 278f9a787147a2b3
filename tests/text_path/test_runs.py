"""Runs of a SGLang server with a path."""

from contextvars import ContextVar, copy_context
from typing import Any

from adapters.workers import Chunk, Generation

from .streams import PROMPT, Reads
from .test_faults import GRAMMAR, A, event
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
