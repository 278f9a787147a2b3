"""Helpers for the tests of workers."""

import asyncio
import json
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from adapters.workers import Chunk, Generation, Worker, noise_vocabulary
from engine import Compiler, Vocabulary

if TYPE_CHECKING:  # it needs torch
    from adapters.workers import TransformersWorker

T = TypeVar("T")
NOISE = noise_vocabulary.load()


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, 120))


def tag(content: dict[str, Any]) -> str:
    """A structural tag as JSON text."""
    return json.dumps({"type": "structural_tag", "format": content})


def noise_compiler() -> Compiler:
    """A compiler of the noise worker's own vocabulary."""
    special = sorted(NOISE.special.values())
    vocabulary = Vocabulary(
        NOISE.tokens, stop_token_ids=NOISE.stop_ids, special_token_ids=special, encode=NOISE.encode
    )
    return Compiler(vocabulary)


async def collect(worker: Worker, generation: Generation) -> list[Chunk]:
    """Return the chunks of a run that is never paused."""
    chunks: list[Chunk] = []

    def receive(chunk: Chunk) -> bool:
        chunks.append(chunk)
        return True

    await worker.run(generation, receive).wait()
    return chunks


def ids_of(chunks: list[Chunk]) -> list[int]:
    return [number for chunk in chunks for number in chunk.token_ids]


def check_invariants(chunks: list[Chunk]) -> None:
    """I2 and I3 of adapters.workers.base, and that counts agree with the ids."""
    assert [c.finish_reason is None for c in chunks] == [True] * (len(chunks) - 1) + [False]
    assert all(c.stop_text is None and c.trim == 0 for c in chunks[:-1])
    made = [c.completion_tokens for c in chunks]
    assert made == sorted(made)
    assert made[-1] == len(ids_of(chunks))
    assert len({c.prompt_tokens for c in chunks}) == 1


async def started(directory: Path, compiler: Compiler, **options: Any) -> "TransformersWorker":
    from adapters.workers import TransformersWorker

    worker = TransformersWorker(directory, compiler, **options)
    assert not (await worker.health()).ready
    await worker.start()
    return worker


class Held:
    """A model that waits for ``go`` before every pass, and counts them."""

    def __init__(self, model: Any) -> None:
        self.model, self.go, self.passes = model, threading.Event(), 0
        self.config = model.config
        self.get_input_embeddings = model.get_input_embeddings
        self.base_model = model.base_model

    def __call__(self, **inputs: Any) -> Any:
        self.passes += 1
        assert self.go.wait(60)
        return self.model(**inputs)
