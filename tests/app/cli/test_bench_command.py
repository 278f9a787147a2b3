"""``switchyard bench``: figures of a real gateway, and answers that do not fit their schema."""

import asyncio
import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from aiohttp import web

from tests.app.gateway import Gateway

from .command import arguments, environment, switchyard

pytestmark = pytest.mark.program

KINDS = ("mixed", "plain", "schema", "tools")


@pytest.mark.parametrize("kind", KINDS)
def test_every_constrained_answer_of_the_gateway_fits(gateway: Gateway, kind: str):
    done = switchyard("bench", gateway.url, "--seconds", 1, "--users", 2, "--kind", kind, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["answers"] > 0
    assert found["failures"] == {}
    assert found["valid"] == found["judged"]
    assert (found["judged"] > 0) == (kind != "plain")
    assert set(found["first_token_ms"]) == {"p50", "p90", "p99"}


@contextmanager
def server(content: str, status: int = 200) -> Iterator[str]:
    """A server whose streams have this content."""

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    async def chat(_: web.Request) -> web.Response:
        delta = {"choices": [{"delta": {"content": content}, "finish_reason": "stop"}]}
        body = f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n"
        return web.Response(text=body, status=status, content_type="text/event-stream")

    app = web.Application()
    app.add_routes([web.get("/v1/models", models), web.post("/v1/chat/completions", chat)])
    loop, runner = asyncio.new_event_loop(), web.AppRunner(app)
    loop.run_until_complete(runner.setup())
    site = web.TCPSite(runner, "127.0.0.1", 0)
    loop.run_until_complete(site.start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.run_until_complete(runner.cleanup())
        loop.close()


@pytest.mark.parametrize(
    ("content", "status", "valid", "failed"),
    [
        ('{"city": "x", "days": 1, "units": "celsius", "hours": [23]}', 200, True, False),
        ('{"city": "x", "days": 15, "units": "celsius", "hours": []}', 200, False, False),
        ('{"city": "x", "days": "1", "units": "celsius", "hours": []}', 200, False, False),
        ("{", 200, False, False),
        ("", 503, True, True),
    ],
)
def test_answers_are_judged(content: str, status: int, valid: bool, failed: bool):
    with server(content, status) as url:
        done = switchyard(
            "bench", url, "--seconds", 0.5, "--users", 1, "--kind", "schema", "--json"
        )
    found = json.loads(done.stdout)
    assert (found["valid"] == found["judged"], bool(found["failures"])) == (valid, failed)
    assert done.returncode == (0 if valid and not failed else 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["127.0.0.1:8000"], "URL must begin with http:// or https://"),
        (["http://127.0.0.1:9"], "http://127.0.0.1:9/v1/models lists no model"),
        (["http://127.0.0.1:9", "--users", 0], "--users must be >= 1"),
    ],
)
def test_mistakes_are_one_sentence(given: list[object], words: str):
    done = switchyard("bench", *given)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_interruption_prints_the_figures_so_far(gateway: Gateway):
    command = arguments("bench", gateway.url, "--seconds", 60, "--users", 2)
    process = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    before = gateway.metric("switchyard_choices_finished_total")
    gateway.eventually(lambda: gateway.metric("switchyard_choices_finished_total") > before + 4)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert " constrained answers fit their schema" in said
