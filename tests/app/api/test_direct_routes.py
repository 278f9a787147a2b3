"""Routes that are found without FastAPI's routing: their headers, and their errors."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.types import Message, Scope

from app.api.direct_routes import Direct, DirectRoutes, _Headers, add_direct
from tests.app.examples import body
from tests.app.gateway import OPTIONS, Gateway

GIVEN = [(b"a", b"1"), (b"b", b"\xe9"), (b"a", b"2"), (b"content-length", b"0")]


@pytest.mark.parametrize("name", ["a", "A", "b", "c", "content-length", "Content-Length"])
def test_headers_of_a_table_are_those_of_starlette(name: str):
    ours, theirs = _Headers({"headers": [*GIVEN]}), Headers(scope={"headers": [*GIVEN]})
    assert ours.get(name) == theirs.get(name)
    assert ours.get(name, "") == theirs.get(name, "")
    assert (name in ours) is (name in theirs)
    assert ours.getlist(name) == theirs.getlist(name)
    assert ours.items() == theirs.items()
    with pytest.raises(KeyError):
        ours["d"]


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("POST", "/x", b"direct"),
        ("GET", "/x", b"fastapi"),
        ("POST", "/y", b"fastapi"),
        ("POST", "/x/", b"fastapi"),
    ],
)
async def test_only_the_exact_method_and_path_are_found_directly(
    method: str, path: str, answer: bytes
):
    router = APIRouter()
    routes: Direct = {}

    @router.post("/x")
    async def x(request: Request) -> Response:
        assert request.headers["a"] == "1"
        return Response("direct")

    other = FastAPI()

    @other.api_route("/{rest:path}", methods=["GET", "POST"])
    async def rest() -> Response:
        return Response("fastapi")

    add_direct(routes, router)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": method, "path": path, "headers": [*GIVEN]}
    scope |= {"query_string": b"", "root_path": "", "http_version": "1.1", "state": {}}
    await DirectRoutes(other, routes=routes)(scope, receive, send)
    assert sent[1]["body"] == answer
    if answer == b"direct":
        # metrics and log lines have its path
        assert scope["route"].path == "/x"


CHAT = "/v1/chat/completions"
#: method, path, headers, and fields of the body beside the usual ones
REQUESTS: dict[str, tuple[str, str, dict[str, str], dict[str, Any]]] = {
    "whole": ("POST", CHAT, {}, {}),
    "stream": ("POST", CHAT, {}, {"stream": True}),
    "a slash at the end": ("POST", f"{CHAT}/", {}, {}),
    "two slashes": ("POST", f"/{CHAT}", {}, {}),
    "an escaped letter": ("POST", "/v1/%63hat/completions", {}, {}),
    "an escaped slash": ("POST", "/v1/chat%2Fcompletions", {}, {}),
    "an escaped line end": ("POST", f"{CHAT}%0A", {}, {}),
    "a query": ("POST", f"{CHAT}?a=b", {}, {}),
    "HEAD": ("HEAD", CHAT, {}, {}),
    "PUT": ("PUT", CHAT, {}, {}),
    "OPTIONS": ("OPTIONS", CHAT, {}, {}),
    "a web page": ("POST", CHAT, {"origin": "https://chat.example"}, {"stream": True}),
    "a foreign page": ("POST", CHAT, {"origin": "https://evil.example"}, {}),
    "a foreign host": ("POST", CHAT, {"host": "evil.example"}, {}),
    "an invalid field": ("POST", CHAT, {}, {"temperature": 9}),
    "no JSON": ("POST", CHAT, {"content-type": "text/plain"}, {}),
    "a large body": ("POST", CHAT, {}, {"user": "u" * 4096}),
    "another API's error": ("POST", "/v1/messages", {"anthropic-version": "x"}, {}),
}
#: what differs from answer to answer
VARYING = re.compile(
    r"(chatcmpl-|req_)[0-9a-f]{32}|(?<=\"created\":)\d+|^(date|openai-processing-ms): .*", re.M
)


@pytest.fixture(scope="module")
def gateways() -> Iterator[tuple[Gateway, Gateway]]:
    """A gateway, and one whose requests all take FastAPI's routing."""
    settings: dict[str, Any] = {"cors_origins": "https://chat.example", "max_body_bytes": 2048}
    with Gateway(**settings) as ours, Gateway(**settings) as theirs:
        theirs.app.state.direct_routes.clear()
        yield ours, theirs


@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS.keys())
def test_an_answer_is_that_of_fastapis_routing(
    gateways: tuple[Gateway, Gateway],
    asked: tuple[str, str, dict[str, str], dict[str, Any]],
):
    method, path, headers, fields = asked

    def answer(gateway: Gateway) -> str:
        json = body(seed=1, max_completion_tokens=4, **fields)
        response = httpx.request(method, gateway.url + path, headers=headers, json=json, **OPTIONS)
        head = "".join(f"{name}: {value}\n" for name, value in response.headers.items())
        return VARYING.sub("", f"{response.status_code}\n{head}\n{response.text}")

    ours, theirs = map(answer, gateways)
    assert ours == theirs


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other"])
def test_a_fault_is_answered_logged_and_counted_once(path: str):
    async def breaks(request: Request) -> None:
        raise RuntimeError("a secret")

    with Gateway() as gateway:
        if path == "/v1/other":
            gateway.app.add_api_route(path, breaks, methods=["POST"])
        else:
            gateway.app.state.direct_routes["POST", path] = APIRoute(path, breaks)
        answer = gateway.post({}, path=path)
        failed = [
            line["exception"][0]["exc_value"] for line in gateway.lines() if "exception" in line
        ]
        errors = gateway.metric("switchyard_internal_errors_total")
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "server_error")
    assert answer.headers["x-request-id"] in answer.text
    assert (failed, errors) == (["a secret"], 1)
