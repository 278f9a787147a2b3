"""Repetitions as automata: the copies of the repeated part."""

from typing import Any

import pytest

import engine
from tests.vocabularies import small_vocabulary

LEVELS = 100
COMPILER = engine.Compiler(small_vocabulary())


def nested(kind: str, levels: int) -> Any:
    form: Any = {"type": "const_string", "value": "ab"}
    for _ in range(levels):
        form = {"type": kind, "content": form}
    return {"type": "structural_tag", "format": form}


@pytest.mark.parametrize("kind", ["plus", "star", "optional"])
def test_a_repetition_copies_its_content_once(kind: str) -> None:
    """REGRESSION: each level of "plus" doubled the copies, so that 30 took all edges of a rule."""
    compiled = COMPILER.compile_structural_tag(nested(kind, LEVELS))
    one = COMPILER.compile_structural_tag(nested(kind, 1))
    found, simple = engine.inspect(compiled, explore=10), engine.inspect(one, explore=10)
    assert len(found.states) <= len(simple.states) + 2 * LEVELS
    assert len(found.rows) == len(simple.rows)


#: pattern -> (texts of the language, other texts)
LEAST: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "a+": (("a", "aaa"), ("", "b")),
    "a{2,}": (("aa", "aaa"), ("", "a")),
    "(?:a{3,}b?)+": (("aaa", "aaab", "aaabaaa", "aaaaaa"), ("", "aab", "aaabaa", "b")),
    "(?:a?){2,}": (("", "a", "aaaa"), ("b",)),
    "(?:(?:a|b){2,}c?){2,}": (("abab", "abcabc", "aaaa"), ("ab", "abc", "abca", "aaa")),
}


@pytest.mark.parametrize("pattern", LEAST)
def test_the_last_required_copy_repeats(pattern: str) -> None:
    accepted, rejected = LEAST[pattern]
    compiled = COMPILER.compile_regex(pattern)
    for text in (*accepted, *rejected):
        matcher = engine.Matcher(compiled)
        is_accepted = matcher.accept_bytes(text.encode()) and matcher.can_stop()
        assert is_accepted == (text in accepted), text
