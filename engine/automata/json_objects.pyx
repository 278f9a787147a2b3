"""Name tries, strings without excluded names, and JSON objects, built state by state."""

from libc.stdint cimport uint32_t, uint8_t
from libc.string cimport memset
from libcpp.algorithm cimport sort

from ..grammar.ir cimport (
    ANY_ORDER, BARE, EMPTY, EXTRA_LAST, FAIL, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, SPELLED, NodeC,
    first_member,
)
from ..grammar.lowered cimport NO_RULE, LoweredGrammar
from ..native.bitset cimport has_bit
from ..native.pool cimport held_bytes, vector
from ..native.word_table cimport table_bytes, table_number
from .determinize cimport FINAL_STATE, UNBUILT_STATE, ByteEdgeC, DfaStateC, SymbolEdgeC, short_escape
from .rule_automata cimport Automata, NamesC, NameTrieC, ObjectC, StateC

cdef enum:
    NO_NAME = 0xFFFFFFFF

cdef enum:
    # progress within a character; `value` holds what was read of it: bytes, hexadecimal digits, or
    # both units
    BETWEEN = 0
    IN_UTF8 = 1           # 1..3: the bytes read
    ESCAPED = 4           # after a backslash
    IN_HEX = 5            # 5..8: 5 plus the digits read
    AFTER_HIGH = 9       # the first unit of a surrogate pair is complete
    HIGH_ESCAPED = 10
    IN_LOW_HEX = 11       # 11..14

cdef uint32_t NONE = 0xFFFFFFFF
cdef uint32_t QUOTE = 0x22
cdef uint32_t BACKSLASH = 0x5C


cdef struct NameC:
    # a name to be sorted
    const uint32_t* points
    uint32_t n, number

cdef struct NameNodeC:
    # names low..high-1 agree in their first `depth` characters, which are read
    uint32_t low, high, depth, stage, value

cdef struct ChoiceC:
    # the names numbered first..last without those whose bit is set in `taken` (NULL: no bit is)
    uint32_t first, last
    const uint32_t* taken

cdef struct StepC:
    NameNodeC to
    uint8_t byte

cdef struct SpellingStepC:
    # the names that continue with one byte
    uint32_t low, high, stage, value
    bint whole                # the byte completes the character


cdef struct SpellingReaderC:
    SpellingStepC[256] steps_by_byte
    uint8_t[256] bytes        # the bytes in use, in the order of appearance
    uint32_t used


cdef size_t names_bytes(const NamesC* names) noexcept nogil:
    return held_bytes(names.points) + held_bytes(names.off) + held_bytes(names.numbers)


cdef size_t name_trie_bytes(const NameTrieC* trie) noexcept nogil:
    return names_bytes(&trie.names) + table_bytes(&trie.nodes) + held_bytes(trie.states)


cdef bint text_before(const NameC& a, const NameC& b) noexcept nogil:
    cdef uint32_t k
    for k in range(min(a.n, b.n)):
        if a.points[k] != b.points[k]:
            return a.points[k] < b.points[k]
    return a.n < b.n


cdef void sort_names(vector[NameC]* texts, NamesC* out) noexcept nogil:
    cdef NameC text
    sort(texts.begin(), texts.end(), &text_before)
    for text in texts[0]:
        out.off.push_back(<uint32_t>out.points.size())
        out.points.insert(out.points.end(), text.points, text.points + text.n)
        out.numbers.push_back(text.number)
    out.off.push_back(<uint32_t>out.points.size())


cdef NameNodeC name_trie_root(NamesC* names) noexcept nogil:
    cdef NameNodeC name_node
    name_node.low, name_node.high = 0, <uint32_t>names.numbers.size()
    name_node.depth = name_node.stage = name_node.value = 0
    return name_node


cdef uint32_t name_at(NamesC* names, const NameNodeC* name_node, const ChoiceC* choice) noexcept nogil:
    """Return the number of the chosen name that is complete here, or NO_NAME."""
    cdef uint32_t n
    # of names with a common prefix the shortest comes first
    if name_node.stage != BETWEEN or name_node.low == name_node.high:
        return NO_NAME
    n = names.numbers[name_node.low]
    if names.off[name_node.low + 1] - names.off[name_node.low] == name_node.depth and is_choice(choice, n):
        return n
    return NO_NAME


