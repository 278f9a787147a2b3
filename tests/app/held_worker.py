"""A noise worker whose answers stop until a test lets them go."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from adapters.workers import Chunk, Generation, NoiseWorker

#: seeds of answers that stop before their first token, and after some
HELD, CUT_OFF = 4242, 4243
#: chunks before an answer stops
CHUNKS = 1


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Answers with these seeds go on when the event is set."""
    event, generate = threading.Event(), NoiseWorker.generate

    async def held(self: NoiseWorker, generation: Generation) -> AsyncGenerator[Chunk, None]:
        number = CHUNKS if generation.seed == HELD else 0
        async for chunk in generate(self, generation):
            while generation.seed in (HELD, CUT_OFF) and number >= CHUNKS and not event.is_set():
                await asyncio.sleep(0.002)
            number += 1
            yield chunk

    monkeypatch.setattr(NoiseWorker, "generate", held)
    yield event
    event.set()
