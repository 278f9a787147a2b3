"""Traces as a collector receives them, of a whole gateway with workers over real sockets."""

import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from app.main import create_app
from app.observability import tracing
from app.settings import SettingError, read_settings
from tests.app.examples import body
from tests.app.gateway import Gateway
from tests.app.observability.collector import Collector, Seen
from tests.app.pool.gateways import gateway_of
from tests.campaigns.workers.fake import FakeWorker
from tests.campaigns.workers.faults import FAULTS
from tests.sglang.tiny_model import make_tokenizer

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SECRET = "a-word-of-the-client number 12"
KEY = "a-key-of-the-client"
CHAT, RESPONSES, COMPLETIONS = "/v1/chat/completions", "/v1/responses", "/v1/completions"
MESSAGES = [{"role": "user", "content": SECRET}]
#: path and body of requests to workers that answer
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": (CHAT, {"messages": MESSAGES}),
    "streamed": (CHAT, {"messages": MESSAGES, "stream": True}),
    "response": (RESPONSES, {"input": SECRET, "stream": True}),
    "text": (COMPLETIONS, {"prompt": SECRET}),
    "unknown-model": (CHAT, {"messages": MESSAGES, "model": SECRET}),
    "bad-field": (CHAT, {"messages": MESSAGES, "n": 99}),
    "bad-schema": (
        CHAT,
        {
            "messages": MESSAGES,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "strict": True, "schema": {"type": SECRET}},
            },
        },
    ),
}


def ask(gateway: Gateway, name: str, path: str, content: dict[str, Any], **more: str) -> int:
    headers = {"x-request-id": name, "authorization": f"Bearer {KEY}", **more}
    return gateway.post({"model": "fake", **content}, path=path, headers=headers).status_code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tokenizer")
    make_tokenizer(1024).save_pretrained(path)
    return path


World = tuple[Collector, list[FakeWorker], dict[str, int]]


@pytest.fixture(scope="module")
def world(folder: Path) -> Iterator[World]:
    """The spans that a collector received from a gateway with two workers, which has stopped."""
    with Collector() as collector:
        settings = {"otlp_endpoint": collector.url, "api_keys": KEY}
        with gateway_of(folder, 8192, 8192, **settings) as (gateway, workers):
            status = {name: ask(gateway, name, *asked) for name, asked in ASKED.items()}
            given = f"00-{TRACE}-{SPAN}-01"
            status["joined"] = ask(gateway, "joined", *ASKED["whole"], traceparent=given)
            given = f"00-{TRACE}-{SPAN}-00"
            status["unsampled"] = ask(gateway, "unsampled", *ASKED["whole"], traceparent=given)
            workers[0].fault = FAULTS["status 500"]
            # one of two choices goes to each worker
            status["retried"] = ask(gateway, "retried", CHAT, {"messages": MESSAGES, "n": 2})
            workers[1].fault = FAULTS["status 500"]
            status["failed"] = ask(gateway, "failed", *ASKED["whole"])
        yield collector, workers, status


def names_of(spans: list[Seen]) -> list[str]:
    return [each.span.name for each in spans]


@pytest.mark.parametrize("name", ["whole", "streamed", "response", "text"])
def test_an_answer_is_a_server_span_with_a_span_for_each_step(world: World, name: str):
    """It has the names of the HTTP and GenAI conventions; steps lie within it, in order."""
    collector, workers, status = world
    assert status[name] == 200
    top, steps = collector.trace(name)
    path = ASKED[name][0]
    assert (top.span.name, top.span.kind) == (f"POST {path}", top.span.SPAN_KIND_SERVER)
    assert top.facts.pop("gen_ai.response.time_to_first_chunk") <= top.seconds
    assert top.facts == {
        "http.request.method": "POST",
        "http.route": path,
        "http.response.status_code": 200,
        "gen_ai.operation.name": "text_completion" if name == "text" else "chat",
        "gen_ai.provider.name": "switchyard",
        "gen_ai.request.model": "fake",
        "gen_ai.request.stream": bool(ASKED[name][1].get("stream")),
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.usage.output_tokens": len('{"n": 12}') + 1,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "switchyard.request.id": name,
        "switchyard.grammar.backend": "switchyard",
    }
    assert not top.has_failed
    assert names_of(steps) == ["queue", "prepare", "generate fake"]
    assert sum(step.seconds for step in steps) <= top.seconds
    attempt = steps[-1]
    assert attempt.facts["server.address"] == "127.0.0.1"
    assert attempt.facts["server.port"] in {worker.port for worker in workers}
    assert "error.type" not in attempt.facts


