"""FreeText: see the header file."""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar, push_pattern
from ...grammar.lowered cimport NO_MAXIMUM, ROLE_END, ROLE_TEXT
from ...native.pool cimport vector
from ...vocabulary.token_set cimport TokenSet
from .tag_formats cimport Tag
from .tag_vocabulary cimport Surroundings, TagVocabulary, are_tangled

cdef object NO_TOKENS = frozenset()


cdef class FreeText:
    """Free text before it is known what stands around it."""

    cdef int add_arm(self, pattern, uint32_t node, bint returns) except -1:
        self.patterns.append(pattern)
        self.arms.push_back(node)
        self.arms.push_back(returns)
        return push_pattern(&self.arms, pattern)


cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes):
    cdef FreeText made = FreeText.__new__(FreeText)
    made.pointer, made.triggers, made.excludes = pointer, triggers, excludes
    made.patterns = []
    return made


def build_free_text(
    Grammar grammar, TagVocabulary vocabulary, arms, *, tuple excludes, bint loop, max_chars=None, max_tokens=None,
    str pointer
):
    """Free text that belongs to no tag; see the interface file."""
    cdef FreeText text
    cdef FreeTextBuilder builder = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    nodes = {}
    for mark, node in arms:
        for pattern in vocabulary.spelling.patterns(mark, pointer):
            nodes.setdefault(pattern, []).append(node)
    text = new_free_text(pointer, tuple(dict.fromkeys([mark for mark, _ in arms])), excludes)
    text.max_chars, text.max_tokens = max_chars, max_tokens
    for pattern, ways in nodes.items():
        text.add_arm(pattern, grammar.alt(*ways), loop)
    return builder.node(text, None)


cdef uint32_t bound(count) except? 0:
    return NO_MAXIMUM if count is None else count


cdef class FreeTextBuilder:
    def __cinit__(self, grammar, vocabulary):
        self.grammar, self.vocabulary, self.ends = grammar, vocabulary, {}

    cdef uint32_t end(self, Tag around) except? 0xFFFFFFFF:
        """The end of a tag as a node of its own."""
        cdef vector[uint32_t] ways
        cdef uint32_t node
        known = self.ends.get(around.ends)
        if known is None:
            for mark in around.ends:
                ways.push_back(self.vocabulary.spelling.add_mark(self.grammar, mark))
            known = self.ends[around.ends] = self.grammar.add_alt(ways.data(), ways.size())
        node = known
        return self.grammar.add_capture(around.pointer, ROLE_END, node)

    cdef uint32_t open(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """Text that may stop anywhere and holds no end of the tag around it."""
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, self.node(text, around))

    cdef uint32_t node(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """As ``open``, without a mark for the event parser."""
        cdef Surroundings beside = self.surroundings(text, around)
        cdef vector[uint32_t] operands = text.arms
        cdef TokenSet specials = None
        if text.max_chars is None:
            specials = beside.specials
            operands.insert(operands.end(), beside.excluded_operands.begin(), beside.excluded_operands.end())
        else:
            for pattern in beside.excluded:
                if type(pattern) is bytes:
                    push_pattern(&operands, pattern)
        return self.grammar.add_dispatch(
            <uint32_t>len(text.patterns), &operands, specials, True, 0, bound(text.max_chars), bound(text.max_tokens))

    cdef uint32_t closed(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """Text up to the end of the tag around it, with that end."""
        cdef Surroundings beside = self.surroundings(text, around)
        cdef vector[uint32_t] operands
        cdef uint32_t parts[2]
        cdef uint32_t over
        if (text.max_chars is not None or text.max_tokens is not None or "" in around.ends or beside.is_tangled
                or are_tangled(beside.ends, text.patterns)):
            parts[0], parts[1] = self.open(text, around), self.end(around)
            return self.grammar.add_seq(parts, 2)
        over = self.grammar.add_capture(around.pointer, ROLE_END, self.grammar.empty_node)
        operands = text.arms
        for pattern in beside.ends:
            operands.push_back(over)
            operands.push_back(False)
            push_pattern(&operands, pattern)
        operands.insert(operands.end(), beside.beside_operands.begin(), beside.beside_operands.end())
        over = self.grammar.add_dispatch(
            <uint32_t>(len(text.patterns) + len(beside.ends)), &operands, beside.specials, False, 0, NO_MAXIMUM,
            NO_MAXIMUM)
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, over)

    cdef Surroundings surroundings(self, FreeText text, Tag around):
        tokens = NO_TOKENS
        for pattern in text.patterns:
            if type(pattern) is not bytes:
                tokens = tokens.union([letter - 256 for letter in pattern if letter > 255])
        return self.vocabulary.around(
            text.excludes,
            around.ends if around is not None else (),
            text.triggers,
            tokens,
            text.pointer,
            around.pointer if around is not None else "",
        )
