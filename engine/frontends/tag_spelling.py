"""Literals that hold special tokens: such a text matches the token or its spelled bytes.

A text is cut into pieces from left to right, always at the longest special token's text; pieces do
not overlap. A pattern (a tuple of letters, see engine.ir) is one way to write a text, so a text
with k special tokens has 2**k patterns. Literals in the IR need no list of them, free text does.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import LimitExceeded
from ..ir import Grammar, Node, Pattern
from .tag_formats import Mark

#: ways to write one trigger, exclude or end of free text; nobody puts four special tokens in one
SPELLINGS = 8


@dataclass(slots=True)
class Piece:
    text: str
    token: int | None  # the special token of this text; None is ordinary text

    def patterns(self) -> list[Pattern]:
        spelled = tuple(self.text.encode())
        return [spelled] if self.token is None else [spelled, (256 + self.token,)]


class Spelling:
    """How texts are written with one vocabulary's special tokens. Made once per vocabulary."""

    def __init__(self, special_tokens: Mapping[str, int]) -> None:
        self._tokens = {text: token for text, token in special_tokens.items() if text}
        self._find = re.compile(any_of(self._tokens)).search

    def pieces(self, text: str) -> list[Piece]:
        found = self._find(text)
        if found is None:
            return [Piece(text, None)] if text else []
        made, at = [], 0
        while found is not None:
            start, end = found.span()
            if start > at:
                made.append(Piece(text[at:start], None))
            made.append(Piece(found.group(), self._tokens[found.group()]))
            at = end
            found = self._find(text, at)
        return [*made, Piece(text[at:], None)] if at < len(text) else made

    def is_plain(self, text: str) -> bool:
        """Whether no special token's text is in it."""
        return self._find(text) is None

    def node(self, grammar: Grammar, mark: Mark) -> Node:
        """A literal text in all its spellings, or a token."""
        if isinstance(mark, int):
            return grammar.tokens([mark])
        if self._find(mark) is None:
            return grammar.bytes(mark.encode())
        return self.literal(grammar, self.pieces(mark))

    @staticmethod
    def literal(grammar: Grammar, pieces: list[Piece]) -> Node:
        parts = []
        for piece in pieces:
            spelled = grammar.bytes(piece.text.encode())
            tokens = [] if piece.token is None else [grammar.tokens([piece.token])]
            parts.append(grammar.alt(spelled, *tokens))
        return grammar.seq(*parts)

    def patterns(self, mark: Mark, pointer: str) -> list[Pattern]:
        """All ways to write a mark that is not empty."""
        if isinstance(mark, int):
            return [(256 + mark,)]
        return product(self.pieces(mark), pointer)

    def beginnings(self, begin: str, size: int, pointer: str) -> list[tuple[Pattern, list[Piece]]]:
        """All ways to write the first ``size`` characters, a trigger, with the pieces after them.

        Where a special token's text straddles the end of the trigger, the token completes it too.
        """
        head: list[Piece] = []
        rest = self.pieces(begin)
        while rest and size >= len(rest[0].text):
            head.append(rest.pop(0))
            size -= len(head[-1].text)
        if not size:
            return [(pattern, rest) for pattern in product(head, pointer)]
        cut = rest.pop(0)
        spelled = [*head, Piece(cut.text[:size], None)]
        made = [(p, [Piece(cut.text[size:], None), *rest]) for p in product(spelled, pointer)]
        if cut.token is not None:
            made += [((*p, 256 + cut.token), rest) for p in product(head, pointer)]
        return made


def product(pieces: list[Piece], pointer: str) -> list[Pattern]:
    """Every way to write the pieces one after the other."""
    made: list[Pattern] = [()]
    count = 2 ** sum(piece.token is not None for piece in pieces)
    if count > SPELLINGS:
        raise LimitExceeded("tag_spellings", SPELLINGS, count, pointer)
    for piece in pieces:
        made = [(*head, *tail) for head in made for tail in piece.patterns()]
    return made


def any_of(texts: Iterable[str]) -> str:
    """A pattern that finds the longest of the texts: their trie, so that a search looks at each
    character about once. (260 texts beside one another take ten times as long.)
    """
    root: dict[str, Any] = {}
    for text in texts:
        at = root
        for character in text:
            at = at.setdefault(character, {})
        at[""] = {}
    return _trie_pattern(root) if root else "(?!)"


def _trie_pattern(node: dict[str, Any]) -> str:
    """Without recursion: texts of special tokens may be long."""
    made: dict[int, str] = {}
    todo = [(node, False)]
    while todo:
        at, ready = todo.pop()
        if not ready:
            todo.append((at, True))
            todo.extend((below, False) for letter, below in at.items() if letter)
            continue
        ways = [re.escape(letter) + made.pop(id(below)) for letter, below in at.items() if letter]
        body = ways[0] if len(ways) == 1 and "" not in at else f"(?:{'|'.join(ways)})"
        made[id(at)] = (body + "?" * ("" in at)) if ways else ""
    return made[id(node)]
