"""The Responses API over a WebSocket, with the official client and a plain one."""

import json
import socket as plain
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import openai
import pytest
from openai.types.responses.responses_server_event import ResponsesServerEvent
from pydantic import TypeAdapter
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from app.api import responses_socket
from app.server import web_socket
from app.writers import ResponseEventWriter
from tests.app.examples import LIGHT
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.app.held_worker import HELD, let_go
from tests.app.official_types import check

__all__ = ["let_go"]
#: two clients by key
gateway = gateway_fixture(
    format="hermes",
    reasoning="on",
    api_keys="one,two",
    max_body_bytes=100_000,
    max_image_body_bytes=200_000,
)

EVENT: TypeAdapter[Any] = TypeAdapter(ResponsesServerEvent)
ENDED = ("response.completed", "response.incomplete", "response.failed", "error")
ASKED: dict[str, Any] = {"model": "noise", "input": "Hello", "max_output_tokens": 60, "seed": 1}
TOOLS: list[Any] = [{"type": "function", "name": "set_light", "parameters": LIGHT}]


def client_of(gateway: Gateway, key: str = "one") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=0)


@pytest.fixture
def client(gateway: Gateway) -> openai.OpenAI:
    return client_of(gateway)


@contextmanager
def connected(gateway: Gateway, **headers: str) -> Iterator[ClientConnection]:
    address = gateway.url.replace("http", "ws") + "/v1/responses"
    with connect(address, additional_headers=headers, open_timeout=PATIENCE) as socket:
        yield socket


@pytest.fixture
def socket(gateway: Gateway) -> Iterator[ClientConnection]:
    with connected(gateway, authorization="Bearer one") as socket:
        yield socket


def told(socket: ClientConnection) -> list[Any]:
    """Return the events of a response, which are of the client's types."""
    events: list[Any] = []
    while not events or events[-1].type not in ENDED:
        raw = json.loads(socket.recv(PATIENCE))
        events.append(EVENT.validate_python(raw))
        check(events[-1])
    return events


def asked(socket: ClientConnection, **more: Any) -> list[Any]:
    socket.send(json.dumps({"type": "response.create", **ASKED, **more}))
    return told(socket)


def refused(socket: ClientConnection, **more: Any) -> Any:
    (error,) = asked(socket, **more)
    assert error.type == "error"
    return error


def pinging(seconds: float | None) -> Gateway:
    """Return a gateway that pings its clients so often. None: never."""
    gateway = Gateway()
    gateway._server.config.ws_ping_interval = gateway._server.config.ws_ping_timeout = seconds
    return gateway


@contextmanager
def silent(gateway: Gateway, body: dict[str, Any]) -> Iterator[None]:
    """Send a message on a connection that never reads."""
    address = httpx.URL(gateway.url)
    with plain.socket() as connection:
        connection.setsockopt(plain.SOL_SOCKET, plain.SO_RCVBUF, 4096)
        connection.connect((address.host, address.port))
        protocol = ClientProtocol(parse_uri(f"ws://{address.host}:{address.port}/v1/responses"))
        protocol.send_request(protocol.connect())
        connection.sendall(b"".join(protocol.data_to_send()))
        while b"\r\n\r\n" not in (data := connection.recv(4096)):
            pass
        protocol.receive_data(data)
        protocol.send_text(json.dumps({"type": "response.create", **body}).encode())
        connection.sendall(b"".join(protocol.data_to_send()))
        yield


