"""Texts compared: common beginnings and ends that split no special token and no tag."""

import re
from collections.abc import Collection, Iterator
from itertools import takewhile

#: a tag as models write them, or a name in square brackets
TAG = re.compile(r"</?[^<>\s][^<>\n]{0,80}>|\[\|[^|\[\]\n]{1,40}\|\]|\[/?[A-Za-z_]{2,40}\]")


class Borders:
    """The places where a text may be cut. ``special``: the texts of special tokens."""

    def __init__(self, special: Collection[str]) -> None:
        by_length = sorted(filter(None, special), key=len, reverse=True)
        self.special = re.compile("|".join(map(re.escape, by_length)) or r"(?!)")

    def is_cut(self, text: str, at: int) -> bool:
        """Whether a cut here splits a special token or a tag."""
        for pattern in (self.special, TAG):
            # a tag has at most 83 characters, and so have special tokens in practice
            near = pattern.finditer(text, max(at - 100, 0), at + 100)
            if any(found.start() < at < found.end() for found in near):
                return True
        return False

    def marks(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the special tokens and tags in a text, without those inside of others."""
        end = 0
        found = [*self.special.finditer(text), *TAG.finditer(text)]
        for each in sorted(found, key=lambda match: (match.start(), -match.end())):
            if each.start() >= end:
                yield each
                end = each.end()

    def first_mark(self, text: str) -> re.Match[str] | None:
        return next(self.marks(text), None)

    def has_mark(self, text: str) -> bool:
        return self.first_mark(text) is not None

    def begun(self, text: str) -> str:
        """Return a text without the white space before its first mark, or without line feeds before
        its first word, whose space may be a part of a token.
        """
        mark = self.first_mark(text.lstrip())
        return text.lstrip() if mark is not None and not mark.start() else text.lstrip("\n")

    def prefix(self, first: str, second: str) -> str:
        """Return the longest common beginning that splits nothing in either text."""
        at = len(common_prefix(first, second))
        while at and (self.is_cut(first, at) or self.is_cut(second, at)):
            at -= 1
        return first[:at]

    def suffix(self, first: str, second: str) -> str:
        """Return the longest common end that splits nothing in either text."""
        size = len(common_suffix(first, second))
        while size and (
            self.is_cut(first, len(first) - size) or self.is_cut(second, len(second) - size)
        ):
            size -= 1
        return first[len(first) - size :]


def common_prefix(first: str, second: str) -> str:
    pairs = zip(first, second, strict=False)
    return "".join(one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def common_suffix(first: str, second: str) -> str:
    return common_prefix(first[::-1], second[::-1])[::-1]
