"""Clients that mean harm: ambiguous requests, slow readers, half-closed sockets, invented names."""

import json
import random
import socket
import string
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest

from app.server.connection import Connection
from tests.app.examples import body, json_schema
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture

CHAT = b"POST /v1/chat/completions HTTP/1.1\r\nhost: g\r\nconnection: close\r\n"
GET = b"GET /health/live HTTP/1.1\r\nhost: g\r\n"
CHUNKED = CHAT + b"transfer-encoding: chunked\r\n"
ENDLESS = {"type": "array", "items": {"const": 1}, "minItems": 100_000}
STREAM: dict[str, Any] = body(
    response_format=json_schema(ENDLESS), stream=True, max_completion_tokens=32_768, n=8
)
#: the most bytes that wait for one client: asyncio's mark of 64 KiB, and a batch of events
MAX_WAITING_BYTES = 512 << 10

small = gateway_fixture(header_seconds=0.5, body_seconds=0.5, max_connections=100)


def connected(gateway: Gateway) -> socket.socket:
    address = httpx.URL(gateway.url)
    return socket.create_connection((address.host, address.port or 80), PATIENCE)


def exchange(gateway: Gateway, sent: bytes) -> bytes:
    """All that comes back until the gateway closes the connection."""
    with connected(gateway) as made:
        made.sendall(sent)
        parts = []
        while part := made.recv(65536):
            parts.append(part)
    return b"".join(parts)


#: a request whose end or meaning two parsers may see differently
AMBIGUOUS: dict[str, bytes] = {
    "both lengths": CHUNKED + b"content-length: 5\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two lengths": CHAT + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a signed length": CHAT + b"content-length: +2\r\n\r\n{}",
    "a negative length": CHAT + b"content-length: -1\r\n\r\n{}",
    "a hexadecimal length": CHAT + b"content-length: 0x2\r\n\r\n{}",
    "a chunk of no number": CHUNKED + b"\r\nzz\r\n{}\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"\r\n-2\r\n{}\r\n0\r\n\r\n",
    "a prefixed chunk": CHUNKED + b"\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "an endless chunk": CHUNKED + b"\r\nfffffffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "a chunk without an end": CHUNKED + b"\r\n2\r\n{}xx0\r\n\r\n",
    "another encoding": CHAT + b"transfer-encoding: gzip\r\n\r\n{}",
    "two encodings": CHAT + b"transfer-encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "two headers of encodings": CHUNKED
    + b"transfer-encoding: identity\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "a blank before a colon": CHAT + b"transfer-encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "NUL": GET + b"x: a\0b\r\n\r\n",
    "CR": GET + b"x: a\rb\r\n\r\n",
    "no host": b"GET /health/live HTTP/1.1\r\n\r\n",
    "two hosts": GET + b"host: h\r\n\r\n",
    "a blank in the path": b"GET /hea lth HTTP/1.1\r\nhost: g\r\n\r\n",
}


@pytest.mark.parametrize("sent", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
def test_an_ambiguous_request_is_refused_and_its_connection_closed(small: Gateway, sent: bytes):
    """REGRESSION: Transfer-Encoding won over Content-Length, and the connection stayed open."""
    answer = exchange(small, sent + GET + b"\r\n")
    head, _, text = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 "), answer[:200]
    assert b"connection: close" in head.lower()
    assert json.loads(text)["error"]["code"] == "invalid_http"


def test_a_connection_with_both_lengths_is_closed_though_it_may_stay_open(small: Gateway):
    kept = AMBIGUOUS["both lengths"].replace(b"connection: close\r\n", b"")
    answer = exchange(small, kept + GET + b"\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"connection: close" in answer


#: RFC 9112 lets a server read these (2.2 and 5.2); a folded line becomes one
LENIENT = {
    "line feeds": b"GET /health/live HTTP/1.1\nhost: g\nconnection: close\n\n",
    "a folded line": GET + b"x-a: b\r\n c\r\nconnection: close\r\n\r\n",
}


@pytest.mark.parametrize("sent", LENIENT.values(), ids=LENIENT.keys())
def test_old_line_ends_are_read_as_one_request(small: Gateway, sent: bytes):
    assert exchange(small, sent).count(b"HTTP/1.1 200 ") == 1


def test_a_client_that_closes_its_half_has_left(small: Gateway):
    with small.raw_request(STREAM) as made:
        assert made.recv(1) == b"H"
        made.shutdown(socket.SHUT_WR)
        small.eventually(lambda: small.metric("switchyard_workers_running", what="0:noise") == 0)


def test_a_client_that_reads_bytes_slows_its_generation_and_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
):
    """Its waiting bytes are bounded, and other clients are served."""
    monkeypatch.setattr("app.server.connection.WRITE_S", 2.0)
    sizes: list[int] = []
    paused = Connection.pause_writing

    def pause(self: Connection) -> None:
        sizes.append(self.transport.get_write_buffer_size())
        paused(self)

    monkeypatch.setattr(Connection, "pause_writing", pause)
    with Gateway() as gateway, socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        address = httpx.URL(gateway.url)
        made.connect((address.host, address.port))
        content = json.dumps(STREAM).encode()
        made.sendall(CHAT + b"content-length: %d\r\n\r\n" % len(content) + content)
        gateway.eventually(lambda: bool(sizes))

        def has_left() -> bool:
            with suppress(ConnectionError):
                made.recv(1)
            return gateway.metric("switchyard_client_disconnects_total") == 1

        gateway.eventually(has_left)
        assert max(sizes) <= MAX_WAITING_BYTES
        assert gateway.metric("switchyard_workers_running", what="0:noise") == 0


def test_invented_methods_and_paths_make_no_new_series(small: Gateway):
    rng = random.Random(7)

    def name() -> str:
        return "".join(rng.choices(string.ascii_uppercase, k=9))

    def series() -> int:
        return len(small.get("/metrics").text.splitlines())

    def ask() -> None:
        line = f"{name()} /{name()}/{name()}?{name()} HTTP/1.1\r\nhost: {name()}\r\n"
        exchange(small, line.encode() + b"connection: close\r\n\r\n")

    ask()
    before = series()
    for _ in range(50):
        ask()
    assert series() == before


def test_more_connections_than_the_limit_cost_only_themselves(small: Gateway):
    """Idle ones beyond the limit get an answer and are closed; then others are served."""
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(small)) for _ in range(1_000)]
        for each in opened[::-1]:
            while each.recv(65536):
                pass
    refused = small.metric("switchyard_connections_refused_total", code="too_many_connections")
    assert refused >= 800
    assert small.get("/health/live").status_code == 200
