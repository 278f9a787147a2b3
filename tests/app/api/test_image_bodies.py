"""Bodies with images: their data has a limit of its own, in all APIs, and texts have none of it."""

import gzip
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from app.api.body_limit import BodyLimit
from app.errors import ApiError
from tests.app.access.entries import bearer, entry
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.app.held_worker import HELD, let_go

__all__ = ["let_go"]
#: bytes of text, and of all
TEXT, WHOLE = 20_000, 100_000
gateway = gateway_fixture(max_body_bytes=TEXT, max_image_body_bytes=WHOLE, max_arriving_bytes=WHOLE)

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
DATA = "iVBORw0KGgo/" * 5_000
URL = f"data:image/png;base64,{DATA}"


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def asked(content: Any) -> list[Any]:
    """A conversation whose images are history: no model must see them."""
    after: list[Any] = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}]
    return [{"role": "user", "content": content}, *after]


def chat(content: Any) -> dict[str, Any]:
    return {"model": "noise", "max_tokens": 2, "messages": asked(content)}


def response(content: Any) -> dict[str, Any]:
    return {"model": "noise", "max_output_tokens": 2, "input": asked(content)}


IMAGE_URL = {"type": "image_url", "image_url": {"url": URL}}
INPUT_IMAGE = {"type": "input_image", "image_url": URL}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c", "output": [INPUT_IMAGE]}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": [IMAGE]}
#: bodies that are larger than their text may be
SERVED: dict[str, tuple[str, dict[str, Any]]] = {
    "a chat": (CHAT, chat([IMAGE_URL])),
    "a chat with a sound": (
        CHAT,
        chat([{"type": "input_audio", "input_audio": {"data": DATA, "format": "wav"}}]),
    ),
    "a chat with a file": (CHAT, chat([{"type": "file", "file": {"file_data": URL}}])),
    "a response": (RESPONSES, response([INPUT_IMAGE])),
    "a response to a result": (RESPONSES, {**response("a"), "input": [CALL, OUTPUT]}),
    "the tokens of a response": (
        f"{RESPONSES}/input_tokens",
        {"model": "noise", "input": asked([INPUT_IMAGE])},
    ),
    "messages": (MESSAGES, chat([IMAGE])),
    "messages with a result": (MESSAGES, chat([RESULT])),
    "the tokens of messages": (
        f"{MESSAGES}/count_tokens",
        {"model": "noise", "messages": asked([IMAGE])},
    ),
    "a conversation": ("/v1/conversations", {"items": asked([INPUT_IMAGE])[:1]}),
}
#: bodies whose data is a text in the end
REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "a text": (CHAT, chat("x" * TEXT)),
    "a text like a data URL": (CHAT, chat(URL)),
    "a part like a data URL": (CHAT, chat([text(URL)])),
    "a text beside an image": (CHAT, chat([IMAGE_URL, text("x " * (TEXT // 2))])),
    "a field of a part": (CHAT, chat([{**text("a"), "image_url": URL}])),
    "arguments": (RESPONSES, {**response("a"), "input": [{**CALL, "arguments": URL}, OUTPUT]}),
    "instructions": (RESPONSES, {**response("a"), "instructions": URL}),
    "a document": (
        MESSAGES,
        chat([{"type": "document", "source": {"type": "text", "data": DATA}}]),
    ),
    "a prompt": ("/v1/completions", {"model": "noise", "prompt": URL}),
    "too large": (CHAT, chat([IMAGE_URL, IMAGE_URL])),
}


@pytest.mark.parametrize("coding", ["identity", "gzip", "php"])
@pytest.mark.parametrize("name", SERVED)
def test_data_of_media_has_a_limit_of_its_own(gateway: Gateway, name: str, coding: str) -> None:
    """Also compressed, and with slashes escaped as PHP writes them."""
    path, body = SERVED[name]
    raw = json.dumps(body).encode()
    assert len(raw) > TEXT
    if coding == "php":
        raw = raw.replace(b"/", b"\\/")
    headers = {"content-encoding": "gzip"} if coding == "gzip" else {}
    answer = gateway.post(
        gzip.compress(raw) if coding == "gzip" else raw, path=path, headers=headers
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("name", REFUSED)
def test_a_larger_text_is_refused_with_both_limits(gateway: Gateway, name: str) -> None:
    path, body = REFUSED[name]
    answer = gateway.post(body, path=path)
    error = answer.json()["error"]
    assert (answer.status_code, error.get("code")) in (
        (413, "request_too_large"),
        (413, None),  # of Anthropic's API
    )
    assert f"{TEXT:,}" in error["message"]
    assert path == "/v1/completions" or f"{WHOLE:,}" in error["message"]
    assert gateway.post(chat("a"), path=CHAT).status_code == 200


@pytest.mark.parametrize("damage", ["cut", "a control character"])
def test_a_damaged_body_with_an_image_is_no_json(gateway: Gateway, damage: str) -> None:
    raw = json.dumps(chat([IMAGE_URL])).encode()
    raw = raw[:-1] if damage == "cut" else raw.replace(b"data:", b"\x00data:")
    answer = gateway.post(raw, path=CHAT)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_json")
    assert "column" in error["message"]


def test_images_take_no_tokens_of_a_key(tmp_path: Path, let_go: threading.Event) -> None:
    """They would take 750,000 until the worker has counted the prompt."""
    keys = tmp_path / "keys"
    keys.write_text(entry("k", tokens_per_minute=100_000))
    headers = bearer("k")

    def left() -> int:
        answer = gateway.post(b"", headers=headers)  # takes no token
        return int(answer.headers["x-ratelimit-remaining-tokens"])

    sent = {**chat([IMAGE_URL] * 50), "seed": HELD, "stream": True}
    with Gateway(keys_file=keys) as gateway, gateway.raw_request(sent, headers):
        gateway.eventually(lambda: gateway.metric("switchyard_admission", what="running") == 1)
        gateway.eventually(lambda: left() > 90_000)
        let_go.set()


def test_a_message_of_a_socket_has_the_same_limits(gateway: Gateway) -> None:
    """The response that a connection keeps has its image."""
    address = gateway.url.replace("http", "ws") + RESPONSES
    with connect(address, open_timeout=PATIENCE) as socket:

        def told(**body: Any) -> dict[str, Any]:
            socket.send(json.dumps({"type": "response.create", "store": False, **body}))
            while True:
                event = json.loads(socket.recv(PATIENCE))
                if event["type"] in ("response.completed", "response.incomplete", "error"):
                    return event

        first = told(**response([INPUT_IMAGE]))["response"]
        error = told(**response([{"type": "input_text", "text": URL}]))
        assert (error["status"], error["error"]["code"]) == (413, "request_too_large")
        more = {**response("a"), "input": "And?", "previous_response_id": first["id"]}
        again = told(**more)["response"]
        assert again["usage"]["input_tokens"] > first["usage"]["input_tokens"]


@pytest.mark.parametrize(
    ("size", "media", "fits"),
    [(10, 0, True), (11, 0, False), (11, 1, True), (30, 20, True), (31, 21, False)],
)
def test_both_limits_are_kept_to_the_byte(size: int, media: int, fits: bool) -> None:
    limit = BodyLimit(10, 30)
    if fits:
        limit.check(size, media)
        return
    with pytest.raises(ApiError, match="at most 30 bytes are allowed, and 10 without the data"):
        limit.check(size, media)
