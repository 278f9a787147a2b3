"""deploy/haproxy/haproxy.cfg in a real HAProxy, in front of real gateways."""

import json
import os
import queue
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.app.gateway import PATIENCE, Gateway, gateway_fixture
from tests.redis_server import free_port

CONFIGURATION = Path(__file__).parents[2] / "deploy" / "haproxy" / "haproxy.cfg"
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
KEY = {"authorization": "Bearer k"}


def _version() -> tuple[int, int]:
    """Of the installed HAProxy; docker-compose.yml has 3.2."""
    shown = subprocess.run([HAPROXY or "false", "-v"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)", shown.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(HAPROXY is None, reason="HAProxy is not installed"),
]


class Proxy:
    """One HAProxy with the configuration that ships; only ports, servers and bounds are replaced.

    ``variables`` are those of the configuration, such as PROXY_CERTIFICATE.
    """

    def __init__(self, folder: Path, *gateways: int, header_s: int = 1, **variables: str) -> None:
        self.port, self.inside = free_port(), free_port()
        text = CONFIGURATION.read_text()
        template = re.search(r"(?m)^ +server-template .*$", text)
        assert template
        servers = (f"    server gateway{n} 127.0.0.1:{port}" for n, port in enumerate(gateways))
        for shipped, here in (
            (template[0], "\n".join(servers)),
            ("bind :8080\n", f"bind 127.0.0.1:{self.port}\n"),
            ("bind :8080 ssl", f"bind 127.0.0.1:{self.port} ssl"),
            ("bind :8405", f"bind 127.0.0.1:{self.inside}"),
            ("timeout http-request 10s", f"timeout http-request {header_s}s"),
            ("timeout client 30s", "timeout client 1s"),
        ):
            assert text.count(shipped) == 1, shipped
            text = text.replace(shipped, here)
        shutil.copytree(CONFIGURATION.parent / "errors", folder / "errors")
        file = folder / "haproxy.cfg"
        file.write_text(text)
        self._process = subprocess.Popen(
            [str(HAPROXY), "-db", "-f", str(file)],
            env={**os.environ, **variables},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        self.wait_until(self._listens)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Ask again until it holds, while HAProxy runs."""
        until = time.monotonic() + PATIENCE
        while not holds():
            assert self._process.poll() is None, self._process.stderr.read()  # type: ignore[union-attr]
            assert time.monotonic() < until
            time.sleep(0.02)

    def wait_for(self, status: str, count: int = 1) -> None:
        """Wait until so many gateways have a status, as HAProxy's statistics name it."""
        self.wait_until(lambda: self._statuses().count(status) == count)

    def _statuses(self) -> list[str]:
        rows = httpx.get(f"http://127.0.0.1:{self.inside}/stats;csv").text.splitlines()
        return [row.split(",")[17] for row in rows if row.startswith("gateways,gateway")]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=PATIENCE)

    def _listens(self) -> bool:
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def raw(self, data: bytes) -> bytes:
        """All that comes back until the connection is closed, or reset with unread bytes."""
        received = b""
        with suppress(ConnectionResetError), self.connect() as connection:
            connection.sendall(data)
            while part := connection.recv(65536):
                received += part
        return received


class Stub:
    """A gateway whose health is what the test says, and which answers no other request itself."""

    def __init__(self, listening: socket.socket) -> None:
        self.health = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"
        self._listening = listening
        self._held: queue.Queue[socket.socket] = queue.Queue()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                if connection.recv(65536).startswith(b"GET /health/ready"):
                    connection.sendall(self.health)
                    connection.close()
                else:
                    self._held.put(connection)

    def wait_for_request(self) -> socket.socket:
        return self._held.get(timeout=PATIENCE)

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)


gateway = gateway_fixture(api_keys="k", body_seconds=5)


def port_of(gateway: Gateway) -> int:
    return int(gateway.url.rpartition(":")[2])


@pytest.fixture
def proxy(gateway: Gateway, tmp_path: Path) -> Iterator[Proxy]:
    running = Proxy(tmp_path, port_of(gateway))
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
    return int(head.split()[1]), json.loads(body)["error"]


@pytest.mark.parametrize(
    ("method", "path", "size", "status", "code"),
    [
        ("GET", "/metrics", 0, 404, "unknown_url"),
        ("GET", "/v1/nothing", 0, 404, "unknown_url"),
        ("POST", "/v1/chat/completions", (4 << 20) + 1, 413, "request_too_large"),
        ("POST", "/v1/chat/completions", 4 << 20, 400, "invalid_json"),
    ],
)
def test_every_error_is_an_error_object(proxy, method, path, size, status, code):
    answer = httpx.request(method, proxy.url + path, content=b" " * size, headers=KEY)
    assert (answer.status_code, error_of(answer)["code"]) == (status, code)


#: what is sent, the status, and the first version that sends our error object
MALFORMED = {
    "not HTTP": (b"NO\r\n\r\n", 400, (3, 2)),
    "a large header": (
        b"GET / HTTP/1.1\r\nhost: a\r\na: " + b"a" * 20_000 + b"\r\n\r\n",
        400,
        (3, 2),
    ),
    "headers that never end": (b"GET /health/live HTTP/1.1\r\nhost: a\r\n", 408, (3, 2)),
    "a body that never comes": (
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer k\r\n"
        b"content-length: 9\r\n\r\n",
        408,
        (2, 6),
    ),
}


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(sent, status, id=name)
        for name, (sent, status, since) in MALFORMED.items()
        if since <= _version()
    ],
)
def test_malformed_and_slow_requests_end_with_an_error_object(proxy, sent, status):
    got, error = parsed(proxy.raw(sent))
    assert got == status and set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize("path", ["/metrics", "/v1/models", "/health/live"])
