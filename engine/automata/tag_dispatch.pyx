"""Aho-Corasick with UTF-8: the trie of patterns, its states, and their edges."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..grammar.lowered cimport NO_RULE, ArmC, DispatchC, LoweredGrammar, letter_bytes
from ..native.hashing cimport MISSING, U64MapC, map_get, map_put
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport AFTER_E0, AFTER_F0, BOUNDARY, high_of, low_of, phase_after
from .determinize cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE, ByteEdgeC, SymbolEdgeC
from .rule_automata cimport Automata, StateC, set_live

cdef uint32_t ROOT = 0
cdef uint32_t NOTHING = 0xFFFFFFFF

# states made between two checks of limits, about a millisecond
cdef uint32_t STATES_PER_CHECK = 1024

# ranges of first bytes of characters that lead to one phase
cdef enum:
    FIRST_RANGES = 9
cdef uint8_t[FIRST_RANGES] FIRST_LOWS = [0x00, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4]
cdef uint8_t[FIRST_RANGES] FIRST_HIGHS = [0x7F, 0xDF, 0xE0, 0xEC, 0xED, 0xEF, 0xF0, 0xF3, 0xF4]


cdef uint8_t missing_bytes(uint8_t place) noexcept nogil:
    """Return the bytes that a character lacks at a place within it."""
    return place if place < AFTER_E0 else 2 if place < AFTER_F0 else 3


cdef struct PrefixC:
    # a node of the trie: a prefix of patterns
    uint32_t letter                  # the last letter
    uint32_t child, sibling          # first child; next sibling, ascending by letter
    uint32_t fail
    uint32_t held                    # bytes of the prefix
    uint32_t depth                   # letters of the prefix
    uint32_t arm                     # first of the longest arms that complete on entering the node (others: next_arm)
    uint32_t completed               # letters of the patterns of those arms
    uint32_t first_move, n_moves     # all letters that do not lead to the root, ascending
    uint8_t excluded                 # an exclude completes on entering the node
    uint8_t hopeless                 # a pattern completes whose arm has no text
    uint8_t arm_prefix               # a proper prefix of an arm's pattern

cdef struct TransitionC:
    uint32_t letter, target

cdef struct TrieC:
    vector[PrefixC] nodes
    vector[TransitionC] moves
    vector[uint32_t] next_arm        # by arm: the next one with the same pattern


# -- the trie of patterns --------------------------------------------------------------------------
cdef uint32_t add_node(TrieC* trie, uint32_t letter, uint32_t held, uint32_t depth) noexcept nogil:
    cdef PrefixC node
    node.letter, node.held, node.depth = letter, held, depth
    node.child = node.sibling = node.arm = NOTHING
    node.fail = ROOT
    node.completed = node.first_move = node.n_moves = 0
    node.excluded = node.hopeless = node.arm_prefix = 0
    trie.nodes.push_back(node)
    return <uint32_t>trie.nodes.size() - 1


cdef uint32_t child_of(TrieC* trie, LoweredGrammar ir, uint32_t q, uint32_t letter) noexcept nogil:
    """Return the child of a node by its letter, which is added if new."""
    cdef uint32_t before = NOTHING, at = trie.nodes[q].child, fresh
    while at != NOTHING and trie.nodes[at].letter < letter:
        before = at
        at = trie.nodes[at].sibling
    if at != NOTHING and trie.nodes[at].letter == letter:
        return at
    fresh = add_node(trie, letter, trie.nodes[q].held + letter_bytes(ir.vocabulary, letter), trie.nodes[q].depth + 1)
    trie.nodes[fresh].sibling = at
    if before == NOTHING:
        trie.nodes[q].child = fresh
    else:
        trie.nodes[before].sibling = fresh
    return fresh


cdef uint32_t insert(TrieC* trie, LoweredGrammar ir, ArmC* arm, bint is_arm) noexcept nogil:
    """Return the node of a whole pattern, which is added if new."""
    cdef uint32_t q = ROOT, k
    for k in range(arm.n):
        trie.nodes[q].arm_prefix |= is_arm
        q = child_of(trie, ir, q, ir.pool[arm.off + k])
    return q


cdef void build_trie(TrieC* trie, LoweredGrammar ir, DispatchC* dispatch) noexcept nogil:
    cdef ArmC* arms = ir.arms.data() + dispatch.first
    cdef uint32_t k, q, size = 1
    for k in range(dispatch.n_arms + dispatch.n_excludes):
        size += arms[k].n
    trie.nodes.reserve(min(size, <uint32_t>1024))
    trie.moves.reserve(min(2 * size, <uint32_t>1024))
    trie.next_arm.assign(dispatch.n_arms, NOTHING)
    add_node(trie, NOTHING, 0, 0)
    for k in range(dispatch.n_arms):
        q = insert(trie, ir, &arms[k], True)
        if ir.rules[arms[k].rule].productive:
            append_arm(trie, q, k)
            trie.nodes[q].completed = arms[k].n
        else:
            trie.nodes[q].hopeless = 1
    for k in range(dispatch.n_arms, dispatch.n_arms + dispatch.n_excludes):
        trie.nodes[insert(trie, ir, &arms[k], False)].excluded = 1


cdef void append_arm(TrieC* trie, uint32_t q, uint32_t arm) noexcept nogil:
    """Append an arm to those that complete at a node."""
    cdef uint32_t* last = &trie.nodes[q].arm
    while last[0] != NOTHING:
        last = &trie.next_arm[last[0]]
    last[0] = arm


cdef uint32_t move(TrieC* trie, uint32_t q, uint32_t letter) noexcept nogil:
    """Return the target of a letter, by binary search in the node's transitions."""
    cdef TransitionC* moves = trie.moves.data() + trie.nodes[q].first_move
    cdef uint32_t low = 0, high = trie.nodes[q].n_moves, middle
    while low < high:
        middle = (low + high) >> 1
        if moves[middle].letter < letter:
            low = middle + 1
        else:
            high = middle
    return moves[low].target if low < trie.nodes[q].n_moves and moves[low].letter == letter else ROOT


