"""Deterministic automata over characters, for what IR composition can't say: intersection,
exclusion, anchors in the middle.

Used for patterns together with lengths or formats, and to decide whether a given text matches.

Representation   states 0..n-1, start 0. State s has moves[first[s]..first[s + 1] - 1], disjoint; a
                 move's characters are the ranges pool[2 * off], pool[2 * off + 1], ... ``n`` of them.
                 Moves may share their ranges.
Invariants       every state can reach a final one; an automaton that accepts nothing has no states.
Cost             what is looked at (members of subsets, ranges of characters) is counted, and
                 ``LOOKS`` of it count as one state, so that ``limits.pattern_states`` bounds the
                 work, too. A state, and ``LOOKS_PER_STEP`` looks, are a step of the request's budget.
Threads          immutable once made.
Not here         automata of patterns (char_subsets, char_looks), intersections and differences
                 (char_products), lengths (char_lengths), which patterns need an automaton (regex,
                 json_schema.strings).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.utility cimport pair

from ...automata.determinize cimport LetterEdgesC
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget

ctypedef pair[uint32_t, uint32_t] Range

cdef enum:
    NO_STATE = 0xFFFFFFFF


cdef struct MoveC:
    uint32_t off, n, target


cdef struct StatesC:
    vector[uint32_t] first
    vector[MoveC] moves
    vector[uint32_t] pool
    vector[uint8_t] final


cdef struct CharStateC:
    # the moves of one state: targets with ranges that lead there, in any order
    vector[pair[uint32_t, Range]] parts
    # scratch: its moves, and the first character and the number of each; by target, the last state that
    # has a move to it
    vector[MoveC] made
    vector[Range] order
    vector[uint32_t] seen


cdef inline uint32_t state_count(StatesC* states) noexcept nogil:
    return <uint32_t>states.first.size() - 1 if states.first.size() else 0


cdef inline void add_range(CharStateC* char_state, uint32_t low, uint32_t high, uint32_t target) noexcept nogil:
    cdef pair[uint32_t, Range] part
    part.first, part.second.first, part.second.second = target, low, high
    char_state.parts.push_back(part)


cdef class Bound:
    """``limits.pattern_states`` at one place of a spec, and the budget that the work counts on."""
    cdef readonly uint64_t limit, looks
    cdef readonly WorkBudget budget
    cdef readonly str pointer

    cdef int look(self, uint64_t looks) except -1
    # called for each new state
    cdef int check(self, uint64_t states) except -1
    cdef int compare(self, uint64_t states) except -1


cdef class CharAutomaton:
    cdef StatesC states
    cdef LetterEdgesC sorted    # of all states, once somebody asked for them

    # the ranges of each state in the order of their characters
    cdef const LetterEdgesC* letters(self) noexcept
    cpdef CharAutomaton minimal(self, Bound bound=*)


# whether every text is accepted from a state on, as far as the state alone shows it
cdef bint is_all(StatesC* states, uint32_t s) noexcept nogil
cdef void append_state(CharStateC* char_state, StatesC* out) noexcept nogil
cdef void finish(StatesC* states) noexcept nogil
cdef void trim(StatesC* states) noexcept nogil
