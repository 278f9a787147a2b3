"""Automata of trees, with empty moves: Thompson's construction.

Representation   states 0..size-1. Once ``index`` was called, the moves of state s are
                 moves[move_off[s]..move_off[s + 1] - 1], and so are the empty ones; ranges of
                 characters stand in the pool as in a CharAutomaton.
                 An empty move has a sign: it is free, holds at one end of the text, or (LOOK + k)
                 where ``looks[k]`` of the tree holds.
Cost             ``limits.pattern_states`` bounds the states.
Not here         making them deterministic (char_subsets, char_looks).
Source           K. Thompson, Regular Expression Search Algorithm, CACM 11(6), 1968.
"""

from libc.stdint cimport uint32_t

from ...native.hashing cimport U64MapC
from ...native.pool cimport vector
from .char_automaton cimport NO_STATE, Bound, CharAutomaton
from .regex_syntax cimport Repeat, Tree

cdef enum:
    # signs of empty moves; FREE, AT_START and AT_END also make masks of those that hold
    FREE = 0
    AT_START = 1
    AT_END = 2
    LOOK = 4


cdef struct EmptyC:
    uint32_t source, sign, target


cdef struct NfaMoveC:
    uint32_t source, off, n, target


cdef struct NfaC:
    uint32_t size
    vector[EmptyC] empty
    vector[NfaMoveC] moves
    vector[uint32_t] pool
    vector[uint32_t] empty_off, move_off
    vector[uint32_t] stamp
    uint32_t now


cdef class Thompson:
    cdef NfaC nfa
    cdef Bound bound
    cdef list looks     # Look trees, by number
    # where the ranges of a set stand in the pool, by their address and by what they are
    cdef U64MapC placed
    cdef dict sets
    cdef dict numbers   # of looks, by the object's id

    cdef uint32_t state(self) except? NO_STATE
    cdef void empty(self, uint32_t s, uint32_t sign, uint32_t t)
    # ``ranges`` of a tree, which keeps them
    cdef int move(self, uint32_t s, tuple ranges, uint32_t t) except -1
    cdef void move_by(self, uint32_t s, uint32_t off, size_t n, uint32_t t) noexcept
    cdef uint32_t set_of(self, tuple ranges) except? NO_STATE
    cdef uint32_t add(self, Tree tree, uint32_t s) except? NO_STATE
    cdef uint32_t add_repeat(self, Repeat tree, uint32_t s) except? NO_STATE
    cdef int add_states(self, states, uint32_t s, uint32_t t) except -1
    cdef uint32_t number(self, tree)


cdef void index(NfaC* nfa) noexcept nogil

# Cuts overlapping moves into disjoint ranges, by the set of moves: ``pieces[k]`` are the bounds of the
# ranges in which those of ``groups[k]`` hold.
cdef int sweep(
    NfaC* nfa, vector[NfaMoveC]* moves, Bound bound,
    vector[vector[uint32_t]]* groups, vector[vector[uint32_t]]* pieces,
) except -1
cdef void unique(vector[uint32_t]* members) noexcept nogil


# -- char looks ------------------------------------------------------------------------------------
# Trees with look-around -> deterministic automata over characters.
#
#     (?=X)   from here on the rest of the text must be one that begins with X: an *obligation*, a
#             state of the deterministic automaton of X and any text, which goes along
#     (?!X)   the same, and the rest must not be one
#     (?<=X)  the automaton of any text and X, which runs from the beginning of the text on, must be
#             in a final state here; with (?<!X) it must not
#     \\b      both, of one character (regex_syntax)
#
# A *configuration* is a state of the tree's own automaton with a set of obligations; a state of the
# result is a set of configurations with one state of each automaton that looks behind. So look-around
# may stand anywhere, repetitions included.
#
# Invariants   I1 an obligation that holds whatever follows is dropped; one that can't hold any more
#              takes its configuration with it.
#              I2 of two configurations in one state the one with more obligations is dropped, if
#              they include the other's.
#              I3 what X looks behind for, and whether the text begins here, is settled where X
#              begins: there is one automaton of X for each such context (one, if X has no anchors).
# Cost         that of a subset construction, times the automata that go along: counted, and bounded
#              by ``limits.pattern_states``.
# Not here     look-ahead within look-behind, which regex_syntax refuses.
# Source       obligations are those of alternating automata: Chandra, Kozen, Stockmeyer,
#              Alternation, JACM 28(1), 1981; negation is settled by determinising what is negated.

# ``is_search``: the tree ends in any text, so that what was found is found whatever follows.
cdef CharAutomaton looked(tree, Bound bound, bint is_search)
