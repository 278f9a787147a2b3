"""The engine's results on the public suites do not regress; ``suites`` finds their folders."""

import json
from pathlib import Path
from typing import Any

import pytest

from .suites import (
    DEFAULTS,
    ORDERS,
    OUTCOMES,
    RATCHET,
    VARIABLES,
    compared,
    folder_of,
    measured,
    worse,
)


def pins() -> dict[str, Any]:
    return dict(json.loads(RATCHET.read_text()))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(not folder_of(variable), reason=variable))
        for name, variable in VARIABLES.items()
    ],
)
def test_a_suite_says_nothing_worse_than_what_is_pinned(name: str) -> None:
    assert compared(name, pins(), measured(pins(), name)) == []


@pytest.mark.parametrize("name", VARIABLES)
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


def test_a_variable_overrides_the_folder_beside_the_repository(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    variable = "SWITCHYARD_JSTS"
    monkeypatch.setitem(DEFAULTS, variable, tmp_path / "default")
    monkeypatch.delenv(variable, raising=False)
    assert folder_of(variable) is None
    (tmp_path / "default").mkdir()
    assert folder_of(variable) == tmp_path / "default"
    monkeypatch.setenv(variable, str(tmp_path / "given"))
    assert folder_of(variable) == tmp_path / "given"
