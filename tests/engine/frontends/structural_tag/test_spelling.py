"""Texts are cut at special tokens: from left to right, always at the longest."""

import re

from hypothesis import given
from hypothesis import strategies as st

from engine.frontends.structural_tag.tag_vocabulary import Spelling

LETTERS = "<|a\u00e9\u4e2d\U0001f600"
TEXTS = st.text(LETTERS, max_size=8)


def longest(specials: dict[str, int]) -> re.Pattern[str]:
    """The same by a regular expression, which takes the first alternative that fits."""
    texts = sorted((text for text in specials if text), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, texts)) or "(?!)")


@given(TEXTS.filter(bool), st.lists(TEXTS, max_size=6))
def test_the_ways_to_write_a_text_are_those_that_a_regular_expression_finds(
    text: str, special: list[str]
) -> None:
    specials = {name: number for number, name in enumerate(special)}
    found = list(longest(specials).finditer(text))
    if len(found) > 3:
        return
    ways: list[tuple[int, ...]] = [()]
    at = 0
    for match in found:
        before = tuple(text[at : match.start()].encode())
        token = (256 + specials[match.group()],)
        ways = [
            (*way, *before, *one) for way in ways for one in (tuple(match.group().encode()), token)
        ]
        at = match.end()
    ways = [(*way, *text[at:].encode()) for way in ways]
    assert [tuple(way) for way in Spelling(specials).patterns(text, "")] == ways


def test_a_way_without_tokens_is_bytes_and_one_with_tokens_a_tuple() -> None:
    spelling = Spelling({"<a>": 7})
    assert spelling.patterns("x", "") == [b"x"]
    assert spelling.patterns("<a>b", "") == [b"<a>b", (263, 98)]
    assert spelling.patterns(7, "") == [(263,)]
