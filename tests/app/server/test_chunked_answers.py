"""Heads and ends of answers in chunks are the bytes of h11, also where h11 writes them."""

import asyncio

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from app.server.body_writers import transport_writer
from tests.app.server.pushed import CLOSING, END, REQUEST, answer, events, served, streams
from tests.waiting import PATIENCE

LAST = b"GET /last HTTP/1.1\r\nhost: g\r\nconnection: close\r\n\r\n"
#: requests; all but the last one are answered by the case's answer
REQUESTS = {
    "one": CLOSING,
    "kept": REQUEST + LAST,
    "asked to be kept": REQUEST.replace(b"host: g", b"host: g\r\nConnection: Keep-Alive") + LAST,
    "several tokens": REQUEST.replace(b"host: g", b"host: g\r\nconnection: Close, x"),
    "GET": b"GET / HTTP/1.1\r\nhost: g\r\n\r\n" + LAST,
    "HEAD": b"HEAD / HTTP/1.1\r\nhost: g\r\n\r\n" + LAST,
    "DELETE": b"DELETE / HTTP/1.1\r\nhost: g\r\n\r\n" + LAST,
    "HTTP/1.0": b"POST / HTTP/1.0\r\nhost: g\r\ncontent-length: 0\r\n\r\n",
    "upgrade": REQUEST.replace(b"host: g", b"host: g\r\nupgrade: h2c") + LAST,
    "waiting": REQUEST.replace(b"host: g", b"host: g\r\nexpect: 100-continue") + LAST,
    "no HTTP behind it": REQUEST + b"no HTTP\r\n\r\n",
}
#: status, headers and parts of answers
ANSWERS: dict[str, tuple[int, list[tuple[bytes, bytes]], list[bytes]]] = {
    "events": (
        200,
        [(b"content-type", b"text/x"), (b"X-A", b"b  c")],
        [b"a", b"", b"bc"],
    ),
    "no part": (200, [(b"a", b"b")], []),
    "no header": (200, [], [b"a"]),
    "another status": (201, [(b"a", b"b")], [b"a"]),
    "a length": (200, [(b"Content-Length", b"1")], [b"a"]),
    "chunks": (200, [(b"a", b"b"), (b"transfer-encoding", b"chunked")], [b"a"]),
    "an end": (200, [(b"connection", b"close"), (b"a", b"b")], [b"a"]),
    "an empty header": (200, [(b"a", b"")], [b"a"]),
    "bytes beyond ASCII": (200, [(b"a", b"\xe9")], [b"a"]),
    "a forged header": (200, [(b"a", b"b\r\nc: d")], [b"a"]),
}


def answers(status: int, headers: list[tuple[bytes, bytes]], parts: list[bytes]) -> ASGIApp:
    """An app that gives this answer, and a plain one to the last request."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["more_body"]:
            pass
        is_last = scope["path"] == "/last"
        own = [(b"content-length", b"0")] if is_last else headers
        await send({"type": "http.response.start", "status": status, "headers": own})
        for part in [] if is_last else parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        end = b"" if is_last or (b"Content-Length", b"1") in headers else b"end"
        await send({"type": "http.response.body", "body": end})

    return app


@pytest.mark.parametrize("given", ANSWERS.values(), ids=ANSWERS.keys())
@pytest.mark.parametrize("sent", REQUESTS.values(), ids=REQUESTS.keys())
async def test_an_answer_is_that_of_h11(
    sent: bytes, given: tuple[int, list[tuple[bytes, bytes]], list[bytes]]
):
    app = answers(*given)
    assert await answer(app, sent) == await answer(app, sent, around=lambda app: app)


@pytest.mark.parametrize("kind", ["http.response.start", "http.response.trailers", "x"])
async def test_a_message_that_is_no_part_of_a_body_never_ends_it(kind: str):
    """REGRESSION: a second head ended the answer, which its client took for a complete one."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": kind, "status": 200, "headers": []})

    data = await answer(app, REQUEST)
    assert data == await answer(app, REQUEST, around=lambda app: app)
    assert not data.endswith(END)


async def test_a_client_that_leaves_is_noticed_once_and_also_afterwards():
    """Two calls for one client would also cancel what its request does at its end."""
    calls: list[str] = []
    begun, left = asyncio.Event(), asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        writer = transport_writer(scope)
        assert writer is not None
        writer.watch(lambda: calls.append("ended"))
        writer.unwatch()
        writer.watch(lambda: calls.append("left"))
        begun.set()
        while not calls:
            await asyncio.sleep(0)
        writer.leave()
        writer.watch(lambda: calls.append("ended"))
        writer.unwatch()
        writer.watch(left.set)

    async with served(app) as (address, _), asyncio.timeout(PATIENCE):
        _, writer = await asyncio.open_connection(*address)
        writer.write(REQUEST)
        await begun.wait()
        writer.close()
        await left.wait()
    assert calls == ["left"]


async def test_a_request_that_is_no_http_behind_an_answer_does_not_end_it_as_a_departure():
    told: list[str] = []
    app = streams(events(b"a"), on_disconnect=lambda: told.append("left"))
    data = await answer(app, REQUEST + b"no HTTP\r\n\r\n")
    assert data.count(END) == 1
    assert b'"code": "invalid_http"' in data
    assert told == []
