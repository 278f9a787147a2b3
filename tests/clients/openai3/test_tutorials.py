"""The programs of the tutorials, against a gateway with the settings of `make serve`."""

from pathlib import Path

import pytest

from ..served import Served
from ..tutorials import check, names

PAGES = ("langchain.md", "openai-agents.md")
PROGRAMS = [(page, name) for page in PAGES for name in names(page)]


@pytest.mark.parametrize(("page", "name"), PROGRAMS)
def test_a_program_prints_what_the_page_shows(
    shipped: Served, page: str, name: str, tmp_path: Path
) -> None:
    check(page, name, shipped, tmp_path)


def test_the_pages_have_all_kinds_of_programs() -> None:
    """Else a page that is written in another way would be tested by nothing."""
    for page in PAGES:
        assert {"agent.py", "typed.py", "stream.py", "cut.py"} <= set(names(page))
