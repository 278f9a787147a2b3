"""The automata of rules: when and how each kind is built, and the cache that grammars share."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared

from ..grammar.ir cimport NO_MAXIMUM
from ..grammar.lowered cimport (
    ANCHORED_RULE, BOUNDED_RULE, COUNTED_RULE, DISPATCH_RULE, GRAPH_EDGES, GRAPH_RULE, OBJECT_RULE,
    PLAIN_RULE, TEXTS_RULE, TEXT_EXCEPT_RULE, LoweredGrammar, RuleC,
)
from ..grammar.rule_digest cimport DigestC, RuleDigests, is_none
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put, mix
from ..native.pool cimport held_bytes, vector
from ..native.reachability cimport group_by_state
from ..native.resources cimport WorkBudget, spend_nogil
from ..vocabulary.vocabulary cimport Vocabulary
from .char_graphs cimport build_char_graph, char_graph_bytes, grow_char_graph, state_between
from .determinize cimport (
    FINAL_STATE, LOOP_STATE, REF_EDGE, TOKEN_EDGE, UNBUILT_STATE, BuildWorkC, ByteEdgeC, ByteNfaC,
    DfaStateC, SymbolEdgeC, copy_nfa, determinise, is_cancelled, lazy_dfa_bytes, lazy_dfa_is_tail,
    lazy_dfa_start, lazy_dfa_state,
    merge_edges, minimise, nfa_emit, nfa_emit_counted, nfa_start, nfa_state, trim,
)
from .json_objects cimport (
    build_name_trie, build_text_except, grow_text_except, name_trie_bytes, name_trie_state,
    object_bytes, object_start, object_state,
)
from .tag_dispatch cimport build_anchored, build_dispatch

from ..errors import Cancelled, LimitExceeded


cdef inline uint64_t key_hash(uint64_t high, uint64_t low) noexcept nogil:
    """Return 64 bits for the index; callers compare the whole digest."""
    return mix(high ^ mix(low)) | 1


cdef bint is_exceeded(WorkBudget budget) noexcept with gil:
    """Return whether a budget is exceeded or cancelled; other threads may take the GIL here."""
    try:
        budget.pause()
    except (Cancelled, LimitExceeded):
        return True
    return False


cdef class AutomatonCache:
    """Automata of all grammars of one compiler.

    Args:
        max_bytes: bound on the bytes held.
    """

    def __cinit__(self, size_t max_bytes):
        self.max_bytes = max_bytes
        self.held = 0
        self.hits = self.misses = self.evictions = 0

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held; the caller holds the mutex."""
        return self.held + held_bytes(self.automata) + map_bytes(&self.index)

    cdef AutomatonPtr find(self, uint64_t high, uint64_t low) noexcept nogil:
        """Return the automaton, or a null pointer."""
        cdef AutomatonPtr automaton
        cdef uint32_t at
        self.guard.lock()
        at = map_get(&self.index, key_hash(high, low))
        if at != MISSING and self.automata[at].get().high == high and self.automata[at].get().low == low:
            automaton = self.automata[at]
            self.hits += 1
        else:
            self.misses += 1
        self.guard.unlock()
        return automaton

    cdef void add(self, AutomatonPtr automaton) noexcept nogil:
        cdef uint64_t key = key_hash(automaton.get().high, automaton.get().low)
        cdef size_t size = automaton_bytes(automaton.get())
        automaton.get().counts = has_loops(&automaton.get().dfa)
        self.guard.lock()
        if self.bytes_held() + size > self.max_bytes:
            self.clear()
            self.evictions += 1
        if map_get(&self.index, key) == MISSING:
            map_put(&self.index, key, <uint32_t>self.automata.size())
            self.automata.push_back(automaton)
            self.held += size
        self.guard.unlock()

    cdef void clear(self) noexcept nogil:
        map_clear(&self.index)
        self.automata.clear()
        self.held = 0

    def stats(self):
        """Return counts of automata, bytes, hits, misses and evictions."""
        cdef size_t n, held
        cdef uint64_t hits, misses, evictions
        with nogil:
            self.guard.lock()
            n, held = self.automata.size(), self.bytes_held()
            hits, misses, evictions = self.hits, self.misses, self.evictions
            self.guard.unlock()
        return {"automata": n, "bytes": held, "hits": hits, "misses": misses, "evictions": evictions}


