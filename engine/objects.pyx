"""Objects as automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from .pool cimport vector

from .draft cimport FINAL_STATE, ByteEdgeC, DraftC, SymbolEdgeC
from .flat cimport EMPTY, EXTRA_LAST, FAIL, MAY_BE_EMPTY, NO_RULE, FlatIR, NodeC
from .names cimport (
    NO_NAME, SpotC, StepC, TextC, list_steps, name_at, sort_names, start_of,
)
from .wordtable cimport table_number

cdef enum:
    # what was read last, in the order of the picture
    NOTHING = 0
    OPENED = 1
    FIRST_DUE = 2
    NAMED = 3
    BEFORE_COLON = 4
    COLON_READ = 5
    VALUE_DUE = 6
    MEMBER_READ = 7
    BEFORE_COMMA = 8
    COMMA_READ = 9
    NEXT_DUE = 10
    CLOSED = 11
    IN_NAME = 12
    NOWHERE = 13          # an object without any text

cdef enum:
    # what was read, the lowest member, and the spot: low, high, depth, stage, value
    PLACE_WORDS = 7


cdef struct PlaceC:
    uint32_t read, member
    SpotC spot


cdef void object_start(ObjectC* obj, FlatIR ir, uint32_t node) noexcept nogil:
    """Reads the node; members without any text are left out."""
    cdef NodeC* from_node = &ir.nodes[node]
    cdef uint32_t* at = &ir.pool[from_node.off]
    cdef uint32_t k, _k, n, rule
    cdef vector[TextC] texts
    cdef TextC text
    cdef vector[uint8_t] required
    obj.flags = from_node.b
    obj.space = rule_of(ir, at[0])
    obj.extra = rule_of(ir, at[1])
    at += 2
    for _k in range(from_node.a):
        n, rule = at[2], rule_of(ir, at[0])
        if rule != NO_RULE:
            obj.values.push_back(rule)
            required.push_back(at[1] != 0)
            text.points, text.n, text.number = at + 3, n, <uint32_t>texts.size()
            texts.push_back(text)
        at += 3 + n
    sort_names(&texts, &obj.names)
    n = <uint32_t>required.size()
    obj.due.assign(n + 1, NO_NAME)
    for k in range(n, 0, -1):
        obj.due[k - 1] = k - 1 if required[k - 1] else obj.due[k]
    number_of(obj, form(NOTHING if ir.productive[node] else NOWHERE, 0))


cdef uint32_t rule_of(FlatIR ir, uint32_t node) noexcept nogil:
    """A reference's rule, NO_RULE where there is nothing or it has no text."""
    if ir.nodes[node].kind in (EMPTY, FAIL) or not ir.productive[node]:
        return NO_RULE
    return ir.nodes[node].a


cdef inline PlaceC form(uint32_t read, uint32_t member) noexcept nogil:
    cdef PlaceC place
    place.read, place.member = read, member
    place.spot.low = place.spot.high = place.spot.depth = place.spot.stage = place.spot.value = 0
    return place


cdef uint32_t number_of(ObjectC* obj, PlaceC place) noexcept nogil:
    cdef uint32_t words[PLACE_WORDS]
    words[0], words[1], words[2], words[3] = place.read, place.member, place.spot.low, place.spot.high
    words[4], words[5], words[6] = place.spot.depth, place.spot.stage, place.spot.value
    return table_number(&obj.places, words, PLACE_WORDS)


cdef PlaceC place_of(ObjectC* obj, uint32_t number) noexcept nogil:
    cdef PlaceC place
    cdef uint32_t* words = &obj.places.words[obj.places.off[number]]
    place.read, place.member, place.spot.low, place.spot.high = words[0], words[1], words[2], words[3]
    place.spot.depth, place.spot.stage, place.spot.value = words[4], words[5], words[6]
    return place


