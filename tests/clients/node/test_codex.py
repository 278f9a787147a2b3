"""The Codex CLI, an agent of OpenAI that speaks the Responses API only: a turn with a tool call.

The worker follows a script, because noise would run random commands. The command writes a file, and
Codex shows the model what it printed.
"""

import os
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..served import PATIENCE, Served
from ..snippets import snippet
from .scripted import BIN, answers, scripted

COMMAND = "expr 6 '*' 7 > proof.txt; cat proof.txt"
CALL = {"name": "exec_command", "arguments": {"cmd": COMMAND}}
TEXT = "Six times seven is 42."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with scripted(tmp_path, CALL, TEXT) as running:
        yield running


def test_a_turn_with_a_tool_call(served: Served, tmp_path: Path) -> None:
    """The configuration is that of docs/clients.md."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    config = snippet("Codex CLI", served).replace('model = "noise"', 'model = "scripted"')
    assert tomllib.loads(config)["model"] == "scripted"
    (home / "config.toml").write_text(config)
    command = [BIN / "codex", "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"]
    done = subprocess.run(
        [*command, "6 * 7?"],
        cwd=work, env={**os.environ, "CODEX_HOME": str(home)}, text=True, check=False,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (work / "proof.txt").read_text() == "42\n"
    assert done.stdout.strip().endswith(TEXT)
    answered = answers(tmp_path, "/v1/responses")
    assert [line["finish_reasons"] for line in answered] == [["tool_calls"], ["stop"]]
