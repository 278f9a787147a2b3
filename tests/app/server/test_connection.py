"""Connections of hostile clients: too many, too long, too slow, and no HTTP at all."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

from app.server.connection import Connection
from tests.app.examples import body, json_schema
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture

#: small enough to be passed by a test, and soon over
LIMITS: dict[str, Any] = {
    "max_header_bytes": 1024,
    "max_body_bytes": 2048,
    "max_image_body_bytes": 2048,
    "max_connections": 4,
    "header_seconds": 0.5,
    "body_seconds": 0.5,
}
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n"

strict = gateway_fixture(**LIMITS)


@contextmanager
def connection(gateway: Gateway) -> Iterator[socket.socket]:
    address = httpx.URL(gateway.url)
    with socket.create_connection((address.host, address.port or 80), PATIENCE) as made:
        yield made


def exchange(gateway: Gateway, *sent: bytes) -> bytes:
    """All that comes back until the gateway closes the connection."""
    with connection(gateway) as made:
        for part in sent:
            made.sendall(part)
        return read_all(made)


def read_all(made: socket.socket) -> bytes:
    parts = []
    while part := made.recv(65536):
        parts.append(part)
    return b"".join(parts)


def read_answer(made: socket.socket) -> bytes:
    """One answer of a connection that stays open."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += made.recv(1)
    head = data.lower()
    for _ in range(int(head.partition(b"content-length: ")[2].split()[0])):
        data += made.recv(1)
    return data


def error_of(answer: bytes) -> tuple[int, str]:
    """(status, code) of an answer that is an error object and closes its connection."""
    head, _, text = answer.partition(b"\r\n\r\n")
    assert b"connection: close" in head.lower()
    assert b"application/json" in head
    error = json.loads(text)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return int(head.split()[1]), error["code"]


def get(size: int) -> bytes:
    """A request whose line and headers have so many bytes."""
    start = b"GET /health/live HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\nx-long: "
    return start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, 2, 100])
