"""Graphs of characters: their steps, and states made of them."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..grammar.ir cimport BOUNDED, NO_MAXIMUM, NodeC
from ..grammar.lowered cimport LoweredGrammar
from ..native.hashing cimport MISSING, U64MapC, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..native.reachability cimport group_by_state, reach
from ..native.word_table cimport table_bytes, table_number
from .determinize cimport (
    FINAL_STATE, LOOP_STATE, REF_EDGE, UNBUILT_STATE, BuildWorkC, ByteEdgeC, ByteNfaC, DfaStateC, determinise,
    minimise, nfa_edge, nfa_emit, nfa_start, nfa_state, trim,
)
from .rule_automata cimport NO_NAME, RULE_EDGES_EXCEEDED, Automata, CharGraphC, CharStepC, StateC, set_live


cdef size_t char_graph_bytes(const CharGraphC* graph) noexcept nogil:
    return (
        held_bytes(graph.off) + held_bytes(graph.classes) + held_bytes(graph.targets) + held_bytes(graph.finals)
        + held_bytes(graph.nearest) + table_bytes(&graph.sets) + held_bytes(graph.states) + table_bytes(&graph.keys)
        + table_bytes(&graph.within) + held_bytes(graph.states_within)
        + held_bytes(graph.steps) + graph.step_bytes)


cdef void build_char_graph(Automata automata, uint32_t rule) noexcept nogil:
    cdef NodeC* node = &automata.ir.nodes[automata.ir.rules[rule].node]
    cdef CharGraphC* graph
    cdef uint32_t q
    automata.char_graphs.resize(automata.char_graphs.size() + 1)
    graph = &automata.char_graphs.back()
    graph.counts = node.kind == BOUNDED
    graph.step_bytes = 0
    if graph.counts:
        node = &automata.ir.nodes[node.a]
    read_graph(automata.ir, node, graph)
    for q in range(node.a):
        table_number(&graph.sets, &q, 1)
    graph.states.assign(node.a, 0)
    graph.hub = hub_of(automata.ir, graph)
    if graph.counts:
        measure(automata, rule, graph)
    automata.tabled[rule] = 1
    q = 0
    automata.first[rule] = state_between(automata, rule, <uint32_t>automata.char_graphs.size() - 1, &q, 1)


cdef void read_graph(LoweredGrammar ir, NodeC* node, CharGraphC* graph) noexcept nogil:
    """Read the edges that lead to an end, by their sources."""
    cdef vector[uint32_t] sources, targets, classes, order
    cdef vector[uint8_t] live
    cdef uint32_t k, n = node.a
    cdef uint32_t* edge
    graph.finals.assign(n, 0)
    for k in range(node.c):
        graph.finals[ir.pool[node.b + k]] = 1
    live = graph.finals
    for k in range(node.n // 3):
        edge = &ir.pool[node.off + 3 * k]
        if ir.productive[edge[1]]:
            sources.push_back(edge[0])
            classes.push_back(edge[1])
            targets.push_back(edge[2])
    reach(&targets, &sources, &live)
    group_by_state(&sources, n, &graph.off, &order)
    # `off` counts the edges that are left out, too
    for k in range(<uint32_t>order.size()):
        graph.classes.push_back(classes[order[k]] if live[targets[order[k]]] else NO_NAME)
        graph.targets.push_back(targets[order[k]])


cdef uint32_t hub_of(LoweredGrammar ir, CharGraphC* graph) noexcept nogil:
    """Return the state that most characters of a graph's edges lead to."""
    cdef vector[uint64_t] taken
    cdef uint32_t e, best = 0
    taken.assign(graph.finals.size(), 0)
    for e in range(<uint32_t>graph.targets.size()):
        if graph.classes[e] != NO_NAME:
            taken[graph.targets[e]] += ir.widths[graph.classes[e]]
            if taken[graph.targets[e]] > taken[best]:
                best = graph.targets[e]
    return best


# -- steps -----------------------------------------------------------------------------------------

ctypedef struct ChoiceC:
    uint32_t node, target


cdef bint choice_before(const ChoiceC& a, const ChoiceC& b) noexcept nogil:
    return a.target < b.target or (a.target == b.target and a.node < b.node)


cdef uint32_t step_of(Automata automata, CharGraphC* graph, uint32_t number, vector[uint32_t]* targets) noexcept nogil:
    """Return the number of the step of a set of the graph's states, and fill its targets."""
    cdef vector[ChoiceC] choices
    cdef vector[uint32_t] key
    cdef ChoiceC choice
    cdef uint32_t k, e, q, found
    for k in range(graph.sets.off[number], graph.sets.off[number + 1]):
        q = graph.sets.words[k]
        for e in range(graph.off[q], graph.off[q + 1]):
            choice.node, choice.target = graph.classes[e], graph.targets[e]
            if choice.node != NO_NAME:
                choices.push_back(choice)
    sort(choices.begin(), choices.end(), &choice_before)
    targets.clear()
    for choice in choices:
        if targets.size() == 0 or targets.back() != choice.target:
            targets.push_back(choice.target)
        key.push_back(choice.node)
        key.push_back(<uint32_t>targets.size() - 1)
    found = table_number(&graph.keys, key.data(), key.size())
    if found == graph.steps.size():
        graph.steps.resize(found + 1)
        make_step(automata, key, &graph.steps.back())
        graph.step_bytes += step_bytes(&graph.steps.back())
    return found


