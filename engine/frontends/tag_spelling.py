"""Literals that hold special tokens: such a text matches the token or its spelled bytes.

A text is cut into pieces from left to right, always at the longest special token's text; pieces do
not overlap. A pattern (a tuple of letters, see engine.ir) is one way to write a text, so a text
with k special tokens has 2**k patterns. Literals in the IR need no list of them, free text does.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import LimitExceeded
from ..ir import Grammar, Node, Pattern
from .tag_formats import Mark

#: ways to write one trigger, exclude or end of free text; nobody puts four special tokens in one
SPELLINGS = 8


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    token: int | None  # the special token of this text; None is ordinary text

    def patterns(self) -> list[Pattern]:
        spelled = tuple(self.text.encode())
        return [spelled] if self.token is None else [spelled, (256 + self.token,)]


class Spelling:
    """How texts are written with one vocabulary's special tokens."""

    def __init__(self, special_tokens: Mapping[str, int]) -> None:
        self._tokens = {text: token for text, token in special_tokens.items() if text}
        longest_first = sorted(self._tokens, key=lambda text: (-len(text), text))
        self._finder = re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")

    def pieces(self, text: str) -> list[Piece]:
        made, at = [], 0
        for found in self._finder.finditer(text):
            if found.start() > at:
                made.append(Piece(text[at : found.start()], None))
            made.append(Piece(found.group(), self._tokens[found.group()]))
            at = found.end()
        return [*made, Piece(text[at:], None)] if at < len(text) else made

    def node(self, grammar: Grammar, mark: Mark) -> Node:
        """A literal text in all its spellings, or a token."""
        if isinstance(mark, int):
            return grammar.tokens([mark])
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
