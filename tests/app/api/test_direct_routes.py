"""Routes that are found without FastAPI's routing: their headers, and their errors."""

import pytest
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.datastructures import Headers
from starlette.types import Message, Scope

from app.api.direct_routes import Direct, DirectRoutes, _Headers, add_direct

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
