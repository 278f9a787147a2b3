"""The memory of images: a bound of all requests, and of one client, until the images are gone."""

import threading

import pytest

from adapters.workers import Image
from app.concurrency import Offload
from app.errors import ApiError
from app.images import UnreadableImage
from app.images.image_memory import ImageMemory

from . import files
from .test_loader import loader_of, parts


def test_shares_have_a_bound_together_and_for_one_client() -> None:
    memory = ImageMemory(100)
    shares = [memory.share(client) for client in "abc"]
    shares[0].grow(50)
    with pytest.raises(ApiError, match="one client may have at most 50 bytes") as refused:
        shares[0].grow(1)
    assert (refused.value.status, refused.value.code) == (503, "overloaded")
    shares[1].grow(49)
    shares[2].grow(1)
    with pytest.raises(ApiError, match="all clients 100"):
        shares[2].grow(1)


def test_the_bytes_of_a_share_are_given_back_from_any_thread() -> None:
    memory = ImageMemory(100)
    shares = [memory.share("a")]
    shares[0].grow(20)
    shares[0].grow(30)
    ending = threading.Thread(target=shares.clear)
    ending.start()
    ending.join()
    memory.share("a").grow(50)
    memory.share("a").grow(0)
    assert not memory._sizes, "ended shares leave nothing behind"


async def test_an_image_counts_until_nothing_holds_it() -> None:
    offload = Offload()
    size = len(files.data_url(files.picture("PNG")))
    loader = loader_of(offload, memory_bytes=2 * size)
    url = files.data_url(files.picture("PNG"))
    try:
        (image,) = (await loader.load(parts(url), "a")).values()
        assert isinstance(image, Image)
        with pytest.raises(ApiError, match="Too many images are in memory"):
            await loader.load(parts(url), "a")
        assert await loader.load(parts(url), "b")
        del image
        assert await loader.load(parts(url), "a")
        unreadable = await loader.load(parts("data:,x"), "a")
        assert isinstance(unreadable["data:,x"], UnreadableImage)
    finally:
        offload.close()
