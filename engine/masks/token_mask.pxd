"""Token masks: which tokens one state of an automaton accepts, whatever follows its rule.

A token mask sorts the ordinary tokens below a node of the token trie (the root: all tokens) into
*accepted* (the rule follows them to their end), *uncertain* (the rule may end within them; the rows
outside the rule decide about the rest, the *suffix*) and rejected. Only states of tabled rules have
token masks: rules that were built whole and are deterministic, or that are like such a rule.

Representation   accepted  ids ascending, or the bitset `words` if that is smaller.
                 exits     pairs (x, k) of trie nodes for uncertain tokens. The rule may end at x. k
                           is a child of x, and the rule rejects some tokens at or below k. Their
                           suffixes are the paths from x; nothing is copied. Exits are grouped by
                           the byte of k, so the rows outside take one step for each group. A group
                           that is used often gets a trie of its suffixes: of llama3, 888 tokens
                           leave a string body with a quote, with only 251 suffixes.
                 triggers  trie nodes at which the rule refers to another rule; rows take over. In
                           free text these are the ends of patterns, so a token mask of free text
                           depends on the patterns alone, not on the tools that follow.
                 A counted rule has one token mask for all bounds, filtered by registers on use.
                 `ids` are then ordered by need, the iterations that a token begins: need_ends[n]
                 ids need at most n. exit_counts[k] iterations end before exit k. Counted free text
                 counts characters, which the vocabulary knows for each token.
Invariants       I1 a token mask depends on the vocabulary, the rule's digest, the state within the
                    rule, and the node.
                 I2 immutable once built, except for suffix tries; shared between grammars by
                    shared_ptr.
                 I3 tokens below an exit that the rule accepts may also be accepted outside; the
                    union is the same.
Cost             merging: O(V/32) for a bitset, else O(ids). Exits: one step for each group, which
                 mostly fails. A suffix trie: sorting its tokens, about 0.3 us each. Filtering by
                 bounds: a copy of V/8 bytes, and the tokens that fit or those that do not,
                 whichever are fewer.
Bounds           the cache drops all entries when it exceeds `max_bytes`.
Threads          the cache has its own mutex, which is never held while a mask is built. Pointers to
                 suffix tries are read and set under it.
Not here         building token masks (mask_builder), their bytes (mask_codec), their use
                 (row_masks).
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex

from ..earley.rows cimport Arena, ItemC
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

cdef enum:
    # both words of the digest of plain text, the base of all free text; a hash equals it with a
    # probability of 2^-128
    PLAIN_TEXT = 0x0A0A0A0A

cdef struct TokenMaskKeyC:
    uint64_t high, low        # the rule's digest; zeros: none, and the mask is not shared
    uint32_t state, node      # the state's offset from the rule's start, and a trie node

cdef struct SuffixNodeC:
    # a node of a flat, depth-first trie of suffixes; node 0 follows the group's byte
    uint32_t end              # index past the subtree
    uint32_t first            # tokens that end here: from this index up to the next node's
    uint16_t depth            # bytes of the suffix, including the group's byte
    uint8_t byte

cdef struct SuffixTrieC:
    vector[SuffixNodeC] nodes   # plus a sentinel
    vector[uint32_t] tokens
    vector[uint32_t] counts   # by token: the exit's count; empty if all are 0
    vector[uint32_t] large    # exits with large subtrees, which are not copied

ctypedef shared_ptr[SuffixTrieC] SuffixTriePtr

cdef struct ExitGroupC:
    uint32_t start, end       # of the exits whose k has this byte
    uint32_t uses
    uint8_t byte
    SuffixTriePtr suffixes    # built on the second use

cdef struct TokenMaskC:
    uint32_t node             # of the token trie
    bint shared               # between grammars
    bint is_cached            # guarded by the cache's mutex
    vector[uint32_t] words
    vector[uint32_t] ids
    vector[uint32_t] need_ends
    vector[uint32_t] exits
    vector[uint32_t] exit_counts
    vector[uint32_t] triggers
    vector[ExitGroupC] groups    # of exits; not part of the bytes

ctypedef shared_ptr[TokenMaskC] TokenMaskPtr

cdef struct TokenMaskEntryC:
    TokenMaskKeyC key
    uint32_t took_ns          # to build this token mask alone, here or in another process
    size_t bytes              # of the body, and of the token mask unless another entry shares it
    bint is_stored            # in the log: loaded, or handed over; set by the cache
    bint is_used              # found since the last `take_used`; set by the cache
    TokenMaskPtr token_mask
    vector[uint8_t] body      # the token mask's bytes in an artifact, once encoded (mask_codec)

cdef class TokenMaskCache:
    cdef mutex guard
    cdef U64MapC index
    cdef vector[TokenMaskEntryC] entries
    cdef vector[uint32_t] older               # by entry: the previous one of the same rule, or MISSING
    cdef U64MapC latest                       # by rule: its last entry
    cdef vector[uint32_t] fresh               # entries built here since the last `take_fresh`
    cdef readonly size_t max_bytes
    cdef size_t held                          # bytes of token masks, suffix tries and bodies
    cdef readonly uint64_t hits, misses, evictions
    cdef uint64_t made, made_ns               # built here, including masks that are not shared
    cdef size_t bytes_held(self) noexcept nogil
    cdef TokenMaskPtr find(self, TokenMaskKeyC key) noexcept nogil
    # is_fresh: built here, so the log does not have it yet
    cdef bint add(self, TokenMaskEntryC* entry, bint is_fresh) noexcept nogil
    cdef void count_made(self, uint64_t took_ns) noexcept nogil
    cdef void take_fresh(self, vector[TokenMaskEntryC]* out) noexcept nogil
    cdef void keep_body(self, TokenMaskEntryC* entry) noexcept nogil
    cdef void clear(self) noexcept nogil

cdef bint group_exits(TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil
# bytes held; of a token mask without its suffix tries
cdef size_t token_mask_bytes(TokenMaskC* token_mask) noexcept nogil
cdef size_t suffix_trie_bytes(SuffixTrieC* suffixes) noexcept nogil
cdef bint is_sound(TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil


# -- suffix tries ----------------------------------------------------------------------------------
cdef SuffixTriePtr suffix_trie_of(
    TokenMaskC* token_mask, uint32_t group, Vocabulary vocabulary, TokenMaskCache table
) noexcept nogil


# -- count bounds ----------------------------------------------------------------------------------
cdef struct CountBoundsC:
    # what a counted item may still do within one token
    uint32_t least, most      # iterations still required and allowed; NO_MAXIMUM: out of a token's reach
    bint counted              # a token may reach one of the bounds
    bint is_text              # iterations are characters
    uint32_t begun            # 1: within a character
    uint32_t tokens           # tokens that the text may still have, at most CHARACTER_BYTES

cdef struct TokenListC:
    const uint32_t* ids
    uint32_t n

cdef CountBoundsC no_bounds() noexcept nogil
cdef CountBoundsC bounds_of(Arena arena, uint32_t configuration, ItemC* item) noexcept nogil
cdef bint fits(uint32_t count, CountBoundsC bounds) noexcept nogil
cdef void accepted_words(
    Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds, vector[uint32_t]* words
) noexcept nogil
cdef void accepted_ids(
    Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds, vector[uint32_t]* ids
) noexcept nogil
cdef TokenListC too_long(Vocabulary vocabulary, TokenMaskC* token_mask, CountBoundsC bounds) noexcept nogil
cdef uint32_t characters(
    Vocabulary vocabulary, uint32_t token, uint32_t start, uint32_t end, CountBoundsC bounds
) noexcept nogil
cdef uint32_t before_exit(
    Vocabulary vocabulary, TokenMaskC* token_mask, uint32_t number, CountBoundsC bounds
) noexcept nogil
