"""Names: see the header file."""

from libc.stdint cimport uint32_t, uint8_t
from libcpp.algorithm cimport sort

from ..grammar.ir cimport (
    ANY_ORDER, EMPTY, EXTRA_LAST, FAIL, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, SPELLED, NodeC,
    first_member,
)
from ..grammar.lowered cimport NO_RULE, LoweredGrammar
from ..native.bitset cimport has_bit
from ..native.pool cimport held_bytes, vector
from ..native.word_table cimport table_bytes, table_number
from .determinize cimport (
    FINAL_STATE, UNBUILT_STATE, ByteEdgeC, DfaStateC, SymbolEdgeC, short_escape,
)
from .rule_automata cimport Automata, StateC

cdef uint32_t NONE = 0xFFFFFFFF
cdef uint32_t QUOTE = 0x22
cdef uint32_t BACKSLASH = 0x5C


cdef struct SlotC:
    # names that go on with one byte
    uint32_t low, high, stage, value
    bint whole                # the character is spelled


cdef struct ReaderC:
    SlotC[256] slots
    uint8_t[256] bytes        # those with a slot in use, in order of appearance
    uint32_t used


cdef size_t names_bytes(const NamesC* names) noexcept nogil:
    return held_bytes(names.points) + held_bytes(names.off) + held_bytes(names.numbers)


cdef size_t spots_bytes(const SpotsC* spots) noexcept nogil:
    return names_bytes(&spots.names) + table_bytes(&spots.spots) + held_bytes(spots.states)


cdef bint text_before(const TextC& a, const TextC& b) noexcept nogil:
    cdef uint32_t k
    for k in range(min(a.n, b.n)):
        if a.points[k] != b.points[k]:
            return a.points[k] < b.points[k]
    return a.n < b.n


cdef void sort_names(vector[TextC]* texts, NamesC* out) noexcept nogil:
    cdef TextC text
    sort(texts.begin(), texts.end(), &text_before)
    for text in texts[0]:
        out.off.push_back(<uint32_t>out.points.size())
        out.points.insert(out.points.end(), text.points, text.points + text.n)
        out.numbers.push_back(text.number)
    out.off.push_back(<uint32_t>out.points.size())


cdef SpotC start_of(NamesC* names) noexcept nogil:
    cdef SpotC spot
    spot.low, spot.high = 0, <uint32_t>names.numbers.size()
    spot.depth = spot.stage = spot.value = 0
    return spot


cdef uint32_t name_at(NamesC* names, const SpotC* spot, const ChoiceC* choice) noexcept nogil:
    """The number of the name that is complete here, if it is one of the choice; else NO_NAME."""
    cdef uint32_t n
    # the shortest of those that begin alike comes first
    if spot.stage != BETWEEN or spot.low == spot.high:
        return NO_NAME
    n = names.numbers[spot.low]
    if names.off[spot.low + 1] - names.off[spot.low] == spot.depth and is_choice(choice, n):
        return n
    return NO_NAME


cdef inline bint is_choice(const ChoiceC* choice, uint32_t n) noexcept nogil:
    return choice.first <= n <= choice.last and (choice.taken == NULL or not has_bit(choice.taken, n))


cdef void list_steps(
    NamesC* names, const SpotC* spot, const ChoiceC* choice, vector[StepC]* out
) noexcept nogil:
    """How the names of a choice go on from a spot, by byte ascending."""
    cdef ReaderC reader
    cdef uint32_t k, place, at
    cdef StepC step
    reader.used = 0
    for k in range(256):
        reader.slots[k].high = 0
    for place in range(spot.low, spot.high):
        at = names.off[place] + spot.depth
        if is_choice(choice, names.numbers[place]) and at < names.off[place + 1]:
            if names.spelled:
                read_utf8(&reader, place, names.points[at], spot.stage, spot.value)
            else:
                read_point(&reader, place, names.points[at], spot.stage, spot.value)
    out.clear()
    sort(reader.bytes, reader.bytes + reader.used)
    for k in range(reader.used):
        step.byte = reader.bytes[k]
        step.to.low, step.to.high = reader.slots[step.byte].low, reader.slots[step.byte].high
        step.to.stage, step.to.value = reader.slots[step.byte].stage, reader.slots[step.byte].value
        step.to.depth = spot.depth + reader.slots[step.byte].whole
        out.push_back(step)


cdef inline void offer(
    ReaderC* reader, uint32_t place, uint32_t byte, bint whole, uint32_t stage, uint32_t value
) noexcept nogil:
    """All names that go on with a byte agree in what lies behind it."""
    cdef SlotC* slot = &reader.slots[byte]
    if slot.high == 0:
        reader.bytes[reader.used] = <uint8_t>byte
        reader.used += 1
        slot.low = place
        slot.whole = whole
        slot.stage, slot.value = (<uint32_t>BETWEEN, <uint32_t>0) if whole else (stage, value)
    slot.high = place + 1


