"""The code in docs/clients.md, by its heading: what users copy is what is tested."""

import re
import subprocess
import sys

from .served import ROOT, Served

DOCUMENT = ROOT / "docs" / "clients.md"
#: the address in the document
ADDRESS = "http://127.0.0.1:8000"
_SECTION = re.compile(
    r"^## ([^\n]+)\n\n(?:[^\n]+:\n\n)?```(?:python|js|json|sh|toml|yaml)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def snippet(heading: str, served: Served) -> str:
    """The code below a heading, for that gateway."""
    code = dict(_SECTION.findall(DOCUMENT.read_text()))[heading]
    assert ADDRESS in code
    return code.replace(ADDRESS, served.address)


def printed(heading: str, served: Served) -> str:
    """Return the output of the Python code below a heading, run in a new interpreter."""
    command = [sys.executable, "-c", snippet(heading, served)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
