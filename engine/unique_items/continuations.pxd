"""Counts of the values that an item may still become: a text is stuck if all of them were used."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..earley.rows cimport Arena
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from .uniqueness cimport Cursor, Mode, UniquenessState, ValuePositionC, string_view


cdef class ContinuationCounter:
    """Counts the values that an item may still become, by configuration, open brackets, and mode.

    Each value counts once: with raw characters where allowed, numbers without insignificant zeros
    and without exponent, no white space. A count that reaches ``want`` is a lower bound.
    """
    cdef Arena arena
    cdef U64MapC numbers
    cdef vector[uint32_t] least         # by number: a lower bound; MANY: more than any text holds
    cdef vector[uint8_t] known          # by number: what is known of the bound
    cdef uint32_t nested                # current depth of nested calls
    cdef readonly uint64_t steps        # transitions over bytes so far

    cdef size_t bytes_held(self) noexcept nogil
    cdef bint is_stuck(self, uint32_t configuration, const UniquenessState* state) noexcept nogil
    cdef bint is_spent(self, ValuePositionC* position, const Cursor* used) noexcept nogil
    cdef uint32_t count(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t counted(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t outside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t spaced(self, uint32_t configuration, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil
    cdef uint32_t count_after(self, uint32_t configuration, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil
    cdef uint32_t must_be_escaped(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t after_escape(self, uint32_t configuration, uint32_t character) noexcept nogil
    cdef uint32_t numbered(self, uint32_t escape) noexcept nogil
    cdef uint32_t lettered(self, uint32_t escape, uint32_t character) noexcept nogil
    cdef uint32_t inside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t escaped(self, ValuePositionC* position, const Cursor* used, uint32_t want) noexcept nogil
    cdef uint32_t longer(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t fraction(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef uint32_t digits(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ended_or(
        self, bint met, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want
    ) noexcept nogil
    cdef uint32_t ended(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil
    cdef uint32_t ends(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil
    cdef bint has_used(self, ValuePositionC* position, const Cursor* used, uint32_t n) noexcept nogil
    cdef bint is_open_to(self, uint32_t configuration, string_view rest, bint is_inside) noexcept nogil
    cdef bint leaves(self, uint32_t configuration) noexcept nogil
    cdef uint32_t go(self, uint32_t configuration, uint8_t byte) noexcept nogil
    cdef uint32_t reach(self, uint32_t configuration, uint8_t byte, bint is_inside) noexcept nogil
    cdef uint32_t past(self, uint32_t configuration, uint32_t depth, uint8_t byte, bint* met) noexcept nogil
