"""The end of a shutdown: what clients of running answers see, from a process that gets SIGTERM."""

import asyncio
import json
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from app.errors import ApiError
from app.server.drain import Drain
from tests.app.cli.command import PATIENCE, arguments, environment
from tests.app.examples import body, json_schema
from tests.redis_server import free_port

pytestmark = pytest.mark.program

#: an answer that takes far longer than the grace period
ENDLESS = {"type": "array", "items": {"const": 1}, "minItems": 100_000}
SLOW: dict[str, Any] = body(response_format=json_schema(ENDLESS), max_completion_tokens=32_768, n=8)


class Process:
    """``switchyard serve`` with a short grace period, unless the settings say otherwise."""

    def __init__(self, **given: object) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        settings = {"port": port, "shutdown_seconds": 0.5, "noise_seed": 1, **given}
        self._process = subprocess.Popen(
            arguments("serve"), env=environment(**settings), stdout=subprocess.PIPE, text=True
        )

    def wait_until(self, metric: str, value: float) -> None:
        """Waits until a line of /metrics reaches a value."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                lines = httpx.get(f"{self.url}/metrics", timeout=PATIENCE).text.splitlines()
            except httpx.TransportError:
                lines = []
            if any(line.startswith(metric) and float(line.split()[-1]) >= value for line in lines):
                return
            time.sleep(0.05)
        raise AssertionError(f"{metric} never came to {value}")

    def signal(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def terminate(self) -> list[dict[str, Any]]:
        """SIGTERM, and the log."""
        self.signal()
        return self.log()

    def log(self) -> list[dict[str, Any]]:
        """The log of the process, which must end."""
        text, _ = self._process.communicate(timeout=PATIENCE)
        return [json.loads(line) for line in text.splitlines()]

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


@contextmanager
def running_process(**settings: object) -> Iterator[Process]:
    process = Process(**settings)
    try:
        process.wait_until("switchyard_requests_in_flight", 0)
        yield process
    finally:
        process.close()


def test_what_still_runs_at_the_end_of_the_grace_period_ends_with_an_error_object():
    """REGRESSION: "Internal Server Error" as text, streams without an end, and 499 in the log."""
    answers: dict[str, httpx.Response] = {}

    def ask(name: str, url: str, **more: Any) -> None:
        answers[name] = httpx.post(url, json={**SLOW, **more}, timeout=PATIENCE)

    with running_process() as process:
        url = f"{process.url}/v1/chat/completions"
        responses = f"{process.url}/v1/responses"
        threads = [
            threading.Thread(target=ask_response, args=(answers, responses)),
            threading.Thread(target=ask, args=("whole", url)),
            threading.Thread(target=ask, args=("stream", url), kwargs={"stream": True}),
        ]
        for thread in threads:
            thread.start()
        process.wait_until("switchyard_time_to_first_token_seconds_count", 3)
        with half_a_request(process.url) as upload:
            process.wait_until("switchyard_requests_in_flight", 5)
            log = process.terminate()
            assert b'"server_shutdown"' in upload.recv(65536)
        for thread in threads:
            thread.join()

    whole = answers["whole"]
    assert (whole.status_code, whole.json()["error"]["code"]) == (503, "server_shutdown")
    assert whole.json()["error"]["type"] == "service_unavailable"
    assert "retry-after" in whole.headers
    *_, last, end = answers["stream"].text.split("\n\n")
    assert answers["stream"].status_code == 200
    assert json.loads(last.removeprefix("data: "))["error"]["code"] == "server_shutdown"
    assert end == ""

    *_, last, end = answers["response"].text.split("\n\n")
    name, data = last.split("\n")
    assert (name, end) == ("event: response.failed", "")
    failed = json.loads(data.removeprefix("data: "))["response"]
    assert (failed["status"], failed["error"]["code"]) == ("failed", "server_error")
    assert "shutting down" in failed["error"]["message"]

    requests = [line for line in log if line["event"] == "request"]
    assert sorted(line["status"] for line in requests) == [200, 200, 503, 503]
    assert {line["error"] for line in requests} == {"server_shutdown"}
    assert [line["event"] for line in log if line["level"] == "error"] == []
    assert log[-1]["event"] == "stopped"


def ask_response(answers: dict[str, httpx.Response], url: str) -> None:
    wanted = {"type": "json_schema", "name": "a", "schema": ENDLESS}
    asked = {"model": "noise", "input": "hi", "stream": True, "max_output_tokens": 32_768}
    asked["text"] = {"format": wanted}
    answers["response"] = httpx.post(url, json=asked, timeout=PATIENCE)


def test_a_draining_gateway_answers_until_running_requests_are_over():
    """Load balancers see 404, late requests an answer and no keep-alive, and the process ends as
    soon as the last request does.
    """
    with (
        running_process(drain_seconds=0.01, shutdown_seconds=PATIENCE) as process,
        half_a_request(process.url) as upload,
    ):
        process.wait_until("switchyard_requests_in_flight", 2)
        assert httpx.get(f"{process.url}/health/ready").json() == {"status": "ok"}
        process.signal()
        until = time.monotonic() + PATIENCE
        while (ready := httpx.get(f"{process.url}/health/ready")).status_code == 200:
            assert time.monotonic() < until
        assert (ready.status_code, ready.json()) == (404, {"status": "draining"})
        late = httpx.post(f"{process.url}/v1/chat/completions", json=body(), timeout=PATIENCE)
        assert (late.status_code, late.headers["connection"]) == (200, "close")
        upload.sendall(b" " * 99)
        answer = b"".join(iter(lambda: upload.recv(65536), b""))
        assert b'"invalid_json"' in answer
        assert process.log()[-1]["event"] == "stopped"


@contextmanager
def half_a_request(url: str) -> Iterator[socket.socket]:
    """A body that does not arrive."""
    address = httpx.URL(url)
    with socket.create_connection((address.host, address.port or 80), PATIENCE) as made:
        head = "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-length: 100\r\n\r\n{"
        made.sendall(head.encode())
        yield made


async def test_a_request_is_cancelled_and_later_ones_are_refused():
    drain = Drain()
    begun = asyncio.Event()

    async def request() -> None:
        async with drain.request():
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(request())
    await begun.wait()
    drain.end()
    with pytest.raises(ApiError) as caught:
        await task
    assert (caught.value.status, caught.value.code) == (503, "server_shutdown")
    with pytest.raises(ApiError):
        await request()


async def test_a_request_that_ends_by_itself_is_left_alone():
    drain = Drain()
    async with drain.request():
        pass
    with pytest.raises(TimeoutError):
        async with drain.request():
            raise TimeoutError
    drain.end()