cdef void read_point(
    ReaderC* reader, uint32_t place, uint32_t c, uint32_t stage, uint32_t value
) noexcept nogil:
    """The bytes that go on with a character of which some were read; a lone surrogate has none."""
    cdef uint32_t n
    if 0xD800 <= c <= 0xDFFF:
        return
    if stage == BETWEEN:
        if c >= 0x20 and c != QUOTE and c != BACKSLASH:
            read_utf8(reader, place, c, 0, 0)
        offer(reader, place, BACKSLASH, False, ESCAPED, 0)
    elif stage < ESCAPED:
        read_utf8(reader, place, c, stage, value)
    elif stage == ESCAPED:
        if short_escape(c) != NONE:
            offer(reader, place, short_escape(c), True, 0, 0)
        offer(reader, place, 0x75, False, IN_HEX, 0)
    elif stage < BEHIND_HIGH:
        n = stage - IN_HEX
        if c < 0x10000:
            read_hex(reader, place, c, n, value, IN_HEX, 0, True)
        else:
            read_hex(reader, place, high_unit(c), n, value, IN_HEX, 0, False)
    elif c >= 0x10000 and high_unit(c) == (value >> 16 if stage >= IN_LOW_HEX else value):
        if stage == BEHIND_HIGH:
            offer(reader, place, BACKSLASH, False, HIGH_ESCAPED, value)
        elif stage == HIGH_ESCAPED:
            offer(reader, place, 0x75, False, IN_LOW_HEX, value << 16)
        else:
            read_hex(reader, place, low_unit(c), stage - IN_LOW_HEX, value & 0xFFFF, IN_LOW_HEX,
                     value >> 16 << 16, True)


cdef inline uint32_t high_unit(uint32_t c) noexcept nogil:
    return 0xD800 + (c - 0x10000 >> 10)


cdef inline uint32_t low_unit(uint32_t c) noexcept nogil:
    return 0xDC00 + (c & 0x3FF)


cdef void read_utf8(ReaderC* reader, uint32_t place, uint32_t c, uint32_t n, uint32_t value) noexcept nogil:
    """Byte n of a character whose first n bytes must be those in ``value``."""
    cdef uint8_t utf8[4]
    cdef uint32_t size, k, read = 0
    if c < 0x80:
        utf8[0], size = <uint8_t>c, 1
    elif c < 0x800:
        utf8[0], size = <uint8_t>(0xC0 | c >> 6), 2
    elif c < 0x10000:
        utf8[0], size = <uint8_t>(0xE0 | c >> 12), 3
    else:
        utf8[0], size = <uint8_t>(0xF0 | c >> 18), 4
    for k in range(1, size):
        utf8[k] = <uint8_t>(0x80 | c >> (6 * (size - 1 - k)) & 0x3F)
    if n >= size:
        return
    for k in range(n):
        read = read << 8 | utf8[k]
    if read == value:
        offer(reader, place, utf8[n], n + 1 == size, IN_UTF8 + n, value << 8 | utf8[n])


cdef void read_hex(
    ReaderC* reader, uint32_t place, uint32_t unit, uint32_t n, uint32_t value,
    uint32_t stages, uint32_t beside, bint is_last
) noexcept nogil:
    """Digit n of a unit whose first n digits must be those in ``value``.

    ``stages`` is that of no digit, ``beside`` goes into the value; ``is_last``: whether the unit ends
    the character.
    """
    cdef uint32_t digit = unit >> (12 - 4 * n) & 15
    cdef bint whole = is_last and n == 3
    if unit >> (16 - 4 * n) != value:
        return
    value = beside | value << 4 | digit
    if digit < 10:
        offer(reader, place, 0x30 + digit, whole, stages + n + 1, value)
    else:
        offer(reader, place, 0x41 + digit - 10, whole, stages + n + 1, value)
        offer(reader, place, 0x61 + digit - 10, whole, stages + n + 1, value)


cdef void read_texts(SpotsC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil:
    """Texts given each as its length and its code points; spot 0 is the start."""
    cdef uint32_t at = 0
    cdef vector[TextC] texts
    cdef TextC text
    cdef SpotC start
    while at < n:
        text.points, text.n, text.number = words + at + 1, words[at], <uint32_t>texts.size()
        texts.push_back(text)
        at += 1 + words[at]
    sort_names(&texts, &out.names)
    out.names.spelled = spelled
    start = start_of(&out.names)
    number_spot(out, &start)


cdef void texts_state(SpotsC* spots, uint32_t number, DfaStateC* out) noexcept nogil:
    """The edges of a spot where any of the texts may stand; their targets are numbers of spots."""
    cdef SpotC spot = spot_at(spots, number)
    cdef ChoiceC all_names = every_name()
    cdef vector[StepC] steps
    cdef StepC step
    cdef ByteEdgeC edge
    out.held, out.is_plain_text = 0, 0
    out.flags = FINAL_STATE if name_at(&spots.names, &spot, &all_names) != NO_NAME else 0
    list_steps(&spots.names, &spot, &all_names, &steps)
    for step in steps:
        edge.low = edge.high = step.byte
        edge.target = number_spot(spots, &step.to)
        out.bytes.push_back(edge)


cdef uint32_t number_spot(SpotsC* spots, const SpotC* spot) noexcept nogil:
    """The number of a spot, a new one if need be; the first one is 0."""
    cdef uint32_t words[5]
    words[0], words[1], words[2], words[3], words[4] = spot.low, spot.high, spot.depth, spot.stage, spot.value
    return table_number(&spots.spots, words, 5)


cdef SpotC spot_at(SpotsC* spots, uint32_t number) noexcept nogil:
    cdef SpotC spot
    cdef uint32_t* words = &spots.spots.words[spots.spots.off[number]]
    spot.low, spot.high, spot.depth, spot.stage, spot.value = words[0], words[1], words[2], words[3], words[4]
    return spot


# -- excluded names --------------------------------------------------------------------------------

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


# -- json objects ----------------------------------------------------------------------------------

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