cdef bint has_loops(const vector[DfaStateC]* dfa) noexcept nogil:
    cdef size_t k
    for k in range(dfa.size()):
        if dfa[0][k].flags & LOOP_STATE:
            return True
    return False


cdef size_t automaton_bytes(AutomatonC* automaton) noexcept nogil:
    cdef size_t size = sizeof(AutomatonC) + held_bytes(automaton.dfa), k
    for k in range(automaton.dfa.size()):
        size += held_bytes(automaton.dfa[k].bytes) + held_bytes(automaton.dfa[k].refs)
        size += held_bytes(automaton.dfa[k].tokens) + held_bytes(automaton.dfa[k].empty)
    return size


# -- rule automata ---------------------------------------------------------------------------------

# A deterministic automaton may have GROWTH states for each edge of the nondeterministic one, plus
# GROWTH_FREE; otherwise the rule stays nondeterministic. Typical patterns stay below 2.
cdef uint32_t GROWTH = 8
cdef uint32_t GROWTH_FREE = 1024

# A larger class than that of digits matches so much of a vocabulary that tables pay.
cdef uint32_t NARROW_CHARS = 16

# States of larger rules are not built to see whether only the end follows.
cdef size_t MANY_EDGES = 256

# Work of an edge that is made, in units of the arena (rows.ITEM_WORK is a microsecond).
cdef uint32_t EDGE_WORK = 4

# A rule may take this many times its estimated edges.
cdef uint32_t SLACK = 4

# Estimated edges that are built in about a microsecond, and units of a BuildWorkC.
cdef uint32_t EDGES_PER_STEP = 8
cdef uint32_t WORK_PER_STEP = 24


