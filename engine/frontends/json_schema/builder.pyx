"""White space, quotes and shared rules: see the header file."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from ...grammar.ir cimport (
    ALT, BOUNDED, BYTES, CHARS, EMPTY, FAIL, GRAPH, JSON_CHARS, OBJECT as OBJECT_NODE, REF, REPEAT,
    SEQ, Grammar, IrFragment, NodeC,
)
from ...grammar.lowered cimport list_members, members_suffice
from ...native.hashing cimport map_get, map_put
from ...native.pool cimport vector
from ...native.resources cimport spend
from .document cimport (
    ENUM, TYPE, KeywordsC, bit, check_document, has, has_key, new_references, one_type, scan,
)
from .evaluator cimport has_surrogate, identity
from .reader cimport new_reader
from .scalars cimport any_integer, any_number, build_integer, build_number, build_string
from .schema_types cimport (
    ANYTHING, ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Arrays, Located,
    Numbers, Objects, Shape, located, meet_numbers, named, new_numbers, root_place,
)
from .structures cimport build_array, build_object

from decimal import Decimal
from json import dumps

from ...errors import SpecError, UnsupportedSchema
from ..regex.char_automaton import Bound, intersection, words
from .excludes import ANYTHING as ANY_TEXT, Excludes, written_node
from .guidance import WORD, is_compact
from .layout import COMPACT, layout_of

cdef uint32_t[4] SPACE_OR_TAB = [0x09, 0x09, 0x20, 0x20]
#: every Unicode scalar value
cdef uint32_t[4] ANY_CHAR = [0, 0xD7FF, 0xE000, 0x10FFFF]

#: by number, for people
cdef tuple NAMES = (
    "white space", "string body", "string", "integer", "number", "any object", "any array", "any value",
)


cdef class Text:
    def __cinit__(self, Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes):
        cdef int k
        self.grammar, self.flexible, self.blanks, self.kept = grammar, flexible, blanks, {}
        self.layout, self.canonical, self.depth = layout, canonical, 0
        self.is_indented = layout is not None and bool(layout.unit)
        self.excludes = Excludes(excludes) if excludes else None
        self.empty, self.fail = grammar.empty_node, grammar.fail_node
        self._quote = self._comma = self._colon = self._deep = NO_NODE
        for k in range(SHARED_RULES):
            self.shared[k] = NO_NODE

    # -- leaves and composition -------------------------------------------------------------------
    cdef uint32_t bytes(self, bytes data) except? NO_NODE:
        return self.grammar.add_bytes(data, len(data))

    cdef bint has_spelling(self, str text) except -1:
        """Whether this can be the value of a string."""
        return not has_surrogate(text) and (self.excludes is None or self.excludes.has_spelling(text))

    cdef uint32_t text(self, str text) except? NO_NODE:
        if self.excludes is not None and not self.has_spelling(text):
            return self.fail
        if self.canonical or self.excludes is not None:
            return self.grammar.add_spelled([spelled(text)])
        return self.grammar.add_text(text)

    cdef uint32_t texts(self, list texts) except? NO_NODE:
        """Any of these texts inside a string, given once each; lone surrogates have no spelling."""
        if not self.canonical and self.excludes is None:
            return self.grammar.add_texts(texts)
        texts = [spelled(text) for text in texts if self.has_spelling(text)]
        return self.grammar.add_spelled(texts) if texts else self.fail

    cdef uint32_t seq(self, const uint32_t* parts, size_t n) except? NO_NODE:
        return self.grammar.add_seq(parts, n)

    cdef uint32_t alt(self, const uint32_t* parts, size_t n) except? NO_NODE:
        return self.grammar.add_alt(parts, n)

    cdef uint32_t repeat(self, uint32_t node, minimum, maximum) except? NO_NODE:
        return self.grammar.repeat(node, minimum, maximum)

    cdef uint32_t json_chars(self, const uint32_t* bounds, size_t n) except? NO_NODE:
        """One character out of n ranges, given as 2n bounds."""
        return self.grammar.add_set(JSON_CHARS, bounds, n)

    cdef uint32_t graph(
        self, uint32_t states, const uint32_t* edges, size_t n_edges, const uint32_t* finals, size_t n_finals
    ) except? NO_NODE:
        """Edges are given as token masks, finals ascending."""
        return self.grammar.add_graph(states, edges, n_edges, finals, n_finals)

    # -- rules ------------------------------------------------------------------------------------
    cdef uint32_t declare_shared(self, int which) except? NO_NODE:
        """The number of a new shared rule, which may refer to itself; who asks defines it."""
        cdef uint32_t rule = self.grammar.new_rule(NAMES[which], NO_NODE)
        self.shared[which] = self.grammar.add_ref(rule)
        return rule

    cdef int define(self, uint32_t rule, uint32_t node) except -1:
        return self.grammar.set_rule(rule, node)

    cdef uint32_t rule_of(self, uint32_t node) except? NO_NODE:
        """A reference to the rule with this body, NO_NODE if there is none; literals need none."""
        cdef uint32_t kind
        if node < self.ruled.size() and self.ruled[node] != NO_NODE:
            return self.ruled[node]
        kind = self.grammar.kind_of(node)
        return node if kind in (EMPTY, FAIL, BYTES, REF) else NO_NODE

    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE:
        cdef uint32_t made = self.grammar.add_ref(self.grammar.new_rule(name, node))
        if self.ruled.size() <= node:
            self.ruled.resize(max(2 * <size_t>node, <size_t>64), NO_NODE)
        self.ruled[node] = made
        return made

    cdef uint32_t rule_by(self, name, uint32_t node) except? NO_NODE:
        """The rule with this body, if need be a new one."""
        cdef uint32_t rule = self.rule_of(node)
        return rule if rule != NO_NODE else self.new_rule(name, node)

    cdef int define_shared(self, int which, IrFragment body) except -1:
        cdef uint32_t rule = self.declare_shared(which)
        return self.define(rule, body.put_into(self.grammar))

    cdef tuple limits(self):
        """What a kept pattern's meaning depends on, beside the pattern."""
        if self._limits is None:
            limits = self.grammar.limits
            self._limits = (
                limits.pattern_chars, limits.pattern_states, limits.spec_depth, limits.ir_nodes)
        return self._limits

    # -- parts of JSON ----------------------------------------------------------------------------
    cdef int below(self) noexcept:
        """The depth of the values inside one of this depth, as far as lines tell it."""
        return 0 if not self.is_indented else self.depth + 1 if self.depth < MOST_DEPTH else DEEP

    cdef uint32_t space(self) except? NO_NODE:
        """Flexible white space between JSON tokens: nothing, one space, or a newline with at most
        ``blanks`` spaces or tabs. EMPTY otherwise.
        """
        if not self.flexible:
            return self.empty
        if self.shared[WHITE_SPACE] == NO_NODE:
            self.make_space()
        return self.shared[WHITE_SPACE]

    cdef int make_space(self) except -1:
        cdef uint32_t rule = self.declare_shared(WHITE_SPACE)
        cdef uint32_t[3] parts = [self.empty, self.bytes(b" "), self.bytes(b"\n")]
        cdef uint32_t[2] line = [
            parts[2], self.grammar.add_repeat(self.grammar.add_set(CHARS, SPACE_OR_TAB, 2), 0, self.blanks)]
        parts[2] = self.seq(line, 2)
        return self.define(rule, self.alt(parts, 3))

    cdef uint32_t line(self, bytes before, int depth, bytes behind) except? NO_NODE:
        """A new line at a depth, where the layout has lines; between these bytes."""
        cdef uint32_t[3] parts
        cdef bytes unit = self.layout.unit
        if unit is None:
            return self.bytes(before + behind)
        if depth != DEEP:
            return self.bytes(before + b"\n" + depth * unit + behind)
        if self._deep == NO_NODE:
            self._deep = self.new_rule(
                "deeper levels", self.repeat(self.bytes(unit), 0, MOST_DEPTH - EXACT_LEVELS))
        parts = [self.bytes(before + b"\n" + EXACT_LEVELS * unit), self._deep, self.bytes(behind)]
        return self.seq(parts, 3)

    cdef uint32_t opening(self) except? NO_NODE:
        """The white space of the layout before the first item or member."""
        return self.empty if self.layout is None else self.line(b"", self.below(), b"")

    cdef uint32_t closing(self) except? NO_NODE:
        """White space behind the last item or member."""
        return self.space() if self.layout is None else self.line(b"", self.depth, b"")

    cdef int object_layout(self, uint32_t* parts) except -1:
        """The four nodes of an object's layout, as in flat."""
        parts[0], parts[1], parts[2] = self.opening(), self.comma(), self.colon()
        parts[3] = self.line(b"", self.depth, b"}")
        return 0

    cdef uint32_t comma(self) except? NO_NODE:
        """The byte alone, or with all white space of the layout."""
        if self.layout is not None:
            return self.line(self.layout.item, self.below(), b"")
        if self._comma == NO_NODE:
            self._comma = self.bytes(b",")
        return self._comma

    cdef uint32_t colon(self) except? NO_NODE:
        """The byte alone, or with all white space of the layout."""
        if self._colon == NO_NODE:
            self._colon = self.bytes(b":" if self.layout is None else self.layout.key)
        return self._colon

    cdef uint32_t quote(self) except? NO_NODE:
        if self._quote == NO_NODE:
            self._quote = self.bytes(b'"')
        return self._quote

    cdef uint32_t quoted(self, uint32_t body) except? NO_NODE:
        cdef uint32_t[3] parts = [self.quote(), body, self.quote()]
        return self.seq(parts, 3)

    cdef uint32_t literal(self, str text) except? NO_NODE:
        """A JSON string with this decoded value; a lone surrogate has no spelling."""
        return self.quoted(self.text(text)) if self.has_spelling(text) else self.fail

    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE:
        """``inside`` behind flexible white space; that before the end is its own."""
        cdef uint32_t[4] parts = [self.bytes(begin), self.space(), inside, self.bytes(end)]
        return self.seq(parts, 4)

    cdef uint32_t pair(self, uint32_t key, uint32_t value) except? NO_NODE:
        """A member: the inside of its key, and its value."""
        cdef uint32_t quote = self.quote(), space = self.space()
        cdef uint32_t[7] parts = [quote, key, quote, space, self.colon(), space, value]
        return self.seq(parts, 7)

    cdef uint32_t pair_of(self, uint32_t key, uint32_t value) except? NO_NODE:
        """As ``pair``, of a key with its quotes."""
        cdef uint32_t space = self.space()
        cdef uint32_t[5] parts = [key, space, self.colon(), space, value]
        return self.seq(parts, 5)

    cdef uint32_t first(self, uint32_t node) except? NO_NODE:
        """The first item or member inside brackets."""
        cdef uint32_t[2] parts = [self.opening(), node]
        return node if self.layout is None else self.seq(parts, 2)

    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE:
        cdef uint32_t space = self.space()
        cdef uint32_t[4] parts = [space, self.comma(), space, node]
        return self.seq(parts, 4)

    cdef uint32_t any_of_length(self, minimum, maximum) except? NO_NODE:
        """The inside of any JSON string of so many characters; ``maximum`` None is no upper bound."""
        if self.excludes is not None:
            return self.grammar.bounded(self.without_excludes(ANY_TEXT, ""), minimum, maximum)
        return self.repeat(self.json_chars(ANY_CHAR, 2), minimum, maximum)

    cdef uint32_t without_excludes(self, automaton, str place) except? NO_NODE:
        """The automaton's texts as the inside of a JSON string that holds nothing excluded."""
        bound = Bound(self.grammar.limits.pattern_states, place, self.grammar.budget)
        return written_node(self.grammar, automaton, self.excludes, bound)

    cdef uint32_t any_body(self) except? NO_NODE:
        """The inside of any JSON string."""
        if self.shared[STRING_BODY] == NO_NODE:
            self.body_rule = self.declare_shared(STRING_BODY)
            self.define(self.body_rule, self.any_of_length(0, None))
        return self.shared[STRING_BODY]

    cdef uint32_t other_body(self, list texts) except? NO_NODE:
        """The inside of a JSON string that is none of these."""
        if self.excludes is not None:
            bound = Bound(self.grammar.limits.pattern_states, "", self.grammar.budget)
            others = intersection([], [words(texts)], bound)
            return self.rule_by("key", self.without_excludes(others, ""))
        self.any_body()
        return self.rule_by("key", self.grammar.add_text_except(self.body_rule, texts))

    cdef uint32_t any_string(self) except? NO_NODE:
        cdef uint32_t rule
        if self.shared[ANY_STRING] == NO_NODE:
            rule = self.declare_shared(ANY_STRING)
            self.define(rule, self.quoted(self.any_body()))
        return self.shared[ANY_STRING]

    cdef uint32_t any_boolean(self) except? NO_NODE:
        """No rule: who asks names it."""
        cdef uint32_t[2] parts = [self.bytes(b"true"), self.bytes(b"false")]
        return self.alt(parts, 2)

    cdef uint32_t null(self) except? NO_NODE:
        return self.bytes(b"null")


