"""Strings but for some texts: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort

from .automata cimport Automata, StateC
from .draft cimport FINAL_STATE, ByteEdgeC
from .flat cimport NodeC
from .pool cimport vector
from .spelling cimport short_escape

ctypedef vector[uint32_t] Points

cdef uint32_t NONE = 0xFFFFFFFF


cdef struct PlaceC:
    # a place in a spelling; edges to other places, no two with one byte
    vector[ByteEdgeC] edges
    uint32_t like
    uint8_t is_text               # a text is complete here


cdef void read_texts(Automata automata, NodeC* node, vector[Points]* out) noexcept nogil:
    """The texts, each as its length and its code points in the pool, sorted."""
    cdef uint32_t at = node.off, end = node.off + node.n, n
    while at < end:
        n = automata.ir.pool[at]
        out.push_back(Points())
        out.back().assign(automata.ir.pool.begin() + at + 1, automata.ir.pool.begin() + at + 1 + n)
        at += n + 1
    sort(out.begin(), out.end())


cdef uint32_t body_target(Automata automata, uint32_t state, uint8_t byte) noexcept nogil:
    """Where the body's automaton goes, 0: nowhere."""
    cdef StateC* s = &automata.states[state]
    cdef uint32_t e
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        if automata.byte_edges[e].low <= byte <= automata.byte_edges[e].high:
            return automata.byte_edges[e].target
    return 0


cdef uint32_t new_place(vector[PlaceC]* places, uint32_t like) noexcept nogil:
    cdef PlaceC made
    made.like = like
    made.is_text = 0
    places.push_back(made)
    return <uint32_t>places.size() - 1


cdef uint32_t follow(
    Automata automata, vector[PlaceC]* places, uint32_t place, uint8_t byte, uint32_t target
) noexcept nogil:
    """The place behind a byte: ``target``, or if that is NONE, the one there or a new one.

    NONE where the body has no such byte.
    """
    cdef ByteEdgeC edge
    cdef uint32_t k, like
    for k in range(<uint32_t>places[0][place].edges.size()):
        if places[0][place].edges[k].low == byte:
            return places[0][place].edges[k].target
    like = body_target(automata, places[0][place].like, byte)
    if like == 0:
        return NONE
    if target == NONE:
        target = new_place(places, like)
    places[0][target].like = like
    edge.low = edge.high = byte
    edge.target = target
    places[0][place].edges.push_back(edge)
    return target


cdef uint32_t spell_hex(
    Automata automata, vector[PlaceC]* places, uint32_t unit, uint32_t place, uint32_t target
) noexcept nogil:
    """``\\uXXXX`` in either case; the place behind it, NONE: ``target``."""
    cdef uint32_t k, digit, to
    place = follow(automata, places, place, 0x5C, NONE)
    if place != NONE:
        place = follow(automata, places, place, 0x75, NONE)
    for k in range(4):
        if place == NONE:
            return NONE
        digit = unit >> (12 - 4 * k) & 15
        to = target if k == 3 else NONE
        if digit < 10:
            place = follow(automata, places, place, <uint8_t>(0x30 + digit), to)
        else:
            to = follow(automata, places, place, <uint8_t>(0x41 + digit - 10), to)
            if to != NONE:
                follow(automata, places, place, <uint8_t>(0x61 + digit - 10), to)
            place = to
    return place


cdef void spell(
    Automata automata, vector[PlaceC]* places, uint32_t c, uint32_t place, uint32_t target
) noexcept nogil:
    """All spellings of one character between two places."""
    cdef uint8_t utf8[4]
    cdef uint32_t n = 0, k, at = place
    if c < 0x80:
        utf8[0], n = <uint8_t>c, 1
    elif c < 0x800:
        utf8[0], n = <uint8_t>(0xC0 | c >> 6), 2
    elif c < 0x10000:
        utf8[0], n = <uint8_t>(0xE0 | c >> 12), 3
    else:
        utf8[0], n = <uint8_t>(0xF0 | c >> 18), 4
    for k in range(1, n):
        utf8[k] = <uint8_t>(0x80 | c >> (6 * (n - 1 - k)) & 0x3F)
    if c != 0x22 and c != 0x5C:
        for k in range(n):
            if at != NONE:
                at = follow(automata, places, at, utf8[k], target if k + 1 == n else NONE)
    if short_escape(c) != NONE:
        at = follow(automata, places, place, 0x5C, NONE)
        if at != NONE:
            follow(automata, places, at, <uint8_t>short_escape(c), target)
    if c < 0x10000:
        spell_hex(automata, places, c, place, target)
        return
    at = spell_hex(automata, places, 0xD800 + (c - 0x10000 >> 10), place, NONE)
    if at != NONE:
        spell_hex(automata, places, 0xDC00 + (c & 0x3FF), at, target)


cdef void build_other_text(Automata automata, uint32_t rule) noexcept nogil:
    """Appends the rule's states; the body's rule is built before."""
    cdef NodeC* node = &automata.ir.nodes[automata.ir.rules[rule].node]
    cdef uint32_t body = automata.start(node.a)
    cdef vector[Points] texts
    cdef vector[PlaceC] places
    cdef vector[uint32_t] path
    cdef uint32_t k, t, common, fresh
    if body == 0:
        return
    read_texts(automata, node, &texts)
    path.push_back(new_place(&places, body))
    for t in range(<uint32_t>texts.size()):
        common = 0
        if t:
            while (common < texts[t].size() and common < texts[t - 1].size()
                    and texts[t][common] == texts[t - 1][common]):
                common += 1
        path.resize(common + 1)
        for k in range(common, <uint32_t>texts[t].size()):
            fresh = new_place(&places, body)
            spell(automata, &places, texts[t][k], path.back(), fresh)
            path.push_back(fresh)
        places[path.back()].is_text = 1
    append(automata, rule, &places)


cdef bint edge_before(const ByteEdgeC& a, const ByteEdgeC& b) noexcept nogil:
    return a.low < b.low


cdef void append(Automata automata, uint32_t rule, vector[PlaceC]* places) noexcept nogil:
    cdef uint32_t base = <uint32_t>automata.states.size(), k, e
    cdef StateC state
    automata.first[rule] = base
    automata.tabled[rule] = 1
    for k in range(<uint32_t>places.size()):
        sort(places[0][k].edges.begin(), places[0][k].edges.end(), &edge_before)
        state = automata.states[places[0][k].like]
        state.rule, state.like = rule, places[0][k].like
        if places[0][k].is_text:
            state.flags &= ~FINAL_STATE
        state.byte_off = <uint32_t>automata.byte_edges.size()
        state.n_bytes = <uint32_t>places[0][k].edges.size()
        for e in range(state.n_bytes):
            places[0][k].edges[e].target += base
            automata.byte_edges.push_back(places[0][k].edges[e])
        automata.states.push_back(state)
