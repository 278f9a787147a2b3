"""The documents are true: commands exist, and links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for pattern in ("*.md", "docs/**/*.md", "bench/**/*.md", "k6/**/*.md", "engine/*.md")
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_make_command_in_the_documents_is_a_target(document: str) -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    lines = re.findall(r"(?m)^    make (.+)$|`make ([^`]+)`", (ROOT / document).read_text())
    words = {word for line in lines for word in "".join(line).split() if "=" not in word}
    assert {word for word in words if re.fullmatch(r"[a-z-]+", word)} <= targets


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_relative_link_in_the_documents_leads_somewhere(document: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / document).read_text())
    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []
