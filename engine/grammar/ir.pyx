"""The IR: hash-consed nodes, their tuples for Python, and fragments that grammars share."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair

from ..native.hashing cimport hash_words
from ..native.pool cimport held_bytes, vector
from ..native.resources cimport spend, spent
from ..vocabulary.vocabulary cimport TokenSet

from collections import OrderedDict
from collections.abc import Sequence
from sys import getsizeof
from threading import Lock

from ..errors import InternalError, LimitExceeded
from ..limits import Limits
from ..native.single_flight import SingleFlight

Node = int
NodeTuple = tuple
Ranges = tuple
Pattern = tuple
Arm = tuple

#: every Unicode scalar value
ANY_CHAR = ((0, 0xD7FF), (0xE000, 0x10FFFF))
cdef uint32_t[4] ANY_CHAR_BOUNDS = [0, 0xD7FF, 0xE000, 0x10FFFF]

#: the largest value of a register; the next number stands for no bound
LARGEST_COUNT = 0xFFFFFFFE

#: No text has as many parts: an upper bound from here on is none.
cdef object COUNTLESS = 1 << 31

#: initial room; enough for small grammars
cdef size_t FIRST_NODES = 128

# operands that are copied and hashed in about a microsecond
cdef uint32_t WORDS_PER_STEP = 256

# parts of a list that are read in about a microsecond
cdef Py_ssize_t PARTS_PER_STEP = 32

# Limit on the characters of a grammar's rule names; those of a large schema take some hundred
# thousand. A name is a schema's JSON pointer and may be as long as the whole spec, so later names
# are empty.
cdef Py_ssize_t MAX_NAME_CHARS = 4 << 20
# memory of the location of a schema: an object of six words and a key
cdef size_t NAME_BYTES = 120

cdef dict ROLES = {"tag": ROLE_TAG, "begin": ROLE_BEGIN, "end": ROLE_END,
                   "text": ROLE_TEXT, "differs": ROLE_DIFFERS}
cdef dict ROLE_NAMES = {number: name for name, number in ROLES.items()}


cdef class Grammar:
    """Hash-consed nodes, rules, and the root rule. Front ends build it; all other rooms read it."""

    def __init__(self, limits=None, budget=None, fragments=None):
        """Create a grammar; without a ``budget`` and ``fragments`` it gets its own."""
        self.limits = limits or Limits()
        self.fragments = FragmentCache(self.limits.fragment_bytes) if fragments is None else fragments
        self.budget = WorkBudget(self.limits) if budget is None else budget
        self.most, self.most_operands = self.limits.ir_nodes, self.limits.ir_operands
        self.root = -1
        self.names, self.labels, self.sets = [], [""], []
        self.shared, self.label_ids, self.literal_rules = {}, {"": 0}, {}
        self.sealed = False
        self.mark = 0
        self.table.assign(FIRST_NODES * 2, 0)
        self.node_list.reserve(FIRST_NODES)
        self.hashes.reserve(FIRST_NODES)
        self.pool.reserve(FIRST_NODES * 8)
        self.rule_nodes.reserve(32)
        self.empty_node = self.intern(EMPTY, 0, 0, 0, 0)
        self.fail_node = self.intern(FAIL, 0, 0, 0, 0)

    # -- interning ---------------------------------------------------------------------------------
    cdef uint32_t intern(self, uint32_t kind, uint32_t a, uint32_t b, uint32_t c, uint32_t off) except? NO_NODE:
        cdef NodeC node
        cdef uint32_t head[5]
        cdef uint32_t words = <uint32_t>self.pool.size() - off
        cdef uint64_t h
        cdef size_t mask = self.table.size() - 1, at
        if self.sealed:
            raise InternalError("cannot add nodes to a sealed grammar")
        head[0], head[1], head[2], head[3], head[4] = kind, a, b, c, words
        h = hash_words(head, 5) ^ (hash_words(self.pool.data() + off, words) * 3)
        node.kind, node.a, node.b, node.c, node.off, node.n = kind, a, b, c, off, words
        if kind == GRAPH:
            # c final states follow the edges
            node.n = words - c
            node.b = off + node.n
        # hashing costs as much for a known node as for a new one
        spend(self.budget, words // WORDS_PER_STEP)
        at = h & mask
        while self.table[at]:
            if self.hashes[self.table[at] - 1] == h and self.same(&self.node_list[self.table[at] - 1], &node):
                self.pool.resize(off)
                return self.table[at] - 1
            at = (at + 1) & mask
        if self.node_list.size() >= self.most:
            raise LimitExceeded("ir_nodes", self.most, self.node_list.size() + 1)
        if self.pool.size() > self.most_operands:
            raise LimitExceeded("ir_operands", self.most_operands, self.pool.size())
        spend(self.budget, 1)
        self.node_list.push_back(node)
        self.hashes.push_back(h)
        self.table[at] = <uint32_t>self.node_list.size()
        if self.node_list.size() * 2 > self.table.size():
            self.grow()
        return <uint32_t>self.node_list.size() - 1

    cdef bint same(self, const NodeC* one, const NodeC* other) noexcept nogil:
        cdef uint32_t words = one.n
        if one.kind != other.kind or one.a != other.a or one.c != other.c or one.n != other.n:
            return False
        if one.kind == GRAPH:
            words += one.c
        elif one.b != other.b:
            return False
        return words == 0 or memcmp(&self.pool[one.off], &self.pool[other.off], 4 * words) == 0

    cdef int grow(self) except -1:
        cdef size_t mask = 2 * self.table.size() - 1, at, k
        self.table.assign(mask + 1, 0)
        for k in range(self.node_list.size()):
            at = self.hashes[k] & mask
            while self.table[at]:
                at = (at + 1) & mask
            self.table[at] = <uint32_t>k + 1
        return 0

    # -- native interface --------------------------------------------------------------------------
    cdef uint32_t kind_of(self, uint32_t node) noexcept nogil:
        return self.node_list[node].kind

    cdef uint32_t add_bytes(self, const unsigned char* data, size_t n) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef size_t k
        if n == 0:
            return self.empty_node
        for k in range(n):
            self.pool.push_back(data[k])
        return self.intern(BYTES, 0, 0, 0, off)

    cdef uint32_t add_text(self, str text) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef Py_UCS4 c
        if not text:
            return self.empty_node
        for c in text:
            self.pool.push_back(c)
        return self.intern(TEXT, 0, 0, 0, off)

    cdef uint32_t add_seq(self, const uint32_t* parts, size_t n) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size(), one
        cdef size_t k, j
        cdef NodeC node
        for k in range(n):
            node = self.node_list[parts[k]]
            if node.kind == FAIL:
                self.pool.resize(off)
                return self.fail_node
            if node.kind == SEQ:
                for j in range(node.n):
                    self.pool.push_back(self.pool[node.off + j])
            elif node.kind != EMPTY:
                self.pool.push_back(parts[k])
        if self.pool.size() - off < 2:
            one = self.empty_node if self.pool.size() == off else self.pool[off]
            self.pool.resize(off)
            return one
        return self.intern(SEQ, 0, 0, 0, off)

    cdef uint32_t add_alt(self, const uint32_t* parts, size_t n) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size(), one
        cdef size_t k, j
        cdef NodeC node
        self.marks.resize(self.node_list.size(), 0)
        self.mark += 1
        for k in range(n):
            node = self.node_list[parts[k]]
            if node.kind == ALT:
                for j in range(node.n):
                    one = self.pool[node.off + j]
                    if self.marks[one] != self.mark:
                        self.marks[one] = self.mark
                        self.pool.push_back(one)
            elif node.kind != FAIL and self.marks[parts[k]] != self.mark:
                self.marks[parts[k]] = self.mark
                self.pool.push_back(parts[k])
        if self.pool.size() - off < 2:
            one = self.fail_node if self.pool.size() == off else self.pool[off]
            self.pool.resize(off)
            return one
        return self.intern(ALT, 0, 0, 0, off)

    cdef uint32_t add_set(self, uint32_t kind, const uint32_t* bounds, size_t n) except? NO_NODE:
        """Add a class of characters out of n ranges, given as 2n bounds."""
        cdef uint32_t off = <uint32_t>self.pool.size()
        if n == 0:
            return self.fail_node
        self.pool.insert(self.pool.end(), bounds, bounds + 2 * n)
        return self.intern(kind, 0, 0, 0, off)

    cdef uint32_t add_repeat(self, uint32_t node, uint32_t minimum, uint32_t maximum) except? NO_NODE:
        """Add a repetition; a ``maximum`` of NO_MAXIMUM is no upper bound.

        Nested repetitions that are one repetition become one: their rows would have an item for
        each way to divide the text.
        """
        cdef NodeC body = self.node_list[node]
        cdef uint32_t kind = body.kind, other
        cdef tuple counts
        if maximum < minimum:
            return self.fail_node
        if kind == FAIL:
            return self.fail_node if minimum else self.empty_node
        if kind == EMPTY or maximum == 0:
            return self.empty_node
        if minimum == 1 and maximum == 1:
            return node
        if kind == ALT:
            other = self.without_empty(node)
            if other != node:
                return self.add_repeat(other, 0, maximum)
        if kind == REPEAT:
            counts = product_of_counts(body.b, as_bound(body.c), minimum, as_bound(maximum))
            if counts is not None:
                return self.add_repeat(body.a, counts[0], NO_MAXIMUM if counts[1] is None else counts[1])
        return self.intern(REPEAT, node, minimum, maximum, <uint32_t>self.pool.size())

    cdef uint32_t without_empty(self, uint32_t node) except? NO_NODE:
        """Return an ALT without the empty text among its alternatives."""
        cdef NodeC choice = self.node_list[node]
        cdef vector[uint32_t] parts
        cdef uint32_t k
        for k in range(choice.n):
            if self.pool[choice.off + k] != self.empty_node:
                parts.push_back(self.pool[choice.off + k])
        return node if parts.size() == choice.n else self.add_alt(parts.data(), parts.size())

    cdef uint32_t add_graph(
        self, uint32_t states, const uint32_t* edges, size_t n_edges, const uint32_t* finals, size_t n_finals
    ) except? NO_NODE:
        """Add a graph; edges are given as triples, final states ascending and once each."""
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef size_t k
        cdef size_t first = 0
        for k in range(n_edges):
            if self.node_list[edges[3 * k + 1]].kind == FAIL:
                self.pool.insert(self.pool.end(), edges + 3 * first, edges + 3 * k)
                first = k + 1
        self.pool.insert(self.pool.end(), edges + 3 * first, edges + 3 * n_edges)
        self.pool.insert(self.pool.end(), finals, finals + n_finals)
        return self.intern(GRAPH, states, 0, <uint32_t>n_finals, off)

    cdef uint32_t add_object(
        self, list names, const uint32_t* nodes, const uint8_t* required, uint32_t extra, uint32_t space,
        const uint32_t* layout, uint32_t flags
    ) except? NO_NODE:
        """Add an object; names are unique. ``flags``, and ``layout`` with LAID_OUT, as in lowered.
        """
        cdef vector[uint32_t] words
        cdef uint32_t n = 0, off
        cdef size_t k
        cdef Py_UCS4 c
        cdef str name
        words.reserve(2 + 12 * <size_t>len(names))
        words.push_back(space)
        words.push_back(self.referred(extra))
        if flags & LAID_OUT:
            for k in range(LAYOUT_PARTS):
                words.push_back(layout[k] if layout[k] == self.empty_node else self.referred(layout[k]))
        for k in range(<size_t>len(names)):
            if nodes[k] == self.fail_node:
                if required[k]:
                    return self.fail_node
                continue
            name = <str>names[k]
            words.push_back(self.referred(nodes[k]))
            words.push_back(required[k])
            words.push_back(<uint32_t>len(name))
            for c in name:
                words.push_back(c)
            n += 1
        if not n and extra == self.fail_node and not flags & MAY_BE_EMPTY:
            return self.fail_node
        off = <uint32_t>self.pool.size()
        self.pool.insert(self.pool.end(), words.begin(), words.end())
        return self.intern(OBJECT, n, flags, 0, off)

    cdef uint32_t push_texts(self, list texts):
        """Append texts as operands, each with its length; return their offset."""
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef str text
        cdef Py_UCS4 c
        for text in texts:
            self.pool.push_back(<uint32_t>len(text))
            for c in text:
                self.pool.push_back(c)
        return off

    cdef uint32_t add_texts(self, list texts) except? NO_NODE:
        """Add any of some unique texts; texts with lone surrogates have no spelling."""
        texts = [text for text in texts if is_spelled(text)]
        if not texts:
            return self.fail_node
        if len(texts) == 1:
            return self.add_text(<str>texts[0])
        return self.intern(TEXTS, 0, 0, 0, self.push_texts(texts))

    cdef uint32_t add_spelled(self, list texts) except? NO_NODE:
        """Add any of some unique texts, as they are written."""
        cdef bytes data
        if len(texts) > 1:
            return self.intern(TEXTS, 1, 0, 0, self.push_texts(texts))
        data = (<str>texts[0]).encode()
        return self.add_bytes(data, len(data))

    cdef uint32_t add_bounded(self, uint32_t node, uint32_t minimum, uint32_t maximum) except? NO_NODE:
        """Add a bounded graph; a ``maximum`` of NO_MAXIMUM is no upper bound."""
        if self.node_list[node].kind != GRAPH:
            raise InternalError("add_bounded needs a graph")
        if minimum == 0 and maximum == NO_MAXIMUM:
            return node
        return self.intern(BOUNDED, node, minimum, maximum, <uint32_t>self.pool.size())

    cdef uint32_t referred(self, uint32_t node) except? NO_NODE:
        """Return a reference to the node's rule, which is made on first use; FAIL stays FAIL."""
        if self.node_list[node].kind in (REF, FAIL):
            return node
        if node not in self.literal_rules:
            self.literal_rules[node] = self.add_ref(self.new_rule("value", node))
        return self.literal_rules[node]

    cdef uint32_t add_ref(self, uint32_t rule) except? NO_NODE:
        return self.intern(REF, rule, 0, 0, <uint32_t>self.pool.size())

    cdef uint32_t add_text_except(self, uint32_t rule, texts) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef NodeC body = self.node_list[self.rule_nodes[rule]], chars
        if body.kind == REPEAT:
            chars = self.node_list[body.a]
        if (body.kind != REPEAT or body.b != 0 or body.c != NO_MAXIMUM or chars.kind != JSON_CHARS
                or chars.n != 4 or memcmp(&self.pool[chars.off], ANY_CHAR_BOUNDS, sizeof(ANY_CHAR_BOUNDS))):
            raise InternalError("text_except needs the rule of any string's inside")
        self.push_texts(sorted(set(texts)))
        return self.intern(TEXT_EXCEPT, rule, 0, 0, off)

    cdef uint32_t add_capture(self, str label, uint32_t role, uint32_t node) except? NO_NODE:
        number = self.label_ids.get(label)
        if number is None:
            number = self.label_ids[label] = len(self.labels)
            self.labels.append(label)
        return self.intern(CAPTURE, node, number, role, <uint32_t>self.pool.size())

    cdef uint32_t add_token_set(self, TokenSet ids) except? NO_NODE:
        """Return the number of a token set; NO_SET if it is empty."""
        cdef uint32_t k
        if ids is None or ids.ids.size() == 0:
            return NO_SET
        for k in range(<uint32_t>len(self.sets)):
            if ids is self.sets[k] or ids.ids == (<TokenSet>self.sets[k]).ids:
                return k
        self.sets.append(ids)
        return <uint32_t>len(self.sets) - 1

    cdef uint32_t add_dispatch(
        self, uint32_t n_arms, vector[uint32_t]* operands, TokenSet specials, bint open_end,
        uint32_t min_chars, uint32_t max_chars, uint32_t max_tokens
    ) except? NO_NODE:
        cdef uint32_t number = self.add_token_set(specials), off = <uint32_t>self.pool.size()
        if (min_chars or max_chars != NO_MAXIMUM) and (n_arms or number != NO_SET or not open_end):
            raise InternalError("only plain text with an open end can count characters")
        if max_tokens != NO_MAXIMUM and (n_arms or min_chars or not open_end):
            raise InternalError("max_tokens needs text without arms and without a minimum, with an open end")
        if max_chars < min_chars:
            return self.fail_node
        if max_chars == 0 or max_tokens == 0:
            return self.empty_node
        if max_tokens != NO_MAXIMUM and max_chars != NO_MAXIMUM:
            # one register holds both counts
            as_count(int(max_tokens) * (int(max_chars) + 1) + max_chars)
        self.pool.push_back(open_end)
        self.pool.push_back(min_chars)
        self.pool.push_back(max_chars)
        self.pool.push_back(max_tokens)
        self.pool.insert(self.pool.end(), operands.begin(), operands.end())
        return self.intern(DISPATCH, number, n_arms, 0, off)

    cdef uint32_t add_anchored(self, uint32_t n_arms, vector[uint32_t]* operands) except? NO_NODE:
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef uint32_t[4] head = [False, 0, NO_MAXIMUM, NO_MAXIMUM]
        self.pool.insert(self.pool.end(), &head[0], &head[0] + 4)
        self.pool.insert(self.pool.end(), operands.begin(), operands.end())
        return self.intern(DISPATCH, NO_SET, n_arms, ANCHORED, off)

    cdef uint32_t new_rule(self, name, uint32_t node) except? NO_NODE:
        self.names.append(name)
        self.rule_nodes.push_back(node)
        return <uint32_t>self.rule_nodes.size() - 1

    cdef int set_rule(self, uint32_t rule, uint32_t node) except -1:
        if self.rule_nodes[rule] != NO_NODE:
            raise InternalError(f"rule {self.rule_names[rule]!r} is defined twice")
        self.rule_nodes[rule] = node
        return 0

    # -- leaves ------------------------------------------------------------------------------------
    def empty(self):
        return self.empty_node

    def fail(self):
        return self.fail_node

    def bytes(self, const unsigned char[:] data):
        return self.add_bytes(&data[0] if data.shape[0] else NULL, data.shape[0])

    def text(self, str text):
        """Add ``text`` inside a JSON string, in any spelling, without quotes."""
        return self.add_text(text)

    def chars(self, ranges):
        return self._set(CHARS, ranges)

    def json_chars(self, ranges):
        return self._set(JSON_CHARS, ranges)

    def _set(self, uint32_t kind, ranges):
        cdef vector[uint32_t] bounds
        for low, high in ranges:
            bounds.push_back(low)
            bounds.push_back(high)
        return self.add_set(kind, bounds.data(), bounds.size() // 2)

    def text_except(self, uint32_t rule, texts):
        """Add the inside of any string except these texts; ``rule`` must be that of any string's
        inside.
        """
        return self.add_text_except(rule, texts)

    def texts(self, texts):
        """Add any of some texts inside a JSON string, in any spelling."""
        return self.add_texts(sorted(set(texts)))

    def object(self, members, *, uint32_t extra, uint32_t space, bint may_be_empty, bint extra_last=False,
               bint any_order=False):
        """Add a JSON object (see ir.pxd). Members are (name, node, whether it is required)."""
        cdef vector[uint32_t] nodes
        cdef vector[uint8_t] required
        cdef list names = []
        for name, node, is_required in members:
            if name in names or any("\ud800" <= c <= "\udfff" for c in name):
                raise InternalError(f"the name {name!r} is invalid or repeated")
            names.append(name)
            nodes.push_back(node)
            required.push_back(<bint>is_required)
        flags = (MAY_BE_EMPTY if may_be_empty else 0) | (EXTRA_LAST if extra_last else 0)
        flags |= ANY_ORDER if any_order else 0
        return self.add_object(names, nodes.data(), required.data(), extra, space, NULL, flags)

    def tokens(self, ids):
        """Add one of these tokens."""
        return self.token_ranges([(number, number) for number in ids])

    def token_ranges(self, ranges):
        """Add one of the tokens in these ranges (low, high) of ids, in any order."""
        cdef uint32_t off = self._push_ranges(ranges)
        return self.fail_node if self.pool.size() == off else self.intern(TOKENS, 0, 0, 0, off)

    def tokens_except(self, ranges):
        """Add one token in none of these ranges of ids; the caller guarantees that there is one."""
        return self.intern(TOKENS_EXCEPT, 0, 0, 0, self._push_ranges(ranges))

    def _push_ranges(self, ranges):
        """Append ranges of ids to the pool, sorted and merged; return their offset."""
        cdef uint32_t off = <uint32_t>self.pool.size()
        cdef vector[pair[uint32_t, uint32_t]] pairs
        cdef pair[uint32_t, uint32_t] each
        for each.first, each.second in ranges:
            spend(self.budget, 1)
            pairs.push_back(each)
        push_ranges(&pairs, &self.pool)
        return off

    # -- composition -------------------------------------------------------------------------------
    def seq(self, *parts):
        cdef vector[uint32_t] all_parts
        for part in parts:
            all_parts.push_back(part)
        return self.add_seq(all_parts.data(), all_parts.size())

    def alt(self, *parts):
        cdef vector[uint32_t] all_parts
        for part in parts:
            all_parts.push_back(part)
        return self.add_alt(all_parts.data(), all_parts.size())

    def choice(self, ways):
        """Add alternatives, each given as a list of the parts of a sequence."""
        cdef vector[uint32_t] nodes, parts
        for way in ways:
            spend(self.budget, 1 + len(way) // PARTS_PER_STEP)
            parts.clear()
            for part in way:
                parts.push_back(part)
            nodes.push_back(self.add_seq(parts.data(), parts.size()))
        return self.add_alt(nodes.data(), nodes.size())

    def repeat(self, uint32_t node, minimum, maximum):
        """Add ``node`` from ``minimum`` to ``maximum`` times; ``None`` is no upper bound.

        Raises:
            LimitExceeded: a bound does not fit into a register.
        """
        return self.add_repeat(node, as_count(minimum), as_count(maximum))

    def bounded(self, uint32_t node, minimum, maximum):
        """Add the words of a graph of characters with so many characters (see ir.pxd).

        Raises:
            LimitExceeded: a bound does not fit into a register.
        """
        return self.add_bounded(node, as_count(minimum), as_count(maximum))

    def optional(self, node):
        return self.alt(self.empty_node, node)

    def graph(self, uint32_t states, edges, finals):
        cdef vector[uint32_t] triples, ends
        for source, node, target in edges:
            triples.push_back(source)
            triples.push_back(node)
            triples.push_back(target)
        for state in sorted(set(finals)):
            ends.push_back(state)
        return self.add_graph(states, triples.data(), triples.size() // 3, ends.data(), ends.size())

    def dispatch(self, arms, *, excludes=(), specials=(), open_end, min_chars=0, max_chars=None, max_tokens=None):
        """Add free text with triggers (see ir.pxd).

        Raises:
            LimitExceeded: the bounds do not fit into a register.
        """
        cdef vector[uint32_t] operands
        cdef uint32_t n_arms = 0
        for pattern, node, returns in arms:
            operands.push_back(node)
            operands.push_back(bool(returns))
            push_pattern(&operands, pattern)
            n_arms += 1
        for pattern in excludes:
            push_pattern(&operands, pattern)
        ids = specials if isinstance(specials, TokenSet) else TokenSet(specials)
        return self.add_dispatch(
            n_arms, &operands, ids, open_end, as_count(min_chars), as_count(max_chars), as_count(max_tokens))

    def anchored(self, arms):
        """Add a choice of patterns, each followed by its node (see ir.pxd)."""
        cdef vector[uint32_t] operands
        for pattern, node in arms:
            operands.push_back(node)
            operands.push_back(False)
            push_pattern(&operands, pattern)
        return self.add_anchored(<uint32_t>len(arms), &operands)

    def capture(self, str label, str role, uint32_t node):
        return self.add_capture(label, ROLES[role], node)

    # -- questions ---------------------------------------------------------------------------------
    def kind(self, uint32_t node):
        """Return the kind of a node, one of the constants of this module."""
        return self.node_list[node].kind

    def is_fail(self, uint32_t node):
        """Return whether the node is FAIL."""
        return node == self.fail_node

    def tokens_within(self, ids):
        """Return the TOKENS nodes whose ids are all among these."""
        cdef uint32_t k
        cdef NodeC node
        numbers = []
        for k in range(<uint32_t>self.node_list.size()):
            node = self.node_list[k]
            if node.kind == TOKENS and self._are_within(&node, ids):
                numbers.append(k)
        return numbers

    cdef bint _are_within(self, const NodeC* node, ids) except -1:
        """Return whether all tokens of a TOKENS node are among these."""
        cdef uint32_t k, number
        cdef uint64_t count = 0
        for k in range(0, node.n, 2):
            count += self.pool[node.off + k + 1] - self.pool[node.off + k] + 1
        if count > <uint64_t>len(ids):
            return False
        for k in range(0, node.n, 2):
            for number in range(self.pool[node.off + k], self.pool[node.off + k + 1] + 1):
                if number not in ids:
                    return False
        return True

    @property
    def nodes(self):
        """All nodes as tuples, created on access."""
        return Nodes(self)

    @property
    def rule_names(self):
        """The name of each rule, for people; empty after the first MAX_NAME_CHARS characters."""
        cdef Py_ssize_t left = MAX_NAME_CHARS
        cdef list names = []
        for name in self.names:
            text = str(name) if left > 0 else ""
            left -= len(text)
            names.append(text)
        return names

    @property
    def rules(self):
        """A copy: the node of each rule, -1 if it is not defined."""
        return [-1 if node == NO_NODE else node for node in self.rule_nodes]

    # -- rules -------------------------------------------------------------------------------------
    def declare(self, str name):
        """Add a rule without a body; ``name`` is for people only."""
        return self.new_rule(name, NO_NODE)

    def define(self, uint32_t rule, uint32_t node):
        self.set_rule(rule, node)

    def rule(self, str name, uint32_t node):
        return self.new_rule(name, node)

    def ref(self, uint32_t rule):
        return self.add_ref(rule)

    def check(self):
        """Check I4. The compiler calls this once, after the front end; it drops the front end's
        data, which would otherwise form a reference cycle.
        """
        cdef uint32_t k
        self.shared.clear()
        for k in range(<uint32_t>self.rule_nodes.size()):
            if self.rule_nodes[k] == NO_NODE:
                raise InternalError(f"rule {self.rule_names[k]!r} was never defined")
        if not 0 <= self.root < self.rule_nodes.size():
            raise InternalError("the grammar has no root rule")

    cdef int seal(self) except -1:
        """Check I4, make the grammar read-only (I5), and free the data for adding nodes."""
        if self.sealed:
            return 0
        self.check()
        self.sealed = True
        vector[uint64_t]().swap(self.hashes)
        vector[uint32_t]().swap(self.table)
        vector[uint32_t]().swap(self.marks)
        self.node_list.shrink_to_fit()
        self.pool.shrink_to_fit()
        self.label_ids, self.literal_rules, self.shared = {}, {}, {}
        return 0

    cdef size_t bytes_held(self):
        """Return the bytes held, once the grammar is sealed."""
        cdef size_t size = (
            held_bytes(self.node_list) + held_bytes(self.pool) + held_bytes(self.rule_nodes)
            + NAME_BYTES * <size_t>len(self.names))
        for label in self.labels:
            size += 8 + getsizeof(label)
        for ids in self.sets:
            size += 4 * <size_t>len(ids)
        return size


cdef void push_ranges(vector[pair[uint32_t, uint32_t]]* ranges, vector[uint32_t]* out) noexcept nogil:
    cdef pair[uint32_t, uint32_t] each
    cdef size_t first = out.size()
    sort(ranges.begin(), ranges.end())
    for each in ranges[0]:
        if out.size() > first and each.first <= out.back() + <uint64_t>1:
            out[0][out.size() - 1] = max(out.back(), each.second)
        else:
            out.push_back(each.first)
            out.push_back(each.second)


cdef int push_pattern(vector[uint32_t]* out, pattern) except -1:
    cdef Py_ssize_t k
    cdef const unsigned char* data
    if type(pattern) is bytes:
        data = pattern
        out.push_back(<uint32_t>len(<bytes>pattern))
        for k in range(len(<bytes>pattern)):
            out.push_back(data[k])
        return 0
    out.push_back(<uint32_t>len(pattern))
    for letter in pattern:
        out.push_back(letter)
    return 0


cdef bint is_spelled(str text):
    cdef Py_UCS4 c
    for c in text:
        if 0xD800 <= c <= 0xDFFF:
            return False
    return True


cdef object as_bound(uint32_t maximum):
    return None if maximum == NO_MAXIMUM else maximum


cdef tuple product_of_counts(least, most, minimum, maximum):
    """Return the bounds of ``least`` to ``most`` parts, repeated ``minimum`` to ``maximum`` times. A
    bound of None is none.

    None: nested counts miss a number between the extremes. n times a..b must touch n + 1 times
    a..b. A single count is unambiguous, nested ones are not.
    """
    if minimum * least >= COUNTLESS:
        return None
    if minimum == maximum or most is None:
        if minimum == 0 and least > 1:
            return None
    elif minimum * (most - least) + 1 < least:
        return None
    if maximum is None or most is None or most * maximum >= COUNTLESS:
        return minimum * least, None
    return minimum * least, most * maximum


cdef uint32_t as_count(object count) except? NO_MAXIMUM:
    """Return a count, which must fit into a register; NO_MAXIMUM for None.

    Raises:
        LimitExceeded: repetitions.
    """
    if count is None:
        return NO_MAXIMUM
    if count > LARGEST_COUNT:
        raise LimitExceeded("repetitions", LARGEST_COUNT, count)
    return count


class Nodes(Sequence):
    """A grammar's nodes as tuples."""

    def __init__(self, Grammar grammar):
        self.grammar = grammar

    def __eq__(self, other):
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None

    def __len__(self):
        return (<Grammar>self.grammar).node_list.size()

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"node {index} of {len(self)}")
        return as_tuple(self.grammar, index % len(self))


cdef tuple as_tuple(Grammar grammar, uint32_t number):
    cdef NodeC node = grammar.node_list[number]
    cdef uint32_t kind = node.kind, k
    words = [grammar.pool[node.off + k] for k in range(node.n)]
    if kind == BYTES:
        return kind, bytes(words)
    if kind == TEXT:
        return kind, "".join(map(chr, words))
    if kind in (CHARS, JSON_CHARS, TOKENS, TOKENS_EXCEPT):
        return kind, tuple(zip(words[::2], words[1::2]))
    if kind == SEQ or kind == ALT:
        return kind, tuple(words)
    if kind == REPEAT or kind == BOUNDED:
        return kind, node.a, node.b, -1 if node.c == NO_MAXIMUM else node.c
    if kind == REF:
        return kind, node.a
    if kind == GRAPH:
        finals = tuple([grammar.pool[node.b + k] for k in range(node.c)])
        return kind, node.a, tuple(zip(words[::3], words[1::3], words[2::3])), finals
    if kind == DISPATCH:
        return dispatch_tuple(grammar, &node, words)
    if kind == CAPTURE:
        return kind, grammar.labels[node.b], ROLE_NAMES[node.c], node.a
    if kind == TEXT_EXCEPT:
        return kind, node.a, split_texts(words)
    if kind == TEXTS:
        return kind, split_texts(words), bool(node.a)
    if kind == OBJECT:
        first = first_member(&node) - node.off
        return (kind, split_members(words[first:]), words[1], words[0],
                bool(node.b & MAY_BE_EMPTY), bool(node.b & EXTRA_LAST),
                bool(node.b & ANY_ORDER),
                bool(node.b & SPELLED), tuple(words[2:first]), bool(node.b & BARE))
    return (kind,)


cdef tuple dispatch_tuple(Grammar grammar, const NodeC* node, list words):
    arms, excludes, at = [], [], 4
    while at < len(words):
        if len(arms) < node.b:
            letters = words[at + 3:at + 3 + words[at + 2]]
            arms.append((tuple(letters), words[at], bool(words[at + 1])))
            at += 3 + len(letters)
        else:
            excludes.append(tuple(words[at + 1:at + 1 + words[at]]))
            at += 1 + words[at]
    specials = () if node.a == NO_SET else tuple(grammar.sets[node.a])
    bounds = [-1 if count == NO_MAXIMUM else count for count in words[2:4]]
    return (DISPATCH, tuple(arms), tuple(excludes), specials, bool(words[0]), words[1], *bounds,
            node.c == ANCHORED)


cdef tuple split_texts(list words):
    """Return the texts encoded by their lengths and code points."""
    texts, at = [], 0
    while at < len(words):
        texts.append("".join(map(chr, words[at + 1:at + 1 + words[at]])))
        at += 1 + words[at]
    return tuple(texts)


cdef tuple split_members(list words):
    members, at = [], 0
    while at < len(words):
        n = words[at + 2]
        members.append(("".join(map(chr, words[at + 3:at + 3 + n])), words[at], bool(words[at + 1])))
        at += 3 + n
    return tuple(members)


def children(node):
    """Return the ids of a node's direct children, without REF."""
    kind = node[0]
    if kind in (SEQ, ALT):
        return tuple(node[1])
    if kind in (REPEAT, BOUNDED):
        return (node[1],)
    if kind == GRAPH:
        return tuple([edge[1] for edge in node[2]])
    if kind == DISPATCH:
        return tuple([arm[1] for arm in node[1]])
    if kind == CAPTURE:
        return (node[3],)
    if kind == OBJECT:
        return (*[member[1] for member in node[1]], node[2], node[3], *node[8])
    return ()


# -- fragments -------------------------------------------------------------------------------------

# size of a key and its entry without their strings
cdef Py_ssize_t KEY_WORDS = 100


cdef IrFragment fragment_of(Grammar grammar, uint32_t node):
    """Copy the nodes below a root."""
    cdef IrFragment fragment = IrFragment.__new__(IrFragment)
    cdef vector[uint32_t] numbers
    cdef uint32_t k
    numbers.assign(node + 1, NO_NODE)
    mark_below(grammar, node, &numbers)
    # children have smaller numbers than their parents
    for k in range(node + 1):
        if numbers[k] != NO_NODE:
            numbers[k] = <uint32_t>fragment.nodes.size()
            fragment.take(grammar, k, &numbers)
    return fragment


cdef void mark_below(Grammar grammar, uint32_t node, vector[uint32_t]* numbers) noexcept nogil:
    cdef vector[uint32_t] todo
    cdef NodeC at
    cdef uint32_t k, child, step
    todo.push_back(node)
    numbers[0][node] = 0
    while todo.size():
        at = grammar.node_list[todo.back()]
        todo.pop_back()
        if at.kind == REPEAT or at.kind == BOUNDED:
            if numbers[0][at.a] == NO_NODE:
                numbers[0][at.a] = 0
                todo.push_back(at.a)
        elif at.kind == SEQ or at.kind == ALT or at.kind == GRAPH:
            k, step = (1, 3) if at.kind == GRAPH else (0, 1)
            while k < at.n:
                child = grammar.pool[at.off + k]
                if numbers[0][child] == NO_NODE:
                    numbers[0][child] = 0
                    todo.push_back(child)
                k += step


cdef class IrFragment:
    cdef int take(self, Grammar grammar, uint32_t number, vector[uint32_t]* numbers) except -1:
        """Append a node; its children are present, under the given numbers."""
        cdef NodeC node = grammar.node_list[number], made = node
        cdef uint32_t k, step = child_step(node.kind)
        made.off = <uint32_t>self.pool.size()
        if node.kind == REPEAT or node.kind == BOUNDED:
            made.a = numbers[0][node.a]
        # the final states of a graph follow its edges
        for k in range(node.n + (node.c if node.kind == GRAPH else 0)):
            self.pool.push_back(grammar.pool[node.off + k])
        if node.kind == GRAPH:
            made.b = made.off + node.n
        elif node.kind not in (EMPTY, FAIL, BYTES, TEXT, CHARS, JSON_CHARS, SEQ, ALT, REPEAT, BOUNDED):
            raise InternalError(f"a fragment must not contain a node of kind {node.kind}")
        k = step >> 1
        while step and k < node.n:
            self.pool[made.off + k] = numbers[0][self.pool[made.off + k]]
            k += step
        self.nodes.push_back(made)
        return 0

    cdef uint32_t put_into(self, Grammar grammar) except? 0xFFFFFFFF:
        cdef vector[uint32_t] numbers
        cdef NodeC* node
        cdef uint32_t* words
        cdef uint32_t j, k, step, off, a, n
        spend(grammar.budget, self.pool.size() // WORDS_PER_STEP)
        numbers.resize(self.nodes.size())
        for j in range(<uint32_t>self.nodes.size()):
            # each node finds its own equal node, so composed nodes need not be composed again
            node = &self.nodes[j]
            off, a, step = <uint32_t>grammar.pool.size(), node.a, child_step(node.kind)
            # the final states of a graph follow its edges
            n = node.n + (node.c if node.kind == GRAPH else 0)
            if n:
                words = &self.pool[node.off]
                grammar.pool.insert(grammar.pool.end(), words, words + n)
                words = &grammar.pool[off]
                k = step >> 1
                while step and k < node.n:
                    words[k] = numbers[words[k]]
                    k += step
            if node.kind == REPEAT or node.kind == BOUNDED:
                a = numbers[node.a]
            numbers[j] = grammar.intern(node.kind, a, 0 if node.kind == GRAPH else node.b, node.c, off)
        return numbers.back()

    cdef bint is_nothing(self) noexcept:
        return self.nodes.size() == 0

    cdef Py_ssize_t words(self):
        """Return the approximate size in words."""
        return 6 * self.nodes.size() + self.pool.size() + self.key_words


cdef inline uint32_t child_step(uint32_t kind) noexcept nogil:
    """Return which operands are children: all (1), every third from the second on (3), none (0)."""
    return 3 if kind == GRAPH else 1 if kind == SEQ or kind == ALT else 0


cdef class FragmentBuilder:
    cdef Grammar new_grammar(self):
        return Grammar(self.grammar.limits, self.grammar.budget, self.grammar.fragments)

    cdef list places(self):
        return []

    cdef IrFragment make(self):
        raise NotImplementedError

    cdef IrFragment run(self):
        cdef int64_t begun = spent(self.grammar.budget)
        cdef IrFragment fragment
        try:
            fragment = self.make()
        except LimitExceeded as error:
            if error.pointer or error.limit != "rule_edges":
                raise
            place = next(iter(self.places()), "")
            raise LimitExceeded(error.limit, error.maximum, error.got, place) from None
        # a builder may leave out a part that is too large, but not for lack of budget
        spend(self.grammar.budget, 0)
        fragment.steps = spent(self.grammar.budget) - begun
        return fragment


cdef class FragmentCache:
    def __init__(self, Py_ssize_t max_bytes, *, bint is_of_attempts=False):
        """Create a cache of at most ``max_bytes``."""
        self.is_of_attempts, self.refused = is_of_attempts, {}
        self.known, self.guard, self.held, self.most = OrderedDict(), Lock(), 0, max_bytes // 4
        self.hits = self.misses = 0
        self.calls = SingleFlight()

    cdef IrFragment recall(self, tuple key):
        with self.guard:
            fragment = self.known.get(key)
            if fragment is not None:
                self.known.move_to_end(key)
                self.hits += 1
            return fragment

    def stats(self):
        """Return counts of fragments, bytes, hits and misses."""
        with self.guard:
            return {"fragments": len(self.known), "bytes": 4 * self.held, "hits": self.hits, "misses": self.misses}

    cdef IrFragment get(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder):
        cdef IrFragment fragment = self.recall(key)
        cdef int64_t begun = spent(grammar.budget)
        if fragment is None:
            self.refuse_again(grammar, key, fragment_builder)
            fragment = self.make(grammar, key, fragment_builder)
        elif self.is_of_attempts:
            spend(grammar.budget, 1)
            return fragment
        spend(grammar.budget, max(0, fragment.steps - (spent(grammar.budget) - begun)))
        return fragment

    cdef int refuse_again(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder) except -1:
        known = self.refused.get(key)
        if known is None:
            return 0
        spend(grammar.budget, 1)
        limit, maximum, got, number = known
        raise LimitExceeded(limit, maximum, got, fragment_builder.places()[number])

    cdef int note_refusal(self, tuple key, FragmentBuilder fragment_builder, error) except -1:
        cdef list places = fragment_builder.places()
        if self.is_of_attempts and error.limit != "compile_steps" and error.pointer in places:
            self.refused[key] = error.limit, error.maximum, error.got, places.index(error.pointer)
        return 0

    cdef IrFragment make(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder):
        cdef IrFragment fragment = None
        fragment_builder.grammar = grammar
        mine, is_made = self.calls.begin(key, grammar.budget.check), False
        try:
            fragment = self.recall(key)
            if fragment is None:
                fragment = fragment_builder.run()
                self.keep(key, fragment)
            is_made = True
        except LimitExceeded as error:
            self.note_refusal(key, fragment_builder, error)
            raise
        finally:
            self.calls.end(key, mine, is_made=is_made)
        return fragment

    cdef int keep(self, tuple key, IrFragment fragment) except -1:
        """Cache a fragment, unless it is too large by itself."""
        fragment.key_words = KEY_WORDS + chars_of(key)
        if fragment.words() * 8 > self.most:
            return 0
        with self.guard:
            self.misses += 1
            if key not in self.known:
                self.known[key] = fragment
                self.held += fragment.words()
            while self.held > self.most:
                self.held -= (<IrFragment>self.known.popitem(last=False)[1]).words()
        return 0


cdef Py_ssize_t chars_of(tuple key) except -1:
    """Return the characters of the strings in a key."""
    cdef Py_ssize_t n = 0
    for each in key:
        if type(each) is tuple:
            n += chars_of(each)
        elif type(each) is str:
            n += len(each)
    return n
