"""Masks of rows: the tokens that a configuration accepts, from the token masks of its items.

    tokens below a trie node that a configuration accepts =
          for each item of a tabled rule: the accepted tokens of its token mask
                                        + the uncertain ones that the rows outside accept
          (one walk for many items without a cached token mask, see unions)
        + for all other items together: a walk over rows, byte by byte, which uses this equation
          again where it enters a large subtree with items of tabled rules
    mask = the tokens below the root + tokens on token edges + stop tokens if the text may end
           - detours

The rows outside an item are the configuration that its completion leaves. An Earley set is the
union of its items' futures, so the union over items is exact. Items in one state (an ambiguous
grammar has many) count as one: they accept the same tokens, and the rows outside are the union of
theirs.

Representation   A mask is a list of token masks, of id lists that several masks share, and of its
                 own ids. It has a bitset of its own where a bound removes tokens from a token mask,
                 or for many ids. Masks are cached by saturated configuration (rows, I5). A bitmask
                 is a caller's buffer: int32, shape (rows, words), C-contiguous. `Bitmask` holds a
                 view of one, which saves 5-15 us a call with cold caches.
Invariants       I1 a set bit means that accept_token succeeds. A bit that is not set means that
                    accept_token refuses the token, or that the token is a detour (detours).
                 I2 dropping cached masks only costs time.
Like states      use the token mask of the state that they are like, without the exits where they
                 cannot end (excluded names).
Counted rules    A token counts only if its need fits the bounds. A token beyond the upper bound may
                 still be split between the rule and what follows. That is impossible if the two
                 share no byte. Otherwise every split point is followed or, if they are many, rows
                 decide.
Token bounds     The last tokens of a text with a bound on tokens must not begin a character that
                 cannot be completed. The few tokens that end within a character are checked one by
                 one.
Unions           The trie is walked once over sets of states, which are determinised on the way,
                 instead of once for each item: keys that match many patterns, or many alternatives.
                 A set has a walk state for each member, 0 once it is dead. The result is a token
                 mask whose exit_counts are numbers of sets of members that may end there. If a walk
                 exceeds UNION_SETS, each member gets its own token mask.
Cost             a cached mask: a copy of V/8 bytes and its ids. A new one: the token masks that are
                 not cached, and a step for each byte that could leave a rule.
Threads          under the arena's mutex.
Not here         token masks (token_mask, mask_builder), rows (rows), detours (detours), the memory
                 of bitmasks.
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_set cimport unordered_set

from ..earley.rows cimport Arena, ItemC
from ..grammar.lowered cimport TokenSetC
from ..grammar.rule_digest cimport RuleDigests
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from ..vocabulary.detour_table cimport DetourTable
from ..vocabulary.vocabulary cimport Vocabulary
from .mask_builder cimport MaskBuilder
from .token_mask cimport (
    CountBoundsC, SuffixTrieC, TokenListC, TokenMaskC, TokenMaskCache, TokenMaskEntryC,
    TokenMaskPtr,
)

cdef class Bitmask:
    cdef int[:, ::1] rows
    cdef readonly Py_ssize_t height     # number of rows

cdef int[:, ::1] rows_of(object bitmask)


cdef struct MaskUnionC:
    TokenMaskC token_mask
    WordTableC ends           # sets of members, by their index among the states

ctypedef shared_ptr[MaskUnionC] UnionPtr

cdef struct MaskC:
    vector[uint32_t] token_masks  # whose accepted tokens are allowed
    vector[uint32_t] lists    # indices into `shared`
    vector[uint32_t] ids
    vector[uint32_t] words    # a bitset, or empty
    vector[uint32_t] detours  # ids that are not allowed although the above have them

cdef class RowMasks:
    cdef Arena arena
    cdef Vocabulary vocabulary
    cdef TokenMaskCache table                    # None: grammars share nothing
    cdef MaskBuilder builder
    cdef bint keep
    cdef readonly size_t max_bytes
    cdef size_t held                          # bytes of `kept` and `shared`
    cdef readonly uint64_t made, reused
    cdef RuleDigests digests                      # None without a table
    cdef DetourTable detours                      # None: masks have detours
    cdef U64MapC token_mask_ids, mask_ids, list_ids
    cdef vector[TokenMaskPtr] token_masks
    cdef vector[MaskC] kept
    cdef MaskC scratch                        # the mask under construction
    cdef vector[vector[uint32_t]] shared      # uncertain tokens of a token mask that some rows accept
    cdef vector[uint32_t] walk_stack, suffix_stack  # configurations along a path, by depth
    cdef U64MapC outside_ids                  # configuration, state of several items -> the rows outside
    cdef vector[uint32_t] seen_at             # by state: number of the last list of items with it
    cdef WordTableC union_ids                 # states and a node -> index into `unions`
    cdef vector[UnionPtr] unions              # NULL: the walk exceeded UNION_SETS
    cdef uint32_t lists_made, nested
    cdef uint64_t made_ns                     # spent on building token masks
    cdef vector[uint32_t] closed              # trie nodes where a like state cannot end
    cdef void open(
        self, Arena arena, Vocabulary vocabulary, TokenMaskCache table, RuleDigests digests, DetourTable detours,
        bint keep, size_t max_bytes
    )
    cdef size_t bytes_held(self) noexcept nogil
    cdef size_t own_token_masks(self) noexcept nogil
    cdef size_t kept_bytes(self) noexcept nogil
    cdef void drop_kept(self) noexcept nogil
    cdef void fill(self, uint32_t configuration, uint32_t* out) noexcept nogil
    cdef bint fill_kept(self, uint32_t configuration, uint32_t* out) noexcept nogil
    cdef bint has(self, uint32_t configuration) noexcept nogil
    cdef bint make_ahead(self, uint32_t configuration) noexcept nogil
    cdef void fill_stop(self, uint32_t* out) noexcept nogil
    cdef void render(self, MaskC* mask, uint32_t* out) noexcept nogil
    cdef void compute(self, uint32_t configuration) noexcept nogil
    cdef void remember(self, uint32_t configuration) noexcept nogil
    # items of tabled rules
    cdef bint has_token_mask(self, uint32_t configuration, ItemC* item, uint32_t node) noexcept nogil
    cdef bint splits(self, uint32_t rule, uint32_t outside) noexcept nogil
    cdef uint32_t outside(self, uint32_t configuration, ItemC* item) noexcept nogil
    cdef uint32_t outside_all(self, uint32_t configuration, uint32_t state) noexcept nogil
    cdef void list_items(self, uint32_t configuration, vector[uint32_t]* out) noexcept nogil
    cdef bint has_narrow_end(self, uint32_t configuration, ItemC* item) noexcept nogil
    cdef bint is_split(self, uint32_t configuration, ItemC* item, CountBoundsC bounds) noexcept nogil
    cdef uint32_t token_mask(self, uint32_t state, uint32_t node) noexcept nogil
    cdef uint32_t find_token_mask(self, uint32_t state, uint32_t node, TokenMaskEntryC* entry) noexcept nogil
    cdef uint32_t add_token_mask(self, uint32_t state, uint32_t node, TokenMaskPtr token_mask) noexcept nogil
    cdef void share(self, TokenMaskEntryC* entry) noexcept nogil
    cdef uint32_t count_made(self, uint64_t took_ns) noexcept nogil
    cdef TokenMaskPtr make(self, uint32_t state, uint32_t node) noexcept nogil
    cdef TokenMaskPtr plain_text(self) noexcept nogil
    cdef void add_items(
        self, uint32_t configuration, uint32_t node, vector[uint32_t]* items, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_item(self, uint32_t configuration, ItemC item, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    # unions
    cdef void take_together(
        self, uint32_t configuration, uint32_t node, vector[uint32_t]* items, vector[uint32_t]* ids
    ) noexcept nogil
    cdef bint needs_walk(self, ItemC* item, uint32_t node) noexcept nogil
    cdef uint32_t union_of(self, vector[uint32_t]* states, uint32_t node) noexcept nogil
    cdef void add_union(
        self, uint32_t configuration, uint32_t node, UnionPtr found, vector[uint64_t]* members, vector[uint32_t]* ids
    ) noexcept nogil
    cdef uint32_t outside_some(
        self, uint32_t configuration, WordTableC* ends, uint32_t number, vector[uint64_t]* members
    ) noexcept nogil
    # single items
    cdef void add_bounded(
        self, uint32_t state, TokenMaskC* token_mask, CountBoundsC bounds, uint32_t outside, vector[uint32_t]* ids
    ) noexcept nogil
    cdef bint may_be_last(
        self, uint32_t state, uint32_t depth, uint32_t token, CountBoundsC bounds, uint32_t outside
    ) noexcept nogil
    cdef bint takes_rest(self, uint32_t outside, uint32_t token, vector[uint32_t]* lengths) noexcept nogil
    cdef void add_split(
        self, uint32_t configuration, ItemC* item, uint32_t node, TokenMaskC* token_mask,
        CountBoundsC bounds, uint32_t outside, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_long(
        self, uint32_t configuration, uint32_t node, TokenListC tokens, vector[uint32_t]* ids
    ) noexcept nogil
    cdef uint32_t exits_taken(self, uint32_t number, uint32_t outside) noexcept nogil
    cdef void add_exits(
        self, TokenMaskC* token_mask, uint32_t outside, CountBoundsC bounds, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_exit(
        self, TokenMaskC* token_mask, uint32_t number, uint32_t configuration, CountBoundsC bounds,
        vector[uint32_t]* closed, vector[uint32_t]* ids
    ) noexcept nogil
    cdef void add_suffixes(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t configuration, CountBoundsC bounds,
        vector[uint32_t]* closed,
        vector[uint32_t]* ids
    ) noexcept nogil
    cdef uint32_t before_suffix(
        self, TokenMaskC* token_mask, SuffixTrieC* suffixes, uint32_t number, uint32_t length, CountBoundsC bounds
    ) noexcept nogil
    cdef bint is_below(self, uint32_t token, uint32_t depth, vector[uint32_t]* closed) noexcept nogil
    cdef void list_closed(self, uint32_t state, uint32_t node) noexcept nogil
    cdef void add_triggers(
        self, uint32_t configuration, uint32_t top, TokenMaskC* token_mask, vector[uint32_t]* ids
    ) noexcept nogil
    # walks over rows
    cdef void add_tokens(self, uint32_t configuration, uint32_t state) noexcept nogil
    cdef void list_tokens(self, TokenSetC* tokens, vector[uint32_t]* ids, vector[uint32_t]* words) noexcept nogil
    cdef void add_others(self, TokenSetC* tokens) noexcept nogil
    cdef void add_words(self, vector[uint32_t]* words) noexcept nogil
    cdef void walk_others(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void add_over_byte(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void add_subtree(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil
    cdef void walk_rows(self, uint32_t configuration, uint32_t top, vector[uint32_t]* ids) noexcept nogil
    cdef void add_node(self, uint32_t configuration, uint32_t node, vector[uint32_t]* ids) noexcept nogil
