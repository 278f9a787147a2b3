"""The places and parts that shadow constraints report."""

import pytest

from adapters.formats import Kind, OutputSpec, get_format
from app.constraints.shadow import (
    _PLACES,
    MOST_REPLAYED,
    PARTS,
    PLACES,
    Divergence,
    ShadowParser,
    json_part,
)
from app.conversation.tokenizer import BuiltinTokenizer
from engine import Compiler

#: (JSON so far, refused bytes, part)
JSON_PARTS = [
    (b"", b"x", "value"),
    (b"{", b'"', "name"),
    (b"{", b"\n", "space"),
    (b'{"a', b"b", "name"),
    (b'{"a\\"', b'"', "name"),
    (b'{"a"', b"x", "punctuation"),
    (b'{"a"', b" ", "space"),
    (b'{"a":', b"1", "value"),
    (b'{"a": "x', b"y", "string"),
    (b'{"a": "x ', b" ", "string"),
    (b'{"a": "\\\\"', b"}", "punctuation"),
    (b'{"a": "\\\\\\"', b"}", "string"),
    (b'{"a": 1', b"5", "number"),
    (b'{"a": 1e', b"5", "number"),
    (b'{"a": -', b"5", "number"),
    (b'{"a": tr', b"u", "literal"),
    (b'{"a": 1, ', b'"', "name"),
    (b'{"a": [1', b",", "number"),
    (b'{"a": [1, ', b"2", "value"),
    (b'{"a": [{"b": []}', b"]", "punctuation"),
    (b'{"a": {"b": 1}, ', b"}", "name"),
    (b"]]}", b"", "punctuation"),
]


@pytest.mark.parametrize(("text", "refused", "part"), JSON_PARTS)
def test_the_part_of_json_is_that_of_the_refused_byte(text: bytes, refused: bytes, part: str):
    assert json_part(text, refused) == part
    assert part in PARTS


def test_every_kind_of_text_has_a_place():
    """A new kind without a place would end an answer with an error."""
    assert set(_PLACES) == set(Kind)
    assert set(_PLACES.values()) <= set(PLACES)


def test_a_long_answer_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch):
    """Beyond the bound, the position is that of the refused token."""
    vocabulary = BuiltinTokenizer().vocabulary
    output = OutputSpec(response_schema={"type": "array", "items": {"type": "integer"}})
    plan = get_format("plain").plan(output, ())
    compiled = Compiler(vocabulary).compile_structural_tag(plan.spec)
    ids = vocabulary.encode('[1, "x"]')
    found: list[Divergence] = []
    for bound in (MOST_REPLAYED, 0):
        monkeypatch.setattr("app.constraints.shadow.MOST_REPLAYED", bound)
        shadow = ShadowParser(compiled.parser, plan.roles, vocabulary.tokens, found.append)
        for number in ids:
            shadow.feed(number)
    exact, token = found
    assert (exact.place, exact.part) == ("value", "value")
    assert (exact.byte, exact.token) == (4, token.token)
    assert token.byte <= exact.byte
