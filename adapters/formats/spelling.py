"""Spelling of tool names, and the texts that free text must exclude."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable

#: spells a tool's name as the format writes it; None: the format cannot write it
Spelling = Callable[[str], str | None]

#: a numbered special token; the group is the text before the number, with at least three letters
_NUMBERED = re.compile(r"(\W*[A-Za-z]{3}.*?)\d+\D*")
#: minimum number of tokens of one kind that their common prefix replaces
_MANY = 8


def unwritable(texts: Iterable[str], marks: Iterable[str] = ()) -> list[str]:
    """Return texts that free text must exclude so that it contains none of ``texts``.

    Vocabularies reserve hundreds of tokens such as <|reserved_special_token_17|>. The text before
    the number stands for all of them, unless a mark contains it. (o200k has 1,091 special tokens:
    with three tools 76 KB of spec and 17 ms to compile became 5 KB and 1 ms.) White space is never
    excluded.
    """
    kinds: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        numbered = _NUMBERED.fullmatch(text)
        kinds[text] = numbered[1] if numbered else text
    count = Counter(kinds.values())
    common = {k for k, n in count.items() if n >= _MANY and not any(k in mark for mark in marks)}
    named = (kind if kind in common else text for text, kind in kinds.items())
    return [text for text in dict.fromkeys(named) if text.strip()]


_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def word_name(name: str) -> str | None:
    """Return the name if it may stand unquoted: it contains no character of any syntax."""
    return name if name and _WORD.issuperset(name) else None


def json_name(name: str) -> str | None:
    """Return the name as the inside of a JSON string."""
    if not name or any("\ud800" <= character <= "\udfff" for character in name):
        return None
    return json.dumps(name, ensure_ascii=False)[1:-1]