cdef class Automata:
    """The rule automata of one generation of one grammar."""

    cdef void open(
        self, LoweredGrammar ir, Vocabulary vocabulary, uint32_t edge_limit, AutomatonCache table, RuleDigests digests
    ) noexcept:
        """Initialise the object; there is no other way."""
        self.ir = ir
        self.table = table
        self.digests = digests
        self.vocabulary = vocabulary
        self.edge_limit = edge_limit
        self.error = NO_ERROR
        self.error_got = 0
        self.states.reserve(32)
        self.states.resize(1)
        self.byte_edges.reserve(128)
        self.scratch.now = 0
        self.lazy_held = 0
        self.work, self.budget = 0, None
        self.first.assign(ir.rules.size(), 0)
        self.span.assign(ir.rules.size(), 0)
        self.begins.assign(4 * ir.rules.size(), 0)
        self.tabled.assign(ir.rules.size(), 0)

    cdef uint32_t start(self, uint32_t rule) noexcept nogil:
        """Return the start state of a rule, built on first use; 0 after a limit (see ``error``)."""
        cdef size_t edges = self.byte_edges.size() + self.ref_edges.size()
        if self.first[rule] == 0:
            if not self.build(rule):
                return 0
            if self.budget is None:
                # a budget has paid (``pay``)
                self.work += EDGE_WORK * (self.byte_edges.size() + self.ref_edges.size() - edges)
        self.visit(self.first[rule])
        return self.first[rule]

    cdef void visit(self, uint32_t state) noexcept nogil:
        """Make the state's edges if it has none yet. Moves the arrays: hold no pointer into them.
        """
        cdef size_t before, edges
        cdef uint8_t kind
        cdef uint32_t lazy
        if self.states[state].flags & UNBUILT_STATE:
            kind, lazy = self.ir.rules[self.states[state].rule].kind, self.states[state].lazy
            before, edges = self.lazy_bytes(kind, lazy), self.byte_edges.size()
            self.grow(state)
            if kind == PLAIN_RULE:
                # all members of the subset, with those that lead on without a byte
                self.work += EDGE_WORK * self.scratch.kept.size()
            elif kind == BOUNDED_RULE or kind == GRAPH_RULE:
                self.work += EDGE_WORK * (self.byte_edges.size() - edges)
            self.lazy_held += self.lazy_bytes(kind, lazy) - before

    cdef bint is_over(self, size_t edges) noexcept nogil:
        """Return whether the rule under construction has too many edges, or the compile is cancelled."""
        if edges > SLACK * <size_t>self.edge_limit:
            self.error, self.error_got = RULE_EDGES_EXCEEDED, <uint32_t>min(edges, <size_t>0xFFFFFFFF)
        elif self.budget is not None and self.budget.cancelled:
            self.error, self.error_got = WORK_EXCEEDED, 0
        return self.error != NO_ERROR

    cdef size_t lazy_bytes(self, uint8_t kind, uint32_t number) noexcept nogil:
        """Return the bytes that a lazily built rule holds besides its states."""
        if kind == OBJECT_RULE:
            return object_bytes(&self.objects[number])
        if kind == BOUNDED_RULE or kind == GRAPH_RULE:
            return char_graph_bytes(&self.char_graphs[number])
        if kind == TEXTS_RULE or kind == TEXT_EXCEPT_RULE:
            return name_trie_bytes(&self.texts[number])
        return lazy_dfa_bytes(&self.lazy_dfas[number])

    cdef uint32_t target(self, uint32_t state, uint8_t byte) noexcept nogil:
        """Return the state behind a byte edge of a deterministic state, 0 if there is none."""
        cdef StateC* s = &self.states[state]
        cdef uint32_t e
        for e in range(s.byte_off, s.byte_off + s.n_bytes):
            if self.byte_edges[e].low <= byte <= self.byte_edges[e].high:
                return self.byte_edges[e].target
        return 0

    cdef uint32_t edges_of(self, uint32_t state, uint8_t byte) noexcept nogil:
        """Return the state whose edges take a byte: the state itself, or the one that it is like.
        """
        cdef StateC* s = &self.states[state]
        cdef uint32_t e
        if s.like:
            for e in range(s.byte_off, s.byte_off + s.n_bytes):
                if self.byte_edges[e].low == byte:
                    return state
            return s.like
        return state

    cdef bint is_tail(self, uint32_t state) noexcept nogil:
        """Return whether only the end of the rule follows."""
        cdef StateC* s = &self.states[state]
        if (s.flags & UNBUILT_STATE and self.ir.rules[s.rule].kind == PLAIN_RULE
                and self.lazy_dfas[s.lazy].nfa.edges.size() > MANY_EDGES):
            # its edges may be thousands, and never be needed
            return lazy_dfa_is_tail(&self.lazy_dfas[s.lazy], &self.scratch, s.position)
        self.visit(state)
        s = &self.states[state]
        return s.flags == FINAL_STATE and s.like == 0 and s.n_bytes + s.n_refs + s.n_tokens + s.n_empty == 0

    cdef bint pay(self, uint64_t steps) noexcept nogil:
        """Spend steps of the compile's budget, if there is one. False: see WORK_EXCEEDED."""
        if self.budget is None or not (spend_nogil(self.budget, steps) or self.budget.cancelled):
            return True
        if is_exceeded(self.budget):
            self.error = WORK_EXCEEDED
            return False
        return True

    cdef bint build(self, uint32_t rule) noexcept nogil:
        cdef uint32_t node = self.ir.rules[rule].node
        cdef uint8_t kind = self.ir.rules[rule].kind
        if not self.pay(1 + self.ir.rules[rule].edges // EDGES_PER_STEP):
            return False
        if kind == ANCHORED_RULE:
            build_anchored(self, self.ir, rule)
            return True
        if kind == DISPATCH_RULE:
            if not build_dispatch(self, self.ir, rule):
                return False
            if self.ir.rules[rule].iterates:
                # the character in progress, and those that a token begins
                self.span[rule] = <uint32_t>self.vocabulary.char_offs.size()
            self.measure(rule)
            return True
        if kind == TEXT_EXCEPT_RULE:
            build_text_except(self, rule)
            if self.first[rule]:
                self.lazy_held += name_trie_bytes(&self.texts.back())
            return self.first[rule] != 0
        if kind == TEXTS_RULE:
            self.texts.resize(self.texts.size() + 1)
            build_name_trie(
                &self.texts.back(), &self.ir.pool[self.ir.nodes[node].off], self.ir.nodes[node].n,
                self.ir.nodes[node].a)
            self.first[rule] = self.unbuilt(&self.texts.back().states, rule, <uint32_t>self.texts.size() - 1, 0)
            self.lazy_held += name_trie_bytes(&self.texts.back())
            return True
        if kind == OBJECT_RULE:
            self.objects.resize(self.objects.size() + 1)
            object_start(&self.objects.back(), self.ir, node)
            self.first[rule] = self.unbuilt(&self.objects.back().states, rule, <uint32_t>self.objects.size() - 1, 0)
            self.lazy_held += object_bytes(&self.objects.back())
            return True
        if self.is_char_graph(rule):
            build_char_graph(self, rule)
            self.lazy_held += char_graph_bytes(&self.char_graphs.back())
            return True
        return self.build_of_nodes(rule)

    cdef bint is_char_graph(self, uint32_t rule) noexcept nogil:
        """Return whether a rule is a graph of characters that is built state by state."""
        cdef RuleC* r = &self.ir.rules[rule]
        return r.kind == GRAPH_RULE or (r.kind == BOUNDED_RULE and r.edges >= GRAPH_EDGES)

    cdef uint32_t name(self, uint32_t state) noexcept nogil:
        """Return the name of a tabled rule's state in token masks, NO_NAME if it has none."""
        cdef StateC* s = &self.states[state]
        if not self.is_char_graph(s.rule):
            return state - self.first[s.rule]
        # sets of more than one state are numbered in the order of visits
        return s.position if s.position < self.char_graphs[s.lazy].finals.size() else NO_NAME

    cdef uint32_t hub_of_graph(self, uint32_t rule) noexcept nogil:
        """Return the state that most characters of a graph lead to."""
        cdef uint32_t number = self.states[self.first[rule]].lazy, hub = self.char_graphs[number].hub
        hub = state_between(self, rule, number, &hub, 1)
        self.visit(hub)
        return hub

    cdef bint build_of_nodes(self, uint32_t rule) noexcept nogil:
        """Build a rule from its nodes, or take it from the cache."""
        cdef ByteNfaC nfa
        cdef vector[DfaStateC] dfa
        cdef BuildWorkC work
        cdef uint32_t node = self.ir.rules[rule].node
        cdef uint8_t kind = self.ir.rules[rule].kind
        cdef AutomatonPtr known
        cdef DigestC digest
        cdef bint shared = self.table is not None and (
            self.ir.widths[node] > 0 if kind == PLAIN_RULE else kind == BOUNDED_RULE)
        if shared:
            digest = self.digests.rule(rule)
            shared = not is_none(digest)
        if shared:
            known = self.table.find(digest.high, digest.low)
            if known.get() != NULL and known.get().counts == (kind == BOUNDED_RULE):
                return self.finish_rule(rule, &known.get().dfa, known.get().work)
        if not self.emit_rule(rule, &nfa) or not self.pay(0):
            return False
        if kind == PLAIN_RULE and self.is_lazy(node, &nfa):
            self.build_lazily(rule, &nfa)
            return True
        shared = shared and not has_edges(&nfa, TOKEN_EDGE) and not has_edges(&nfa, REF_EDGE)
        work.done = 0
        work.cancelled = NULL
        if self.budget is not None:
            work.cancelled = &self.budget.cancelled
        if not self.build_whole(rule, &nfa, &dfa, &work) or is_cancelled(&work):
            # a cancelled automaton must not be shared
            self.pay(0)
            return False
        if shared:
            known = make_shared[AutomatonC]()
            known.get().high, known.get().low, known.get().work = digest.high, digest.low, work.done
            known.get().dfa.swap(dfa)
            self.table.add(known)
            return self.finish_rule(rule, &known.get().dfa, work.done)
        return self.finish_rule(rule, &dfa, work.done)

    cdef bint build_whole(self, uint32_t rule, ByteNfaC* nfa, vector[DfaStateC]* dfa, BuildWorkC* work) noexcept nogil:
        """Make all states of a rule. False: they are too many."""
        cdef uint8_t kind = self.ir.rules[rule].kind
        cdef vector[DfaStateC] loop
        if determinise(nfa, dfa, GROWTH * <uint32_t>nfa.edges.size() + GROWTH_FREE, work):
            trim(dfa)
            minimise(dfa, work)
        elif kind == BOUNDED_RULE:
            # never happens: characters differ within a few bytes
            self.error, self.error_got = RULE_EDGES_EXCEEDED, self.edge_limit + 1
            return False
        else:
            copy_nfa(nfa, dfa)
            trim(dfa)
        if kind == COUNTED_RULE:
            loop = dfa[0]
            self.make_counted(&loop)
            self.span[rule] = self.iteration_span(rule, &loop)
            if not count_early(dfa, work):
                dfa.swap(loop)
        return True

    cdef bint finish_rule(self, uint32_t rule, const vector[DfaStateC]* dfa, uint64_t work) noexcept nogil:
        """Copy a finished automaton, which costs as much from the cache as a new one."""
        self.append(rule, dfa)
        self.measure(rule)
        return self.pay(work // WORK_PER_STEP)

    cdef bint emit_rule(self, uint32_t rule, ByteNfaC* nfa) noexcept nogil:
        """Add the edges of a rule's nodes. False: they are too many."""
        cdef uint32_t node = self.ir.rules[rule].node
        cdef uint8_t kind = self.ir.rules[rule].kind
        # `LoweredGrammar.weight` was checked against the limit when the grammar was compiled
        nfa_start(nfa, SLACK * self.edge_limit)
        nfa_state(nfa)
        nfa_state(nfa)
        if kind == BOUNDED_RULE:
            nfa_emit_counted(nfa, self.ir, self.ir.nodes[node].a)
        else:
            nfa_emit(nfa, self.ir, self.ir.nodes[node].a if kind == COUNTED_RULE else node, 0, 1)
        if nfa.overflow:
            self.error, self.error_got = RULE_EDGES_EXCEEDED, <uint32_t>nfa.edges.size()
        return not nfa.overflow

    cdef void build_lazily(self, uint32_t rule, ByteNfaC* nfa) noexcept nogil:
        """Make the start of a rule that is built state by state from an automaton."""
        self.lazy_dfas.resize(self.lazy_dfas.size() + 1)
        self.lazy_dfas.back().nfa.edges.swap(nfa.edges)
        self.lazy_dfas.back().nfa.size = nfa.size
        lazy_dfa_start(&self.lazy_dfas.back(), &self.scratch)
        self.first[rule] = self.unbuilt(&self.lazy_dfas.back().states, rule, <uint32_t>self.lazy_dfas.size() - 1, 0)
        self.lazy_held += lazy_dfa_bytes(&self.lazy_dfas.back())

    cdef uint32_t remaining(self, uint32_t state) noexcept nogil:
        """Return the fewest iterations that must still be counted before the rule may end."""
        return 0 if self.states[state].flags & FINAL_STATE else self.states[state].onward

    cdef void measure(self, uint32_t rule) noexcept nogil:
        """Fill ``onward`` of a counted rule's states, and the bytes that begin its iterations."""
        cdef uint32_t s, k, first = self.first[rule], n = <uint32_t>self.states.size() - first
        cdef vector[uint32_t] onward
        cdef uint32_t farthest = 0
        if not self.ir.rules[rule].iterates:
            return
        onward.assign(n, 1)
        if self.ir.rules[rule].kind != DISPATCH_RULE and self.is_by_bytes(rule):
            measure_ways(self, first, &onward)
        for s in range(n):
            self.states[first + s].onward = onward[s]
            if onward[s] != NO_MAXIMUM:
                farthest = max(farthest, onward[s])
            if self.states[first + s].flags & FINAL_STATE:
                for k in range(4):
                    self.begins[4 * rule + k] |= self.states[first + s].live[k]
        if self.ir.rules[rule].kind == BOUNDED_RULE:
            self.span[rule] = self.vocabulary.max_token_bytes + farthest

    cdef bint is_by_bytes(self, uint32_t rule) noexcept nogil:
        """Return whether the rule that was built last has edges over bytes only."""
        cdef uint32_t s
        for s in range(self.first[rule], <uint32_t>self.states.size()):
            if self.states[s].n_refs + self.states[s].n_tokens + self.states[s].n_empty:
                return False
        return True

    cdef void make_counted(self, vector[DfaStateC]* dfa) noexcept nogil:
        """Turn the automaton of a body into a loop: edges to its ends also lead to the start."""
        cdef uint32_t n = <uint32_t>dfa.size(), s, k
        cdef vector[uint8_t] ends, continues
        cdef DfaStateC* d
        # the start may be inside a loop of the body, so an iteration begins in a copy of it
        dfa.push_back(dfa[0][0])
        for s in range(n + 1):
            d = &dfa[0][s]
            redirect(&d.bytes, 0, n)
            redirect(&d.refs, 0, n)
            redirect(&d.tokens, 0, n)
            for k in range(<uint32_t>d.empty.size()):
                d.empty[k] = d.empty[k] or n
        for s in range(n + 1):
            d = &dfa[0][s]
            ends.push_back(d.flags & FINAL_STATE)
            continues.push_back(d.bytes.size() + d.refs.size() + d.tokens.size() + d.empty.size() > 0)
        for s in range(n + 1):
            d = &dfa[0][s]
            close_loop(&d.bytes, &ends, &continues)
            close_loop(&d.refs, &ends, &continues)
            close_loop(&d.tokens, &ends, &continues)
            for k in range(<uint32_t>d.empty.size()):
                if ends[d.empty[k]]:
                    if continues[d.empty[k]]:
                        d.empty.push_back(d.empty[k])
                    d.empty[k] = 0
            d.flags = LOOP_STATE | FINAL_STATE if s == 0 else 0

    cdef uint32_t iteration_span(self, uint32_t rule, vector[DfaStateC]* dfa) noexcept nogil:
        """Return the largest number of iterations that can end within one token.

        A byte that every iteration must contain limits them.
        """
        cdef uint32_t best = self.vocabulary.max_token_bytes
        cdef uint32_t k, s
        for s in range(min(<uint32_t>dfa.size(), <uint32_t>8)):
            for k in range(<uint32_t>dfa[0][s].bytes.size()):
                if dfa[0][s].bytes[k].low != dfa[0][s].bytes[k].high:
                    continue
                if is_mandatory(dfa, dfa[0][s].bytes[k].low):
                    best = min(best, self.vocabulary.max_count[dfa[0][s].bytes[k].low] + 1)
        return best

    cdef bint is_lazy(self, uint32_t node, ByteNfaC* nfa) noexcept nogil:
        """Return whether a rule only combines other rules, or spells out literals."""
        cdef uint32_t widest = self.ir.widths[node]
        return widest <= NARROW_CHARS and (widest == 0 or has_edges(nfa, REF_EDGE))

    cdef uint32_t unbuilt(
        self, vector[uint32_t]* known, uint32_t rule, uint32_t lazy, uint32_t position
    ) noexcept nogil:
        """Return the state of a position, unbuilt if new; ``known`` are the rule's states."""
        cdef StateC fresh
        if known.size() <= position:
            known.resize(position + 1, 0)
        if known[0][position] == 0:
            fresh = self.states[0]
            fresh.rule, fresh.lazy, fresh.position = rule, lazy, position
            fresh.flags = UNBUILT_STATE
            known[0][position] = <uint32_t>self.states.size()
            self.states.push_back(fresh)
        return known[0][position]

    cdef void grow(self, uint32_t state) noexcept nogil:
        """Make the edges of a state of a lazily built rule."""
        cdef uint32_t lazy = self.states[state].lazy, position = self.states[state].position
        cdef uint32_t rule = self.states[state].rule, k
        cdef StateC grown
        cdef DfaStateC dfa_state
        cdef vector[uint32_t]* known
        if self.ir.rules[rule].kind == TEXT_EXCEPT_RULE:
            grow_text_except(self, state)
            return
        if self.is_char_graph(rule):
            grow_char_graph(self, state)
            return
        if self.ir.rules[rule].kind == OBJECT_RULE:
            object_state(&self.objects[lazy], position, &dfa_state)
            known = &self.objects[lazy].states
        elif self.ir.rules[rule].kind == TEXTS_RULE:
            name_trie_state(&self.texts[lazy], position, &dfa_state)
            known = &self.texts[lazy].states
        else:
            lazy_dfa_state(&self.lazy_dfas[lazy], &self.scratch, position, &dfa_state)
            known = &self.lazy_dfas[lazy].states
        for k in range(<uint32_t>dfa_state.bytes.size()):
            dfa_state.bytes[k].target = self.unbuilt(known, rule, lazy, dfa_state.bytes[k].target)
        for k in range(<uint32_t>dfa_state.refs.size()):
            dfa_state.refs[k].target = self.unbuilt(known, rule, lazy, dfa_state.refs[k].target)
        for k in range(<uint32_t>dfa_state.tokens.size()):
            dfa_state.tokens[k].target = self.unbuilt(known, rule, lazy, dfa_state.tokens[k].target)
        grown = self.new_state(rule)
        self.add_edges(&grown, &dfa_state, 0)
        grown.flags, grown.lazy, grown.position = dfa_state.flags, lazy, position
        self.states[state] = grown

    cdef StateC new_state(self, uint32_t rule) noexcept nogil:
        """Return a state without edges, at the end of the arrays of edges."""
        cdef StateC made
        memset(&made, 0, sizeof(StateC))
        made.rule = rule
        made.byte_off = <uint32_t>self.byte_edges.size()
        made.ref_off = <uint32_t>self.ref_edges.size()
        made.token_off = <uint32_t>self.token_edges.size()
        made.empty_off = <uint32_t>self.empty_edges.size()
        return made

    cdef void append(self, uint32_t rule, const vector[DfaStateC]* dfa) noexcept nogil:
        """Copy finished states into the arrays."""
        cdef uint32_t base = <uint32_t>self.states.size(), s
        cdef StateC state
        cdef const DfaStateC* d
        self.first[rule] = base
        self.tabled[rule] = 1
        for s in range(<uint32_t>dfa.size()):
            d = &dfa[0][s]
            state = self.new_state(rule)
            state.flags = d.flags
            self.add_edges(&state, d, base)
            self.states.push_back(state)
            if not is_plain(d):
                self.tabled[rule] = 0

    cdef void add_edges(self, StateC* state, const DfaStateC* d, uint32_t base) noexcept nogil:
        """Append the edges of ``d`` to those of the last state; states count from ``base``."""
        cdef ByteEdgeC byte
        cdef SymbolEdgeC symbol
        cdef uint32_t k
        state.n_bytes, state.n_refs = <uint32_t>d.bytes.size(), <uint32_t>d.refs.size()
        state.n_tokens, state.n_empty = <uint32_t>d.tokens.size(), <uint32_t>d.empty.size()
        for k in range(state.n_bytes):
            byte = d.bytes[k]
            byte.target += base
            set_live(state.live, byte.low, byte.high)
            self.byte_edges.push_back(byte)
        for k in range(state.n_refs):
            symbol = d.refs[k]
            symbol.target += base
            self.ref_edges.push_back(symbol)
        for k in range(state.n_tokens):
            symbol = d.tokens[k]
            symbol.target += base
            self.token_edges.push_back(symbol)
        for k in range(state.n_empty):
            self.empty_edges.push_back(d.empty[k] + base)

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held."""
        return (
            held_bytes(self.states) + held_bytes(self.byte_edges) + held_bytes(self.ref_edges)
            + held_bytes(self.token_edges) + held_bytes(self.empty_edges) + held_bytes(self.first)
            + held_bytes(self.tabled) + held_bytes(self.span) + held_bytes(self.begins)
            + held_bytes(self.lazy_dfas) + held_bytes(self.objects) + held_bytes(self.texts)
            + held_bytes(self.char_graphs)
            + held_bytes(self.scratch.stamp) + self.lazy_held)


ctypedef fused TargetEdgeC:
    ByteEdgeC
    SymbolEdgeC


cdef void redirect(vector[TargetEdgeC]* edges, uint32_t old, uint32_t new) noexcept nogil:
    cdef size_t k
    for k in range(edges.size()):
        if edges[0][k].target == old:
            edges[0][k].target = new


cdef void close_loop(
    vector[TargetEdgeC]* edges, const vector[uint8_t]* ends, const vector[uint8_t]* continues
) noexcept nogil:
    """Lead edges to ends to the start; keep a copy of an edge to an end that has edges itself."""
    cdef uint32_t target
    cdef size_t k, n = edges.size()
    for k in range(n):
        target = edges[0][k].target
        if ends[0][target]:
            if continues[0][target]:
                edges.push_back(edges[0][k])
            edges[0][k].target = 0


cdef bint count_early(vector[DfaStateC]* dfa, BuildWorkC* work) noexcept nogil:
    """Turn the automaton of a body into a loop that counts an iteration as soon as it could end.

    Each state becomes three: not yet counted, just counted, and counted before. False, without
    changes: that is no better than counting ends, the body has other edges than bytes, or a text
    could have ended different numbers of iterations.
    """
    cdef uint32_t n = <uint32_t>dfa.size(), s, k
    cdef bint any_goes_on = False
    cdef vector[DfaStateC] out
    cdef DfaStateC* d
    for s in range(n):
        d = &dfa[0][s]
        if d.refs.size() + d.tokens.size() + d.empty.size() or (s == 0 and d.flags & FINAL_STATE):
            return False
        if d.flags & FINAL_STATE and d.bytes.size():
            any_goes_on = True
    if not any_goes_on:
        return False
    out.resize(1 + 3 * n)
    copy_edges(dfa, 0, True, &out[0])
    out[0].flags = FINAL_STATE
    for s in range(n):
        for k in range(3):
            d = &out[1 + 3 * s + k]
            d.flags = 0 if k == 0 else dfa[0][s].flags | (LOOP_STATE if k == 1 else 0)
            copy_edges(dfa, s, k == 0, d)
            if k and dfa[0][s].flags & FINAL_STATE:
                copy_edges(dfa, 0, True, d)
    if not merge_edges(&out, GROWTH * n + GROWTH_FREE, work):
        return False
    trim(&out)
    minimise(&out, work)
    dfa.swap(out)
    return True


cdef bint edge_before(const ByteEdgeC& a, const ByteEdgeC& b) noexcept nogil:
    return a.low < b.low


cdef void copy_edges(vector[DfaStateC]* body, uint32_t state, bint counts, DfaStateC* out) noexcept nogil:
    """Add a body's edges; with ``counts``, those to ends of the body count the iteration."""
    cdef ByteEdgeC edge
    cdef uint32_t k
    for k in range(<uint32_t>body[0][state].bytes.size()):
        edge = body[0][state].bytes[k]
        if counts:
            edge.target = 1 + 3 * edge.target + (body[0][edge.target].flags & FINAL_STATE != 0)
        else:
            edge.target = 1 + 3 * edge.target + 2
        out.bytes.push_back(edge)
    sort(out.bytes.begin(), out.bytes.end(), &edge_before)


cdef void measure_ways(Automata automata, uint32_t first, vector[uint32_t]* onward) noexcept nogil:
    """Compute, for a rule over bytes, the fewest iterations that a continuing text must still count
    in each state.

    A breadth-first search from the ends; a level is a counted iteration.
    """
    cdef uint32_t n = <uint32_t>onward.size(), s, t, e, way
    cdef vector[uint32_t] sources, targets, off, order, least, todo, later
    cdef StateC* state
    for s in range(n):
        state = &automata.states[first + s]
        for e in range(state.byte_off, state.byte_off + state.n_bytes):
            sources.push_back(s)
            targets.push_back(automata.byte_edges[e].target - first)
    group_by_state(&targets, n, &off, &order)
    least.assign(n, NO_MAXIMUM)
    onward.assign(n, NO_MAXIMUM)
    for s in range(n):
        if automata.states[first + s].flags & FINAL_STATE:
            least[s] = 0
            todo.push_back(s)
    while todo.size():
        while todo.size():
            t = todo.back()
            todo.pop_back()
            way = least[t] + ((automata.states[first + t].flags & LOOP_STATE) != 0)
            for e in range(off[t], off[t + 1]):
                s = sources[order[e]]
                onward[0][s] = min(onward[0][s], way)
                if way < least[s]:
                    least[s] = way
                    if way == least[t]:
                        todo.push_back(s)
                    else:
                        later.push_back(s)
        todo.swap(later)


cdef bint has_edges(ByteNfaC* nfa, uint32_t kind) noexcept nogil:
    cdef uint32_t k
    for k in range(<uint32_t>nfa.edges.size()):
        if nfa.edges[k].kind == kind:
            return True
    return False


cdef bint is_plain(const DfaStateC* dfa_state) noexcept nogil:
    """Return whether a state is deterministic over bytes."""
    cdef uint32_t k
    if dfa_state.empty.size():
        return False
    for k in range(1, <uint32_t>dfa_state.bytes.size()):
        if dfa_state.bytes[k].low <= dfa_state.bytes[k - 1].high:
            return False
    return True


cdef bint is_mandatory(vector[DfaStateC]* dfa, uint8_t byte) noexcept nogil:
    """Return whether every path from the loop state back to it contains the byte.

    References may hide it; then the answer is no.
    """
    cdef vector[uint8_t] seen
    cdef vector[uint32_t] todo, targets
    cdef uint32_t s, k
    seen.assign(dfa.size(), 0)
    todo.push_back(0)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        targets.clear()
        for k in range(<uint32_t>dfa[0][s].bytes.size()):
            if dfa[0][s].bytes[k].low != byte or dfa[0][s].bytes[k].high != byte:
                targets.push_back(dfa[0][s].bytes[k].target)
        for k in range(<uint32_t>dfa[0][s].refs.size()):
            targets.push_back(dfa[0][s].refs[k].target)
        for k in range(<uint32_t>dfa[0][s].tokens.size()):
            targets.push_back(dfa[0][s].tokens[k].target)
        for k in range(<uint32_t>dfa[0][s].empty.size()):
            targets.push_back(dfa[0][s].empty[k])
        for k in targets:
            if k == 0:
                return False
            if not seen[k]:
                seen[k] = 1
                todo.push_back(k)
    return True
