"""Strings but for some texts: see the header file."""

from libc.stdint cimport uint8_t, uint32_t

from ..grammar.lowered cimport NodeC
from ..native.pool cimport vector
from .dfa_state cimport FINAL_STATE, UNBUILT_STATE, ByteEdgeC
from .name_trie cimport (
    NO_NAME, ChoiceC, SpotC, SpotsC, StepC, every_name, list_steps, name_at, number_spot,
    read_texts, spot_at, start_of,
)
from .rule_automata cimport Automata, StateC


cdef uint32_t body_target(Automata automata, uint32_t state, uint8_t byte) noexcept nogil:
    """Where the body's automaton goes, 0: nowhere."""
    cdef StateC* s = &automata.states[state]
    cdef uint32_t e
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        if automata.byte_edges[e].low <= byte <= automata.byte_edges[e].high:
            return automata.byte_edges[e].target
    return 0


cdef uint32_t state_of(Automata automata, uint32_t rule, uint32_t other, SpotC spot, uint32_t like) noexcept nogil:
    """The state of a spot; a new one has no edges of its own yet."""
    cdef SpotsC* texts = &automata.texts[other]
    cdef ChoiceC all_names = every_name()
    cdef uint32_t number = number_spot(texts, &spot), n = <uint32_t>automata.states.size(), made
    made = automata.unbuilt(&texts.states, rule, other, number)
    if made == n:
        automata.states[made] = automata.states[like]
        automata.states[made].rule, automata.states[made].like = rule, like
        automata.states[made].lazy, automata.states[made].place = other, number
        automata.states[made].n_bytes = 0
        automata.states[made].flags |= UNBUILT_STATE
        if name_at(&texts.names, &spot, &all_names) != NO_NAME:
            automata.states[made].flags &= ~FINAL_STATE
    return made


cdef void build_other_text(Automata automata, uint32_t rule) noexcept nogil:
    """Makes the rule's first state; the body's rule is built before."""
    cdef NodeC* node = &automata.ir.nodes[automata.ir.rules[rule].node]
    cdef uint32_t body = automata.start(node.a), other = <uint32_t>automata.texts.size()
    if body == 0:
        return
    automata.texts.resize(other + 1)
    read_texts(&automata.texts[other], &automata.ir.pool[node.off], node.n, False)
    automata.tabled[rule] = 1
    automata.first[rule] = state_of(automata, rule, other, start_of(&automata.texts[other].names), body)


cdef void grow_other_text(Automata automata, uint32_t state) noexcept nogil:
    """Makes the edges of a state: those that go on with a text."""
    cdef StateC made = automata.states[state]
    cdef SpotsC* texts = &automata.texts[made.lazy]
    cdef SpotC spot = spot_at(texts, made.place)
    cdef ChoiceC all_names = every_name()
    cdef vector[StepC] steps
    cdef vector[ByteEdgeC] edges
    cdef StepC step
    cdef ByteEdgeC edge
    cdef uint32_t like
    list_steps(&texts.names, &spot, &all_names, &steps)
    for step in steps:
        like = body_target(automata, made.like, step.byte)
        if like:
            edge.low = edge.high = step.byte
            edge.target = state_of(automata, made.rule, made.lazy, step.to, like)
            edges.push_back(edge)
    made.byte_off, made.n_bytes = <uint32_t>automata.byte_edges.size(), <uint32_t>edges.size()
    made.flags &= ~UNBUILT_STATE
    automata.byte_edges.insert(automata.byte_edges.end(), edges.begin(), edges.end())
    automata.states[state] = made
