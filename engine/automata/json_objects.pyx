"""Objects as automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from ..native.pool cimport held_bytes, vector

from ..grammar.lowered cimport (
    ANY_ORDER, EMPTY, EXTRA_LAST, FAIL, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, NO_RULE, SPELLED,
    LoweredGrammar, NodeC, first_member,
)
from ..native.bitset cimport has_bit
from ..native.word_table cimport table_bytes, table_number
from .dfa_state cimport FINAL_STATE, ByteEdgeC, DfaStateC, SymbolEdgeC
from .name_trie cimport (
    NO_NAME, ChoiceC, SpotC, StepC, TextC, list_steps, name_at, names_bytes, sort_names, start_of,
)

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
    # of a layout
    OPENING = 0
    COMMA = 1
    COLON = 2
    CLOSING = 3

cdef enum:
    # what was read, the lowest member, the set, and the spot: low, high, depth, stage, value
    PLACE_WORDS = 8


cdef struct PlaceC:
    # in any order, ``member`` is the one whose value is due, and ``taken`` the set of those written
    uint32_t read, member, taken
    SpotC spot


cdef size_t object_bytes(const ObjectC* obj) noexcept nogil:
    return (
        names_bytes(&obj.names) + held_bytes(obj.values) + held_bytes(obj.due) + held_bytes(obj.required)
        + table_bytes(&obj.sets) + table_bytes(&obj.places) + held_bytes(obj.states))


cdef void object_start(ObjectC* obj, LoweredGrammar ir, uint32_t node) noexcept nogil:
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
    if obj.flags & LAID_OUT:
        for k in range(LAYOUT_PARTS):
            obj.layout[k] = rule_of(ir, at[2 + k])
    at = &ir.pool[first_member(from_node)]
    for _k in range(from_node.a):
        n, rule = at[2], rule_of(ir, at[0])
        if rule != NO_RULE:
            obj.values.push_back(rule)
            required.push_back(at[1] != 0)
            text.points, text.n, text.number = at + 3, n, <uint32_t>texts.size()
            texts.push_back(text)
        at += 3 + n
    sort_names(&texts, &obj.names)
    obj.names.spelled = obj.flags & SPELLED
    n = <uint32_t>required.size()
    obj.due.assign(n + 1, NO_NAME)
    for k in range(n, 0, -1):
        obj.due[k - 1] = k - 1 if required[k - 1] else obj.due[k]
    obj.required.assign((n + 31) // 32, 0)
    table_number(&obj.sets, obj.required.data(), obj.required.size())
    for k in range(n):
        obj.required[k >> 5] |= <uint32_t>(required[k] != 0) << (k & 31)
    number_of(obj, form(NOTHING if ir.productive[node] else NOWHERE, 0, 0))


cdef uint32_t rule_of(LoweredGrammar ir, uint32_t node) noexcept nogil:
    """A reference's rule, NO_RULE where there is nothing or it has no text."""
    if ir.nodes[node].kind in (EMPTY, FAIL) or not ir.productive[node]:
        return NO_RULE
    return ir.nodes[node].a


cdef inline PlaceC form(uint32_t read, uint32_t member, uint32_t taken) noexcept nogil:
    cdef PlaceC place
    place.read, place.member, place.taken = read, member, taken
    place.spot.low = place.spot.high = place.spot.depth = place.spot.stage = place.spot.value = 0
    return place


cdef uint32_t number_of(ObjectC* obj, PlaceC place) noexcept nogil:
    cdef uint32_t words[PLACE_WORDS]
    words[0], words[1], words[2], words[3] = place.read, place.member, place.spot.low, place.spot.high
    words[4], words[5], words[6] = place.spot.depth, place.spot.stage, place.spot.value
    words[7] = place.taken
    return table_number(&obj.places, words, PLACE_WORDS)


cdef PlaceC place_of(ObjectC* obj, uint32_t number) noexcept nogil:
    cdef PlaceC place
    cdef uint32_t* words = &obj.places.words[obj.places.off[number]]
    place.read, place.member, place.spot.low, place.spot.high = words[0], words[1], words[2], words[3]
    place.spot.depth, place.spot.stage, place.spot.value = words[4], words[5], words[6]
    place.taken = words[7]
    return place