def test_the_official_client_gets_the_events_of_a_stream(client: openai.OpenAI) -> None:
    extra = {name: value for name, value in ASKED.items() if name not in ("model", "input")}
    stream = client.responses.create(model="noise", input="Hello", stream=True, extra_body=extra)
    wanted = [event.type for event in stream]
    with client.responses.connect() as connection:
        for _ in range(2):
            connection.send({"type": "response.create", **ASKED})  # type: ignore[typeddict-unknown-key]
            events: list[Any] = []
            for event in connection:
                events.append(event)
                if event.type in ENDED:
                    break
            assert [event.type for event in events] == wanted
            assert [event.sequence_number for event in events] == list(range(len(events)))
    response = client.responses.retrieve(events[-1].response.id)
    assert response.output_text == events[-1].response.output_text


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_conversation_is_continued(
    client: openai.OpenAI, socket: ClientConnection, is_stored: bool
) -> None:
    """Without a store the connection keeps the last response."""
    tools = {"tools": TOOLS, "tool_choice": "required", "max_output_tokens": 3000}
    first = asked(socket, store=is_stored, **tools)[-1].response
    (call,) = [item for item in first.output if item.type == "function_call"][:1]
    result = {"type": "function_call_output", "call_id": call.call_id, "output": "on"}
    second = asked(socket, store=is_stored, input=[result], previous_response_id=first.id)
    third = asked(
        socket, store=is_stored, input="And?", previous_response_id=second[-1].response.id
    )
    items = [{"role": "user", "content": "Hello"}, *(item.to_dict() for item in first.output)]
    items += [result, *(item.to_dict() for item in second[-1].response.output)]
    items.append({"role": "user", "content": "And?"})
    counted = client.responses.input_tokens.count(model="noise", input=items)  # type: ignore[arg-type]
    assert third[-1].response.usage.input_tokens == counted.input_tokens


def test_an_unstored_response_may_continue_a_stored_one(
    client: openai.OpenAI, socket: ClientConnection
) -> None:
    """REGRESSION: no response could continue it."""
    number, items = None, []
    for store in (True, False, False):
        (*_, last) = asked(socket, previous_response_id=number, store=store)
        number = last.response.id
        items += [{"role": "user", "content": "Hello"}]
        counted = client.responses.input_tokens.count(model="noise", input=items)  # type: ignore[arg-type]
        assert last.response.usage.input_tokens == counted.input_tokens
        items += [item.to_dict() for item in last.response.output]


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_response_without_generation_is_continued(
    client: openai.OpenAI, socket: ClientConnection, is_stored: bool
) -> None:
    """As the Codex CLI begins: with instructions alone, before its user has written."""
    begin = [{"role": "developer", "content": "Be brief."}]
    events = asked(socket, store=is_stored, input=begin, generate=False)
    kinds = ["response.created", "response.in_progress", "response.completed"]
    assert [event.type for event in events] == kinds
    ready = events[-1].response
    assert (ready.status, ready.output, ready.usage.total_tokens) == ("completed", [], 0)
    answer = asked(socket, store=is_stored, previous_response_id=ready.id)[-1].response
    items = [*begin, {"role": "user", "content": "Hello"}]
    counted = client.responses.input_tokens.count(model="noise", input=items)  # type: ignore[arg-type]
    assert answer.usage.input_tokens == counted.input_tokens


def test_an_unstored_response_is_known_to_its_connection_alone(
    gateway: Gateway, socket: ClientConnection
) -> None:
    number = asked(socket, store=False)[-1].response.id
    with connected(gateway, authorization="Bearer one") as other:
        error = refused(other, previous_response_id=number)
        assert (error.status, error.error.code) == (400, "previous_response_not_found")
    assert asked(socket, store=False, previous_response_id=number)[-1].type != "error"
    # only the last one is kept
    assert refused(socket, previous_response_id=number).error.code == "previous_response_not_found"


def test_a_failed_continuation_drops_the_kept_response(socket: ClientConnection) -> None:
    number = asked(socket, store=False)[-1].response.id
    unmatched = {"type": "function_call_output", "call_id": "missing", "output": "x"}
    assert refused(socket, previous_response_id=number, input=[unmatched]).status == 400
    error = refused(socket, previous_response_id=number)
    assert error.error.code == "previous_response_not_found"


