"""The IR: what every front end emits and every back end reads.

A ``Grammar`` is a table of hash-consed nodes plus named rules. A node is an ``int``; what it says
lies in flat native arrays (``NodeC`` in flat), and ``Grammar.nodes[i]`` shows it as a tuple whose
first field is the kind:

    (EMPTY,)                          the empty word
    (FAIL,)                           no word at all
    (BYTES, data)                     these bytes, exactly
    (TEXT, text)                      this text, as the inside of a JSON string: each character in
                                      any legal spelling (raw, short escape, \\uXXXX in either
                                      case, surrogate pairs)
    (CHARS, ranges)                   one character in UTF-8, from sorted disjoint (low, high)
                                      ranges of code points
    (JSON_CHARS, ranges)              the same, in any spelling legal inside a JSON string
    (SEQ, (node, ...))
    (ALT, (node, ...))
    (REPEAT, node, minimum, maximum)  counted repetition; a maximum of -1 is no upper bound
    (REF, rule)                       a rule by its index
    (TOKENS, (id, ...))               one token out of these ids; matches ids only, never bytes
    (TOKENS_EXCEPT, (id, ...))         one token out of all others that have a text; stop tokens are among
                                      the ids
    (GRAPH, n, ((from, node, to), ...), finals)
                                      a small automaton whose edges are nodes: states 0..n-1,
                                      start 0; an edge with node EMPTY is an empty move
    (DISPATCH, arms, excludes, specials, open_end, min_chars, max_chars, max_tokens)
                                      free text with triggers, see below
    (TEXT_EXCEPT, rule, (text, ...))   the inside of any JSON string whose value is none of these texts,
                                      in any spelling; ``rule`` is that of any string's inside
    (TEXTS, (text, ...), spelled)     any of these texts, as the inside of a JSON string in any spelling;
                                      spelled: as they are written alone
    (OBJECT, ((name, node, required), ...), extra, space, may_be_empty, extra_last, any_order, spelled, layout)
                                      a JSON object, braces included: these members in this order, or
                                      in any, each at most once; those not required may be left out,
                                      names in any spelling, or spelled: as they are given;
                                      ``extra`` (FAIL: none) is a whole member under another name,
                                      of which any number may stand between them, or only behind
                                      all others; ``space`` may stand between any two JSON tokens.
                                      Nodes are references; ``space`` may be EMPTY and must have
                                      the empty word. ``layout``: (), or instead of ``space`` what
                                      follows { before a member (may be EMPTY), the comma, the
                                      colon, and } behind a member, each with the white space
                                      around it
    (BOUNDED, node, minimum, maximum) the words of ``node`` that have so many characters; a maximum of -1
                                      is no upper bound. ``node`` is a GRAPH whose edges are characters:
                                      classes, or alternatives of their spellings; no two from one state
                                      have a spelling in common;
                                      some word that is not empty fits the bounds. With a minimum, from
                                      every state words of every length from maximum - minimum on
                                      lead to an end, so that what can't get short enough can be
                                      told by the state and the count alone
    (CAPTURE, label, role, node)      the same language as node; marks a region for the event
                                      parser. Role "differs" marks none: the words of such captures are
                                      JSON values, which must differ from all others of the array that
                                      they stand in, or keys of an object. Its label is empty

DISPATCH is UTF-8 text (of any length, also none) in which the first pattern to be completed
decides:

    arms       ((pattern, node, returns), ...)  when ``pattern`` completes, ``node`` must follow;
               then free text goes on (returns=True) or the DISPATCH is over (returns=False).
               Patterns may share prefixes.
    excludes   (pattern, ...)  these must never be completed
    specials   (id, ...)  token ids that free text may hold; a token that is a letter of a pattern
               goes on with it, every other resets the search. A token not among them is legal
               only inside the pattern that completes.
    open_end   whether the DISPATCH may be over while still in free text, at any character
               boundary
    min_chars, max_chars
               how many characters the text has; a maximum of -1 is no upper bound. Only text
               without arms and specials, and with an open end, can be counted
    max_tokens
               how many tokens may have a part in the text, -1: no bound. A token counts when it
               ends, once; text that is not given as tokens does not count. A token may end within a
               character only if a token is left for each byte that is missing: single bytes are all
               that a vocabulary is sure to have. Only text without arms, without min_chars and with
               an open end can have it

A pattern is a sequence of letters: 0..255 a byte, 256 + id that token (``bytes`` or a tuple); it
completes only between characters. Where patterns complete at the same letter, an exclude wins, then the longest arm.

Roles of CAPTURE: "tag" (a begin...end region), "begin" and "end" (its two marks), "text" (a leaf
whose bytes are content). A trigger that was matched by a DISPATCH belongs to the "begin" that its
node starts with; the bytes of an arm whose node is an empty "end" capture belong to that capture.

Invariants   I1 children have smaller ids than their parents, except through REF.
             I2 equal content is the same id.
             I3 SEQ and ALT are flat and have at least two children; ALT has no FAIL, SEQ neither
                FAIL nor EMPTY.
             I4 every rule is defined before the grammar leaves its front end (``check``).
             I5 a grammar that was flattened is sealed: nothing is added any more.
Not here     meaning of schemas (frontends), automata (rule_automata), identities (rule_digest).

Representation   nodes, operands and rules as in flat. `table` finds a node by its content: open
                 addressing, node + 1, 0 is free. What only adding needs is dropped by `seal`.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from ..native.pool cimport vector
from ..native.resources cimport WorkBudget
from ..vocabulary.vocabulary cimport TokenSet

cpdef enum:
    EMPTY = 0
    FAIL = 1
    BYTES = 2
    TEXT = 3
    CHARS = 4
    JSON_CHARS = 5
    SEQ = 6
    ALT = 7
    REPEAT = 8
    REF = 9
    TOKENS = 10
    GRAPH = 11
    DISPATCH = 12
    CAPTURE = 13
    TEXT_EXCEPT = 14
    OBJECT = 15
    BOUNDED = 16
    TEXTS = 17
    TOKENS_EXCEPT = 18

cdef enum:
    NO_NODE = 0xFFFFFFFF
    NO_SET = 0xFFFFFFFF
    NO_MAXIMUM = 0xFFFFFFFF

cdef enum:
    # of an OBJECT
    MAY_BE_EMPTY = 1          # it needs no member
    EXTRA_LAST = 2            # members that aren't listed stand behind all others
    ANY_ORDER = 4             # listed members stand in any order
    SPELLED = 8               # names are given as they are written
    # white space is not ``space`` everywhere, but stands in the nodes of four parts: what follows { before the
    # first member, a comma with all around it, a colon with all around it, and } with all before it
    LAID_OUT = 16

cdef enum:
    LAYOUT_PARTS = 4

cdef enum:
    ROLE_NONE = 0
    ROLE_TAG = 1
    ROLE_BEGIN = 2
    ROLE_END = 3
    ROLE_TEXT = 4
    # of a CAPTURE that is no region for the parser: its words must differ within their array
    ROLE_DIFFERS = 5

cdef struct NodeC:
    uint32_t kind, a, b, c, off, n

# Where the words of an OBJECT's first member stand in the pool.
cdef inline uint32_t first_member(const NodeC* node) noexcept nogil:
    return node.off + 2 + (LAYOUT_PARTS if node.b & LAID_OUT else 0)

cdef class Grammar:
    cdef readonly object limits
    cdef readonly WorkBudget budget       # of the request; several grammars may share it
    cdef public object root
    # by rule: a str, or what becomes one when somebody asks (``rule_names``) and holds on to no spec
    cdef list names
    cdef readonly list labels
    cdef readonly dict shared             # what front ends keep with a grammar, by a name of their own
    cdef readonly list sets               # TokenSet, each content once: the specials of DISPATCHes
    cdef dict label_ids, literal_rules
    cdef bint sealed
    cdef vector[NodeC] node_list
    cdef vector[uint32_t] pool
    cdef vector[uint32_t] rule_nodes      # by rule, NO_NODE: not defined yet
    cdef vector[uint64_t] hashes          # by node
    cdef vector[uint32_t] table
    cdef vector[uint32_t] marks           # by node: the last union it was met in
    cdef uint32_t mark
    cdef size_t most
    cdef uint32_t empty_node, fail_node

    # operands lie at the end of the pool, from ``off`` on; they are taken back if the node is known
    cdef uint32_t intern(
        self, uint32_t kind, uint32_t a, uint32_t b, uint32_t c, uint32_t off
    ) except? NO_NODE
    cdef bint same(self, const NodeC* one, const NodeC* other) noexcept nogil
    cdef int grow(self) except -1
    cdef uint32_t kind_of(self, uint32_t node) noexcept nogil
    cdef uint32_t add_bytes(self, const unsigned char* data, size_t n) except? NO_NODE
    cdef uint32_t add_text(self, str text) except? NO_NODE
    cdef uint32_t add_seq(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t add_alt(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t add_set(self, uint32_t kind, const uint32_t* bounds, size_t n) except? NO_NODE
    cdef uint32_t add_repeat(self, uint32_t node, uint32_t minimum, uint32_t maximum) except? NO_NODE
    cdef uint32_t add_graph(
        self, uint32_t states, const uint32_t* edges, size_t n_edges, const uint32_t* finals, size_t n_finals
    ) except? NO_NODE
    cdef uint32_t add_object(
        self, list names, const uint32_t* nodes, const uint8_t* required, uint32_t extra, uint32_t space,
        const uint32_t* layout, uint32_t flags
    ) except? NO_NODE
    cdef uint32_t push_texts(self, list texts)
    cdef uint32_t add_texts(self, list texts) except? NO_NODE
    cdef uint32_t add_spelled(self, list texts) except? NO_NODE
    cdef uint32_t add_bounded(self, uint32_t node, uint32_t minimum, uint32_t maximum) except? NO_NODE
    cdef uint32_t referred(self, uint32_t node) except? NO_NODE
    cdef uint32_t add_ref(self, uint32_t rule) except? NO_NODE
    cdef uint32_t add_text_except(self, uint32_t rule, texts) except? NO_NODE
    cdef uint32_t add_capture(self, str label, uint32_t role, uint32_t node) except? NO_NODE
    cdef uint32_t add_token_set(self, TokenSet ids) except? NO_NODE
    # operands as in flat: n_arms arms and then excludes
    cdef uint32_t add_dispatch(
        self, uint32_t n_arms, vector[uint32_t]* operands, TokenSet specials, bint open_end,
        uint32_t min_chars, uint32_t max_chars, uint32_t max_tokens
    ) except? NO_NODE
    # ``name`` is a str, or an object whose str() is one
    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE
    cdef int set_rule(self, uint32_t rule, uint32_t node) except -1
    cdef int seal(self) except -1
    cdef size_t bytes_held(self)

# a pattern's number of letters and its letters
cdef int push_pattern(vector[uint32_t]* out, pattern) except -1


# -- ir fragment -----------------------------------------------------------------------------------
# A piece of a grammar that is kept, to be put into others: what a pattern, a format or a bounded
# number becomes.
#
# Representation   the nodes below one root, children first, as in ``ir``; children are numbers within
#                  the fragment, operands lie in its own pool.
#                  A fragment may hold nothing at all, which means what its maker says.
# Invariants       I1 no references to rules, no captures, no dispatch, no token sets.
#                  I2 immutable; shared between grammars and threads.
#                  I3 a grammar pays the same steps of its budget for one, made or kept.
# Cost             putting it into a grammar: linear in its nodes and edges.
#
# ``FragmentCache`` is a bounded table of them by what they were made from, the least recently used going
# first.

cdef class IrFragment:
    cdef vector[NodeC] nodes
    cdef vector[uint32_t] pool
    cdef Py_ssize_t key_words
    cdef int64_t steps      # of a budget that making it took

    cdef int take(self, Grammar grammar, uint32_t number, vector[uint32_t]* numbers) except -1
    cdef uint32_t put_into(self, Grammar grammar) except? 0xFFFFFFFF
    cdef bint is_nothing(self) noexcept
    cdef Py_ssize_t words(self)


cdef class FragmentBuilder:
    """What makes one fragment."""
    cdef WorkBudget budget  # of the request that asks for it

    cdef IrFragment make(self)
    cdef IrFragment run(self)     # the same, with its steps


cdef class FragmentCache:
    cdef object known       # OrderedDict
    cdef object guard
    cdef object calls     # of what is being made
    cdef Py_ssize_t held, most

    # what is here, None if nothing is
    cdef IrFragment recall(self, tuple key)
    # what is here, or is made; two threads do not make the same
    cdef IrFragment get(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    cdef IrFragment make(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    cdef int keep(self, tuple key, IrFragment fragment) except -1


cdef IrFragment fragment_of(Grammar grammar, uint32_t node)