cdef str spelled(str text):
    """The inside of a string as JSON is written: escapes where there must be some, short ones if there are."""
    return dumps(text, ensure_ascii=False)[1:-1]


cdef Text text_of(Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes):
    """The one ``Text`` of a grammar and a way of writing, so that all schemas of the grammar share it."""
    cdef tuple key = ("json text", flexible, blanks, layout, canonical, excludes)
    if key not in grammar.shared:
        grammar.shared[key] = Text.__new__(Text, grammar, flexible, blanks, layout, canonical, excludes)
    return grammar.shared[key]


# -- graphs ----------------------------------------------------------------------------------------

cdef Graph new_graph(Text text, start):
    cdef Graph made = Graph.__new__(Graph)
    made.text, made.numbers, made.states, made.finals = text, {}, [], set()
    made.number(start)
    return made


cdef class Graph:
    cdef uint32_t number(self, state) except? 0xFFFFFFFF:
        """The number of a state, a new one if need be; new ones are appended to ``states``."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    cdef int add(self, source, uint32_t node, target) except -1:
        """An edge; one whose node no text fits is none."""
        spend(self.text.grammar.budget, 2)
        if node != self.text.fail:
            self.edges.push_back(self.number(source))
            self.edges.push_back(node)
            self.edges.push_back(self.number(target))
        return 0

    cdef bint is_full(self):
        return len(self.states) > MOST_STATES or self.edges.size() > 3 * MOST_EDGES

    cdef uint32_t node(self) except? 0xFFFFFFFF:
        """The graph without the states from which no final one is reached."""
        cdef vector[uint32_t] kept, finals
        cdef list sources = [[] for _ in self.states], names
        cdef size_t k
        cdef set alive
        for k in range(0, self.edges.size(), 3):
            sources[self.edges[k + 2]].append(self.edges[k])
        alive = {self.numbers[state] for state in self.finals}
        todo = list(alive)
        while todo:
            for source in sources[todo.pop()]:
                if source not in alive:
                    alive.add(source)
                    todo.append(source)
        if 0 not in alive:
            return self.text.fail
        order = sorted(alive)
        names = [0] * len(self.states)
        for k in range(<size_t>len(order)):
            names[order[k]] = k
        for k in range(0, self.edges.size(), 3):
            if self.edges[k] in alive and self.edges[k + 2] in alive:
                kept.push_back(names[self.edges[k]])
                kept.push_back(self.edges[k + 1])
                kept.push_back(names[self.edges[k + 2]])
        for number in sorted([names[self.numbers[state]] for state in self.finals]):
            finals.push_back(number)
        return self.text.graph(
            <uint32_t>len(order), kept.data(), kept.size() // 3, finals.data(), finals.size())


# -- places ----------------------------------------------------------------------------------------

cdef class Places:
    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        """The node of a place; its rule may still wait for its definition."""
        raise NotImplementedError

    cdef uint32_t schema(self, schema, Located above, str keyword, key) except? 0xFFFFFFFF:
        """As ``place``, for one schema of another one's keyword."""
        raise NotImplementedError


