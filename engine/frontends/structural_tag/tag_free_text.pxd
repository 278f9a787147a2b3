"""Free text of structural tags as one DISPATCH: triggers, excludes and the end around it.

Specials   free text holds all special tokens but stop tokens, the excluded ones, and those whose
           text holds an excluded text, a trigger or an end: they are read as what they hide. Text
           of which the characters are counted holds none: they have no characters.
Ends       the end of the tag around free text is excluded from it. Where nothing overlaps with the
           ends, they are arms of the DISPATCH: the text is over at the first occurrence, without
           ambiguity. Else the text and the end stand side by side, since an exclude holds for the
           text alone and not for its end, nor do the characters of an end count as the text's.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from .tag_formats cimport Tag
from .tag_vocabulary cimport Surroundings, TagVocabulary

cdef class FreeText:
    cdef str pointer
    cdef tuple triggers, excludes
    cdef object max_chars, max_tokens     # int, or None: no bound
    cdef list patterns                    # of the arms
    cdef vector[uint32_t] arms            # operands of a DISPATCH
    cdef int add_arm(self, pattern, uint32_t node, bint returns) except -1

cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes)

cdef class FreeTextBuilder:
    # emits free text into one grammar; ``around`` is the tag that the text stands in
    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef dict ends
    cdef uint32_t end(self, Tag around) except? 0xFFFFFFFF
    cdef uint32_t node(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef uint32_t open(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef uint32_t closed(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef Surroundings surroundings(self, FreeText text, Tag around)
