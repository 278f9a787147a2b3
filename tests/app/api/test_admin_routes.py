"""Admin routes: access, the results of warm-ups, and the report on the cache."""

import asyncio
import io
from collections.abc import Iterator
from threading import Event
from typing import Any

import httpx
import pytest

from app.composition import build_core
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.protocol.warmup_request import MAX_NAMED, MAX_REQUESTS, GrammarRequest
from app.service.warm_service import WarmService, _to_its_end
from app.settings import read_settings
from tests.app.examples import ALARM, LIGHT, TOOLS, body, json_schema, tool
from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.app.operators import BACK, BEARER, KEY, MAIL, warm
from tests.redis_server import RedisServer

gateway = gateway_fixture(admin_keys=KEY, strict_profile="openai")


def report(gateway: Gateway, headers: dict[str, str] = BEARER) -> httpx.Response:
    return httpx.get(f"{gateway.url}/v1/cache", headers=headers, timeout=PATIENCE)


def compiled(gateway: Gateway) -> float:
    return gateway.metric("switchyard_compiler", what="compiles")


# -- who may --------------------------------------------------------------------------------------


def test_without_an_admin_key_the_routes_are_closed_and_say_what_opens_them():
    with Gateway(api_keys="a client's") as closed:
        for headers in ({}, BEARER, {"authorization": "Bearer a client's"}):
            for answer in (warm(closed, {"tools": TOOLS}, headers), report(closed, headers)):
                error = answer.json()["error"]
                assert (answer.status_code, error["type"]) == (403, "permission_error")
                assert error["code"] == "admin_keys_not_set"
                assert "SWITCHYARD_ADMIN_KEYS" in error["message"]


def test_keys_of_clients_and_of_operators_open_their_own_routes_only():
    with Gateway(api_keys="a client's", admin_keys=f"another,{KEY}") as both:
        client = {"authorization": "Bearer a client's"}
        for headers, status in (({}, 401), (client, 401), (BEARER, 200)):
            assert report(both, headers).status_code == status
            assert warm(both, {"tools": TOOLS}, headers).status_code == status
        assert both.post(body(), headers=BEARER).status_code == 401
        assert both.post(body(max_completion_tokens=2), headers=client).status_code == 200


# -- warm-up --------------------------------------------------------------------------------------


def test_what_was_warmed_is_what_requests_compile(gateway: Gateway):
    tools = [tool("a", ALARM), tool("b", LIGHT, strict=True)]
    answer = warm(gateway, {"tools": tools, "response_format": json_schema(MAIL)}).json()
    assert answer["object"] == "grammar.warmup"
    (done,) = answer["requests"]
    assert (done["status"], done["grammars"], done["error"]) == ("compiled", 4, None)
    assert done["masks"] > 0
    assert answer["stored"] is None, "there is no Redis"
    before = compiled(gateway)
    named = {"type": "function", "function": {"name": "b"}}
    sent = body(tools=tools, response_format=json_schema(MAIL), max_completion_tokens=1)
    assert gateway.post(sent).status_code == 200
    for choice in ("auto", "required", named):
        assert gateway.post({**sent, "tool_choice": choice}).status_code == 200
    assert compiled(gateway) == before
    gateway.post(body(tools=tools, parallel_tool_calls=False, max_completion_tokens=1))
    assert compiled(gateway) == before + 1


def test_a_tool_choice_that_is_given_is_the_only_one(gateway: Gateway):
    done = warm(gateway, {"tools": TOOLS, "tool_choice": "required"}).json()
    assert done["totals"]["grammars"] == 1


@pytest.mark.parametrize("count", [MAX_NAMED, MAX_NAMED + 1])
def test_tools_are_named_one_by_one_where_they_are_few(gateway: Gateway, count: int):
    tools = [tool(f"t{number}", LIGHT) for number in range(count)]
    named = count if count <= MAX_NAMED else 0
    assert warm(gateway, {"tools": tools}).json()["totals"]["grammars"] == 2 + named


@pytest.mark.parametrize(
    "wanted", [{"response_format": {"type": "json_object"}}, {"response_format": json_schema(MAIL)}]
)
def test_a_response_format_alone_is_one_grammar(gateway: Gateway, wanted: Any):
    assert warm(gateway, wanted).json()["totals"]["grammars"] == 1


#: what is refused -> the part of a request
REFUSED: dict[str, dict[str, Any]] = {
    "a pattern": {"tools": [tool("a", LIGHT), tool("b", BACK, strict=True)]},
    "OpenAI's rules": {"tools": [tool("a", {"type": "object"}, strict=True)]},
    "a response format": {"response_format": json_schema({"type": "nothing"})},
    "a tool twice": {"tools": [tool("a", LIGHT), tool("a", LIGHT)]},
    "a tool that is not there": {
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "x"}},
    },
    "a choice without tools": {"tool_choice": "required"},
}


@pytest.mark.parametrize("part", REFUSED.values(), ids=REFUSED.keys())
def test_a_refusal_is_that_of_a_chat_completion_with_the_request_before_it(
    gateway: Gateway, part: dict[str, Any]
):
    expected = gateway.post(body(**part))
    assert expected.status_code == 400
    answer = warm(gateway, {"requests": [{"tools": TOOLS}, part, {"tools": TOOLS}]}).json()
    assert [each["status"] for each in answer["requests"]] == ["compiled", "refused", "compiled"]
    error, original = answer["requests"][1]["error"], expected.json()["error"]
    assert error == original | {"param": f"requests[1].{original['param']}"}
    assert (answer["totals"]["compiled"], answer["totals"]["refused"]) == (2, 1)


