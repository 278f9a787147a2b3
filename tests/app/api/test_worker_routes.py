"""Operators' routes of the workers: what they see, and how they drain."""

from collections.abc import AsyncIterator
from io import StringIO
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient

from adapters.workers import Bootstrap, Health, SGLangWorker, Worker
from app.access import Client
from app.api.arriving_bodies import ArrivingBodies
from app.api.body import BodyReader
from app.api.body_limit import BodyLimit
from app.api.error_responses import install_error_handlers
from app.api.exchange import exchange_of
from app.api.middleware import RequestMiddleware
from app.api.worker_routes import worker_router
from app.composition.workers import by_rank
from app.concurrency import Offload
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.pool import PairedPool
from app.pool.worker_pool import Pool
from tests.app.gateway import OPERATOR, OPTIONS, Gateway, gateway_fixture
from tests.app.pool.fakes import Fake

KEY = {"Authorization": f"Bearer {OPERATOR}"}

guarded = gateway_fixture(api_keys="one", admin_keys=OPERATOR)


@pytest.mark.parametrize("key", [None, "one", "wrong"])
@pytest.mark.parametrize("path", ["", "/drain", "/undrain"])
def test_only_operators_reach_them(guarded: Gateway, path: str, key: str | None):
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    method = "POST" if path else "GET"
    with httpx.Client(base_url=guarded.url, **OPTIONS) as client:
        answer = client.request(method, f"/admin/workers{path}", headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_a_gateway_shows_and_drains_its_worker(guarded: Gateway):
    """The whole way: the last worker only with force, then 503 and unready, then well again."""
    with httpx.Client(base_url=guarded.url, **OPTIONS) as client:
        shown = client.get("/admin/workers", headers=KEY).json()
        (worker,) = shown["data"]
        assert shown["waiting"] == 0
        assert (worker["name"], worker["state"], worker["running"]) == ("noise", "available", 0)
        drain = {"worker": "noise"}
        refused = client.post("/admin/workers/drain", json=drain, headers=KEY)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "last_worker")
        forced = drain | {"force": True}
        (worker,) = client.post("/admin/workers/drain", json=forced, headers=KEY).json()["data"]
        assert worker["state"] == "draining"
        ask = {"model": "noise", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1}
        one = {"Authorization": "Bearer one"}
        answer = client.post("/v1/chat/completions", json=ask, headers=one)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
        assert answer.headers["retry-after"] == "1"
        assert client.get("/health/ready").status_code == 503
        client.post("/admin/workers/undrain", json=drain, headers=KEY)
        assert client.post("/v1/chat/completions", json=ask, headers=one).status_code == 200
        assert client.get("/health/ready").json() == {"status": "ok"}


def _meet(worker: Worker, room: int) -> Bootstrap:
    return Bootstrap(worker.name, 1, room)


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    made = Pool([Fake("a"), Fake("b")])
    yield made
    await made.aclose()


@pytest.fixture
async def client(pool: Pool) -> AsyncIterator[TestClient]:
    offload = Offload()
    arriving = ArrivingBodies(4096)
    bodies = BodyReader(
        offload, arriving, limit=BodyLimit(4096, 4096), max_values=100, timeout_s=10
    )
    app = FastAPI()
    served: Any = [
        SimpleNamespace(name="m", pool=pool),
        SimpleNamespace(name="other", pool=Pool([Fake("other model")])),
        SimpleNamespace(
            name="paired",
            pool=PairedPool(
                [Fake("decode 1"), Fake("decode 2")], prefill=Pool([Fake("prefill")]), meet=_meet
            ),
        ),
    ]

    async def with_key(request: Request) -> None:
        exchange_of(request).client = Client(id="operator")

    app.include_router(worker_router(served, bodies), dependencies=[Depends(with_key)])
    install_error_handlers(app)
    # the record, where the handlers note errors
    app.add_middleware(
        RequestMiddleware, metrics=Metrics(), logger=make_logger("error", StringIO())
    )
    with TestClient(app) as made:
        yield made
    offload.close()


