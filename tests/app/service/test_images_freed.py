"""Images of a refused request are freed at once, without a garbage collection."""

import gc
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import ref

from adapters.workers import Image
from app.errors import ApiError
from app.generation import Media
from app.images.image_memory import ImageMemory

from .scripted import Service, script
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