WRONG: dict[str, tuple[Any, str | None, str]] = {
    "no JSON": ("{", None, "invalid_json"),
    # REGRESSION: it was no JSON
    "half a character": (
        '{"type": "response.create", "user": "\\ud800"}', "user", "invalid_value"
    ),
    "no object": ("[]", "type", "unsupported_value"),
    "another type": ({"type": "response.steer"}, "type", "unsupported_value"),
    "a lane": ({**ASKED, "stream_id": "a"}, "stream_id", "unsupported_parameter"),
    "in the background": ({**ASKED, "background": True}, "background", "unsupported_parameter"),
    "a number": ({**ASKED, "generate": 7}, "generate", "invalid_type"),
    "a typo": ({**ASKED, "inptu": "x"}, "inptu", "unknown_parameter"),
    "another model": ({**ASKED, "model": "x" * 1024}, "model", "model_not_found"),
    "a long text": ({**ASKED, "user": "x" * 1024}, "user", "string_above_max_length"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_an_error_event_and_the_connection_goes_on(
    socket: ClientConnection, name: str
) -> None:
    message, param, code = WRONG[name]
    if isinstance(message, dict):
        message = json.dumps({"type": "response.create", **message})
    socket.send(message)
    (event,) = told(socket)
    assert (event.error.param, event.error.code) == (param, code)
    assert event.status in (400, 404)
    assert asked(socket)[-1].type != "error"


def test_a_message_that_is_too_large_ends_the_connection(socket: ClientConnection) -> None:
    socket.send(json.dumps({"type": "response.create", **ASKED, "input": "x" * 200_000}))
    with pytest.raises(Exception, match="1009"):
        socket.recv(PATIENCE)


def until_closed(socket: ClientConnection, parts: list[str]) -> Iterator[str]:
    """Yield the parts of a message, whose last one is sent when the connection is closed."""
    yield from parts
    until = time.monotonic() + PATIENCE
    while socket.protocol.close_code is None and time.monotonic() < until:
        time.sleep(0.01)
    yield "x"


def test_messages_that_arrive_have_a_bound_together() -> None:
    """One that arrives in frames counts from its first one; whole ones no more."""
    limits = {
        "max_body_bytes": 50_000,
        "max_image_body_bytes": 50_000,
        "max_arriving_bytes": 60_000,
    }

    def parts() -> Iterator[str]:
        yield from ["x" * 20_000] * 2
        reached.set()
        assert go_on.wait(PATIENCE)
        yield "x"

    reached, go_on = threading.Event(), threading.Event()
    with (
        Gateway(**limits) as gateway,
        connected(gateway) as slow,
        connected(gateway) as other,
    ):
        with ThreadPoolExecutor() as pool:
            sending = pool.submit(slow.send, parts())
            assert reached.wait(PATIENCE)
            assert asked(other, input="x" * 15_000)[-1].type != "error"
            with pytest.raises(ConnectionClosed, match="1013"):
                other.send(until_closed(other, ["x" * 25_000]))
            go_on.set()
            sending.result()
            assert told(slow)[-1].error.code == "invalid_json"
        with connected(gateway) as third:
            assert asked(third, input="x" * 15_000)[-1].type != "error"


def test_a_message_of_too_many_frames_closes_its_connection(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_socket, "MAX_FRAMES", 10)
    with (
        connected(gateway, authorization="Bearer one") as socket,
        pytest.raises(ConnectionClosed, match="1009"),
    ):
        socket.send(until_closed(socket, ["x"] * 11))


def test_messages_wait_for_each_other(socket: ClientConnection) -> None:
    for _ in range(3):
        socket.send(json.dumps({"type": "response.create", **ASKED}))
    answers = [told(socket) for _ in range(3)]
    assert all(events[-1].type in ENDED[:2] for events in answers)
    assert len({events[-1].response.id for events in answers}) == 3


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [({}, 401, None), ({"authorization": "Bearer three"}, 401, "invalid_api_key")],
    ids=["no key", "a wrong key"],
)
def test_a_handshake_needs_a_key(
    gateway: Gateway,
    caplog: pytest.LogCaptureFixture,
    headers: dict[str, str],
    status: int,
    code: str | None,
) -> None:
    with pytest.raises(InvalidStatus) as caught, connected(gateway, **headers):
        pass
    response = caught.value.response
    assert response.status_code == status
    error = json.loads(response.body or b"")["error"]
    assert code is None or error["code"] == code
    assert caplog.records == []


def test_pages_of_other_sites_get_no_socket() -> None:
    with Gateway() as gateway:
        with pytest.raises(InvalidStatus) as caught, connected(gateway, origin="https://x.example"):
            pass
        error = json.loads(caught.value.response.body or b"")["error"]
        assert error["code"] == "origin_not_allowed"
        with connected(gateway) as socket:
            assert asked(socket)[-1].type in ENDED[:2]


def test_connections_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses_socket, "MAX_OF_CLIENT", 2)
    with Gateway(api_keys="one,two", max_websockets=3) as gateway:
        one, two = {"authorization": "Bearer one"}, {"authorization": "Bearer two"}
        with connected(gateway, **one), connected(gateway, **one):
            with pytest.raises(InvalidStatus) as caught, connected(gateway, **one):
                pass
            assert caught.value.response.status_code == 429
            with connected(gateway, **two):
                with pytest.raises(InvalidStatus) as caught, connected(gateway, **two):
                    pass
                assert caught.value.response.status_code == 503
        gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 0)


