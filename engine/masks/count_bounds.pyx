"""Bounds: see the header file."""

from libc.stdint cimport uint32_t

from ..automata.rule_automata cimport StateC
from ..earley.rows cimport Arena, ItemC
from ..grammar.lowered cimport (
    CHARACTER_BYTES, DISPATCH_RULE, NO_MAXIMUM, RuleC, iterations, tokens_left,
)
from ..native.bitset cimport clear_bit, has_bit, list_bits, set_bits
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary, lead_bytes
from .token_mask cimport TokenMaskC


cdef BoundsC no_bounds() noexcept nogil:
    cdef BoundsC out
    out.least, out.most, out.counted, out.is_text = 0, NO_MAXIMUM, False, False
    out.begun, out.tokens = 0, CHARACTER_BYTES
    return out


cdef BoundsC bounds_of(Arena arena, uint32_t instance, ItemC* item) noexcept nogil:
    """What is left of an item; counts beyond what one token can reach are all alike."""
    cdef BoundsC out = no_bounds()
    cdef StateC* state = &arena.automata.states[item.state]
    cdef RuleC* rule = &arena.automata.ir.rules[state.rule]
    cdef uint32_t count, value
    if not rule.counted:
        return out
    value = arena.value_of(instance, item)
    out.tokens = min(tokens_left(rule, value), <uint32_t>CHARACTER_BYTES)
    if not rule.iterates:
        return out
    count = iterations(rule, value)
    if count < rule.minimum:
        out.least = rule.minimum - count
    if rule.maximum != NO_MAXIMUM and rule.maximum - count <= arena.automata.span[state.rule]:
        out.most = rule.maximum - count
    out.counted = out.least > 0 or out.most != NO_MAXIMUM
    out.is_text = rule.kind == DISPATCH_RULE
    out.begun = state.missing > 0
    return out


cdef bint fits(uint32_t count, BoundsC bounds) noexcept nogil:
    """Whether the item may be over after so many iterations."""
    return not bounds.counted or bounds.least <= count <= bounds.most


cdef void accepted_words(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* words
) noexcept nogil:
    """What a token mask accepts of the tokens that fit, as a bitset."""
    cdef uint32_t k, fit = fitting(token_mask, bounds)
    if token_mask.words.size() and fit >= token_mask.ids.size() // 2:
        # in the order of need, the words hold all ids
        words.assign(token_mask.words.begin(), token_mask.words.end())
        for k in range(fit, <uint32_t>token_mask.ids.size()):
            clear_bit(words.data(), token_mask.ids[k])
    else:
        words.assign(vocabulary.words, 0)
        set_bits(words.data(), token_mask.ids.data(), fit)
    if bounds.is_text and bounds.most != NO_MAXIMUM:
        drop_long(vocabulary, longest_fit(vocabulary, token_mask.node, bounds), words)


cdef uint32_t fitting(TokenMaskC* token_mask, BoundsC bounds) noexcept nogil:
    """How many of the ids fit; those of text are in no such order."""
    if bounds.counted and not bounds.is_text and <size_t>bounds.most + 1 < token_mask.need_ends.size():
        return token_mask.need_ends[bounds.most]
    return <uint32_t>token_mask.ids.size()


cdef void accepted_ids(
    Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds, vector[uint32_t]* ids
) noexcept nogil:
    """As ``accepted_words``, as ids: for token masks of small subtrees."""
    cdef uint32_t t, longest = NO_MAXIMUM
    cdef vector[uint32_t] found
    if bounds.is_text and bounds.most != NO_MAXIMUM:
        longest = longest_fit(vocabulary, token_mask.node, bounds)
    found.assign(token_mask.ids.begin(), token_mask.ids.begin() + fitting(token_mask, bounds))
    # in the order of need, the words are the same ids again
    if token_mask.need_ends.size() == 0:
        list_bits(&token_mask.words, &found)
    for t in found:
        if vocabulary.begun[t] <= longest:
            ids.push_back(t)


cdef uint32_t longest_fit(Vocabulary vocabulary, uint32_t top, BoundsC bounds) noexcept nogil:
    """How many characters a token below ``top`` may begin in all, so that its rest fits into text."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t before = 0
    if top:
        before = lead_bytes(
            vocabulary.data.data() + vocabulary.offsets[vocabulary.order[nodes[top].first]], nodes[top].depth)
    return before + bounds.most - bounds.begun


cdef IdsC too_long(Vocabulary vocabulary, TokenMaskC* token_mask, BoundsC bounds) noexcept nogil:
    """Tokens that the rule would accept below the token mask's node but for the upper bound.

    Of text they are all that are too long, whatever lies before them.
    """
    cdef IdsC out
    cdef uint32_t fit
    if bounds.is_text:
        fit = vocabulary.of_chars(longest_fit(vocabulary, token_mask.node, bounds))
        out.ids, out.n = vocabulary.by_chars.data() + fit, <uint32_t>vocabulary.by_chars.size() - fit
    else:
        fit = fitting(token_mask, bounds)
        out.ids, out.n = token_mask.ids.data() + fit, <uint32_t>token_mask.ids.size() - fit
    return out


cdef void drop_long(Vocabulary vocabulary, uint32_t most, vector[uint32_t]* words) noexcept nogil:
    """Takes out the tokens that begin more characters."""
    cdef uint32_t k, fit = vocabulary.of_chars(most), n = <uint32_t>vocabulary.by_chars.size()
    cdef vector[uint32_t] kept
    if n - fit <= fit:
        for k in range(fit, n):
            clear_bit(words.data(), vocabulary.by_chars[k])
        return
    kept.assign(vocabulary.words, 0)
    for k in range(fit):
        if has_bit(words.data(), vocabulary.by_chars[k]):
            kept[vocabulary.by_chars[k] >> 5] |= <uint32_t>1 << (vocabulary.by_chars[k] & 31)
    words.swap(kept)


cdef uint32_t characters(
    Vocabulary vocabulary, uint32_t token, uint32_t start, uint32_t end, BoundsC bounds
) noexcept nogil:
    """How many characters of text are over behind these bytes of a token, between two of them."""
    return bounds.begun + lead_bytes(
        vocabulary.data.data() + vocabulary.offsets[token] + start, end - start)


cdef uint32_t before_exit(
    Vocabulary vocabulary, TokenMaskC* token_mask, uint32_t number, BoundsC bounds
) noexcept nogil:
    """How many iterations are over at an exit."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t x = token_mask.exits[2 * number]
    if not bounds.is_text:
        # one from a store may lack them
        return token_mask.exit_counts[number] if token_mask.exit_counts.size() else 0
    return characters(
        vocabulary, vocabulary.order[nodes[x].first], nodes[token_mask.node].depth, nodes[x].depth, bounds)
