"""What all kinds of values are written with: white space, quotes, commas, and rules shared by a
whole grammar.

White space is flexible, none, or that of ``json.dumps`` (``layout``). Where lines are indented, a rule
that holds a line belongs to one ``depth``: that of the value that is made now, DEEP where it is not
known.

All nodes of schemas are made through a ``Text``. A part that nobody has asked for is not there:
``shared`` holds the references to the rules made so far, ``ruled`` those by their bodies, and ``kept``
the nodes of what was put in from elsewhere (patterns, formats, bounds).
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar, IrFragment
from ...native.hashing cimport U64MapC
from ...native.pool cimport vector
from .document cimport KeywordsC
from .reader cimport Reader
from .schema_types cimport Arrays, Located, Objects, Shape

cdef enum:
    # in place of a node: none
    NO_NODE = 0xFFFFFFFF

cdef enum:
    WHITE_SPACE
    STRING_BODY
    ANY_STRING
    ANY_INTEGER
    ANY_NUMBER
    # these hold white space; where lines are indented, each schema has its own, by depth (builder)
    ANY_OBJECT
    ANY_ARRAY
    ANY_VALUE
    SHARED_RULES


cdef enum:
    # most spaces or tabs behind a newline; more would let a model run away in white space
    BLANKS = 20
    # levels of depth, from the shallowest one that a schema stands at, to which it is written out when lines
    # are indented. Each costs the rules of the schemas that recur: free values take 0.1 ms in all
    EXACT_LEVELS = 16
    # levels by which a line is indented at most, for the same reason as BLANKS
    MOST_DEPTH = 128
    # in place of a depth: any from EXACT_LEVELS on, or one beyond MOST_DEPTH
    DEEP = 129

cdef class Text:
    """The shared rules of one grammar for one way of writing; see ``text_of``. ``canonical``: texts that are
    known, and numbers, are spelled in one way. So are texts that are known beside ``excludes``.
    """
    cdef readonly Grammar grammar
    cdef bint flexible, canonical
    cdef readonly object excludes   # what strings must not hold as they are written, or None
    cdef int blanks                 # of a flexible line, at most
    cdef object layout              # json_layout.Layout; None: flexible, or no white space
    cdef bint is_indented           # lines depend on the depth
    cdef int depth
    cdef object document            # the schema, of which the values are written now
    cdef uint32_t empty, fail
    cdef uint32_t shared[SHARED_RULES]
    cdef vector[uint32_t] ruled     # by node, NO_NODE: none
    cdef dict kept                  # by a key of whoever keeps it
    cdef tuple _limits
    cdef uint32_t body_rule      # the number of the rule STRING_BODY, once it is there
    cdef uint32_t _quote, _comma, _colon, _deep

    # leaves and composition, as in ir.Grammar
    cdef uint32_t bytes(self, bytes data) except? NO_NODE
    cdef bint has_spelling(self, str text) except -1
    cdef uint32_t text(self, str text) except? NO_NODE
    cdef uint32_t texts(self, list texts) except? NO_NODE
    cdef uint32_t seq(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t alt(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t repeat(self, uint32_t node, minimum, maximum) except? NO_NODE
    cdef uint32_t json_chars(self, const uint32_t* bounds, size_t n) except? NO_NODE
    cdef uint32_t graph(
        self, uint32_t states, const uint32_t* edges, size_t n_edges, const uint32_t* finals, size_t n_finals
    ) except? NO_NODE

    # rules
    cdef uint32_t declare_shared(self, int which) except? NO_NODE
    cdef int define(self, uint32_t rule, uint32_t node) except -1
    cdef uint32_t rule_of(self, uint32_t node) except? NO_NODE
    # ``name`` as in ir.Grammar
    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE
    cdef uint32_t rule_by(self, name, uint32_t node) except? NO_NODE
    cdef int define_shared(self, int which, IrFragment body) except -1

    # what is kept
    cdef tuple limits(self)

    # parts of JSON
    cdef int below(self) noexcept
    cdef uint32_t space(self) except? NO_NODE
    cdef int make_space(self) except -1
    cdef uint32_t line(self, bytes before, int depth, bytes behind) except? NO_NODE
    cdef uint32_t opening(self) except? NO_NODE
    cdef uint32_t closing(self) except? NO_NODE
    cdef int object_layout(self, uint32_t* parts) except -1
    cdef uint32_t comma(self) except? NO_NODE
    cdef uint32_t colon(self) except? NO_NODE
    cdef uint32_t quote(self) except? NO_NODE
    cdef uint32_t quoted(self, uint32_t body) except? NO_NODE
    cdef uint32_t literal(self, str text) except? NO_NODE
    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE
    cdef uint32_t pair(self, uint32_t key, uint32_t value) except? NO_NODE
    cdef uint32_t pair_of(self, uint32_t key, uint32_t value) except? NO_NODE
    cdef uint32_t first(self, uint32_t node) except? NO_NODE
    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE
    cdef uint32_t any_of_length(self, minimum, maximum) except? NO_NODE
    cdef uint32_t without_excludes(self, automaton, str place) except? NO_NODE
    cdef uint32_t any_body(self) except? NO_NODE
    cdef uint32_t other_body(self, list texts) except? NO_NODE
    cdef uint32_t any_string(self) except? NO_NODE
    cdef uint32_t any_boolean(self) except? NO_NODE
    cdef uint32_t null(self) except? NO_NODE


cdef Text text_of(Grammar grammar, bint flexible, int blanks, layout, bint canonical, tuple excludes)
cdef str spelled(str text)


# -- graphs ----------------------------------------------------------------------------------------
# Graphs whose states are told apart by what was written so far: members and items that must be
# counted, or remembered as sets.
#
# States are numbered as they are met; the first is the start. Those that can't reach the end are
# left out, so that no text gets stuck in them.
#
# Cost   states and edges; more than ``MOST_STATES`` or ``MOST_EDGES`` are refused by whoever asks.

cdef enum:
    MOST_STATES = 10_000
    MOST_EDGES = 100_000


cdef class Graph:
    cdef Text text
    cdef dict numbers       # state -> its number
    cdef list states        # by number
    cdef vector[uint32_t] edges
    cdef set finals

    cdef uint32_t number(self, state) except? 0xFFFFFFFF
    cdef int add(self, source, uint32_t node, target) except -1
    cdef bint is_full(self)
    cdef uint32_t node(self) except? 0xFFFFFFFF


cdef Graph new_graph(Text text, start)


# -- places ----------------------------------------------------------------------------------------
# What one kind of value needs to know of the whole schema: the nodes of the places inside it.
#
# Not here   how places become nodes (builder).

cdef class Places:
    """One schema document on its way into one grammar."""
    cdef Reader reader
    cdef Text text
    cdef bint any_order     # listed keys stand in any order
    cdef bint extra_last    # additional keys stand behind them

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF
    cdef uint32_t schema(self, schema, Located above, str keyword, key) except? 0xFFFFFFFF


# -- values ----------------------------------------------------------------------------------------
# Values of enum and const as they are written: strings in any spelling, objects in the order of
# their keys.
#
# A number is written as Python writes it, with any zeros behind a point after its last digit; where any
# items of the schema must differ, without exponent: values are counted by their digits (engine.distinct).

cdef list once(list texts)
cdef int add_values(Text text, list values, vector[uint32_t]* alternatives) except -1


# -- productive ------------------------------------------------------------------------------------
# Whether a rule has any text at all: recursion without a way out has none.
#
# Cost   a pass over what lies below the node, again for as long as that makes rules productive: twice
#        for schemas, whose inner rules come after the outer ones. Passes count on the budget.

cdef bint is_productive(Grammar grammar, uint32_t node)


# -- builder ---------------------------------------------------------------------------------------
# Places of a schema -> rules.
#
# A place becomes a node: a shared rule, a rule with its content (scalars), or a rule of its own (what
# may hold objects or arrays), which is declared at once and defined later from a queue. So recursion
# costs nothing, and neither a deep schema nor a long chain of references grows the stack.
#
# Where lines are indented, a place is written out for each depth at which it stands. So recursion would
# never end: EXACT_LEVELS below the shallowest depth of a place, and where a line would be indented by
# more than MOST_DEPTH levels, it is that of no depth in particular (DEEP), and so is all inside it.
#
# Invariants   I1 one place, one depth, one node: places are remembered by the identities of their schemas.
#              I2 rules are made in the order of the schema, so equal schemas give equal grammars.
# Cost         linear in the schema; a quarter of a microsecond for a property with a plain scalar, which
#              makes no object of its own, about one for other schemas.
# Not here     what schemas mean (reader, shapes), how values are written (objects, arrays, strings,
#              numbers, values).

cdef class Builder(Places):
    cdef bint failed    # whether a rule without any text was referred to before that was known
    cdef U64MapC single     # the node of a place of one schema, by its identity and the depth
    cdef dict several       # of others, once there is one
    cdef dict shallowest    # where lines are indented: the depth at which a place stands first
    cdef vector[uint32_t] free      # where lines are indented: shared rules by depth, of free values only
    cdef list queue     # of (rule, shapes, where, depth), in the order of their depths
    cdef list named         # places that rules are named for; they let go of their schemas at the end
    cdef size_t defined

    cdef uint32_t one_place(self, Located where, int depth) except? 0xFFFFFFFF
    cdef int exact_depth(self, key, int depth) except -1
    cdef uint32_t plain(self, KeywordsC* found) except? 0xFFFFFFFF
    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF
    cdef uint32_t new_rule(self, Located where, uint32_t body) except? 0xFFFFFFFF
    cdef uint32_t node(self, tuple shapes, Located where, int depth) except? 0xFFFFFFFF
    cdef int finish(self) except -1
    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF
    cdef uint32_t free_rule(self, int which) noexcept
    cdef uint32_t declare_free(self, int which) except? 0xFFFFFFFF
    cdef uint32_t alternatives(self, tuple shapes, Located where) except? 0xFFFFFFFF
    cdef uint32_t one(self, Shape shape) except? 0xFFFFFFFF
    cdef uint32_t object(self, Objects facet) except? 0xFFFFFFFF
    cdef uint32_t array(self, Arrays facet) except? 0xFFFFFFFF
    cdef int name_part(self, uint32_t* node, Located where, n) except -1
    cdef int add_numbers(self, list shapes, vector[uint32_t]* nodes) except -1
