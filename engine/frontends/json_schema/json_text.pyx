"""JSON text: shared rules, graphs, and listed values."""

from libc.stdint cimport uint32_t, uint8_t

from ...grammar.ir cimport (
    BYTES, EMPTY, FAIL, JSON_CHARS, LAID_OUT, LAYOUT_PARTS, REF, SPELLED, Grammar,
)
from ...native.pool cimport vector
from ...native.resources cimport spend
from .document cimport has_key
from .evaluator cimport has_surrogate, identity
from .schema_types cimport ALL, ConstraintText

from decimal import Decimal
from json import dumps

from ..regex.char_automaton import Bound, intersection, words
from .excludes import ANYTHING as ANY_TEXT, Excludes, without_dead_ends, written_node

#: every Unicode scalar value
cdef uint32_t[4] ANY_CHAR = [0, 0xD7FF, 0xE000, 0x10FFFF]

#: names of the shared rules
cdef tuple NAMES = (
    "white space", "string body", "string", "integer", "number", "any object", "any array", "any value",
)


cdef tuple JSON_CONSTANTS = (b"true", b"false", b"null")


cdef class JsonText:
    def __cinit__(self, Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes):
        cdef int k
        self.grammar, self.flexible, self.blanks, self.kept = grammar, flexible, blanks, {}
        self.layout, self.canonical, self.depth = layout, canonical, 0
        self.is_raw = self.is_bare = self.is_python = False
        self.comparable, self.repeats_keys = ALL, False
        self.constants, self.excluded = JSON_CONSTANTS, excludes
        self.is_indented = layout is not None and bool(layout.unit)
        self.excludes = Excludes(excludes, grammar.budget) if excludes else None
        self.element_ends, self.unguarded_rule = None, NO_NODE
        self.empty, self.fail = grammar.empty_node, grammar.fail_node
        self._quote = self._comma = self._colon = self._deep = NO_NODE
        for k in range(SHARED_RULES):
            self.shared[k] = NO_NODE

    # -- keys and members -------------------------------------------------------------------------
    cdef JsonText key_text(self):
        return self

    cdef str written_key(self, str key):
        return spelled(key) if self.canonical or self.excludes is not None else key

    cdef uint32_t key_literal(self, str key) except? NO_NODE:
        return self.literal(key)

    cdef uint32_t members(
        self, list names, const uint32_t* nodes, const uint8_t* required, uint32_t extra, uint32_t flags
    ) except? NO_NODE:
        cdef uint32_t[LAYOUT_PARTS] layout
        if self.canonical or self.excludes is not None:
            flags |= SPELLED
            names = [spelled(name) for name in names]
        if self.layout is not None:
            flags |= LAID_OUT
            layout = [self.opening(), self.comma(), self.colon(), self.line(b"", self.depth, b"}")]
        return self.grammar.add_object(names, nodes, required, extra, self.space(), layout, flags)

    # -- leaves and composition -------------------------------------------------------------------
    cdef uint32_t bytes(self, bytes data) except? NO_NODE:
        return self.grammar.add_bytes(data, len(data))

    cdef bint has_spelling(self, str text) except -1:
        """Whether a string can have this value."""
        return not has_surrogate(text) and (self.excludes is None or self.excludes.has_spelling(text))

    cdef uint32_t text(self, str text) except? NO_NODE:
        if self.excludes is not None and not self.has_spelling(text):
            return self.fail
        if self.canonical or self.excludes is not None:
            return self.grammar.add_spelled([spelled(text)])
        return self.grammar.add_text(text)

    cdef uint32_t texts(self, list texts) except? NO_NODE:
        """Add alternatives of distinct texts inside a string; lone surrogates have no spelling."""
        if not self.canonical and self.excludes is None:
            return self.grammar.add_texts(texts)
        texts = [spelled(text) for text in texts if self.has_spelling(text)]
        return self.grammar.add_spelled(texts) if texts else self.fail

    cdef uint32_t seq(self, uint32_t a, uint32_t b, uint32_t c=NO_NODE, uint32_t d=NO_NODE) except? NO_NODE:
        cdef uint32_t[4] parts = [a, b, c, d]
        return self.grammar.add_seq(parts, 2 + (c != NO_NODE) + (d != NO_NODE))

    cdef uint32_t alt(self, uint32_t a, uint32_t b, uint32_t c=NO_NODE) except? NO_NODE:
        cdef uint32_t[3] parts = [a, b, c]
        return self.grammar.add_alt(parts, 2 + (c != NO_NODE))

    cdef uint32_t any_chars(self, minimum, maximum) except? NO_NODE:
        """Add ``minimum`` to ``maximum`` characters inside a string (None: unbounded)."""
        return self.grammar.repeat(self.grammar.add_set(JSON_CHARS, ANY_CHAR, 2), minimum, maximum)

    # -- rules ------------------------------------------------------------------------------------
    cdef uint32_t declare_shared(self, int which) except? NO_NODE:
        """Declare a shared rule and return its number; the caller defines it."""
        cdef uint32_t rule = self.grammar.new_rule(NAMES[which], NO_NODE)
        self.shared[which] = self.grammar.add_ref(rule)
        return rule

    cdef uint32_t rule_of(self, uint32_t node) except? NO_NODE:
        """Return a reference to the rule with this body, or NO_NODE; literals need no rule."""
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
        """Return the rule with this body, and create it if necessary."""
        cdef uint32_t rule = self.rule_of(node)
        return rule if rule != NO_NODE else self.new_rule(name, node)

    # -- parts of JSON ----------------------------------------------------------------------------
    cdef int below(self) noexcept:
        """Return the depth of the values inside the current one; 0 unless lines are indented."""
        return 0 if not self.is_indented else self.depth + 1 if self.depth < MAX_DEPTH else DEEP

    cdef uint32_t space(self) except? NO_NODE:
        """Return flexible white space between JSON tokens, or EMPTY.

        It is nothing, one space, or a newline followed by at most ``blanks`` spaces: a model that escapes from
        a slip through white space mixes tabs into it, and none of their templates writes tabs.
        """
        if not self.flexible:
            return self.empty
        if self.shared[WHITE_SPACE] == NO_NODE:
            rule, one = self.declare_shared(WHITE_SPACE), self.bytes(b" ")
            line = self.seq(self.bytes(b"\n"), self.grammar.add_repeat(one, 0, self.blanks))
            self.grammar.set_rule(rule, self.alt(self.empty, one, line))
        return self.shared[WHITE_SPACE]

    cdef uint32_t line(self, bytes before, int depth, bytes behind) except? NO_NODE:
        """Add a line break at a depth, if the layout has lines, between two literals."""
        cdef bytes unit = self.layout.unit
        if unit is None:
            return self.bytes(before + behind)
        if depth != DEEP:
            return self.bytes(before + b"\n" + depth * unit + behind)
        if self._deep == NO_NODE:
            self._deep = self.new_rule(
                "deeper levels", self.grammar.repeat(self.bytes(unit), 0, MAX_DEPTH - EXACT_LEVELS))
        return self.seq(self.bytes(before + b"\n" + EXACT_LEVELS * unit), self._deep, self.bytes(behind))

    cdef uint32_t opening(self) except? NO_NODE:
        """Return the white space of the layout before the first item or member."""
        return self.empty if self.layout is None else self.line(b"", self.below(), b"")

    cdef uint32_t closing(self) except? NO_NODE:
        """Return the white space after the last item or member."""
        return self.space() if self.layout is None else self.line(b"", self.depth, b"")

    cdef uint32_t comma(self) except? NO_NODE:
        """Return a comma, with the white space of the layout."""
        if self.layout is not None:
            return self.line(self.layout.item, self.below(), b"")
        if self._comma == NO_NODE:
            self._comma = self.bytes(b",")
        return self._comma

    cdef uint32_t colon(self) except? NO_NODE:
        """Return a colon, with the white space of the layout."""
        if self._colon == NO_NODE:
            self._colon = self.bytes(b":" if self.layout is None else self.layout.key)
        return self._colon

    cdef uint32_t quote(self) except? NO_NODE:
        if self._quote == NO_NODE:
            self._quote = self.bytes(b'"')
        return self._quote

    cdef uint32_t quoted(self, uint32_t body) except? NO_NODE:
        return self.seq(self.quote(), body, self.quote())

    cdef uint32_t literal(self, str text) except? NO_NODE:
        """Add a JSON string with this value; a lone surrogate has no spelling."""
        return self.quoted(self.text(text)) if self.has_spelling(text) else self.fail

    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE:
        """Add ``inside`` in brackets; it contains the white space before the closing one."""
        return self.seq(self.bytes(begin), self.space(), inside, self.bytes(end))

    cdef uint32_t pair(self, uint32_t key, uint32_t value) except? NO_NODE:
        """Add a member, given the inside of its key and its value."""
        cdef uint32_t quote = self.quote(), space = self.space()
        cdef uint32_t[7] parts = [quote, key, quote, space, self.colon(), space, value]
        return self.grammar.add_seq(parts, 7)

    cdef uint32_t pair_of(self, uint32_t key, uint32_t value) except? NO_NODE:
        """Add a member, given its key in quotes and its value."""
        cdef uint32_t space = self.space()
        cdef uint32_t[5] parts = [key, space, self.colon(), space, value]
        return self.grammar.add_seq(parts, 5)

    cdef uint32_t first(self, uint32_t node) except? NO_NODE:
        """Add the first item or member inside brackets."""
        return node if self.layout is None else self.seq(self.opening(), node)

    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE:
        cdef uint32_t space = self.space()
        return self.seq(space, self.comma(), space, node)

    cdef uint32_t any_of_length(self, minimum, maximum) except? NO_NODE:
        """Add the inside of any JSON string of ``minimum`` to ``maximum`` characters (None: unbounded)."""
        excludes = self.element_ends if self.excludes is None else self.excludes
        if excludes is not None:
            return self.grammar.bounded(self.without(excludes, ANY_TEXT, ""), minimum, maximum)
        return self.any_chars(minimum, maximum)

    cdef uint32_t without_excludes(self, automaton, str place) except? NO_NODE:
        """Add the texts of an automaton as the inside of a JSON string that contains nothing excluded."""
        return self.without(self.excludes, automaton, place)

    cdef uint32_t without(self, excludes, automaton, str place) except? NO_NODE:
        bound = Bound(self.grammar.limits.pattern_states, place, self.grammar.budget)
        return written_node(self.grammar, automaton, excludes, bound)

    cdef uint32_t any_body(self) except? NO_NODE:
        """Return the inside of any JSON string."""
        if self.shared[STRING_BODY] == NO_NODE:
            self.body_rule = self.declare_shared(STRING_BODY)
            self.grammar.set_rule(self.body_rule, self.any_of_length(0, None))
        return self.shared[STRING_BODY]

    cdef uint32_t other_body(self, list texts) except? NO_NODE:
        """Return the inside of any JSON string except these."""
        if self.excludes is not None:
            bound = Bound(self.grammar.limits.pattern_states, "", self.grammar.budget)
            others = intersection([], [words(texts)], bound)
            return self.rule_by("key", self.without_excludes(others, ""))
        if self.element_ends is None:
            self.any_body()
            return self.rule_by("key", self.grammar.add_text_except(self.body_rule, texts))
        if self.unguarded_rule == NO_NODE:
            self.unguarded_rule = self.grammar.new_rule(NAMES[STRING_BODY], self.any_chars(0, None))
        return self.rule_by("key", self.grammar.add_text_except(self.unguarded_rule, texts))

    cdef uint32_t any_string(self) except? NO_NODE:
        cdef uint32_t rule
        if self.shared[ANY_STRING] == NO_NODE:
            rule = self.declare_shared(ANY_STRING)
            self.grammar.set_rule(rule, self.quoted(self.any_body()))
        return self.shared[ANY_STRING]

    cdef uint32_t listed(self, list texts) except? NO_NODE:
        return self.quoted(self.texts(texts))

    cdef uint32_t any_boolean(self) except? NO_NODE:
        return self.alt(self.bytes(self.constants[0]), self.bytes(self.constants[1]))

    cdef uint32_t null(self) except? NO_NODE:
        return self.bytes(self.constants[2])


