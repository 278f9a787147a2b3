"""A state of a rule's automaton while the rule is being built: edges in vectors of its own.

Targets are numbers within the rule until the state is moved into the arrays (rule_automata).
"""

from libc.stdint cimport uint8_t, uint32_t

from ..native.pool cimport vector

cdef enum:
    FINAL_STATE = 1
    LOOP_STATE = 2          # an edge into it counts (rule_automata)
    TRIGGER_STATE = 4       # behind a completed pattern: only the arm's rule follows
    UNBUILT_STATE = 8       # edges are made by Automata.visit

cdef struct ByteEdgeC:
    uint32_t target
    uint8_t low, high

cdef struct SymbolEdgeC:
    uint32_t symbol         # rule or token set
    uint32_t target

cdef struct DfaStateC:
    # a state while its rule is being built; edges into a vector of their own
    vector[ByteEdgeC] bytes
    vector[SymbolEdgeC] refs
    vector[SymbolEdgeC] tokens
    vector[uint32_t] empty
    uint32_t held
    uint8_t flags
    uint8_t is_plain_text   # free text in which no pattern is under way
    uint8_t missing         # bytes that a character of free text lacks
