"""A bitmask whose memory is held.

Representation   the view of a caller's buffer: int32, shape (rows, words), C-contiguous. Every call
                 that takes a bitmask takes a held one too.
Cost             to look at a buffer and to take a slice of an array costs more than to copy a mask
                 that is there: 5-15 us where caches are cold, as after a model's forward pass.
Not here         what a mask says (masks), and who allocates its memory.
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.memory cimport shared_ptr
from libcpp.unordered_set cimport unordered_set

from ..earley.rows cimport Arena, ItemC
from ..grammar.lowered cimport TokenSetC
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.word_table cimport WordTableC
from ..sharing.mask_codec cimport Digests
from ..vocabulary.vocabulary cimport Vocabulary
from .mask_builder cimport MaskBuilder
from .token_mask cimport (
    BoundsC, EntryC, IdsC, SuffixTrieC, TokenMaskC, TokenMaskCache, TokenMaskPtr,
)

cdef class Bitmask:
    cdef int[:, ::1] rows
    cdef readonly Py_ssize_t height     # how many rows

cdef int[:, ::1] rows_of(object bitmask)


# -- mask unions -----------------------------------------------------------------------------------
# Unions: what several states of tabled rules say of the vocabulary together, in one walk.
#
# Where keys match many patterns, or alternatives many, a row has an item for each, and each would walk
# most of the trie for a token mask of its own. Here the trie is walked once over sets of states, which are
# determinised on the way. A token is accepted if any member accepts it.
#
# Representation   of a walk: a set is a word for each member, its state (a slot of the token mask maker) or
#                  0 once it is gone. Of the result: a token mask (token masks) whose exits have, instead of a
#                  count, the number of the set of members that may end there; the rows outside each
#                  are another's.
# Bounds           UNION_SETS in one walk: determinising may explode, and then each member gets its own
#                  token mask.
# Cost             one look-up for each node visited, and for each new edge between sets a step of
#                  every member.
# Threads          under the arena's mutex.
# Not here         which items are taken together, the rows outside (row_masks).

cdef enum:
    # Six patterns for keys need 1,000 in a string's spellings; each takes a kilobyte while the walk lasts.
    UNION_SETS = 4096

cdef struct UnionC:
    TokenMaskC token_mask
    WordTableC ends           # sets of members, by their place among the states

cdef bint make_union(
    MaskBuilder maker, vector[uint32_t]* states, uint32_t node, UnionC* out
) noexcept nogil


# -- row masks -------------------------------------------------------------------------------------
# Masks of instances: the tokens that the rows take, made rule by rule where that is cheaper.
#
#     tokens below a node of the trie that an instance takes =
#           for each item of a tabled rule, its token mask: what it accepts,
#                                                     + of what is uncertain, what the rows outside take
#           for many items at once whose token masks are not there, one walk for all of them (unions)
#         + for all other items together, a walk over rows, byte by byte; where it enters a large
#           subtree of the trie with items of tabled rules, it goes on by this same equation
#     mask = the tokens below the root + those on token edges + stop tokens where the text may end
#
# The rows outside an item are the instance that its completion leaves behind. Earley sets are
# unions of their items' futures, so the union over items is exact. Items in the same state (an
# ambiguous grammar has many) are one: what they accept is the same, and the rows outside are the union of
# theirs, so that nothing is followed once for each way to read the text.
#
# Representation   a finished mask is a list of token masks, of lists of ids that several masks share (what
#                  the rows outside take), and ids of its own; beside them a bitset, where a bound had
#                  to take tokens out of a token mask, or there are many ids. Kept by saturated instance
#                  (rows, I5).
# Invariants       I1 mask bit = would accept_token succeed.
#                  I2 dropping kept masks only costs time.
# Like states      (automata) have the token mask of the state that they are like; its exits where a text
#                  is complete are closed to them.
# Counted rules    whose token masks are filtered: a token counts only if its need fits what is left.
#                  A token that is cut by the upper bound could still be split between the rule and
#                  what follows; where those two share no byte, it can't. Where they do, every place
#                  where it could be split is followed (cuts), or if there are too many, rows decide.
# Counted tokens   the last tokens that a text may have must not begin a character that can't be finished:
#                  the few of the vocabulary that could are looked at one by one. Rows say where else
#                  no token may end.
# Cost             a mask seen before: one copy of V/8 bytes and its ids. A new one: the token masks that
#                  are new, and a step for each byte that could leave a rule.
# Threads          under the arena's mutex.
# Not here         what a token mask is (token masks), rows (rows).

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


# -- prefill ---------------------------------------------------------------------------------------
# Masks made ahead of time: while a prompt is prefilled, or all there are.
#
# From the start, rows are followed byte by byte, breadth first; each state met is a *place*. What a
# place will cost is estimated by how much of the token trie its items take and by what is known of
# them already, and the costliest are made first. Only one spelling of each character is followed
# where a place has others: escapes are rare in what models write.
#
# Bounds   places looked at; masks made; where others walk in the generation, an eighth of what it,
#          a mask, and all looking may take.
# Threads  under the arena's mutex, which is given back after each place and each mask: the scheduler
#          of a worker waits for no more than one of them.

cdef struct PlaceC:
    uint64_t cost
    uint32_t instance

cdef class Prefill:
    cdef Arena arena
    cdef Masks masks
    cdef bint escapes, leaves_out
    cdef size_t most_rows, most_bytes         # of the generation; beyond them nothing is made
    cdef uint32_t items_left                  # that may be met while it looks
    cdef vector[PlaceC] places
    cdef vector[uint32_t] todo                # instances, in the order in which they were met
    cdef size_t at                            # of ``todo``, the next to be looked at
    cdef unordered_set[uint32_t] seen
    cdef bint is_over
    # what was done
    cdef uint32_t made, error
    cdef bint is_complete                     # all places were looked at
    cdef int run(self, uint32_t places, uint32_t budget) except -1
    cdef void make(self, uint32_t instance) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef bint passes_limit(self) noexcept nogil
    # under the mutex
    cdef void explore(self, uint32_t most) noexcept nogil
    cdef void look(self, uint32_t most) noexcept nogil
    cdef bint follow(self, uint32_t instance, uint32_t most) noexcept nogil
    cdef uint64_t cost(self, uint32_t instance) noexcept nogil
