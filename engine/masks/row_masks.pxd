"""Masks of instances: the tokens that the rows take, made rule by rule where that is cheaper.

    tokens below a node of the trie that an instance takes =
          for each item of a tabled rule, its token mask: what it accepts,
                                                    + of what is uncertain, what the rows outside take
          for many items at once whose token masks are not there, one walk for all of them (unions)
        + for all other items together, a walk over rows, byte by byte; where it enters a large
          subtree of the trie with items of tabled rules, it goes on by this same equation
    mask = the tokens below the root + those on token edges + stop tokens where the text may end

The rows outside an item are the instance that its completion leaves behind. Earley sets are
unions of their items' futures, so the union over items is exact. Items in the same state (an
ambiguous grammar has many) are one: what they accept is the same, and the rows outside are the union of
theirs, so that nothing is followed once for each way to read the text.

Representation   a finished mask is a list of token masks, of lists of ids that several masks share (what
                 the rows outside take), and ids of its own; beside them a bitset, where a bound had
                 to take tokens out of a token mask, or there are many ids. Kept by saturated instance
                 (rows, I5).
Invariants       I1 mask bit = would accept_token succeed.
                 I2 dropping kept masks only costs time.
Like states      (automata) have the token mask of the state that they are like; its exits where a text
                 is complete are closed to them.
Counted rules    whose token masks are filtered: a token counts only if its need fits what is left.
                 A token that is cut by the upper bound could still be split between the rule and
                 what follows; where those two share no byte, it can't. Where they do, every place
                 where it could be split is followed (cuts), or if there are too many, rows decide.
Counted tokens   the last tokens that a text may have must not begin a character that can't be finished:
                 the few of the vocabulary that could are looked at one by one. Rows say where else
                 no token may end.
Cost             a mask seen before: one copy of V/8 bytes and its ids. A new one: the token masks that
                 are new, and a step for each byte that could leave a rule.
Threads          under the arena's mutex.
Not here         what a token mask is (token masks), rows (rows).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport shared_ptr

from ..earley.rows cimport Arena, ItemC
from ..grammar.lowered cimport TokenSetC
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from ..sharing.rule_digest cimport Digests
from ..vocabulary.vocabulary cimport Vocabulary
from .count_bounds cimport BoundsC, IdsC
from .mask_builder cimport MaskBuilder
from .mask_unions cimport UnionC
from .token_mask cimport EntryC, SuffixTrieC, TokenMaskC, TokenMaskCache, TokenMaskPtr

ctypedef shared_ptr[UnionC] UnionPtr

cdef struct MaskC:
    vector[uint32_t] token_masks  # all they accept
    vector[uint32_t] lists    # in `shared`
    vector[uint32_t] ids
    vector[uint32_t] words    # a bitset to begin with; empty: none

cdef class Masks:
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef TokenMaskCache table                    # None: nothing is shared between grammars
    cdef MaskBuilder maker
    cdef bint keep
    cdef readonly size_t max_bytes
    cdef size_t held                          # by what `kept` and `shared` list
    cdef readonly uint64_t made, reused
    cdef Digests digests                      # None where there is no table
    cdef U64MapC token_mask_ids, mask_ids, list_ids
    cdef vector[TokenMaskPtr] token_masks
    cdef vector[MaskC] kept
    cdef MaskC scratch                        # the mask under construction
    cdef vector[vector[uint32_t]] shared      # ids that the rows outside take of a token mask
    cdef vector[uint32_t] walk_stack, suffix_stack  # instances on the way, by depth
    cdef U64MapC outside_ids                  # instance and state that several items are in -> the union outside
    cdef vector[uint32_t] seen_at             # by state: number of the last list of items with it
    cdef WordTableC union_ids                 # states and a node -> what the states say together below it
    cdef vector[UnionPtr] unions              # NULL: the walk passed its bound
    cdef uint32_t lists_made, nested
    cdef uint64_t made_ns                     # that making token masks took
    cdef vector[uint32_t] closed              # nodes at which an item that is like another can't end
    cdef void open(
        self, Arena arena, Vocabulary vocabulary, TokenMaskCache table, Digests digests, bint keep,
        size_t max_bytes
    )
    cdef size_t bytes_held(self) noexcept nogil
    cdef size_t own_token_masks(self) noexcept nogil
    cdef size_t kept_bytes(self) noexcept nogil
    cdef void drop_kept(self) noexcept nogil
    cdef uint32_t* stack(self, vector[uint32_t]* instances) noexcept nogil
    cdef void fill(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef bint fill_kept(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef bint has(self, uint32_t instance) noexcept nogil
    cdef bint make_ahead(self, uint32_t instance) noexcept nogil
    cdef void fill_stop(self, uint32_t* out) noexcept nogil
    cdef void render(self, MaskC* mask, uint32_t* out) noexcept nogil
    cdef void compute(self, uint32_t instance) noexcept nogil
    cdef void remember(self, uint32_t instance) noexcept nogil
    # items of tabled rules
    cdef bint has_token_mask(self, uint32_t instance, ItemC* item, uint32_t node) noexcept nogil
    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil
    cdef uint32_t outside(self, uint32_t instance, ItemC* item) noexcept nogil
    cdef uint32_t outside_all(self, uint32_t instance, uint32_t state) noexcept nogil
    cdef void list_items(self, uint32_t instance, vector[uint32_t]* out) noexcept nogil
    cdef bint has_narrow_end(self, uint32_t instance, ItemC* item) noexcept nogil
    cdef bint is_split(self, uint32_t instance, ItemC* item, BoundsC bounds) noexcept nogil
    cdef uint32_t token_mask(self, uint32_t state, uint32_t node) noexcept nogil
    cdef uint32_t find_token_mask(self, uint32_t state, uint32_t node, EntryC* entry) noexcept nogil
    cdef uint32_t add_token_mask(self, uint32_t state, uint32_t node, TokenMaskPtr token_mask) noexcept nogil
    cdef TokenMaskPtr make_timed(
        self, uint32_t state, uint32_t node, uint32_t rule, bint filtered, uint32_t* took_ns
    ) noexcept nogil
    cdef uint32_t count_made(self, uint64_t took_ns) noexcept nogil
    cdef TokenMaskPtr make(
        self, uint32_t state, uint32_t node, uint32_t rule, bint filtered
    ) noexcept nogil
    cdef TokenMaskPtr plain_text(self) noexcept nogil
    cdef void add_whole(self, uint32_t instance, ItemC item) noexcept nogil
    # several of them in one walk
    cdef void take_together(
        self, uint32_t instance, uint32_t node, vector[uint32_t]* items, vector[uint32_t]* ids
    ) noexcept nogil
    cdef bint needs_walk(self, ItemC* item, uint32_t node) noexcept nogil
    cdef uint32_t union_of(self, vector[uint32_t]* states, uint32_t node) noexcept nogil
    cdef void add_union(
        self, uint32_t instance, uint32_t node, UnionPtr found, vector[uint64_t]* members, vector[uint32_t]* ids
    ) noexcept nogil
    cdef uint32_t outside_some(
        self, uint32_t instance, WordTableC* ends, uint32_t number, vector[uint64_t]* members
    ) noexcept nogil
    # one by one
    cdef void add_bounded(
        self, uint32_t state, TokenMaskC* token_mask, BoundsC bounds, uint32_t outside
    ) noexcept nogil
    cdef void add_bounded_below(
        self, uint32_t state, TokenMaskC* token_mask, BoundsC bounds, uint32_t outside, vector[uint32_t]* ids
    ) noexcept nogil
    cdef bint may_be_last(
        self, uint32_t state, uint32_t depth, uint32_t token, BoundsC bounds, uint32_t outside
    ) noexcept nogil
    cdef bint takes_rest(
        self, uint32_t outside, uint32_t token, vector[uint32_t]* lengths
    ) noexcept nogil
    cdef void add_split(
        self, uint32_t instance, ItemC* item, uint32_t node, TokenMaskC* token_mask, BoundsC bounds, uint32_t outside,
        vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_long(
        self, uint32_t instance, uint32_t node, IdsC tokens, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_below(self, uint32_t instance, ItemC item, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef uint32_t exits_taken(self, uint32_t number, uint32_t outside) noexcept nogil
    cdef void add_exits(
        self, TokenMaskC* token_mask, uint32_t outside, BoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_exit(
        self, TokenMaskC* token_mask, uint32_t number, uint32_t instance, BoundsC bounds,
        vector[uint32_t]* closed, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_suffixes(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t instance, BoundsC bounds,
        vector[uint32_t]* closed,
        vector[uint32_t]* ids
    ) noexcept nogil
    cdef uint32_t before_suffix(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t number, uint32_t length, BoundsC bounds
    ) noexcept nogil
    cdef bint is_below(
        self, uint32_t token, uint32_t depth, vector[uint32_t]* closed
    ) noexcept nogil
    cdef void list_closed(self, uint32_t state, uint32_t node) noexcept nogil
    cdef void add_triggers(
        self, uint32_t instance, uint32_t top, TokenMaskC* token_mask, vector[uint32_t]* ids
    ) noexcept nogil
    # everything else
    cdef void add_tokens(self, uint32_t instance, uint32_t state) noexcept nogil
    cdef void add_others(self, TokenSetC* tokens) noexcept nogil
    cdef void add_words(self, vector[uint32_t]* words) noexcept nogil
    cdef void below(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void walk_others(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void enter(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void go_on(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void walk(self, uint32_t instance, uint32_t top, vector[uint32_t]* ids) noexcept nogil
    cdef void visit(self, uint32_t instance, uint32_t node, vector[uint32_t]* ids) noexcept nogil