def test_a_connection_has_an_end(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses_socket, "MAX_SECONDS", 0.05)
    with connected(gateway, authorization="Bearer one") as socket:
        (event,) = told(socket)
        assert event.error.code == "websocket_connection_limit_reached"


def test_a_client_that_leaves_ends_its_response(gateway: Gateway) -> None:
    with connected(gateway, authorization="Bearer one") as socket:
        ones = {"type": "array", "items": {"const": 1}, "minItems": 10_000}
        text = {"format": {"type": "json_schema", "name": "a", "schema": ones}}
        more = {"max_output_tokens": 8000, "text": text}
        socket.send(json.dumps({"type": "response.create", **ASKED, **more}))
        socket.recv(PATIENCE)
    gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 0)
    gateway.eventually(lambda: gateway.metric("switchyard_admission", what="running") == 0)


def test_a_client_that_leaves_while_its_response_waits_ends_it(
    gateway: Gateway, let_go: threading.Event
) -> None:
    """REGRESSION: it ran until the stream began."""
    with connected(gateway, authorization="Bearer one") as socket:
        socket.send(json.dumps({"type": "response.create", **ASKED, "seed": HELD}))
        gateway.eventually(lambda: gateway.metric("switchyard_admission", what="running") == 1)
    gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 0)
    assert gateway.metric("switchyard_admission", what="running") == 0


def test_pings_may_wait_behind_messages(let_go: threading.Event) -> None:
    """REGRESSION: the connection was closed, since no answer to a ping had been read."""
    with pinging(0.05) as gateway, connected(gateway) as socket:
        for seed in (HELD, 1, 1, 1):
            socket.send(json.dumps({"type": "response.create", **ASKED, "seed": seed}))
        time.sleep(0.5)
        let_go.set()
        for _ in range(4):
            assert told(socket)[-1].type in ENDED[:2]


def test_a_client_that_answers_no_ping_is_disconnected(let_go: threading.Event) -> None:
    with pinging(0.05) as gateway, silent(gateway, {**ASKED, "seed": HELD}):
        gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 1)
        gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 0)


def test_a_client_that_does_not_read_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    """REGRESSION: its response ran for the hour of the connection."""
    monkeypatch.setattr(web_socket, "WRITE_S", 0.05)
    # the first events repeat it, and fill the buffers between the two
    tool = {"type": "function", "name": "f", "parameters": {}, "description": "a" * 3_000_000}
    with (
        pinging(None) as gateway,
        silent(gateway, {**ASKED, "tools": [tool], "tool_choice": "none"}),
    ):
        gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 1)
        gateway.eventually(lambda: gateway.metric("switchyard_websockets", what="open") == 0)


def test_a_stream_that_breaks_off_ends_with_an_error(
    socket: ClientConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """REGRESSION: the client waited for its end."""

    def fail(*_: object) -> bytes:
        raise LookupError

    with monkeypatch.context() as patch:
        patch.setattr(ResponseEventWriter, "write", fail)
        patch.setattr(ResponseEventWriter, "failed", fail)
        last = asked(socket)[-1]
    assert (last.type, last.status, last.error.code) == ("error", 500, "internal_error")
    assert asked(socket)[-1].type in ENDED[:2]


def test_other_paths_take_no_socket(gateway: Gateway) -> None:
    address = gateway.url.replace("http", "ws") + "/v1/chat/completions"
    headers = {"authorization": "Bearer one"}
    with pytest.raises(InvalidStatus) as caught, connect(address, additional_headers=headers):
        pass
    assert caught.value.response.status_code == 405
