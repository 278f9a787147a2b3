"""JSON objects: their members, listed ones in their order or in any, as an automaton made state by state.

    {  opened  ws  F  "  names  "  B  ws  C  :  D  ws  E  value  S  ws  T  ,  U  ws  V  "  ...   or }

A state is a place: what was read of the object's form, and i, the lowest listed member that may
still come (in B to E the one whose value is due). From there come the members up to the next
required one: so it takes the names of an interval of numbers, and how far they are spelled (name_trie).
In any order a state has the set of the members that were written instead of the lowest one.
White space and values are references, and so is a member that isn't listed, key and all.

In a layout, the comma, the colon and the last bracket are references that hold their white space; an
object without members has none:

    {  opened  opening  F  "  names  "  B  colon  D  value  S  comma  U  "  ...   or closing   or } behind opened

Invariants   I1 a text has one way through the states; only a member that isn't listed goes beside
                the listed ones, under names that are none of theirs.
             I2 members, and what isn't listed, that no text has are left out.
Cost         sorting the names on the first visit; then a state costs about as many steps as names
             fit it. An object of 4,000 optional members: one item in a row, not 4,000.
Threads      under the arena's mutex.
Not here     what schemas ask of members (frontends.json_schema.objects).
"""

from libc.stdint cimport uint32_t
from ..native.pool cimport vector

from ..grammar.lowered cimport LAYOUT_PARTS, LoweredGrammar
from ..native.word_table cimport WordTableC
from .dfa_state cimport DfaStateC
from .name_trie cimport NamesC

cdef struct ObjectC:
    NamesC names
    vector[uint32_t] values       # by member: its rule
    vector[uint32_t] due          # the next required member, from this one on; NO_NAME: none
    vector[uint32_t] required     # as bits
    WordTableC sets               # of members, as bits; the first one is empty
    uint32_t extra, space         # rules, NO_RULE: none
    uint32_t[LAYOUT_PARTS] layout     # rules of its parts, with LAID_OUT; NO_RULE: nothing
    uint32_t flags                # as in flat
    WordTableC places             # the first one is the start
    vector[uint32_t] states       # by place: its state, 0: none yet (rule_automata)

cdef size_t object_bytes(const ObjectC* obj) noexcept nogil
cdef void object_start(ObjectC* obj, LoweredGrammar ir, uint32_t node) noexcept nogil
cdef void object_state(ObjectC* obj, uint32_t number, DfaStateC* out) noexcept nogil
