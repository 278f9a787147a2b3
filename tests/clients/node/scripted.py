"""A gateway before a worker with a script, for agents: noise would run random commands."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.redis_server import free_port

from ..served import PATIENCE, PYTHON, ROOT, Served

#: the commands of the packages
BIN = Path(os.environ.get("NODE_PACKAGES", Path(__file__).parent)) / "node_modules/.bin"


@contextmanager
def scripted(place: Path, call: Mapping[str, Any], text: str) -> Iterator[Served]:
    """A gateway whose worker writes a call, and a text once the tool has answered."""
    folder, port = place / "tokenizer", free_port()
    folder.mkdir()
    written = f"<tool_call>\n{json.dumps(call)}\n</tool_call>"
    command = [PYTHON, "-m", "tests.clients.node.scripted_worker", folder, port, written, text]
    worker = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        settings = {
            "tokenizer": str(folder),
            "workers": f"http://127.0.0.1:{port}",
            "model_name": "scripted",
        }
        with Served("scripted", place / "log", settings) as running:
            yield running
            assert running.faults() == []
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def answers(place: Path, route: str) -> list[dict[str, Any]]:
    """The log lines of a route."""
    lines = [line for line in (place / "log").read_text().splitlines() if line[0] == "{"]
    return [each for each in map(json.loads, lines) if each.get("route") == route]