# -- values ----------------------------------------------------------------------------------------

#: up to here, every whole number is a double
EXACT = 2**53


cdef int add_values(Text text, list values, vector[uint32_t]* alternatives) except -1:
    """Adds alternatives, one for all strings, so that they share their quotes."""
    cdef list strings = [], others = []
    for value in unique(values) if len(values) > 1 else values:
        if isinstance(value, str):
            strings.append(value)
        else:
            others.append(value)
    if strings:
        alternatives.push_back(text.quoted(text.texts(strings)))
    for value in others:
        alternatives.push_back(value_node(text, value))
    return 0


cdef list unique(list values):
    """The last of equal values, at the place of the first."""
    for value in values:
        if not isinstance(value, str):
            return list({identity(value): value for value in values}.values())
    return once(values)


cdef list once(list texts):
    """Without repetitions."""
    return list(dict.fromkeys(texts)) if len(texts) > 1 else texts


cdef uint32_t value_node(Text text, value) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef int depth
    if isinstance(value, str):
        return text.literal(value)
    if value is None or isinstance(value, bool):
        return text.bytes(b"null" if value is None else b"true" if value else b"false")
    if isinstance(value, (int, float)):
        return number_node(text, value)
    depth, text.depth = text.depth, text.below()
    if isinstance(value, list):
        for item in value:
            parts.push_back(value_node(text, item))
    else:
        for key, item in value.items():
            parts.push_back(member(text, key, value_node(text, item)))
    text.depth = depth
    return listed(text, b"[", &parts, b"]") if isinstance(value, list) else listed(text, b"{", &parts, b"}")


