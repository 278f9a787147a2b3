"""FlatIR: see the header file. One linear pass over an ``ir.Grammar``, then two fixpoints."""

from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport binary_search

from .ir cimport Grammar
from .pool cimport vector

from .errors import SpecError

# A repetition whose unrolled size stays below this many edges is unrolled; a larger one is counted
# in a register. A few edges cost less than one register frame.
cdef enum:
    UNROLLED_EDGES = 16

# A short repetition of few characters (digits of a date, hexadecimal ones) is unrolled up to a larger
# size: then the rule refers to nothing, and its automaton and masks are shared by all grammars.
# Each copy of a wide class would have costly masks of its own.
cdef enum:
    UNROLLED_COPIES = 16
    UNROLLED_NARROW_EDGES = 16384


cdef class FlatIR:
    """The IR of one grammar, loaded once, read by the automaton builder without the GIL."""

    def __init__(self, Grammar grammar, vocabulary, *, bint count_registers=True):
        cdef uint32_t i
        grammar.check()
        self.vocabulary = vocabulary
        self.labels = grammar.labels
        self.root = grammar.root
        self.own_rules = <uint32_t>grammar.rule_nodes.size()
        self.nodes = grammar.node_list
        self.pool = grammar.pool
        for i in grammar.rule_nodes:
            self.rules.push_back(_rule(i, PLAIN_RULE))
        self.rule_of_node.assign(self.nodes.size(), NO_RULE)
        self.name_objects()
        self.weights.reserve(self.nodes.size())
        for i in range(<uint32_t>self.nodes.size()):
            self.load(i, grammar, vocabulary)
            if self.nodes[i].kind == REPEAT and count_registers and self.is_counted(i):
                self.rule_of_node[i] = self.made_rule(i, COUNTED_RULE)
            elif self.nodes[i].kind == BOUNDED and count_registers:
                self.rule_of_node[i] = self.made_rule(i, BOUNDED_RULE)
            self.weights.push_back(self.weight(i))
        with nogil:
            self.solve()

    cdef void name_objects(self) noexcept nogil:
        """A rule that is nothing but an object is the object's own."""
        cdef uint32_t r, node
        for r in range(<uint32_t>self.rules.size()):
            node = self.rules[r].node
            if self.nodes[node].kind == OBJECT and self.rule_of_node[node] == NO_RULE:
                self.rule_of_node[node] = r
                self.rules[r].kind = OBJECT_RULE

    def largest_rule(self):
        """About how many edges the largest rule's automaton will take."""
        cdef uint32_t largest = 0
        cdef RuleC rule
        for rule in self.rules:
            if rule.kind == COUNTED_RULE or rule.kind == BOUNDED_RULE:
                largest = max(largest, self.weights[self.nodes[rule.node].a])
            elif rule.kind == PLAIN_RULE:
                largest = max(largest, self.weights[rule.node])
        return largest

    def costly_rules(self):
        """The rules whose masks cost more to make than to fetch: free text, large classes."""
        cdef uint32_t r, node
        found = []
        for r in range(<uint32_t>self.rules.size()):
            node = self.rules[r].node
            if self.rules[r].kind == COUNTED_RULE or self.rules[r].kind == BOUNDED_RULE:
                node = self.nodes[node].a
            if self.rules[r].kind == DISPATCH_RULE or self.widest(node) > WIDE_CHARS:
                found.append(r)
        return found

    cdef int load(self, uint32_t number, grammar, vocabulary) except -1:
        """Makes the rules and sets of one node; its children have theirs (I1)."""
        cdef NodeC* node = &self.nodes[number]
        cdef uint32_t kind = node.kind
        if kind == TOKENS or kind == OTHER_TOKENS:
            self.load_tokens(node)
        elif kind == CAPTURE:
            self.rule_of_node[number] = self.made_rule(node.a, PLAIN_RULE)
            self.rules.back().label = node.b
            self.rules.back().role = <uint8_t>node.c
        elif kind == DISPATCH:
            content = (<Grammar>grammar).dispatches[node.a]
            node.a = self._dispatch(content, vocabulary)
            self.rule_of_node[number] = self.made_rule(number, DISPATCH_RULE)
            self.rules.back().minimum = content[5]
            self.rules.back().maximum = NO_MAXIMUM if content[6] < 0 else content[6]
            self.rules.back().iterates = content[5] > 0 or content[6] >= 0
            self.rules.back().counted = self.rules.back().iterates or content[7] >= 0
            if content[7] >= 0:
                self.rules.back().most_tokens = content[7]
                self.rules.back().unit = content[6] + 1 if content[6] >= 0 else 1
        elif kind == OTHER_TEXT:
            self.rule_of_node[number] = self.made_rule(number, OTHER_TEXT_RULE)
        elif kind == TEXTS:
            self.rule_of_node[number] = self.made_rule(number, TEXTS_RULE)
        elif kind == OBJECT and self.rule_of_node[number] == NO_RULE:
            self.rule_of_node[number] = self.made_rule(number, OBJECT_RULE)
        return 0

    cdef int load_tokens(self, NodeC* node) except -1:
        """A token set of its own: equal ones are one node."""
        cdef TokenSetC made
        made.ids.assign(self.pool.begin() + node.off, self.pool.begin() + node.off + node.n)
        made.others = node.kind == OTHER_TOKENS
        if made.ids.size():
            check_tokens((made.ids.back(),), self.vocabulary.size)
        node.a = <uint32_t>self.token_sets.size()
        self.token_sets.push_back(made)
        return 0

    def _append(self, values):
        cdef uint32_t off = <uint32_t>self.pool.size()
        for value in values:
            self.pool.push_back(value)
        return off, <uint32_t>self.pool.size() - off

    def _dispatch(self, tuple node, vocabulary):
        cdef DispatchC out
        cdef vector[uint32_t] allowed
        _, arms, excludes, specials, open_end, *_ = node
        for pattern in (*(arm[0] for arm in arms), *excludes):
            check_tokens([letter - 256 for letter in pattern if letter >= 256], vocabulary.size)
        check_tokens(specials, vocabulary.size)
        for pattern, child, returns in arms:
            out.arms.push_back(self._arm(pattern, vocabulary))
            out.arms.back().returns = returns
            out.arms.back().rule = self._arm_rule(child)
        for pattern in excludes:
            out.excludes.push_back(self._arm(pattern, vocabulary))
        for token in specials:
            allowed.push_back(token)
        out.specials = self.intern_tokens(&allowed) if allowed.size() else NO_RULE
        out.open_end = open_end
        self.dispatches.push_back(out)
        return self.dispatches.size() - 1

    def _arm(self, pattern, vocabulary):
        cdef ArmC out
        out.off, out.n = self._append(pattern)
        for letter in pattern:
            if letter >= 256:
                self.letter_bytes[letter] = len(vocabulary.tokens[letter - 256])
        out.held = sum(1 if x < 256 else len(vocabulary.tokens[x - 256]) for x in pattern)
        out.rule = NO_RULE
        out.returns = 0
        return out

    def _arm_rule(self, uint32_t child):
        """Arms are entered by reference, so that only those whose trigger was met are built."""
        if self.nodes[child].kind == REF:
            return self.nodes[child].a
        if self.rule_of_node[child] == NO_RULE:
            self.rule_of_node[child] = self.made_rule(child, PLAIN_RULE)
        return self.rule_of_node[child]

    cdef uint32_t made_rule(self, uint32_t node, uint8_t kind) except *:
        cdef RuleC rule = _rule(node, kind)
        if kind == COUNTED_RULE or kind == BOUNDED_RULE:
            rule.minimum, rule.maximum = self.nodes[node].b, self.nodes[node].c
            rule.counted = rule.iterates = True
        self.rules.push_back(rule)
        return <uint32_t>self.rules.size() - 1

    cdef bint has_token(self, uint32_t number, uint32_t token) noexcept nogil:
        cdef TokenSetC* tokens = &self.token_sets[number]
        cdef bint found = binary_search(tokens.ids.begin(), tokens.ids.end(), token)
        if tokens.others:
            return not found and self.vocabulary.offsets[token] != self.vocabulary.offsets[token + 1]
        return found

    cdef uint32_t intern_tokens(self, vector[uint32_t]* ids) noexcept nogil:
        """The number of a token set; equal sets get one number."""
        cdef uint32_t k
        cdef TokenSetC made
        for k in range(<uint32_t>self.token_sets.size()):
            if not self.token_sets[k].others and self.token_sets[k].ids == ids[0]:
                return k
        made.ids, made.others = ids[0], False
        self.token_sets.push_back(made)
        return <uint32_t>self.token_sets.size() - 1

    cdef bint is_counted(self, uint32_t i) noexcept nogil:
        """Whether a repetition is kept in a register instead of being unrolled."""
        cdef uint32_t high = self.nodes[i].b, copies = self.nodes[i].b
        cdef unsigned long long size
        if self.nodes[i].c != NO_MAXIMUM:
            copies = high = max(high, self.nodes[i].c)
        if high <= 1:
            return False
        size = copies * <unsigned long long>self.weights[self.nodes[i].a]
        if copies <= UNROLLED_COPIES and self.widest(self.nodes[i].a) <= WIDE_CHARS:
            return size > UNROLLED_NARROW_EDGES
        return size > UNROLLED_EDGES

    cdef uint32_t widest(self, uint32_t i) noexcept nogil:
        """How many characters the largest class has that is written out in a node; 0: there is none."""
        cdef NodeC* node = &self.nodes[i]
        cdef uint32_t k, found = 0
        if self.rule_of_node[i] != NO_RULE:
            return 0
        if node.kind == CHARS or node.kind == JSON_CHARS:
            for k in range(node.n // 2):
                found += self.pool[node.off + 2 * k + 1] - self.pool[node.off + 2 * k] + 1
        elif node.kind == SEQ or node.kind == ALT:
            for k in range(node.n):
                found = max(found, self.widest(self.pool[node.off + k]))
        elif node.kind == GRAPH:
            for k in range(node.n // 3):
                found = max(found, self.widest(self.pool[node.off + 3 * k + 1]))
        elif node.kind == REPEAT or node.kind == BOUNDED:
            return self.widest(node.a)
        return found

    cdef uint32_t weight(self, uint32_t i) noexcept nogil:
        """About how many edges the node takes when it is written out.

        References and made rules take few.
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
            total = self.weights[node.a] * <unsigned long long>(
                max(node.b, 1) if node.c == NO_MAXIMUM else max(node.c, 1))
        elif node.kind == GRAPH:
            for k in range(node.n // 3):
                total += self.weights[self.pool[node.off + 3 * k + 1]]
        else:
            return 4
        return <uint32_t>min(total, <unsigned long long>1 << 30)

    # -- facts -------------------------------------------------------------------------------------
    cdef void solve(self) noexcept nogil:
        """Least fixpoints. What a node is made of comes before it, rules included, so that only
        circles of rules need more than one pass, and long chains of them do not.
        """
        cdef uint32_t i
        cdef bint changed = True
        cdef vector[uint32_t] order
        self.nullable.assign(self.nodes.size(), 0)
        self.productive.assign(self.nodes.size(), 0)
        order_nodes(self, &order)
        while changed:
            changed = False
            for i in order:
                if not self.productive[i] and self.node_productive(i):
                    self.productive[i] = changed = True
                if not self.nullable[i] and self.node_nullable(i):
                    self.nullable[i] = changed = True
        for i in range(<uint32_t>self.rules.size()):
            self.rules[i].productive = self.productive[self.rules[i].node]
            self.rules[i].nullable = self.nullable[self.rules[i].node]
            if self.rules[i].kind == COUNTED_RULE and self.nullable[self.nodes[self.rules[i].node].a]:
                self.rules[i].minimum = 0

    cdef bint node_productive(self, uint32_t i) noexcept nogil:
        cdef NodeC* node = &self.nodes[i]
        cdef uint32_t k
        if node.kind == FAIL:
            return False
        if node.kind == TEXT:
            for k in range(node.n):
                if 0xD800 <= self.pool[node.off + k] <= 0xDFFF:
                    return False
            return True
        if node.kind == SEQ:
            for k in range(node.n):
                if not self.productive[self.pool[node.off + k]]:
                    return False
            return True
        if node.kind == ALT:
            for k in range(node.n):
                if self.productive[self.pool[node.off + k]]:
                    return True
            return False
        if node.kind == REPEAT:
            return node.b == 0 or self.productive[node.a]
        if node.kind == REF:
            return self.productive[self.rules[node.a].node]
        if node.kind == CAPTURE or node.kind == BOUNDED:
            return self.productive[node.a]
        if node.kind == GRAPH:
            return self.graph_reaches(node, self.productive.data())
        if node.kind == OBJECT:
            return self.object_productive(node)
        if node.kind == DISPATCH:
            if self.dispatches[node.a].open_end:
                return True
            for k in range(<uint32_t>self.dispatches[node.a].arms.size()):
                if (not self.dispatches[node.a].arms[k].returns
                        and self.productive[self.rules[self.dispatches[node.a].arms[k].rule].node]):
                    return True
            return False
        return True

    cdef bint object_productive(self, NodeC* node) noexcept nogil:
        cdef vector[uint32_t] members
        cdef vector[uint8_t] good
        cdef uint32_t k
        list_members(node, self.pool.data(), &members)
        for k in members:
            good.push_back(self.productive[k])
        return members_suffice(node, self.pool.data(), good.data())

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
            return self.graph_reaches(node, self.nullable.data())
        if node.kind == DISPATCH:
            return self.dispatches[node.a].open_end and self.rules[self.rule_of_node[i]].minimum == 0
        if node.kind == OTHER_TEXT:
            return not has_empty_text(node, self.pool.data())
        if node.kind == TEXTS:
            return has_empty_text(node, self.pool.data())
        return False

    cdef bint graph_reaches(self, NodeC* node, uint8_t* flags) noexcept nogil:
        """Whether a final state can be reached over edges whose node has its flag set."""
        cdef vector[vector[uint32_t]] successors
        cdef vector[uint8_t] seen
        cdef vector[uint32_t] todo
        cdef uint32_t k, state
        cdef uint32_t* edge
        successors.resize(node.a)
        seen.assign(node.a, 0)
        for k in range(node.n // 3):
            edge = &self.pool[node.off + 3 * k]
            if flags[edge[1]]:
                successors[edge[0]].push_back(edge[2])
        seen[0] = 1
        todo.push_back(0)
        while todo.size():
            state = todo.back()
            todo.pop_back()
            for k in successors[state]:
                if not seen[k]:
                    seen[k] = 1
                    todo.push_back(k)
        for k in range(node.c):
            if seen[self.pool[node.b + k]]:
                return True
        return False


cdef void list_members(NodeC* node, const uint32_t* pool, vector[uint32_t]* out) noexcept nogil:
    """The nodes of an OBJECT: space, what isn't listed, the members."""
    cdef uint32_t at = node.off + 2, _k
    out.clear()
    out.push_back(pool[node.off])
    out.push_back(pool[node.off + 1])
    for _k in range(node.a):
        out.push_back(pool[at])
        at += 3 + pool[at + 2]


cdef bint members_suffice(NodeC* node, const uint32_t* pool, const uint8_t* good) noexcept nogil:
    """Whether an OBJECT has a text, if it is known of its nodes, in the order of ``list_members``: all
    required members need one, and some member, where the object must not be empty.
    """
    cdef uint32_t at = node.off + 2, k
    cdef bint is_any = node.b & MAY_BE_EMPTY or good[1]
    for k in range(node.a):
        if good[2 + k]:
            is_any = True
        elif pool[at + 1]:
            return False
        at += 3 + pool[at + 2]
    return is_any


cdef bint has_empty_text(NodeC* node, const uint32_t* pool) noexcept nogil:
    cdef uint32_t at = node.off, end = node.off + node.n
    while at < end:
        if pool[at] == 0:
            return True
        at += 1 + pool[at]
    return False


cdef void order_nodes(FlatIR flat, vector[uint32_t]* order) noexcept nogil:
    """All nodes, depth first, what a node is made of before it."""
    cdef vector[uint8_t] seen
    cdef vector[uint32_t] todo, below
    cdef uint32_t i, k, at
    seen.assign(flat.nodes.size(), 0)
    for i in range(<uint32_t>flat.nodes.size()):
        todo.push_back(i)
        while todo.size():
            at = todo.back()
            if seen[at] == 0:
                seen[at] = 1
                list_below(flat, at, &below)
                for k in below:
                    if seen[k] == 0:
                        todo.push_back(k)
                continue
            todo.pop_back()
            if seen[at] == 1:
                seen[at] = 2
                order.push_back(at)


cdef void list_below(FlatIR flat, uint32_t i, vector[uint32_t]* below) noexcept nogil:
    """What a node is made of, the nodes of rules that it refers to included."""
    cdef NodeC* node = &flat.nodes[i]
    cdef uint32_t k
    below.clear()
    if node.kind == SEQ or node.kind == ALT:
        for k in range(node.n):
            below.push_back(flat.pool[node.off + k])
    elif node.kind == GRAPH:
        for k in range(node.n // 3):
            below.push_back(flat.pool[node.off + 3 * k + 1])
    elif node.kind == OBJECT:
        list_members(node, flat.pool.data(), below)
    elif node.kind == REPEAT or node.kind == CAPTURE or node.kind == BOUNDED:
        below.push_back(node.a)
    elif node.kind == REF or node.kind == OTHER_TEXT:
        below.push_back(flat.rules[node.a].node)
    elif node.kind == DISPATCH:
        for k in range(<uint32_t>flat.dispatches[node.a].arms.size()):
            below.push_back(flat.rules[flat.dispatches[node.a].arms[k].rule].node)


def check_tokens(ids, size):
    """Refuses ids outside the vocabulary.

    Raises:
        SpecError: naming the id.
    """
    for number in ids:
        if not 0 <= number < size:
            raise SpecError(f"token id {number} is not in a vocabulary of {size}")


cdef RuleC _rule(uint32_t node, uint8_t kind):
    cdef RuleC rule
    rule.node = node
    rule.minimum = 0
    rule.maximum = NO_MAXIMUM
    rule.most_tokens = NO_MAXIMUM
    rule.unit = 0
    rule.label = 0
    rule.kind = kind
    rule.role = ROLE_NONE
    rule.nullable = rule.productive = rule.counted = rule.iterates = 0
    return rule
