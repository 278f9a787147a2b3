"""The examples of docs/clients.md."""

import pytest

from ..served import Served
from ..snippets import printed

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
    assert printed("Anthropic's client for Python", served).strip()
