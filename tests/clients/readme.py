"""The examples of README.md: the indented blocks below a heading, code and output in turn."""

import re
import textwrap

from .served import ROOT, Served

README = ROOT / "README.md"
ADDRESS = "http://127.0.0.1:8000"
_BLOCK = re.compile(r"(?:^(?: {4}[^\n]*)?\n)*^ {4}[^\n]*\n", re.MULTILINE)


def examples(heading: str, served: Served) -> list[tuple[str, str]]:
    """Return code, for that gateway, and its output."""
    section = README.read_text().split(f"### {heading}\n")[1].split("\n##")[0]
    blocks = [textwrap.dedent(block).strip("\n") for block in _BLOCK.findall(section)]
    address = served.address
    codes = [code.replace(ADDRESS, address) for code in blocks[::2]]
    assert all(address in code for code in codes[:1])
    return list(zip(codes, blocks[1::2], strict=True))
