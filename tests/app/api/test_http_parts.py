"""Keys, request ids, last-resort errors, and event streams, each alone."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from app.api.error_responses import install_error_handlers
from app.api.middleware import RequestMiddleware
from app.observability.logs import make_logger
from app.observability.metrics import MAX_KEYWORDS, METHODS, Metrics
from app.server.event_stream import Disconnected, EventStream, Pulled, run_until_disconnect
from app.writers.events import event


class Gateway:
    """A tiny app behind the real middleware and error handlers."""

    def __init__(self) -> None:
        self.log = io.StringIO()
        self.metrics = Metrics()
        app = FastAPI(openapi_url=None)
        app.add_middleware(
            RequestMiddleware, metrics=self.metrics, logger=make_logger("info", self.log)
        )
        install_error_handlers(app)

        @app.get("/broken")
        async def broken() -> None:
            secret = "prompt of a client"
            raise RuntimeError(f"no {len(secret)}")

        @app.get("/fine/{name}")
        async def fine(name: str) -> dict[str, str]:
            return {"name": name}

        transport = httpx.ASGITransport(app)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://gateway")

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("my-id-1", True), ("x" * 200, True), ("x" * 201, False), ("two words", False), (None, False)],
)
async def test_a_usable_request_id_is_echoed_and_others_are_replaced(sent: str | None, kept: bool):
    headers = {} if sent is None else {"x-request-id": sent}
    answer = await Gateway().client.get("/fine/a", headers=headers)
    given = answer.headers["x-request-id"]
    assert (given == sent) is kept
    assert kept or given.startswith("req_")
    assert int(answer.headers["openai-processing-ms"]) >= 0


async def test_what_nobody_expected_is_a_500_whose_details_are_only_in_the_log():
    gateway = Gateway()
    answer = await gateway.client.get("/broken")
    error = answer.json()["error"]
    assert answer.status_code == 500
    assert (error["type"], error["param"], error["code"]) == (
        "server_error",
        None,
        "internal_error",
    )
    assert answer.headers["x-request-id"] in error["message"]
    assert "RuntimeError" not in answer.text
    logged = next(line for line in gateway.lines() if line["level"] == "error")
    assert logged["request_id"] == answer.headers["x-request-id"]
    assert "RuntimeError" in gateway.log.getvalue()
    assert "prompt of a client" not in str(logged)
    assert gateway.metrics.registry.get_sample_value("switchyard_internal_errors_total") == 1


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/nowhere", 404, "unknown_url"), ("POST", "/fine/a", 405, "method_not_supported")],
)
async def test_the_routers_own_refusals_are_error_objects(
    method: str, path: str, status: int, code: str
):
    answer = await Gateway().client.request(method, path)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert set(error) == {"message", "type", "param", "code"}


async def test_requests_are_counted_by_route_and_not_by_path():
    gateway = Gateway()
    for path in ("/fine/a", "/fine/b", "/nowhere/1", "/nowhere/2"):
        await gateway.client.get(path)
    count = gateway.metrics.registry.get_sample_value
    fine = {"method": "GET", "route": "/fine/{name}", "code": "200"}
    other = {"method": "GET", "route": "other", "code": "404"}
    assert count("switchyard_http_requests_total", fine) == 2
    assert count("switchyard_http_requests_total", other) == 2
    assert count("switchyard_requests_in_flight") == 0


async def test_methods_that_clients_invent_share_one_label():
    """REGRESSION: each invented method made 17 new time series, without a key."""
    gateway = Gateway()
    for number in range(50):
        await gateway.client.request(f"METHOD{number}", "/fine/a")
    await gateway.client.get("/fine/a")
    samples = gateway.metrics.requests.collect()[0].samples
    methods = {sample.labels["method"] for sample in samples}
    assert methods == {"GET", "other"} <= METHODS | {"other"}
    logged = {line["method"] for line in gateway.lines() if line["event"] == "request"}
    assert logged == methods


def test_keywords_of_refused_schemas_stay_few():
    metrics = Metrics()
    for number in range(MAX_KEYWORDS + 50):
        metrics.refused(f"keyword{number}")
    samples = metrics._refused.collect()[0].samples
    labels = {sample.labels["keyword"] for sample in samples}
    assert len(labels) == MAX_KEYWORDS + 1
    assert "other" in labels


# -- event streams ---------------------------------------------------------------------------------


class Source:
    """Events from a script; a None waits for ever. Remembers whether it was closed."""

    def __init__(self, *events: bytes | None) -> None:
        self._script = events
        self.closed = 0
        self.cancelled = False

    async def send_to(self, write: Callable[[bytes], None]) -> None:
        try:
            for item in self._script:
                if item is None:
                    await asyncio.Event().wait()
                else:
                    write(item)
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    def pause(self) -> None:
        raise AssertionError

    def resume(self) -> None:
        raise AssertionError

    async def aclose(self) -> None:
        self.closed += 1


async def answer(
    source: Source, *, leave_after: int | None = None, send_fails: bool = False
) -> tuple[list[Message], list[str]]:
    """Runs a stream against a client that leaves after so many messages."""
    sent: list[Message] = []
    left = asyncio.Event()
    told: list[str] = []

    async def send(message: Message) -> None:
        if send_fails and len(sent) == leave_after:
            raise OSError("gone")
        sent.append(message)
        if not send_fails and len(sent) == leave_after:
            left.set()

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    stream = EventStream(source, on_disconnect=lambda: told.append("left"))
    await asyncio.wait_for(stream({"type": "http"}, receive, send), 10)
    return sent, told


async def test_a_stream_is_sent_with_the_right_headers_and_an_end():
    sent, told = await answer(Source(b"a", b"b"))
    start, *bodies = sent
    assert dict(start["headers"]) == {
        b"content-type": b"text/event-stream; charset=utf-8",
        b"cache-control": b"no-cache",
        b"x-accel-buffering": b"no",
    }
    *events, last = ((m["body"], m["more_body"]) for m in bodies)
    assert b"".join(data for data, _ in events) == b"ab"
    assert all(more for _, more in events)
    assert last == (b"", False)
    assert told == []


@pytest.mark.parametrize(("leave_after", "send_fails"), [(2, False), (1, True)])
async def test_a_client_that_leaves_ends_the_work(leave_after: int, send_fails: bool):
    source = Source(b"a", None)
    sent, told = await answer(source, leave_after=leave_after, send_fails=send_fails)
    assert len(sent) == leave_after
    assert source.closed == 1
    assert source.cancelled
    assert told == ["left"]


@pytest.mark.parametrize("pauses", [False, True])
async def test_iterated_events_are_asked_for_unless_they_are_paused(pauses: bool):
    asked: list[bytes] = []

    async def each() -> AsyncIterator[bytes]:
        for data in (b"a", b"b", b"c"):
            asked.append(data)
            yield data

    class Events:
        closed = False

        def __aiter__(self) -> AsyncIterator[bytes]:
            return each()

        async def aclose(self) -> None:
            self.closed = True

    written: list[bytes] = []

    def write(data: bytes) -> None:
        written.append(data)
        if pauses and data == b"b":
            source.pause()

    events = Events()
    source = Pulled(events)
    sending = asyncio.create_task(source.send_to(write))
    for _ in range(9):
        await asyncio.sleep(0)
    assert sending.done() is not pauses
    assert asked == written == ([b"a", b"b"] if pauses else [b"a", b"b", b"c"])
    source.resume()
    await sending
    assert written == [b"a", b"b", b"c"]
    await source.aclose()
    assert events.closed


async def test_a_stream_is_closed_even_if_it_never_began():
    source = Source(b"a")
    await answer(source, leave_after=0, send_fails=True)
    assert source.closed == 1


def test_an_event_is_one_line_of_utf_8():
    assert event({"a": "é\n\u2028", "b": None}) == 'data: {"a":"é\\n\\u2028","b":null}\n\n'.encode()


async def test_work_that_is_done_wins_and_work_that_is_not_is_cancelled():
    async def never() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def at_once() -> Message:
        return {"type": "http.disconnect"}

    async def work() -> int:
        return 3

    cancelled = asyncio.Event()

    async def long_work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    assert await run_until_disconnect(work(), never) == 3
    with pytest.raises(Disconnected):
        await run_until_disconnect(long_work(), at_once)
    assert cancelled.is_set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("order", ["client first", "shutdown first"])
async def test_a_cancellation_beside_a_disconnect_is_still_one(order: str):
    """The end of a shutdown cancels requests whose clients may leave at the same moment."""
    left = asyncio.Event()

    async def receive() -> Message:
        await left.wait()
        return {"type": "http.disconnect"}

    async def ask() -> None:
        await run_until_disconnect(asyncio.Event().wait(), receive)

    task = asyncio.create_task(ask())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    if order == "client first":
        left.set()
        await asyncio.sleep(0)
        task.cancel()
    else:
        task.cancel()
        left.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_outlives_its_cancellation_keeps_its_result():
    """A disconnect that comes when the work is done must not cancel what the task does next."""

    async def at_once() -> Message:
        return {"type": "http.disconnect"}

    async def stubborn() -> int:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return 3

    assert await run_until_disconnect(stubborn(), at_once) == 3
    await asyncio.sleep(0)


async def test_an_error_after_the_first_byte_ends_the_connection_without_the_bodys_end():
    async def breaks(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("too late")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    logger = make_logger("info", io.StringIO())
    middleware = RequestMiddleware(breaks, metrics=Metrics(), logger=logger)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
    await middleware(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start"]
