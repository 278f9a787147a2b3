"""Automaton-only masks: what one state says about the vocabulary, whatever lies outside its rule.

A token mask sorts the ordinary tokens below a node of the token trie (the root: all of them) by what a
state of a tabled rule says of them from there on: *accepted* (they stay within the rule, or end as it ends),
*uncertain* (rejected within the rule, but the rule may end inside them; what remains must be
decided by the rows outside), rejected (the suffixes).

Representation   accepted: ids ascending, or the bitset `words` where that is smaller.
                 exits: pairs (x, k) of nodes of the token trie. At x the rule may end; k is a child
                 of x, and somewhere below k, or at it, are tokens that the rule can't follow. What
                 remains of them is their path from x: nothing is copied. Exits lie in groups by
                 the byte of k, so that the rows outside are asked once for each byte.
                 A group that is asked for often gets its suffixes as a trie: many tokens have the
                 same suffix (the string body of llama3: 888 tokens leave it by a quote, with 251
                 suffixes), so that the rows outside follow a few hundred bytes instead of every token.
                 triggers: nodes at which the rule refers to another one: rows take over. In free
                 text these are the ends of its patterns; what follows is the arm's business, so that
                 a token mask of free text depends on the patterns alone and is shared by all sets of
                 tools.
                 Counted rules: a token mask is made without bounds and filtered by the registers when
                 it is used. `ids` come in the order of their need, the iterations they begin;
                 need_ends[n] is the number of ids that need at most n; exit_counts[k] is the
                 number of iterations that end before exit k.
Invariants       I1 a token mask depends on the vocabulary, the rule's digest, the state within the
                    rule, and the node.
                 I2 immutable once built, but for suffixes; shared between grammars by shared_ptr, so dropping one
                    here is always safe.
                 I3 the tokens below an exit that the rule accepts may be accepted outside as well:
                    the union is the same.
Cost             merging: O(V/32) for a bitset, else O(ids); exits cost a step for each group,
                 mostly rejected there.
Bounds           `max_bytes`; past it everything is dropped at once, which only costs time.
Threads          the table has a mutex of its own, never held while anything is built.
Not here         making them (mask_builder), their bytes (mask_bytes, mask_codec), using them (row_masks).
"""

from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.mutex cimport mutex

from ..earley.rows cimport Arena, ItemC
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

cdef enum:
    # twice this word is the digest of plain text, from which all free text is made: no hash has it but
    # by an accident of 2^-128
    PLAIN_TEXT = 0x0A0A0A0A

cdef struct TokenMaskKeyC:
    uint64_t high, low        # the rule's digest; 0, 0: it has none, and nothing is shared
    uint32_t state, node      # state counted from the rule's start; node of the token trie

cdef struct SuffixNodeC:
    # a node of a trie of what remains of tokens, flat and depth first; node 0 stands behind the
    # group's byte
    uint32_t end              # index past the subtree
    uint32_t first            # of the tokens that end here: up to the next node's
    uint16_t depth            # bytes of the suffixes, the group's included
    uint8_t byte

cdef struct SuffixTrieC:
    vector[SuffixNodeC] nodes   # and one to close the array
    vector[uint32_t] tokens
    vector[uint32_t] counts   # by token: the exit's count; empty if all are 0
    vector[uint32_t] large    # exits of the group whose subtrees are large, left as they are

ctypedef shared_ptr[SuffixTrieC] SuffixTriePtr

cdef struct ExitGroupC:
    uint32_t start, end       # of the exits (pairs) whose k has this byte
    uint32_t uses             # how often it was asked for
    uint8_t byte
    SuffixTriePtr suffixes              # made when it is asked for often (suffixes)

cdef struct TokenMaskC:
    uint32_t node             # of the token trie
    bint shared               # between grammars
    bint is_kept              # by the table, under whose guard this is read and set
    vector[uint32_t] words
    vector[uint32_t] ids
    vector[uint32_t] need_ends
    vector[uint32_t] exits
    vector[uint32_t] exit_counts
    vector[uint32_t] triggers
    vector[ExitGroupC] groups    # of exits; not stored

ctypedef shared_ptr[TokenMaskC] TokenMaskPtr