cdef bint link(Automata automata, TrieC* trie) noexcept nogil:
    """Add failure links, inherited outputs, and all transitions that do not lead to the root,
    breadth first. False after a limit.
    """
    cdef vector[uint32_t] todo
    cdef uint32_t at = 0, q, child
    cdef PrefixC* node
    cdef PrefixC* fail
    todo.reserve(trie.nodes.size())
    todo.push_back(ROOT)
    while at < todo.size():
        if at % STATES_PER_CHECK == 0 and automata.is_over(trie.moves.size()):
            return False
        q = todo[at]
        at += 1
        node = &trie.nodes[q]
        fail = &trie.nodes[node.fail]
        child = node.child
        while child != NOTHING:
            if q != ROOT:
                trie.nodes[child].fail = move(trie, node.fail, trie.nodes[child].letter)
            todo.push_back(child)
            child = trie.nodes[child].sibling
        if q != ROOT:
            node.excluded |= fail.excluded
            if node.arm == NOTHING and not node.hopeless:
                node.arm, node.completed, node.hopeless = fail.arm, fail.completed, fail.hopeless
        list_moves(trie, q)
    return True


cdef void list_moves(TrieC* trie, uint32_t q) noexcept nogil:
    """List a node's children and, for other letters, the transitions of its failure link."""
    cdef PrefixC* node = &trie.nodes[q]
    cdef uint32_t child = node.child, k = 0, n = 0 if q == ROOT else trie.nodes[node.fail].n_moves
    cdef uint32_t first = trie.nodes[node.fail].first_move
    cdef TransitionC transition
    node.first_move = <uint32_t>trie.moves.size()
    while child != NOTHING or k < n:
        if child == NOTHING or (k < n and trie.moves[first + k].letter < trie.nodes[child].letter):
            transition = trie.moves[first + k]
            k += 1
        else:
            transition.letter, transition.target = trie.nodes[child].letter, child
            k += k < n and trie.moves[first + k].letter == transition.letter
            child = trie.nodes[child].sibling
        trie.moves.push_back(transition)
    node.n_moves = <uint32_t>trie.moves.size() - node.first_move


# -- states ----------------------------------------------------------------------------------------
# A text state is (node, debt, place). The debt counts the letters since the first token that free
# text may not contain: the token is legal only within the pattern that completes.
cdef struct DispatchStateC:
    uint32_t q
    uint8_t debt, place, kind

cdef enum:
    TEXT = 0
    TRIGGER = 1
    DONE = 2

