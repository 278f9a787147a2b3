"""Gateways for agents: before a worker with a script, since noise would run random commands."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.redis_server import free_port

from ..served import PATIENCE, PYTHON, ROOT, Served

#: a tool's name and arguments
Call = Mapping[str, Any]


@contextmanager
def scripted(
    place: Path, calls: Sequence[Call], text: str, *, sees_images: bool = False
) -> Iterator[Served]:
    """A gateway whose worker writes calls, one in a turn, and a text once the tools answered."""
    folder, port = place / "tokenizer", free_port()
    folder.mkdir()
    script = (folder, port, json.dumps(calls), text)
    command = [PYTHON, "-m", "tests.clients.node.scripted_worker", *map(str, script)]
    command += ["vision"] if sees_images else []
    worker = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        settings = {
            "tokenizer": str(folder),
            "workers": f"http://127.0.0.1:{port}",
            "model_name": "noise",
        }
        with Served("scripted", place / "log", settings) as running:
            yield running
            assert running.faults() == []
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def answers(place: Path, route: str | None = None) -> list[dict[str, Any]]:
    """The log lines of requests, of one route or of all."""
    lines = [line for line in (place / "log").read_text().splitlines() if line[0] == "{"]
    requests = [each for each in map(json.loads, lines) if each["event"] == "request"]
    return [each for each in requests if route in (None, each["route"])]