cdef inline ChoiceC every_name() noexcept nogil:
    cdef ChoiceC choice
    choice.first, choice.last = 0, NO_NAME
    choice.taken = NULL
    return choice


cdef inline bint is_choice(const ChoiceC* choice, uint32_t n) noexcept nogil:
    return choice.first <= n <= choice.last and (choice.taken == NULL or not has_bit(choice.taken, n))


cdef void list_steps(
    NamesC* names, const NameNodeC* name_node, const ChoiceC* choice, vector[StepC]* out
) noexcept nogil:
    """List how the chosen names continue from a trie node, by byte ascending."""
    cdef SpellingReaderC reader
    cdef uint32_t k, index, at
    cdef StepC step
    reader.used = 0
    for k in range(256):
        reader.steps_by_byte[k].high = 0
    for index in range(name_node.low, name_node.high):
        at = names.off[index] + name_node.depth
        if is_choice(choice, names.numbers[index]) and at < names.off[index + 1]:
            if names.spelled:
                read_utf8(&reader, index, names.points[at], name_node.stage, name_node.value)
            else:
                read_point(&reader, index, names.points[at], name_node.stage, name_node.value)
    out.clear()
    sort(reader.bytes, reader.bytes + reader.used)
    for k in range(reader.used):
        step.byte = reader.bytes[k]
        step.to.low, step.to.high = reader.steps_by_byte[step.byte].low, reader.steps_by_byte[step.byte].high
        step.to.stage, step.to.value = reader.steps_by_byte[step.byte].stage, reader.steps_by_byte[step.byte].value
        step.to.depth = name_node.depth + reader.steps_by_byte[step.byte].whole
        out.push_back(step)


cdef inline void offer(
    SpellingReaderC* reader, uint32_t index, uint32_t byte, bint whole, uint32_t stage, uint32_t value
) noexcept nogil:
    """Add a continuation. All names that continue with a byte agree in what follows it."""
    cdef SpellingStepC* found = &reader.steps_by_byte[byte]
    if found.high == 0:
        reader.bytes[reader.used] = <uint8_t>byte
        reader.used += 1
        found.low = index
        found.whole = whole
        found.stage, found.value = (<uint32_t>BETWEEN, <uint32_t>0) if whole else (stage, value)
    found.high = index + 1


cdef void read_point(
    SpellingReaderC* reader, uint32_t index, uint32_t c, uint32_t stage, uint32_t value
) noexcept nogil:
    """Add the bytes that continue a partly read character; a lone surrogate has none."""
    cdef uint32_t n
    if 0xD800 <= c <= 0xDFFF:
        return
    if stage == BETWEEN:
        if c >= 0x20 and c != QUOTE and c != BACKSLASH:
            read_utf8(reader, index, c, 0, 0)
        offer(reader, index, BACKSLASH, False, ESCAPED, 0)
    elif stage < ESCAPED:
        read_utf8(reader, index, c, stage, value)
    elif stage == ESCAPED:
        if short_escape(c) != NONE:
            offer(reader, index, short_escape(c), True, 0, 0)
        offer(reader, index, 0x75, False, IN_HEX, 0)
    elif stage < AFTER_HIGH:
        n = stage - IN_HEX
        if c < 0x10000:
            read_hex(reader, index, c, n, value, IN_HEX, 0, True)
        else:
            read_hex(reader, index, high_unit(c), n, value, IN_HEX, 0, False)
    elif c >= 0x10000 and high_unit(c) == (value >> 16 if stage >= IN_LOW_HEX else value):
        if stage == AFTER_HIGH:
            offer(reader, index, BACKSLASH, False, HIGH_ESCAPED, value)
        elif stage == HIGH_ESCAPED:
            offer(reader, index, 0x75, False, IN_LOW_HEX, value << 16)
        else:
            read_hex(reader, index, low_unit(c), stage - IN_LOW_HEX, value & 0xFFFF, IN_LOW_HEX,
                     value >> 16 << 16, True)


cdef inline uint32_t high_unit(uint32_t c) noexcept nogil:
    return 0xD800 + (c - 0x10000 >> 10)


