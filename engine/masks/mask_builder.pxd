"""Classes of bytes that a state of a rule's automaton always takes: see byteclasses.

Where a state's safe classes hold all that occur below a node of the token trie, and both stand at
the same place within a character, every token of the subtree is accepted, unseen. Most states of
patterns and string bodies take most bytes and stay, or move among states that do.

Cost  a few passes over the edges of a rule that was built whole.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.rule_automata cimport Automata
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .token_mask cimport TokenMaskC, TokenMaskPtr

cdef enum:
    SAFE_STATES = 256       # a rule with more would take too long: see loop_classes
    ANY_PHASE = 9           # of a state with safe classes of ASCII alone

cdef struct SafeC:
    uint64_t classes
    uint8_t phase

cdef void safe_states(Automata automata, uint32_t rule, vector[SafeC]* out) noexcept nogil
cdef SafeC safe_loop(Automata automata, uint32_t state) noexcept nogil


# -- mask builder ----------------------------------------------------------------------------------
# Making token masks: walking the token trie over one rule by tables, with nothing outside it.
#
# Tabled rules are those that were built whole and are deterministic: string bodies, patterns, numbers,
# white space, free text. These visit most of the trie, and what they say is the same in every
# grammar. At a state that refers to another rule the rows take over (triggers). Everything else is
# walked by rows from the start (masks).
#
# Three     *whole*: one table look-up for each trie node visited; a rejected byte skips its subtree, and
# ways      so does a state that takes every class of bytes below the node (safety).
#           *by need*: as whole, counting the iterations of a counted rule; a subtree is skipped where
#           the state takes every byte below the node and stays what it is.
#           *by difference*: most states of a dense automaton do with most bytes what one of them, its
#           hub, does (the middle of a pattern, free text between triggers). Then both are walked
#           together from the hub's token mask, and where they are in the same state the rest of the
#           subtree is the same, too.
# Threads   under the arena's mutex.
# Not here  what a token mask means (token masks), the rows outside (masks).

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


# -- split points ----------------------------------------------------------------------------------
# Where counted text may be over within a token, so that what follows goes on there.
#
# A place is a node of the token trie whose byte is the first that is not the text's any more: the
# text's automaton, begun at a state above, may be over just before it, with as many iterations as its
# bounds allow. Text and what follows may share bytes, so that a token can be cut in several places.
#
# Cost       of `list_cuts`: the nodes with one byte, of each the way down to it. `is_narrow` tells
#            whether that is less than walking rows.
# Not here   what follows (masks), token masks (mask_builder).

cdef bint is_narrow(Vocabulary vocabulary, const uint64_t* live) noexcept nogil
cdef void list_cuts(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t top, uint8_t byte,
    uint32_t least, uint32_t most, vector[uint32_t]* places
) noexcept nogil
cdef uint32_t missing_behind(
    MaskBuilder maker, Vocabulary vocabulary, uint32_t state, uint32_t depth, uint32_t token,
    uint32_t least, uint32_t most, vector[uint32_t]* lengths
) noexcept nogil


# -- free text masks -------------------------------------------------------------------------------
# Token masks of free text, made from that of plain text.
#
# Plain text is any UTF-8. Free text differs from it only below tokens in which a pattern completes,
# and such a token holds the pattern's first byte. So the token mask of plain text is made once per
# vocabulary, and that of a set of patterns by looking only at the nodes of the token trie with such a
# byte: its cost grows with how often those bytes occur in the vocabulary, not with its size (no token
# of llama3 holds `<function=`, 300 nodes have a `<`).
#
# Cost     plain text: one pass over the trie. A set of patterns: the way to each node with a first
#          byte, and what lies below while a pattern is under way.
# Not here the automaton (dispatch), other states of it (mask_builder, by difference).

cdef TokenMaskPtr plain_text_mask(Vocabulary vocabulary) noexcept nogil
cdef TokenMaskPtr free_text_mask(
    Automata automata, uint32_t state, Vocabulary vocabulary, TokenMaskC* plain
) noexcept nogil
