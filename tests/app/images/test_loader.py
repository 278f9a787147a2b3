"""The loader: equal URLs once, off the event loop, with verdicts that are kept by client."""

import asyncio
import threading
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator
from textwrap import wrap
from typing import Any

import pytest

from adapters.workers import Image
from app.concurrency import Offload
from app.generation import Media
from app.images import ImageLoader, UnreadableImage, image_file, loader

from . import files
from .image_server import answer, fetcher_of, image_server

PNG = files.picture("PNG")
URL = files.data_url(PNG)


@pytest.fixture
async def offload() -> AsyncIterator[Offload]:
    made = Offload()
    yield made
    made.close()


def loader_of(offload: Offload, **options: Any) -> ImageLoader:
    limits = {"max_bytes": 1 << 20, "max_pixels": 1_000_000, "memory_bytes": 1 << 30}
    return ImageLoader(offload, **{**limits, **options})


def parts(*urls: str | None) -> list[Media]:
    return [Media("image_url", f"messages[0].content[{n}]", url=url) for n, url in enumerate(urls)]


@pytest.mark.parametrize("kind", files.MEDIA_TYPES)
async def test_the_type_of_an_image_is_that_of_its_bytes(offload: Offload, kind: str) -> None:
    data = files.picture(kind)
    url = files.data_url(data, "image/x-anything")
    (image,) = (await loader_of(offload).load(parts(url), "client")).values()
    assert isinstance(image, Image)
    assert (image.media_type, image.width, image.height) == (files.MEDIA_TYPES[kind], 8, 6)
    assert b64decode(image.data, validate=True) == data
    assert image.data_url == files.data_url(data, files.MEDIA_TYPES[kind])


async def test_equal_files_have_one_digest_however_they_are_written(offload: Offload) -> None:
    lines = "data:;base64," + "\n".join(wrap(b64encode(PNG).decode(), 60))
    loaded = await loader_of(offload).load(parts(URL, lines, URL, None), "client")
    assert list(loaded) == [URL, lines]
    assert loaded[URL] == loaded[lines]
    other = files.data_url(files.picture("PNG", 9))
    (image,) = (await loader_of(offload).load(parts(other), "client")).values()
    assert isinstance(image, Image)
    assert isinstance(loaded[URL], Image)
    assert (len(image.digest), image.digest == loaded[URL].digest) == (16, False)


async def test_results_are_counted(offload: Offload) -> None:
    results: list[str] = []
    urls = [URL, files.data_url(PNG[:50]), "https://a.example/", "ftp://a.example/", "data:"]
    await loader_of(offload, on_result=results.append).load(parts(*urls), "client")
    assert results == [
        "read",
        "image_parse_error",
        "image_host_not_allowed",
        "invalid_image_url",
        "invalid_image_url",
    ]


async def test_without_hosts_the_refusal_of_a_url_names_host_and_setting(offload: Offload) -> None:
    url = "https://images.example.org/a.png"
    got = (await loader_of(offload).load(parts(url), "client"))[url]
    assert isinstance(got, UnreadableImage)
    assert "'images.example.org'" in got.reason
    assert "SWITCHYARD_IMAGE_HOSTS" in got.reason
    assert got.code == "image_host_not_allowed"


async def test_equal_urls_are_fetched_once_in_a_request(offload: Offload) -> None:
    async with image_server({"/a.png": answer(PNG), "/b.png": answer(b"")}) as server:
        images = loader_of(offload, fetcher=fetcher_of(server))
        a, b = server.url("/a.png"), server.url("/b.png")
        loaded = await images.load(parts(a, b, a, URL, a), "client")
        assert loaded[a] == loaded[URL]
        assert loaded[b] == UnreadableImage("its file is empty", "empty_image_file")
        assert server.connections == 2
        images.close()


async def test_images_are_read_off_the_event_loop(offload: Offload, monkeypatch) -> None:
    threads = []

    def noting(name: str) -> Any:
        real = getattr(loader, name)

        def step(*arguments: Any, **options: Any) -> Any:
            threads.append(threading.current_thread().name)
            return real(*arguments, **options)

        return step

    for name in ("decode_data_url", "check_file", "blake2b", "encode"):
        monkeypatch.setattr(loader, name, noting(name))
    async with image_server({"/a.gif": answer(files.picture("GIF"))}) as server:
        images = loader_of(offload, fetcher=fetcher_of(server))
        await images.load(parts(URL, server.url("/a.gif")), "client")
    assert len(threads) == 6
    assert {name.rpartition("_")[0] for name in threads} == {"image-requests"}


async def test_a_verdict_is_kept_for_its_client_alone(offload: Offload, monkeypatch) -> None:
    checked = []
    real = loader.check_file

    def check(data: bytes, **options: Any) -> Any:
        checked.append(data)
        return real(data, **options)

    monkeypatch.setattr(loader, "check_file", check)
    monkeypatch.setattr(loader, "MAX_VERDICTS", 2)
    images = loader_of(offload)
    broken = files.data_url(PNG[:50])
    first = await images.load(parts(URL, broken), "client")
    assert await images.load(parts(broken, URL), "client") == first
    assert checked == [PNG, PNG[:50]]
    await images.load(parts(URL), "other")
    assert checked == [PNG, PNG[:50], PNG]
    # the least recently used verdict was dropped
    await images.load(parts(URL, broken), "client")
    assert checked == [PNG, PNG[:50], PNG, PNG[:50]]


async def test_many_parts_of_one_request_wait_for_each_other(offload: Offload) -> None:
    urls = [files.data_url(files.picture("GIF", 1 + n % 40, 1 + n // 40)) for n in range(1_000)]
    loaded = await loader_of(offload).load(parts(*urls), "client")
    assert sum(isinstance(image, Image) for image in loaded.values()) == len(set(urls))


async def test_large_images_are_decoded_one_at_a_time(offload: Offload, monkeypatch) -> None:
    monkeypatch.setattr(image_file, "LARGE_PIXELS", 48)
    images = loader_of(offload)
    small, large = URL, files.data_url(files.picture("PNG", 10, 10))
    with images._large:
        waiting = asyncio.create_task(images.load(parts(large), "client"))
        # two threads: one waits for the lock, and the other one reads a small image
        assert isinstance((await images.load(parts(small), "other"))[small], Image)
        assert not waiting.done()
    assert isinstance((await waiting)[large], Image)
    both = [images.load(parts(large), client) for client in ("a", "b")]
    assert len(await asyncio.gather(*both)) == 2
