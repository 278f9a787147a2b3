"""Rules without any text: see the header file."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

from ...budget cimport spend
from ...grammar.ir cimport Grammar
from ...grammar.lowered cimport (
    ALT, BOUNDED, FAIL, GRAPH, OBJECT, REF, REPEAT, SEQ, NodeC, list_members, members_suffice,
)
from ...native.pool cimport vector

# words of a grammar that a pass looks at in about a microsecond
cdef int64_t WORDS_PER_STEP = 32


cdef bint is_productive(Grammar grammar, uint32_t node):
    """A least fixpoint over what ``node`` refers to."""
    cdef vector[uint8_t] known
    cdef vector[uint32_t] order
    cdef size_t k
    cdef bint changed = True
    cdef int64_t work = 1 + <int64_t>(grammar.node_list.size() + grammar.pool.size()) // WORDS_PER_STEP
    known.assign(grammar.rule_nodes.size(), 0)
    find_rules(grammar, node, &order)
    while changed:
        changed = False
        spend(grammar.budget, work)
        for k in range(order.size(), 0, -1):
            if not known[order[k - 1]] and has_word(grammar, grammar.rule_nodes[order[k - 1]], &known):
                known[order[k - 1]] = changed = True
    return has_word(grammar, node, &known)


cdef void find_rules(Grammar grammar, uint32_t node, vector[uint32_t]* order) noexcept nogil:
    """The rules below a node, outer ones first."""
    cdef vector[uint8_t] seen, found
    cdef vector[uint32_t] todo, members
    cdef NodeC at
    cdef uint32_t k
    cdef size_t next = 0
    seen.assign(grammar.node_list.size(), 0)
    found.assign(grammar.rule_nodes.size(), 0)
    visit(node, &seen, &todo)
    while next < todo.size():
        at = grammar.node_list[todo[next]]
        next += 1
        if at.kind == REF:
            if not found[at.a]:
                found[at.a] = 1
                order.push_back(at.a)
                visit(grammar.rule_nodes[at.a], &seen, &todo)
        elif at.kind == REPEAT:
            visit(at.a, &seen, &todo)
        elif at.kind == SEQ or at.kind == ALT:
            for k in range(at.n):
                visit(grammar.pool[at.off + k], &seen, &todo)
        elif at.kind == GRAPH:
            for k in range(at.n // 3):
                visit(grammar.pool[at.off + 3 * k + 1], &seen, &todo)
        elif at.kind == OBJECT:
            list_members(&at, grammar.pool.data(), &members)
            for k in members:
                visit(k, &seen, &todo)


cdef inline void visit(uint32_t node, vector[uint8_t]* seen, vector[uint32_t]* todo) noexcept nogil:
    if not seen[0][node]:
        seen[0][node] = 1
        todo.push_back(node)


cdef bint has_word(Grammar grammar, uint32_t node, vector[uint8_t]* known) noexcept nogil:
    """As far as is known. Nodes hold one another a few levels deep: inside values only there are rules."""
    cdef NodeC at = grammar.node_list[node]
    cdef uint32_t k
    if at.kind == REF:
        return known[0][at.a]
    if at.kind == SEQ:
        for k in range(at.n):
            if not has_word(grammar, grammar.pool[at.off + k], known):
                return False
        return True
    if at.kind == ALT:
        for k in range(at.n):
            if has_word(grammar, grammar.pool[at.off + k], known):
                return True
        return False
    if at.kind == BOUNDED:
        return has_word(grammar, at.a, known)
    if at.kind == REPEAT:
        return at.b == 0 or has_word(grammar, at.a, known)
    if at.kind == GRAPH:
        return has_way(grammar, &at, known)
    if at.kind == OBJECT:
        return has_members(grammar, &at, known)
    return at.kind != FAIL


cdef bint has_members(Grammar grammar, NodeC* node, vector[uint8_t]* known) noexcept nogil:
    """Whether all required members have a word, and some member, where one is needed."""
    cdef vector[uint8_t] good
    cdef vector[uint32_t] members
    cdef uint32_t k
    list_members(node, grammar.pool.data(), &members)
    for k in members:
        good.push_back(has_word(grammar, k, known))
    return members_suffice(node, grammar.pool.data(), good.data())


cdef bint has_way(Grammar grammar, NodeC* graph, vector[uint8_t]* known) noexcept nogil:
    """Whether a final state is reached over edges that have a word."""
    cdef vector[uint32_t] off, order, todo
    cdef vector[uint8_t] reached
    cdef uint32_t* edges = &grammar.pool[graph.off]
    cdef uint32_t k, s, n = graph.n // 3
    cdef size_t next = 0
    off.assign(graph.a + 1, 0)
    for k in range(n):
        off[edges[3 * k] + 1] += 1
    for s in range(graph.a):
        off[s + 1] += off[s]
    order.resize(n)
    todo = off
    for k in range(n):
        order[todo[edges[3 * k]]] = k
        todo[edges[3 * k]] += 1
    reached.assign(graph.a, 0)
    reached[0] = 1
    todo.assign(1, 0)
    while next < todo.size():
        s = todo[next]
        next += 1
        for k in range(off[s], off[s + 1]):
            if not reached[edges[3 * order[k] + 2]] and has_word(grammar, edges[3 * order[k] + 1], known):
                reached[edges[3 * order[k] + 2]] = 1
                todo.push_back(edges[3 * order[k] + 2])
    for k in range(graph.c):
        if reached[grammar.pool[graph.b + k]]:
            return True
    return False
