"""The lines of keys: strings, arrays and comments that look like headers or keys do not count."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings.error import KeyPath
from app.settings.toml_lines import MOST_STATEMENT_LINES, lines_of

#: a text, and the lines of some of its keys
TEXTS: dict[str, tuple[str, dict[KeyPath, int]]] = {
    "nothing": ("\n# [[models]]\n", {}),
    "keys of the top": ("a = 1\n\nb = 2", {("a",): 1, ("b",): 3}),
    "tables of an array": (
        "[[m]]\na = 1\n\n  [[m]]  # second\n\tb = 2\n",
        {("m", 0): 1, ("m", 0, "a"): 2, ("m", 1): 4, ("m", 1, "b"): 5},
    ),
    "a header in a string": (
        'a = """\n[[m]]\nb = 1\n"""\nc = 1',
        {("a",): 1, ("c",): 5},
    ),
    "a header in an array": ('a = [\n  "[[m]]", # ]\n\n  "x" ]\nc = 1', {("a",): 1, ("c",): 5}),
    "quotes and dots": (
        '"a b".\'c.d\' = 1\n[ x . "y z" ]\nq = 1',
        {("a b", "c.d"): 1, ("x", "y z", "q"): 3},
    ),
    "an array of inline tables": (
        "m = [\n  {a = 1},\n  {b = 2}]\n[t]\nx = 1",
        {("m", 1, "b"): 1, ("t",): 4, ("t", "x"): 5},
    ),
    "tables in tables of an array": (
        "[[m]]\n[m.x]\na = 1\n[[m]]\n[[m.y]]\n[[m.y]]\nb = 1",
        {("m", 0, "x", "a"): 3, ("m", 1, "y", 0): 5, ("m", 1, "y", 1, "b"): 7},
    ),
    "line ends of Windows": (
        "[[m]]\r\na = 1\r\n\r\nb = 2\r\n",
        {("m", 0, "a"): 2, ("m", 0, "b"): 4},
    ),
    "a statement of too many lines": (
        "a = 1\nb = [" + "\n" * (MOST_STATEMENT_LINES + 2) + "]\nc = 1",
        {("a",): 1},
    ),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS.keys())
def test_each_key_has_the_line_where_its_statement_begins(
    text: str, expected: dict[KeyPath, int]
) -> None:
    tomllib.loads(text)  # the text is valid
    found = lines_of(text)
    assert {key: found.get(key) for key in expected} == expected
    if not expected:
        assert found == {}


NAMES = st.sampled_from(["a", "b", '"c d"', "e.f"])
VALUES = st.sampled_from(["1", '"[x]"', "[1,\n 2]", '"""\n[[m]]\n"""', "{x = 1}", "'''\n#\n'''"])


@given(st.lists(st.lists(st.tuples(NAMES, VALUES), unique_by=lambda pair: pair[0]), max_size=5))
def test_the_lines_of_any_file_are_those_where_the_keys_were_written(tables) -> None:
    text, expected = "", {}
    for number, pairs in enumerate(tables):
        expected["m", number] = text.count("\n") + 1
        text += "[[m]]\n"
        for name, value in pairs:
            key = {'"c d"': ("c d",), "e.f": ("e", "f")}.get(name, (name,))
            expected["m", number, *key] = text.count("\n") + 1
            text += f"{name} = {value}\n"
    found = lines_of(text)
    assert {key: found.get(key) for key in expected} == expected
