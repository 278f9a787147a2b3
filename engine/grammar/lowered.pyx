"""Lowering: one linear pass over a grammar's nodes, then two least fixpoints."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp
from libcpp.algorithm cimport lower_bound
from libcpp.utility cimport pair

from ..native.hashing cimport MISSING, map_bytes, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..native.reachability cimport reach
from ..native.resources cimport WorkBudget, spend
from ..vocabulary.vocabulary cimport TokenSet, Vocabulary
from .ir cimport (
    ALT, ANCHORED, BOUNDED, BYTES, CAPTURE, CHARS, DISPATCH, EMPTY, FAIL, GRAPH, JSON_CHARS, MAY_BE_EMPTY,
    NO_SET, OBJECT, REF, REPEAT, ROLE_DIFFERS, ROLE_NONE, SEQ, TEXT, TEXTS, TEXT_EXCEPT, TOKENS,
    TOKENS_EXCEPT, Grammar, first_member, push_ranges,
)

from ..errors import LimitExceeded, SpecError

# A repetition with fewer unrolled edges is unrolled; a larger one is counted in a register. A few
# edges cost less than registers.
cdef enum:
    UNROLLED_EDGES = 16

# A short repetition of few characters (digits of a date) is unrolled up to a larger size: then the
# rule refers to nothing, and all grammars share its automaton and token masks. Each copy of a wide
# class would need expensive masks of its own.
cdef enum:
    UNROLLED_COPIES = 16
    UNROLLED_NARROW_EDGES = 1024

# nodes, operands of a node that are loaded, and nodes whose facts are computed again, in about a microsecond
cdef enum:
    NODES_PER_STEP = 8
    WORDS_PER_STEP = 256
    SOLVED_PER_STEP = 64


cdef class LoweredGrammar:
    """The lowered form of one grammar, which the rest of the engine reads without the GIL."""

    def __init__(self, Grammar grammar, Vocabulary vocabulary, *, bint count_registers=True):
        self.load(grammar, vocabulary, count_registers)

    cdef int load(self, grammar, Vocabulary vocabulary, bint count_registers) except -1:
        cdef Grammar g = grammar
        cdef uint32_t i
        g.seal()
        self.grammar, self.vocabulary = g, vocabulary
        self.labels, self.root = g.labels, g.root
        self.nodes, self.pool, self.n_nodes = g.node_list.data(), g.pool.data(), <uint32_t>g.node_list.size()
        self.rule_nodes, self.own_rules = g.rule_nodes.data(), <uint32_t>g.rule_nodes.size()
        self.rules.reserve(2 * self.own_rules)
        for i in g.rule_nodes:
            self.rules.push_back(_rule(i, PLAIN_RULE))
        self.rule_of_node.assign(self.n_nodes, NO_RULE)
        self.has_unique = False
        self.name_objects()
        self.weights.assign(self.n_nodes, 0)
        self.widths.assign(self.n_nodes, 0)
        for i in range(self.n_nodes):
            spend(g.budget, (i % NODES_PER_STEP == 0) + self.nodes[i].n // WORDS_PER_STEP)
            self.load_node(i)
            if self.nodes[i].kind == REPEAT and count_registers and self.is_counted(i):
                self.rule_of_node[i] = self.made_rule(i, COUNTED_RULE)
            elif self.nodes[i].kind == BOUNDED and count_registers:
                self.rule_of_node[i] = self.made_rule(i, BOUNDED_RULE)
            elif self.nodes[i].kind == GRAPH and self.is_large_graph(i):
                self.rule_of_node[i] = self.made_rule(i, GRAPH_RULE)
            self.weights[i] = self.weight(i)
            self.widths[i] = self.width(i)
        self.weigh_rules()
        self.solve(g.budget)
        vector[uint32_t]().swap(self.weights)
        return 0

    cdef void name_objects(self) noexcept nogil:
        """Let rules that consist of one object be the objects' own rules."""
        cdef uint32_t r, node
        for r in range(<uint32_t>self.rules.size()):
            node = self.rules[r].node
            if self.nodes[node].kind == OBJECT and self.rule_of_node[node] == NO_RULE:
                self.rule_of_node[node] = r
                self.rules[r].kind = OBJECT_RULE

    cdef void weigh_rules(self) noexcept nogil:
        """Estimate the edges of each rule's automaton, and find the largest."""
        cdef RuleC* rule
        cdef uint32_t k
        self.largest_rule = self.largest_at = 0
        for k in range(<uint32_t>self.rules.size()):
            rule = &self.rules[k]
            if rule.kind == PLAIN_RULE and self.nodes[rule.node].kind == GRAPH and (
                    self.rule_of_node[rule.node] != NO_RULE):
                rule.kind = GRAPH_RULE
            if rule.kind == COUNTED_RULE:
                rule.edges = self.weights[self.nodes[rule.node].a]
            elif rule.kind == BOUNDED_RULE:
                rule.edges = self.graph_weight(self.nodes[rule.node].a)
            elif rule.kind == GRAPH_RULE:
                rule.edges = self.graph_weight(rule.node)
            elif rule.kind == PLAIN_RULE:
                rule.edges = self.weights[rule.node]
            elif rule.kind == DISPATCH_RULE or rule.kind == ANCHORED_RULE:
                rule.edges = self.dispatches[rule.dispatch].edges
            else:
                rule.edges = self.nodes[rule.node].n
                continue
            if rule.edges > self.largest_rule:
                self.largest_rule, self.largest_at = rule.edges, k

    cpdef int check_edges(self, uint64_t most) except -1:
        cdef Grammar grammar = self.grammar
        cdef str place = ""
        if self.largest_rule <= most:
            return 0
        if self.largest_at < self.own_rules and not isinstance(grammar.names[self.largest_at], str):
            place = str(grammar.names[self.largest_at])
        raise LimitExceeded("rule_edges", most, self.largest_rule, "" if place == "/" else place)

    cdef uint32_t graph_weight(self, uint32_t i) noexcept nogil:
        """Estimate the edges of a GRAPH, even if it is a rule of its own."""
        cdef unsigned long long total = 0
        cdef uint32_t k
        for k in range(self.nodes[i].n // 3):
            total += self.weights[self.pool[self.nodes[i].off + 3 * k + 1]]
        return <uint32_t>min(total, <unsigned long long>1 << 30)

    cdef bint is_large_graph(self, uint32_t i) noexcept nogil:
        """Return whether a GRAPH has only characters, all as written or all as in JSON, and many edges."""
        cdef uint32_t k, kind, first = 0
        if self.graph_weight(i) < GRAPH_EDGES:
            return False
        for k in range(self.nodes[i].n // 3):
            kind = self.nodes[self.pool[self.nodes[i].off + 3 * k + 1]].kind
            first = kind if k == 0 else first
            # a backslash as written begins the spelling of another character
            if kind != first or (kind != CHARS and kind != JSON_CHARS):
                return False
        return True

    cdef size_t bytes_held(self) noexcept nogil:
        """Return the bytes held, without the grammar."""
        cdef size_t size = (
            held_bytes(self.rules) + held_bytes(self.dispatches) + held_bytes(self.arms)
            + held_bytes(self.token_sets) + held_bytes(self.made_sets) + held_bytes(self.rule_of_node)
            + map_bytes(&self.arm_rules) + held_bytes(self.productive) + held_bytes(self.nullable)
            + held_bytes(self.widths)), k
        for k in range(self.made_sets.size()):
            size += held_bytes(self.made_sets[k])
        return size

    cdef int load_node(self, uint32_t number) except -1:
        """Make the rules and token sets of one node; its children have theirs (I1)."""
        cdef NodeC* node = &self.nodes[number]
        cdef uint32_t kind = node.kind
        if kind == TOKENS or kind == TOKENS_EXCEPT:
            self.check_tokens(self.pool + node.off, node.n, 0)
            node.a = self.add_tokens(self.pool + node.off, node.n, kind == TOKENS_EXCEPT)
        elif kind == CAPTURE:
            self.rule_of_node[number] = self.made_rule(node.a, PLAIN_RULE)
            self.rules.back().label = node.b
            if node.c == ROLE_DIFFERS:
                self.rules.back().differs = self.has_unique = True
            else:
                self.rules.back().role = <uint8_t>node.c
        elif kind == DISPATCH:
            self.load_dispatch(number)
        elif kind == TEXT_EXCEPT:
            self.rule_of_node[number] = self.made_rule(number, TEXT_EXCEPT_RULE)
        elif kind == TEXTS:
            self.rule_of_node[number] = self.made_rule(number, TEXTS_RULE)
        elif kind == OBJECT and self.rule_of_node[number] == NO_RULE:
            self.rule_of_node[number] = self.made_rule(number, OBJECT_RULE)
        return 0

    cdef int load_dispatch(self, uint32_t number) except -1:
        cdef NodeC* node = &self.nodes[number]
        cdef uint32_t* words = self.pool + node.off
        cdef uint32_t at = node.off + 4, rule, letter, _k
        cdef TokenSet ids
        cdef vector[pair[uint32_t, uint32_t]] specials
        cdef vector[uint32_t] bounds
        cdef DispatchC dispatch
        dispatch.first, dispatch.n_arms, dispatch.n_excludes = <uint32_t>self.arms.size(), node.b, 0
        dispatch.open_end, dispatch.anchored, dispatch.specials = <uint8_t>words[0], node.c == ANCHORED, NO_RULE
        for _k in range(node.b):
            rule = self.arm_rule(self.pool[at])
            at = self.load_letters(at + 2)
            self.arms.back().rule = rule
            self.arms.back().returns = <uint8_t>self.pool[self.arms.back().off - 2]
        while at < node.off + node.n:
            at = self.load_letters(at)
            dispatch.n_excludes += 1
        if node.a != NO_SET:
            ids = (<Grammar>self.grammar).sets[node.a]
            # ascending: checking the last one is enough
            self.check_tokens(&ids.ids.back(), 1, 0)
            for letter in ids.ids:
                specials.push_back(pair[uint32_t, uint32_t](letter, letter))
            push_ranges(&specials, &bounds)
            dispatch.specials = self.intern_tokens(&bounds)
        dispatch.edges = self.dispatch_edges(&dispatch)
        rule = self.made_rule(number, ANCHORED_RULE if dispatch.anchored else DISPATCH_RULE)
        self.rule_of_node[number] = rule
        self.rules[rule].minimum, self.rules[rule].maximum = words[1], words[2]
        self.rules[rule].iterates = words[1] > 0 or words[2] != NO_MAXIMUM
        self.rules[rule].counted = self.rules[rule].iterates or words[3] != NO_MAXIMUM
        if words[3] != NO_MAXIMUM:
            self.rules[rule].most_tokens = words[3]
            self.rules[rule].unit = words[2] + 1 if words[2] != NO_MAXIMUM else 1
        self.rules[rule].dispatch = <uint32_t>self.dispatches.size()
        self.dispatches.push_back(dispatch)
        return 0

    cdef uint32_t dispatch_edges(self, DispatchC* dispatch) except? 0:
        """Estimate the edges of free text, see ``DispatchC``."""
        cdef U64MapC firsts
        cdef uint64_t letters = 1
        cdef uint32_t k
        cdef ArmC* arm = self.arms.data() + dispatch.first
        firsts.used = 0
        for k in range(dispatch.n_arms + dispatch.n_excludes):
            letters += arm[k].n
            if arm[k].n:
                map_put(&firsts, <uint64_t>self.pool[arm[k].off] + 1, 0)
        spend((<Grammar>self.grammar).budget, letters // NODES_PER_STEP)
        return <uint32_t>min(letters if dispatch.anchored else letters * firsts.used, <uint64_t>1 << 30)

    cdef uint32_t load_letters(self, uint32_t at) except? 0:
        """Add an arm with the pattern at an offset of the pool; return the offset after it."""
        cdef ArmC arm
        cdef uint32_t k, letter
        arm.off, arm.n, arm.rule, arm.returns, arm.held = at + 1, self.pool[at], NO_RULE, 0, 0
        self.check_tokens(self.pool + arm.off, arm.n, 256)
        for k in range(arm.n):
            letter = self.pool[arm.off + k]
            arm.held += letter_bytes(self.vocabulary, letter)
        self.arms.push_back(arm)
        return arm.off + arm.n

    cdef int check_tokens(self, const uint32_t* ids, uint32_t n, uint32_t first) except -1:
        """Refuse ids outside the vocabulary; token ids begin at ``first``.

        Raises:
            SpecError: names the id.
        """
        cdef uint32_t k
        for k in range(n):
            if ids[k] >= first and ids[k] - first >= self.vocabulary.size:
                raise SpecError(f"token ids must be in 0..{self.vocabulary.size - 1}, got {ids[k] - first}")
        return 0

    cdef uint32_t arm_rule(self, uint32_t child) except? NO_RULE:
        """Return the rule of an arm: a reference, so that it is built only after its trigger."""
        cdef uint32_t rule
        if self.nodes[child].kind == REF:
            return self.nodes[child].a
        if self.rule_of_node[child] != NO_RULE:
            return self.rule_of_node[child]
        rule = map_get(&self.arm_rules, <uint64_t>child + 1)
        if rule == MISSING:
            # not in `rule_of_node`: inside the rule, and elsewhere, the node is written out
            rule = self.made_rule(child, PLAIN_RULE)
            map_put(&self.arm_rules, <uint64_t>child + 1, rule)
        return rule

    cdef uint32_t made_rule(self, uint32_t node, uint8_t kind) except? NO_RULE:
        cdef RuleC rule = _rule(node, kind)
        if kind == COUNTED_RULE or kind == BOUNDED_RULE:
            rule.minimum, rule.maximum = self.nodes[node].b, self.nodes[node].c
            rule.counted = rule.iterates = True
        self.rules.push_back(rule)
        return <uint32_t>self.rules.size() - 1

    cdef bint has_token(self, uint32_t number, uint32_t token) noexcept nogil:
        cdef TokenSetC* tokens = &self.token_sets[number]
        cdef const uint32_t* at = lower_bound(tokens.bounds, tokens.bounds + tokens.n, token)
        # the first bound that is not below the token is its own, or the end of its range
        cdef bint found = at != tokens.bounds + tokens.n and (at[0] == token or (at - tokens.bounds) & 1)
        if tokens.others:
            return not found and self.vocabulary.offsets[token] != self.vocabulary.offsets[token + 1]
        return found

    cdef uint32_t add_tokens(self, const uint32_t* bounds, uint32_t n, bint others) noexcept nogil:
        """Add a token set with bounds that the caller keeps alive."""
        cdef TokenSetC tokens
        tokens.bounds, tokens.n, tokens.others = bounds, n, others
        self.token_sets.push_back(tokens)
        return <uint32_t>self.token_sets.size() - 1

    cdef uint32_t intern_tokens(self, vector[uint32_t]* bounds) noexcept nogil:
        """Return the number of a token set; equal sets have one number. Takes ``bounds`` over."""
        cdef uint32_t k
        for k in range(<uint32_t>self.token_sets.size()):
            if not self.token_sets[k].others and self.token_sets[k].n == bounds.size() and memcmp(
                    self.token_sets[k].bounds, bounds.data(), 4 * bounds.size()) == 0:
                return k
        # moving a vector does not move its contents
        self.made_sets.resize(self.made_sets.size() + 1)
        self.made_sets.back().swap(bounds[0])
        return self.add_tokens(self.made_sets.back().data(), <uint32_t>self.made_sets.back().size(), False)

    cdef bint is_counted(self, uint32_t i) noexcept nogil:
        """Return whether a repetition is counted in a register instead of unrolled."""
        cdef uint32_t high = self.nodes[i].b, copies = self.nodes[i].b
        cdef unsigned long long size
        if self.nodes[i].c != NO_MAXIMUM:
            copies = high = max(high, self.nodes[i].c)
        if high <= 1:
            return False
        size = copies * <unsigned long long>self.weights[self.nodes[i].a]
        if copies <= UNROLLED_COPIES and self.widths[self.nodes[i].a] <= WIDE_CHARS:
            return size > UNROLLED_NARROW_EDGES
        return size > UNROLLED_EDGES

    cdef uint32_t width(self, uint32_t i) noexcept nogil:
        """Return the largest class written out in a node, 0 if there is none; see ``widths``."""
        cdef NodeC* node = &self.nodes[i]
        cdef uint32_t k, widest = 0
        if self.rule_of_node[i] != NO_RULE:
            return 0
        if node.kind == CHARS or node.kind == JSON_CHARS:
            for k in range(node.n // 2):
                widest += self.pool[node.off + 2 * k + 1] - self.pool[node.off + 2 * k] + 1
        elif node.kind == SEQ or node.kind == ALT:
            for k in range(node.n):
                widest = max(widest, self.widths[self.pool[node.off + k]])
        elif node.kind == GRAPH or node.kind == BOUNDED:
            # a large graph has a rule of its own, but without registers its copies are written out
            node = &self.nodes[node.a] if node.kind == BOUNDED else node
            for k in range(node.n // 3):
                widest = max(widest, self.widths[self.pool[node.off + 3 * k + 1]])
        elif node.kind == REPEAT:
            return self.widths[node.a]
        return widest

    cdef uint32_t weight(self, uint32_t i) noexcept nogil:
        """Estimate the edges of the node when it is written out.

        References and rules of their own take few.
        """
        cdef NodeC* node = &self.nodes[i]
        cdef unsigned long long total = 0
        cdef uint32_t k
        if self.rule_of_node[i] != NO_RULE:
            return 4
        if node.kind == BYTES:
            return node.n
        if node.kind == TEXT:
            return 16 * node.n
        if node.kind == CHARS:
            return 1 if node.n == 2 and self.pool[node.off + 1] < 128 else 4 * node.n
        if node.kind == JSON_CHARS:
            return 20 + 12 * node.n
        if node.kind == SEQ or node.kind == ALT:
            for k in range(node.n):
                total += self.weights[self.pool[node.off + k]]
        elif node.kind == REPEAT or node.kind == BOUNDED:
            total = self.graph_weight(node.a) if node.kind == BOUNDED else self.weights[node.a]
            total *= max(node.b, 1) if node.c == NO_MAXIMUM else max(node.c, 1)
        elif node.kind == GRAPH:
            return self.graph_weight(i)
        else:
            return 4
        return <uint32_t>min(total, <unsigned long long>1 << 30)

    # -- facts -------------------------------------------------------------------------------------
    cdef int solve(self, WorkBudget budget) except -1:
        """Compute least fixpoints. Nodes are visited after their parts, including those of
        referenced rules, so only cycles of rules need more than one pass.
        """
        cdef uint32_t i
        cdef bint changed = False
        cdef vector[uint32_t] order
        with nogil:
            changed = self.solve_in_order(&order)
        while changed:
            spend(budget, 1 + <int64_t>order.size() // SOLVED_PER_STEP)
            changed = False
            with nogil:
                for i in order:
                    changed |= self.solve_once(i)
        for i in range(<uint32_t>self.rules.size()):
            self.rules[i].productive = self.productive[self.rules[i].node]
            self.rules[i].nullable = self.nullable[self.rules[i].node]
            if self.rules[i].kind == COUNTED_RULE and self.nullable[self.nodes[self.rules[i].node].a]:
                self.rules[i].minimum = 0

    cdef bint solve_in_order(self, vector[uint32_t]* order) noexcept nogil:
        """Visit all nodes after their parts, and list them. Return whether rules form a cycle."""
        cdef uint32_t i
        cdef bint circle = False
        cdef vector[uint8_t] seen
        self.nullable.assign(self.n_nodes, 0)
        self.productive.assign(self.n_nodes, 0)
        seen.assign(self.n_nodes, 0)
        for i in range(self.n_nodes):
            # children have smaller numbers (I1)
            if refers(self, i):
                circle |= settle(self, i, seen.data(), order)
            elif seen[i] == 0:
                seen[i] = 2
                order.push_back(i)
                self.solve_once(i)
        return circle

    cdef bint solve_once(self, uint32_t i) noexcept nogil:
        """Update the facts of one node; return whether one changed."""
        cdef bint changed = False
        if not self.productive[i] and self.node_productive(i):
            self.productive[i] = changed = True
        if not self.nullable[i] and self.node_nullable(i):
            self.nullable[i] = changed = True
        return changed

    cdef bint node_productive(self, uint32_t i) noexcept nogil:
        cdef NodeC* node = &self.nodes[i]
        cdef DispatchC* dispatch
        cdef uint32_t k
        if node.kind != DISPATCH:
            return has_word(node, self.pool, self.rule_nodes, self.productive.data())
        dispatch = dispatch_of(self, i)
        if dispatch.open_end:
            return True
        for k in range(dispatch.first, dispatch.first + dispatch.n_arms):
            if not self.arms[k].returns and self.productive[self.rules[self.arms[k].rule].node]:
                return True
        return False

    cdef bint node_nullable(self, uint32_t i) noexcept nogil:
        cdef NodeC* node = &self.nodes[i]
        cdef uint32_t k
        if node.kind == EMPTY:
            return True
        if node.kind == SEQ:
            for k in range(node.n):
                if not self.nullable[self.pool[node.off + k]]:
                    return False
            return True
        if node.kind == ALT:
            for k in range(node.n):
                if self.nullable[self.pool[node.off + k]]:
                    return True
            return False
        if node.kind == REPEAT:
            return node.b == 0 or self.nullable[node.a]
        if node.kind == BOUNDED:
            return node.b == 0 and self.nullable[node.a]
        if node.kind == REF:
            return self.nullable[self.rules[node.a].node]
        if node.kind == CAPTURE:
            return self.nullable[node.a]
        if node.kind == GRAPH:
            return graph_reaches(node, self.pool, self.nullable.data())
        if node.kind == DISPATCH:
            return dispatch_of(self, i).open_end and self.rules[self.rule_of_node[i]].minimum == 0
        if node.kind == TEXT_EXCEPT:
            return not has_empty_text(node, self.pool)
        if node.kind == TEXTS:
            return has_empty_text(node, self.pool)
        return False


# -- productive nodes --------------------------------------------------------------------------------

cdef bint is_productive(Grammar grammar, uint32_t node):
    cdef vector[uint8_t] seen, productive
    cdef vector[uint32_t] order, operands
    cdef NodeC* nodes = grammar.node_list.data()
    cdef uint32_t* pool = grammar.pool.data()
    cdef uint32_t* rule_nodes = grammar.rule_nodes.data()
    cdef uint32_t k
    cdef size_t at = 0
    cdef bint changed = True
    seen.assign(grammar.node_list.size(), 0)
    productive.assign(grammar.node_list.size(), 0)
    seen[node] = 1
    order.push_back(node)
    while at < order.size():
        list_operands(&nodes[order[at]], pool, rule_nodes, &operands)
        at += 1
        for k in operands:
            if not seen[k]:
                seen[k] = 1
                order.push_back(k)
    while changed:
        changed = False
        spend(grammar.budget, 1 + <int64_t>order.size() // NODES_PER_STEP)
        for at in range(order.size(), 0, -1):
            k = order[at - 1]
            if not productive[k] and has_word(&nodes[k], pool, rule_nodes, productive.data()):
                productive[k] = changed = True
    return productive[node]


cdef bint has_word(
    const NodeC* node, const uint32_t* pool, const uint32_t* rule_nodes, const uint8_t* productive
) noexcept nogil:
    """Return whether a node matches a word, given the flags of its operands; not for a DISPATCH."""
    cdef uint32_t k
    if node.kind == FAIL:
        return False
    if node.kind == TEXT:
        for k in range(node.n):
            if 0xD800 <= pool[node.off + k] <= 0xDFFF:
                return False
        return True
    if node.kind == SEQ:
        for k in range(node.n):
            if not productive[pool[node.off + k]]:
                return False
        return True
    if node.kind == ALT:
        for k in range(node.n):
            if productive[pool[node.off + k]]:
                return True
        return False
    if node.kind == REPEAT:
        return node.b == 0 or productive[node.a]
    if node.kind == REF:
        return productive[rule_nodes[node.a]]
    if node.kind == CAPTURE or node.kind == BOUNDED:
        return productive[node.a]
    if node.kind == GRAPH:
        return graph_reaches(node, pool, productive)
    if node.kind == OBJECT:
        return members_suffice(node, pool, productive)
    return True


cdef bint members_suffice(const NodeC* node, const uint32_t* pool, const uint8_t* productive) noexcept nogil:
    """Return whether an OBJECT's required members match words, and one if it may not be empty."""
    cdef uint32_t at = first_member(node), _k
    cdef bint is_any = node.b & MAY_BE_EMPTY or productive[pool[node.off + 1]]
    for _k in range(node.a):
        if productive[pool[at]]:
            is_any = True
        elif pool[at + 1]:
            return False
        at += 3 + pool[at + 2]
    return is_any


cdef bint graph_reaches(const NodeC* node, const uint32_t* pool, const uint8_t* flags) noexcept nogil:
    """Return whether a final state is reachable over edges whose node has its flag set."""
    cdef uint64_t seen = 1, before = 0
    cdef const uint32_t* edge
    cdef uint32_t k, _k
    if node.a > 64:
        return large_graph_reaches(node, pool, flags)
    while seen != before:
        before = seen
        edge = pool + node.off
        for _k in range(node.n // 3):
            if seen >> edge[0] & 1 and flags[edge[1]]:
                seen |= <uint64_t>1 << edge[2]
            edge += 3
    for k in range(node.c):
        if seen >> pool[node.b + k] & 1:
            return True
    return False


cdef bint large_graph_reaches(const NodeC* node, const uint32_t* pool, const uint8_t* flags) noexcept nogil:
    cdef vector[uint32_t] sources, targets
    cdef vector[uint8_t] seen
    cdef const uint32_t* edge = pool + node.off
    cdef uint32_t k, _k
    for _k in range(node.n // 3):
        if flags[edge[1]]:
            sources.push_back(edge[0])
            targets.push_back(edge[2])
        edge += 3
    seen.assign(node.a, 0)
    seen[0] = 1
    reach(&sources, &targets, &seen)
    for k in range(node.c):
        if seen[pool[node.b + k]]:
            return True
    return False


# -- operands ------------------------------------------------------------------------------------------

cdef void list_members(const NodeC* node, const uint32_t* pool, vector[uint32_t]* out) noexcept nogil:
    """List the nodes of an OBJECT: space, unlisted members, the members, the layout."""
    cdef uint32_t at = first_member(node), k, _k
    out.clear()
    out.push_back(pool[node.off])
    out.push_back(pool[node.off + 1])
    for _k in range(node.a):
        out.push_back(pool[at])
        at += 3 + pool[at + 2]
    for k in range(node.off + 2, first_member(node)):
        out.push_back(pool[k])


cdef bint has_empty_text(NodeC* node, const uint32_t* pool) noexcept nogil:
    cdef uint32_t at = node.off, end = node.off + node.n
    while at < end:
        if pool[at] == 0:
            return True
        at += 1 + pool[at]
    return False


cdef bint refers(LoweredGrammar lowered, uint32_t i) noexcept nogil:
    """Return whether a node refers to rules."""
    cdef uint32_t kind = lowered.nodes[i].kind
    return kind == REF or kind == TEXT_EXCEPT or kind == DISPATCH


cdef bint settle(LoweredGrammar lowered, uint32_t i, uint8_t* seen, vector[uint32_t]* order) noexcept nogil:
    """Visit a node after its parts. Return whether they form a cycle.

    ``seen`` is 1 while the parts of a node are visited, then 2.
    """
    cdef vector[uint32_t] todo, below
    cdef uint32_t at, k
    cdef bint circle = False
    todo.push_back(i)
    while todo.size():
        at = todo.back()
        if seen[at] == 0:
            seen[at] = 1
            list_below(lowered, at, &below)
            for k in below:
                if seen[k] == 0:
                    todo.push_back(k)
                circle |= seen[k] == 1
            continue
        todo.pop_back()
        if seen[at] == 1:
            seen[at] = 2
            order.push_back(at)
            lowered.solve_once(at)
    return circle


cdef void list_below(LoweredGrammar lowered, uint32_t i, vector[uint32_t]* below) noexcept nogil:
    """List the operands of a node; for a DISPATCH the bodies of its arms."""
    cdef DispatchC* dispatch
    cdef uint32_t k
    list_operands(&lowered.nodes[i], lowered.pool, lowered.rule_nodes, below)
    if lowered.nodes[i].kind == DISPATCH:
        dispatch = dispatch_of(lowered, i)
        for k in range(dispatch.first, dispatch.first + dispatch.n_arms):
            below.push_back(lowered.rules[lowered.arms[k].rule].node)


cdef void list_operands(
    const NodeC* node, const uint32_t* pool, const uint32_t* rule_nodes, vector[uint32_t]* out
) noexcept nogil:
    """List the nodes that a node consists of, including bodies of rules; none for a DISPATCH."""
    cdef uint32_t k
    out.clear()
    if node.kind == SEQ or node.kind == ALT:
        for k in range(node.n):
            out.push_back(pool[node.off + k])
    elif node.kind == GRAPH:
        for k in range(node.n // 3):
            out.push_back(pool[node.off + 3 * k + 1])
    elif node.kind == OBJECT:
        list_members(node, pool, out)
    elif node.kind == REPEAT or node.kind == CAPTURE or node.kind == BOUNDED:
        out.push_back(node.a)
    elif node.kind == REF or node.kind == TEXT_EXCEPT:
        out.push_back(rule_nodes[node.a])


cdef uint32_t letter_bytes(Vocabulary vocabulary, uint32_t letter) noexcept nogil:
    """Return the number of bytes of a pattern's letter."""
    if letter < 256:
        return 1
    return vocabulary.offsets[letter - 255] - vocabulary.offsets[letter - 256]


cdef DispatchC* dispatch_of(LoweredGrammar lowered, uint32_t node) noexcept nogil:
    return &lowered.dispatches[lowered.rules[lowered.rule_of_node[node]].dispatch]


cdef RuleC _rule(uint32_t node, uint8_t kind) noexcept:
    cdef RuleC rule
    rule.node = node
    rule.minimum = 0
    rule.maximum = NO_MAXIMUM
    rule.most_tokens = NO_MAXIMUM
    rule.unit = 0
    rule.label = rule.dispatch = rule.edges = 0
    rule.kind = kind
    rule.role = ROLE_NONE
    rule.nullable = rule.productive = rule.counted = rule.iterates = rule.differs = 0
    return rule