def test_headers_are_bounded(strict: Gateway, pieces: int):
    """REGRESSION: every connection could hold 64 KiB of headers for ever, and then got a text."""
    most = LIMITS["max_header_bytes"]
    for size, refused in ((most, False), (most + 1, True)):
        request = get(size)
        step = -(-size // pieces)
        answer = exchange(strict, *(request[at : at + step] for at in range(0, size, step)))
        if refused:
            assert error_of(answer) == (431, "headers_too_large")
        else:
            assert answer.startswith(b"HTTP/1.1 200")


def test_a_second_request_of_a_connection_is_bounded_too(strict: Gateway):
    first = get(200).replace(b"connection: close\r\n", b"")
    with connection(strict) as made:
        made.sendall(first)
        assert read_answer(made).startswith(b"HTTP/1.1 200")
        made.sendall(get(LIMITS["max_header_bytes"] + 1))
        assert error_of(read_all(made)) == (431, "headers_too_large")


def test_requests_sent_together_are_answered_in_turn(strict: Gateway):
    first = get(200).replace(b"connection: close\r\n", b"")
    answer = exchange(strict, first * 9 + get(1024))
    assert answer.count(b"HTTP/1.1 200") == 10


def test_what_is_no_http_is_an_error_object(strict: Gateway):
    assert error_of(exchange(strict, b"\x16\x03\x01 hello\r\n\r\n")) == (400, "invalid_http")
    assert strict.metric("switchyard_connections_refused_total", code="invalid_http") >= 1
    assert [line for line in strict.lines() if line["level"] == "warning"] == []


def test_headers_that_do_not_arrive_are_not_waited_for(strict: Gateway):
    """REGRESSION: such a connection stayed open for ever."""
    assert error_of(exchange(strict, b"GET /health/live HTT")) == (408, "request_timeout")


def test_a_second_request_that_does_not_arrive_is_not_waited_for(strict: Gateway):
    with connection(strict) as made:
        made.sendall(get(200).replace(b"connection: close\r\n", b""))
        assert read_answer(made).startswith(b"HTTP/1.1 200")
        made.sendall(b"GET /health/live HTT")
        assert error_of(read_all(made)) == (408, "request_timeout")


def test_a_connection_without_a_request_is_closed_without_an_answer(strict: Gateway):
    assert exchange(strict) == b""


def test_a_body_that_does_not_arrive_is_not_waited_for(strict: Gateway):
    """REGRESSION: such a request ran for ever."""
    answer = exchange(strict, CHAT + b'content-length: 100\r\n\r\n{"model":')
    assert error_of(answer) == (408, "request_timeout")


def test_the_rest_of_a_body_is_not_waited_for_once_it_is_answered():
    with Gateway(api_keys="key", **LIMITS) as gateway:
        answer = exchange(gateway, CHAT + b'content-length: 100\r\n\r\n{"model":')
        assert answer.startswith(b"HTTP/1.1 401")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "invalid_api_key"


def test_a_connection_that_is_idle_behind_a_late_body_is_closed(strict: Gateway):
    """REGRESSION: the body's rest, which came after the answer, ended the wait for a request."""
    with connection(strict) as made:
        made.settimeout(PATIENCE)
        made.sendall(b"POST /nowhere HTTP/1.1\r\nhost: gateway\r\ncontent-length: 2\r\n\r\n")
        assert read_answer(made).startswith(b"HTTP/1.1 404")
        made.sendall(b"{}")
        assert read_all(made) == b""


TOO_LARGE: dict[str, list[bytes]] = {
    "announced, nothing sent": [CHAT + b"content-length: 2049\r\n\r\n"],
    "announced, half sent": [CHAT + b"content-length: 20480000\r\n\r\n", b"x" * 1_000_000],
    "announced with many digits": [CHAT + b"content-length: 99999999999999999999\r\n\r\n"],
    "in chunks": [
        CHAT + b"transfer-encoding: chunked\r\n\r\n",
        b"800\r\n" + b"x" * 2048 + b"\r\n1\r\nx",
    ],
    "in endless chunks": [
        CHAT + b"transfer-encoding: chunked\r\n\r\n",
        *[b"800\r\n" + b"x" * 2048 + b"\r\n"] * 100,
    ],
}


@pytest.mark.parametrize("sent", TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_a_body_that_is_too_large_is_refused_before_it_is_read(strict: Gateway, sent: list[bytes]):
    """REGRESSION: eight times the limit was read before the answer."""
    assert error_of(exchange(strict, *sent)) == (413, "request_too_large")


@pytest.mark.parametrize("size", [2048, 2049, 200_000])
def test_a_client_that_sends_all_before_it_reads_sees_the_answer(strict: Gateway, size: int):
    answer = strict.post(b" " * size)
    assert answer.status_code == (400 if size <= 2048 else 413)


ENDLESS = {"type": "array", "items": {"const": 1}, "minItems": 100_000}


@contextmanager
def running_answer(gateway: Gateway) -> Iterator[socket.socket]:
    """A connection whose answer has begun and goes on."""
    asked = body(response_format=json_schema(ENDLESS), stream=True, max_completion_tokens=32_768)
    with gateway.raw_request(asked) as made:
        assert made.recv(1) == b"H"
        yield made


def test_running_answers_are_bounded_by_connections(strict: Gateway):
    most = LIMITS["max_connections"]
    with ExitStack() as stack:
        for _ in range(most):
            stack.enter_context(running_answer(strict))
        answer = exchange(strict, get(200))
        assert error_of(answer) == (503, "too_many_connections")
        assert b"retry-after: " in answer.lower()
    strict.eventually(lambda: exchange(strict, get(200)).startswith(b"HTTP/1.1 200"))
    refused = strict.metric("switchyard_connections_refused_total", code="too_many_connections")
    assert refused >= 1


KEPT = get(200).replace(b"connection: close\r\n", b"")
#: what a client sends before it waits for ever, and what it gets when it gives way
WAITING: dict[str, tuple[bytes, bytes]] = {
    "nothing": (b"", b""),
    "a request, and keeps the connection": (KEPT, b""),
    "a part of its headers": (KEPT[:50], b"HTTP/1.1 503"),
    "a part of its second headers": (KEPT + KEPT[:50], b"HTTP/1.1 503"),
    "a part of its body": (CHAT + b"content-length: 100\r\n\r\n{", b"HTTP/1.1 503"),
    "a request and a part of its body": (
        KEPT + CHAT + b"content-length: 100\r\n\r\n{", b"HTTP/1.1 503",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "told"), WAITING.values(), ids=WAITING.keys())
def test_a_connection_that_waits_gives_way_to_a_new_one(sent: bytes, told: bytes):
    """REGRESSION: with enough idle connections, all other clients got 503 for 75 seconds."""
    most = 4
    with Gateway(max_connections=most) as gateway, ExitStack() as stack:
        made = [stack.enter_context(connection(gateway)) for _ in range(most)]
        for each in made:
            each.sendall(sent)
            if sent.startswith(KEPT):
                assert read_answer(each).startswith(b"HTTP/1.1 200")
        # all of them wait, and this one is served in place of the first
        gateway.eventually(lambda: exchange(gateway, get(200)).startswith(b"HTTP/1.1 200"))
        ends = [read_all(made[0])]
        assert ends[0][:12] == told
        code = "too_many_connections"
        refused = gateway.metric("switchyard_connections_refused_total", code=code)
        # each request of this test is a new connection
        assert 1 <= refused <= most
        # the last one still waits
        made[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            made[-1].recv(1)


def test_a_client_that_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch):
    """REGRESSION: it held its connection and the worker for ever."""
    monkeypatch.setattr("app.server.connection.WRITE_S", 0.2)
    asked = json.dumps(
        body(response_format=json_schema(ENDLESS), stream=True, max_completion_tokens=32_768, n=8)
    ).encode()
    with Gateway() as gateway, socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = httpx.URL(gateway.url)
        made.connect((address.host, address.port))
        made.sendall(CHAT + b"content-length: %d\r\n\r\n" % len(asked) + asked)
        gateway.eventually(lambda: gateway.metric("switchyard_client_disconnects_total") == 1)
        assert gateway.metric("switchyard_workers_running", what="0:noise") == 0


def test_a_client_that_does_not_read_the_end_of_its_answers_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
):
    """REGRESSION: what did not fill the buffer held a connection that was closed, for ever."""
    made_by_uvicorn = Connection.connection_made

    def never_full(self: Connection, transport: Any) -> None:
        made_by_uvicorn(self, transport)
        transport.set_write_buffer_limits(1 << 30)

    monkeypatch.setattr("app.server.connection.WRITE_S", 0.2)
    monkeypatch.setattr(Connection, "connection_made", never_full)
    with Gateway(max_connections=1) as gateway, socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = httpx.URL(gateway.url)
        made.connect((address.host, address.port))
        made.sendall(b"GET /metrics HTTP/1.1\r\nhost: gateway\r\n\r\n" * 500 + get(200))
        gateway.eventually(lambda: exchange(gateway, get(200)).startswith(b"HTTP/1.1 200"))


def test_requests_are_served_within_all_limits(strict: Gateway):
    assert strict.post(body()).status_code == 200
