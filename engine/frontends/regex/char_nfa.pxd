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
from .char_automaton cimport NO_STATE, Bound
from .regex_tree cimport Repeat, Tree

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