cdef struct DispatchBuilderC:
    # the states met so far, in order
    vector[DispatchStateC] states
    vector[uint32_t] at_boundary     # node -> its text state without debt at a boundary, NOTHING: not met
    U64MapC others                   # the other text states
    U64MapC triggers                 # node -> TRIGGER state
    U64MapC other_specials           # set of tokens with transitions -> set of the other specials
    uint32_t done                    # the state after arms that do not return, NOTHING: not needed yet
    uint32_t base                    # number of the first state
    const ArmC* arms


cdef uint32_t new_state(DispatchBuilderC* work, uint32_t q, uint8_t debt, uint8_t place, uint8_t kind) noexcept nogil:
    cdef DispatchStateC state
    state.q, state.debt, state.place, state.kind = q, debt, place, kind
    work.states.push_back(state)
    return work.base + <uint32_t>work.states.size() - 1


cdef uint32_t text_state(DispatchBuilderC* work, uint32_t q, uint32_t debt, uint8_t place) noexcept nogil:
    cdef uint64_t key
    cdef uint32_t state
    debt = min(debt, <uint32_t>255)
    if debt == 0 and place == BOUNDARY:
        if work.at_boundary[q] == NOTHING:
            work.at_boundary[q] = new_state(work, q, 0, BOUNDARY, TEXT)
        return work.at_boundary[q]
    # never 0, which is no key
    key = <uint64_t>q << 11 | debt << 3 | place
    state = map_get(&work.others, key)
    if state == MISSING:
        state = new_state(work, q, <uint8_t>debt, place, TEXT)
        map_put(&work.others, key, state)
    return state


cdef uint32_t trigger_state(DispatchBuilderC* work, TrieC* trie, uint32_t q) noexcept nogil:
    """Return the state after the patterns that complete at q; add DONE if an arm needs it."""
    cdef uint32_t state = map_get(&work.triggers, <uint64_t>q + 1), arm = trie.nodes[q].arm
    if state != MISSING:
        return state
    state = new_state(work, q, 0, BOUNDARY, TRIGGER)
    map_put(&work.triggers, <uint64_t>q + 1, state)
    while arm != NOTHING and work.done == NOTHING:
        if not work.arms[arm].returns:
            work.done = new_state(work, ROOT, 0, BOUNDARY, DONE)
        arm = trie.next_arm[arm]
    return state


cdef bint is_payable(TrieC* trie, uint32_t q, uint32_t debt) noexcept nogil:
    """Return whether an arm in progress covers the whole debt."""
    while trie.nodes[q].depth >= debt:
        if trie.nodes[q].arm_prefix:
            return True
        q = trie.nodes[q].fail
    return False


cdef uint32_t after(DispatchBuilderC* work, TrieC* trie, uint32_t q, uint32_t debt, uint8_t place) noexcept nogil:
    """Return the state on entering (q, debt, place); NOTHING if that is not allowed."""
    cdef PrefixC* node = &trie.nodes[q]
    if place == BOUNDARY:
        if node.excluded or node.hopeless:
            return NOTHING
        if node.arm != NOTHING:
            return NOTHING if debt > node.completed else trigger_state(work, trie, q)
    if debt and not is_payable(trie, q, debt):
        return NOTHING
    return text_state(work, q, debt, place)


# -- edges -----------------------------------------------------------------------------------------
cdef void byte_edge(Automata automata, StateC* state, uint32_t low, uint32_t high, uint32_t target) noexcept nogil:
    cdef ByteEdgeC edge
    if low > high or target == NOTHING:
        return
    set_live(state.live, low, high)
    if state.n_bytes and automata.byte_edges.back().target == target and automata.byte_edges.back().high + 1 == low:
        automata.byte_edges.back().high = <uint8_t>high
        return
    edge.low, edge.high, edge.target = <uint8_t>low, <uint8_t>high, target
    automata.byte_edges.push_back(edge)
    state.n_bytes += 1