cdef void object_state(ObjectC* obj, uint32_t number, DraftC* out) noexcept nogil:
    """The edges of a place; their targets are numbers of places."""
    cdef PlaceC place = place_of(obj, number)
    cdef uint32_t i = place.member
    out.flags, out.held, out.is_plain_text = 0, 0, 0
    if place.read == NOTHING:
        add_byte(obj, 0x7B, before_space(obj, OPENED, 0), out)
    elif place.read in (OPENED, NAMED, COLON_READ, MEMBER_READ, COMMA_READ):
        add_rule(obj, obj.space, form(place.read + 1, i), out)
    elif place.read == FIRST_DUE:
        add_members(obj, i, out)
        if obj.flags & MAY_BE_EMPTY:
            add_end(obj, i, out)
    elif place.read == BEFORE_COLON:
        add_byte(obj, 0x3A, before_space(obj, COLON_READ, i), out)
    elif place.read == VALUE_DUE:
        add_rule(obj, obj.values[i], before_space(obj, MEMBER_READ, i + 1), out)
    elif place.read == BEFORE_COMMA:
        if i < obj.values.size() or has_extra(obj, i):
            add_byte(obj, 0x2C, before_space(obj, COMMA_READ, i), out)
        add_end(obj, i, out)
    elif place.read == NEXT_DUE:
        add_members(obj, i, out)
    elif place.read == CLOSED:
        out.flags = FINAL_STATE
    elif place.read == IN_NAME:
        add_name(obj, &place, out)


cdef inline PlaceC before_space(ObjectC* obj, uint32_t read, uint32_t member) noexcept nogil:
    """The place, or where there is no white space the one behind it."""
    return form(read + (obj.space == NO_RULE), member)


cdef void add_byte(ObjectC* obj, uint32_t byte, PlaceC to, DraftC* out) noexcept nogil:
    cdef ByteEdgeC edge
    edge.low = edge.high = <uint8_t>byte
    edge.target = number_of(obj, to)
    out.bytes.push_back(edge)


cdef void add_rule(ObjectC* obj, uint32_t rule, PlaceC to, DraftC* out) noexcept nogil:
    cdef SymbolEdgeC edge
    edge.symbol, edge.target = rule, number_of(obj, to)
    out.refs.push_back(edge)


cdef bint has_extra(ObjectC* obj, uint32_t i) noexcept nogil:
    """Whether a member that isn't listed may come."""
    if obj.extra == NO_RULE:
        return False
    return not obj.flags & EXTRA_LAST or obj.due[i] == NO_NAME


cdef void add_members(ObjectC* obj, uint32_t i, DraftC* out) noexcept nogil:
    cdef PlaceC place
    if i < obj.values.size():
        place = form(IN_NAME, i)
        place.spot = start_of(&obj.names)
        add_byte(obj, 0x22, place, out)
    if has_extra(obj, i):
        if obj.flags & EXTRA_LAST:
            i = <uint32_t>obj.values.size()
        add_rule(obj, obj.extra, before_space(obj, MEMBER_READ, i), out)


cdef void add_end(ObjectC* obj, uint32_t i, DraftC* out) noexcept nogil:
    if obj.due[i] == NO_NAME:
        add_byte(obj, 0x7D, form(CLOSED, 0), out)


cdef void add_name(ObjectC* obj, PlaceC* place, DraftC* out) noexcept nogil:
    """Inside the name of a member from ``member`` up to the next required one."""
    cdef uint32_t last = obj.due[place.member], found
    cdef vector[StepC] steps
    cdef StepC step
    cdef PlaceC to
    found = name_at(&obj.names, &place.spot, place.member, last)
    list_steps(&obj.names, &place.spot, place.member, last, &steps)
    for step in steps:
        if found != NO_NAME and step.byte > 0x22:
            add_byte(obj, 0x22, before_space(obj, NAMED, found), out)
            found = NO_NAME
        to = form(IN_NAME, place.member)
        to.spot = step.to
        if to.spot.high == to.spot.low + 1:
            # one name is left: the same place, whichever members might have come
            to.member = obj.names.numbers[to.spot.low]
        add_byte(obj, step.byte, to, out)
    if found != NO_NAME:
        add_byte(obj, 0x22, before_space(obj, NAMED, found), out)
