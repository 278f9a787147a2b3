"""TagVocabulary: see the header file."""

from ...grammar.ir cimport push_pattern
from ...vocabulary.token_set cimport TokenSet
from .tag_spelling cimport Spelling

from itertools import chain
from operator import itemgetter

# results kept; a gateway needs one for each kind of free text in its formats
KEPT = 64
# marks and characters of a result that is kept; o200k has 1,100 special tokens of 20,000 characters
KEPT_MARKS = 4_096
KEPT_CHARACTERS = 65_536


cdef class Surroundings:
    """Free text beside its marks."""

    def __eq__(self, other):
        return isinstance(other, Surroundings) and self._content() == (<Surroundings>other)._content()

    __hash__ = None

    def _content(self):
        return self.specials, self.excluded, self.ends, self.beside, self.is_tangled


cdef class TagVocabulary:
    """
    Args:
        special_tokens: the text of every special token, stop tokens too, and its id.
        stop_token_ids: these match nothing but a token edge of their own.
        tokens: the bytes of every token by id; needed for formats that speak of all tokens.
    """

    def __init__(self, special_tokens, stop_token_ids, tokens=()):
        self.special_tokens = special_tokens
        self.special_ids = frozenset(special_tokens.values())
        self.stops = frozenset(stop_token_ids)
        self.spelling = Spelling(special_tokens)
        free = [(t, i) for t, i in special_tokens.items() if i not in self.stops]
        self.free = sorted(free, key=itemgetter(1))
        self.tokens = tokens
        self.kept = {}

    @classmethod
    def of(cls, vocabulary):
        return cls(vocabulary.special_texts(), vocabulary.stop_token_ids, vocabulary.tokens)

    @property
    def size(self):
        return len(self.tokens)

    def other_tokens(self, grammar, excludes):
        """Any token that has a text, but stop tokens and these."""
        banned = self.stops.union(excludes)
        for number, text in enumerate(self.tokens):
            if text and number not in banned:
                return grammar.other_tokens(banned)
        return grammar.fail()

    def surroundings(self, tuple excludes, tuple ends, tuple triggers, arm_tokens, str pointer, str end_pointer):
        """
        ``arm_tokens`` are the tokens that are letters of the text's own patterns; the pointers are
        those of the text and of the tag around it.

        Raises:
            LimitExceeded: a mark that can be written in too many ways; the pointer names it.
        """
        return self.around(excludes, ends, triggers, arm_tokens, pointer, end_pointer)

    cdef Surroundings around(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer
    ):
        cdef tuple key = (excludes, ends, triggers, arm_tokens)
        cdef Surroundings found = self.kept.get(key)
        if found is None:
            found = self._surroundings(*key, f"{pointer}/excludes", f"{end_pointer}/end")
            marks = excludes + ends + triggers
            size = sum([len(mark) for mark in marks if isinstance(mark, str)])
            if len(marks) <= KEPT_MARKS and size <= KEPT_CHARACTERS:
                if len(self.kept) >= KEPT:
                    self.kept.clear()
                self.kept[key] = found
        return found

    def _surroundings(self, excludes, ends, triggers, arm_tokens, pointer, end_pointer):
        cdef Surroundings made = Surroundings.__new__(Surroundings)
        specials = self._allowed((*excludes, *triggers, *ends))
        known = {256 + token for token in chain(specials, arm_tokens)}
        made.specials = TokenSet(specials)
        made.ends = self._patterns([mark for mark in ends if mark != ""], end_pointer)
        patterns = self._patterns(excludes, pointer)
        beside = [pattern for pattern in patterns if pattern not in made.ends]
        made.excluded = possible((*patterns, *made.ends), known)
        made.beside = possible(beside, known)
        made.is_tangled = are_tangled(made.ends, beside)
        for pattern in made.excluded:
            push_pattern(&made.excluded_operands, pattern)
        for pattern in made.beside:
            push_pattern(&made.beside_operands, pattern)
        return made

    def _allowed(self, blocked):
        """The special tokens that free text may hold beside these marks."""
        texts = {mark for mark in blocked if isinstance(mark, str) and mark}
        banned = {mark for mark in blocked if isinstance(mark, int)}
        return [
            token
            for text, token in self.free
            if token not in banned and text not in texts and not any(part in text for part in texts)
        ]

    def _patterns(self, marks, pointer):
        spelled = [pattern for mark in marks for pattern in self.spelling.patterns(mark, pointer)]
        return tuple(dict.fromkeys(spelled))


def possible(patterns, known):
    """The patterns that can be completed at all, with these letters for tokens."""
    return tuple(
        dict.fromkeys(
            pattern
            for pattern in patterns
            if type(pattern) is bytes or all(letter < 256 or letter in known for letter in pattern)
        )
    )


cdef bint are_tangled(ends, others) except -1:
    """Whether an arm for every end would change the language.

    It would where an exclude or a trigger can complete inside an end or together with it, and where
    one end can complete inside another one. (Ends that complete together are one end.)
    """
    cdef tuple end
    cdef list all_ends = [tuple(pattern) for pattern in ends], rest = [tuple(pattern) for pattern in others]
    for end in all_ends:
        for other in rest:
            if reaches_into(end, other, len(end)):
                return True
        for other in all_ends:
            if other != end and reaches_into(end, other, len(end) - 1):
                return True
    return False


cdef bint reaches_into(tuple end, tuple other, Py_ssize_t size) except -1:
    """Whether ``other`` can complete on one of the first ``size`` letters of ``end``."""
    cdef Py_ssize_t taken, length
    last = other[-1]
    for taken in range(1, size + 1):
        if end[taken - 1] == last:
            length = min(taken, len(other))
            if other[len(other) - length:] == end[taken - length:taken]:
                return True
    return False