cdef void make_step(Automata automata, const vector[uint32_t]& key, CharStepC* out) noexcept nogil:
    """Determinise the spellings of some classes. A target is a reference behind the character."""
    cdef ByteNfaC nfa
    cdef BuildWorkC work
    cdef uint32_t k, targets = 0
    work.done = 0
    work.cancelled = NULL
    nfa_start(&nfa, <uint32_t>-1)
    nfa_state(&nfa)
    nfa_state(&nfa)
    for k in range(1, <uint32_t>key.size(), 2):
        targets = max(targets, key[k] + 1)
    for k in range(targets):
        nfa_edge(&nfa, nfa_state(&nfa), REF_EDGE, k, 0, 1)
    for k in range(0, <uint32_t>key.size(), 2):
        nfa_emit(&nfa, automata.ir, key[k], 0, 2 + key[k + 1])
    if not determinise(&nfa, &out.dfa, <uint32_t>-1, &work):
        # never happens: the classes of a set's states would have to overlap in thousands of ways
        automata.error, automata.error_got = RULE_EDGES_EXCEEDED, <uint32_t>nfa.edges.size()
        out.dfa.resize(1)
    trim(&out.dfa)
    minimise(&out.dfa, &work)
    order_step(out)


cdef void order_step(CharStepC* step) noexcept nogil:
    """List the states of a step from the ends of its character on."""
    cdef vector[uint8_t] is_listed
    cdef uint32_t n = <uint32_t>step.dfa.size(), k
    is_listed.assign(n, 0)
    # a character has at most twelve bytes
    while step.order.size() < n:
        for k in range(n):
            if not is_listed[k] and (step.dfa[k].refs.size() or leads_to_listed(&step.dfa[k], &is_listed)):
                is_listed[k] = 1
                step.order.push_back(k)


cdef bint leads_to_listed(const DfaStateC* inner, const vector[uint8_t]* is_listed) noexcept nogil:
    cdef uint32_t e
    for e in range(<uint32_t>inner.bytes.size()):
        if not is_listed[0][inner.bytes[e].target]:
            return False
    return True


cdef size_t step_bytes(const CharStepC* step) noexcept nogil:
    cdef size_t size = held_bytes(step.dfa) + held_bytes(step.order), k
    for k in range(step.dfa.size()):
        size += held_bytes(step.dfa[k].bytes) + held_bytes(step.dfa[k].refs)
    return size


# -- states ----------------------------------------------------------------------------------------

cdef uint32_t state_between(
    Automata automata, uint32_t rule, uint32_t number, const uint32_t* members, uint32_t n
) noexcept nogil:
    """Return the state of a set of the graph's states, unbuilt if new."""
    cdef CharGraphC* graph = &automata.char_graphs[number]
    cdef uint32_t set_number = table_number(&graph.sets, members, n), k, e
    cdef StateC fresh
    if graph.states.size() <= set_number:
        graph.states.resize(set_number + 1, 0)
    if graph.states[set_number]:
        return graph.states[set_number]
    fresh = automata.states[0]
    fresh.rule, fresh.lazy, fresh.position = rule, number, set_number
    fresh.flags = UNBUILT_STATE | (LOOP_STATE if graph.counts else 0)
    fresh.onward = NO_MAXIMUM if graph.counts else 0
    for k in range(n):
        if graph.finals[members[k]]:
            fresh.flags |= FINAL_STATE
        for e in range(graph.off[members[k]], graph.off[members[k] + 1] if graph.counts else 0):
            if graph.classes[e] != NO_NAME:
                fresh.onward = min(fresh.onward, graph.nearest[graph.targets[e]] + 1)
    graph.states[set_number] = <uint32_t>automata.states.size()
    automata.states.push_back(fresh)
    return graph.states[set_number]


cdef void grow_char_graph(Automata automata, uint32_t state) noexcept nogil:
    """Make the edges of a state between characters, and the states within the next character."""
    cdef uint32_t number = automata.states[state].lazy, k
    cdef CharGraphC* graph = &automata.char_graphs[number]
    cdef vector[uint32_t] targets, states
    cdef CharStepC* step = &graph.steps[step_of(automata, graph, automata.states[state].position, &targets)]
    cdef StateC made
    states.assign(step.dfa.size(), 0)
    for k in step.order:
        if step.dfa[k].refs.size():
            states[k] = state_behind(automata, state, &step.dfa[k], &targets)
        elif k and not step.dfa[k].flags & FINAL_STATE:
            states[k] = state_within(automata, state, &step.dfa[k], &states)
    made = with_edges(automata, automata.states[state].rule, number, &step.dfa[0], &states)
    made.position, made.onward = automata.states[state].position, automata.states[state].onward
    made.flags = automata.states[state].flags & ~UNBUILT_STATE
    automata.states[state] = made


