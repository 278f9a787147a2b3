"""The fields of our own in structural tags: where additional keys may stand, and loose reading."""

import json

import pytest

import engine
from tests.vocabularies import small_vocabulary

OPEN = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a"],
}


def accepts(own: dict | None, text: str | bytes, schema: dict = OPEN) -> bool:
    node = {"type": "json_schema", "json_schema": schema}
    if own is not None:
        node["switchyard"] = own
    compiler = engine.Compiler(small_vocabulary())
    compiled = compiler.compile_structural_tag({"type": "structural_tag", "format": node})
    matcher = engine.Matcher(compiled)
    data = text.encode() if isinstance(text, str) else text
    return matcher.accept_bytes(data) and matcher.can_stop()


LAST = {"version": 7, "extra_keys": "last"}


@pytest.mark.parametrize(
    ("text", "anywhere", "last"),
    [
        ('{"a": 1}', True, True),
        ('{"a": 1, "x": 2}', True, True),
        ('{"a": 1, "b": 2, "x": 3, "y": 4}', True, True),
        ('{"x": 2, "a": 1}', True, False),
        ('{"a": 1, "x": 2, "b": 3}', True, False),
        ('{"x": 2}', False, False),
        ("{}", False, False),
        ('{"a": 1, "a": 2}', False, False),
    ],
)
def test_additional_keys_stand_anywhere_or_last(text: str, anywhere: bool, last: bool) -> None:
    assert accepts(None, text) == anywhere
    assert accepts({"version": 7}, text) == anywhere
    assert accepts(LAST, text) == last


def test_objects_are_closed_and_arrays_and_strings_bounded() -> None:
    own = {"version": 7, "extra_keys": "none", "max_items": 2, "max_length": 3}
    schema = {"type": "object", "properties": {"a": {}}}
    assert accepts(own, '{"a": ["abc", 1]}', schema)
    for text in ('{"a": 1, "x": 2}', '{"a": "abcd"}', '{"a": [1, 1, 1]}'):
        assert accepts(LAST, text, schema)
        assert not accepts(own, text, schema)


def test_last_without_listed_keys_is_any_object() -> None:
    schema = {"type": "object"}
    assert accepts(LAST, '{"x": {"y": []}}', schema)
    assert accepts(LAST, "{}", schema)


@pytest.mark.parametrize(
    "text",
    [
        b"{}", b'{\t\t"x" : [ ] ,\r\n\n "y":{}}', b'"a\nb\x01\xff\\q"', b"[1.5e3,-2 , true]",
        b'"\xe2\x82"',
        json.dumps({"deep": [[[{"é": "\\\""}]]]}).encode(),
    ],
)  # fmt: skip
def test_loose_reading_takes_badly_written_json(text: bytes) -> None:
    assert accepts({"version": 7, "loose": True}, text)


@pytest.mark.parametrize("text", [b"", b"{", b'"a', b'{"a" 1}', b"[1,]", b"}", b'{"a": 1}}'])
def test_loose_reading_still_knows_where_a_value_ends(text: bytes) -> None:
    assert not accepts({"version": 7, "loose": True}, text)


@pytest.mark.parametrize(
    ("own", "pointer"),
    [
        ({}, "/format/switchyard/version"),
        ({"version": 1}, "/format/switchyard/version"),
        ({"version": 7, "extra_keys": "first"}, "/format/switchyard/extra_keys"),
        ({"version": 7, "max_items": -1}, "/format/switchyard/max_items"),
        ({"version": 7, "max_length": "3"}, "/format/switchyard/max_length"),
        ({"version": 7, "spelling": "short"}, "/format/switchyard/spelling"),
        ({"version": 7, "loose": "yes"}, "/format/switchyard/loose"),
        ({"version": 7, "other": 1}, "/format/switchyard"),
        ("last", "/format/switchyard"),
    ],
)
def test_unknown_versions_and_options_are_refused(own: object, pointer: str) -> None:
    with pytest.raises(engine.SpecError) as caught:
        accepts(own, "{}")  # type: ignore[arg-type]
    assert caught.value.pointer == pointer


def grammar_accepts(own: object, grammar: str, text: str) -> bool:
    node = {"type": "grammar", "grammar": grammar, "switchyard": own}
    compiler = engine.Compiler(small_vocabulary())
    compiled = compiler.compile_structural_tag({"type": "structural_tag", "format": node})
    matcher = engine.Matcher(compiled)
    return matcher.accept_bytes(text.encode()) and matcher.can_stop()


@pytest.mark.parametrize(
    ("own", "grammar", "yes", "no"),
    [
        ({"version": 7}, 'root ::= "a\\n"', "a\n", "a"),
        ({"version": 7, "syntax": "ebnf"}, 'root ::= "a"', "a", "b"),
        ({"version": 7, "syntax": "lark"}, 'start: "a\\n"', "a\n", "a\\n"),
        ({"version": 7, "syntax": "lark", "inside_json": True}, 'start: "a\\n"', "a\\n", "a\n"),
        ({"version": 7, "syntax": "lark"}, 'start: %json {"const": 1}', "1", "2"),
    ],
)
def test_a_grammar_may_be_lark_and_inside_json(
    own: object, grammar: str, yes: str, no: str
) -> None:
    assert grammar_accepts(own, grammar, yes)
    assert not grammar_accepts(own, grammar, no)


@pytest.mark.parametrize(
    ("own", "pointer"),
    [
        ({}, "/format/switchyard/version"),
        ({"version": 3, "syntax": "lark"}, "/format/switchyard/version"),
        ({"version": 7, "syntax": "gbnf"}, "/format/switchyard/syntax"),
        ({"version": 7, "syntax": 1}, "/format/switchyard/syntax"),
        ({"version": 7, "inside_json": True}, "/format/switchyard/inside_json"),
        ({"version": 7, "syntax": "lark", "inside_json": 1}, "/format/switchyard/inside_json"),
        ({"version": 7, "readable": "yes"}, "/format/switchyard/readable"),
        ({"version": 7, "extra_keys": "last"}, "/format/switchyard"),
    ],
)
def test_unknown_options_of_a_grammar_are_refused(own: object, pointer: str) -> None:
    with pytest.raises(engine.SpecError) as caught:
        grammar_accepts(own, 'start: "a"', "a")
    assert caught.value.pointer == pointer
