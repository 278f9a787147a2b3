"""deploy/nginx/nginx.conf in a real nginx, in front of a real gateway."""

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.app.gateway import PATIENCE, Gateway
from tests.redis_server import free_port

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "nginx" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
KEY = {"authorization": "Bearer k"}

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
]


class Proxy:
    """One nginx with the configuration that ships; only ports, paths and bounds are replaced."""

    def __init__(self, folder: Path, gateway: int, *, connections: int = 512) -> None:
        self.folder, self.port = folder, free_port()
        text = CONFIGURATION.read_text()
        for shipped, here in (
            ("pid /tmp/nginx.pid", f"pid {folder}/nginx.pid"),
            ("/dev/stdout", f"{folder}/access.log"),
            ("listen 8080", f"listen 127.0.0.1:{self.port}"),
            ("set $gateway gateway", "set $gateway 127.0.0.1"),
            ("http://$gateway:8000", f"http://$gateway:{gateway}"),
            ("limit_conn client 512", f"limit_conn client {connections}"),
            ("client_header_timeout 10s", "client_header_timeout 1s"),
            ("client_body_timeout 30s", "client_body_timeout 1s"),
        ):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, here)
        (folder / "nginx.conf").write_text(text)
        self._process = subprocess.Popen(
            [str(NGINX), "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"],
            stderr=subprocess.PIPE,
        )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, self._process.stderr.read()  # type: ignore[union-attr]
            assert time.monotonic() < until
            time.sleep(0.02)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)

    def _answers(self) -> bool:
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, data: bytes) -> bytes:
        """All that comes back until the connection is closed, or reset: nginx had not read all."""
        received = b""
        with self.connect() as connection, suppress(ConnectionResetError):
            connection.sendall(data)
            while part := connection.recv(65536):
                received += part
        return received


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway(api_keys="k") as running:
        yield running


@pytest.fixture
def proxy(gateway: Gateway, tmp_path: Path) -> Iterator[Proxy]:
    running = Proxy(tmp_path, int(gateway.url.rpartition(":")[2]))
    yield running
    running.close()


def error_of(answer: httpx.Response) -> dict[str, object]:
    """The error object, whole, with a request id beside it."""
    error: dict[str, object] = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-request-id"]
    return error


def parsed(raw: bytes) -> tuple[int, dict[str, object]]:
    head, _, body = raw.partition(b"\r\n\r\n")
    assert re.search(rb"(?i)\r\nx-request-id: \S", head)
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    ("method", "path", "size", "status", "code"),
    [
        ("GET", "/metrics", 0, 404, "unknown_url"),
        ("GET", "/v1/nothing", 0, 404, "unknown_url"),
        ("GET", "/" + "a" * 60_000, 0, 414, "url_too_long"),
        ("POST", "/v1/chat/completions", (4 << 20) + 1, 413, "request_too_large"),
        ("POST", "/v1/chat/completions", 4 << 20, 400, "invalid_json"),
    ],
)
def test_every_error_is_an_error_object(proxy, method, path, size, status, code):
    answer = httpx.request(method, proxy.url + path, content=b" " * size, headers=KEY)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"NO\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\na: " + b"a" * 20_000 + b"\r\n\r\n", 400),
        (b"POST /v1/models HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n", 405),
    ],
    ids=["not HTTP", "a large header", "a body that never comes"],
)
def test_malformed_and_slow_requests_end(proxy, sent, status):
    got, error = parsed(proxy.raw(sent))
    assert got == status and set(error) == {"message", "type", "param", "code"}


def test_a_header_that_never_ends_closes_the_connection(proxy):
    assert b"200" not in proxy.raw(b"GET /health/live HTTP/1.1\r\nhost: a\r\n")[:15]


def test_the_request_id_is_the_clients_everywhere(proxy):
    for path in ("/metrics", "/v1/models"):
        answer = httpx.get(proxy.url + path, headers={"x-request-id": "mine"})
        assert answer.headers["x-request-id"] == "mine"


def test_a_body_without_a_key_is_refused_before_it_is_read(proxy):
    """REGRESSION: nginx collected bodies of strangers in its memory before any key was checked."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 4000000\r\n\r\n"
    with proxy.connect() as connection:
        connection.sendall(head + b" " * 1000)
        assert b" 401 " in connection.recv(65536).split(b"\r\n")[0]


def test_connections_of_one_address_are_bounded(gateway, tmp_path):
    proxy = Proxy(tmp_path, int(gateway.url.rpartition(":")[2]), connections=2)
    half = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n"
    half += b"authorization: Bearer k\r\n\r\n"
    try:
        with proxy.connect() as first, proxy.connect() as second:
            first.sendall(half)
            second.sendall(half)
            until = time.monotonic() + PATIENCE
            while (answer := httpx.get(f"{proxy.url}/health/live")).status_code == 200:
                assert time.monotonic() < until
        assert (answer.status_code, error_of(answer)["code"]) == (429, "too_many_connections")
    finally:
        proxy.close()


def test_without_a_gateway_the_answer_says_so(tmp_path):
    proxy = Proxy(tmp_path, free_port())
    answer = httpx.get(f"{proxy.url}/v1/models")
    proxy.close()
    assert (answer.status_code, error_of(answer)["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "1"


def test_streams_pass_as_they_come(proxy):
    body = {
        "model": "noise",
        "messages": [{"role": "user", "content": "hi"}],
        "max_completion_tokens": 50,
        "stream": True,
    }
    address = f"{proxy.url}/v1/chat/completions"
    with httpx.stream("POST", address, json=body, headers=KEY, timeout=PATIENCE) as answer:
        lines = [line for line in answer.iter_lines() if line]
    assert len(lines) > 3 and lines[-1] == "data: [DONE]"