cdef void object_state(ObjectC* obj, uint32_t number, DfaStateC* out) noexcept nogil:
    """The edges of a place; their targets are numbers of places."""
    cdef PlaceC place = place_of(obj, number)
    cdef uint32_t i = place.member, taken = place.taken
    out.flags, out.held, out.is_plain_text = 0, 0, 0
    if obj.flags & LAID_OUT and laid_out_state(obj, &place, out):
        return
    if place.read == NOTHING:
        add_byte(obj, 0x7B, before_space(obj, OPENED, 0, 0), out)
    elif place.read in (OPENED, NAMED, COLON_READ, MEMBER_READ, COMMA_READ):
        add_rule(obj, obj.space, form(place.read + 1, i, taken), out)
    elif place.read == FIRST_DUE:
        add_members(obj, &place, out)
        if obj.flags & MAY_BE_EMPTY:
            add_end(obj, &place, out)
    elif place.read == BEFORE_COLON:
        add_byte(obj, 0x3A, before_space(obj, COLON_READ, i, taken), out)
    elif place.read == VALUE_DUE:
        add_rule(obj, obj.values[i], behind_value(obj, &place), out)
    elif place.read == BEFORE_COMMA:
        if has_listed(obj, &place) or has_extra(obj, &place):
            add_byte(obj, 0x2C, before_space(obj, COMMA_READ, i, taken), out)
        add_end(obj, &place, out)
    elif place.read == NEXT_DUE:
        add_members(obj, &place, out)
    elif place.read == CLOSED:
        out.flags = FINAL_STATE
    elif place.read == IN_NAME:
        add_name(obj, &place, out)


cdef bint laid_out_state(ObjectC* obj, const PlaceC* place, DfaStateC* out) noexcept nogil:
    """The edges of a place where the layout has a part; False: it has none there."""
    cdef uint32_t i = place.member, taken = place.taken
    if place.read == OPENED:
        if obj.flags & MAY_BE_EMPTY:
            add_end(obj, place, out)
        if obj.layout[OPENING] == NO_RULE:
            add_members(obj, place, out)
        elif has_listed(obj, place) or has_extra(obj, place):
            add_rule(obj, obj.layout[OPENING], form(NEXT_DUE, i, taken), out)
    elif place.read == NAMED:
        add_rule(obj, obj.layout[COLON], form(VALUE_DUE, i, taken), out)
    elif place.read == MEMBER_READ:
        if has_listed(obj, place) or has_extra(obj, place):
            add_rule(obj, obj.layout[COMMA], form(NEXT_DUE, i, taken), out)
        if has_required(obj, place):
            add_rule(obj, obj.layout[CLOSING], form(CLOSED, 0, 0), out)
    else:
        return False
    return True


cdef inline PlaceC before_space(ObjectC* obj, uint32_t read, uint32_t member, uint32_t taken) noexcept nogil:
    """The place, or where there is no white space the one behind it."""
    return form(read + (obj.space == NO_RULE and not obj.flags & LAID_OUT), member, taken)


cdef PlaceC behind_value(ObjectC* obj, const PlaceC* place) noexcept nogil:
    """The place behind the value of a listed member."""
    cdef vector[uint32_t] words
    cdef uint32_t i = place.member
    if not obj.flags & ANY_ORDER:
        return before_space(obj, MEMBER_READ, i + 1, 0)
    words.assign(taken_words(obj, place), taken_words(obj, place) + obj.required.size())
    words[i >> 5] |= <uint32_t>1 << (i & 31)
    return before_space(obj, MEMBER_READ, 0, table_number(&obj.sets, words.data(), words.size()))


cdef inline const uint32_t* taken_words(ObjectC* obj, const PlaceC* place) noexcept nogil:
    return obj.sets.words.data() + obj.sets.off[place.taken]


cdef void add_byte(ObjectC* obj, uint32_t byte, PlaceC to, DfaStateC* out) noexcept nogil:
    cdef ByteEdgeC edge
    edge.low = edge.high = <uint8_t>byte
    edge.target = number_of(obj, to)
    out.bytes.push_back(edge)


