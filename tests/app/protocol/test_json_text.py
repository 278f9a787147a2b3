"""JSON that is written in steps."""

import json
from typing import Any

import pytest
from pydantic_core import to_json

from app.protocol import json_text, write_json

VALUES: list[Any] = [
    None,
    {},
    [],
    "",
    {"a": [1, 2.5, True, {"b": None}], "ü": [[], {}]},
    ['a"\\\n\u2028\x00ü😀' * 100, {"k" * 100: "A" * 1000}],
    {"big": 10**40},
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
@pytest.mark.parametrize("step", [1, 7, 1000])
def test_json_in_steps_is_json_at_once(
    value: Any, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "_STEP_CHARS", step)
    assert write_json(value) == to_json(value)
    assert json.loads(write_json(value)) == value
