"""Strings without excluded texts: as Python's json module and ``in`` say, for random texts."""

import json
import random

import pytest

import engine
from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.json_schema.excludes import Excludes, pairs

ALPHABET = list('ab<u0c\\"\nné😀')
SPELLED = [
    "\\u0061",
    "\\u003c",
    "\\u003C",
    "\\n",
    '\\"',
    "\\\\",
    "\\u00e9",
    "\\ud83d\\ude00",
    "\\t",
]


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    tokens = [bytes([byte]) for byte in range(256)] + [b"<|eos|>"]
    vocabulary = engine.Vocabulary(tokens, stop_token_ids=[256], special_token_ids=[256])
    return engine.Compiler(vocabulary)


def compiled(compiler: engine.Compiler, schema, *excludes: str, **more) -> engine.Compiled:
    node = {"type": "json_schema", "json_schema": schema, "excludes": list(excludes), **more}
    return compiler.compile_structural_tag({"format": node})


def takes(grammar: engine.Compiled, text: str) -> bool:
    matcher = engine.Matcher(grammar)
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.can_stop()


def is_string(text: str) -> bool:
    """A JSON string without half of a pair."""
    try:
        json.loads(f'"{text}"').encode()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("seed", range(60))
def test_random_texts_and_excludes(compiler: engine.Compiler, seed: int) -> None:
    rng = random.Random(seed)
    excludes = [
        "".join(rng.choices(ALPHABET, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 3))
    ]
    low = rng.randint(0, 3)
    high = rng.choice([low + rng.randint(0, 4), 20, None])
    schema = {"type": "string", "minLength": low}
    if high is not None:
        schema["maxLength"] = high
    grammar = compiled(compiler, schema, *excludes)
    seen = set()
    for _ in range(200):
        inside = "".join(
            rng.choice(rng.choice([ALPHABET, SPELLED])) for _ in range(rng.randint(0, 7))
        )
        expected = (
            is_string(inside)
            and low <= len(json.loads(f'"{inside}"')) <= (high if high is not None else 99)
            and not any(text in inside for text in excludes)
        )
        seen.add(expected)
        assert takes(grammar, f'"{inside}"') == expected, (excludes, inside, low, high)
    assert False in seen


def test_pairs_are_all_pairs() -> None:
    for low, high in (
        (0x10000, 0x10FFFF),
        (0x1F600, 0x1F600),
        (0x103FE, 0x10802),
        (0x10400, 0x107FF),
    ):
        found = [
            0x10000 + (first - 0xD800 << 10) + second - 0xDC00
            for a, b, c, d in pairs(((low, high),))
            for first in range(a, b + 1)
            for second in range(c, d + 1)
        ]
        assert found == list(range(low, high + 1))


def test_a_state_is_what_was_written_of_an_excluded_text() -> None:
    excludes = Excludes(["ab", "bab", "bc"], engine.WorkBudget())
    assert excludes.walk(0, "bb") == excludes.walk(0, "xb") == excludes.walk(0, "b") != 0
    assert excludes.walk(0, "x") == 0
    assert excludes.walk(0, "xab") is excludes.walk(0, "bc") is None


def test_many_excluded_texts_are_bounded() -> None:
    tokens = [bytes([byte]) for byte in range(256)]
    vocabulary = engine.Vocabulary(tokens, stop_token_ids=[0])
    compiler = engine.Compiler(vocabulary, limits=engine.Limits(pattern_states=100))
    assert takes(compiled(compiler, {"type": "string"}, "x" * 100), f'"{"x" * 99}"')
    with pytest.raises(LimitExceeded) as caught:
        compiled(compiler, {"type": "string"}, "x" * 101)
    assert (caught.value.limit, caught.value.maximum) == ("pattern_states", 100)


def test_where_nothing_is_left_is_an_error(compiler: engine.Compiler) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiled(compiler, {"const": "a<x>"}, "<x>")
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiled(compiler, {"required": ["<x>"], "type": "object"}, "<x>")


def test_members_that_excludes_may_leave_out_are_not_counted_on(compiler) -> None:
    """``minProperties`` beside few keys: all of them may be excluded."""
    schema = {"type": "object", "propertyNames": {"pattern": "^a*$"}, "minProperties": 3}
    assert takes(compiled(compiler, schema), '{"": 1, "a": 1, "aa": 1}')
    with pytest.raises(UnsupportedSchema) as caught:
        compiled(compiler, schema, "aa")
    assert caught.value.keyword == "minProperties"