def test_what_is_relaxed_is_told(gateway: Gateway):
    (done,) = warm(gateway, {"tools": [tool("a", BACK)]}).json()["requests"]
    assert done["status"] == "compiled"
    assert done["relaxed"] == ["tools/0/function/parameters#/properties/a/pattern"]


#: name -> (body, status, code, param)
BAD: dict[str, tuple[Any, int, str, str | None]] = {
    "no JSON": (b"{", 400, "invalid_json", None),
    "nothing to compile": ({}, 400, "missing_required_parameter", "requests"),
    "an empty list": ({"requests": []}, 400, "missing_required_parameter", "requests"),
    "a chat completion": (body(), 400, "unknown_parameter", "messages"),
    "a bad name": (
        {"requests": [{"tools": TOOLS}, {"tools": [tool("a b", LIGHT)]}]},
        400,
        "invalid_value",
        "requests[1].tools[0].function.name",
    ),
    "too many": (
        {"requests": [{}] * (MAX_REQUESTS + 1)},
        400,
        "array_above_max_length",
        "requests",
    ),
    "too large": (b" " * 10_000_000, 413, "request_too_large", None),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_an_ill_formed_warm_up_is_an_openai_error(
    gateway: Gateway, case: tuple[Any, int, str, str | None]
):
    sent, status, code, param = case
    answer = warm(gateway, sent)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (status, code, param)


def test_as_many_requests_as_the_bound_are_taken(gateway: Gateway):
    part = {"response_format": json_schema(LIGHT)}
    totals = warm(gateway, {"requests": [part] * MAX_REQUESTS}).json()["totals"]
    assert totals["compiled"] == MAX_REQUESTS


def test_what_time_does_not_allow_is_told_as_skipped():
    with Gateway(admin_keys=KEY, request_timeout=1e-9) as hasty:
        totals = warm(hasty, {"tools": TOOLS, "requests": [{"tools": TOOLS}]}).json()["totals"]
    assert (totals["skipped"], totals["compiled"], totals["grammars"]) == (2, 0, 0)


@pytest.fixture
def service() -> Iterator[WarmService]:
    chosen = read_settings()
    (model,) = chosen.models
    core = build_core(chosen.gateway, model, Metrics(), make_logger("info", io.StringIO()))
    yield core.warming
    core.engine.close()


async def test_a_second_warm_up_is_told_to_wait_until_the_first_is_over(service: WarmService):
    requests = [("", GrammarRequest.model_validate({"tools": TOOLS}))] * 3
    first = asyncio.create_task(service.warm(requests))
    await asyncio.sleep(0)
    with pytest.raises(ApiError, match="running already"):
        await service.warm(requests)
    assert (await first)["totals"]["compiled"] == 3
    assert (await service.warm(requests))["totals"]["compiled"] == 3


async def test_a_warm_up_that_nobody_waits_for_runs_until_its_thread_is_done(
    service: WarmService, monkeypatch: pytest.MonkeyPatch
):
    begun, may_end = Event(), Event()
    make_masks = WarmService._make_masks

    async def make_slowly(*given: Any) -> None:
        def wait() -> None:
            begun.set()
            may_end.wait(PATIENCE)

        await _to_its_end(asyncio.to_thread(wait))
        await make_masks(*given)

    monkeypatch.setattr(WarmService, "_make_masks", make_slowly)
    requests = [("", GrammarRequest.model_validate({"tools": TOOLS}))]
    task = asyncio.create_task(service.warm(requests))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    task.cancel()
    await asyncio.wait({task}, timeout=0.05)
    with pytest.raises(ApiError, match="running already"):
        await service.warm(requests)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await service.warm(requests))["totals"]["compiled"] == 1


async def test_a_warm_up_that_nobody_waits_for_ends(service: WarmService):
    requests = [("", GrammarRequest.model_validate({"tools": TOOLS}))] * 1_000
    task = asyncio.create_task(service.warm(requests))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await service.warm(requests[:1]))["totals"]["compiled"] == 1


# -- the cache ------------------------------------------------------------------------------------


def test_what_one_gateway_was_warmed_with_another_finds(redis_server: RedisServer):
    settings = {
        "admin_keys": KEY,
        "redis_url": redis_server.url,
        "cache_key": "0123456789abcdef",
        "cache_prefetch_seconds": PATIENCE,
    }
    part = {"tools": [tool("send", MAIL)], "tool_choice": "required"}
    with Gateway(**settings) as first:
        assert warm(first, part).json()["stored"] is True
        told = report(first).json()
        assert told["artifacts"]["masks"]["published"] > 0
        assert told["log"]["written_bytes"] > 0
    with Gateway(**settings) as second:
        second.eventually(lambda: report(second).json()["artifacts"]["masks"]["loaded"] > 0)
        assert warm(second, part).json()["totals"]["compiled"] == 1
        told = report(second).json()
        assert told["following"] is True
        assert told["log"]["read_bytes"] > 0
        assert told["time"]["saved_ms"] > 0


def test_the_report_names_what_the_cache_is_for(gateway: Gateway):
    told = report(gateway).json()
    assert (told["object"], told["format"]) == ("cache", "hermes")
    assert len(told["vocabulary"]["fingerprint"]) == 32
    assert told["following"] is told["log"] is None
    assert told["artifact_version"] > 0
    assert set(told["artifacts"]) == {"masks"}


def test_metrics_name_the_format_and_the_vocabulary(gateway: Gateway):
    told = report(gateway).json()
    facts = {
        "format": told["format"],
        "vocabulary": told["vocabulary"]["fingerprint"],
        "artifact": str(told["artifact_version"]),
        "version": told["version"],
    }
    assert gateway.metric("switchyard_build_info", **facts) == 1