cdef uint32_t member(Text text, str key, uint32_t value) except? 0xFFFFFFFF:
    cdef uint32_t space = text.space()
    cdef uint32_t[5] parts = [text.literal(key), space, text.colon(), space, value]
    return text.seq(parts, 5)


cdef uint32_t number_node(Text text, value) except? 0xFFFFFFFF:
    """Unless it is canonical, a large float may be its digits, too, where they are the decimal that it is
    written as (1e+22, not 1e+23).
    """
    cdef uint32_t[3] parts
    cdef uint32_t zero
    cdef str digits = repr(value)
    if "e" in digits and has_key(text.document, "uniqueItems"):
        digits = format(Decimal(digits), "f")
        value = Decimal(digits)
    elif isinstance(value, float) and value.is_integer() and (
        "e" not in digits or not text.canonical and Decimal(digits) == int(value)
    ):
        digits = str(int(value))
    if "e" in digits or text.canonical:
        return text.bytes(digits.encode())
    zero = text.bytes(b"0")
    parts[0] = text.bytes(digits.encode())
    if "." in digits:
        parts[1] = text.repeat(zero, 0, None)
        return text.seq(parts, 2)
    if abs(value) > EXACT:
        if not isinstance(value, float):
            return parts[0]
        parts[1] = text.bytes(repr(value).encode())
        return text.alt(parts, 2)
    parts[1], parts[2] = text.bytes(b"."), text.repeat(zero, 1, None)
    parts[1] = text.seq(&parts[1], 2)
    parts[2] = text.empty
    parts[1] = text.alt(&parts[1], 2)
    return text.seq(parts, 2)


