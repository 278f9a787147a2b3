"""The examples of docs/clients.md."""

import pytest

from ..served import Served
from ..snippets import printed

HEADINGS = ("Instructor",)


@pytest.mark.parametrize("served", ["hermes"], indirect=True)
@pytest.mark.parametrize("heading", HEADINGS)
def test_an_example_prints_its_type(served: Served, heading: str) -> None:
    assert "city=" in printed(heading, served)
