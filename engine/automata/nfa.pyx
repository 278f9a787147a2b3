"""IR nodes -> edges of an ``NfaC``: see the header file."""

from libc.stdint cimport uint32_t

from ..grammar.lowered cimport (
    ALT, BOUNDED, BYTES, CAPTURE, CHARS, DISPATCH, EMPTY, GRAPH, JSON_CHARS, NO_MAXIMUM, NO_RULE,
    OBJECT, OTHER_TEXT, OTHER_TOKENS, REF, REPEAT, SEQ, TEXT, TEXTS, TOKENS, LoweredGrammar, NodeC,
)
from ..grammar.spelling cimport emit_json_char, emit_utf8


cdef void nfa_start(NfaC* nfa, uint32_t limit) noexcept nogil:
    nfa.edges.clear()
    nfa.size = 0
    nfa.limit = limit
    nfa.counted_low = nfa.counted_high = 0
    nfa.overflow = False


cdef uint32_t nfa_state(NfaC* nfa) noexcept nogil:
    nfa.size += 1
    return nfa.size - 1


cdef void nfa_edge(
    NfaC* nfa, uint32_t s, uint32_t kind, uint32_t a, uint32_t b, uint32_t t
) noexcept nogil:
    cdef EdgeC edge
    if nfa.edges.size() >= nfa.limit:
        nfa.overflow = True
        return
    edge.source, edge.kind, edge.a, edge.b, edge.target = s, kind, a, b, t
    nfa.edges.push_back(edge)


cdef void nfa_emit(NfaC* nfa, LoweredGrammar ir, uint32_t number, uint32_t s, uint32_t t) noexcept nogil:
    """The language of a node between states s and t."""
    cdef NodeC* node = &ir.nodes[number]
    cdef uint32_t k
    if nfa.overflow or not ir.productive[number]:
        return
    if ir.rule_of_node[number] != NO_RULE and node.kind in (
            REPEAT, CAPTURE, DISPATCH, TEXTS, OTHER_TEXT, OBJECT, BOUNDED):
        nfa_edge(nfa, s, REF_EDGE, ir.rule_of_node[number], 0, t)
    elif node.kind == EMPTY:
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)
    elif node.kind == BYTES:
        emit_bytes(nfa, ir, node, s, t)
    elif node.kind == TEXT:
        emit_text(nfa, ir, node, s, t)
    elif node.kind == CHARS:
        for k in range(node.n // 2):
            emit_utf8(nfa, ir.pool[node.off + 2 * k], ir.pool[node.off + 2 * k + 1], s, t)
    elif node.kind == JSON_CHARS:
        emit_json_char(nfa, &ir.pool[node.off], node.n // 2, s, t)
    elif node.kind == SEQ:
        for k in range(node.n - 1):
            number = nfa_state(nfa)
            nfa_emit(nfa, ir, ir.pool[node.off + k], s, number)
            s = number
        nfa_emit(nfa, ir, ir.pool[node.off + node.n - 1], s, t)
    elif node.kind == ALT:
        for k in range(node.n):
            nfa_emit(nfa, ir, ir.pool[node.off + k], s, t)
    elif node.kind == REPEAT:
        emit_repeat(nfa, ir, node, s, t)
    elif node.kind == REF:
        nfa_edge(nfa, s, REF_EDGE, node.a, 0, t)
    elif node.kind == TOKENS or node.kind == OTHER_TOKENS:
        nfa_edge(nfa, s, TOKEN_EDGE, node.a, 0, t)
    elif node.kind == GRAPH:
        emit_graph(nfa, ir, node, s, t)
    elif node.kind == BOUNDED:
        emit_bounded(nfa, ir, node, s, t)


cdef void emit_bytes(NfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    cdef uint32_t k, to
    for k in range(node.n):
        to = t if k + 1 == node.n else nfa_state(nfa)
        nfa_edge(nfa, s, BYTE_EDGE, ir.pool[node.off + k], ir.pool[node.off + k], to)
        s = to


cdef void emit_text(NfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Decoded text in any spelling: every character is a class of one."""
    cdef uint32_t k, to
    cdef uint32_t pair[2]
    for k in range(node.n):
        to = t if k + 1 == node.n else nfa_state(nfa)
        pair[0] = pair[1] = ir.pool[node.off + k]
        emit_json_char(nfa, pair, 1, s, to)
        s = to


cdef void emit_repeat(NfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Written out: the least copies, then a loop or optional copies."""
    cdef uint32_t _k, to
    for _k in range(node.b):
        if nfa.overflow:
            return
        to = nfa_state(nfa)
        nfa_emit(nfa, ir, node.a, s, to)
        s = to
    if node.c == NO_MAXIMUM:
        to = nfa_state(nfa)
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, to)
        nfa_emit(nfa, ir, node.a, to, to)
        nfa_edge(nfa, to, EPSILON_EDGE, 0, 0, t)
        return
    for _k in range(node.c - node.b):
        if nfa.overflow:
            return
        nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)
        to = nfa_state(nfa)
        nfa_emit(nfa, ir, node.a, s, to)
        s = to
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, t)


cdef void emit_graph(NfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """The graph's states become states; I1 holds because s and t only get empty moves."""
    cdef uint32_t k, base = nfa.size
    cdef uint32_t* edge
    nfa.size += node.a
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, base)
    for k in range(node.n // 3):
        edge = &ir.pool[node.off + 3 * k]
        nfa_emit(nfa, ir, edge[1], base + edge[0], base + edge[2])
    for k in range(node.c):
        nfa_edge(nfa, base + ir.pool[node.b + k], EPSILON_EDGE, 0, 0, t)


cdef void nfa_emit_counted(NfaC* nfa, LoweredGrammar ir, uint32_t number) noexcept nogil:
    """A graph of characters between states 0 and 1; its states lie between characters."""
    nfa.counted_low = nfa.size
    nfa.counted_high = nfa.size + ir.nodes[number].a
    emit_graph(nfa, ir, &ir.nodes[number], 0, 1)


cdef void emit_bounded(NfaC* nfa, LoweredGrammar ir, NodeC* node, uint32_t s, uint32_t t) noexcept nogil:
    """Written out: a copy of the graph's states for each count; past the bounds counts are one."""
    cdef NodeC* graph = &ir.nodes[node.a]
    cdef uint32_t base = nfa.size, most = node.b if node.c == NO_MAXIMUM else node.c, n, k
    cdef uint32_t* edge
    if (most + <unsigned long long>1) * graph.a > nfa.limit:
        nfa.overflow = True
        return
    nfa.size += (most + 1) * graph.a
    nfa_edge(nfa, s, EPSILON_EDGE, 0, 0, base)
    for n in range(most + 1):
        for k in range(graph.n // 3 if n < most or node.c == NO_MAXIMUM else 0):
            edge = &ir.pool[graph.off + 3 * k]
            nfa_emit(nfa, ir, edge[1], base + n * graph.a + edge[0], base + min(n + 1, most) * graph.a + edge[2])
        for k in range(graph.c if n >= node.b else 0):
            nfa_edge(nfa, base + n * graph.a + ir.pool[graph.b + k], EPSILON_EDGE, 0, 0, t)
