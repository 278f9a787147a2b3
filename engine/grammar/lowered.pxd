"""The IR in flat native arrays, with two facts that must be known before automata are built.

Representation   nodes and pool are the grammar's own, which is sealed. Node i is nodes[i]; its operands
                 lie in pool[off .. off + n - 1] (kinds: ir.pxd):

                     BYTES               byte values
                     TEXT                code points
                     CHARS, JSON_CHARS   low, high pairs
                     SEQ, ALT            node ids
                     GRAPH               (from, node, to) triples, a = states,
                                         finals at pool[b .. b + c - 1]
                     REPEAT, BOUNDED     a = node, b = min, c = max (NO_MAXIMUM: none)
                     REF                 a = rule
                     TOKENS, TOKENS_EXCEPT  ids; a = token set, once it is loaded
                     CAPTURE             a = node, b = label, c = role
                     DISPATCH            a = specials (NO_SET: none), b = number of arms; open_end,
                                         min, max chars, max tokens; arms: node, returns, letters;
                                         excludes: letters. Letters are their number and themselves
                     TEXTS               for each text its length and code points; a = 1: as written
                     TEXT_EXCEPT          the same; a = rule of any text
                     OBJECT              a = members, b = flags; nodes of space and of what isn't listed,
                                         LAID_OUT: those of the layout, then for each member its node,
                                         whether it is required, and its name's length and code points

                 rules[r] names the node of rule r and how its automaton is made. Behind the
                 grammar's own rules come made ones: each CAPTURE, DISPATCH, TEXTS, TEXT_EXCEPT, BOUNDED
                 and counted REPEAT, each OBJECT that is not all of a rule, and each arm that is no REF
                 is a rule of its own.
Facts            nullable[i]: node i has the empty word; productive[i]: it has a word at all.
Invariants       I1 as in ir.pxd; nodes, pool and rules never change after load. Token sets may
                    be added while automata are built.
                 I2 loading a grammar again does to its nodes what was done before.
Not here         automata (rule_automata), identities (rule_digest).
"""

from libc.stdint cimport uint32_t, uint8_t

from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .ir cimport NO_MAXIMUM, Grammar, NodeC

cdef enum:
    NO_RULE = 0xFFFFFFFF

cdef enum:
    CHARACTER_BYTES = 4       # of the longest character

cdef enum:
    PLAIN_RULE = 0
    COUNTED_RULE = 1
    DISPATCH_RULE = 2
    TEXT_EXCEPT_RULE = 3
    OBJECT_RULE = 4
    BOUNDED_RULE = 5
    TEXTS_RULE = 6

cdef enum:
    WIDE_CHARS = 64           # a class of more characters passes through most of a vocabulary

cdef struct RuleC:
    uint32_t node             # body; for other kinds than PLAIN_RULE the node itself
    uint32_t minimum, maximum  # iterations; of DISPATCH and BOUNDED characters
    uint32_t most_tokens      # of a DISPATCH, NO_MAXIMUM: no bound
    uint32_t unit             # what a token counts in the register: more than the characters; 0: nothing
    uint32_t label            # index into labels
    uint32_t dispatch         # of a DISPATCH_RULE: index into dispatches
    uint8_t kind, role, nullable, productive
    uint8_t counted           # registers hold a count: COUNTED_RULE, BOUNDED_RULE, and free text with bounds
    uint8_t iterates          # the count is of iterations or characters, not of tokens alone
    uint8_t differs           # its words must differ within the JSON array that they stand in

cdef struct ArmC:
    uint32_t off, n           # letters in pool
    uint32_t rule             # of an exclude: NO_RULE
    uint32_t held             # bytes of the pattern's text
    uint8_t returns

cdef struct DispatchC:
    uint32_t first, n_arms, n_excludes    # arms[first ..], excludes behind the arms
    uint32_t specials         # token set, NO_RULE: none
    uint8_t open_end

cdef struct TokenSetC:
    const uint32_t* ids       # ascending
    uint32_t n
    uint8_t others            # these are the tokens that are not in the set, beside those without a text

# Whether a node has any word: false for recursion without an end. Passes over the nodes below count on the
# grammar's budget. The nodes below must not contain a DISPATCH.
cdef bint is_productive(Grammar grammar, uint32_t node)

# A register is iterations + unit * tokens.
cdef inline uint32_t iterations(RuleC* rule, uint32_t value) noexcept nogil:
    return value % rule.unit if rule.unit else value

cdef inline uint32_t tokens(RuleC* rule, uint32_t value) noexcept nogil:
    return value // rule.unit if rule.unit else 0

# Tokens left of a bound on them; NO_MAXIMUM: there is none.
cdef inline uint32_t tokens_left(RuleC* rule, uint32_t value) noexcept nogil:
    return rule.most_tokens - tokens(rule, value) if rule.unit else NO_MAXIMUM

cdef void list_below(LoweredGrammar flat, uint32_t i, vector[uint32_t]* below) noexcept nogil
cdef DispatchC* dispatch_of(LoweredGrammar flat, uint32_t node) noexcept nogil
cdef uint32_t letter_bytes(Vocabulary vocabulary, uint32_t letter) noexcept nogil

cdef class LoweredGrammar:
    cdef readonly list labels
    cdef readonly uint32_t root
    cdef readonly uint32_t own_rules      # rules[0 .. own_rules - 1] are the grammar's
    cdef readonly uint32_t largest_rule   # about how many edges the largest rule's automaton takes
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
    cdef vector[vector[uint32_t]] made_sets       # ids of sets that were made by automata
    cdef vector[uint32_t] rule_of_node    # made rules by node id, NO_RULE: none
    cdef U64MapC arm_rules                # node + 1 -> the rule of arms that are that node
    cdef vector[uint8_t] productive
    cdef bint has_unique               # some rule's words must differ
    # while loading: edges a node takes when written out, about; and whether it has the empty word
    cdef vector[uint32_t] weights
    cdef vector[uint32_t] widths          # by node: characters of the largest class written out in it
    cdef vector[uint8_t] nullable
    cdef int load(self, grammar, Vocabulary vocabulary, bint count_registers) except -1
    cdef void name_objects(self) noexcept nogil
    cdef int load_node(self, uint32_t number) except -1
    cdef int load_dispatch(self, uint32_t number) except -1
    cdef uint32_t load_letters(self, uint32_t at) except? 0
    cdef int check_tokens(self, const uint32_t* ids, uint32_t n, uint32_t first) except -1
    cdef uint32_t arm_rule(self, uint32_t child) except? NO_RULE
    cdef uint32_t made_rule(self, uint32_t node, uint8_t kind) except? NO_RULE
    cdef uint32_t largest(self) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil
    cdef uint32_t widest(self, uint32_t i) noexcept nogil
    cdef uint32_t width(self, uint32_t i) noexcept nogil
    cdef bint is_counted(self, uint32_t node) noexcept nogil
    cdef uint32_t weight(self, uint32_t node) noexcept nogil
    cdef bint has_token(self, uint32_t number, uint32_t token) noexcept nogil
    cdef uint32_t add_tokens(self, const uint32_t* ids, uint32_t n, bint others) noexcept nogil
    cdef uint32_t intern_tokens(self, vector[uint32_t]* ids) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef bint solve_once(self, uint32_t i) noexcept nogil
    cdef bint node_productive(self, uint32_t i) noexcept nogil
    cdef bint node_nullable(self, uint32_t i) noexcept nogil
