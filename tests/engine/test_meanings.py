"""A spec means the same in all engines of one SPEC_VERSION."""

from pathlib import Path

import pytest

import engine
from engine.frontends.json_schema import formats
from tests.engine import meanings
from tests.engine.meanings import Pins, changed, pinned, present

WRITE = "python -m tests.engine.meanings"


def test_no_meaning_changes_without_the_version() -> None:
    before, now = pinned(), present()
    if now.spec_version == before.spec_version:
        others = changed(before, now)
        assert others == [], f"increase SPEC_VERSION in engine/versions.py, then run `{WRITE}`"
    assert now == before, f"run `{WRITE}`"


def test_another_pattern_of_a_format_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meanings, "CASES", ())
    before = present()
    monkeypatch.setitem(formats.PATTERNS, "date", "^.*$")
    monkeypatch.setitem(formats.PATTERNS, "isbn", "^.*$")
    monkeypatch.delitem(formats.PATTERNS, "uuid")
    name = "table:engine.frontends.json_schema.formats.PATTERNS"
    assert changed(before, present()) == [f"{name}:date", f"{name}:uuid", f"{name}:isbn"]


def test_another_language_of_a_case_is_noticed_and_another_case_is_none() -> None:
    before = Pins(1, {"case:a": "in out", "case:b": "in out", "case:c": "in out"})
    now = Pins(1, {"case:a": "in new", "case:b": "new new", "case:d": "in out"})
    assert changed(before, now) == ["case:a"]


def test_the_tool_refuses_to_pin_a_change_of_one_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "pins.json"
    monkeypatch.setattr(meanings, "CASES", meanings.CASES[:10])
    monkeypatch.setattr(meanings, "PINNED", path)
    meanings.main()
    kept = path.read_text()
    monkeypatch.setitem(formats.PATTERNS, "date", "^.*$")
    with pytest.raises(SystemExit, match=r"formats\.PATTERNS:date; increase SPEC_VERSION"):
        meanings.main()
    assert path.read_text() == kept
    monkeypatch.setattr(engine, "SPEC_VERSION", engine.SPEC_VERSION + 1)
    meanings.main()
    assert changed(pinned(), present()) == []
