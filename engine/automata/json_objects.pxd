"""JSON objects, listed strings and strings except listed ones, built state by state.

Name trie    The names (keys, or any listed strings) in every legal JSON spelling, as an implicit
             trie: a node is an interval of the sorted names that agree so far, plus the progress
             within the spelling of the next character. Names that are `spelled` have one spelling,
             as written. The edges of a node are computed on the first visit: a spelling takes about
             14 bytes for each character, and most of them are never visited.
Excluded     A JSON string except some names. Its states are those of any string body, in the
names        body's rule, plus one for each visited node of the name trie. Such a state is *like*
             the body's state at the same position: it has only the edges that continue a name;
             every other byte leads where it leads there, and leaves the names for good. Its token
             mask is the body's, without the tokens that complete a name (row_masks).
Objects      Their members, in the listed order or in any order:

    {  opened  ws  F  "  names  "  B  ws  C  :  D  ws  E  value  S  ws  T  ,  U  ws  V  "  ...   or }

             A state is a position in this form and i, the lowest listed member that may still come
             (in B to E the member whose value follows); in any order, the set of written members
             instead. From there come the members up to the next required one: an interval of
             numbers, and a node of the name trie. White space, values and unlisted members (key and
             all) are references. In a layout, the comma, the colon and the last bracket are
             references that include white space, and an object without members has none:

    {  opened  opening  F  "  names  "  B  colon  D  value  S  comma  U  "  ...
                                                                  or closing   or } after opened

             A bare object has neither brackets nor quotes, and has at least one member:

    opening  U  names  colon  D  value  S  comma  U  names  ...   or closing

Invariants   I1 a trie node between characters with one name left does not depend on the way to it.
             I2 excluded names: like(target(q, b)) = target(like(q), b) for each edge b of q; q
                differs from like(q) only where a name is complete, because the rule cannot end
                there.
             I3 objects: a text has one path; only unlisted members are read beside the listed ones,
                and their names are none of the listed ones.
             I4 members that no text matches are left out.
Cost         sorting the names once. A state takes about as many steps as names match it; an object
             with 4,000 optional members takes one item in a row, not 4,000.
Threads      under the arena's mutex.
Not here     the meaning of schemas (frontends.json_schema), spellings in whole automata
             (determinize).
"""

from libc.stdint cimport uint32_t

from ..grammar.lowered cimport LoweredGrammar
from .determinize cimport DfaStateC
from .rule_automata cimport Automata, NameTrieC, ObjectC

cdef size_t name_trie_bytes(const NameTrieC* trie) noexcept nogil
cdef void build_name_trie(NameTrieC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil
cdef void name_trie_state(NameTrieC* trie, uint32_t number, DfaStateC* out) noexcept nogil

cdef void build_text_except(Automata automata, uint32_t rule) noexcept nogil
cdef void grow_text_except(Automata automata, uint32_t state) noexcept nogil

cdef size_t object_bytes(const ObjectC* obj) noexcept nogil
cdef void object_start(ObjectC* obj, LoweredGrammar ir, uint32_t node) noexcept nogil
cdef void object_state(ObjectC* obj, uint32_t number, DfaStateC* out) noexcept nogil