cdef void add_rule(ObjectC* obj, uint32_t rule, PlaceC to, DfaStateC* out) noexcept nogil:
    cdef SymbolEdgeC edge
    edge.symbol, edge.target = rule, number_of(obj, to)
    out.refs.push_back(edge)


cdef bint has_required(ObjectC* obj, const PlaceC* place) noexcept nogil:
    """Whether no required member is still to come."""
    cdef const uint32_t* taken
    cdef size_t k
    if not obj.flags & ANY_ORDER:
        return obj.due[place.member] == NO_NAME
    taken = taken_words(obj, place)
    for k in range(obj.required.size()):
        if obj.required[k] & ~taken[k]:
            return False
    return True


cdef bint has_listed(ObjectC* obj, const PlaceC* place) noexcept nogil:
    """Whether a listed member may come."""
    cdef uint32_t k
    if not obj.flags & ANY_ORDER:
        return place.member < obj.values.size()
    for k in range(<uint32_t>obj.values.size()):
        if not has_bit(taken_words(obj, place), k):
            return True
    return False


cdef bint has_extra(ObjectC* obj, const PlaceC* place) noexcept nogil:
    """Whether a member that isn't listed may come."""
    if obj.extra == NO_RULE:
        return False
    return not obj.flags & EXTRA_LAST or has_required(obj, place)


cdef void add_members(ObjectC* obj, const PlaceC* at, DfaStateC* out) noexcept nogil:
    cdef PlaceC place
    cdef uint32_t i = at.member, taken = at.taken
    if has_listed(obj, at):
        place = form(IN_NAME, i, taken)
        place.spot = start_of(&obj.names)
        add_byte(obj, 0x22, place, out)
    if has_extra(obj, at):
        if obj.flags & EXTRA_LAST:
            i, taken = <uint32_t>obj.values.size(), all_taken(obj)
        add_rule(obj, obj.extra, before_space(obj, MEMBER_READ, i, taken), out)


cdef uint32_t all_taken(ObjectC* obj) noexcept nogil:
    """The set of all members; in their order, none is needed."""
    cdef vector[uint32_t] words
    cdef uint32_t k
    if not obj.flags & ANY_ORDER:
        return 0
    words.assign(obj.required.size(), 0)
    for k in range(<uint32_t>obj.values.size()):
        words[k >> 5] |= <uint32_t>1 << (k & 31)
    return table_number(&obj.sets, words.data(), words.size())


cdef void add_end(ObjectC* obj, const PlaceC* place, DfaStateC* out) noexcept nogil:
    if has_required(obj, place):
        add_byte(obj, 0x7D, form(CLOSED, 0, 0), out)


cdef void add_name(ObjectC* obj, PlaceC* place, DfaStateC* out) noexcept nogil:
    """Inside the name of a member that may come."""
    cdef ChoiceC choice
    cdef uint32_t found
    cdef vector[StepC] steps
    cdef StepC step
    cdef PlaceC to
    choice.first, choice.last = place.member, obj.due[place.member]
    choice.taken = NULL
    if obj.flags & ANY_ORDER:
        choice.first, choice.last = 0, NO_NAME
        choice.taken = taken_words(obj, place)
    found = name_at(&obj.names, &place.spot, &choice)
    list_steps(&obj.names, &place.spot, &choice, &steps)
    for step in steps:
        if found != NO_NAME and step.byte > 0x22:
            add_byte(obj, 0x22, before_space(obj, NAMED, found, place.taken), out)
            found = NO_NAME
        to = form(IN_NAME, place.member, place.taken)
        to.spot = step.to
        if to.spot.high == to.spot.low + 1 and not obj.flags & ANY_ORDER:
            # one name is left: the same place, whichever members might have come
            to.member = obj.names.numbers[to.spot.low]
        add_byte(obj, step.byte, to, out)
    if found != NO_NAME:
        add_byte(obj, 0x22, before_space(obj, NAMED, found, place.taken), out)