cdef uint32_t listed(Text text, bytes begin, vector[uint32_t]* items, bytes end) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef uint32_t space = text.space()
    cdef size_t k
    for k in range(items.size()):
        if k:
            parts.push_back(space)
            parts.push_back(text.comma())
            parts.push_back(space)
        parts.push_back(items[0][k] if k else text.first(items[0][k]))
    if items.size():
        parts.push_back(text.closing())
    return text.bracketed(begin, text.seq(parts.data(), parts.size()), end)


# -- productive ------------------------------------------------------------------------------------

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
        elif at.kind == OBJECT_NODE:
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
    if at.kind == OBJECT_NODE:
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


# -- builder ---------------------------------------------------------------------------------------

# Where a depth stands in the key of a place: addresses have 48 bits at most.
cdef int DEPTH_SHIFT = 48
# Strings of one place whose patterns are determinised together. States multiply: five formats took 390 ms.
cdef Py_ssize_t STRINGS_TOGETHER = 2


def build_json_schema(
    grammar,
    schema,
    *,
    str pointer="",
    bint any_order=False,
    str whitespace="flexible",
    str unknown_formats="annotate",
    str extra_keys="anywhere",
    int most_blanks=BLANKS,
    indent=None,
    separators=None,
    str spelling="any",
    tuple excludes=(),
):
    cdef Builder builder
    cdef uint32_t node
    layout = None
    if whitespace not in ("flexible", "compact"):
        raise ValueError(f"whitespace must be 'flexible' or 'compact', not {whitespace!r}")
    if indent is not None or separators is not None:
        if whitespace == "compact":
            raise ValueError("whitespace 'compact' can't stand beside indent or separators")
        layout, whitespace = layout_of(indent, separators), "compact"
        layout = None if layout == COMPACT else layout
    if unknown_formats not in ("annotate", "refuse"):
        raise ValueError(f"unknown_formats must be 'annotate' or 'refuse', not {unknown_formats!r}")
    if extra_keys not in ("anywhere", "last"):
        raise ValueError(f"extra_keys must be 'anywhere' or 'last', not {extra_keys!r}")
    if spelling not in ("any", "canonical"):
        raise ValueError(f"spelling must be 'any' or 'canonical', not {spelling!r}")
    schema = check_document(schema, grammar.limits, pointer)
    if isinstance(schema, dict) and WORD in schema and is_compact(schema[WORD], pointer):
        if layout is not None:
            message = f"{WORD} asks for compact JSON, the caller for another indent or separators"
            raise UnsupportedSchema(f"{pointer}/{WORD}", WORD, message)
        whitespace = "compact"
    builder = Builder.__new__(Builder)
    builder.reader = new_reader(
        new_references(schema, pointer), <Grammar?>grammar, unknown_formats == "refuse")
    builder.text = text_of(
        <Grammar?>grammar, whitespace == "flexible", most_blanks, layout, spelling == "canonical", excludes)
    builder.text.depth, builder.text.document = 0, schema
    builder.reader.excludes = builder.text.excludes
    builder.any_order, builder.extra_last = any_order, extra_keys == "last"
    node = builder.one_place(root_place(schema, pointer), 0)
    builder.finish()
    builder.text.document = None
    doubtful = builder.reader.followed or builder.failed
    if node == builder.text.fail or (doubtful and not is_productive(grammar, node)):
        raise SpecError("nothing can satisfy this schema", pointer)
    return node


