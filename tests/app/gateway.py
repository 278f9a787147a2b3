"""A real gateway for tests: uvicorn on a loopback port, in a thread, with the noise worker."""

import io
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import httpx
import pytest

from app.main import create_app
from app.observability.logs import make_logger
from app.server.uvicorn_server import make_server
from app.settings import read_settings
from tests.waiting import PATIENCE, until

#: of every request: reading the certificates, which plain HTTP does not need, takes 28 ms
OPTIONS: dict[str, Any] = {"timeout": PATIENCE, "verify": False}
#: a key of operators for tests that need one
OPERATOR = "an operator's key"


class Gateway:
    """``with Gateway(api_keys="k") as gateway``: settings are keywords."""

    def __init__(self, **settings: Any) -> None:
        self.log = io.StringIO()
        if "config_file" not in settings:
            settings = {"noise_seed": 1, **settings}
        chosen = read_settings(**{"port": 0, **settings})
        self.app = create_app(chosen, logger=make_logger("info", self.log))
        self._server = make_server(self.app, chosen.gateway)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> "Gateway":
        # A full collection visits all that pytest has collected, 0.8 s of CPU for each start.
        with patch("app.main.frozen", nullcontext):
            self._thread.start()
            until = time.monotonic() + PATIENCE
            while not self._server.started:
                if not self._thread.is_alive() or time.monotonic() > until:
                    raise RuntimeError(f"the gateway did not start: {self.log.getvalue()[-2000:]}")
                time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the gateway did not stop"

    @property
    def url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def post(
        self, body: Any, *, path: str = "/v1/chat/completions", **options: Any
    ) -> httpx.Response:
        """A chat completion; ``body`` is JSON, or bytes as they are."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        address = self.url + path
        return httpx.post(address, content=content, **OPTIONS, **options)

    @contextmanager
    def raw_request(
        self, body: Any, headers: Mapping[str, str] | None = None
    ) -> Iterator[socket.socket]:
        """A chat completion that was sent and is not waited for; leaving closes the connection."""
        content = json.dumps(body).encode()
        address = httpx.URL(self.url)
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\n"
            f"content-type: application/json\r\ncontent-length: {len(content)}\r\n"
        )
        head += "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items()) + "\r\n"
        with socket.create_connection((address.host, address.port or 80), PATIENCE) as connection:
            connection.sendall(head.encode() + content)
            yield connection

    def eventually(self, holds: Callable[[], bool]) -> None:
        """Waits until it holds."""
        until(holds)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url + path, **OPTIONS, **options)

    def health(self) -> Any:
        """Return readiness as operators see it; the gateway needs ``admin_keys=OPERATOR``."""
        key = {"Authorization": f"Bearer {OPERATOR}"}
        return self.get("/health/ready", headers=key).json()

    def metric(self, name: str, **labels: str) -> float:
        """A number of /metrics; 0 where it was not counted yet."""
        for line in self.get("/metrics").text.splitlines():
            head, _, value = line.rpartition(" ")
            if head.split("{")[0] == name and all(f'{k}="{v}"' in head for k, v in labels.items()):
                return float(value)
        return 0.0

    def lines(self) -> list[dict[str, Any]]:
        """Return the logged events."""
        return [json.loads(line) for line in self.log.getvalue().splitlines()]


def gateway_fixture(**settings: Any) -> Any:
    """Return a fixture: one gateway with these settings for all tests of a module."""

    @pytest.fixture(scope="module")
    def running() -> Iterator[Gateway]:
        with Gateway(**settings) as gateway:
            yield gateway

    return running
