"""A gateway as people run it: ``python -m app`` in a process of its own."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import httpx

from tests.redis_server import free_port

ROOT = Path(__file__).parents[2]
#: seconds that it may take to start or to stop on a slow machine
PATIENCE = 180.0
#: of the gateway's log, shown where a test fails
LOG_CHARS = 4000


@contextmanager
def served_gateway(
    settings: Mapping[str, str] | None = None, patience: float = PATIENCE, module: str = "app"
) -> Iterator[str]:
    """Its URL, while it runs and is ready; without ``settings`` it runs the noise worker.

    An error raised meanwhile, or because the gateway does not start, gets the end of the
    gateway's log as a note.
    ``settings`` are SWITCHYARD_* variables without the prefix; those of the caller's environment
    don't count. ``module`` is what ``python -m`` runs.
    """
    port = free_port()
    chosen = {"PORT": str(port), "LOG_LEVEL": "warning", **(settings or {})}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("SWITCHYARD_")}
    environment = kept | {f"SWITCHYARD_{key}": value for key, value in chosen.items()}
    command = [sys.executable, "-m", module]
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url, process, patience)
            yield url
        except Exception as error:
            log.seek(0)
            error.add_note(f"the gateway's log ends with:\n{log.read()[-LOG_CHARS:]}")
            raise
        finally:
            _stop(process)


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], patience: float) -> None:
    until = time.monotonic() + patience
    while not _ready(url):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError("the gateway did not start")
        time.sleep(0.1)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


def metric(url: str, name: str) -> float:
    """The sum of a metric over its labels; 0 where nothing was counted yet."""
    lines = httpx.get(f"{url}/metrics", timeout=PATIENCE).text.splitlines()
    heads = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return sum(float(value) for head, _, value in heads if head.split("{")[0] == name)
