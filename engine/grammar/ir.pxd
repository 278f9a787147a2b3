"""The IR: what every front end emits and every back end reads.

A ``Grammar`` is a table of hash-consed nodes plus named rules. A node is an ``int``; its content is
in flat native arrays (``NodeC``), and ``Grammar.nodes[i]`` shows it as a tuple that begins with the
kind:

    (EMPTY,)                          the empty word
    (FAIL,)                           no word
    (BYTES, data)                     these bytes, exactly
    (TEXT, text)                      this text inside a JSON string: each character in any legal
                                      spelling (raw, short escape, \\uXXXX in either case, surrogate
                                      pairs)
    (CHARS, ranges)                   one character in UTF-8, from sorted disjoint (low, high)
                                      ranges of code points
    (JSON_CHARS, ranges)              the same, in any spelling legal inside a JSON string
    (SEQ, (node, ...))
    (ALT, (node, ...))
    (REPEAT, node, minimum, maximum)  counted repetition; a maximum of -1 is no upper bound
    (REF, rule)                       a rule by its index
    (TOKENS, ranges)                  one of these tokens, from sorted disjoint (low, high) ranges
                                      of ids; never matches bytes
    (TOKENS_EXCEPT, ranges)           one of the other tokens with a text; the ranges include all
                                      stop tokens
    (GRAPH, n, ((from, node, to), ...), finals)
                                      a small automaton whose edges are nodes: states 0..n-1,
                                      start 0; an edge with node EMPTY is an empty move
    (DISPATCH, arms, excludes, specials, open_end, min_chars, max_chars, max_tokens, anchored)
                                      free text with triggers, see below
    (TEXT_EXCEPT, rule, (text, ...))  the inside of any JSON string whose value is none of these
                                      texts, in any spelling; ``rule`` is the rule of any string's
                                      inside
    (TEXTS, (text, ...), spelled)     any of these texts inside a JSON string, in any spelling;
                                      spelled: only as written
    (OBJECT, ((name, node, required), ...), extra, space, may_be_empty, extra_last, any_order,
     spelled, layout, bare)           a JSON object, including braces: these members, in this order
                                      or in any, each at most once; members that are not required
                                      may be absent. Names may have any spelling; spelled: only as
                                      written. ``extra`` (FAIL: none) is a whole member under
                                      another name; any number may come between the others, or only
                                      after them. ``space`` may come between any two JSON tokens.
                                      Nodes are references; ``space`` may be EMPTY and must match
                                      the empty word. ``layout``: (), or instead of ``space`` the
                                      text after { before a member (may be EMPTY), the comma, the
                                      colon, and } after a member, each including the white space
                                      around it. bare: the object has a member and a layout, but
                                      neither braces nor quotes; parts of the layout may be EMPTY
    (BOUNDED, node, minimum, maximum) the words of ``node`` with a bounded number of characters; a
                                      maximum of -1 is no upper bound. ``node`` is a GRAPH whose
                                      edges are characters: classes, or alternatives of their
                                      spellings. Edges of one state have no spelling in common. Some
                                      nonempty word fits the bounds. With a minimum, words of every
                                      length from maximum - minimum on lead from every state to an
                                      end, so state and count alone tell whether a word can still
                                      become short enough
    (CAPTURE, label, role, node)      the language of node; marks a region for the event parser. The
                                      role "differs" marks no region: its words are JSON values or
                                      keys that must be unique in their array or object. Its label
                                      is empty

DISPATCH is UTF-8 text of any length, in which the first completed pattern decides:

    arms       ((pattern, node, returns), ...)  after ``pattern``, ``node`` must follow. Then free
               text continues (returns=True) or the DISPATCH ends (returns=False). Patterns may
               share prefixes.
    excludes   (pattern, ...)  patterns that must never be completed
    specials   (id, ...)  tokens that free text may contain. A token that is a letter of a pattern
               continues it; every other one resets the search. Other tokens are legal only within a
               pattern that completes.
    open_end   whether the DISPATCH may end within free text, at any character boundary
    min_chars, max_chars
               bounds on the characters of the text; a maximum of -1 is no upper bound. Only text
               without arms and specials, and with an open end, may have them
    max_tokens
               limit on the tokens with a part in the text, -1: none. A token counts once, when it
               ends; text that is not given as tokens does not count. A token may end within a
               character only if a token is left for each missing byte, because a vocabulary is only
               sure to have single bytes. Only text without arms and min_chars, and with an open
               end, may have it

    anchored   there is no free text: one of the patterns and then its node. All patterns that
               complete may decide. It has arms that do not return, and nothing else

A pattern is a sequence of letters (``bytes`` or a tuple): 0..255 a byte, 256 + id a token. It
completes only between characters. If patterns complete at the same letter, an exclude wins, then
the longest arm.

Roles of CAPTURE: "tag" (a region from begin to end), "begin" and "end" (its boundaries), "text" (a
leaf whose bytes are content). A trigger matched by a DISPATCH belongs to the "begin" capture that
its node starts with, or to the "text" capture if the DISPATCH is anchored. The bytes of an arm whose
node is an empty "end" capture belong to that capture.

A fragment (``IrFragment``) is a piece of a grammar that can be put into other grammars: the result
of a pattern, a format or a bounded number. It has the nodes below one root, children first,
numbered from 0, and a pool of its own. Without nodes it means what its builder defines.
``FragmentCache`` is a bounded LRU of fragments by the content they were built from. A compiler has one;
a grammar of its own has its own, and so have the attempts at a schema that is relaxed.

Invariants   I1 children have smaller ids than their parents, except through REF.
             I2 equal content is the same id.
             I3 SEQ and ALT are flat and have at least two children; ALT has no FAIL, SEQ neither
                FAIL nor EMPTY.
             I4 every rule is defined before the grammar leaves its front end (``check``).
             I5 a lowered grammar is sealed: no nodes can be added.
             I6 fragments have no references to rules, captures, dispatches or token sets. They are
                immutable and shared between grammars and threads. A cached fragment costs a
                grammar's budget as many steps as a new one; in a cache of attempts, a fragment that an
                earlier attempt built or refused costs one step.
Table        `table` finds a node by its content: open addressing, node + 1, 0 is free. `seal` frees
             it.
Cost         adding a node: linear in its operands. Adding a fragment: linear in its nodes and
             edges.
Not here     the meaning of schemas (front ends), operands in the pool (lowered), automata
             (rule_automata), identities (rule_digest).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libcpp.utility cimport pair

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
    # flags of an OBJECT
    MAY_BE_EMPTY = 1          # it needs no member
    EXTRA_LAST = 2            # unlisted members come after all others
    ANY_ORDER = 4             # listed members come in any order
    SPELLED = 8               # names have one spelling, as written
    # instead of ``space``, four nodes include the white space: what follows { before the first
    # member, the comma, the colon, and } after a member
    LAID_OUT = 16
    # no brackets and quotes, which the layout's nodes may contain; a node may be EMPTY. Needs LAID_OUT
    # and excludes MAY_BE_EMPTY, so that the empty text is not in it
    BARE = 32

cdef enum:
    LAYOUT_PARTS = 4

cdef enum:
    ANCHORED = 1              # flag of a DISPATCH

cdef enum:
    ROLE_NONE = 0
    ROLE_TAG = 1
    ROLE_BEGIN = 2
    ROLE_END = 3
    ROLE_TEXT = 4
    # a CAPTURE that is no region for the parser: its words must be unique in their array
    ROLE_DIFFERS = 5

cdef struct NodeC:
    uint32_t kind, a, b, c, off, n

# Return the offset of an OBJECT's first member in the pool.
cdef inline uint32_t first_member(const NodeC* node) noexcept nogil:
    return node.off + 2 + (LAYOUT_PARTS if node.b & LAID_OUT else 0)

cdef class FragmentCache


cdef class Grammar:
    cdef readonly object limits
    cdef readonly WorkBudget budget       # of the request; several grammars may share it
    cdef readonly FragmentCache fragments  # of the compiler, all of whose grammars have the same limits
    cdef public object root
    # by rule: a str, or an object whose str() is the name and which keeps no spec alive
    cdef list names
    cdef readonly list labels
    cdef readonly dict shared             # data of the front ends, by their own names
    cdef readonly list sets               # distinct TokenSets: the specials of DISPATCHes
    cdef dict label_ids, literal_rules
    cdef bint sealed
    cdef vector[NodeC] node_list
    cdef vector[uint32_t] pool
    cdef vector[uint32_t] rule_nodes      # by rule, NO_NODE: not defined yet
    cdef vector[uint64_t] hashes          # by node
    cdef vector[uint32_t] table
    cdef vector[uint32_t] marks           # by node: the last union it was met in
    cdef uint32_t mark
    cdef size_t most, most_operands
    cdef uint32_t empty_node, fail_node

    # operands are at the end of the pool, from ``off`` on, and are removed if the node is known
    cdef uint32_t intern(self, uint32_t kind, uint32_t a, uint32_t b, uint32_t c, uint32_t off) except? NO_NODE
    cdef bint same(self, const NodeC* one, const NodeC* other) noexcept nogil
    cdef int grow(self) except -1
    cdef bint _are_within(self, const NodeC* node, ids) except -1
    cdef uint32_t kind_of(self, uint32_t node) noexcept nogil
    cdef uint32_t add_bytes(self, const unsigned char* data, size_t n) except? NO_NODE
    cdef uint32_t add_text(self, str text) except? NO_NODE
    cdef uint32_t add_seq(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t add_alt(self, const uint32_t* parts, size_t n) except? NO_NODE
    cdef uint32_t add_set(self, uint32_t kind, const uint32_t* bounds, size_t n) except? NO_NODE
    cdef uint32_t add_repeat(self, uint32_t node, uint32_t minimum, uint32_t maximum) except? NO_NODE
    cdef uint32_t without_empty(self, uint32_t node) except? NO_NODE
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
    # operands as in lowered: n_arms arms and then excludes
    cdef uint32_t add_dispatch(
        self, uint32_t n_arms, vector[uint32_t]* operands, TokenSet specials, bint open_end,
        uint32_t min_chars, uint32_t max_chars, uint32_t max_tokens
    ) except? NO_NODE
    # an anchored DISPATCH; operands as in lowered
    cdef uint32_t add_anchored(self, uint32_t n_arms, vector[uint32_t]* operands) except? NO_NODE
    # ``name`` is a str, or an object whose str() is one
    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE
    cdef int set_rule(self, uint32_t rule, uint32_t node) except -1
    cdef int seal(self) except -1
    cdef size_t bytes_held(self)

# Append ranges of numbers, sorted and merged; sorts ``ranges``.
cdef void push_ranges(vector[pair[uint32_t, uint32_t]]* ranges, vector[uint32_t]* out) noexcept nogil

# Append a pattern's number of letters and its letters.
cdef int push_pattern(vector[uint32_t]* out, pattern) except -1

# Return the bounds (least, most) of a repeated repetition as one repetition; None: it is none. A bound of
# None is no bound.
cdef tuple product_of_counts(least, most, minimum, maximum)


# -- fragments -------------------------------------------------------------------------------------

cdef class IrFragment:
    cdef vector[NodeC] nodes
    cdef vector[uint32_t] pool
    cdef Py_ssize_t key_words
    cdef int64_t steps      # of a budget, to build it

    cdef int take(self, Grammar grammar, uint32_t number, vector[uint32_t]* numbers) except -1
    cdef uint32_t put_into(self, Grammar grammar) except? 0xFFFFFFFF
    cdef bint is_nothing(self) noexcept
    cdef Py_ssize_t words(self)


cdef class FragmentBuilder:
    """Builds one fragment."""
    cdef Grammar grammar          # which the fragment is for; pays for it

    cdef Grammar new_grammar(self)
    # pointers of the keywords that the fragment is made of
    cdef list places(self)
    cdef IrFragment make(self)
    cdef IrFragment run(self)     # make, and note its steps


cdef class FragmentCache:
    cdef object known       # OrderedDict
    cdef object guard
    cdef object calls       # SingleFlight
    cdef Py_ssize_t held, most            # words
    cdef uint64_t hits, misses
    cdef bint is_of_attempts
    cdef dict refused       # of attempts, by key: limit, maximum, actual value, number of the place

    # the cached fragment, or None
    cdef IrFragment recall(self, tuple key)
    # the cached fragment, or a new one; two threads do not build the same one
    cdef IrFragment get(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    cdef IrFragment make(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder)
    # raises the refusal of an earlier attempt, at the builder's place
    cdef int refuse_again(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder) except -1
    cdef int note_refusal(self, tuple key, FragmentBuilder fragment_builder, error) except -1
    cdef int keep(self, tuple key, IrFragment fragment) except -1


cdef IrFragment fragment_of(Grammar grammar, uint32_t node)
