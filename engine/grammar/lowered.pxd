"""The lowered grammar: the IR in flat native arrays, with two facts that automata need in advance.

Representation   nodes and pool belong to the sealed grammar. The operands of nodes[i] are
                 pool[off .. off + n - 1]:

                     BYTES                byte values
                     TEXT                 code points
                     CHARS, JSON_CHARS    low, high pairs
                     SEQ, ALT             node ids
                     GRAPH                (from, node, to) triples, a = states,
                                          final states at pool[b .. b + c - 1]
                     REPEAT, BOUNDED      a = node, b = min, c = max (NO_MAXIMUM: none)
                     REF                  a = rule
                     TOKENS, TOKENS_EXCEPT  low, high pairs of ids; a = token set, once loaded
                     CAPTURE              a = node, b = label, c = role
                     DISPATCH             a = specials (NO_SET: none), b = number of arms, c = flags; open_end,
                                          min, max chars, max tokens; arms: node, returns, letters;
                                          excludes: letters. Letters are their number, then
                                          themselves
                     TEXTS                the length and code points of each text; a = 1: as written
                     TEXT_EXCEPT          likewise; a = rule of any text
                     OBJECT               a = members, b = flags; nodes of space and of unlisted
                                          members, with LAID_OUT those of the layout, then for each
                                          member its node, whether it is required, and its name's
                                          length and code points

                 rules[r] has the node of rule r and the kind of its automaton. After the grammar's
                 rules come rules of their own for each CAPTURE, DISPATCH, TEXTS, TEXT_EXCEPT,
                 BOUNDED and counted REPEAT, each large GRAPH of characters, each OBJECT that is not
                 all of a rule, and each arm that is no REF.
Facts            nullable[i]: node i matches the empty word. productive[i]: it matches any word.
Invariants       I1 as in ir.pxd; nodes, pool and rules never change after loading. Token sets may
                    be added while automata are built.
                 I2 loading a grammar again changes its nodes in the same way.
Not here         automata (rule_automata), identities (rule_digest).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.resources cimport WorkBudget
from ..vocabulary.vocabulary cimport Vocabulary
from .ir cimport NO_MAXIMUM, Grammar, NodeC

cdef enum:
    NO_RULE = 0xFFFFFFFF

cdef enum:
    CHARACTER_BYTES = 4       # bytes of the longest character

cdef enum:
    PLAIN_RULE = 0
    COUNTED_RULE = 1
    DISPATCH_RULE = 2
    TEXT_EXCEPT_RULE = 3
    OBJECT_RULE = 4
    BOUNDED_RULE = 5
    TEXTS_RULE = 6
    ANCHORED_RULE = 7         # an anchored DISPATCH
    GRAPH_RULE = 8            # a large GRAPH of characters

cdef enum:
    WIDE_CHARS = 64           # a larger class matches most of a vocabulary

cdef enum:
    # Estimated edges from which on a GRAPH of characters is large, so that its automaton is built
    # state by state. A smaller one takes less than a millisecond as a whole.
    GRAPH_EDGES = 1 << 13

cdef struct RuleC:
    uint32_t node             # the body of a PLAIN_RULE, else the node itself
    uint32_t minimum, maximum  # iterations; for DISPATCH and BOUNDED, characters
    uint32_t most_tokens      # of a DISPATCH; NO_MAXIMUM: no limit
    uint32_t unit             # a token's share of the register, above the characters; 0: not counted
    uint32_t label            # index into labels
    uint32_t dispatch         # of a DISPATCH_RULE or ANCHORED_RULE: index into dispatches
    uint32_t edges            # estimate for its automaton; of a rule built state by state, its words
    uint8_t kind, role, nullable, productive
    uint8_t counted           # it has a register: COUNTED_RULE, BOUNDED_RULE, free text with bounds
    uint8_t iterates          # the count is of iterations or characters, not of tokens alone
    uint8_t differs           # its words must be unique in their JSON array or object

cdef struct ArmC:
    uint32_t off, n           # letters in pool
    uint32_t rule             # of an exclude: NO_RULE
    uint32_t held             # bytes of the pattern's text
    uint8_t returns

cdef struct DispatchC:
    uint32_t first, n_arms, n_excludes    # arms[first ..], excludes after the arms
    uint32_t specials         # token set, NO_RULE: none
    uint32_t edges            # estimate: each letter of a pattern is a state that knows all first letters
    uint8_t open_end, anchored

cdef struct TokenSetC:
    const uint32_t* bounds    # low, high of each range of ids, ascending and disjoint
    uint32_t n                # words in bounds
    uint8_t others            # the set is the complement, among tokens with a text

# Return whether a node matches any word; endless recursion does not. Passes over the nodes below count as
# steps of the grammar's budget. These nodes must not contain a DISPATCH.
cdef bint is_productive(Grammar grammar, uint32_t node)

# A register is iterations + unit * tokens.
cdef inline uint32_t iterations(RuleC* rule, uint32_t value) noexcept nogil:
    return value % rule.unit if rule.unit else value

cdef inline uint32_t tokens(RuleC* rule, uint32_t value) noexcept nogil:
    return value // rule.unit if rule.unit else 0

# Return the tokens left of a limit; NO_MAXIMUM if there is none.
cdef inline uint32_t tokens_left(RuleC* rule, uint32_t value) noexcept nogil:
    return rule.most_tokens - tokens(rule, value) if rule.unit else NO_MAXIMUM

cdef void list_below(LoweredGrammar lowered, uint32_t i, vector[uint32_t]* below) noexcept nogil
cdef void list_operands(
    const NodeC* node, const uint32_t* pool, const uint32_t* rule_nodes, vector[uint32_t]* out
) noexcept nogil
cdef DispatchC* dispatch_of(LoweredGrammar lowered, uint32_t node) noexcept nogil
cdef uint32_t letter_bytes(Vocabulary vocabulary, uint32_t letter) noexcept nogil

cdef class LoweredGrammar:
    cdef readonly list labels
    cdef readonly uint32_t root
    cdef readonly uint32_t own_rules      # rules[0 .. own_rules - 1] are the grammar's
    cdef uint32_t largest_rule            # estimated edges of the largest rule's automaton
    cdef uint32_t largest_at              # that rule
    cdef object grammar                   # keeps nodes, pool and sets alive
    cdef Vocabulary vocabulary
    cdef NodeC* nodes
    cdef uint32_t* pool
    cdef uint32_t* rule_nodes             # by rule of the grammar: its body
    cdef uint32_t n_nodes
    cdef vector[RuleC] rules
    cdef vector[DispatchC] dispatches
    cdef vector[ArmC] arms
    cdef vector[TokenSetC] token_sets
    cdef vector[vector[uint32_t]] made_sets       # bounds of sets that are in no node
    cdef vector[uint32_t] rule_of_node    # by node: its rule of its own, NO_RULE: none
    cdef U64MapC arm_rules                # node + 1 -> the rule of arms with that node
    cdef vector[uint8_t] productive
    cdef bint has_unique                  # some rule's words must be unique
    cdef vector[uint8_t] nullable
    cdef vector[uint32_t] weights         # by node, while loading: its estimated edges
    cdef vector[uint32_t] widths          # by node: characters of the largest class written out in it
    cdef int load(self, grammar, Vocabulary vocabulary, bint count_registers) except -1
    cdef void name_objects(self) noexcept nogil
    cdef int load_node(self, uint32_t number) except -1
    cdef int load_dispatch(self, uint32_t number) except -1
    cdef uint32_t dispatch_edges(self, DispatchC* dispatch) except? 0
    cdef uint32_t load_letters(self, uint32_t at) except? 0
    cdef int check_tokens(self, const uint32_t* ids, uint32_t n, uint32_t first) except -1
    cdef uint32_t arm_rule(self, uint32_t child) except? NO_RULE
    cdef uint32_t made_rule(self, uint32_t node, uint8_t kind) except? NO_RULE
    cdef void weigh_rules(self) noexcept nogil
    cdef uint32_t graph_weight(self, uint32_t i) noexcept nogil
    cdef bint is_large_graph(self, uint32_t i) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
    cdef uint32_t width(self, uint32_t i) noexcept nogil
    cdef bint is_counted(self, uint32_t node) noexcept nogil
    cdef uint32_t weight(self, uint32_t node) noexcept nogil
    # raises LimitExceeded: ``rule_edges``, at the largest rule's place in a schema, if it has one
    cpdef int check_edges(self, uint64_t most) except -1
    cdef bint has_token(self, uint32_t number, uint32_t token) noexcept nogil
    cdef uint32_t add_tokens(self, const uint32_t* bounds, uint32_t n, bint others) noexcept nogil
    cdef uint32_t intern_tokens(self, vector[uint32_t]* bounds) noexcept nogil
    cdef int solve(self, WorkBudget budget) except -1
    cdef bint solve_in_order(self, vector[uint32_t]* order) noexcept nogil
    cdef bint solve_once(self, uint32_t i) noexcept nogil
    cdef bint node_productive(self, uint32_t i) noexcept nogil
    cdef bint node_nullable(self, uint32_t i) noexcept nogil
