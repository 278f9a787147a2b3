"""The gateway opens no connection to an address that a client names."""

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.examples import body, json_schema
from tests.app.gateway import Gateway, gateway_fixture

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
#: stands for the address of the listener
URL = "URL"

running = gateway_fixture()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that accepts connections: the kernel completes them before ``accept``."""
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.setblocking(False)
        yield made


def was_reached(listener: socket.socket) -> bool:
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def address_of(listener: socket.socket) -> str:
    return f"http://127.0.0.1:{listener.getsockname()[1]}/x"


def insert(value: Any, url: str) -> Any:
    """Return the value with the URL in place of URL."""
    if isinstance(value, dict):
        return {key: insert(inner, url) for key, inner in value.items()}
    if isinstance(value, list):
        return [insert(inner, url) for inner in value]
    return value.replace(URL, url) if isinstance(value, str) else value


def said(*parts: dict[str, Any]) -> dict[str, Any]:
    return body(messages=[{"role": "user", "content": list(parts)}], max_completion_tokens=4)


def heard(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    items = [{"role": "user", "content": list(parts)}]
    return {"model": "noise", "input": items, "max_output_tokens": 4, **more}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "an image": (CHAT, said({"type": "image_url", "image_url": {"url": URL}})),
    "audio": (CHAT, said({"type": "input_audio", "input_audio": {"data": URL, "format": "wav"}})),
    "a file": (CHAT, said({"type": "file", "file": {"file_data": URL, "filename": "a"}})),
    "text": (CHAT, said({"type": "text", "text": URL})),
    "a reference of a schema": (CHAT, body(response_format=json_schema({"$ref": URL}))),
    "the dialect of a schema": (
        CHAT,
        body(
            response_format=json_schema({"$schema": URL, "$id": URL, "type": "null"}),
            max_completion_tokens=4,
        ),
    ),
    "an image of the Responses API": (
        RESPONSES,
        heard({"type": "input_image", "image_url": URL}),
    ),
    "a file of the Responses API": (RESPONSES, heard({"type": "input_file", "file_url": URL})),
    "an MCP server": (
        RESPONSES,
        heard(
            {"type": "input_text", "text": "x"},
            tools=[{"type": "mcp", "server_label": "a", "server_url": URL}],
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_address_in_a_body_is_not_visited(
    running: Gateway, listener: socket.socket, name: str
) -> None:
    path, asked = CASES[name]
    answer = running.post(insert(asked, address_of(listener)), path=path)
    assert answer.status_code in (200, 400)
    assert not was_reached(listener)


@pytest.mark.parametrize(
    "header", ["forwarded", "host", "origin", "referer", "x-forwarded-host", "x-original-url"]
)
def test_an_address_in_a_header_is_not_visited(
    running: Gateway, listener: socket.socket, header: str
) -> None:
    asked = body(max_completion_tokens=4)
    answer = running.post(asked, headers={header: address_of(listener)})
    assert answer.status_code in (200, 400, 403)
    assert not was_reached(listener)


def test_the_listener_notices_a_visit(listener: socket.socket) -> None:
    with socket.create_connection(listener.getsockname()):
        assert was_reached(listener)