async def test_a_worker_with_several_ranks_shows_the_load_of_each(client: TestClient, pool: Pool):
    member = pool.members[0]
    member.check(Health(True, ranks=3))
    member.seats[1].take()
    first, second = client.get("/admin/workers").json()["data"][:2]
    assert first["ranks"] == [{"rank": n, "running": int(n == 1)} for n in range(3)]
    assert first["running"] == 1 and "ranks" not in second
    assert by_rank(pool) == {"0:a#0": 0, "0:a#1": 1, "0:a#2": 0}


async def test_the_last_worker_of_a_half_is_named_as_such(client: TestClient):
    refused = client.post("/admin/workers/drain", json={"worker": "prefill"})
    assert refused.status_code == 409
    message = refused.json()["error"]["message"]
    assert message.startswith("'prefill' is the last available prefill worker of 'paired';")
    drained = client.post("/admin/workers/drain", json={"worker": "decode 1"})
    assert [each["half"] for each in drained.json()["data"]] == ["decode"]
    refused = client.post("/admin/workers/drain", json={"worker": "decode 2"})
    assert "last available decode worker of 'paired'" in refused.json()["error"]["message"]
    refused = client.post("/admin/workers/drain", json={"worker": "other model"})
    assert "last available worker of 'other'" in refused.json()["error"]["message"]


#: (path, body, status, code, param)
BAD = [
    ("drain", {}, 400, "missing_required_parameter", "worker"),
    ("drain", {"worker": ""}, 400, None, "worker"),
    ("drain", {"worker": 7}, 400, None, "worker"),
    ("drain", {"worker": "a", "force": "yes"}, 400, None, "force"),
    ("drain", {"worker": "a", "x": 1}, 400, "unknown_parameter", "x"),
    ("undrain", {"worker": "a", "force": True}, 400, "unknown_parameter", "force"),
    ("drain", {"worker": "nobody"}, 404, "worker_not_found", "worker"),
    ("undrain", {"worker": "x" * 1000}, 404, "worker_not_found", "worker"),
    ("undrain", {"worker": "x" * 1001}, 400, None, "worker"),
    ("drain", {"worker": "other model"}, 409, "last_worker", "worker"),
]


@pytest.mark.parametrize(("path", "body", "status", "code", "param"), BAD)
async def test_a_bad_request_is_an_error_object_and_drains_nothing(
    client: TestClient, pool: Pool, path: str, body: Any, status: int, code: str | None, param: str
):
    answer = client.post(f"/admin/workers/{path}", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (status, param)
    assert code in (None, error["code"])
    assert not any(member.is_draining for member in pool.members)


#: the other worker, and whether the first one may be drained without force
OTHERS = [("available", True), ("unready", False), ("ejected", False), ("draining", False)]


@pytest.mark.parametrize(("other", "may"), OTHERS)
async def test_the_last_available_worker_is_drained_only_with_force(
    client: TestClient, pool: Pool, other: str, may: bool
):
    first, second = pool.members
    if other == "unready":
        second.worker.state = False  # type: ignore[attr-defined]
        await pool.check()
    elif other == "ejected":
        second.open()
    elif other == "draining":
        pool.drain("b", is_draining=True)
    assert second.service == other
    answer = client.post("/admin/workers/drain", json={"worker": "a"})
    assert (answer.status_code, first.is_draining) == (200 if may else 409, may)
    answer = client.post("/admin/workers/drain", json={"worker": "a", "force": True})
    assert (answer.status_code, first.is_draining) == (200, True)


async def test_passwords_of_workers_are_shown_nowhere(client: TestClient, pool: Pool):
    worker = SGLangWorker("http://user:secret@127.0.0.1:9/base", tokens=[b"a"])
    await pool.add(worker)
    answer = client.get("/admin/workers")
    shown = {each["name"]: each for each in answer.json()["data"]}["sglang 127.0.0.1:9"]
    assert (shown["state"], shown["ready"]) == ("unready", False)
    assert "cannot connect to" in shown["reason"]
    assert "secret" not in answer.text and "user" not in shown["description"]
