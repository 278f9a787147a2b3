"""Images of a request are freed without a garbage collection: if it is refused, at once; else when
a worker has begun to answer.
"""

import asyncio
import gc
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

import pytest

from adapters.workers import Chunk, Generation, Image, Receive
from app.errors import ApiError
from app.generation import Media
from app.images.image_memory import ImageMemory
from tests.waiting import eventually

from .scripted import Service, context, request, script, tokens
from .test_images import Unreadable, image, user


class Loader:
    """Reads images that hold a share of a memory."""

    def __init__(self) -> None:
        self.memory = ImageMemory(1 << 20)
        self.shares: list[ref[Any]] = []

    async def load(self, media: Sequence[Media], client: str) -> Mapping[str, Any]:
        share = self.memory.share(client)
        self.shares.append(ref(share))
        return {part.url: self._read(part.url, share) for part in media if part.url is not None}

    def _read(self, url: str, share: Any) -> Image | Unreadable:
        if url.endswith("broken"):
            return Unreadable("it is broken", "invalid_image_format")
        return Image("image/png", "", b"", 1, 1, share=share)


async def test_the_images_of_a_refused_request_are_freed_without_a_collection() -> None:
    loader = Loader()
    service = Service(script("answer"), images=loader)
    gc.disable()
    try:
        with suppress(ApiError):
            await service.complete(messages=[user(image("red"), image("broken"))])
        assert [share() for share in loader.shares] == [None]
    finally:
        gc.enable()


class OneChunk:
    """A run that sends one chunk, and then is silent."""

    def __init__(self, generation: Generation, receive: Receive) -> None:
        self._receive = receive
        self.pause = self.resume = lambda: None

    async def wait(self) -> None:
        await asyncio.sleep(0)
        self._receive(Chunk(tokens("a")))
        await asyncio.Event().wait()


async def begun(service: Service, name: str) -> Any:
    """Return a task in which an answer of two choices has begun."""
    asked = {"messages": [user(image("red"))], "n": 2}
    if name == "whole":
        return asyncio.create_task(service.complete(**asked))
    stream = await service.chat.stream(request(**asked, stream=True), context())
    return asyncio.create_task(stream.send_to(lambda events: None))


@pytest.mark.parametrize("name", ["streamed", "whole"])
async def test_the_images_of_a_prompt_are_freed_when_its_answer_begins(name: str) -> None:
    """A prompt may have megabytes, and its answer take minutes."""
    loader = Loader()
    service = Service(script("answer"), images=loader)
    vars(service.worker)["run"] = OneChunk
    gc.disable()
    try:
        task = await begun(service, name)
        await eventually(lambda: loader.shares and loader.shares[0]() is None)
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])
    finally:
        gc.enable()