cdef str spelled(str text):
    """Return the shortest spelling of a text inside a JSON string."""
    return dumps(text, ensure_ascii=False)[1:-1]


cdef JsonText text_of(
    Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes, tuple element_ends,
    tuple bounds
):
    """Return the JsonText of a grammar and a way of writing, which all schemas of the grammar share."""
    cdef tuple key = ("json text", flexible, blanks, layout, canonical, excludes, element_ends, bounds)
    cdef JsonText made = grammar.shared.get(key)
    if made is None:
        made = grammar.shared[key] = JsonText.__new__(
            JsonText, grammar, flexible, blanks, layout, canonical, excludes)
        made.element_ends = Excludes(element_ends, grammar.budget) if element_ends else None
    return made


cdef tuple named_texts(tuple of):
    cdef ConstraintText each
    if not of:
        return ()
    if len(of) == 1:
        return ((<ConstraintText>of[0]).text,)
    return tuple([each.text for each in of])


cdef list pointers_of(tuple constraints):
    cdef ConstraintText each
    return [each.pointer() for each in constraints]


# -- graphs ------------------------------------------------------------------------------------------

cdef GraphBuilder new_graph(JsonText text, start):
    cdef GraphBuilder graph = GraphBuilder.__new__(GraphBuilder)
    graph.text, graph.numbers, graph.states, graph.edges, graph.finals = text, {}, [], [], set()
    graph.number(start)
    return graph


