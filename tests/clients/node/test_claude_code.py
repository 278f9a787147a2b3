"""Claude Code, an agent that speaks Anthropic's API: tool loops in a scratch folder and home.

The worker follows a script, because noise would run random commands.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..served import PATIENCE, Served
from ..snippets import snippet
from .scripted import BIN, answers, scripted

TEXT = "The note says hello."


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """The script reads a file of the scratch folder."""
    (tmp_path / "work").mkdir()
    note = tmp_path / "work" / "note.txt"
    note.write_text("hello\n")
    call = {"name": "Read", "arguments": {"file_path": str(note)}}
    with scripted(tmp_path, call, TEXT) as running:
        yield running


def claude(served: Served, place: Path, *options: str) -> dict[str, Any]:
    """Return the result of a turn; the variables are those of docs/clients.md."""
    lines = snippet("Claude Code", served).replace("=noise", "=scripted")
    variables = dict(re.findall(r"(\w+)=(\S+)", lines))
    command = [str(BIN / "claude"), "-p", *options, "--output-format", "json"]
    done = subprocess.run(
        [*command, "--allowedTools", "Read"],
        cwd=place / "work",
        env={**os.environ, **variables, "HOME": str(place)},
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_loop_with_a_tool_and_its_session_again(served: Served, tmp_path: Path) -> None:
    first = claude(served, tmp_path, "What does the note say?")
    assert (first["is_error"], first["num_turns"], first["result"]) == (False, 2, TEXT)
    again = claude(served, tmp_path, "Again?", "--resume", first["session_id"])
    assert (again["is_error"], again["result"]) == (False, TEXT)
    answered = answers(tmp_path, "/v1/messages")
    reasons = [line["finish_reasons"] for line in answered]
    assert reasons == [["tool_calls"], ["stop"], ["stop"]]
    assert {line["status"] for line in answered} == {200}
