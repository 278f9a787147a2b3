"""Free text of structural tags as one DISPATCH: triggers, excludes and the end of the enclosing tag.

Specials   Free text contains all special tokens except stop tokens, excluded tokens, and tokens whose text
           contains an excluded text, a trigger or an end; the text of these is matched as bytes. Text with a
           bound on its characters contains none: special tokens have no characters.
Ends       The end of the enclosing tag is excluded from the text. If no exclude or trigger overlaps the ends,
           they are arms of the DISPATCH: the text ends at the first occurrence, without ambiguity. Otherwise the
           text and the end are a sequence, because excludes and counts apply to the text and not to its end.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from .tag_formats cimport Tag
from .tag_vocabulary cimport TagVocabulary, TextPatterns


cdef class FreeText:
    # free text, without regard to the enclosing tag
    cdef str pointer
    cdef tuple triggers, excludes
    cdef object max_chars, max_tokens     # None: no bound
    cdef list patterns                    # of the arms
    cdef vector[uint32_t] arms            # operands of a DISPATCH
    # adds an arm for each pattern: the alternatives of its nodes
    cdef int add_arms(self, Grammar grammar, dict nodes, bint returns) except -1


cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes)


cdef class FreeTextBuilder:
    # adds free text to one grammar; ``enclosing`` is the tag around it, or None
    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef dict ends                        # nodes by ends
    # the end of the tag alone
    cdef uint32_t end(self, Tag enclosing) except? 0xFFFFFFFF
    # text that may stop anywhere and does not contain the end of the tag
    cdef uint32_t node(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF
    # the same inside a capture
    cdef uint32_t open(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF
    # text up to the end of the tag, end included
    cdef uint32_t closed(self, FreeText text, Tag enclosing) except? 0xFFFFFFFF
    cdef TextPatterns patterns(self, FreeText text, Tag enclosing)
