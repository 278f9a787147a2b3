"""Free text of structural tags as one DISPATCH: triggers, excludes and the end around it.

Specials   free text holds all special tokens but stop tokens, the excluded ones, and those whose
           text holds an excluded text, a trigger or an end: they are read as what they hide.
Ends       the end of the tag around free text is excluded from it. Where nothing overlaps with the
           ends, they are arms of the DISPATCH: the text is over at the first occurrence, without
           ambiguity. Else the text and the end stand side by side, since an exclude holds for the
           text alone and not for its end.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..ir import Arm, Grammar, Node, Pattern
from .tag_formats import Mark
from .tag_spelling import Spelling


@dataclass(frozen=True, slots=True)
class FreeText:
    pointer: str
    arms: tuple[Arm, ...]
    triggers: tuple[Mark, ...]
    excludes: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Closing:
    """The end of the tag around a format."""

    pointer: str  # the tag's
    marks: tuple[Mark, ...]


class FreeTextBuilder:
    """Emits free text into one grammar."""

    def __init__(self, grammar: Grammar, spelling: Spelling, tokens: Mapping[str, int]) -> None:
        self.grammar = grammar
        self.spelling = spelling
        self._tokens = tokens
        self._specials: dict[tuple[Mark, ...], tuple[int, ...]] = {}

    def end(self, closing: Closing) -> Node:
        """The end of a tag as a node of its own."""
        marks = (self.spelling.node(self.grammar, mark) for mark in closing.marks)
        return self.grammar.capture(closing.pointer, "end", self.grammar.alt(*marks))

    def open(self, text: FreeText, closing: Closing | None) -> Node:
        """Text that may stop anywhere and holds no end of the tag around it."""
        ends = self._end_patterns(closing) if closing else ()
        excludes = (*self._patterns(text.excludes, f"{text.pointer}/excludes"), *ends)
        return self._dispatch(text, closing, text.arms, excludes, open_end=True)

    def closed(self, text: FreeText, closing: Closing) -> Node:
        """Text up to the end of the tag around it, with that end."""
        ends = self._end_patterns(closing)
        excludes = [
            pattern
            for pattern in self._patterns(text.excludes, f"{text.pointer}/excludes")
            if pattern not in ends
        ]
        triggers = [pattern for pattern, _, _ in text.arms]
        if "" in closing.marks or are_tangled(ends, [*excludes, *triggers]):
            return self.grammar.seq(self.open(text, closing), self.end(closing))
        over = self.grammar.capture(closing.pointer, "end", self.grammar.empty())
        arms = (*text.arms, *((pattern, over, False) for pattern in ends))
        return self._dispatch(text, closing, arms, excludes, open_end=False)

    # -- parts ------------------------------------------------------------------------------------
    def _dispatch(
        self,
        text: FreeText,
        closing: Closing | None,
        arms: tuple[Arm, ...],
        excludes: Iterable[Pattern],
        *,
        open_end: bool,
    ) -> Node:
        blocked = (*text.excludes, *text.triggers, *(closing.marks if closing else ()))
        specials = self._allowed(blocked)
        known = {256 + token for token in specials}.union(*(arm[0] for arm in arms))
        possible = [p for p in excludes if all(letter < 256 or letter in known for letter in p)]
        node = self.grammar.dispatch(
            arms, excludes=dict.fromkeys(possible), specials=specials, open_end=open_end
        )
        return self.grammar.capture(text.pointer, "text", node)

    def _allowed(self, blocked: tuple[Mark, ...]) -> tuple[int, ...]:
        """The special tokens that free text may hold beside these marks."""
        if blocked not in self._specials:
            texts = [mark for mark in blocked if isinstance(mark, str) and mark]
            self._specials[blocked] = tuple(
                token
                for text, token in self._tokens.items()
                if token not in blocked and not any(part in text for part in texts)
            )
        return self._specials[blocked]

    def _end_patterns(self, closing: Closing) -> tuple[Pattern, ...]:
        return self._patterns(
            (mark for mark in closing.marks if mark != ""), f"{closing.pointer}/end"
        )

    def _patterns(self, marks: Iterable[Mark], pointer: str) -> tuple[Pattern, ...]:
        spelled = (pattern for mark in marks for pattern in self.spelling.patterns(mark, pointer))
        return tuple(dict.fromkeys(spelled))


def are_tangled(ends: Iterable[Pattern], others: Iterable[Pattern]) -> bool:
    """Whether an arm for every end would change the language.

    It would where an exclude or a trigger can complete inside an end or together with it, and where
    one end can complete inside another one. (Ends that complete together are one end.)
    """
    ends, others = tuple(ends), tuple(others)
    return any(
        any(reaches_into(end, other, len(end)) for other in others)
        or any(reaches_into(end, other, len(end) - 1) for other in ends if other != end)
        for end in ends
    )


def reaches_into(end: Pattern, other: Pattern, size: int) -> bool:
    """Whether ``other`` can complete on one of the first ``size`` letters of ``end``."""
    for taken in range(1, size + 1):
        length = min(taken, len(other))
        if other[-length:] == end[taken - length : taken]:
            return True
    return False
