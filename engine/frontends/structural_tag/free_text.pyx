"""Free text of structural tags."""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport NO_MAXIMUM, ROLE_END, ROLE_TEXT, Grammar, push_pattern
from ...native.pool cimport vector
from ...vocabulary.vocabulary cimport TokenSet
from .tag_formats cimport Tag
from .tag_vocabulary cimport TagVocabulary, TextPatterns, overlap

cdef object NO_TOKENS = frozenset()


cdef class FreeText:
    cdef int add_arms(self, Grammar grammar, dict nodes, bint returns) except -1:
        for pattern, alternatives in nodes.items():
            self.patterns.append(pattern)
            self.arms.push_back(grammar.alt(*alternatives))
            self.arms.push_back(returns)
            push_pattern(&self.arms, pattern)
        return 0


cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes):
    cdef FreeText made = FreeText.__new__(FreeText)
    made.pointer, made.triggers, made.excludes = pointer, triggers, excludes
    made.patterns = []
    return made


def build_free_text(
    Grammar grammar, TagVocabulary vocabulary, arms, *, tuple excludes, bint loop, max_chars=None, max_tokens=None,
    str pointer
):
    """Add free text outside of tags."""
    cdef FreeText text
    cdef FreeTextBuilder builder = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    nodes = {}
    for mark, node in arms:
        for pattern in vocabulary.spelling.patterns(mark, pointer):
            nodes.setdefault(pattern, []).append(node)
    text = new_free_text(pointer, tuple(dict.fromkeys([mark for mark, _ in arms])), excludes)
    text.max_chars, text.max_tokens = max_chars, max_tokens
    text.add_arms(grammar, nodes, loop)
    return builder.node(text, None)


cdef uint32_t bound(count) except? 0:
    return NO_MAXIMUM if count is None else count


cdef class FreeTextBuilder:
    def __cinit__(self, grammar, vocabulary):
        self.grammar, self.vocabulary, self.ends = grammar, vocabulary, {}

    cdef uint32_t end(self, Tag enclosing) except? 0xFFFFFFFF:
        cdef vector[uint32_t] ways
        cdef uint32_t node
        known = self.ends.get(enclosing.ends)
        if known is None:
            for mark in enclosing.ends:
                ways.push_back(self.vocabulary.spelling.add_mark(self.grammar, mark))
            known = self.ends[enclosing.ends] = self.grammar.add_alt(ways.data(), ways.size())
        node = known
        return self.grammar.add_capture(enclosing.pointer, ROLE_END, node)

    cdef uint32_t open(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF:
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, self.node(text, enclosing))

    cdef uint32_t node(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF:
        cdef TextPatterns found = self.patterns(text, enclosing)
        cdef vector[uint32_t] operands = text.arms
        cdef TokenSet specials = None
        if text.max_chars is None:
            specials = found.specials
            operands.insert(operands.end(), found.excluded_operands.begin(), found.excluded_operands.end())
        else:
            for pattern in found.excluded:
                if type(pattern) is bytes:
                    push_pattern(&operands, pattern)
        return self.grammar.add_dispatch(
            <uint32_t>len(text.patterns), &operands, specials, True, 0, bound(text.max_chars), bound(text.max_tokens))

    cdef uint32_t closed(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF:
        cdef TextPatterns found = self.patterns(text, enclosing)
        cdef vector[uint32_t] operands
        cdef uint32_t parts[2]
        cdef uint32_t over
        if (text.max_chars is not None or text.max_tokens is not None or "" in enclosing.ends or found.ends_overlap
                or overlap(found.ends, text.patterns)):
            parts[0], parts[1] = self.open(text, enclosing), self.end(enclosing)
            return self.grammar.add_seq(parts, 2)
        over = self.grammar.add_capture(enclosing.pointer, ROLE_END, self.grammar.empty_node)
        operands = text.arms
        for pattern in found.ends:
            operands.push_back(over)
            operands.push_back(False)
            push_pattern(&operands, pattern)
        operands.insert(operands.end(), found.excluded_only_operands.begin(), found.excluded_only_operands.end())
        over = self.grammar.add_dispatch(
            <uint32_t>(len(text.patterns) + len(found.ends)), &operands, found.specials, False, 0, NO_MAXIMUM,
            NO_MAXIMUM)
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, over)

    cdef TextPatterns patterns(self, FreeText text, Tag enclosing):
        tokens = NO_TOKENS
        for pattern in text.patterns:
            if type(pattern) is not bytes:
                tokens = tokens.union([letter - 256 for letter in pattern if letter > 255])
        return self.vocabulary.patterns_of(
            text.excludes,
            enclosing.ends if enclosing is not None else (),
            text.triggers,
            tokens,
            text.pointer,
            enclosing.pointer if enclosing is not None else "",
        )