cdef class Builder(Places):
    def __cinit__(self):
        self.failed, self.queue, self.named, self.defined = False, [], [], 0

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        cdef int depth = self.text.below()
        if not place:
            return self.any_value(depth)
        if len(place) == 1:
            return self.one_place(<Located>place[0], depth)
        spend(self.text.grammar.budget, <Py_ssize_t>len(place))
        place = tuple([self.reader.target(<Located>each) for each in place])
        key = tuple([<size_t><void*>(<Located>each).schema for each in place])
        if self.several is None:
            self.several = {}
        depth = self.exact_depth(key, depth)
        if (key, depth) not in self.several:
            self.several[key, depth] = self.node(self.reader.shapes_at(place), <Located>place[0], depth)
        return self.several[key, depth]

    cdef uint32_t schema(self, schema, Located above, str keyword, key) except? 0xFFFFFFFF:
        cdef KeywordsC found
        cdef uint32_t body, made
        if schema is True:
            return self.any_value(self.text.below())
        if isinstance(schema, dict):
            scan(<dict>schema, &found)
            body = self.plain(&found)
            if body != NO_NODE:
                made = self.text.rule_of(body)
                return made if made != NO_NODE else self.new_rule(located(schema, above, keyword, key), body)
        return self.one_place(located(schema, above, keyword, key), self.text.below())

    cdef uint32_t one_place(self, Located where, int depth) except? 0xFFFFFFFF:
        """As ``place``, for one schema."""
        cdef uint32_t made
        cdef uint64_t key
        where = self.reader.target(where)
        key = <uint64_t><size_t><void*>where.schema
        if self.text.is_indented:
            depth = self.exact_depth(key, depth)
            key |= <uint64_t>depth << DEPTH_SHIFT
        made = map_get(&self.single, key)
        if made == NO_NODE:
            made = self.node(self.reader.read_target(where), where, depth)
            map_put(&self.single, key, made)
        return made

    cdef int exact_depth(self, key, int depth) except -1:
        """The depth for which a place is written out; see the header file."""
        if not self.text.is_indented or depth == DEEP:
            return depth
        if self.shallowest is None:
            self.shallowest = {}
        return depth if depth - self.shallowest.setdefault(key, depth) < EXACT_LEVELS else DEEP

    cdef uint32_t plain(self, KeywordsC* found) except? 0xFFFFFFFF:
        """What a schema comes to that says nothing but one type of scalars, lists strings, or says
        nothing at all. NO_NODE: it says more.
        """
        cdef int types = one_type(<object>found.value[TYPE]) if has(found, TYPE) else 0
        if found.seen == 0:
            return self.any_value(self.text.below())
        if found.seen & ~bit(TYPE) == bit(ENUM) and has(found, TYPE) == (types == STRING):
            return self.strings(<object>found.value[ENUM], types == STRING)
        if found.seen != bit(TYPE):
            return NO_NODE
        if types == STRING:
            return self.text.any_string()
        if types == INTEGER:
            return any_integer(self.text)
        if types == NUMBER:
            return any_number(self.text)
        if types == BOOLEAN:
            return self.text.any_boolean()
        return NO_NODE

    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF:
        """The strings that an enum lists, beside their type if they are checked for it. NO_NODE: it
        takes a closer look.
        """
        cdef Py_ssize_t n = <Py_ssize_t>len(<list>values) if isinstance(values, list) else 0
        if n == 0 or n > self.reader.limits.enum_values:
            return NO_NODE
        for value in <list>values:
            if not isinstance(value, str) or has_surrogate(<str>value):
                return NO_NODE
        if is_checked:
            if self.reader.checks + n > self.reader.checks_limit:
                return NO_NODE
            self.reader.checks += n
        return self.text.quoted(self.text.texts(once(values)))

    cdef uint32_t node(self, tuple shapes, Located where, int depth) except? 0xFFFFFFFF:
        cdef Shape shape
        cdef uint32_t rule, body
        cdef int outer = self.text.depth
        if len(shapes) == 1 and shapes[0] is ANYTHING:
            return self.any_value(depth)
        for shape in shapes:
            if shape.types & (ARRAY | OBJECT) and shape.values is None:
                self.named.append(where)
                spend(self.text.grammar.budget, 2)
                rule = self.text.grammar.new_rule(where, NO_NODE)
                self.queue.append((rule, shapes, where, depth))
                return self.text.grammar.add_ref(rule)
        self.text.depth = depth
        body = self.alternatives(shapes, where)
        self.text.depth = outer
        rule = self.text.rule_of(body)
        return rule if rule != NO_NODE else self.new_rule(where, body)

    cdef uint32_t new_rule(self, Located where, uint32_t body) except? 0xFFFFFFFF:
        """Named for a place; the name is made when somebody asks for it."""
        self.named.append(where)
        return self.text.new_rule(where, body)

    cdef int finish(self) except -1:
        """Defines all rules that wait."""
        cdef uint32_t node
        cdef Located where
        while self.defined < <size_t>len(self.queue):
            rule, shapes, where, self.text.depth = self.queue[self.defined]
            self.queue[self.defined] = None
            self.defined += 1
            node = self.alternatives(shapes, where)
            self.failed = self.failed or node == self.text.fail
            self.text.define(rule, node)
        for where in self.named:
            where.release()
        return 0

    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF:
        """Any JSON value; one rule for the whole grammar and a depth."""
        cdef uint32_t rule, made
        cdef uint32_t[6] nodes
        cdef int outer = self.text.depth
        self.text.depth = self.exact_depth(None, depth)
        if self.free_rule(ANY_VALUE) == NO_NODE:
            rule = self.declare_free(ANY_VALUE)
            nodes = [
                self.object(None), self.array(None), self.text.any_string(), any_number(self.text),
                self.text.any_boolean(), self.text.null()]
            self.text.define(rule, self.text.alt(nodes, 6))
        made = self.free_rule(ANY_VALUE)
        self.text.depth = outer
        return made

    cdef uint32_t free_rule(self, int which) noexcept:
        """The rule of any value, object or array of this depth; NO_NODE: there is none so far."""
        cdef size_t at = <size_t>(self.text.depth * SHARED_RULES + which)
        if not self.text.is_indented:
            return self.text.shared[which]
        return self.free[at] if at < self.free.size() else NO_NODE

    cdef uint32_t declare_free(self, int which) except? 0xFFFFFFFF:
        """The number of a new one, which may refer to itself."""
        cdef uint32_t rule = self.text.declare_shared(which)
        cdef size_t at = <size_t>(self.text.depth * SHARED_RULES + which)
        if self.text.is_indented:
            self.free.resize(max(at + 1, self.free.size()), NO_NODE)
            self.free[at] = self.text.shared[which]
        return rule

    # -- alternatives -----------------------------------------------------------------------------
    cdef uint32_t alternatives(self, tuple shapes, Located where) except? 0xFFFFFFFF:
        """All alternatives of a place, type by type; an unconstrained type makes its constrained
        twins superfluous.
        """
        cdef Shape shape
        cdef vector[uint32_t] nodes
        cdef list free = [], values = [], objects, strings
        cdef int types = 0
        if len(shapes) == 1:
            shape = <Shape>shapes[0]
            if shape.values is None and is_single(shape.types):
                shape.check(shape.types)
                return self.one(shape)
        for shape in shapes:
            shape.check(shape.types)
            if shape.values is None:
                free.append(shape)
                types |= shape.types
            else:
                values.extend(shape.values)
        if len(free) == 1 and not values and is_single(types):
            return self.one(<Shape>free[0])
        objects = facets_of(free, OBJECT)
        for n, facet in enumerate(objects):
            nodes.push_back(self.object(facet))
            if len(objects) > 1:
                self.name_part(&nodes.back(), where, n)
        for facet in facets_of(free, ARRAY):
            nodes.push_back(self.array(facet))
        strings = facets_of(free, STRING)
        for facet in strings:
            nodes.push_back(build_string(self.text, facet, self.reader, len(strings) > STRINGS_TOGETHER))
        self.add_numbers(free, &nodes)
        if types & BOOLEAN:
            nodes.push_back(self.text.any_boolean())
        if types & NULL_TYPE:
            nodes.push_back(self.text.null())
        add_values(self.text, values, &nodes)
        return self.text.alt(nodes.data(), nodes.size())

    cdef uint32_t one(self, Shape shape) except? 0xFFFFFFFF:
        """The values of a shape of one type."""
        if shape.types == STRING:
            return build_string(self.text, shape.strings, self.reader)
        if shape.types == OBJECT:
            return self.object(shape.objects)
        if shape.types == ARRAY:
            return self.array(shape.arrays)
        if shape.types == INTEGER:
            return build_integer(self.text, shape.numbers)
        return build_number(self.text, shape.numbers)

    cdef uint32_t object(self, Objects facet) except? 0xFFFFFFFF:
        cdef uint32_t rule
        if facet is not None:
            return build_object(self, facet)
        if self.free_rule(ANY_OBJECT) == NO_NODE:
            rule = self.declare_free(ANY_OBJECT)
            self.text.define(rule, build_object(self, None))
        return self.free_rule(ANY_OBJECT)

    cdef uint32_t array(self, Arrays facet) except? 0xFFFFFFFF:
        cdef uint32_t rule
        if facet is not None:
            return build_array(self, facet)
        if self.free_rule(ANY_ARRAY) == NO_NODE:
            rule = self.declare_free(ANY_ARRAY)
            self.text.define(rule, build_array(self, None))
        return self.free_rule(ANY_ARRAY)

    cdef int name_part(self, uint32_t* node, Located where, n) except -1:
        """One of several alternatives becomes a rule of its own."""
        cdef uint32_t rule = self.text.rule_of(node[0])
        if rule == NO_NODE:
            rule = self.text.new_rule(where.at(str(n)), node[0])
        node[0] = rule
        return 0

    cdef int add_numbers(self, list shapes, vector[uint32_t]* nodes) except -1:
        cdef list numbers, fractions, integers
        cdef Shape shape
        cdef bint apart
        numbers = facets_of([shape for shape in shapes if (<Shape>shape).types & NUMBER == NUMBER], NUMBER)
        fractions = facets_of([shape for shape in shapes if (<Shape>shape).types & NUMBER == FRACTION], NUMBER)
        integers = facets_of([shape for shape in shapes if (<Shape>shape).types & NUMBER == INTEGER], NUMBER)
        if None in numbers:
            nodes.push_back(any_number(self.text))
            return 0
        apart = len(numbers) + len(fractions) + len(integers) > 1
        for facet in numbers:
            nodes.push_back(beside(self.text, facet, build_number(self.text, facet), apart))
        for facet in fractions:
            facet = meet_numbers(facet, NO_INTEGER)
            nodes.push_back(beside(self.text, facet, build_number(self.text, facet), apart))
        if None in integers:
            nodes.push_back(any_integer(self.text))
            return 0
        for facet in integers:
            nodes.push_back(beside(self.text, facet, build_integer(self.text, facet), apart))
        return 0


cdef uint32_t beside(Text text, Numbers facet, uint32_t node, bint apart) except? 0xFFFFFFFF:
    """``apart``: multiples get a rule of their own, so that they are not determinised together."""
    if apart and node != text.fail and (facet.multiples or facet.foreign):
        return text.rule_by("multiple", node)
    return node


cdef Numbers NO_INTEGER = new_numbers(
    None, False, None, False, (), (named("1", root_place(None, ""), "type"),), ())


cdef inline bint is_single(int types):
    """Whether ``Builder.one`` knows these types."""
    return types in (STRING, OBJECT, ARRAY, INTEGER, NUMBER)


cdef list facets_of(list shapes, int kind):
    """What the shapes say of one type; just None where one of them allows all of it."""
    cdef Shape shape
    cdef list found = []
    for shape in shapes:
        if shape.types & kind:
            facet = (
                shape.strings if kind == STRING else shape.objects if kind == OBJECT
                else shape.arrays if kind == ARRAY else shape.numbers
            )
            if facet is None:
                return [None]
            found.append(facet)
    return found