@pytest.mark.parametrize(("given", "kept"), [("mine", True), ("not mine", False)])
def test_a_valid_request_id_is_the_clients(proxy, path, given, kept):
    answer = httpx.get(proxy.url + path, headers={"x-request-id": given})
    found = answer.headers.get_list("x-request-id")
    assert len(found) == 1 and (found[0] == given) == kept


def test_a_body_without_a_key_is_refused_before_it_is_read(proxy):
    """REGRESSION: the proxy collected bodies of strangers before any key was checked."""
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: 4000000\r\n\r\n"
    with proxy.connect() as connection:
        connection.sendall(head + b" " * 1000)
        assert b" 401 " in connection.recv(65536).split(b"\r\n")[0]


def test_connections_of_one_address_are_bounded(gateway, tmp_path):
    """Those beyond the limit get 429, and those beyond twice the limit are closed. HAProxy counts
    connections, and forgets closed ones, a moment later.
    """
    proxy = Proxy(tmp_path, port_of(gateway), header_s=60, PROXY_CLIENT_CONNECTIONS="2")
    request = b"GET /health/live HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
    answers: list[httpx.Response] = []

    def refused() -> bool:
        with suppress(httpx.TransportError):
            answers.append(httpx.get(f"{proxy.url}/health/live"))
        return bool(answers) and answers[-1].status_code == 429

    def closed() -> bool:
        with proxy.connect(), proxy.connect(), proxy.connect():
            return proxy.raw(request) == b""

    try:
        with proxy.connect(), proxy.connect():
            proxy.wait_until(refused)
            assert error_of(answers[-1])["code"] == "too_many_connections"
            proxy.wait_until(closed)
    finally:
        proxy.close()


def test_without_a_gateway_the_answer_says_so(tmp_path):
    proxy = Proxy(tmp_path, free_port())
    answer = httpx.get(f"{proxy.url}/v1/models")
    proxy.close()
    assert (answer.status_code, error_of(answer)["code"]) == (503, "overloaded")
    assert answer.headers["retry-after"] == "1"


def test_a_gateway_that_refuses_connections_costs_no_request(gateway, tmp_path):
    """Requests go to the other one at once."""
    proxy = Proxy(tmp_path, free_port(), port_of(gateway))
    statuses = {httpx.get(f"{proxy.url}/health/live").status_code for _ in range(20)}
    proxy.wait_for("DOWN")
    proxy.close()
    assert statuses == {200}


def test_a_frozen_gateway_ends_its_requests(gateway, tmp_path):
    """The socket accepts, and nothing answers: checks find out, its request ends (HAProxy 2 sends
    an error, HAProxy 3 none), and the other gateway answers all others. REGRESSION: requests hung
    for 620 s.
    """
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        proxy = Proxy(tmp_path, frozen.getsockname()[1], port_of(gateway))
        statuses = [status_of(f"{proxy.url}/health/live") for _ in range(4)]
        proxy.wait_for("DOWN")
        statuses += [status_of(f"{proxy.url}/health/live") for _ in range(4)]
        proxy.close()
    assert sorted(statuses)[1:] == [200] * 7 or sorted(statuses)[:-1] == [200] * 7


def status_of(url: str) -> int:
    """The status of an answer; 0: the connection closed before one."""
    try:
        return httpx.get(url, timeout=PATIENCE).status_code
    except httpx.RemoteProtocolError:
        return 0


def test_a_draining_gateway_gets_no_new_requests_and_keeps_its_own(gateway, tmp_path):
    """An answer that began before the drain arrives whole; its gateway is out of rotation."""
    reply = b"HTTP/1.1 %s\r\ncontent-length: 2\r\nconnection: close\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as draining:
        stub = Stub(draining)
        proxy = Proxy(tmp_path, draining.getsockname()[1], port_of(gateway))
        with proxy.connect() as first, proxy.connect() as second:
            for connection in (first, second):
                connection.sendall(
                    b"GET /slow HTTP/1.1\r\nhost: a\r\nauthorization: Bearer k\r\n\r\n"
                )
            held = stub.wait_for_request()
            stub.health = reply % b"404 Not Found" + b"{}"
            proxy.wait_for("NOLB")
            statuses = {httpx.get(f"{proxy.url}/health/live").status_code for _ in range(6)}
            held.sendall(reply % b"200 OK" + b"ok")
            received = {connection.recv(65536).split(b"\r\n")[0] for connection in (first, second)}
        proxy.close()
        stub.close()
    assert statuses == {200}
    assert received == {b"HTTP/1.1 200 OK", b"HTTP/1.1 404 Not Found"}


def test_the_proxy_speaks_tls_with_a_certificate(gateway, tmp_path):
    file = tmp_path / "site.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=a -keyout key -out site"
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    file.write_text((tmp_path / "site").read_text() + (tmp_path / "key").read_text())
    proxy = Proxy(tmp_path, port_of(gateway), PROXY_CERTIFICATE=str(file))
    context = ssl.create_default_context(cafile=str(tmp_path / "site"))
    context.check_hostname = False
    address = f"https://127.0.0.1:{proxy.port}/health/live"
    answer = httpx.get(address, verify=context)
    proxy.close()
    assert answer.json() == {"status": "ok"}


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