cdef void byte_edges(
    Automata automata, DispatchBuilderC* work, TrieC* trie, DispatchStateC at, StateC* state
) noexcept nogil:
    """Add all legal bytes: those with transitions, and the ranges between them, to the root."""
    cdef TransitionC* moves = trie.moves.data() + trie.nodes[at.q].first_move
    cdef uint32_t k, j, low, high, plain, target, n = trie.nodes[at.q].n_moves, debt = at.debt + (at.debt > 0)
    cdef bint is_first = at.place == BOUNDARY
    cdef uint8_t place
    for k in range(FIRST_RANGES if is_first else 1):
        low, high = (FIRST_LOWS[k], FIRST_HIGHS[k]) if is_first else (low_of(at.place), high_of(at.place))
        place = phase_after(at.place, <uint8_t>low)
        plain = after(work, trie, ROOT, debt, place)
        for j in range(n):
            if moves[j].letter < low:
                continue
            if moves[j].letter > high:
                break
            if moves[j].letter > low:
                byte_edge(automata, state, low, moves[j].letter - 1, plain)
            target = after(work, trie, moves[j].target, debt, place)
            byte_edge(automata, state, moves[j].letter, moves[j].letter, target)
            low = moves[j].letter + 1
        byte_edge(automata, state, low, high, plain)


cdef void token_edge(Automata automata, StateC* state, uint32_t tokens, uint32_t target) noexcept nogil:
    cdef SymbolEdgeC edge
    if target != NOTHING:
        edge.symbol, edge.target = tokens, target
        automata.token_edges.push_back(edge)
        state.n_tokens += 1


cdef void token_edges(
    Automata automata, LoweredGrammar ir, DispatchBuilderC* work, TrieC* trie, uint32_t specials, DispatchStateC at,
    StateC* state
) noexcept nogil:
    """Add tokens at a character boundary.

    The letters of patterns have transitions; all other allowed tokens lead to the root.
    """
    cdef TransitionC* moves = trie.moves.data() + trie.nodes[at.q].first_move
    cdef vector[uint32_t] ids, own
    cdef uint32_t k, target, paid, rest, n = trie.nodes[at.q].n_moves
    for k in range(n):
        if moves[k].letter < 256:
            continue
        own.push_back(moves[k].letter - 256)
        own.push_back(moves[k].letter - 256)
        paid = at.debt + 1
        if at.debt == 0 and specials != NO_RULE and ir.has_token(specials, moves[k].letter - 256):
            paid = 0
        target = after(work, trie, moves[k].target, paid, BOUNDARY)
        ids.assign(2, moves[k].letter - 256)
        token_edge(automata, state, ir.intern_tokens(&ids), target)
    if specials == NO_RULE or at.debt:
        return
    rest = specials if own.empty() else tokens_without(work, ir, specials, &own)
    if ir.token_sets[rest].n:
        token_edge(automata, state, rest, text_state(work, ROOT, 0, BOUNDARY))


cdef uint32_t tokens_without(
    DispatchBuilderC* work, LoweredGrammar ir, uint32_t specials, vector[uint32_t]* own
) noexcept nogil:
    """Return the set of the special tokens that are not in ``own`` (ascending bounds); takes ``own`` over.

    Few nodes differ in their own tokens, but vocabularies have a thousand special ones, so equal
    ``own`` share a result. This was a third of the time to compile 40 tool sets in Harmony's
    format.
    """
    cdef vector[uint32_t] ids
    cdef const uint32_t* allowed = ir.token_sets[specials].bounds
    cdef const uint32_t* left_out
    cdef uint32_t k, j = 0, n = ir.token_sets[specials].n, left = ir.intern_tokens(own), rest, low
    rest = map_get(&work.other_specials, <uint64_t>left + 1)
    if rest != MISSING:
        return rest
    left_out = ir.token_sets[left].bounds
    for k in range(0, n, 2):
        low = allowed[k]
        while j < ir.token_sets[left].n and left_out[j] <= allowed[k + 1]:
            # each range of these has one id
            if left_out[j] > low:
                ids.push_back(low)
                ids.push_back(left_out[j] - 1)
            low = max(low, left_out[j] + 1)
            j += 2
        if low <= allowed[k + 1]:
            ids.push_back(low)
            ids.push_back(allowed[k + 1])
    rest = ir.intern_tokens(&ids)
    map_put(&work.other_specials, <uint64_t>left + 1, rest)
    return rest


