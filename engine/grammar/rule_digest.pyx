"""Rule digests: hash units of nodes, children first, without recursion."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..native.pool cimport held_bytes, vector
from ..native.varint cimport put
from .ir cimport (
    ALT, BOUNDED, CAPTURE, DISPATCH, GRAPH, OBJECT, REF, REPEAT, SEQ, TEXTS, TEXT_EXCEPT, TOKENS,
    TOKENS_EXCEPT, NodeC, first_member,
)
from .lowered cimport (
    ANCHORED_RULE, BOUNDED_RULE, COUNTED_RULE, DISPATCH_RULE, NO_RULE, ArmC, DispatchC, LoweredGrammar, RuleC,
    TokenSetC, dispatch_of, list_below,
)

from ..versions import ARTIFACT_VERSION

cdef extern from "native/blake2b.h" namespace "blake2b":
    void blake2b_digest "blake2b::digest"(const void* data, size_t n, uint64_t* out) noexcept nogil

cdef uint32_t VERSION = ARTIFACT_VERSION
# Nodes of a unit that are hashed at once. Rules may share large parts: hashing these for each rule
# took seconds for a few thousand rules.
cdef uint32_t MAX_AT_ONCE = 128
# initial room for the text of a unit; most are smaller
cdef size_t TEXT_BYTES = 2048
cdef uint8_t NOT_BEGUN = 0
cdef uint8_t BEGUN = 1
cdef uint8_t DONE = 2

# first words; no kind of node has these numbers
cdef uint32_t PATTERNS = 0x10000
cdef uint32_t REPEATED = 0x10001
cdef uint32_t COUNTED_CHARACTERS = 0x10002
cdef uint32_t UNIT = 0x10003
cdef uint32_t INNER = 0x10005
# within a unit
cdef uint32_t OTHER_RULE = 0x10004


cdef class RuleDigests:
    """The digests of one grammar's rules."""

    def __init__(self, LoweredGrammar ir, *, bint count_registers):
        self.ir = ir
        self.count_registers = count_registers

    def of_rule(self, uint32_t number):
        """Return the digest of a rule, 16 bytes; zeros if it has none."""
        if number >= self.ir.rules.size():
            raise IndexError(f"rule {number} of {self.ir.rules.size()}")
        return bytes_of(self.rule(number))

    cdef size_t bytes_held(self) noexcept nogil:
        return (
            held_bytes(self.digests) + held_bytes(self.progress) + held_bytes(self.inner)
            + held_bytes(self.is_hashed) + held_bytes(self.nodes) + held_bytes(self.places)
            + held_bytes(self.met) + held_bytes(self.text) + held_bytes(self.todo) + held_bytes(self.below))

    cdef DigestC rule(self, uint32_t number) noexcept nogil:
        cdef RuleC* rule = &self.ir.rules[number]
        cdef DigestC body
        if rule.kind == DISPATCH_RULE or rule.kind == ANCHORED_RULE:
            self.begin(PATTERNS)
            self.write_patterns(rule.node)
            return self.finish()
        if rule.kind == COUNTED_RULE or rule.kind == BOUNDED_RULE:
            body = self.unit(self.ir.nodes[rule.node].a)
            if is_none(body):
                return body
            self.begin(REPEATED if rule.kind == COUNTED_RULE else COUNTED_CHARACTERS)
            self.write_digest(body)
            return self.finish()
        return self.unit(rule.node)

    cdef DigestC unit(self, uint32_t number) noexcept nogil:
        """Return the digest of a unit, after those of the units it refers to, without recursion."""
        cdef vector[uint32_t] todo
        cdef uint32_t at
        cdef bint at_once
        if self.progress.size() == 0:
            self.open()
        todo.push_back(number)
        while todo.size():
            at = todo.back()
            if self.progress[at] == DONE:
                todo.pop_back()
                continue
            at_once = self.order(at, MAX_AT_ONCE, False)
            if not at_once:
                self.order_large(at)
            if self.progress[at] == BEGUN or not self.add_others(at, &todo):
                # a unit that is not done leads back here: a cycle, whose digest stays none
                self.digests[at] = self.make(at) if at_once else self.make_large(at)
                self.progress[at] = DONE
            else:
                self.progress[at] = BEGUN
            self.forget_order()
        return self.digests[number]

    cdef void open(self) noexcept nogil:
        """Allocate room: growing step by step would take as long as hashing."""
        self.digests.resize(self.ir.n_nodes)
        self.progress.assign(self.ir.n_nodes, NOT_BEGUN)
        self.places.assign(self.ir.n_nodes, 0)
        self.text.reserve(TEXT_BYTES)
        self.nodes.reserve(MAX_AT_ONCE)
        self.met.reserve(MAX_AT_ONCE)
        self.todo.reserve(2 * MAX_AT_ONCE)
        self.below.reserve(MAX_AT_ONCE)

    cdef bint is_other(self, uint32_t number, uint32_t unit) noexcept nogil:
        """Return whether a node of a unit stands for another rule, so that the automaton has an
        edge there. A unit that is itself a reference consists of this node alone.
        """
        return self.ir.nodes[number].kind == REF or (number != unit and self.ir.rule_of_node[number] != NO_RULE)

    cdef uint32_t other(self, uint32_t number) noexcept nogil:
        """Return the unit of another rule's node."""
        if self.ir.nodes[number].kind == REF:
            return self.ir.rules[self.ir.nodes[number].a].node
        return number

    cdef void list_inner(self, uint32_t number, uint32_t unit, vector[uint32_t]* below) noexcept nogil:
        """List the children of a node within a unit."""
        cdef uint32_t kind = self.ir.nodes[number].kind
        if kind == TEXT_EXCEPT or kind == DISPATCH or self.is_other(number, unit):
            below.clear()
        else:
            list_below(self.ir, number, below)

    cdef bint order(self, uint32_t unit, uint32_t most, bint only_new) noexcept nogil:
        """Order the nodes of a unit, children first, into ``nodes``, and their numbers from 2 on
        into ``places``. Both depend on the content alone. ``only_new``: without hashed nodes.
        False, without a result: there are more than ``most``.
        """
        cdef vector[uint32_t]* todo = &self.todo
        cdef vector[uint32_t]* below = &self.below
        cdef uint32_t at
        cdef size_t k
        self.nodes.clear()
        self.met.clear()
        todo.clear()
        todo.push_back(unit)
        while todo.size():
            at = todo.back()
            if self.places[at] == 0:
                if self.met.size() == most:
                    self.forget_order()
                    return False
                self.places[at] = 1
                self.met.push_back(at)
                self.list_inner(at, unit, below)
                for k in range(below.size(), 0, -1):
                    at = below[0][k - 1]
                    if self.places[at] == 0 and not (only_new and self.is_hashed[at]):
                        todo.push_back(at)
                continue
            todo.pop_back()
            if self.places[at] == 1:
                self.places[at] = <uint32_t>self.nodes.size() + 2
                self.nodes.push_back(at)
        return True

    cdef void order_large(self, uint32_t unit) noexcept nogil:
        if self.inner.size() == 0:
            self.inner.resize(self.ir.n_nodes)
            self.is_hashed.assign(self.ir.n_nodes, 0)
        self.order(unit, <uint32_t>-1, True)

    cdef void forget_order(self) noexcept nogil:
        cdef uint32_t k
        for k in self.met:
            self.places[k] = 0
        self.met.clear()

    cdef bint add_others(self, uint32_t unit, vector[uint32_t]* todo) noexcept nogil:
        """Add the units not begun that an ordered unit refers to. Return whether there are any."""
        cdef vector[uint32_t] below
        cdef size_t before = todo.size()
        cdef uint32_t k
        for k in self.nodes:
            if self.is_other(k, unit):
                self.add_other(self.other(k), todo)
        if self.ir.nodes[unit].kind == TEXT_EXCEPT or self.ir.nodes[unit].kind == DISPATCH:
            list_below(self.ir, unit, &below)
            for k in below:
                self.add_other(k, todo)
        return todo.size() > before

    cdef void add_other(self, uint32_t number, vector[uint32_t]* todo) noexcept nogil:
        if self.progress[number] == NOT_BEGUN:
            self.digests[number].high = self.digests[number].low = 0
            todo.push_back(number)

    cdef DigestC make(self, uint32_t unit) noexcept nogil:
        """Return the digest of an ordered unit; the units it refers to have theirs."""
        cdef DigestC none
        cdef uint32_t k
        none.high = none.low = 0
        self.begin(UNIT)
        for k in self.nodes:
            if not self.write_one(k, unit, True):
                return none
        return self.finish()

    cdef DigestC make_large(self, uint32_t unit) noexcept nogil:
        """Hash a large unit node by node, so that parts shared with other units are hashed once."""
        cdef DigestC none
        cdef uint32_t k
        none.high = none.low = 0
        for k in self.nodes:
            self.begin(INNER)
            self.inner[k] = self.finish() if self.write_one(k, unit, False) else none
            # as a unit a node is hashed by content, and here as a reference to another rule
            self.is_hashed[k] = not self.is_other(k, unit) and k != unit
        return self.inner[unit]

    cdef bint write_one(self, uint32_t number, uint32_t unit, bint at_once) noexcept nogil:
        """Write a node and its children's places or digests. False: a rule has no digest."""
        cdef uint32_t k
        if self.is_other(number, unit):
            self.write(OTHER_RULE)
            return self.write_digest(self.digests[self.other(number)])
        if not self.write_node(number):
            return False
        self.list_inner(number, unit, &self.below)
        self.write(<uint32_t>self.below.size())
        for k in self.below:
            if at_once:
                self.write(self.places[k])
            elif not self.write_digest(self.inner[k]):
                return False
        return True

    cdef bint write_node(self, uint32_t number) noexcept nogil:
        """Write a node without its children. False: a rule that it names has no digest."""
        cdef NodeC* node = &self.ir.nodes[number]
        cdef uint32_t k
        cdef RuleC* rule
        self.write(node.kind)
        if node.kind == DISPATCH:
            rule = &self.ir.rules[self.ir.rule_of_node[number]]
            self.write_patterns(number)
            self.write(rule.minimum)
            self.write(rule.maximum)
            self.write(rule.most_tokens)
        elif node.kind == REPEAT or node.kind == BOUNDED:
            self.write(node.b)
            self.write(node.c)
        elif node.kind == TOKENS or node.kind == TOKENS_EXCEPT:
            self.write_tokens(node.a)
        elif node.kind == GRAPH:
            self.write(node.a)
            self.write(node.n)
            for k in range(node.n // 3):
                self.write(self.ir.pool[node.off + 3 * k])
                self.write(self.ir.pool[node.off + 3 * k + 2])
            self.write_pool(node.b, node.c)
        elif node.kind == OBJECT:
            self.write_members(node)
        elif node.kind != SEQ and node.kind != ALT and node.kind != CAPTURE:
            if node.kind == TEXTS:
                self.write(node.a)
            self.write_pool(node.off, node.n)
        if node.kind == TEXT_EXCEPT or node.kind == DISPATCH:
            list_below(self.ir, number, &self.below)
            for k in self.below:
                if not self.write_digest(self.digests[k]):
                    return False
        return True

    cdef void write_members(self, NodeC* node) noexcept nogil:
        """Write an OBJECT without its nodes."""
        cdef uint32_t at = first_member(node), _k
        self.write(node.a)
        self.write(node.b)
        for _k in range(node.a):
            self.write(self.ir.pool[at + 1])
            self.write_pool(at + 3, self.ir.pool[at + 2])
            at += 3 + self.ir.pool[at + 2]

    cdef void write_patterns(self, uint32_t number) noexcept nogil:
        """Write a DISPATCH without its arms' rules."""
        cdef DispatchC* dispatch = dispatch_of(self.ir, number)
        cdef ArmC* arm = self.ir.arms.data() + dispatch.first
        cdef uint32_t _k
        self.write(dispatch.open_end | dispatch.anchored << 1)
        self.write(dispatch.n_arms)
        for _k in range(dispatch.n_arms):
            self.write_pool(arm.off, arm.n)
            self.write(arm.returns)
            self.write(self.ir.rules[arm.rule].productive)
            arm += 1
        self.write(dispatch.n_excludes)
        for _k in range(dispatch.n_excludes):
            self.write_pool(arm.off, arm.n)
            arm += 1
        if dispatch.specials != NO_RULE:
            self.write_tokens(dispatch.specials)

    cdef void write_tokens(self, uint32_t number) noexcept nogil:
        cdef TokenSetC* tokens = &self.ir.token_sets[number]
        self.write(tokens.n)
        self.write_all(tokens.bounds, tokens.n)

    cdef void begin(self, uint32_t kind) noexcept nogil:
        self.text.clear()
        self.write(VERSION)
        self.write(self.count_registers)
        self.write(kind)

    cdef void write(self, uint32_t value) noexcept nogil:
        put(&self.text, value)

    cdef void write_all(self, const uint32_t* values, uint32_t n) noexcept nogil:
        cdef uint32_t k
        for k in range(n):
            put(&self.text, values[k])

    cdef void write_pool(self, uint32_t off, uint32_t n) noexcept nogil:
        """Write a length and that many words, so that no two sequences are written alike."""
        self.write(n)
        self.write_all(self.ir.pool + off, n)

    cdef bint write_digest(self, DigestC digest) noexcept nogil:
        """Write a digest. False: it is none."""
        cdef const uint8_t* data = <const uint8_t*>&digest
        self.text.insert(self.text.end(), data, data + sizeof(DigestC))
        return not is_none(digest)

    cdef DigestC finish(self) noexcept nogil:
        cdef uint64_t out[2]
        cdef DigestC digest
        blake2b_digest(self.text.data(), self.text.size(), out)
        digest.high, digest.low = out[0], out[1]
        return digest


def blake2b(const unsigned char[:] data):
    """Return the hash of some bytes, 16 bytes; for tests."""
    cdef uint64_t out[2]
    cdef const uint8_t* text = &data[0] if data.shape[0] else NULL
    blake2b_digest(text, data.shape[0], out)
    return int(out[0]).to_bytes(8, "little") + int(out[1]).to_bytes(8, "little")