cdef uint32_t state_behind(
    Automata automata, uint32_t between, const DfaStateC* inner, const vector[uint32_t]* targets
) noexcept nogil:
    """Return the state where a character ends."""
    cdef vector[uint32_t] members
    cdef uint32_t k
    for k in range(<uint32_t>inner.refs.size()):
        members.push_back(targets[0][inner.refs[k].symbol])
    sort(members.begin(), members.end())
    return state_between(
        automata, automata.states[between].rule, automata.states[between].lazy, members.data(),
        <uint32_t>members.size())


cdef uint32_t state_within(
    Automata automata, uint32_t between, const DfaStateC* inner, const vector[uint32_t]* states
) noexcept nogil:
    """Return a state within a character: equal ones are one, so that walks see where two states between
    characters agree.
    """
    cdef CharGraphC* graph = &automata.char_graphs[automata.states[between].lazy]
    cdef vector[uint32_t] key
    cdef StateC made
    cdef ByteEdgeC edge
    cdef uint32_t e, found, target
    for e in range(<uint32_t>inner.bytes.size()):
        edge = inner.bytes[e]
        key.push_back(states[0][edge.target])
        key.push_back(<uint32_t>edge.low << 8 | edge.high)
    found = table_number(&graph.within, key.data(), key.size())
    if found < graph.states_within.size():
        return graph.states_within[found]
    made = with_edges(
        automata, automata.states[between].rule, automata.states[between].lazy, inner, states)
    made.position = NO_NAME
    if graph.counts:
        made.onward = NO_MAXIMUM
        for e in range(0, <uint32_t>key.size(), 2):
            target = key[e]
            if not automata.states[target].flags & LOOP_STATE:
                made.onward = min(made.onward, automata.states[target].onward)
            elif automata.states[target].flags & FINAL_STATE:
                made.onward = 1
            else:
                made.onward = min(made.onward, automata.states[target].onward + 1)
    graph.states_within.push_back(<uint32_t>automata.states.size())
    automata.states.push_back(made)
    return graph.states_within.back()


cdef StateC with_edges(
    Automata automata, uint32_t rule, uint32_t number, const DfaStateC* inner, const vector[uint32_t]* states
) noexcept nogil:
    """Return a state with the edges of a state of a step."""
    cdef StateC made = automata.new_state(rule)
    cdef ByteEdgeC edge
    cdef uint32_t e
    made.lazy = number
    made.n_bytes = <uint32_t>inner.bytes.size()
    for e in range(made.n_bytes):
        edge = inner.bytes[e]
        edge.target = states[0][edge.target]
        set_live(made.live, edge.low, edge.high)
        automata.byte_edges.push_back(edge)
    return made


# -- distances -------------------------------------------------------------------------------------

cdef void measure(Automata automata, uint32_t rule, CharGraphC* graph) noexcept nogil:
    """Compute the characters from each state of a graph to the nearest end, and what rule_automata knows of
    counted rules.
    """
    cdef uint32_t n = <uint32_t>graph.finals.size(), q, e, k, at = 0, farthest = 0
    cdef vector[uint32_t] sources, targets, off, order, todo
    cdef U64MapC seen
    for q in range(n):
        for e in range(graph.off[q], graph.off[q + 1]):
            if graph.classes[e] != NO_NAME:
                sources.push_back(q)
                targets.push_back(graph.targets[e])
    group_by_state(&targets, n, &off, &order)
    graph.nearest.assign(n, NO_MAXIMUM)
    for q in range(n):
        if graph.finals[q]:
            graph.nearest[q] = 0
            todo.push_back(q)
    while at < todo.size():
        q = todo[at]
        at += 1
        for k in range(off[q], off[q + 1]):
            if graph.nearest[sources[order[k]]] == NO_MAXIMUM:
                graph.nearest[sources[order[k]]] = graph.nearest[q] + 1
                todo.push_back(sources[order[k]])
    for e in range(<uint32_t>targets.size()):
        farthest = max(farthest, graph.nearest[targets[e]] + 1)
    automata.span[rule] = automata.vocabulary.max_token_bytes + farthest
    seen.used = 0
    for q in range(n):
        for e in range(graph.off[q], graph.off[q + 1] if graph.finals[q] else 0):
            if graph.classes[e] != NO_NAME and map_get(&seen, <uint64_t>graph.classes[e] + 1) == MISSING:
                map_put(&seen, <uint64_t>graph.classes[e] + 1, 0)
                add_begins(automata, rule, graph.classes[e])


cdef void add_begins(Automata automata, uint32_t rule, uint32_t node) noexcept nogil:
    """Add the first bytes of a class to those that begin an iteration."""
    cdef ByteNfaC nfa
    cdef uint32_t k
    nfa_start(&nfa, <uint32_t>-1)
    nfa_state(&nfa)
    nfa_state(&nfa)
    nfa_emit(&nfa, automata.ir, node, 0, 1)
    for k in range(<uint32_t>nfa.edges.size()):
        if nfa.edges[k].source == 0:
            set_live(&automata.begins[4 * rule], nfa.edges[k].a, nfa.edges[k].b)
