"""The judge agrees with BFCL's own checker, on right arguments and on spoilt ones.

The checker is the package's, from the data of ``make data``; its table of models and its readers of
Java and JavaScript, which need other packages, are stand-ins.
"""

import copy
import json
import random
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from app.cli.quality import Case, Judge, read_bfcl
from tests.real_input.bfcl import data_folder

DATA = data_folder()
pytestmark = pytest.mark.skipif(DATA is None, reason="`make data` fetches BFCL")
KINDS = ("simple_python", "multiple")
CONVERTERS = "bfcl_eval.eval_checker.ast_eval.type_convertor"

Check = Callable[..., dict[str, Any]]


class AnyModel(dict[str, Any]):
    """Models whose function names keep their dots."""

    def __missing__(self, name: str) -> Any:
        return type("Model", (), {"underscore_to_dot": False})


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Check:
    assert DATA is not None
    monkeypatch.syspath_prepend(str(DATA.parents[1]))
    for name, shown in [
        ("bfcl_eval.constants.model_config", {"MODEL_CONFIG_MAPPING": AnyModel()}),
        (f"{CONVERTERS}.java_type_converter", {"java_type_converter": None}),
        (f"{CONVERTERS}.js_type_converter", {"js_type_converter": None}),
    ]:
        module = ModuleType(name)
        module.__dict__.update(shown)
        monkeypatch.setitem(sys.modules, name, module)
    from bfcl_eval.constants.enums import Language
    from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

    return lambda tools, call, truth, kind: ast_checker(
        tools, [call], [truth], Language.PYTHON, kind, "model"
    )


def right(case: Case, draw: random.Random) -> dict[str, Any]:
    """Return acceptable arguments."""
    arguments = {name: one_of(accepted, draw) for name, accepted in case.expected.items()}
    return {name: value for name, value in arguments.items() if value != ""}


def one_of(accepted: list[Any], draw: random.Random) -> Any:
    """Return an acceptable value; each key of an object has acceptable values again."""
    return inside(draw.choice(accepted), draw)


def inside(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict):
        parts = {k: one_of(v, draw) if isinstance(v, list) else v for k, v in value.items()}
        return {name: part for name, part in parts.items() if part != ""}
    return [inside(part, draw) for part in value] if isinstance(value, list) else value


def spoilt(arguments: dict[str, Any], draw: random.Random) -> dict[str, Any]:
    """Return arguments with one change, which may be a harmless one."""
    changed = copy.deepcopy(arguments)
    name = draw.choice(list(changed))
    value = changed.pop(name)
    changes: list[Any] = [str(value), None]
    if isinstance(value, str):
        changes += [value.upper() + " .", value + "x"]
    elif isinstance(value, list):
        changes += [value[::-1], value[:-1]]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        changes += [value + 1, float(value)]
    return draw.choice([changed, {**changed, "zzz": 1}, *({**changed, name: c} for c in changes)])


def test_verdicts_are_those_of_bfcls_checker(check: Check) -> None:
    assert DATA is not None
    draw, judge, verdicts = random.Random(1), Judge(), set()
    for kind in KINDS:
        lines = (DATA / f"BFCL_v4_{kind}.json").read_text("utf-8").splitlines()
        for line, case in zip(map(json.loads, lines), read_bfcl(DATA, [kind]), strict=True):
            arguments = right(case, draw)
            for each in (arguments, spoilt(arguments, draw), spoilt(arguments, draw)):
                function = {"name": case.function, "arguments": json.dumps(each)}
                message = {"tool_calls": [{"function": function}]}
                choice = {"finish_reason": "tool_calls", "message": message}
                verdict = judge.judge(case, {"choices": [choice]}).arguments
                call, truth = {case.function: each}, {case.function: case.expected}
                theirs = check(line["function"], call, truth, kind)
                assert verdict == theirs["valid"], (case.id, each, theirs)
                verdicts.add(verdict)
    assert verdicts == {True, False}
