"""Health, metrics, version, Redis that comes and goes, and what is said at start."""

import asyncio

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from adapters.workers import Health
from adapters.workers.noise import NoiseWorker
from app.api.operations_routes import operations_router
from app.conversation.tokenizer import BuiltinTokenizer
from app.observability.metrics import Metrics
from app.pool.worker_pool import Pool
from engine import Compiler
from tests.app.examples import TOOLS, body, tool
from tests.app.gateway import OPERATOR, Gateway, gateway_fixture
from tests.app.operators import MAIL, warm
from tests.redis_server import RedisServer

CALL = body(tools=TOOLS, tool_choice="required", parallel_tool_calls=False)


def works(gateway: Gateway) -> bool:
    answer = gateway.post(CALL)
    return answer.status_code == 200 and bool(answer.json()["choices"][0]["message"]["tool_calls"])


guarded = gateway_fixture(api_keys="one", admin_keys=OPERATOR)


@pytest.mark.parametrize("path", ["/health", "/health/live", "/health/ready"])
def test_a_gateway_with_a_worker_is_healthy(gateway: Gateway, path: str):
    answer = gateway.get(path)
    assert (answer.status_code, answer.json()["status"]) == (200, "ok")


@pytest.mark.parametrize("key", [None, "Bearer one", f"Bearer {OPERATOR}x", "Basic x"])
@pytest.mark.parametrize("path", ["/health", "/health/ready"])
def test_only_operators_see_workers_and_cache(guarded: Gateway, key: str | None, path: str):
    """REGRESSION: addresses, versions and errors of workers were public."""
    headers = {} if key is None else {"Authorization": key}
    answer = guarded.get(path, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    seen = guarded.health()
    assert [(worker["name"], worker["circuit"]) for worker in seen["workers"]] == [
        ("noise", "closed")
    ]
    assert seen["cache"] is None, "there is no Redis"


def test_without_operators_nobody_sees_them(gateway: Gateway):
    assert gateway.health() == {"status": "ok"}


def test_readiness_asks_no_worker():
    """REGRESSION: every readiness request queried all workers and waited for each."""
    asked: list[str] = []

    class Quiet(NoiseWorker):
        async def health(self) -> Health:
            asked.append("health")
            return Health(False, "a secret of the worker's")

    worker = Quiet(Compiler(BuiltinTokenizer().vocabulary))
    pool = Pool([worker])
    router = operations_router(
        pool, Metrics(), version={}, cache=dict, is_operator=lambda request: False
    )
    app = FastAPI()
    app.include_router(router)
    asyncio.run(pool.check())
    with TestClient(app) as client:
        for _ in range(50):
            answer = client.get("/health/ready")
            assert (answer.status_code, answer.json()) == (503, {"status": "unready"})
    assert asked == ["health"]


def test_version_names_the_format(gateway: Gateway):
    assert gateway.get("/version").json()["formats"] == ["hermes"]


def test_what_happened_is_counted(gateway: Gateway):
    before = gateway.metric("switchyard_tokens_total", kind="completion")
    used = gateway.post(CALL).json()["usage"]
    assert (
        gateway.metric("switchyard_tokens_total", kind="completion")
        == before + used["completion_tokens"]
    )
    assert gateway.metric("switchyard_choices_finished_total", reason="tool_calls") >= 1
    assert gateway.metric("switchyard_compile_seconds_count") >= 1
    for times in ("time_to_first_token", "time_per_output_token", "e2e_request_latency"):
        assert gateway.metric(f"switchyard_{times}_seconds_count", model="noise") >= 1
    route = {"route": "/v1/chat/completions", "code": "200"}
    assert gateway.metric("switchyard_http_requests_total", **route) >= 1


def test_the_start_says_what_runs_and_with_which_settings(gateway: Gateway):
    lines = {line["event"]: line for line in gateway.lines()}
    assert "noise" in lines["worker"]["description"]
    assert lines["settings"]["max_body_bytes"] == 4 << 20
    assert lines["ready"]["format"] == "hermes"


def test_redis_holds_what_was_learnt(redis_server: RedisServer):
    settings = {"redis_url": redis_server.url, "cache_key": "0123456789abcdef"}
    with Gateway(admin_keys=OPERATOR, **settings) as first:
        # makes enough masks for some to be worth sharing on any machine
        asked = {"tools": [tool("send", MAIL)], "tool_choice": "required"}
        assert warm(first, asked).json()["stored"] is True
        first.eventually(lambda: first.health()["cache"]["written"] > 0)


def test_redis_down_at_start_changes_nothing(redis_server: RedisServer):
    redis_server.kill()
    with Gateway(redis_url=redis_server.url, cache_trust="network") as alone:
        assert works(alone)
        assert alone.get("/health/ready").status_code == 200
        redis_server.start()
        assert works(alone)


def test_redis_killed_midway_changes_nothing(redis_server: RedisServer):
    with Gateway(redis_url=redis_server.url, cache_trust="network") as gateway:
        assert works(gateway)
        redis_server.kill()
        assert works(gateway)
        assert gateway.get("/health/ready").status_code == 200
        redis_server.start()
        assert works(gateway)


def test_without_a_key_or_trust_redis_stays_off(redis_server: RedisServer):
    with Gateway(redis_url=redis_server.url, admin_keys=OPERATOR) as gateway:
        assert works(gateway)
        assert any("redis is not used" in line["event"] for line in gateway.lines())
        assert gateway.health()["cache"] is None


@pytest.mark.parametrize("wire", ["plain", "llama3_json", "llama3_function", "harmony"])
def test_every_format_serves_the_main_job(wire: str):
    with Gateway(format=wire) as gateway:
        answer = gateway.post(CALL)
        assert answer.status_code == 200, answer.text
        assert gateway.metric("switchyard_internal_errors_total") == 0
