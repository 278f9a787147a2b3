"""The ``switchyard`` command as people run it: a process of its own, with an environment."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: seconds that a command may take on a slow machine
PATIENCE = 120.0
#: what the script that an installation makes does
SCRIPT = "import sys; from app.cli import main; sys.exit(main())"


def arguments(*given: object) -> list[str]:
    return [sys.executable, "-c", SCRIPT, *map(str, given)]


def environment(**settings: object) -> dict[str, str]:
    """This process's, with these settings and no others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SWITCHYARD_")}
    chosen = {f"SWITCHYARD_{name.upper()}": str(value) for name, value in settings.items()}
    return {**kept, **chosen, "PYTHONPATH": str(ROOT)}


def switchyard(
    *given: object, piped: str = "", **settings: object
) -> "subprocess.CompletedProcess[str]":
    """Runs it to its end, with a pipe that holds ``piped`` as its input."""
    return subprocess.run(
        arguments(*given),
        env=environment(**settings),
        input=piped,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def numbers(output: str) -> dict[str, str]:
    """Rows of a table with two columns."""
    rows = (line.rsplit(maxsplit=1) for line in output.splitlines() if line.strip())
    return {row[0].strip(): row[1] for row in rows if len(row) == 2}
