"""Items and keys that must differ: rows say where one may end, the text whether it was there before.

A rule whose words must differ within their array (``RuleC.differs``) is completed twice over: once as
if nothing were asked, once as if the item could not end. Which of the two it is depends on the text,
which no row knows; a ``Place`` does (distinct.h). So rows, their memos and masks are those of the
grammar without the condition, and whoever follows a text asks at each byte that would complete such
a rule. A mask is that of the row, less the tokens that a look at each suspect rules out.

Stuck    a text from which every way leads to the end of an item that was there before. A token that
         leads there is ruled out, too: a literal's first letter, the last value of a closed object, the
         comma behind the last value of a list. All ways are tried as long as few bytes may come
         (``FEW_WAYS``) and it does not take too long (``MOST_STEPS``); else there is taken to be one.

Cost     nothing where no rule differs. Else a look at each suspect: a third of a microsecond where the
         outermost item is short, growing with its text, which a look copies.
Threads  under the arena's mutex, as the rows.
"""

from libc.stdint cimport uint8_t, uint32_t

from .hashing cimport U64MapC
from .pool cimport vector
from .rows cimport Arena
from .vocabulary cimport Vocabulary

cdef extern from "distinct.h" namespace "distinct" nogil:
    cppclass Place "distinct::Place":
        Place()
        Place(const Place&)
        # an array whose items must differ is open, or an object with such keys
        bint is_open() const
        bint is_outermost() const
        # an item was written that no other one may be equal to
        bint has_used() const
        void open(bint is_array)
        void read(uint8_t byte)
        # the item that ends here must differ, and was there before
        bint repeats()

cdef enum:
    FEW_WAYS = 32       # hexadecimal digits are 22
    MOST_STEPS = 512

cdef class Suspects:
    """By instance, the tokens of its mask that a text may rule out: they complete a word that must
    differ, or leave few ways on. Dropped where they take more than ``MOST_BYTES``.
    """
    cdef Arena arena
    cdef Vocabulary vocabulary
    # tokens that hold a byte that may decide, and those that open an array or an object
    cdef vector[uint32_t] deciding, opening
    cdef U64MapC numbers                # saturated instance and whether an array is open -> tokens
    cdef vector[vector[uint32_t]] tokens
    cdef size_t held

    cdef size_t bytes_held(self) noexcept nogil
    # the number of a list in ``tokens``, good until the next call
    cdef uint32_t number(self, uint32_t instance, bint is_open, const uint32_t* mask) noexcept nogil
    cdef void sort_tokens(self) noexcept nogil
    cdef void drop(self) noexcept nogil
    cdef bint is_suspect(self, uint32_t instance, bint is_open, uint32_t token) noexcept nogil


cdef Suspects new_suspects(Arena arena, Vocabulary vocabulary)

cdef uint32_t follow(
    Arena arena, uint32_t instance, const uint8_t* data, size_t n, Place* place) noexcept nogil
cdef bint has_few_ways(Arena arena, uint32_t instance) noexcept nogil
cdef bint is_stuck(Arena arena, uint32_t instance, const Place* place) noexcept nogil
