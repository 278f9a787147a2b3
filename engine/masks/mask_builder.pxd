"""Building token masks: walks of the token trie along one rule's automaton.

Only states of tabled rules are walked: string bodies, patterns, numbers, white space, free text.
They visit most of the trie, and their token masks are the same in every grammar. All other states
are walked by rows (row_masks).

Walks        *whole*          one table look-up for each visited trie node. A rejected byte skips its
                              subtree, and so does a state whose safe classes cover the subtree.
             *by need*        like whole, and counts the iterations of a counted rule. A subtree is
                              skipped where every byte below the node leads to the state itself.
             *by difference*  most states of a dense automaton equal one of them, the rule's *hub*,
                              for most bytes. Both are walked together, beginning with the hub's
                              token mask; where they reach the same state, the subtree is the same.
Safe         The classes of bytes (vocabulary) that a state accepts, now and in its successors. A
classes      subtree is accepted unseen if they cover all classes below its node, and both are at
             the same place within a character. Found in a few passes over the edges of a rule.
Split        Counted text may end within a token, so that the rest belongs to what follows. A split
points       point is the trie node of the first byte that may follow the text. Listing them visits
             the nodes with one byte; `is_narrow` tells whether that is cheaper than rows.
Free text    Free text differs from plain UTF-8 text only below tokens in which a pattern completes,
             and such a token contains the pattern's first byte. So plain text is walked once for
             each vocabulary, and a set of patterns visits only trie nodes with their first bytes.
Threads      under the arena's mutex.
Not here     the meaning of a token mask (token_mask), the rows outside (row_masks).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.rule_automata cimport Automata
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .token_mask cimport TokenMaskC, TokenMaskPtr

cdef enum:
    ANY_PHASE = 9           # phase of a state whose safe classes are all ASCII

cdef struct SafeClassesC:
    uint64_t classes
    uint8_t phase

cdef enum:
    # bytes that a hub, and a state walked from it, must take; narrower states visit few nodes
    # anyway
    HUB_BYTES = 64

cdef struct WalkStateC:
    # a state that walks have visited
    SafeClassesC safe       # computed by `safety`
    uint64_t stays          # classes whose bytes all lead to the state itself; computed by `stays`
    uint32_t state
    uint32_t table          # 0: not built yet
    uint32_t remaining      # iterations that have begun and must still end
    uint8_t ends            # the rule may end here
    uint8_t loops           # an iteration ends here
    uint8_t knows_stays, knows_safe
    uint8_t triggers        # rows take over here

cdef class MaskBuilder:
    cdef Automata automata
    cdef Vocabulary vocabulary
    cdef U64MapC walk_state_ids           # state -> index into walk_states
    cdef vector[WalkStateC] walk_states   # number 0 is the dead state
    cdef vector[uint32_t] tables          # 256 successors each; table 0 is that of the dead state
    cdef U64MapC safe_offs                # rule -> its offset in `safe`, or TOO_LARGE
    cdef vector[SafeClassesC] safe
    # the current path of a walk, by depth
    cdef vector[uint32_t] nodes_at, tables_at, counts, noted
    cdef vector[uint8_t] is_exit
    cdef vector[uint32_t] needs           # of the accepted ids, in order
    cdef U64MapC hubs                     # rule -> hub, 0: none
    # a walk by difference: nodes where the two states differ, as a filter of bits and in order
    cdef vector[uint64_t] differing_bits
    cdef vector[uint32_t] differing
    cdef vector[uint32_t] gone            # subtrees that only the hub enters
    cdef vector[uint32_t] hub_tables_at
    cdef uint64_t visited                 # trie nodes visited by all walks
    cdef size_t bytes_held(self) noexcept nogil
    cdef void prepare(self) noexcept nogil
    cdef TokenMaskPtr make(self, uint32_t state, uint32_t node, bint filtered) noexcept nogil
    cdef uint32_t hub(self, uint32_t rule) noexcept nogil
    cdef TokenMaskPtr make_like(self, uint32_t state, uint32_t hub, uint32_t node, TokenMaskC* base) noexcept nogil
    cdef bint walk_both(self, uint32_t state, uint32_t hub, uint32_t top, TokenMaskC* out) noexcept nogil
    cdef void keep_base(self, TokenMaskC* base, TokenMaskC* out) noexcept nogil
    cdef bint is_differing(self, uint32_t node) noexcept nogil
    cdef uint32_t width(self, uint32_t state) noexcept nogil
    cdef bint is_mostly_safe(self, uint32_t state) noexcept nogil
    cdef bint is_gone(self, uint32_t node) noexcept nogil
    cdef void walk(self, uint32_t state, uint32_t top, TokenMaskC* out) noexcept nogil
    cdef void walk_by_need(self, uint32_t state, uint32_t top, TokenMaskC* out) noexcept nogil
    cdef void take_below(self, uint32_t top, uint32_t need, uint32_t loops, TokenMaskC* out) noexcept nogil
    cdef void enter(self, uint32_t node, uint32_t depth, WalkStateC* walk_state) noexcept nogil
    cdef void leave(self, uint32_t node, uint32_t top_depth, TokenMaskC* out) noexcept nogil
    cdef uint32_t walk_state(self, uint32_t state) noexcept nogil
    cdef uint32_t table(self, uint32_t walk_state) noexcept nogil
    cdef uint32_t follow(self, uint32_t walk_state, uint8_t byte) noexcept nogil
    cdef SafeClassesC* safety(self, uint32_t walk_state) noexcept nogil
    cdef SafeClassesC safe_of(self, uint32_t state) noexcept nogil
    cdef uint64_t stays(self, uint32_t walk_state) noexcept nogil
    cdef void pack_by_need(self, TokenMaskC* out) noexcept nogil

cdef void set_below(Vocabulary vocabulary, uint32_t top, TokenMaskC* out) noexcept nogil
cdef void clear_ids(uint32_t* words, const uint32_t* ids, const uint32_t* end) noexcept nogil
cdef void sort_exits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil
cdef void pack_bits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil


# -- split points ----------------------------------------------------------------------------------
cdef bint is_narrow(Vocabulary vocabulary, const uint64_t* live) noexcept nogil
cdef void list_split_points(
    MaskBuilder builder, Vocabulary vocabulary, uint32_t state, uint32_t top, uint8_t byte,
    uint32_t least, uint32_t most, vector[uint32_t]* places
) noexcept nogil
cdef uint32_t missing_after(
    MaskBuilder builder, Vocabulary vocabulary, uint32_t state, uint32_t depth, uint32_t token,
    uint32_t least, uint32_t most, vector[uint32_t]* lengths
) noexcept nogil


# -- free text masks -------------------------------------------------------------------------------
cdef TokenMaskPtr plain_text_mask(Vocabulary vocabulary) noexcept nogil
cdef TokenMaskPtr free_text_mask(
    Automata automata, uint32_t state, Vocabulary vocabulary, TokenMaskC* plain
) noexcept nogil
