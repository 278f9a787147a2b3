"""Free text of structural tags as one DISPATCH: triggers, excludes and the end around it.

Specials   free text holds all special tokens but stop tokens, the excluded ones, and those whose
           text holds an excluded text, a trigger or an end: they are read as what they hide. Text
           of which the characters are counted holds none: they have no characters.
Ends       the end of the tag around free text is excluded from it. Where nothing overlaps with the
           ends, they are arms of the DISPATCH: the text is over at the first occurrence, without
           ambiguity. Else the text and the end stand side by side, since an exclude holds for the
           text alone and not for its end, nor do the characters of an end count as the text's.
"""

from dataclasses import dataclass

from ..ir import Arm, Grammar, Node
from .tag_formats import Mark, Tag
from .tag_vocabulary import Surroundings, TagVocabulary, are_tangled

NO_TOKENS: frozenset[int] = frozenset()


@dataclass(slots=True)
class FreeText:
    pointer: str
    arms: tuple[Arm, ...]
    triggers: tuple[Mark, ...]
    excludes: tuple[Mark, ...]
    max_chars: int | None = None
    max_tokens: int | None = None

    @property
    def is_counted(self) -> bool:
        return self.max_chars is not None or self.max_tokens is not None


class FreeTextBuilder:
    """Emits free text into one grammar. ``around`` is the tag that the text stands in."""

    def __init__(self, grammar: Grammar, vocabulary: TagVocabulary) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self._ends: dict[tuple[Mark, ...], Node] = {}

    def end(self, around: Tag) -> Node:
        """The end of a tag as a node of its own."""
        g = self.grammar
        node = self._ends.get(around.ends)
        if node is None:
            spelling = self.vocabulary.spelling
            node = self._ends[around.ends] = g.alt(*(spelling.node(g, m) for m in around.ends))
        return g.capture(around.pointer, "end", node)

    def open(self, text: FreeText, around: Tag | None) -> Node:
        """Text that may stop anywhere and holds no end of the tag around it."""
        beside = self._surroundings(text, around)
        counted = text.max_chars is not None
        excluded = beside.excluded
        if counted:
            excluded = tuple(pattern for pattern in excluded if max(pattern) < 256)
        node = self.grammar.dispatch(
            text.arms,
            excludes=excluded,
            specials=() if counted else beside.specials,
            open_end=True,
            max_chars=text.max_chars,
            max_tokens=text.max_tokens,
        )
        return self.grammar.capture(text.pointer, "text", node)

    def closed(self, text: FreeText, around: Tag) -> Node:
        """Text up to the end of the tag around it, with that end."""
        g = self.grammar
        beside = self._surroundings(text, around)
        triggers = [pattern for pattern, _, _ in text.arms]
        if (
            text.is_counted
            or "" in around.ends
            or beside.is_tangled
            or are_tangled(beside.ends, triggers)
        ):
            return g.seq(self.open(text, around), self.end(around))
        over = g.capture(around.pointer, "end", g.empty())
        arms = (*text.arms, *((pattern, over, False) for pattern in beside.ends))
        node = g.dispatch(arms, excludes=beside.beside, specials=beside.specials, open_end=False)
        return g.capture(text.pointer, "text", node)

    def _surroundings(self, text: FreeText, around: Tag | None) -> Surroundings:
        tokens = NO_TOKENS
        if text.arms:
            tokens = frozenset(x - 256 for arm in text.arms for x in arm[0] if x > 255)
        return self.vocabulary.surroundings(
            text.excludes,
            around.ends if around else (),
            text.triggers,
            tokens,
            f"{text.pointer}/excludes",
            f"{around.pointer}/end" if around else "",
        )
