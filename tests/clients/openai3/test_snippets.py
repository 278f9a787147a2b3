"""The examples of docs/clients.md."""

import re

import pytest

from ..served import ROOT, Served
from ..snippets import DOCUMENT, printed

HEADINGS = (
    "OpenAI's client for Python",
    "LangChain",
    "LangChain for Anthropic",
    "OpenAI Agents for Python",
    "Pydantic AI",
    "LiteLLM",
)


@pytest.mark.parametrize("served", ["hermes"], indirect=True)
@pytest.mark.parametrize("heading", HEADINGS)
def test_an_example_prints_its_type(served: Served, heading: str) -> None:
    assert "city=" in printed(heading, served)


@pytest.mark.parametrize("served", ["plain"], indirect=True)
def test_the_example_of_messages_prints_a_text(served: Served) -> None:
    """Noise may end it at once."""
    assert printed("Anthropic's client for Python", served)


#: tests of the documentation
NO_LIBRARY = re.compile(r"test_(snippets|readme|tutorials)\.py")


def test_the_table_of_libraries_names_their_tests() -> None:
    table = DOCUMENT.read_text().split("## Libraries\n")[1].split("\n## ")[0]
    clients = ROOT / "tests" / "clients"
    files = [*clients.glob("openai?/test_*.py"), *clients.glob("node/*.test.js")]
    tests = {path.relative_to(clients).as_posix() for path in files}
    tests = {name for name in tests if not NO_LIBRARY.search(name)}
    assert set(re.findall(r"`([^`]+\.(?:py|js))`", table)) == tests
