"""Masks of instances: the tokens that the rows take, made rule by rule where that is cheaper.

    tokens below a node of the trie that an instance takes =
          for each item of a tabled rule, its triple: what it accepts,
                                                    + of what is uncertain, what the rows outside take
        + for all other items together, a walk over rows, byte by byte; where it enters a large
          subtree of the trie with items of tabled rules, it goes on by this same equation
    mask = the tokens below the root + those on token edges + stop tokens where the text may end

The rows outside an item are the instance that its completion leaves behind. Earley sets are
unions of their items' futures, so the union over items is exact.

Representation   a finished mask is a list of triples, of lists of ids that several masks share (what
                 the rows outside take), and ids of its own; or a bitset, where a bound had to take
                 tokens out of a triple. Kept by saturated instance (rows, I5).
Invariants       I1 mask bit = would accept_token succeed.
                 I2 dropping kept masks only costs time.
Like states      (automata) have the triple of the state that they are like; its exits where a text
                 is complete are closed to them.
Counted rules    whose triples are filtered: a token counts only if its need fits what is left.
                 A token that is cut by the upper bound could still be split between the rule and
                 what follows; where those two share no byte, it can't. Else rows follow such tokens
                 one by one, and if there are many, all of the item.
Cost             a mask seen before: one copy of V/8 bytes and its ids. A new one: the triples that
                 are new, and a step for each byte that could leave a rule.
Threads          under the arena's mutex.
Not here         what a triple is (triples), rows (rows).
"""

from libc.stdint cimport uint32_t, uint64_t

from .digests cimport Digests
from .hashing cimport U64MapC
from .pool cimport vector
from .rows cimport Arena, ItemC
from .triplemaker cimport TripleMaker
from .triples cimport RestC, TripleC, TriplePtr, TripleTable
from .vocabulary cimport Vocabulary

cdef struct BoundsC:
    # of a counted item: iterations still needed, and still possible, at most those of its triple
    uint32_t least, most
    bint counted

cdef struct MaskC:
    vector[uint32_t] triples  # all they accept
    vector[uint32_t] lists    # in `shared`
    vector[uint32_t] ids
    vector[uint32_t] words    # a bitset to begin with; empty: none

cdef class Masks:
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef TripleTable table                    # None: nothing is shared between grammars
    cdef TripleMaker maker
    cdef bint keep
    cdef readonly size_t max_bytes
    cdef size_t held
    cdef readonly uint64_t made, reused
    cdef Digests digests                      # None where there is no table
    cdef U64MapC triple_ids, mask_ids, list_ids
    cdef vector[TriplePtr] triples
    cdef vector[MaskC] kept
    cdef MaskC scratch                        # the mask under construction
    cdef vector[vector[uint32_t]] shared      # ids that the rows outside take of a triple
    cdef vector[uint32_t] walk_stack, rest_stack  # instances on the way, by depth
    cdef vector[uint32_t] closed              # nodes at which an item that is like another can't end
    cdef void fill(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef bint has(self, uint32_t instance) noexcept nogil
    cdef bint make_ahead(self, uint32_t instance) noexcept nogil
    cdef void fill_stop(self, uint32_t* out) noexcept nogil
    cdef void render(self, MaskC* mask, uint32_t* out) noexcept nogil
    cdef void compute(self, uint32_t instance) noexcept nogil
    cdef void remember(self, uint32_t instance) noexcept nogil
    # items of tabled rules
    cdef bint has_triple(self, uint32_t instance, ItemC* item) noexcept nogil
    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil
    cdef uint32_t outside(self, uint32_t instance, ItemC* item) noexcept nogil
    cdef BoundsC bounds(self, uint32_t instance, ItemC* item, TripleC* triple) noexcept nogil
    cdef uint32_t triple(self, uint32_t state, uint32_t node) noexcept nogil
    cdef TriplePtr make(
        self, uint32_t state, uint32_t node, uint32_t rule, bint filtered
    ) noexcept nogil
    cdef TriplePtr plain_text(self) noexcept nogil
    cdef void add_whole(self, uint32_t instance, ItemC item) noexcept nogil
    cdef void add_fitting(self, TripleC* triple, BoundsC bounds) noexcept nogil
    cdef void add_cut(
        self, uint32_t instance, ItemC item, uint32_t top, TripleC* triple, BoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_below(self, uint32_t instance, ItemC item, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef uint32_t exits_taken(self, uint32_t number, uint32_t outside) noexcept nogil
    cdef void add_exits(
        self, TripleC* triple, uint32_t outside, BoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_exit(
        self, TripleC* triple, uint32_t number, uint32_t instance, BoundsC bounds,
        vector[uint32_t]* closed, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_rest(
        self, RestC* rest, uint32_t instance, BoundsC bounds, vector[uint32_t]* closed,
        vector[uint32_t]* ids
    ) noexcept nogil
    cdef bint is_below(
        self, uint32_t token, uint32_t depth, vector[uint32_t]* closed
    ) noexcept nogil
    cdef void list_closed(self, uint32_t state, uint32_t node) noexcept nogil
    cdef void add_triggers(
        self, uint32_t instance, uint32_t top, TripleC* triple, vector[uint32_t]* ids
    ) noexcept nogil
    # everything else
    cdef void add_tokens(self, uint32_t instance, uint32_t state) noexcept nogil
    cdef void below(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void walk_others(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void enter(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void go_on(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void walk(self, uint32_t instance, uint32_t top, vector[uint32_t]* ids) noexcept nogil
    cdef void visit(self, uint32_t node, vector[uint32_t]* ids) noexcept nogil
