"""Free text with triggers as one automaton: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport binary_search
from libcpp.map cimport map as cmap

from .draft cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE, ByteEdgeC, DraftC, SymbolEdgeC
from .flat cimport NO_RULE, ArmC, DispatchC, FlatIR
from .pool cimport vector

ctypedef cmap[uint32_t, uint32_t] Moves

cdef uint32_t ROOT = 0
cdef uint32_t NOTHING = 0xFFFFFFFF


cdef uint8_t missing_bytes(uint8_t place) noexcept nogil:
    if place < AFTER_E0:
        return place
    return 3 if place >= AFTER_F0 else 2


cdef struct TrieC:
    # Aho-Corasick: moves[q] holds every letter from q that does not lead to the root
    vector[Moves] moves
    vector[uint32_t] fail
    vector[uint32_t] held            # bytes of the prefix that q stands for
    vector[uint32_t] depth           # letters of that prefix
    vector[vector[uint32_t]] arms    # the longest arms completed on entering q
    vector[uint32_t] completed       # letters of the patterns of those arms
    vector[uint8_t] excluded         # an exclude completes on entering q
    vector[uint8_t] hopeless         # a pattern completes whose arm can't be finished
    vector[uint8_t] arm_prefix       # q is a proper prefix of an arm's pattern


cdef void piece(vector[PieceC]* out, uint8_t low, uint8_t high, uint8_t place) noexcept nogil:
    cdef PieceC made
    made.low, made.high, made.place = low, high, place
    out.push_back(made)


cdef void utf8_pieces(uint8_t place, vector[PieceC]* out) noexcept nogil:
    out.clear()
    if place == BOUNDARY:
        piece(out, 0x00, 0x7F, BOUNDARY)
        piece(out, 0xC2, 0xDF, 1)
        piece(out, 0xE0, 0xE0, AFTER_E0)
        piece(out, 0xE1, 0xEC, 2)
        piece(out, 0xED, 0xED, AFTER_ED)
        piece(out, 0xEE, 0xEF, 2)
        piece(out, 0xF0, 0xF0, AFTER_F0)
        piece(out, 0xF1, 0xF3, 3)
        piece(out, 0xF4, 0xF4, AFTER_F4)
    elif place == AFTER_E0:
        piece(out, 0xA0, 0xBF, 1)
    elif place == AFTER_ED:
        piece(out, 0x80, 0x9F, 1)
    elif place == AFTER_F0:
        piece(out, 0x90, 0xBF, 2)
    elif place == AFTER_F4:
        piece(out, 0x80, 0x8F, 2)
    else:
        piece(out, 0x80, 0xBF, place - 1)


cdef uint32_t add_node(TrieC* trie, uint32_t held, uint32_t depth) noexcept nogil:
    trie.moves.push_back(Moves())
    trie.fail.push_back(ROOT)
    trie.held.push_back(held)
    trie.depth.push_back(depth)
    trie.arms.push_back(vector[uint32_t]())
    trie.completed.push_back(0)
    trie.excluded.push_back(0)
    trie.hopeless.push_back(0)
    trie.arm_prefix.push_back(0)
    return <uint32_t>trie.moves.size() - 1


cdef uint32_t insert(TrieC* trie, FlatIR ir, ArmC* arm, bint is_arm) noexcept nogil:
    """The node of a whole pattern, made if need be."""
    cdef uint32_t q = ROOT, k, letter, held = 0, fresh
    for k in range(arm.n):
        letter = ir.pool[arm.off + k]
        trie.arm_prefix[q] |= is_arm
        if letter < 256:
            held += 1
        else:
            held += ir.letter_bytes[letter]
        if not trie.moves[q].count(letter):
            fresh = add_node(trie, held, k + 1)
            trie.moves[q][letter] = fresh
        q = trie.moves[q][letter]
    return q


cdef void build_trie(TrieC* trie, FlatIR ir, DispatchC* dispatch) noexcept nogil:
    cdef uint32_t k, q
    add_node(trie, 0, 0)
    for k in range(<uint32_t>dispatch.arms.size()):
        q = insert(trie, ir, &dispatch.arms[k], True)
        if ir.rules[dispatch.arms[k].rule].productive:
            trie.arms[q].push_back(k)
            trie.completed[q] = dispatch.arms[k].n
        else:
            trie.hopeless[q] = 1
    for k in range(<uint32_t>dispatch.excludes.size()):
        trie.excluded[insert(trie, ir, &dispatch.excludes[k], False)] = 1


cdef void link(TrieC* trie) noexcept nogil:
    """Breadth first: failure links, inherited outputs, and all moves not to the root."""
    cdef vector[uint32_t] todo, letters, targets
    cdef uint32_t at = 0, q, k, f
    todo.push_back(ROOT)
    while at < todo.size():
        q = todo[at]
        at += 1
        list_moves(&trie.moves[q], &letters, &targets)
        f = trie.fail[q]
        for k in range(<uint32_t>letters.size()):
            if q != ROOT and trie.moves[f].count(letters[k]):
                trie.fail[targets[k]] = trie.moves[f][letters[k]]
            todo.push_back(targets[k])
        if q == ROOT:
            continue
        trie.excluded[q] |= trie.excluded[f]
        if trie.arms[q].size() == 0 and not trie.hopeless[q]:
            trie.arms[q] = trie.arms[f]
            trie.completed[q] = trie.completed[f]
            trie.hopeless[q] = trie.hopeless[f]
        list_moves(&trie.moves[f], &letters, &targets)
        for k in range(<uint32_t>letters.size()):
            if not trie.moves[q].count(letters[k]):
                trie.moves[q][letters[k]] = targets[k]


cdef void list_moves(
    Moves* moves, vector[uint32_t]* letters, vector[uint32_t]* targets
) noexcept nogil:
    letters.clear()
    targets.clear()
    for item in moves[0]:
        letters.push_back(item.first)
        targets.push_back(item.second)


cdef struct WorkC:
    # the text states made so far, by key, and the keys in order of making
    Moves ids
    vector[uint32_t] keys
    Moves triggers                   # trie node -> TRIGGER state
    uint32_t done                    # the state behind arms that don't return, NOTHING: not needed yet


# A text state is (node, debt, place). The debt is the number of letters back to and including the
# first token that free text may not hold: it is legal only as a part of the pattern that completes.
cdef uint32_t pack(uint32_t q, uint32_t debt, uint8_t place) noexcept nogil:
    return ((q << 8 | min(debt, <uint32_t>255)) << 3) | place


cdef uint32_t text_state(WorkC* work, vector[DraftC]* out, uint32_t key) noexcept nogil:
    cdef uint32_t fresh
    if work.ids.count(key):
        return work.ids[key]
    fresh = new_state(work, out, key)
    work.ids[key] = fresh
    return fresh


cdef bint is_payable(TrieC* trie, uint32_t q, uint32_t debt) noexcept nogil:
    """Whether some arm that is under way reaches back over the whole debt."""
    while trie.depth[q] >= debt:
        if trie.arm_prefix[q]:
            return True
        q = trie.fail[q]
    return False


cdef uint32_t new_state(WorkC* work, vector[DraftC]* out, uint32_t key) noexcept nogil:
    out.resize(out.size() + 1)
    out.back().held = 0
    out.back().flags = 0
    out.back().is_plain_text = 0
    out.back().missing = 0
    work.keys.push_back(key)
    return <uint32_t>out.size() - 1


cdef uint32_t trigger_state(
    WorkC* work, vector[DraftC]* out, TrieC* trie, DispatchC* dispatch, uint32_t q
) noexcept nogil:
    """The state behind the patterns that complete at q."""
    cdef uint32_t fresh, k
    cdef SymbolEdgeC edge
    if work.triggers.count(q):
        return work.triggers[q]
    fresh = new_state(work, out, NOTHING)
    work.triggers[q] = fresh
    out[0][fresh].flags = TRIGGER_STATE
    out[0][fresh].held = dispatch.arms[trie.arms[q][0]].held
    for k in trie.arms[q]:
        edge.symbol = dispatch.arms[k].rule
        if dispatch.arms[k].returns:
            edge.target = 0
        else:
            if work.done == NOTHING:
                work.done = new_state(work, out, NOTHING)
                out[0][work.done].flags = FINAL_STATE
            edge.target = work.done
        out[0][fresh].refs.push_back(edge)
    return fresh


cdef uint32_t after(
    WorkC* work, vector[DraftC]* out, TrieC* trie, DispatchC* dispatch, uint32_t q, uint32_t debt, uint8_t place
) noexcept nogil:
    """The state on entering (q, debt, place); NOTHING where that is not allowed."""
    if place == BOUNDARY:
        if trie.excluded[q] or trie.hopeless[q]:
            return NOTHING
        if trie.arms[q].size():
            return NOTHING if debt > trie.completed[q] else trigger_state(work, out, trie, dispatch, q)
    if debt and not is_payable(trie, q, debt):
        return NOTHING
    return text_state(work, out, pack(q, debt, place))


cdef void byte_edge(DraftC* draft, uint32_t low, uint32_t high, uint32_t target) noexcept nogil:
    cdef ByteEdgeC edge
    if low > high or target == NOTHING:
        return
    if draft.bytes.size() and draft.bytes.back().target == target and draft.bytes.back().high + 1 == low:
        draft.bytes.back().high = <uint8_t>high
        return
    edge.low, edge.high, edge.target = <uint8_t>low, <uint8_t>high, target
    draft.bytes.push_back(edge)


cdef void byte_edges(
    WorkC* work, vector[DraftC]* out, TrieC* trie, DispatchC* dispatch, uint32_t state, uint32_t key
) noexcept nogil:
    """Every legal byte: those with a move of their own, and between them ranges to the root."""
    cdef vector[PieceC] pieces
    cdef vector[uint32_t] letters, targets
    cdef DraftC draft
    cdef uint32_t k, j, low, plain, target, debt = (key >> 3) & 255
    debt += debt > 0
    utf8_pieces(<uint8_t>(key & 7), &pieces)
    list_moves(&trie.moves[key >> 11], &letters, &targets)
    for k in range(<uint32_t>pieces.size()):
        low = pieces[k].low
        plain = after(work, out, trie, dispatch, ROOT, debt, pieces[k].place)
        for j in range(<uint32_t>letters.size()):
            if letters[j] < low or letters[j] > pieces[k].high:
                continue
            if letters[j] > low:
                byte_edge(&draft, low, letters[j] - 1, plain)
            target = after(work, out, trie, dispatch, targets[j], debt, pieces[k].place)
            byte_edge(&draft, letters[j], letters[j], target)
            low = letters[j] + 1
        byte_edge(&draft, low, pieces[k].high, plain)
    out[0][state].bytes.swap(draft.bytes)


cdef bint is_free(FlatIR ir, DispatchC* dispatch, uint32_t token) noexcept nogil:
    """Whether free text may hold the token outside patterns."""
    if dispatch.specials == NO_RULE:
        return False
    return binary_search(
        ir.token_sets[dispatch.specials].ids.begin(), ir.token_sets[dispatch.specials].ids.end(), token)


cdef void token_edges(
    WorkC* work, vector[DraftC]* out, TrieC* trie, DispatchC* dispatch, FlatIR ir, uint32_t state, uint32_t key
) noexcept nogil:
    """Tokens at a character boundary.

    The letters of patterns have moves of their own; all other allowed tokens lead to the root.
    """
    cdef vector[uint32_t] letters, targets, rest, one
    cdef uint32_t k, target, token, paid, q = key >> 11, debt = (key >> 3) & 255
    list_moves(&trie.moves[q], &letters, &targets)
    for k in range(<uint32_t>letters.size()):
        if letters[k] < 256:
            continue
        paid = 0 if debt == 0 and is_free(ir, dispatch, letters[k] - 256) else debt + 1
        target = after(work, out, trie, dispatch, targets[k], paid, BOUNDARY)
        one.assign(1, letters[k] - 256)
        token_edge(ir, &out[0][state], &one, target)
    if dispatch.specials == NO_RULE or debt:
        return
    for token in ir.token_sets[dispatch.specials].ids:
        if not trie.moves[q].count(token + 256):
            rest.push_back(token)
    target = text_state(work, out, pack(ROOT, 0, BOUNDARY))
    token_edge(ir, &out[0][state], &rest, target)


cdef void token_edge(
    FlatIR ir, DraftC* draft, vector[uint32_t]* ids, uint32_t target
) noexcept nogil:
    cdef SymbolEdgeC edge
    if target != NOTHING and ids.size():
        edge.symbol, edge.target = ir.intern_tokens(ids), target
        draft.tokens.push_back(edge)


cdef void build_dispatch(
    FlatIR ir, uint32_t number, bint counted, vector[DraftC]* out
) noexcept nogil:
    cdef DispatchC* dispatch = &ir.dispatches[number]
    cdef TrieC trie
    cdef WorkC work
    cdef uint32_t state = 0, key
    # of counted text every boundary between characters ends an iteration, the start included
    cdef uint8_t boundary = LOOP_STATE | FINAL_STATE if counted else FINAL_STATE
    build_trie(&trie, ir, dispatch)
    link(&trie)
    out.clear()
    work.done = NOTHING
    text_state(&work, out, pack(ROOT, 0, BOUNDARY))
    while state < out.size():
        key = work.keys[state]
        if key != NOTHING:
            out[0][state].is_plain_text = key >> 3 == 0
            out[0][state].missing = missing_bytes(key & 7)
            out[0][state].held = trie.held[key >> 11]
            byte_edges(&work, out, &trie, dispatch, state, key)
            if (key & 7) == BOUNDARY:
                token_edges(&work, out, &trie, dispatch, ir, state, key)
                if dispatch.open_end and (key >> 3) & 255 == 0:
                    out[0][state].flags |= boundary
        state += 1
