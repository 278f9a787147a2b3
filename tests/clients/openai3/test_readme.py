"""The examples of README.md print what README.md shows."""

import json
import re
import subprocess
import sys
from typing import Any

from ..readme import blocks, examples
from ..served import Served
from ..snippets import DOCUMENT


def output(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def calls(answer: Any) -> Any:
    """The calls of an answer, without their ids."""
    return [call["function"] for call in answer["choices"][0]["message"]["tool_calls"]]


def test_curl(shipped: Served) -> None:
    ((command, shown),) = examples("With curl", shipped)
    complete = re.sub(r", \.\.\.\}", "}", shown)
    assert calls(json.loads(output("bash", "-c", command))) == calls(json.loads(complete))


def test_the_python_client(shipped: Served) -> None:
    """The examples of the section are one program."""
    parts = examples("With the official Python client", shipped)
    code = "\n".join(code for code, _ in parts)
    assert output(sys.executable, "-c", code).splitlines() == [
        line for _, shown in parts for line in shown.splitlines()
    ]


def test_the_lines_for_agents_are_those_that_are_tested() -> None:
    """tests/clients/node runs those of docs/clients.md."""
    (lines,) = blocks("With Codex or Claude Code")
    assert f"```sh\n{lines}\n```" in DOCUMENT.read_text()
