"""Automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from .determinise cimport copy_nfa, determinise, minimise, trim
from .dispatch cimport build_dispatch
from .flat cimport COUNTED_RULE, DISPATCH_RULE, FlatIR
from .nfa cimport NfaC, nfa_emit, nfa_start, nfa_state
from .vocabulary cimport Vocabulary

# A deterministic automaton may have this many states for each edge of the nondeterministic one;
# past it the rule stays nondeterministic. People's patterns stay below 2.
cdef uint32_t GROWTH = 8
cdef uint32_t GROWTH_FREE = 1024

# A rule may take this many times the edges that were estimated for it.
cdef uint32_t SLACK = 4


cdef class Automata:
    """The rule automata of one generation of one grammar."""

    def __cinit__(self, FlatIR ir, Vocabulary vocabulary, uint32_t edge_limit):
        self.ir = ir
        self.vocabulary = vocabulary
        self.edge_limit = edge_limit
        self.error = NO_ERROR
        self.error_got = 0
        self.states.resize(1)
        self.first.assign(ir.rules.size(), 0)
        self.span.assign(ir.rules.size(), 0)

    cdef uint32_t start(self, uint32_t rule) noexcept nogil:
        """The start state of a rule, built if need be; 0 past a limit (see ``error``)."""
        if self.first[rule] == 0 and not self.build(rule):
            return 0
        return self.first[rule]

    cdef bint is_tail(self, uint32_t state) noexcept nogil:
        """Whether nothing but the end of the rule follows."""
        cdef StateC* s = &self.states[state]
        return s.flags == FINAL_STATE and s.n_bytes + s.n_refs + s.n_tokens + s.n_empty == 0

    cdef bint build(self, uint32_t rule) noexcept nogil:
        cdef NfaC nfa
        cdef vector[DraftC] drafts
        cdef uint32_t node = self.ir.rules[rule].node
        cdef uint8_t kind = self.ir.rules[rule].kind
        if kind == DISPATCH_RULE:
            build_dispatch(self.ir, self.ir.nodes[node].a, self.ir.rules[rule].counted, &drafts)
        else:
            # `FlatIR.weight` was checked against the limit when the grammar was compiled
            nfa_start(&nfa, SLACK * self.edge_limit)
            nfa_state(&nfa)
            nfa_state(&nfa)
            nfa_emit(&nfa, self.ir, self.ir.nodes[node].a if kind == COUNTED_RULE else node, 0, 1)
            if nfa.overflow:
                self.error, self.error_got = RULE_EDGES_EXCEEDED, <uint32_t>nfa.edges.size()
                return False
            if determinise(&nfa, &drafts, GROWTH * <uint32_t>nfa.edges.size() + GROWTH_FREE):
                trim(&drafts)
                minimise(&drafts)
            else:
                copy_nfa(&nfa, &drafts)
                trim(&drafts)
        if kind == COUNTED_RULE:
            self.make_counted(&drafts)
            self.span[rule] = self.iteration_span(rule, &drafts)
        elif self.ir.rules[rule].counted:
            self.span[rule] = self.vocabulary.max_token_bytes
        self.append(rule, &drafts)
        return True

    cdef void make_counted(self, vector[DraftC]* drafts) noexcept nogil:
        """Makes the automaton of a body a loop: what ended it now leads to the start as well."""
        cdef uint32_t n = <uint32_t>drafts.size(), s, k, m
        cdef vector[uint8_t] ends, goes_on
        cdef DraftC* d
        # the start may be inside a loop of the body: the iteration's start gets a state of its own
        drafts.push_back(drafts[0][0])
        for s in range(n + 1):
            d = &drafts[0][s]
            for k in range(<uint32_t>d.bytes.size()):
                d.bytes[k].target = d.bytes[k].target or n
            for k in range(<uint32_t>d.refs.size()):
                d.refs[k].target = d.refs[k].target or n
            for k in range(<uint32_t>d.tokens.size()):
                d.tokens[k].target = d.tokens[k].target or n
            for k in range(<uint32_t>d.empty.size()):
                d.empty[k] = d.empty[k] or n
        for s in range(n + 1):
            d = &drafts[0][s]
            ends.push_back(d.flags & FINAL_STATE)
            goes_on.push_back(d.bytes.size() + d.refs.size() + d.tokens.size() + d.empty.size() > 0)
        for s in range(n + 1):
            d = &drafts[0][s]
            m = <uint32_t>d.bytes.size()
            for k in range(m):
                if ends[d.bytes[k].target]:
                    if goes_on[d.bytes[k].target]:
                        d.bytes.push_back(d.bytes[k])
                    d.bytes[k].target = 0
            m = <uint32_t>d.refs.size()
            for k in range(m):
                if ends[d.refs[k].target]:
                    if goes_on[d.refs[k].target]:
                        d.refs.push_back(d.refs[k])
                    d.refs[k].target = 0
            m = <uint32_t>d.tokens.size()
            for k in range(m):
                if ends[d.tokens[k].target]:
                    if goes_on[d.tokens[k].target]:
                        d.tokens.push_back(d.tokens[k])
                    d.tokens[k].target = 0
            m = <uint32_t>d.empty.size()
            for k in range(m):
                if ends[d.empty[k]]:
                    if goes_on[d.empty[k]]:
                        d.empty.push_back(d.empty[k])
                    d.empty[k] = 0
            d.flags = LOOP_STATE if s == 0 else 0

    cdef uint32_t iteration_span(self, uint32_t rule, vector[DraftC]* drafts) noexcept nogil:
        """Most iterations that can end within one token.

        A byte that every iteration must hold limits them.
        """
        cdef uint32_t best = self.vocabulary.max_token_bytes
        cdef uint32_t k, s
        for s in range(min(<uint32_t>drafts.size(), <uint32_t>8)):
            for k in range(<uint32_t>drafts[0][s].bytes.size()):
                if drafts[0][s].bytes[k].low != drafts[0][s].bytes[k].high:
                    continue
                if is_mandatory(drafts, drafts[0][s].bytes[k].low):
                    best = min(best, self.vocabulary.max_count[drafts[0][s].bytes[k].low] + 1)
        return best

    cdef void append(self, uint32_t rule, vector[DraftC]* drafts) noexcept nogil:
        """Moves finished states into the arrays."""
        cdef uint32_t base = <uint32_t>self.states.size(), s, k, b
        cdef StateC state
        cdef DraftC* d
        self.first[rule] = base
        for s in range(<uint32_t>drafts.size()):
            d = &drafts[0][s]
            state.rule, state.held, state.flags = rule, d.held, d.flags
            state.byte_off, state.n_bytes = <uint32_t>self.byte_edges.size(), <uint32_t>d.bytes.size()
            state.ref_off, state.n_refs = <uint32_t>self.ref_edges.size(), <uint32_t>d.refs.size()
            state.token_off, state.n_tokens = <uint32_t>self.token_edges.size(), <uint32_t>d.tokens.size()
            state.empty_off, state.n_empty = <uint32_t>self.empty_edges.size(), <uint32_t>d.empty.size()
            for k in range(4):
                state.live[k] = 0
            for k in range(state.n_bytes):
                d.bytes[k].target += base
                self.byte_edges.push_back(d.bytes[k])
                for b in range(d.bytes[k].low, d.bytes[k].high + 1):
                    state.live[b >> 6] |= (<unsigned long long>1) << (b & 63)
            for k in range(state.n_refs):
                d.refs[k].target += base
                self.ref_edges.push_back(d.refs[k])
            for k in range(state.n_tokens):
                d.tokens[k].target += base
                self.token_edges.push_back(d.tokens[k])
            for k in range(state.n_empty):
                self.empty_edges.push_back(d.empty[k] + base)
            self.states.push_back(state)


cdef bint is_mandatory(vector[DraftC]* drafts, uint8_t byte) noexcept nogil:
    """Whether no way from the loop state back to it avoids the byte.

    References may hide it; then the answer is no.
    """
    cdef vector[uint8_t] seen
    cdef vector[uint32_t] todo, targets
    cdef uint32_t s, k
    seen.assign(drafts.size(), 0)
    todo.push_back(0)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        targets.clear()
        for k in range(<uint32_t>drafts[0][s].bytes.size()):
            if drafts[0][s].bytes[k].low != byte or drafts[0][s].bytes[k].high != byte:
                targets.push_back(drafts[0][s].bytes[k].target)
        for k in range(<uint32_t>drafts[0][s].refs.size()):
            targets.push_back(drafts[0][s].refs[k].target)
        for k in range(<uint32_t>drafts[0][s].tokens.size()):
            targets.push_back(drafts[0][s].tokens[k].target)
        for k in range(<uint32_t>drafts[0][s].empty.size()):
            targets.push_back(drafts[0][s].empty[k])
        for k in targets:
            if k == 0:
                return False
            if not seen[k]:
                seen[k] = 1
                todo.push_back(k)
    return True
