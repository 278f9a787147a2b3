"""JSON text: white space, punctuation, literals, and the rules that all values of a grammar share.

A ``JsonText`` adds nodes to one grammar in one way of writing JSON: with flexible white space, with none, or
with the layout of ``json.dumps`` (layout). If lines are indented, a rule that contains a line break belongs to
one ``depth``: the depth of the value being built, or DEEP if it is unknown. Rules are created on first use.

``GraphBuilder`` builds a GRAPH whose states are arbitrary keys, such as counts and sets. States are numbered in
the order of discovery; states that cannot reach the end are dropped.

Invariants   one JsonText for each grammar and way of writing (``text_of``), so that schemas share its rules.
Cost         callers refuse graphs of more than ``MAX_STATES`` states or ``MAX_EDGES`` edges (``is_full``).
"""

from libc.stdint cimport uint32_t, uint8_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector

cdef enum:
    # the absence of a node
    NO_NODE = 0xFFFFFFFF

cdef enum:
    WHITE_SPACE
    STRING_BODY
    ANY_STRING
    ANY_INTEGER
    ANY_NUMBER
    # these contain white space; if lines are indented, each schema has its own by depth (builder)
    ANY_OBJECT
    ANY_ARRAY
    ANY_VALUE
    SHARED_RULES


cdef enum:
    # spaces after a newline at most; with more, a model could write white space forever
    BLANKS = 20
    # levels of depth, from the shallowest one of a schema, that have rules of their own when lines are indented.
    # Unconstrained values take 0.1 ms for all levels
    EXACT_LEVELS = 16
    # levels of indentation at most, for the same reason as BLANKS
    MAX_DEPTH = 128
    # a depth of at least EXACT_LEVELS, or beyond MAX_DEPTH
    DEEP = 129

cdef class JsonText:
    """Nodes and shared rules of one grammar for one way of writing JSON.

    ``canonical``: listed texts, and numbers, have a single spelling. ``excludes`` has this effect on texts, too.
    Subclasses write strings and objects in other ways (styled_text).
    """
    cdef bint is_raw, is_bare, is_python        # a RawText, a BareText, a PythonText
    cdef int comparable             # types whose values unique_items can compare
    cdef bint repeats_keys          # behind the values of members
    cdef tuple constants            # the texts of true, false and null
    cdef tuple excluded             # texts
    cdef readonly Grammar grammar
    cdef bint flexible, canonical
    cdef readonly object excludes   # Excludes of the written text, or None
    cdef object element_ends        # Excludes of strings of which only the length is bounded, or None
    cdef int blanks                 # of a flexible line, at most
    cdef object layout              # layout.Layout; None: flexible or no white space
    cdef bint is_indented           # lines depend on the depth
    cdef int depth                  # of the value being built
    cdef object document            # the root schema being built
    cdef uint32_t empty, fail
    cdef uint32_t shared[SHARED_RULES]
    cdef vector[uint32_t] ruled     # reference to the rule with a given body, or NO_NODE
    cdef dict kept                  # nodes of fragments (patterns, formats, bounds) by their cache keys
    cdef uint32_t body_rule         # number of the rule STRING_BODY, once it exists
    cdef uint32_t unguarded_rule    # the same without element_ends, or NO_NODE
    cdef uint32_t _quote, _comma, _colon, _deep

    # the text of keys, which are strings in JSON; a listed key as an OBJECT has it
    cdef JsonText key_text(self)
    cdef str written_key(self, str key)
    # an object of these members; ``flags`` as in ir, without those of the layout
    cdef uint32_t members(
        self, list names, const uint32_t* nodes, const uint8_t* required, uint32_t extra, uint32_t flags
    ) except? NO_NODE

    # leaves and composition, as in ir.Grammar
    cdef uint32_t bytes(self, bytes data) except? NO_NODE
    cdef bint has_spelling(self, str text) except -1
    cdef uint32_t text(self, str text) except? NO_NODE
    cdef uint32_t texts(self, list texts) except? NO_NODE
    cdef uint32_t seq(self, uint32_t a, uint32_t b, uint32_t c=*, uint32_t d=*) except? NO_NODE
    cdef uint32_t alt(self, uint32_t a, uint32_t b, uint32_t c=*) except? NO_NODE
    cdef uint32_t any_chars(self, minimum, maximum) except? NO_NODE

    # rules
    cdef uint32_t declare_shared(self, int which) except? NO_NODE
    cdef uint32_t rule_of(self, uint32_t node) except? NO_NODE
    # ``name`` as in ir.Grammar
    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE
    cdef uint32_t rule_by(self, name, uint32_t node) except? NO_NODE

    # parts of JSON
    cdef int below(self) noexcept
    cdef uint32_t space(self) except? NO_NODE
    cdef uint32_t line(self, bytes before, int depth, bytes behind) except? NO_NODE
    cdef uint32_t opening(self) except? NO_NODE
    cdef uint32_t closing(self) except? NO_NODE
    cdef uint32_t comma(self) except? NO_NODE
    cdef uint32_t colon(self) except? NO_NODE
    cdef uint32_t quote(self) except? NO_NODE
    cdef uint32_t quoted(self, uint32_t body) except? NO_NODE
    cdef uint32_t literal(self, str text) except? NO_NODE
    cdef uint32_t key_literal(self, str key) except? NO_NODE
    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE
    cdef uint32_t pair(self, uint32_t key, uint32_t value) except? NO_NODE
    cdef uint32_t pair_of(self, uint32_t key, uint32_t value) except? NO_NODE
    cdef uint32_t first(self, uint32_t node) except? NO_NODE
    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE
    cdef uint32_t any_of_length(self, minimum, maximum) except? NO_NODE
    cdef uint32_t without_excludes(self, automaton, str place) except? NO_NODE
    cdef uint32_t without(self, excludes, automaton, str place) except? NO_NODE
    cdef uint32_t any_body(self) except? NO_NODE
    cdef uint32_t other_body(self, list texts) except? NO_NODE
    cdef uint32_t any_string(self) except? NO_NODE
    # any of these strings
    cdef uint32_t listed(self, list texts) except? NO_NODE
    cdef uint32_t any_boolean(self) except? NO_NODE
    cdef uint32_t null(self) except? NO_NODE


# ``bounds``: of the values inside any value
cdef JsonText text_of(
    Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes, tuple element_ends,
    tuple bounds)
cdef str spelled(str text)

# the texts of constraints, which are cache keys
cdef tuple named_texts(tuple of)
cdef list pointers_of(tuple constraints)
# drops repetitions
cdef list once(list texts)
# Adds alternatives for the values of an enum or const: strings in any spelling, objects in the order of their
# keys, numbers as Python writes them, with optional zeros after a point. Numbers have no exponent if the
# document requires unique items, which compare digits.
cdef int add_values(JsonText text, list values, vector[uint32_t]* alternatives) except -1


cdef enum:
    MAX_STATES = 10_000
    MAX_EDGES = 100_000


cdef class GraphBuilder:
    cdef JsonText text
    cdef dict numbers       # state -> its number
    cdef list states        # by number
    cdef list edges         # (number of a state, node, number of the next state)
    cdef set finals

    cdef uint32_t number(self, state) except? 0xFFFFFFFF
    cdef int add(self, source, uint32_t node, target) except -1
    cdef bint is_full(self)
    cdef uint32_t node(self) except? 0xFFFFFFFF


cdef GraphBuilder new_graph(JsonText text, start)
