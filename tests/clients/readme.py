"""The examples of README.md: indented blocks below a heading, most of them code and its output."""

import re
import textwrap

from .served import ROOT, Served

README = ROOT / "README.md"
ADDRESS = "http://127.0.0.1:8000"
_BLOCK = re.compile(r"(?:^(?: {4}[^\n]*)?\n)*^ {4}[^\n]*\n", re.MULTILINE)


def blocks(heading: str) -> list[str]:
    """Return the indented blocks below a heading."""
    section = README.read_text().split(f"### {heading}\n")[1].split("\n##")[0]
    return [textwrap.dedent(block).strip("\n") for block in _BLOCK.findall(section)]


def examples(heading: str, served: Served) -> list[tuple[str, str]]:
    """Return code, for that gateway, and its output."""
    found = blocks(heading)
    codes = [code.replace(ADDRESS, served.address) for code in found[::2]]
    assert all(served.address in code for code in codes[:1])
    return list(zip(codes, found[1::2], strict=True))