cdef struct EntryC:
    TokenMaskKeyC key
    uint32_t took_ns          # to make the token mask, here or elsewhere, without others that it needed
    size_t bytes              # of the token mask, 0 if it is another entry's; and of the body
    bint is_stored            # in the log: it was loaded, or handed over; set by the table
    bint is_used              # found since the last `take_used`; set by the table
    TokenMaskPtr token_mask
    vector[uint8_t] body      # the token mask's bytes in a store, once they were made (mask_bytes)

cdef class TokenMaskCache:
    cdef mutex guard
    cdef U64MapC index
    cdef vector[EntryC] entries
    cdef vector[uint32_t] older               # by entry: the one before it of the same rule, or MISSING
    cdef U64MapC latest                       # by rule: its last entry
    cdef vector[uint32_t] fresh               # made here since the last `take_fresh`
    cdef readonly size_t max_bytes
    cdef size_t held                          # by token masks, their suffixes and bodies
    cdef readonly uint64_t hits, misses, evictions
    cdef uint64_t made, made_ns               # here, those that are not shared included
    cdef size_t bytes_held(self) noexcept nogil
    cdef TokenMaskPtr find(self, TokenMaskKeyC key) noexcept nogil
    # is_fresh: made here, so that the log does not have it yet
    cdef bint add(self, EntryC* entry, bint is_fresh) noexcept nogil
    cdef void count_made(self, uint64_t took_ns) noexcept nogil
    cdef void take_fresh(self, vector[EntryC]* out) noexcept nogil
    cdef void keep_body(self, EntryC* entry) noexcept nogil
    cdef void clear(self) noexcept nogil

cdef bint group_exits(TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil
# what they hold; a token mask without its suffixes
cdef size_t token_mask_bytes(TokenMaskC* token_mask) noexcept nogil
cdef size_t suffix_trie_bytes(SuffixTrieC* suffixes) noexcept nogil
cdef bint is_sound(TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil


# -- suffix trie -----------------------------------------------------------------------------------
# The suffixes of uncertain tokens as a trie: see ``SuffixTrieC`` in token masks.
#
# Cost     building sorts the group's tokens by what remains of them, about 0.3 us a token; so it is
#          done for a group that is asked for again, and not for a small one.
# Threads  the pointer to a group's suffixes is read and set under the table's mutex; suffixes are built
#          outside it and never change.

cdef SuffixTriePtr suffix_trie_of(
    TokenMaskC* token_mask, uint32_t group, Vocabulary vocabulary, TokenMaskCache table
) noexcept nogil


# -- count bounds ----------------------------------------------------------------------------------
# What is left of a counted item, and what of its rule's token mask that leaves.
#
# Counted rules   their token masks are in the order of need, and say how many iterations end before each
#                 exit.
# Counted text    its iterations are characters, and how many a token begins does not depend on the
#                 text: its token masks are those of text without bounds, and the vocabulary knows the rest.
# Cost            of `accepted_words`: a copy of V/8 bytes and the tokens that fit or those that don't,
#                 whichever are fewer; of `accepted_ids`: the token mask.
# Not here        what follows the item (row_masks), where tokens are cut (split_points).

cdef struct BoundsC:
    uint32_t least, most      # iterations still needed, and still possible; NO_MAXIMUM: more than a token has
    bint counted              # a token may reach one of them
    bint is_text              # iterations are characters
    uint32_t begun            # 1: a character is under way
    uint32_t tokens           # that the text may still have, at most CHARACTER_BYTES

cdef struct IdsC:
    const uint32_t* ids
    uint32_t n

cdef BoundsC no_bounds() noexcept nogil
cdef BoundsC bounds_of(Arena arena, uint32_t instance, ItemC* item) noexcept nogil
cdef bint fits(uint32_t count, BoundsC bounds) noexcept nogil
cdef void accepted_words(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* words
) noexcept nogil
cdef void accepted_ids(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* ids
) noexcept nogil
cdef IdsC too_long(Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds) noexcept nogil
cdef uint32_t characters(
    Vocabulary vocabulary, uint32_t token, uint32_t start, uint32_t end, BoundsC bounds
) noexcept nogil
cdef uint32_t before_exit(
    Vocabulary vocabulary, TokenMaskC* token_mask, uint32_t number, BoundsC bounds
) noexcept nogil
