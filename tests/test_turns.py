"""Ten turns run every share once, and a layer that grows is named."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hypothesis
import pytest

from tests import durations, turns


def on_turn(patch: pytest.MonkeyPatch, turn: int | None) -> None:
    patch.setattr(turns, "_TURN", None if turn is None else str(turn))


def test_ten_turns_take_each_part_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    for turn in range(1103, 1113):
        on_turn(monkeypatch, turn)
        assert len(turns.seeds(95)) in (9, 10)
        found += turns.part(range(95))
    assert sorted(found) == list(range(95))
    on_turn(monkeypatch, None)
    assert turns.part(range(95)) == range(95)


@pytest.mark.parametrize("mark", ["share", "exact", None])
def test_ten_turns_keep_each_marked_case_once(
    monkeypatch: pytest.MonkeyPatch, mark: str | None
) -> None:
    def kept(turn: int | None) -> list[str]:
        on_turn(monkeypatch, turn)
        items: list[Any] = [
            SimpleNamespace(nodeid=f"test[{n}]", get_closest_marker=lambda name: name == mark)
            for n in range(100)
        ]
        gone: list[Any] = []
        hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))
        config: Any = SimpleNamespace(hook=hook)
        turns.pytest_collection_modifyitems(config, items)
        assert len(items) + len(gone) == 100
        return [item.nodeid for item in items]

    whole = kept(None)
    assert len(whole) == 100
    shares = [kept(turn) for turn in range(10)]
    if mark is None:
        assert shares == [whole] * 10
    else:
        assert sorted(name for share in shares for name in share) == sorted(whole)


def test_drawn_examples_are_those_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(turn: int | None) -> list[int]:
        on_turn(monkeypatch, turn)
        found: list[int] = []

        @turns.draws(100)
        @hypothesis.given(hypothesis.strategies.integers())
        def test(value: int) -> None:
            found.append(value)

        test()
        return found

    assert len(drawn(None)) == 100
    assert len(drawn(1)) == 10
    assert drawn(1) == drawn(11) != drawn(2)


@pytest.mark.parametrize(
    ("loop", "seconds", "grown"),
    [(0.01, 104.0, []), (0.01, 106.0, ["unit"]), (0.02, 208.0, []), (0.02, 212.0, ["unit"])],
    ids=["less", "more", "less on a slow machine", "more on a slow machine"],
)
def test_a_layer_that_takes_five_percent_more_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, loop: float, seconds: float, grown: list[str]
) -> None:
    kept = tmp_path / "durations.json"
    kept.write_text(json.dumps({"loop": 0.01, "layers": {"unit": 100.0}, "files": {}}))
    monkeypatch.setattr(durations, "KEPT", kept)
    config: Any = None
    table = durations.Table(config)
    table.pytest_runtest_logreport(
        SimpleNamespace(
            nodeid="tests/test_a.py::test", layer="unit", when="setup", duration=1.0,
            cpu_seconds=seconds, loop_seconds=loop,
        )
    )  # fmt: skip
    warnings = list(table._grown())
    assert [line.split()[3] for line in warnings] == grown