cdef class GraphBuilder:
    cdef uint32_t number(self, state) except? 0xFFFFFFFF:
        """Return the number of a state; a new state is appended to ``states``."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    cdef int add(self, source, uint32_t node, target) except -1:
        """Add an edge, unless its node matches no text."""
        spend(self.text.grammar.budget, 2)
        if node != self.text.fail:
            self.edges.append((self.number(source), node, self.number(target)))
        return 0

    cdef bint is_full(self):
        return len(self.states) > MAX_STATES or len(self.edges) > MAX_EDGES

    cdef uint32_t node(self) except? 0xFFFFFFFF:
        """Add the GRAPH, without states that cannot reach a final one."""
        ends = {self.numbers[state] for state in self.finals}
        return without_dead_ends(self.text.grammar, len(self.states), self.edges, ends)


# -- listed values -----------------------------------------------------------------------------------

#: doubles represent every whole number up to here
EXACT = 2**53


cdef int add_values(JsonText text, list values, vector[uint32_t]* alternatives) except -1:
    # all strings are one alternative and share their quotes
    cdef list distinct = unique(values) if len(values) > 1 else values
    cdef list strings = [value for value in distinct if isinstance(value, str)]
    if strings:
        alternatives.push_back(text.listed(strings))
    for value in distinct if len(strings) < len(distinct) else ():
        if not isinstance(value, str):
            alternatives.push_back(value_node(text, value))
    return 0


cdef list unique(list values):
    """Return distinct values: the last of equal ones at the position of the first."""
    for value in values:
        if not isinstance(value, str):
            return list({identity(value): value for value in values}.values())
    return once(values)


cdef list once(list texts):
    return list(dict.fromkeys(texts)) if len(texts) > 1 else texts


cdef uint32_t value_node(JsonText text, value) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef int depth
    if isinstance(value, str):
        return text.listed([value]) if text.is_python else text.literal(value)
    if value is None or isinstance(value, bool):
        return text.null() if value is None else text.bytes(text.constants[0 if value else 1])
    if isinstance(value, (int, float)):
        return number_node(text, value)
    depth, text.depth = text.depth, text.below()
    if isinstance(value, list):
        for item in value:
            parts.push_back(value_node(text, item))
    else:
        for key, item in value.items():
            node = value_node(text, item)
            parts.push_back(text.pair_of(text.key_literal(key), node))
    text.depth = depth
    return listed(text, b"[", &parts, b"]") if isinstance(value, list) else listed(text, b"{", &parts, b"}")


cdef uint32_t number_node(JsonText text, value) except? 0xFFFFFFFF:
    """Add a number. Unless canonical, a large float may also be its digits if these are exact (1e+22, not 1e+23)."""
    cdef uint32_t node, zero, point
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
    zero, node = text.bytes(b"0"), text.bytes(digits.encode())
    if "." in digits:
        return text.seq(node, text.grammar.repeat(zero, 0, None))
    if abs(value) > EXACT:
        return text.alt(node, text.bytes(repr(value).encode())) if isinstance(value, float) else node
    point = text.seq(text.bytes(b"."), text.grammar.repeat(zero, 1, None))
    return text.seq(node, text.alt(point, text.empty))


cdef uint32_t listed(JsonText text, bytes begin, vector[uint32_t]* items, bytes end) except? 0xFFFFFFFF:
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
    return text.bracketed(begin, text.grammar.add_seq(parts.data(), parts.size()), end)
