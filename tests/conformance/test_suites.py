"""What the public suites say of the engine gets no worse; ``suites`` tells where they lie."""

import json
import os
from typing import Any

import pytest

from .suites import ORDERS, OUTCOMES, RATCHET, compared, measured, worse

FOLDERS = {
    "test suite": "SWITCHYARD_JSTS",
    "maskbench 0": "SWITCHYARD_MASKBENCH",
    "maskbench 1": "SWITCHYARD_MASKBENCH",
}


def pins() -> dict[str, Any]:
    return dict(json.loads(RATCHET.read_text()))


@pytest.mark.parametrize("name", FOLDERS)
def test_a_suite_says_nothing_worse_than_what_is_pinned(name: str) -> None:
    if not os.environ.get(FOLDERS[name]):
        pytest.skip(f"{FOLDERS[name]} names no folder")
    assert compared(name, pins(), measured(pins(), name)) == []


@pytest.mark.parametrize("name", FOLDERS)
def test_no_invalid_instance_is_known_to_be_taken(name: str) -> None:
    for order in ORDERS:
        assert pins()[name][order]["unsound"] == 0


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"right": 9, "refused": 1, "unsound": 0, "incomplete": 1}, []),
        ({"right": 10, "refused": 0, "unsound": 0, "incomplete": 0}, []),
        ({"right": 9, "refused": 0, "unsound": 0, "incomplete": 2}, []),
        ({"right": 8, "refused": 1, "unsound": 0, "incomplete": 2}, ["right: 9 before, 8 now"]),
        ({"right": 9, "refused": 0, "unsound": 1, "incomplete": 1}, ["unsound: 0 before, 1 now"]),
        ({"right": 9, "refused": 2, "unsound": 0, "incomplete": 0}, ["refused: 1 before, 2 now"]),
    ],
)
def test_a_number_that_got_worse_is_told(found: dict[str, int], words: list[str]) -> None:
    pinned = dict(zip(OUTCOMES, (9, 1, 0, 1), strict=True))
    assert worse(pinned, found) == words
