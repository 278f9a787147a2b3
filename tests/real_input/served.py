"""A gateway as people run it: ``python -m app`` in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType

import httpx

ROOT = Path(__file__).parents[2]
#: seconds that it may take to start or to stop on a slow machine
PATIENCE = 60.0


class ServedGateway:
    """``with ServedGateway() as gateway``; without ``settings`` it runs the noise worker.

    ``settings`` are SWITCHYARD_* variables without the prefix; those of the caller's environment
    don't count.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith("SWITCHYARD_")}
        chosen = {"PORT": str(self._port), "LOG_LEVEL": "warning", **(settings or {})}
        self._environment = kept | {f"SWITCHYARD_{key}": value for key, value in chosen.items()}
        self._open = ExitStack()
        self._log = self._open.enter_context(TemporaryFile("w+"))

    def __enter__(self) -> "ServedGateway":
        command = [sys.executable, "-m", "app"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=self._environment, stdout=self._log, stderr=subprocess.STDOUT
        )
        until = time.monotonic() + PATIENCE
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > until:
                said = self.log()[-2000:]
                self.__exit__(None, None, None)
                raise RuntimeError(f"the gateway did not start: {said}")
            time.sleep(0.1)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        with self._open:
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise

    def log(self) -> str:
        """What it printed so far."""
        self._log.seek(0)
        return self._log.read()

    def _ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=5).status_code == 200
        except httpx.TransportError:
            return False


def metric(url: str, name: str) -> float:
    """The sum of a metric over its labels; 0 where nothing was counted yet."""
    lines = httpx.get(f"{url}/metrics", timeout=PATIENCE).text.splitlines()
    heads = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return sum(float(value) for head, _, value in heads if head.split("{")[0] == name)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
