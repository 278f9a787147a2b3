"""Deterministic automata over characters, for operations that the IR cannot express: intersection, difference,
anchors inside a pattern, lengths of a pattern's matches.

Representation   states 0..n-1, start 0. State s has the moves moves[first[s]..first[s + 1] - 1], which are
                 disjoint. The characters of a move are ``n`` ranges pool[2 * off], pool[2 * off + 1], ...; moves
                 may share ranges.
Invariants       every state can reach a final one; an automaton that accepts nothing has no states.
Products         intersection and difference run all automata in parallel, without complements or intermediate
                 results. A state of the product has one word for each automaton: its state, or NO_STATE for a
                 rejecting automaton that has failed. States are numbered breadth first.
Lengths          are counted by states (``with_length``) or by the engine's registers (``bounded_node``).
Cost             units of work (members of subsets, ranges of characters) count as states, ``WORK_PER_STATE`` of
                 them as one, so that ``limits.pattern_states`` bounds both. A state, and ``WORK_PER_STEP`` units,
                 are a step of the request's budget.
Threads          immutable after construction.
Not here         automata of patterns (char_nfa).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.utility cimport pair

from ...automata.determinize cimport LetterEdgesC
from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget

ctypedef pair[uint32_t, uint32_t] Range

cdef enum:
    NO_STATE = 0xFFFFFFFF


cdef struct CharMoveC:
    uint32_t off, n, target


cdef struct StatesC:
    vector[uint32_t] first
    vector[CharMoveC] moves
    vector[uint32_t] pool
    vector[uint8_t] final


cdef struct CharStateC:
    # the moves of one state under construction: targets and ranges, in any order
    vector[pair[uint32_t, Range]] parts
    # scratch: the moves; first character and number of each; by target, the last state with a move to it
    vector[CharMoveC] made
    vector[Range] order
    vector[uint32_t] seen


cdef inline uint32_t state_count(StatesC* states) noexcept nogil:
    return <uint32_t>states.first.size() - 1 if states.first.size() else 0


cdef inline void add_range(CharStateC* char_state, uint32_t low, uint32_t high, uint32_t target) noexcept nogil:
    cdef pair[uint32_t, Range] part
    part.first, part.second.first, part.second.second = target, low, high
    char_state.parts.push_back(part)


cdef class Bound:
    """The limit ``pattern_states`` at one place of a spec, and the budget of its work."""
    cdef readonly uint64_t limit, work
    cdef readonly WorkBudget budget
    cdef readonly str pointer

    # counts members of subsets and ranges of characters
    cdef int count_work(self, uint64_t units) except -1
    # called for each new state, with their number
    cdef int check_states(self, uint64_t states) except -1
    cdef int check_limit(self, uint64_t states) except -1


cdef class CharAutomaton:
    cdef StatesC states
    cdef LetterEdgesC sorted    # cache of ``letters``

    # the ranges of each state in the order of their characters
    cdef const LetterEdgesC* letters(self) noexcept nogil
    # raises LimitExceeded: ``rule_edges``
    cdef int check_edges(self, Grammar grammar, bint inside_json) except -1
    cpdef CharAutomaton minimal(self, Bound bound=*)


# whether a state alone shows that every text is accepted from there
cdef bint is_all(StatesC* states, uint32_t s) noexcept nogil
cdef void append_state(CharStateC* char_state, StatesC* out) noexcept nogil
cdef void finish(StatesC* states) noexcept nogil
cdef void trim(StatesC* states) noexcept nogil