cdef inline uint32_t low_unit(uint32_t c) noexcept nogil:
    return 0xDC00 + (c & 0x3FF)


cdef void read_utf8(SpellingReaderC* reader, uint32_t index, uint32_t c, uint32_t n, uint32_t value) noexcept nogil:
    """Add byte n of a character whose first n bytes must be those in ``value``."""
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
        offer(reader, index, utf8[n], n + 1 == size, IN_UTF8 + n, value << 8 | utf8[n])


cdef void read_hex(
    SpellingReaderC* reader, uint32_t index, uint32_t unit, uint32_t n, uint32_t value,
    uint32_t stages, uint32_t beside, bint is_last
) noexcept nogil:
    """Add digit n of a code unit whose first n digits must be those in ``value``.

    ``stages`` is the stage before the first digit. ``beside`` is added to the value. ``is_last``:
    whether the unit completes the character.
    """
    cdef uint32_t digit = unit >> (12 - 4 * n) & 15
    cdef bint whole = is_last and n == 3
    if unit >> (16 - 4 * n) != value:
        return
    value = beside | value << 4 | digit
    if digit < 10:
        offer(reader, index, 0x30 + digit, whole, stages + n + 1, value)
    else:
        offer(reader, index, 0x41 + digit - 10, whole, stages + n + 1, value)
        offer(reader, index, 0x61 + digit - 10, whole, stages + n + 1, value)


cdef void build_name_trie(NameTrieC* out, const uint32_t* words, uint32_t n, bint spelled) noexcept nogil:
    """Read texts, each given as its length and its code points. Trie node 0 is the root."""
    cdef uint32_t at = 0
    cdef vector[NameC] texts
    cdef NameC text
    cdef NameNodeC start
    while at < n:
        text.points, text.n, text.number = words + at + 1, words[at], <uint32_t>texts.size()
        texts.push_back(text)
        at += 1 + words[at]
    sort_names(&texts, &out.names)
    out.names.spelled = spelled
    start = name_trie_root(&out.names)
    name_node_number(out, &start)


cdef void name_trie_state(NameTrieC* trie, uint32_t number, DfaStateC* out) noexcept nogil:
    """Compute the edges of a trie node, to trie nodes; any text may continue there."""
    cdef NameNodeC name_node = name_node_at(trie, number)
    cdef ChoiceC all_names = every_name()
    cdef vector[StepC] steps
    cdef StepC step
    cdef ByteEdgeC edge
    out.flags = FINAL_STATE if name_at(&trie.names, &name_node, &all_names) != NO_NAME else 0
    list_steps(&trie.names, &name_node, &all_names, &steps)
    for step in steps:
        edge.low = edge.high = step.byte
        edge.target = name_node_number(trie, &step.to)
        out.bytes.push_back(edge)


