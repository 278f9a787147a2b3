"""Making token masks: walking the token trie over one rule by tables, with nothing outside it.

Tabled rules are those that were built whole and are deterministic: string bodies, patterns, numbers,
white space, free text. These visit most of the trie, and what they say is the same in every
grammar. At a state that refers to another rule the rows take over (triggers). Everything else is
walked by rows from the start (masks).

Three     *whole*: one table look-up for each trie node visited; a rejected byte skips its subtree, and
ways      so does a state that takes every class of bytes below the node (safety).
          *by need*: as whole, counting the iterations of a counted rule; a subtree is skipped where
          the state takes every byte below the node and stays what it is.
          *by difference*: most states of a dense automaton do with most bytes what one of them, its
          hub, does (the middle of a pattern, free text between triggers). Then both are walked
          together from the hub's token mask, and where they are in the same state the rest of the
          subtree is the same, too.
Threads   under the arena's mutex.
Not here  what a token mask means (token masks), the rows outside (masks).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..automata.rule_automata cimport Automata
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .safe_classes cimport SafeC
from .token_mask cimport TokenMaskC, TokenMaskPtr

cdef enum:
    # a hub, and what is made from it, takes at least so many bytes; narrower states visit little anyway
    HUB_BYTES = 64

cdef struct SlotC:
    # a state that walks have met
    SafeC safe              # see `safety`
    uint64_t stays          # classes of which every byte leads to the state itself; see `stays`
    uint32_t state
    uint32_t table          # 0: not made yet
    uint32_t remaining      # iterations that have begun and must still end
    uint8_t ends            # the rule may end here
    uint8_t loops           # an iteration ends here
    uint8_t knows_stays, knows_safe
    uint8_t triggers        # from here on the rows take over

cdef class MaskBuilder:
    cdef Automata automata
    cdef Vocabulary vocabulary
    cdef U64MapC slot_ids                 # state -> its slot
    cdef vector[SlotC] slots              # slot 0: nothing leads on
    cdef vector[uint32_t] tables          # 256 slots each; table 0 is that of slot 0
    cdef U64MapC safe_offs                # rule -> where its sets begin in `safe`, or TOO_LARGE
    cdef vector[SafeC] safe               # see safety
    # one path of a walk, by depth
    cdef vector[uint32_t] nodes_at, tables_at, counts, noted
    cdef vector[uint8_t] is_exit
    cdef vector[uint32_t] needs           # of the accepted ids, in order
    cdef U64MapC hubs                     # rule -> hub, 0: none
    # a difference: nodes where the two states differ, as a set of bits and in order
    cdef vector[uint64_t] differing_bits
    cdef vector[uint32_t] differing
    cdef vector[uint32_t] gone            # subtrees that only the hub's walk enters
    cdef vector[uint32_t] hub_tables_at
    cdef uint64_t visited                 # nodes of the trie, by all walks
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
    cdef void enter(self, uint32_t node, uint32_t depth, SlotC* slot) noexcept nogil
    cdef void leave(self, uint32_t node, uint32_t top_depth, TokenMaskC* out) noexcept nogil
    cdef uint32_t slot(self, uint32_t state) noexcept nogil
    cdef uint32_t table(self, uint32_t slot) noexcept nogil
    cdef uint32_t follow(self, uint32_t slot, uint8_t byte) noexcept nogil
    cdef SafeC* safety(self, uint32_t slot) noexcept nogil
    cdef SafeC safe_of(self, uint32_t state) noexcept nogil
    cdef uint64_t stays(self, uint32_t slot) noexcept nogil
    cdef void pack_by_need(self, TokenMaskC* out) noexcept nogil

cdef void set_below(Vocabulary vocabulary, uint32_t top, TokenMaskC* out) noexcept nogil
cdef void clear_ids(uint32_t* words, const uint32_t* ids, const uint32_t* end) noexcept nogil
cdef void sort_exits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil
cdef void pack_bits(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil
