"""What structural tags need to know of a vocabulary: made once for each, shared by all compiles.

Kept      what depends on marks and the vocabulary alone: their spellings, and which special tokens
          free text may hold beside them. A gateway excludes the same hundreds of special tokens in
          every request; to spell them anew takes milliseconds, to look them up a microsecond.
Bounds    ``KEPT`` results, none for more than ``KEPT_MARKS`` marks of ``KEPT_CHARACTERS`` in all.
Threads   results are immutable, and made at most twice if two threads ask at once.
Not here  what is done with them (structural_tag, tag_free_text).
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from ..ir import Grammar, Node, Pattern
from .tag_formats import Mark
from .tag_spelling import Spelling

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

#: results kept; a gateway needs one for each kind of free text in its formats
KEPT = 64
#: marks and characters of a result that is kept; o200k has 1,100 special tokens of 20,000
#: characters
KEPT_MARKS = 4_096
KEPT_CHARACTERS = 65_536

Marks = tuple[Mark, ...]


class Surroundings(NamedTuple):
    """Free text beside its marks."""

    specials: tuple[int, ...]  # the special tokens that it may hold, ascending
    excluded: tuple[Pattern, ...]  # what must not be completed in it, the ends among them
    ends: tuple[Pattern, ...]
    beside: tuple[Pattern, ...]  # ``excluded`` without the ends
    is_tangled: bool  # whether an exclude can complete within an end, see tag_free_text


class TagVocabulary:
    """
    Args:
        special_tokens: the text of every special token, stop tokens too, and its id.
        stop_token_ids: these match nothing but a token edge of their own.
        tokens: the bytes of every token by id; needed for formats that speak of all tokens.
    """

    def __init__(
        self,
        special_tokens: Mapping[str, int],
        stop_token_ids: Collection[int],
        tokens: Sequence[bytes] = (),
    ) -> None:
        self.special_tokens = special_tokens
        self.special_ids = frozenset(special_tokens.values())
        self.stops = frozenset(stop_token_ids)
        self.spelling = Spelling(special_tokens)
        free = [(t, i) for t, i in special_tokens.items() if i not in self.stops]
        self._free = sorted(free, key=itemgetter(1))
        self._tokens = tokens
        self._kept: dict[tuple[object, ...], Surroundings] = {}

    @classmethod
    def of(cls, vocabulary: "Vocabulary") -> "TagVocabulary":
        return cls(vocabulary.special_texts(), vocabulary.stop_token_ids, vocabulary.tokens)

    @property
    def size(self) -> int:
        return len(self._tokens)

    def other_tokens(self, grammar: Grammar, excludes: Collection[int]) -> Node:
        """Any token that has a text, but stop tokens and these."""
        banned = self.stops.union(excludes)
        if any(t and i not in banned for i, t in enumerate(self._tokens)):
            return grammar.other_tokens(banned)
        return grammar.fail()

    def surroundings(
        self, excludes: Marks, ends: Marks, triggers: Marks, arm_tokens: frozenset[int],
        pointer: str, end_pointer: str,
    ) -> Surroundings:  # fmt: skip
        """
        ``arm_tokens`` are the tokens that are letters of the text's own patterns.

        Raises:
            LimitExceeded: a mark that can be written in too many ways; the pointer names it.
        """
        key = (excludes, ends, triggers, arm_tokens)
        found = self._kept.get(key)
        if found is None:
            found = self._surroundings(*key, pointer, end_pointer)
            marks = (*excludes, *ends, *triggers)
            size = sum(len(mark) for mark in marks if isinstance(mark, str))
            if len(marks) <= KEPT_MARKS and size <= KEPT_CHARACTERS:
                if len(self._kept) >= KEPT:
                    self._kept.clear()
                self._kept[key] = found
        return found

    def _surroundings(
        self, excludes: Marks, ends: Marks, triggers: Marks, arm_tokens: frozenset[int],
        pointer: str, end_pointer: str,
    ) -> Surroundings:  # fmt: skip
        specials = self._allowed((*excludes, *triggers, *ends))
        known = {256 + token for token in chain(specials, arm_tokens)}
        end_patterns = self._patterns([mark for mark in ends if mark != ""], end_pointer)
        patterns = self._patterns(excludes, pointer)
        beside = [pattern for pattern in patterns if pattern not in end_patterns]
        return Surroundings(
            specials,
            possible((*patterns, *end_patterns), known),
            end_patterns,
            possible(beside, known),
            are_tangled(end_patterns, beside),
        )

    def _allowed(self, blocked: Marks) -> tuple[int, ...]:
        """The special tokens that free text may hold beside these marks."""
        texts = {mark for mark in blocked if isinstance(mark, str) and mark}
        banned = {mark for mark in blocked if isinstance(mark, int)}
        return tuple(
            token
            for text, token in self._free
            if token not in banned and text not in texts and not any(part in text for part in texts)
        )

    def _patterns(self, marks: Sequence[Mark], pointer: str) -> tuple[Pattern, ...]:
        spelled = (pattern for mark in marks for pattern in self.spelling.patterns(mark, pointer))
        return tuple(dict.fromkeys(spelled))


def possible(patterns: Collection[Pattern], known: set[int]) -> tuple[Pattern, ...]:
    """The patterns that can be completed at all, with these letters for tokens."""
    return tuple(
        dict.fromkeys(
            pattern
            for pattern in patterns
            if max(pattern) < 256 or all(letter < 256 or letter in known for letter in pattern)
        )
    )


def are_tangled(ends: Collection[Pattern], others: Collection[Pattern]) -> bool:
    """Whether an arm for every end would change the language.

    It would where an exclude or a trigger can complete inside an end or together with it, and where
    one end can complete inside another one. (Ends that complete together are one end.)
    """
    return any(
        any(reaches_into(end, other, len(end)) for other in others)
        or any(reaches_into(end, other, len(end) - 1) for other in ends if other != end)
        for end in ends
    )


def reaches_into(end: Pattern, other: Pattern, size: int) -> bool:
    """Whether ``other`` can complete on one of the first ``size`` letters of ``end``."""
    last = other[-1]
    for taken in range(1, size + 1):
        if end[taken - 1] == last:
            length = min(taken, len(other))
            if other[-length:] == end[taken - length : taken]:
                return True
    return False
