"""JSON pointers and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.json_pointer import escape, path_of, pointer_of, unescape

#: the examples of RFC 6901, section 5
EXAMPLES = {
    "": (),
    "/foo": ("foo",),
    "/foo/0": ("foo", "0"),
    "/": ("",),
    "/a~1b": ("a/b",),
    "/c%d": ("c%d",),
    "/m~0n": ("m~n",),
    "/~01": ("~1",),
}


@pytest.mark.parametrize(("pointer", "path"), EXAMPLES.items())
def test_examples(pointer: str, path: tuple[str, ...]) -> None:
    assert path_of(pointer) == path
    assert pointer_of(path) == pointer
    assert path_of("#" + pointer) == path


@given(st.lists(st.text(alphabet="~/01a\0é")))
def test_round_trip(tokens: list[str]) -> None:
    assert path_of(pointer_of(tuple(tokens))) == tuple(tokens)
    for token in tokens:
        assert "/" not in escape(token)
        assert unescape(escape(token)) == token
