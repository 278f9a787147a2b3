"""Which LoRA adapters a SGLang server has by its own word, and how it loads and unloads them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from adapters.workers import (
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    AdapterHost,
    NoiseWorker,
    SGLangWorker,
    WorkerError,
    is_adapter_name,
)
from adapters.workers.sglang_adapters import LIST_BYTES, MAX_ADAPTERS, adapters_of

from .helpers import collect, run
from .sglang_fakes import TOKENS, MockClient, ask, event, streamed

BASE = {"id": "/models/base", "root": "/models/base", "parent": None}
LAW = {"id": "law", "root": "/adapters/law", "parent": "/models/base"}
TAX = {"id": "tax", "root": "/adapters/tax", "parent": "/models/base"}
ON = {"grammar_backend": "xgrammar", "enable_lora": True, "startup_time": {"a": 1.5}}


class Lora:
    """A server with adapters. ``status``, ``models``: its answer to /v1/models. ``before``: runs
    first.
    """

    def __init__(self, *cards: Any, **info: Any) -> None:
        self.info = ON | info
        self.models: Any = {"object": "list", "data": [BASE, *cards]}
        self.status = 200
        self.update = httpx.Response(200, json={"success": True, "error_message": ""})
        self.before: Callable[[str], Awaitable[None]] | None = None
        self.requests: list[tuple[str, Any]] = []
        self.worker = SGLangWorker("http://w", tokens=TOKENS, client=MockClient(self))

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.requests.append((path, json.loads(request.content) if request.content else None))
        listed = json.dumps(self.models)
        if self.before is not None:
            await self.before(path)
        match path:
            case "/server_info":
                return httpx.Response(200, json=self.info)
            case "/v1/models":
                return httpx.Response(self.status, text=listed)
            case "/load_lora_adapter" | "/unload_lora_adapter":
                return self.update
        return httpx.Response(200)


async def test_a_health_check_finds_the_adapters() -> None:
    server = Lora(LAW, TAX)
    health = await server.worker.health()
    assert server.worker.adapters == {"law": "/adapters/law", "tax": "/adapters/tax"}
    assert health.details["adapters"] == 2 and "adapters_left_out" not in health.details
    server.models["data"] = [BASE, TAX, {**LAW, "id": "*"}]
    assert (await server.worker.health()).details["adapters_left_out"] == 1
    assert server.worker.adapters == {"tax": "/adapters/tax"}, "it was unloaded"
    server.info |= {"enable_lora": False}
    assert "adapters" not in (await server.worker.health()).details
    assert server.worker.adapters == {}, "it was restarted"


async def test_a_server_without_adapters_is_not_asked_for_them() -> None:
    server = Lora(LAW, enable_lora=False)
    await server.worker.health()
    assert "/v1/models" not in [path for path, _ in server.requests]


async def test_a_failed_check_forgets_nothing() -> None:
    """A server that is down keeps its adapters, so that requests for them are not 404."""
    server = Lora(LAW)
    await server.worker.health()

    async def fail(path: str) -> None:
        raise httpx.ConnectError("gone")

    server.before = fail
    with pytest.raises(WorkerError):
        await server.worker.health()
    assert "law" in server.worker.adapters


@pytest.mark.parametrize("status", [404, 500, 503])
async def test_a_list_that_fails_forgets_nothing(status: int) -> None:
    """REGRESSION: an overloaded server lost all adapters, and their requests got 404."""
    server = Lora(LAW)
    await server.worker.health()
    server.status, server.models = status, {}
    assert (await server.worker.health()).ready
    assert "law" in server.worker.adapters


@pytest.mark.parametrize("beyond", [0, 1])
async def test_the_list_has_a_bound(beyond: int) -> None:
    server = Lora(LAW, {"pad": ""})
    pad = LIST_BYTES + beyond - len(json.dumps(server.models))
    server.models["data"][-1]["pad"] = "x" * pad
    if beyond:
        with pytest.raises(WorkerError):
            await server.worker.health()
    else:
        await server.worker.health()
        assert "law" in server.worker.adapters


MANY = [{**LAW, "id": f"a{number}"} for number in range(MAX_ADAPTERS + 2)]

#: what a server says -> the names that are known, and how many are left out
SAID: dict[str, tuple[Any, list[str], int]] = {
    "no list": ({"data": {"law": LAW}}, [], 0),
    "no object": ([LAW], [], 0),
    "a number": (1, [], 0),
    "no cards": ({"data": [None, 1, "law", [LAW]]}, [], 0),
    "no parent": ({"data": [{"id": "law", "root": "/x"}]}, [], 0),
    "a parent that is no text": ({"data": [{**LAW, "parent": 5}]}, [], 0),
    "no name": ({"data": [{"parent": "m", "root": "/x"}]}, [], 1),
    "a number as name": ({"data": [{**LAW, "id": 1}]}, [], 1),
    "an empty name": ({"data": [{**LAW, "id": ""}]}, [], 1),
    "spaces around": ({"data": [{**LAW, "id": " law"}]}, [], 1),
    "a line feed": ({"data": [{**LAW, "id": "a\nb"}]}, [], 1),
    "a lone surrogate": ({"data": [{**LAW, "id": "a\ud800"}]}, [], 1),
    "all adapters": ({"data": [{**LAW, "id": "*"}]}, [], 1),
    "a long name": ({"data": [{**LAW, "id": "x" * (MAX_NAME_CHARS + 1)}]}, [], 1),
    "the longest name": ({"data": [{**LAW, "id": "x" * MAX_NAME_CHARS}]}, ["x" * 128], 0),
    "colons and slashes": ({"data": [{**LAW, "id": "org/law:v2"}]}, ["org/law:v2"], 0),
    "twice": ({"data": [LAW, LAW]}, ["law"], 0),
    "too many": ({"data": MANY}, [each["id"] for each in MANY[:MAX_ADAPTERS]], 2),
}


@pytest.mark.parametrize("name", SAID)
def test_what_a_server_says_is_checked(name: str) -> None:
    said, names, left_out = SAID[name]
    found, others = adapters_of(json.dumps(said).encode())
    assert (list(found), others) == (names, left_out)
    assert all(map(is_adapter_name, found))


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff", b'{"data": NaN}'])
def test_what_is_no_json_names_nothing(body: bytes) -> None:
    assert adapters_of(body) == ({}, 0)


@pytest.mark.parametrize(
    ("root", "shown"),
    [(None, ""), (7, ""), ("\ud800", "\\ud800"), ("x" * 9_999, "x" * MAX_PATH_CHARS)],
)
def test_the_place_of_an_adapter_is_bounded_text(root: Any, shown: str) -> None:
    found, _ = adapters_of(json.dumps({"data": [{**LAW, "root": root}]}).encode())
    assert found == {"law": shown}


async def test_an_adapter_that_the_server_evicted_stays_known_until_it_restarts() -> None:
    """With --max-loaded-loras, the server loads it again when a request names it."""
    server = Lora(LAW, TAX, max_loaded_loras=4)
    await server.worker.health()
    server.models["data"] = [BASE, TAX]
    await server.worker.health()
    assert list(server.worker.adapters) == ["tax", "law"]
    server.info["startup_time"] = {"a": 1.75}
    await server.worker.health()
    assert list(server.worker.adapters) == ["tax"]


# -- refusals of generations

#: the words of SGLang from 0.5.19 to 0.5.23
WORDS = [
    "Got LoRA adapter that has never been loaded: law\nAll loaded adapters: dict_keys(['tax']).",
    "The following requested LoRA adapters are not loaded: law\nLoaded adapters: odict_keys([]).",
    "LoRA adapter 'law' was requested, but LoRA is not enabled. Please launch the server with "
    "--enable-lora flag and preload adapters using --lora-paths or /load_lora_adapter endpoint.",
    "Failed to implicitly load LoRA adapter law: No such file",
]


@pytest.mark.parametrize("words", WORDS)
def test_a_refusal_of_an_adapter_is_no_client_error_and_forgets_it(words: str) -> None:
    refusal = {"message": words, "type": "invalid_request_error", "code": 400, "retryable": False}
    server = streamed({"error": refusal})
    worker = server.worker()
    worker._adapters.known = {"law": "", "tax": ""}
    with pytest.raises(WorkerError) as caught:
        run(collect(worker, ask(lora="law")))
    assert (caught.value.status, caught.value.reason) == (503, "adapter")
    assert "\n" not in caught.value.message
    assert list(worker.adapters) == ["tax"]
    assert server.sent("/generate")[0]["lora_path"] == "law"


def test_an_adapter_that_was_unloaded_meanwhile_is_not_asked_for() -> None:
    """The server would load it again. Making the body of a long prompt takes a while."""
    server = streamed()
    worker = server.worker()
    worker._adapters.known = {"tax": ""}
    with pytest.raises(WorkerError, match="no longer has the adapter 'law'") as caught:
        run(collect(worker, ask(lora="law")))
    assert (caught.value.status, caught.value.reason) == (503, "adapter")
    assert server.requests == []


@pytest.mark.parametrize("tokens", [0, 1])
def test_a_server_that_misses_an_adapter_nobody_asked_for_is_broken(tokens: int) -> None:
    """Else its refusals would cost it nothing."""
    events = [event([5], 1)] * tokens
    worker = streamed(*events, {"error": {"message": WORDS[0], "code": 400}}).worker()
    worker._adapters.known = {"law": ""}
    with pytest.raises(WorkerError) as caught:
        run(collect(worker, ask(lora="law" if tokens else None)))
    assert (caught.value.status, caught.value.reason) == (502, "protocol")
    assert "law" in worker.adapters


# -- loading and unloading


async def test_a_loaded_adapter_is_known_at_once() -> None:
    server = Lora(LAW)
    await server.worker.health()
    outcome = await server.worker.load_adapter("tax", "/adapters/tax", pinned=True)
    assert (outcome.is_done, outcome.reason) == (True, "")
    assert server.worker.adapters["tax"] == "/adapters/tax"
    asked = {"lora_name": "tax", "lora_path": "/adapters/tax", "pinned": True}
    assert server.requests[-1] == ("/load_lora_adapter", asked)


REFUSALS: dict[str, tuple[httpx.Response, str]] = {
    "the server says why": (
        httpx.Response(400, json={"success": False, "error_message": "it is already loaded"}),
        "the server answers 400: it is already loaded",
    ),
    "a fault": (httpx.Response(500, text="boom"), "the server answers 500: no reason given"),
    "its admin key": (
        httpx.Response(401, json={"error": "Unauthorized"}),
        "the server answers 401: Unauthorized",
    ),
    "another server": (
        httpx.Response(404, json={"detail": "Not Found"}),
        "the server answers 404: Not Found",
    ),
    "no success": (httpx.Response(200, json={}), "the server answers 200: no reason given"),
    "a success that is none": (
        httpx.Response(200, json={"success": 1, "error_message": {"a": "b"}}),
        "the server answers 200: {'a': 'b'}",
    ),
    "a long reason": (
        httpx.Response(400, json={"error_message": "x" * 10_000}),
        "the server answers 400: " + "x" * 500,
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_an_adapter_that_was_not_loaded_is_not_known(name: str) -> None:
    server = Lora()
    server.update, reason = REFUSALS[name]
    outcome = await server.worker.load_adapter("tax", "/adapters/tax", pinned=False)
    assert (outcome.is_done, outcome.reason) == (False, reason)
    assert server.worker.adapters == {}


async def test_a_server_that_cannot_be_reached_is_an_outcome() -> None:
    server = Lora()

    async def fail(path: str) -> None:
        raise httpx.ConnectError("gone")

    server.before = fail
    assert (await server.worker.load_adapter("a", "/a", pinned=False)).reason == "gone"
    assert (await server.worker.unload_adapter("a")).reason == "gone"


async def test_an_adapter_is_not_known_while_it_is_unloaded() -> None:
    """SGLang would load it again for the next request. Health checks meanwhile may see it."""
    server = Lora(LAW, TAX)
    await server.worker.health()
    seen: list[list[str]] = []

    async def look(path: str) -> None:
        if path == "/unload_lora_adapter":
            seen.append(list(server.worker.adapters))
            server.before = None
            await server.worker.health()
            seen.append(list(server.worker.adapters))

    server.before = look
    assert (await server.worker.unload_adapter("law")).is_done
    assert seen == [["tax"], ["tax"]]
    await server.worker.health()
    assert "law" in server.worker.adapters, "the server still lists it, so it was loaded again"


@pytest.mark.parametrize("change", ["load", "unload", "refuse"])
async def test_a_list_that_is_older_than_a_change_does_not_undo_it(change: str) -> None:
    server = Lora(*([] if change == "load" else [LAW]))
    await server.worker.health()
    listed, changed = asyncio.Event(), asyncio.Event()

    async def hold(path: str) -> None:
        if path == "/v1/models":
            listed.set()
            await changed.wait()

    server.before = hold
    check = asyncio.create_task(server.worker.health())
    await listed.wait()
    if change == "load":
        await server.worker.load_adapter("law", "/adapters/law", pinned=False)
    elif change == "unload":
        await server.worker.unload_adapter("law")
    else:
        server.worker._adapters.lost("law")
    changed.set()
    await check
    assert ("law" in server.worker.adapters) == (change == "load")


def test_only_servers_load_adapters() -> None:
    assert isinstance(Lora().worker, AdapterHost)
    assert not issubclass(NoiseWorker, AdapterHost)
