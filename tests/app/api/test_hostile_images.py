"""Hostile images over HTTP: an error that names the part of the current message, and a line of text
anywhere else. No URL of a client makes the gateway connect to an address that is not public.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.app.gateway import Gateway, gateway_fixture
from tests.app.images import files
from tests.app.images.image_server import ImageServer, answer, image_server

gateway = gateway_fixture(max_image_bytes=100_000)


def chat_part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def chat(*parts: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "Look."}, *parts]}]


def ask(gateway: Gateway, messages: list[dict[str, Any]]) -> Any:
    return gateway.post({"model": "noise", "messages": messages, "max_tokens": 4})


URLS: dict[str, tuple[str, str]] = {
    "30,000 x 30,000": (
        files.data_url(files.png(width=30_000, height=30_000, rows=b"")),
        "image_too_large",
    ),
    "a GIF of 65,535 x 65,535": (
        files.data_url(files.gif_of_size(8, 6, frame=(65_535, 65_535))),
        "image_too_large",
    ),
    "too many bytes": (files.data_url(bytes(100_001)), "image_file_too_large"),
    "cut": (files.data_url(files.picture("JPEG")[:-20]), "image_parse_error"),
    "0 x 6": (files.data_url(files.png(width=0)), "image_parse_error"),
    "SVG": (files.data_url(b"<svg/>", "image/svg+xml"), "unsupported_image_media_type"),
    "BMP": (files.data_url(files.picture("BMP")), "unsupported_image_media_type"),
    "a PDF's type": (files.data_url(b"%PDF", "application/pdf"), "unsupported_image_media_type"),
    "animated": (files.data_url(files.animated("GIF")), "invalid_image_format"),
    "no comma": ("data:image/png;base64", "invalid_image_url"),
    "no base64": ("data:image/png,abc", "invalid_image_url"),
    "no image": ("data:image/png;base64,", "empty_image_file"),
    "another character": ("data:image/png;base64,AAAA*AAA", "invalid_base64_image"),
    "a file of the server": ("file:///etc/passwd", "invalid_image_url"),
    "a URL": ("https://images.example.org/a.png", "image_host_not_allowed"),
    "metadata of a cloud": ("http://169.254.169.254/latest/meta-data", "image_host_not_allowed"),
}


@pytest.mark.parametrize("name", URLS)
def test_a_hostile_image_is_an_error_that_names_its_part(gateway: Gateway, name: str) -> None:
    url, code = URLS[name]
    response = ask(gateway, chat(chat_part(files.data_url(files.picture("PNG"))), chat_part(url)))
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert (error["param"], error["code"]) == ("messages[0].content[2]", code)
    assert error["message"].startswith("Invalid 'messages[0].content[2]': the part of type")


def test_hostile_images_of_the_history_are_lines_of_text(gateway: Gateway) -> None:
    parts = [chat_part(url) for url, _ in URLS.values()]
    said = [{"role": "assistant", "content": "Bad ones."}, {"role": "user", "content": "Go on."}]
    response = ask(gateway, [*chat(*parts), *said])
    assert response.status_code == 200, response.text
    named = response.headers["x-switchyard-ignored"].split(", ")
    assert named == [f"messages/0/content/{n} image_url" for n in range(1, 1 + len(parts))]


def test_a_current_message_may_have_so_many_images(gateway: Gateway) -> None:
    part = chat_part(files.data_url(files.picture("PNG")))
    response = ask(gateway, chat(*[part] * 1_000))
    error = response.json()["error"]
    assert response.status_code == 400
    assert error["param"] == "messages[0].content[101]"
    assert "100 images are allowed, got 1000" in error["message"]


@contextmanager
def served_image() -> Iterator[ImageServer]:
    """A server in a thread of its own, whose images no gateway may fetch."""
    started, stopping = threading.Event(), threading.Event()
    servers: list[ImageServer] = []

    async def serve() -> None:
        async with image_server({"/a.png": answer(files.picture("PNG"))}) as server:
            servers.append(server)
            started.set()
            await asyncio.to_thread(stopping.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    started.wait()
    try:
        yield servers[0]
    finally:
        stopping.set()
        thread.join()


def test_an_allowed_name_does_not_lead_to_an_address_that_is_not_public() -> None:
    with (
        served_image() as server,
        Gateway(image_hosts=f"localhost:{server.port},*.localhost:{server.port}") as gateway,
    ):
        urls = [server.url(host=host) for host in ("localhost", "LocalHost", "127.0.0.1", "[::1]")]
        for url in urls:
            response = ask(gateway, chat(chat_part(url)))
            assert response.status_code == 400
            assert response.json()["error"]["code"] == "image_host_not_allowed"
        assert server.connections == 0
        assert gateway.metric("switchyard_images_total", result="image_host_not_allowed") == 4
        assert gateway.metric("switchyard_image_fetch_failures_total", reason="address") == 2
        assert gateway.metric("switchyard_image_fetch_failures_total", reason="url") == 2
