"""Partition refinement: which states of a deterministic automaton have the same language.

Representation   the edges of state s are edges[off[s]..off[s + 1] - 1]: disjoint ranges of letters, in one
                 order for all states. Blocks are numbers by state.
Invariants       I1 states of one block lead, letter by letter, to the same blocks; no coarser partition that
                 refines the given one does. So the result does not depend on the order of the work.
                 I2 blocks are numbered by their first members.
Cost             a round looks only at the states that lead to one that changed its block, and the largest
                 part of a block keeps its number, so that a chain of n states takes n edges, not n^2.
Source           S. Blom and S. Orzan, Distributed Branching Bisimulation Reduction of State Spaces, 2003.
"""

from libc.stdint cimport uint32_t, uint64_t

from ..native.pool cimport vector


cdef struct LetterEdgeC:
    uint32_t low, high, target


cdef struct LetterEdgesC:
    vector[uint32_t] off
    vector[LetterEdgeC] edges


# Splits ``blocks``, numbered from 0 to ``count`` - 1; how many there are then. 0: more than ``most`` edges
# would have to be looked at. ``looks`` is how many were.
cdef uint32_t refine(
    const LetterEdgesC* graph, vector[uint32_t]* blocks, uint32_t count, uint64_t most, uint64_t* looks
) noexcept nogil
