"""The tokens of a mask that may repeat an item of the text."""

from libc.stdint cimport uint32_t, uint8_t
from libcpp.vector cimport vector as plain_vector

from ..earley.rows cimport Arena
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .continuations cimport ContinuationCounter
from .uniqueness cimport Cursor, UniquenessState, ValuePositionC


cdef class RepeatCandidates:
    """Finds the tokens of a mask that may repeat an item of the text."""
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef ContinuationCounter continuations
    cdef bint is_sorted
    # tokens that may end an item and continue after a comma, or end one with a bracket: within a
    # string, outside strings, and where no array with unique items is open
    cdef vector[uint32_t] quoting, ending, opening
    cdef vector[uint32_t] raising       # tokens with an exponent
    cdef U64MapC numbers                # saturated configuration and kind of state -> index into ``listed``
    cdef vector[vector[uint32_t]] listed
    cdef size_t held
    cdef vector[uint32_t] found         # the result of ``look``
    # the used items that begin like the text along a branch of the trie, and the depth of each item
    cdef plain_vector[Cursor] cursors
    cdef vector[uint32_t] depths

    cdef void look(self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask) noexcept nogil
    cdef uint32_t number(
        self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask
    ) noexcept nogil
    cdef uint32_t is_listed(self, uint32_t configuration, uint32_t token) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
    cdef void drop(self) noexcept nogil
    cdef void sort_tokens(self) noexcept nogil
    cdef void sort_raising(self, uint8_t byte) noexcept nogil
    cdef void add_below(self, vector[uint32_t]* out, uint32_t node) noexcept nogil
    cdef void add_tokens(self, vector[uint32_t]* out, uint8_t byte) noexcept nogil
    cdef bint is_raised(self) noexcept nogil
    cdef void walk(self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask) noexcept nogil
    cdef void walk_inside(
        self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void narrow_inside(self, ValuePositionC* position, uint8_t byte, size_t first, size_t end) noexcept nogil
    cdef void walk_outside(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void walk_number(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil
    cdef void enter(self, uint32_t child, ValuePositionC* position, size_t first, const uint32_t* mask) noexcept nogil
    cdef void collect(self, uint32_t node, bint is_subtree, const uint32_t* mask) noexcept nogil


cdef RepeatCandidates new_repeat_candidates(Arena arena, Vocabulary vocabulary)