cdef uint32_t name_node_number(NameTrieC* trie, const NameNodeC* name_node) noexcept nogil:
    """Return the number of a trie node, which is added if new; the root is 0."""
    return table_number(&trie.nodes, <const uint32_t*>name_node, sizeof(NameNodeC) // sizeof(uint32_t))


cdef NameNodeC name_node_at(NameTrieC* trie, uint32_t number) noexcept nogil:
    return (<NameNodeC*>&trie.nodes.words[trie.nodes.off[number]])[0]


# -- excluded names --------------------------------------------------------------------------------

cdef uint32_t state_of(
    Automata automata, uint32_t rule, uint32_t other, NameNodeC name_node, uint32_t like
) noexcept nogil:
    """Return the state of a trie node; a new one has no edges yet."""
    cdef NameTrieC* texts = &automata.texts[other]
    cdef ChoiceC all_names = every_name()
    cdef uint32_t number = name_node_number(texts, &name_node), n = <uint32_t>automata.states.size(), made
    made = automata.unbuilt(&texts.states, rule, other, number)
    if made == n:
        automata.states[made] = automata.states[like]
        automata.states[made].rule, automata.states[made].like = rule, like
        automata.states[made].lazy, automata.states[made].position = other, number
        automata.states[made].n_bytes = 0
        automata.states[made].flags |= UNBUILT_STATE
        if name_at(&texts.names, &name_node, &all_names) != NO_NAME:
            automata.states[made].flags &= ~FINAL_STATE
    return made


cdef void build_text_except(Automata automata, uint32_t rule) noexcept nogil:
    """Make the rule's first state. The rule of the string body is built first."""
    cdef NodeC* node = &automata.ir.nodes[automata.ir.rules[rule].node]
    cdef uint32_t body = automata.start(node.a), other = <uint32_t>automata.texts.size()
    if body == 0:
        return
    automata.texts.resize(other + 1)
    build_name_trie(&automata.texts[other], &automata.ir.pool[node.off], node.n, False)
    automata.tabled[rule] = 1
    automata.first[rule] = state_of(automata, rule, other, name_trie_root(&automata.texts[other].names), body)


cdef void grow_text_except(Automata automata, uint32_t state) noexcept nogil:
    """Make the edges of a state: those that continue a name."""
    cdef StateC made = automata.states[state]
    cdef NameTrieC* texts = &automata.texts[made.lazy]
    cdef NameNodeC name_node = name_node_at(texts, made.position)
    cdef ChoiceC all_names = every_name()
    cdef vector[StepC] steps
    cdef vector[ByteEdgeC] edges
    cdef StepC step
    cdef ByteEdgeC edge
    cdef uint32_t like
    list_steps(&texts.names, &name_node, &all_names, &steps)
    for step in steps:
        like = automata.target(made.like, step.byte)
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
    # the last thing read, in the order of the picture
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
    # parts of a layout
    OPENING = 0
    COMMA = 1
    COLON = 2
    CLOSING = 3

cdef struct ObjectPositionC:
    # in any order, ``member`` is the member whose value comes next, and ``taken`` the set of
    # written members
    uint32_t read, member, taken
    NameNodeC name_node


cdef size_t object_bytes(const ObjectC* obj) noexcept nogil:
    return (
        names_bytes(&obj.names) + held_bytes(obj.values) + held_bytes(obj.due) + held_bytes(obj.required)
        + table_bytes(&obj.sets) + table_bytes(&obj.positions) + held_bytes(obj.states))


cdef void object_start(ObjectC* obj, LoweredGrammar ir, uint32_t node) noexcept nogil:
    """Read the node, without members that no text matches."""
    cdef NodeC* from_node = &ir.nodes[node]
    cdef uint32_t* at = &ir.pool[from_node.off]
    cdef uint32_t k, _k, n, rule
    cdef vector[NameC] texts
    cdef NameC text
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
    """Return a reference's rule; NO_RULE if there is none, or no text matches it."""
    if ir.nodes[node].kind in (EMPTY, FAIL) or not ir.productive[node]:
        return NO_RULE
    return ir.nodes[node].a


cdef inline ObjectPositionC form(uint32_t read, uint32_t member, uint32_t taken) noexcept nogil:
    cdef ObjectPositionC position
    position.read, position.member, position.taken = read, member, taken
    memset(&position.name_node, 0, sizeof(NameNodeC))
    return position


cdef uint32_t number_of(ObjectC* obj, ObjectPositionC position) noexcept nogil:
    return table_number(&obj.positions, <const uint32_t*>&position, sizeof(ObjectPositionC) // sizeof(uint32_t))


cdef ObjectPositionC position_of(ObjectC* obj, uint32_t number) noexcept nogil:
    return (<ObjectPositionC*>&obj.positions.words[obj.positions.off[number]])[0]


cdef void object_state(ObjectC* obj, uint32_t number, DfaStateC* out) noexcept nogil:
    """Compute the edges of a position; their targets are numbers of positions."""
    cdef ObjectPositionC position = position_of(obj, number)
    cdef uint32_t i = position.member, taken = position.taken
    out.flags = 0
    if obj.flags & LAID_OUT and laid_out_state(obj, &position, out):
        return
    if position.read == NOTHING:
        add_byte(obj, 0x7B, before_space(obj, OPENED, 0, 0), out)
    elif position.read in (OPENED, NAMED, COLON_READ, MEMBER_READ, COMMA_READ):
        add_rule(obj, obj.space, form(position.read + 1, i, taken), out)
    elif position.read == FIRST_DUE:
        add_members(obj, &position, out)
        if obj.flags & MAY_BE_EMPTY:
            add_end(obj, &position, out)
    elif position.read == BEFORE_COLON:
        add_byte(obj, 0x3A, before_space(obj, COLON_READ, i, taken), out)
    elif position.read == VALUE_DUE:
        add_rule(obj, obj.values[i], after_value(obj, &position), out)
    elif position.read == BEFORE_COMMA:
        if has_listed(obj, &position) or has_extra(obj, &position):
            add_byte(obj, 0x2C, before_space(obj, COMMA_READ, i, taken), out)
        add_end(obj, &position, out)
    elif position.read == NEXT_DUE:
        add_members(obj, &position, out)
    elif position.read == CLOSED:
        out.flags = FINAL_STATE
    elif position.read == IN_NAME:
        add_name(obj, &position, out)


cdef bint laid_out_state(ObjectC* obj, const ObjectPositionC* position, DfaStateC* out) noexcept nogil:
    """Compute the edges of a position with a part of the layout. False: it has none."""
    cdef uint32_t i = position.member, taken = position.taken
    if position.read == NOTHING and obj.flags & BARE:
        add_part(obj, OPENING, form(NEXT_DUE, i, taken), out)
    elif position.read == OPENED:
        if obj.flags & MAY_BE_EMPTY:
            add_end(obj, position, out)
        if obj.layout[OPENING] == NO_RULE:
            add_members(obj, position, out)
        elif has_listed(obj, position) or has_extra(obj, position):
            add_rule(obj, obj.layout[OPENING], form(NEXT_DUE, i, taken), out)
    elif position.read == NAMED:
        add_rule(obj, obj.layout[COLON], form(VALUE_DUE, i, taken), out)
    elif position.read == MEMBER_READ:
        if has_listed(obj, position) or has_extra(obj, position):
            add_part(obj, COMMA, form(NEXT_DUE, i, taken), out)
        if has_required(obj, position):
            add_part(obj, CLOSING, form(CLOSED, 0, 0), out)
    else:
        return False
    return True


cdef void add_part(ObjectC* obj, uint32_t part, ObjectPositionC to, DfaStateC* out) noexcept nogil:
    """Add a part of the layout; without a text it leads on at once."""
    if obj.layout[part] != NO_RULE:
        add_rule(obj, obj.layout[part], to, out)
    elif part == CLOSING:
        out.flags = FINAL_STATE
    elif part == COLON:
        add_rule(obj, obj.values[to.member], after_value(obj, &to), out)
    else:
        add_members(obj, &to, out)


cdef inline ObjectPositionC before_space(ObjectC* obj, uint32_t read, uint32_t member, uint32_t taken) noexcept nogil:
    """Return the position before white space or, without white space, the one after it."""
    return form(read + (obj.space == NO_RULE and not obj.flags & LAID_OUT), member, taken)


cdef ObjectPositionC after_value(ObjectC* obj, const ObjectPositionC* position) noexcept nogil:
    """Return the position after the value of a listed member."""
    cdef vector[uint32_t] words
    cdef uint32_t i = position.member
    if not obj.flags & ANY_ORDER:
        return before_space(obj, MEMBER_READ, i + 1, 0)
    words.assign(taken_words(obj, position), taken_words(obj, position) + obj.required.size())
    words[i >> 5] |= <uint32_t>1 << (i & 31)
    return before_space(obj, MEMBER_READ, 0, table_number(&obj.sets, words.data(), words.size()))


cdef inline const uint32_t* taken_words(ObjectC* obj, const ObjectPositionC* position) noexcept nogil:
    return obj.sets.words.data() + obj.sets.off[position.taken]


cdef void add_byte(ObjectC* obj, uint32_t byte, ObjectPositionC to, DfaStateC* out) noexcept nogil:
    cdef ByteEdgeC edge
    edge.low = edge.high = <uint8_t>byte
    edge.target = number_of(obj, to)
    out.bytes.push_back(edge)


cdef void add_rule(ObjectC* obj, uint32_t rule, ObjectPositionC to, DfaStateC* out) noexcept nogil:
    cdef SymbolEdgeC edge
    edge.symbol, edge.target = rule, number_of(obj, to)
    out.refs.push_back(edge)


cdef bint has_required(ObjectC* obj, const ObjectPositionC* position) noexcept nogil:
    """Return whether all required members were written."""
    cdef const uint32_t* taken
    cdef size_t k
    if not obj.flags & ANY_ORDER:
        return obj.due[position.member] == NO_NAME
    taken = taken_words(obj, position)
    for k in range(obj.required.size()):
        if obj.required[k] & ~taken[k]:
            return False
    return True


cdef bint has_listed(ObjectC* obj, const ObjectPositionC* position) noexcept nogil:
    """Return whether a listed member may come."""
    cdef uint32_t k
    if not obj.flags & ANY_ORDER:
        return position.member < obj.values.size()
    for k in range(<uint32_t>obj.values.size()):
        if not has_bit(taken_words(obj, position), k):
            return True
    return False


cdef bint has_extra(ObjectC* obj, const ObjectPositionC* position) noexcept nogil:
    """Return whether an unlisted member may come."""
    if obj.extra == NO_RULE:
        return False
    return not obj.flags & EXTRA_LAST or has_required(obj, position)


cdef void add_members(ObjectC* obj, const ObjectPositionC* at, DfaStateC* out) noexcept nogil:
    cdef ObjectPositionC position
    cdef uint32_t i = at.member, taken = at.taken
    if has_listed(obj, at):
        position = form(IN_NAME, i, taken)
        position.name_node = name_trie_root(&obj.names)
        if obj.flags & BARE:
            add_name(obj, &position, out)
        else:
            add_byte(obj, 0x22, position, out)
    if has_extra(obj, at):
        if obj.flags & EXTRA_LAST:
            i, taken = <uint32_t>obj.values.size(), all_taken(obj)
        add_rule(obj, obj.extra, before_space(obj, MEMBER_READ, i, taken), out)


cdef uint32_t all_taken(ObjectC* obj) noexcept nogil:
    """Return the set of all members; without ANY_ORDER no set is needed."""
    cdef vector[uint32_t] words
    cdef uint32_t k
    if not obj.flags & ANY_ORDER:
        return 0
    words.assign(obj.required.size(), 0)
    for k in range(<uint32_t>obj.values.size()):
        words[k >> 5] |= <uint32_t>1 << (k & 31)
    return table_number(&obj.sets, words.data(), words.size())


cdef void add_end(ObjectC* obj, const ObjectPositionC* position, DfaStateC* out) noexcept nogil:
    if has_required(obj, position):
        add_byte(obj, 0x7D, form(CLOSED, 0, 0), out)


cdef void add_name(ObjectC* obj, ObjectPositionC* position, DfaStateC* out) noexcept nogil:
    """Add the edges within the name of a member that may come."""
    cdef ChoiceC choice
    cdef uint32_t found
    cdef vector[StepC] steps
    cdef StepC step
    cdef ObjectPositionC to
    choice.first, choice.last = position.member, obj.due[position.member]
    choice.taken = NULL
    if obj.flags & ANY_ORDER:
        choice.first, choice.last = 0, NO_NAME
        choice.taken = taken_words(obj, position)
    found = name_at(&obj.names, &position.name_node, &choice)
    list_steps(&obj.names, &position.name_node, &choice, &steps)
    if found != NO_NAME and obj.flags & BARE:
        add_part(obj, COLON, form(VALUE_DUE, found, position.taken), out)
        found = NO_NAME
    for step in steps:
        if found != NO_NAME and step.byte > 0x22:
            add_byte(obj, 0x22, before_space(obj, NAMED, found, position.taken), out)
            found = NO_NAME
        to = form(IN_NAME, position.member, position.taken)
        to.name_node = step.to
        if to.name_node.high == to.name_node.low + 1 and not obj.flags & ANY_ORDER:
            # one name is left: the position does not depend on the members that might have come
            to.member = obj.names.numbers[to.name_node.low]
        add_byte(obj, step.byte, to, out)
    if found != NO_NAME:
        add_byte(obj, 0x22, before_space(obj, NAMED, found, position.taken), out)
