"""Arguments of calls that were cut: what is there becomes an object, and other text none."""

import json
from typing import Any

import pytest

from app.conversation.cut_json import parsed_object

WHOLE = {
    "path": '/data/é\n"x"\\',
    "n": -1.5e3,
    "list": [1, {"a": None, "b": [True, "q"]}, []],
    "no": {},
    "yes": False,
}


@pytest.mark.parametrize("is_ascii", [True, False])
@pytest.mark.parametrize("indent", [None, 2])
def test_every_beginning_of_an_object_is_one(is_ascii: bool, indent: int | None) -> None:
    text = json.dumps(WHOLE, ensure_ascii=is_ascii, indent=indent)
    assert parsed_object(text) == WHOLE
    kept = 0
    for end in range(1, len(text)):
        found = parsed_object(text[:end])
        assert found is not None, text[:end]
        assert list(found) == list(WHOLE)[: len(found)]
        # a number such as -1 loses its member while it is -
        assert len(found) >= kept - 1
        kept = max(kept, len(found))
    assert kept == len(WHOLE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"path": "/data/x', {"path": "/data/x"}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u00', {"a": "x"}),
        ('{"a": "x\\\\', {"a": "x\\"}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": 1, "b":', {"a": 1}),
        ('{"a": 12', {"a": 12}),
        ('{"a": 1.', {}),
        ('{"a": [1, tr', {"a": [1]}),
        ('{"a": "line\nline', {"a": "line\nline"}),
        (' {"a": 1} ', {"a": 1}),
        ("", {}),
        ("{", {}),
        # no beginnings of an object
        ("x", None),
        ("[1", None),
        ('"x', None),
        ("null", None),
        ('{"a" 1', None),
        ('{"a": hello', None),
        ('{"a": 1}}', None),
        ('{"a": ]', None),
        ("{a", None),
        ("{" * 100_000, None),
        ('{"a":' * 300, None),
    ],
)
def test_what_a_cut_left(text: str, value: Any) -> None:
    assert parsed_object(text) == value
