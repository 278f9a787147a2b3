"""A snapshot of one generation: its arrays are copied under the arena's mutex and read later.

Cost     the memory and time of a copy of the arrays; every cached mask is rendered once. Each object
         that is made counts a step of the budget, which also pays for the items of explored positions.
Threads  the copy runs without the GIL. Token masks, which other grammars share, do not change, except
         for suffix tries, which are read under the table's mutex.
Not here texts and drawings (wording, drawing).
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ..automata.determinize cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE, UNBUILT_STATE, ByteEdgeC, SymbolEdgeC
from ..automata.rule_automata cimport Automata, StateC
from ..earley.rows cimport CONFIGURATION, DEAD, ITEM_PARENT, ITEM_SELF, NO_SLOT, Arena, ConfigurationC, ItemC, RowC
from ..grammar.ir cimport NO_MAXIMUM, ROLE_BEGIN, ROLE_END, ROLE_TAG, ROLE_TEXT
from ..grammar.lowered cimport (
    ANCHORED_RULE, BOUNDED_RULE, COUNTED_RULE, DISPATCH_RULE, GRAPH_RULE, OBJECT_RULE, TEXTS_RULE, TEXT_EXCEPT_RULE,
    LoweredGrammar, RuleC, TokenSetC, iterations, tokens,
)
from ..masks.row_masks cimport MaskC, RowMasks
from ..masks.token_mask cimport TokenMaskC, TokenMaskPtr
from ..native.hashing cimport U64MapC
from ..native.pool cimport vector
from ..native.resources cimport WorkBudget, spend
from ..native.word_table cimport WordTableC
from ..runtime.compiled cimport Compiled, Generation, Prefill
from ..runtime.matcher cimport Matcher
from ..vocabulary.vocabulary cimport TrieNode, Vocabulary

from . import values


cdef tuple CLASSES = ("", "below minimum", "plenty")
cdef dict KINDS = {
    COUNTED_RULE: "counted", BOUNDED_RULE: "bounded", GRAPH_RULE: "graph", OBJECT_RULE: "object", TEXTS_RULE: "texts",
    DISPATCH_RULE: "free text", TEXT_EXCEPT_RULE: "other text", ANCHORED_RULE: "begins"}
cdef dict ROLES = {ROLE_TAG: "tag", ROLE_BEGIN: "begin", ROLE_END: "end", ROLE_TEXT: "text"}


cdef class _Copy:
    """The arrays of one generation, under their names in its objects."""

    cdef LoweredGrammar ir
    cdef Vocabulary vocabulary
    cdef WorkBudget budget                # None: no budget
    cdef list names
    cdef uint32_t root
    # automata
    cdef vector[StateC] states
    cdef vector[ByteEdgeC] byte_edges
    cdef vector[SymbolEdgeC] ref_edges, token_edges
    cdef vector[uint32_t] empty_edges, first, lazy_starts
    cdef vector[unsigned char] tabled
    cdef vector[TokenSetC] token_sets
    # rows
    cdef vector[RowC] rows
    cdef vector[ItemC] items
    cdef vector[ConfigurationC] configurations
    cdef WordTableC register_sets
    cdef U64MapC byte_memo, token_memo, end_memo
    # masks
    cdef U64MapC mask_ids, token_mask_ids
    cdef vector[TokenMaskPtr] token_masks
    cdef vector[uint32_t] token_mask_suffixes        # by token mask
    cdef vector[MaskC] kept
    cdef vector[uint32_t] allowed             # by kept mask
    cdef vector[uint32_t] shared              # by list of tokens taken outside: its length
    # by row: its number here, in order of `order`
    cdef dict numbers
    cdef list order
    cdef uint32_t reached

    # -- copying -----------------------------------------------------------------------------------
    cdef void copy(self, Automata automata, Arena arena, RowMasks masks) noexcept nogil:
        cdef uint32_t k
        self.root = arena.root
        self.states, self.byte_edges = automata.states, automata.byte_edges
        self.ref_edges, self.token_edges = automata.ref_edges, automata.token_edges
        self.empty_edges, self.first, self.tabled = automata.empty_edges, automata.first, automata.tabled
        self.token_sets = automata.ir.token_sets
        for k in range(<uint32_t>automata.lazy_dfas.size()):
            self.lazy_starts.push_back(automata.lazy_dfas[k].states[0])
        for k in range(<uint32_t>automata.objects.size()):
            self.lazy_starts.push_back(automata.objects[k].states[0])
        for k in range(<uint32_t>automata.texts.size()):
            self.lazy_starts.push_back(automata.texts[k].states[0])
        for k in range(<uint32_t>automata.char_graphs.size()):
            self.lazy_starts.push_back(automata.char_graphs[k].states[0])
        self.rows, self.items, self.configurations = arena.rows, arena.items, arena.configurations
        self.register_sets = arena.register_sets
        self.byte_memo, self.token_memo, self.end_memo = arena.byte_memo, arena.token_memo, arena.end_memo
        self.mask_ids, self.token_mask_ids = masks.mask_ids, masks.token_mask_ids
        self.token_masks, self.kept = masks.token_masks, masks.kept
        for k in range(<uint32_t>masks.shared.size()):
            self.shared.push_back(<uint32_t>masks.shared[k].size())
        self.measure(masks)

    cdef void measure(self, RowMasks masks) noexcept nogil:
        """Count what must not change meanwhile."""
        cdef vector[uint32_t] words
        cdef uint32_t k
        words.resize(self.vocabulary.words)
        for k in range(<uint32_t>masks.kept.size()):
            masks.render(&masks.kept[k], words.data())
            self.allowed.push_back(count_bits(&words))
        if masks.table is not None:
            masks.table.guard.lock()
        for k in range(<uint32_t>masks.token_masks.size()):
            self.token_mask_suffixes.push_back(count_suffixes(masks.token_masks[k].get()))
        if masks.table is not None:
            masks.table.guard.unlock()

    # -- rules and states --------------------------------------------------------------------------
    cdef tuple read_rules(self):
        cdef uint32_t k, s
        cdef RuleC rule
        starts = {self.lazy_starts[s] for s in range(<uint32_t>self.lazy_starts.size())}
        names = self.rule_names()
        out = []
        for k in range(<uint32_t>self.ir.rules.size()):
            rule = self.ir.rules[k]
            automaton = "nondeterministic"
            if self.first[k] == 0:
                automaton = "unvisited"
            elif self.first[k] in starts:
                automaton = "lazy"
            elif self.tabled[k]:
                automaton = "tabled"
            out.append(values.Rule(
                k, names[k], KINDS.get(rule.kind, "plain"), automaton, self.first[k], rule.minimum,
                None if rule.maximum == NO_MAXIMUM else rule.maximum))
        return tuple(out)

    cdef list rule_names(self):
        """Return the front end's names of rules, others after their kinds; all unique."""
        cdef uint32_t k
        cdef RuleC rule
        names, bodies = list(self.names), {}
        for k in range(<uint32_t>len(names)):
            bodies.setdefault(self.ir.rules[k].node, names[k])
        for k in range(<uint32_t>len(names), <uint32_t>self.ir.rules.size()):
            rule = self.ir.rules[k]
            if rule.kind == COUNTED_RULE or rule.kind == BOUNDED_RULE:
                high = "" if rule.maximum == NO_MAXIMUM else rule.maximum
                body = "repeat" if rule.kind == COUNTED_RULE else "pattern"
                name = f"{bodies.get(self.ir.nodes[rule.node].a, body)}{{{rule.minimum},{high}}}"
            elif rule.kind in KINDS:
                name = KINDS[rule.kind]
            elif rule.role in ROLES:
                name = f"{ROLES[rule.role]} {self.ir.labels[rule.label]}".strip()
            else:
                name = "arm"
            names.append(name)
        seen = {}
        for k, name in enumerate(names):
            seen[name] = seen.get(name, 0) + 1
            if seen[name] > 1:
                names[k] = f"{name} #{seen[name]}"
        return names

    cdef dict read_states(self):
        return {k: self.read_state(k) for k in range(1, <uint32_t>self.states.size())}

    cdef int pay(self, int64_t steps) except -1:
        if self.budget is not None:
            spend(self.budget, steps)
        return 0

    cdef object read_state(self, uint32_t number):
        cdef StateC s = self.states[number]
        cdef uint32_t k
        self.pay(1 + s.n_bytes + s.n_refs + s.n_tokens + s.n_empty)
        edges = []
        if s.flags & UNBUILT_STATE:
            return values.State(number, s.rule, False, False, False, False, 0, ())
        for k in range(s.byte_off, s.byte_off + s.n_bytes):
            edges.append(values.Edge(
                "bytes", self.byte_edges[k].low, self.byte_edges[k].high, (), self.byte_edges[k].target))
        for k in range(s.ref_off, s.ref_off + s.n_refs):
            edges.append(values.Edge("rule", self.ref_edges[k].symbol, 0, (), self.ref_edges[k].target))
        for k in range(s.token_off, s.token_off + s.n_tokens):
            edges.append(values.Edge(
                "other tokens" if self.token_sets[self.token_edges[k].symbol].others else "tokens",
                0, 0, ranges_of(&self.token_sets[self.token_edges[k].symbol]), self.token_edges[k].target))
        for k in range(s.empty_off, s.empty_off + s.n_empty):
            edges.append(values.Edge("empty", 0, 0, (), self.empty_edges[k]))
        return values.State(
            number, s.rule, bool(s.flags & FINAL_STATE), bool(s.flags & LOOP_STATE),
            bool(s.flags & TRIGGER_STATE), True, s.like, tuple(edges))

    # -- rows --------------------------------------------------------------------------------------
    cdef dict transitions(self):
        """Return (source row, target row, at a token's end) -> bytes, tokens, pairs of registers.

        Rows have their numbers of the arena.
        """
        cdef uint32_t target
        moves = {}
        for key, result in entries(&self.byte_memo):
            target = result & CONFIGURATION
            if target != DEAD:
                self.transition(moves, key >> 8, target, False)[0].add(key & 255)
        for key, target in entries(&self.token_memo):
            if target != DEAD:
                self.transition(moves, key >> 32, target, False)[1].add(key & 0xFFFFFFFF)
        for key, target in entries(&self.end_memo):
            if target != DEAD:
                self.transition(moves, key, target, True)
        return moves

    cdef tuple transition(self, dict moves, uint32_t source, uint32_t target, bint ends_token):
        self.pay(1)
        key = (self.configurations[source].row, self.configurations[target].row, bool(ends_token))
        if key not in moves:
            moves[key] = (set(), set(), set())
        before, after = self.registers(source), self.registers(target)
        if before != after:
            moves[key][2].add((before, after))
        return moves[key]

    cdef tuple registers(self, uint32_t configuration):
        cdef uint32_t k, value, off = self.register_sets.off[self.configurations[configuration].registers]
        cdef RowC row = self.rows[self.configurations[configuration].row]
        cdef RuleC* rule
        self.pay(row.n_kernel)
        out = []
        for k in range(row.item_off, row.item_off + row.n_kernel):
            if self.configurations[configuration].registers == 0 or self.items[k].slot == NO_SLOT:
                continue
            value = self.register_sets.words[off + self.items[k].slot]
            rule = &self.ir.rules[self.states[self.items[k].state].rule]
            if rule.iterates or rule.unit == 0:
                out.append(iterations(rule, value))
            if rule.unit:
                out.append(tokens(rule, value))
        return tuple(out)

    cdef void number_rows(self, dict transitions):
        """Number rows breadth first from the start, in the order of bytes; then unreached rows."""
        cdef uint32_t k, start = self.configurations[self.root].row
        ways = {}
        for (source, target, _), (bytes_taken, ids, _) in transitions.items():
            ways.setdefault(source, []).append((sorted(bytes_taken), sorted(ids), target))
        self.order, self.numbers = [start], {start: 0}
        for row in self.order:
            for _, _, target in sorted(ways.get(row, ()), key=first_way):
                if target not in self.numbers:
                    self.numbers[target] = len(self.order)
                    self.order.append(target)
        self.reached = <uint32_t>len(self.order)
        for k in range(2, <uint32_t>self.rows.size()):
            if k not in self.numbers:
                self.numbers[k] = len(self.order)
                self.order.append(k)

    cdef tuple read_rows(self):
        cdef uint32_t k
        met = {}
        for k in range(2, <uint32_t>self.configurations.size()):
            if self.configurations[k].registers:
                met.setdefault(self.configurations[k].row, set()).add(self.registers(k))
        out = []
        for number, row in enumerate(self.order):
            seen = sorted(found for found in met.get(row, ()) if found)
            out.append(self.read_row(number, row, tuple(seen)))
        return tuple(out)

    cdef object read_row(self, number, uint32_t row, tuple registers):
        cdef RowC r = self.rows[row]
        cdef uint32_t k
        self.pay(1 + r.n_items)
        kernel = tuple([
            self.read_item(number, &self.items[r.item_off + k]) for k in range(r.n_kernel)])
        predicted = tuple([
            self.read_item(number, &self.items[r.item_off + k]) for k in range(r.n_kernel, r.n_items)])
        return values.Row(number, bool(r.accept), kernel, predicted, registers)

    cdef object read_item(self, number, ItemC* item):
        """Return an item. Its origin is this row, a row if it has registers, or a configuration."""
        cdef uint32_t row = item.origin if item.flags & ITEM_PARENT else self.configurations[item.origin].row
        origin = number if item.flags & ITEM_SELF else self.numbers.get(row)
        return values.Item(item.state, item.goal, origin, item.slot != NO_SLOT, CLASSES[item.count_class])

    cdef tuple read_moves(self, dict transitions):
        out = []
        for (source, target, ends_token), (bytes_taken, ids, registers) in transitions.items():
            if source in self.numbers and target in self.numbers:
                out.append(values.Move(
                    self.numbers[source], self.numbers[target], merged(sorted(bytes_taken)),
                    tuple(sorted(ids)), ends_token, tuple(sorted(registers))))
        return tuple(sorted(out, key=place_of))

    # -- masks -------------------------------------------------------------------------------------
    cdef tuple read_token_masks(self):
        cdef uint32_t number
        cdef TokenMaskC* t
        out = [None] * self.token_masks.size()
        for key, number in entries(&self.token_mask_ids):
            t = self.token_masks[number].get()
            accepted, uncertain = self.count_tokens(t)
            out[number] = values.TokenMask(
                key >> 32, key & 0xFFFFFFFF, accepted, uncertain, t.exits.size() // 2,
                self.token_mask_suffixes[number], t.triggers.size(), t.shared)
        return tuple(out)

    cdef tuple count_tokens(self, TokenMaskC* t):
        """Return the numbers of accepted and of uncertain tokens."""
        cdef vector[uint32_t] words
        cdef TrieNode* nodes = self.vocabulary.nodes.data()
        cdef uint32_t k, rank, token, node, accepted
        words = t.words
        words.resize(self.vocabulary.words, 0)
        for token in t.ids:
            words[token >> 5] |= (<uint32_t>1) << (token & 31)
        accepted = count_bits(&words)
        for k in range(<uint32_t>t.exits.size() // 2):
            node = t.exits[2 * k + 1]
            for rank in range(nodes[node].first, nodes[nodes[node].end].first):
                token = self.vocabulary.order[rank]
                words[token >> 5] |= (<uint32_t>1) << (token & 31)
        return accepted, count_bits(&words) - accepted

    cdef tuple read_masks(self):
        cdef uint32_t number, configuration
        cdef MaskC* m
        out = []
        for configuration, number in entries(&self.mask_ids):
            m = &self.kept[number]
            out.append(values.Mask(
                self.numbers[self.configurations[configuration].row], self.registers(configuration),
                self.allowed[number],
                listed(&m.token_masks), tuple([self.shared[taken] for taken in listed(&m.lists)]),
                m.ids.size(), m.words.size() > 0, m.detours.size()))
        return tuple(sorted(out, key=lambda mask: (mask.row, mask.registers)))


cdef uint32_t count_bits(vector[uint32_t]* words) noexcept nogil:
    cdef uint32_t word, total = 0
    for word in words[0]:
        total += __builtin_popcount(word)
    return total


cdef uint32_t count_suffixes(TokenMaskC* token_mask) noexcept nogil:
    """Return the number of nodes of all suffix tries built so far."""
    cdef uint32_t k, total = 0
    for k in range(<uint32_t>token_mask.groups.size()):
        if token_mask.groups[k].suffixes.get() != NULL:
            total += <uint32_t>token_mask.groups[k].suffixes.get().nodes.size() - 1
    return total


cdef list entries(const U64MapC* table):
    """Return the keys and values of a table."""
    return [(table.keys[k], table.values[k]) for k in range(table.keys.size()) if table.keys[k]]


cdef tuple ranges_of(const TokenSetC* allowed):
    return tuple([(allowed.bounds[k], allowed.bounds[k + 1]) for k in range(0, allowed.n, 2)])


cdef tuple listed(vector[uint32_t]* words):
    return tuple([word for word in words[0]])


cdef tuple first_way(way):
    """Return the sort key of a row's transitions: bytes before tokens."""
    return (way[0] or [256], way[1], way[2])


cdef tuple place_of(move):
    """Return the sort key of moves: those at a token's end come last."""
    return (move.source, move.ends_token, move.ranges, move.tokens, move.target)


cdef tuple merged(list numbers):
    """Return ascending numbers as ranges."""
    out = []
    for number in numbers:
        if out and out[-1][1] + 1 == number:
            out[-1] = (out[-1][0], number)
        else:
            out.append((number, number))
    return tuple(out)


cdef int visit(Compiled compiled, Generation generation, uint32_t most, bint escapes, WorkBudget budget) except -1:
    """Visit positions byte by byte from the start (see Prefill). ``most``: of them.

    At a pause of the budget other threads wait for the generation, too.

    Raises:
        LimitExceeded: one of the grammar, or ``compile_steps``.
        Cancelled: the budget was cancelled.
    """
    cdef Prefill prefill = Prefill(generation.arena, generation.masks, escapes=escapes)
    cdef Arena arena = generation.arena
    while most and not prefill.is_over:
        with nogil:
            arena.guard.lock()
        try:
            arena.charge(budget)
            with nogil:
                prefill.look(most)
            arena.settle(prefill.error)
        finally:
            arena.guard.unlock()
    return compiled.raise_limit(prefill.error, arena.error_got)


def count_states(Compiled compiled not None, uint32_t explore=0, WorkBudget budget=None):
    """Return the numbers of states and of their edges, as a snapshot has them, which takes no copy.

    Args:
        explore, budget: see ``take``.
    """
    cdef Generation generation = compiled.generation
    cdef Automata automata = generation.arena.automata
    cdef uint64_t edges = 0
    cdef size_t states, k
    cdef StateC s
    visit(compiled, generation, explore, False, budget)
    with nogil:
        generation.arena.guard.lock()
        states = automata.states.size() - 1
        for k in range(1, states + 1):
            s = automata.states[k]
            if not s.flags & UNBUILT_STATE:
                edges += s.n_bytes + s.n_refs + s.n_tokens + s.n_empty
        generation.arena.guard.unlock()
    return states, edges


def take(subject not None, uint32_t explore, bint escapes, WorkBudget budget=None):
    """Return a snapshot of a compiled grammar's current generation, or of a matcher's generation.

    Args:
        subject: ``Compiled`` or ``Matcher``.
        explore: positions to visit first, byte by byte from the start (see Prefill).
        escapes: whether exploring follows all spellings of characters.
        budget: pays for exploring and for the snapshot; None: no budget.

    Raises:
        LimitExceeded: exploring would exceed a limit; ``compile_steps``.
        Cancelled: the budget was cancelled.
    """
    cdef Matcher matcher = subject if isinstance(subject, Matcher) else None
    cdef Compiled compiled = subject if matcher is None else matcher.compiled
    cdef Generation generation = compiled.generation if matcher is None else matcher.generation
    cdef Arena arena = generation.arena
    cdef _Copy copy = _Copy()
    copy.budget = budget
    copy.ir, copy.vocabulary, copy.names = compiled.ir, compiled.vocabulary, compiled.grammar.rule_names
    visit(compiled, generation, explore, escapes, budget)
    with nogil:
        arena.guard.lock()
        copy.copy(arena.automata, arena, generation.masks)
        arena.guard.unlock()
    transitions = copy.transitions()
    copy.number_rows(transitions)
    here = None
    if matcher is not None:
        here = (copy.numbers[copy.configurations[matcher.configuration()].row], copy.registers(matcher.configuration()))
    return values.Snapshot(
        copy.read_rules(), copy.read_states(), copy.read_rows(), copy.reached,
        copy.read_moves(transitions), copy.read_token_masks(), copy.read_masks(), here)


cdef extern from *:
    int __builtin_popcount(unsigned int) noexcept nogil
