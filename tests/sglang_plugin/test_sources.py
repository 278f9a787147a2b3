"""Pieces of the table are judged by SGLang's sources, in a folder or a wheel."""

import ast
import zipfile
from pathlib import Path

import pytest

from adapters.sglang_plugin.internals import Call, Fields, Function, Value
from adapters.sglang_plugin.sources import Sources, parameters
from tools import sglang_internals

MODULE = """
from elsewhere import CHOICES
import a.b as c
try:
    import fast
except ImportError:
    fast = None
if fast:
    LIMIT: int = 3

def called(first, second, third=1, *, fourth=2): ...
def needy(first, *, second): ...
def pair(): return 1, 2
def odd():
    if fast:
        return 1, 2
    return None

class Base:
    field: int
    HOOKS = {}
    def __init__(self, given):
        self.kept = given
    def method(self, given): ...
    def duty(self):
        raise NotImplementedError()
    @staticmethod
    def fixed(given): raise NotImplementedError("soon")

def steps(grammar, rows):
    grammar.fill(rows, size=1)
    REGISTRY["x"](1, 2)
    for row in rows: row.grammar.fill(row, size=2)
"""
NAME = "sglang.srt.part"


@pytest.fixture(params=["folder", "wheel"])
def sources(request: pytest.FixtureRequest, tmp_path: Path) -> Sources:
    files = {"sglang/srt/part.py": MODULE, "sglang/srt/bad.py": "def (", "sglang/__init__.py": ""}
    if request.param == "wheel":
        with zipfile.ZipFile(tmp_path / "sglang.whl", "w") as wheel:
            for name, text in files.items():
                wheel.writestr(name, text)
        return Sources(tmp_path / "sglang.whl")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Sources(tmp_path)


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        *((Value(NAME, name), None) for name in ("CHOICES", "c", "fast", "LIMIT", "Base.HOOKS")),
        (Value(NAME, "gone"), "no such name"),
        (Value(NAME, "called.first"), "no such name"),
        (Value("sglang.srt.bad", "x"), "no such name"),
        (Value("sglang.other", "x"), "no such name"),
        (Function(NAME, "called", ("first", "second")), None),
        (Function(NAME, "called", ("first",), ("second", "fourth")), None),
        (Function(NAME, "called", ("first",)), "its parameters are (first, second, third, fourth)"),
        (Function(NAME, "called", ("second", "first")), "its parameters are"),
        (Function(NAME, "needy", ("first",)), "its parameters are (first, second)"),
        (Function(NAME, "needy", ("first",), ("second",)), None),
        (Function(NAME, "CHOICES"), "no such name"),
        (Function(NAME, "Base.method", ("given",), overridden=True), None),
        (Function(NAME, "Base.fixed", ("given",), overridden=True), None),
        (Function(NAME, "Base.method", ("given", "more"), overridden=True), "its parameters are"),
        (Function(NAME, "called", ("first", "second"), overridden=True), "its parameters are"),
        (Function(NAME, "pair", returns=2), None),
        (Function(NAME, "odd", returns=2), "it returns"),
        (Fields(NAME, "Base", ("field", "kept", "method", "HOOKS")), None),
        (Fields(NAME, "Base", ("field", "lost", "gone")), "it has no lost, gone"),
        (Fields(NAME, "Gone", ()), "no such name"),
        (Fields(NAME, "Base", (), ("duty", "fixed", "former")), None),
        (Fields(NAME, "Base", (), ("fixed",)), "it has new abstract methods: duty"),
        (Call(NAME, "steps", "fill", ("row", "size")), None),
        (Call(NAME, "", "REGISTRY", ("one", "two")), None),
        (Call(NAME, "steps", "REGISTRY", ("one",), ("two",)), None),
        (Call(NAME, "steps", "fill", ("row",)), "a call passes 1 arguments and ['size']"),
        (Call(NAME, "steps", "fill", ("row", "size", "more")), "a call passes 1 arguments"),
        (Call(NAME, "steps", "gone", ()), "no such call"),
        (Call(NAME, "gone", "fill", ()), "no such call"),
    ],
    ids=str,
)
def test_each_way_is_found_or_says_what_differs(
    sources: Sources, way: Value | Function | Fields | Call, fault: str | None
) -> None:
    found = way.fault(sources)
    assert (found is None) if fault is None else (found is not None and found.startswith(fault))


def test_parameters_without_a_default_come_first() -> None:
    (made,) = ast.parse("def f(self, a, b=1, *c, d, e=2, **g): ...").body
    assert parameters(made) == (("a", "d", "b", "e"), 2)


def test_the_tool_lists_missing_pieces_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "sglang"
    package.mkdir()
    (package / "__init__.py").touch()
    environ = package / "srt" / "environ.py"
    environ.parent.mkdir()
    environ.write_text("envs = 1")
    assert sglang_internals.main([str(tmp_path)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"== {tmp_path}" and lines[1].startswith("lacks   sglang.srt")
    assert lines[-1] == "ok      sglang.srt.environ: envs"
    assert any(line.startswith("absent  ") and "optional" in line for line in lines)


def test_the_tool_refuses_a_path_without_sglang(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """REGRESSION: every piece was listed as missing."""
    with pytest.raises(SystemExit):
        sglang_internals.main([str(tmp_path / "sglang-0.5.24*.whl")])
    assert "sglang-0.5.24*.whl: no wheel or folder" in capsys.readouterr().err
