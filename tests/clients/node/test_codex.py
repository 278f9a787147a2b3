"""The Codex CLI, an agent of OpenAI that speaks the Responses API only: a turn with a tool call.

The worker follows a script, because noise would run random commands. The command writes a file, and
Codex shows the model what it printed.
"""

import json
import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import free_port

from ..served import PATIENCE, PYTHON, ROOT, Served
from ..snippets import snippet

CODEX = Path(os.environ.get("NODE_PACKAGES", Path(__file__).parent)) / "node_modules/.bin/codex"
COMMAND = "expr 6 '*' 7 > proof.txt; cat proof.txt"
CALL = {"name": "exec_command", "arguments": {"cmd": COMMAND}}
TEXT = "Six times seven is 42."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A gateway whose worker follows the script."""
    folder, port = tmp_path / "tokenizer", free_port()
    folder.mkdir()
    call = f"<tool_call>\n{json.dumps(CALL)}\n</tool_call>"
    command = [PYTHON, "-m", "tests.clients.node.scripted_worker", folder, port, call, TEXT]
    worker = subprocess.Popen([*map(str, command)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        settings = {
            "tokenizer": str(folder),
            "workers": f"http://127.0.0.1:{port}",
            "model_name": "scripted",
        }
        with Served("scripted", tmp_path / "log", settings) as running:
            yield running
            assert running.faults() == []
    finally:
        worker.terminate()
        worker.wait(PATIENCE)


def test_a_turn_with_a_tool_call(served: Served, tmp_path: Path) -> None:
    """The configuration is that of docs/clients.md."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    config = snippet("Codex CLI", served).replace('model = "noise"', 'model = "scripted"')
    assert tomllib.loads(config)["model"] == "scripted"
    (home / "config.toml").write_text(config)
    done = subprocess.run(
        [CODEX, "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "6 * 7?"],
        cwd=work, env={**os.environ, "CODEX_HOME": str(home)}, text=True, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (work / "proof.txt").read_text() == "42\n"
    assert done.stdout.strip().endswith(TEXT)
    lines = [line for line in (tmp_path / "log").read_text().splitlines() if line[0] == "{"]
    answers = [each for each in map(json.loads, lines) if each.get("route") == "/v1/responses"]
    assert [line["finish_reasons"] for line in answers] == [["tool_calls"], ["stop"]]
