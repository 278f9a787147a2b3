"""Free text: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared

from ..automata.dfa_state cimport FINAL_STATE, LOOP_STATE
from ..automata.rule_automata cimport Automata, StateC
from ..automata.tag_dispatch cimport BOUNDARY, MOST_PIECES, PieceC, utf8_pieces
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary
from .mask_builder cimport pack_bits, sort_exits
from .token_mask cimport TokenMaskC, TokenMaskPtr

cdef uint8_t INVALID = 255


cdef void make_steps(vector[uint8_t]* steps) noexcept nogil:
    """place * 256 + byte -> the next place within a character, INVALID if there is none."""
    cdef PieceC pieces[MOST_PIECES]
    cdef uint32_t place, b, k
    steps.assign(8 * 256, INVALID)
    for place in range(8):
        for k in range(utf8_pieces(<uint8_t>place, pieces)):
            for b in range(pieces[k].low, pieces[k].high + 1):
                steps[0][256 * place + b] = pieces[k].place


cdef void take(Vocabulary vocabulary, uint32_t node, TokenMaskC* out) noexcept nogil:
    cdef uint32_t k, token
    for k in range(vocabulary.nodes[node].first, vocabulary.nodes[node + 1].first):
        token = vocabulary.order[k]
        out.words[token >> 5] |= (<uint32_t>1) << (token & 31)


cdef void drop_below(Vocabulary vocabulary, uint32_t node, TokenMaskC* out) noexcept nogil:
    """Takes out the tokens below a node."""
    cdef uint32_t k, token
    for k in range(vocabulary.nodes[node + 1].first, vocabulary.nodes[vocabulary.nodes[node].end].first):
        token = vocabulary.order[k]
        out.words[token >> 5] &= ~((<uint32_t>1) << (token & 31))


cdef void add_exit(TokenMaskC* out, uint32_t x, uint32_t k) noexcept nogil:
    cdef size_t n = out.exits.size()
    if n >= 2 and out.exits[n - 2] == x and out.exits[n - 1] == k:
        return
    out.exits.push_back(x)
    out.exits.push_back(k)
    out.exit_counts.push_back(0)


cdef void close(TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
    """Brings a token mask into its final form."""
    pack_bits(out, vocabulary)
    sort_exits(out, vocabulary)
    out.exit_counts.clear()


cdef TokenMaskPtr plain_text_mask(Vocabulary vocabulary) noexcept nogil:
    """What UTF-8 says from a character boundary on; it may end at every boundary."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef TokenMaskPtr made = make_shared[TokenMaskC]()
    cdef vector[uint8_t] steps, places
    cdef vector[uint32_t] path
    cdef uint32_t node = 1, depth, d
    cdef uint8_t place
    make_steps(&steps)
    places.assign(vocabulary.max_token_bytes + 2, BOUNDARY)
    path.assign(vocabulary.max_token_bytes + 2, 0)
    made.get().words.assign(vocabulary.words, 0)
    while node < nodes[0].end:
        depth = nodes[node].depth
        place = steps[256 * places[depth - 1] + nodes[node].byte]
        path[depth], places[depth] = node, place
        if place == INVALID:
            for d in range(1, depth):
                if places[d] == BOUNDARY:
                    add_exit(made.get(), path[d], path[d + 1])
            node = nodes[node].end
            continue
        take(vocabulary, node, made.get())
        node += 1
    close(made.get(), vocabulary)
    return made


cdef uint32_t target(Automata automata, uint32_t state, uint8_t byte) noexcept nogil:
    cdef StateC* s = &automata.states[state]
    cdef uint32_t e
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        if automata.byte_edges[e].low <= byte <= automata.byte_edges[e].high:
            return automata.byte_edges[e].target
    return 0


cdef bint is_plain(Automata automata, uint32_t state) noexcept nogil:
    """Whether no pattern is under way."""
    return automata.states[state].is_plain_text


cdef TokenMaskPtr free_text_mask(
    Automata automata, uint32_t state, Vocabulary vocabulary, TokenMaskC* plain
) noexcept nogil:
    """The token mask of the start of free text."""
    cdef TokenMaskPtr made = make_shared[TokenMaskC]()
    cdef vector[uint32_t] states, path
    cdef vector[uint8_t] steps
    cdef uint32_t b, k, first
    make_steps(&steps)
    made.get().words = plain.words
    if plain.words.size() == 0:
        made.get().words.assign(vocabulary.words, 0)
    for k in plain.ids:
        made.get().words[k >> 5] |= (<uint32_t>1) << (k & 31)
    if automata.states[state].flags & (FINAL_STATE | LOOP_STATE):
        made.get().exits = plain.exits
        made.get().exit_counts.assign(plain.exits.size() // 2, 0)
    states.assign(vocabulary.max_token_bytes + 2, 0)
    path.assign(vocabulary.max_token_bytes + 2, 0)
    states[0] = state
    for b in range(256):
        first = target(automata, state, <uint8_t>b)
        if steps[256 * BOUNDARY + b] == INVALID or (first and is_plain(automata, first)):
            continue
        for k in range(vocabulary.byte_offs[b], vocabulary.byte_offs[b + 1]):
            if enter(automata, vocabulary, vocabulary.byte_nodes[k], &states, &path):
                follow(automata, vocabulary, vocabulary.byte_nodes[k], &states, &path, made.get())
    sort(made.get().triggers.begin(), made.get().triggers.end())
    close(made.get(), vocabulary)
    return made


cdef bint enter(
    Automata automata, Vocabulary vocabulary, uint32_t node, vector[uint32_t]* states, vector[uint32_t]* path
) noexcept nogil:
    """Follows the way to a node's parent; whether no pattern is under way there."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t k, at = vocabulary.parents[node]
    while at:
        path[0][nodes[at].depth] = at
        at = vocabulary.parents[at]
    for k in range(1, nodes[node].depth):
        states[0][k] = target(automata, states[0][k - 1], nodes[path[0][k]].byte)
        if states[0][k] == 0:
            return False
    return is_plain(automata, states[0][nodes[node].depth - 1])


cdef void follow(
    Automata automata, Vocabulary vocabulary, uint32_t top, vector[uint32_t]* states, vector[uint32_t]* path,
    TokenMaskC* out
) noexcept nogil:
    """What the free text says at and below a node where a pattern may begin."""
    cdef TrieNode* nodes = vocabulary.nodes.data()
    cdef uint32_t node = top, depth, state, d
    while node < nodes[top].end:
        depth = nodes[node].depth
        state = target(automata, states[0][depth - 1], nodes[node].byte)
        states[0][depth], path[0][depth] = state, node
        if state and not automata.states[state].n_refs:
            # a plain state has plain text's tokens below it, but for those with a first byte of their own
            node = nodes[node].end if is_plain(automata, state) else node + 1
            continue
        for d in range(1, depth):
            if automata.states[states[0][d]].flags & (FINAL_STATE | LOOP_STATE):
                add_exit(out, path[0][d], path[0][d + 1])
        if state and nodes[node].end > node + 1:
            out.triggers.push_back(node)
        drop_below(vocabulary, node, out)
        if state == 0:
            drop_at(vocabulary, node, out)
        node = nodes[node].end


cdef void drop_at(Vocabulary vocabulary, uint32_t node, TokenMaskC* out) noexcept nogil:
    """Takes out the tokens that end at a node."""
    cdef uint32_t k, token
    for k in range(vocabulary.nodes[node].first, vocabulary.nodes[node + 1].first):
        token = vocabulary.order[k]
        out.words[token >> 5] &= ~((<uint32_t>1) << (token & 31))