REFUSED = {
    "unknown-model": (404, "model_not_found", []),
    "bad-field": (400, "integer_above_max_value", ["queue", "prepare"]),
    "bad-schema": (400, "invalid_json_schema", ["queue", "prepare"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_its_error_and_is_no_failure_of_the_gateway(world: World, name: str):
    collector, _, status = world
    top, steps = collector.trace(name)
    code, error, expected = REFUSED[name]
    assert (status[name], top.facts["http.response.status_code"]) == (code, code)
    assert top.facts["error.type"] == error
    assert not top.has_failed
    assert names_of(steps) == expected
    assert [step.facts.get("error.type") for step in steps] == [None, error][: len(steps)]


def test_a_client_joins_its_own_trace_and_decides_whether_it_is_exported(world: World):
    collector, _, status = world
    top, steps = collector.trace("joined")
    assert (top.span.trace_id.hex(), top.span.parent_span_id.hex()) == (TRACE, SPAN)
    assert len(steps) == 3
    assert status["unsampled"] == 200
    exported = [each.facts.get("switchyard.request.id") for each in collector.spans]
    assert "unsampled" not in exported


def test_workers_receive_the_span_of_their_attempt(world: World):
    """That of the unsampled request says so; each attempt has a header of its own."""
    collector, workers, _ = world
    sent = [header for worker in workers for header in worker.traceparents]
    attempts = {
        f"00-{each.span.trace_id.hex()}-{each.span.span_id.hex()}-01"
        for each in collector.spans
        if each.span.name == "generate fake"
    }
    sampled = [header for header in sent if header.endswith("-01")]
    assert len(set(sent)) == len(sent)
    assert attempts <= set(sampled)
    (unsampled,) = [header for header in sent if header.endswith("-00")]
    assert unsampled.startswith(f"00-{TRACE}-")


def test_a_retry_is_a_span_beside_the_failed_attempt(world: World):
    collector, workers, status = world
    top, steps = collector.trace("retried")
    assert status["retried"] == 200
    assert "error.type" not in top.facts
    attempts = [step for step in steps if step.span.name == "generate fake"]
    failed = [each for each in attempts if each.has_failed]
    assert len(attempts) == 3
    assert [each.facts["error.type"] for each in failed] == ["status"]
    assert [each.facts["server.port"] for each in failed] == [workers[0].port]


def test_a_request_that_no_worker_answers_is_a_failure(world: World):
    collector, _, status = world
    top, steps = collector.trace("failed")
    assert status["failed"] == top.facts["http.response.status_code"]
    assert status["failed"] >= 500
    assert top.has_failed
    assert top.facts["error.type"]
    assert {each.has_failed for each in steps if each.span.name == "generate fake"} == {True}


def test_spans_hold_no_text_of_clients_and_no_key(world: World):
    sent = b"".join(world[0].bodies)
    assert b"word-of-the-client" not in sent
    assert b"key-of-the-client" not in sent


def test_the_log_line_names_the_trace_and_a_client_that_left_is_no_failure():
    """Its attempt at the worker was cancelled."""
    with Collector() as collector, Gateway(otlp_endpoint=collector.url) as gateway:
        endless = body(stream=True, max_completion_tokens=20_000, min_tokens=20_000)
        with gateway.raw_request(endless, {"x-request-id": "leaves"}) as client:
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        gateway.eventually(lambda: any(each["event"] == "request" for each in gateway.lines()))
        (line,) = [each for each in gateway.lines() if each["event"] == "request"]
    top, steps = collector.trace("leaves")
    assert line["trace_id"] == top.span.trace_id.hex()
    assert top.facts["error.type"] == "client_disconnect"
    assert not top.has_failed
    assert steps[-1].facts["error.type"] == "cancelled"
    assert "server.address" not in steps[-1].facts, "the noise worker has none"


def test_without_a_collector_workers_receive_no_header(folder: Path):
    with gateway_of(folder, 8192) as (gateway, (worker,)):
        assert ask(gateway, "plain", *ASKED["whole"], traceparent=f"00-{TRACE}-{SPAN}-01") == 200
        assert worker.attempts == 1
        assert worker.traceparents == []


def never(_: BaseHTTPRequestHandler) -> None:
    time.sleep(3600)


def refuses(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(503)


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A body without an end, faster than any reader needs."""
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"x" * 65536)


def garbage(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x00" * 1000)


def redirects(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(307)
    handler.send_header("location", "/elsewhere")
    handler.send_header("content-length", "0")
    handler.end_headers()


BAD = {
    "redirects": redirects,
    "never": never,
    "refuses": refuses,
    "endless": endless,
    "garbage": garbage,
    "down": None,
}
#: those that are reported before the gateway stops
REPORTED = ("redirects", "refuses", "garbage", "down")


@pytest.mark.parametrize("name", BAD)
def test_a_bad_collector_costs_at_most_a_log_line(name: str, monkeypatch: pytest.MonkeyPatch):
    """Requests are answered meanwhile, and the gateway stops in time."""
    monkeypatch.setattr(tracing, "CLOSE_SECONDS", 0.2)
    monkeypatch.setattr(tracing, "EXPORT_MS", 10)
    with Collector(BAD[name]) as collector:
        url = collector.url if BAD[name] else "http://127.0.0.1:1"
        with Gateway(otlp_endpoint=url) as gateway:
            for _ in range(3):
                assert gateway.post(body()).status_code == 200
            if name in REPORTED:
                gateway.eventually(lambda: "failed to export traces" in gateway.log.getvalue())
            else:
                gateway.eventually(lambda: collector.requests > 0)
    said = [line for line in gateway.lines() if line["event"] == "failed to export traces"]
    assert len(said) <= 1
    assert "internal_errors" not in gateway.log.getvalue()


@pytest.mark.parametrize("url", ["collector:4318", "http://u:p@collector:4318", "ftp://collector"])
def test_an_endpoint_is_a_url_without_a_password(url: str):
    with pytest.raises(SettingError, match="SWITCHYARD_OTLP_ENDPOINT: must be a URL"):
        read_settings(otlp_endpoint=url)


async def test_an_invalid_variable_of_the_sdk_aborts_startup(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "bogus")
    app = create_app(read_settings(otlp_endpoint="http://127.0.0.1:1"))
    with pytest.raises(SettingError, match=r"SWITCHYARD_OTLP_ENDPOINT: .*bogus"):
        async with app.router.lifespan_context(app):
            pass
