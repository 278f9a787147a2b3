"""The table of internals holds in the installed SGLang, and sees each piece that goes."""

import ast
import logging
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

if find_spec("sglang") is None:
    pytest.skip("the SGLang worker's own environment has SGLang", allow_module_level=True)

from adapters.sglang_plugin import internals, register, versions
from adapters.sglang_plugin.internals import (
    TABLE,
    Call,
    Fields,
    Function,
    Piece,
    Value,
    Way,
    fault_of,
    faults,
)
from adapters.sglang_plugin.sources import Sources

INSTALLED = Sources.installed()


class Changed(Sources):
    """SGLang's sources in which a name of some modules is another one."""

    def __init__(self, changes: dict[str, tuple[str, str]]) -> None:
        self._changed = {name: self._parse(name, *change) for name, change in changes.items()}

    @staticmethod
    def _parse(name: str, old: str, new: str) -> ast.Module | None:
        found = INSTALLED.module(name)
        if found is None:
            return None
        return ast.parse(re.sub(rf"\b{re.escape(old)}\b", new, _text(name)))

    def module(self, name: str) -> ast.Module | None:
        return self._changed[name] if name in self._changed else INSTALLED.module(name)


@cache
def _text(name: str) -> str:
    found = INSTALLED.module(name)
    assert found is not None
    return ast.unparse(found)


def name_of(way: Way) -> str:
    """Return a name without which the way does not exist."""
    if isinstance(way, Call):
        return way.callee
    if isinstance(way, Fields):
        return way.fields[0]
    return way.name.rpartition(".")[2]


def without(piece: Piece) -> Sources:
    return Changed({way.module: (name_of(way), "gone") for way in piece.ways})


def test_the_table_holds() -> None:
    assert list(map(str, faults(INSTALLED))) == []


def test_keys_are_distinct() -> None:
    assert len({piece.key for piece in TABLE}) == len(TABLE)


REQUIRED = [piece for piece in TABLE if not piece.optional]


@pytest.mark.parametrize("piece", REQUIRED, ids=lambda piece: piece.key)
def test_a_piece_that_has_gone_is_named_with_its_purpose(piece: Piece) -> None:
    fault = fault_of(piece, without(piece))
    assert fault is not None
    assert all(str(way) in str(fault) for way in piece.ways) and piece.purpose in str(fault)


@pytest.mark.parametrize("kind", [Function, Value, Fields, Call])
def test_without_a_piece_the_start_ends_and_names_it(
    kind: type[Way], monkeypatch: pytest.MonkeyPatch
) -> None:
    piece = next(each for each in REQUIRED if isinstance(each.ways[0], kind))
    changed = without(piece)
    monkeypatch.setattr(Sources, "installed", lambda: changed)
    monkeypatch.setattr(sys, "argv", ["launch", "--grammar-backend", "switchyard"])
    for start, error in ((versions.check, versions.UnsupportedSGLang), (register, SystemExit)):
        with pytest.raises(error) as caught:
            start()
        said = str(caught.value)
        assert all(str(way) in said for way in piece.ways) and piece.purpose in said
        assert versions.TESTED[-1] in said


def test_a_refusal_is_short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without SGLang's sources, every piece is missing."""
    empty = Sources(tmp_path)
    monkeypatch.setattr(Sources, "installed", lambda: empty)
    with pytest.raises(versions.UnsupportedSGLang, match=r"; and \d+ more internals\. The last"):
        versions.check()
    said = versions.refusal("1", [str(fault) for fault in faults(empty)][: versions.MOST_MISSING])
    assert "more internals" not in said and said.count("; ") == versions.MOST_MISSING - 1


@pytest.mark.parametrize(
    "arguments",
    [["--grammar-backend", "xgrammar"], [], ["--model-path", "switchyard"], ["--grammar-backend"]],
)
def test_a_server_with_another_backend_starts_without_the_pieces(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = without(REQUIRED[0])
    monkeypatch.setattr(Sources, "installed", lambda: changed)
    monkeypatch.setattr(sys, "argv", ["launch", *arguments])
    register()


@pytest.mark.parametrize(
    ("module", "old", "new", "words"),
    [
        ("base_grammar_backend", "def accept_token(self, token: int)",
         "def accept_token(self, token: int, row: int)", "its parameters are (token, row)"),
        ("base_grammar_backend", "def reset(self)", "def reset(self, all=False)",
         "its parameters are (all)"),
        ("base_grammar_backend", "def try_jump_forward(", "def score(",
         "it has new abstract methods: score"),
    ],
)  # fmt: skip
def test_a_change_behind_a_name_is_seen(module: str, old: str, new: str, words: str) -> None:
    name = f"sglang.srt.constrained.{module}"
    changed = Changed({})
    changed._changed[name] = ast.parse(_text(name).replace(old, new))
    assert old in _text(name) and words in " ".join(map(str, faults(changed)))


def test_an_optional_piece_may_be_absent_but_not_differ() -> None:
    (piece,) = (each for each in TABLE if each.key == "reasoning_in_grammar")
    (way,) = piece.ways
    changed = Changed({way.module: (name_of(way), "gone")})
    assert fault_of(piece, changed) is not None and faults(changed) == []
    if fault_of(piece, INSTALLED) is None:
        other = Changed({way.module: ("custom_params", "others")})
        assert piece in [fault.piece for fault in faults(other)]


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> str:
    """A version of SGLang that keeps its internals."""
    monkeypatch.setattr(versions.metadata, "version", lambda name: "9.9.9")
    return "9.9.9"


def test_a_newer_version_that_keeps_its_internals_starts(
    newer: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["launch", "--grammar-backend=switchyard"])
    with caplog.at_level(logging.WARNING):
        register()
        api = versions.check()
    assert (api.version, api.is_tested) == (newer, False)
    assert caplog.text.count("SGLang 9.9.9 was not tested") == 2


def test_the_installed_version_is_a_tested_one() -> None:
    assert versions.installed().is_tested


@pytest.mark.parametrize("piece", TABLE, ids=lambda piece: piece.key)
def test_pieces_are_imported_by_their_names(piece: Piece) -> None:
    """Sources and imports agree; calls have no name."""
    ways = [way for way in piece.ways if not isinstance(way, Call)]
    if ways and fault_of(piece, INSTALLED) is None:
        loaded: Any = internals.load(piece.key)
        assert loaded is not None and internals.path_of(piece.key).startswith("sglang.")
