"""The programs of a page in docs/tutorials: each runs as a file, and its output is compared.

A program is a block ``python title="NAME"``. The block ``text`` behind it, if any, is its output,
in which ``...`` stands for any text.
"""

import doctest
import re
import subprocess
import sys
from pathlib import Path

from .served import ROOT, Served
from .snippets import ADDRESS

FOLDER = ROOT / "docs" / "tutorials"
#: the file that the other programs of a page import
COMMON = "weather.py"
#: seconds for one program on a slow machine
PATIENCE = 300.0
_PROGRAM = re.compile(
    r'^```python title="([a-z_]+\.py)"\n(.*?)^```\n'
    # a sentence such as "`python agent.py` prints", and the output
    r"(?:\n(?!```|#)[^\n]+\n\n```text\n(.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def programs(page: str) -> dict[str, tuple[str, str]]:
    """The code and the output of each program, by its name."""
    found = _PROGRAM.findall((FOLDER / page).read_text())
    return {name: (code, output) for name, code, output in found}


def names(page: str) -> list[str]:
    """The programs to run, in the order of the page."""
    return [name for name in programs(page) if name != COMMON]


def check(page: str, name: str, served: Served, folder: Path) -> None:
    """Write all programs of the page into ``folder``, run one and compare its output."""
    found = programs(page)
    for other, (code, _) in found.items():
        (folder / other).write_text(code.replace(ADDRESS, served.address))
    done = subprocess.run(
        [sys.executable, name],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    wanted = found[name][1]
    is_as_shown = doctest.OutputChecker().check_output(wanted, done.stdout, doctest.ELLIPSIS)
    assert not wanted or is_as_shown, done.stdout