cdef void arm_edges(
    Automata automata, TrieC* trie, const ArmC* arms, uint32_t q, uint32_t start, uint32_t done, StateC* state
) noexcept nogil:
    """Add the edges of a TRIGGER state: the rules of the arms that complete together."""
    cdef uint32_t arm = trie.nodes[q].arm
    cdef SymbolEdgeC edge
    state.flags = TRIGGER_STATE
    state.held = arms[arm].held
    while arm != NOTHING:
        edge.symbol, edge.target = arms[arm].rule, start if arms[arm].returns else done
        automata.ref_edges.push_back(edge)
        state.n_refs += 1
        arm = trie.next_arm[arm]


cdef bint build_dispatch(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil:
    cdef DispatchC* dispatch = &ir.dispatches[ir.rules[rule].dispatch]
    cdef TrieC trie
    cdef DispatchBuilderC work
    cdef DispatchStateC at
    cdef StateC state
    cdef uint32_t k = 0
    # in counted text every boundary between characters ends an iteration, including the start
    cdef uint8_t boundary = LOOP_STATE | FINAL_STATE if ir.rules[rule].iterates else FINAL_STATE
    build_trie(&trie, ir, dispatch)
    if not link(automata, &trie):
        return False
    work.done, work.base = NOTHING, <uint32_t>automata.states.size()
    work.arms = ir.arms.data() + dispatch.first
    work.others.used = work.triggers.used = work.other_specials.used = 0
    work.at_boundary.assign(trie.nodes.size(), NOTHING)
    work.states.reserve(min(<size_t>1024, trie.nodes.size() + 8))
    text_state(&work, ROOT, 0, BOUNDARY)
    while k < work.states.size():
        if k % STATES_PER_CHECK == 0 and automata.is_over(automata.byte_edges.size()):
            return False
        at = work.states[k]
        state = automata.new_state(rule)
        if at.kind == TEXT:
            state.is_plain_text = at.q == ROOT and at.debt == 0
            state.held = trie.nodes[at.q].held
            state.missing = missing_bytes(at.place)
            byte_edges(automata, &work, &trie, at, &state)
            if at.place == BOUNDARY:
                token_edges(automata, ir, &work, &trie, dispatch.specials, at, &state)
                if dispatch.open_end and at.debt == 0:
                    state.flags |= boundary
        elif at.kind == TRIGGER:
            arm_edges(automata, &trie, work.arms, at.q, work.base, work.done, &state)
        else:
            state.flags = FINAL_STATE
        automata.states.push_back(state)
        k += 1
    automata.first[rule], automata.tabled[rule] = work.base, 1
    return True


# -- anchored patterns -----------------------------------------------------------------------------
cdef void build_anchored(Automata automata, LoweredGrammar ir, uint32_t rule) noexcept nogil:
    cdef DispatchC* dispatch = &ir.dispatches[ir.rules[rule].dispatch]
    cdef TrieC trie
    cdef StateC state
    cdef uint32_t q, base = <uint32_t>automata.states.size(), done
    trie.next_arm.assign(dispatch.n_arms, NOTHING)
    add_node(&trie, NOTHING, 0, 0)
    for q in range(dispatch.n_arms):
        # the others lead to no end
        if ir.rules[ir.arms[dispatch.first + q].rule].productive:
            append_arm(&trie, insert(&trie, ir, &ir.arms[dispatch.first + q], True), q)
    done = base + <uint32_t>trie.nodes.size()
    for q in range(<uint32_t>trie.nodes.size()):
        state = automata.new_state(rule)
        state.held = trie.nodes[q].held
        anchored_edges(automata, ir, &trie, q, base, &state)
        if trie.nodes[q].arm != NOTHING:
            arm_edges(automata, &trie, ir.arms.data() + dispatch.first, q, base, done, &state)
        automata.states.push_back(state)
    state = automata.new_state(rule)
    state.flags = FINAL_STATE
    automata.states.push_back(state)
    automata.first[rule] = base


cdef void anchored_edges(
    Automata automata, LoweredGrammar ir, TrieC* trie, uint32_t q, uint32_t base, StateC* state
) noexcept nogil:
    """Add the edges to a node's children."""
    cdef uint32_t child = trie.nodes[q].child, letter
    cdef vector[uint32_t] ids
    while child != NOTHING:
        letter = trie.nodes[child].letter
        if letter < 256:
            byte_edge(automata, state, letter, letter, base + child)
        else:
            ids.assign(2, letter - 256)
            token_edge(automata, state, ir.intern_tokens(&ids), base + child)
        child = trie.nodes[child].sibling
