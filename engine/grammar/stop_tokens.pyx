"""Check that stop tokens stand only where the text may end.

A node *may be last* if, somewhere it is used, only nullable nodes follow. A node that matches only
stop tokens and is never last makes the grammar a dead end, which is refused; so does a part of a
sequence whose words all end with a stop token, if the rest of the sequence is not nullable. If a
stop token is one of several spellings (a literal that equals its text), its edge is merely never
allowed.

Cost    linear in the nodes and their operands, without the GIL, times the passes that find nodes
        which must stop.
"""

from libc.stdint cimport int64_t, uint32_t, uint8_t
from libcpp.utility cimport pair

from ..native.pool cimport vector
from ..native.reachability cimport reach
from ..native.resources cimport spend
from .ir cimport ALT, BARE, CAPTURE, DISPATCH, GRAPH, NO_NODE, OBJECT, REF, REPEAT, SEQ, Grammar, NodeC
from .lowered cimport LoweredGrammar, list_operands

from ..errors import SpecError

cdef enum:
    NO_LABEL = 0xFFFFFFFF
    # nodes that are visited in about a microsecond
    NODES_PER_STEP = 16
    # captures, rules and sequences around a stop token that its place is looked for in
    MAX_LEVELS = 1_000


def check_stops(Grammar grammar, LoweredGrammar lowered, stop_token_ids):
    """Refuse a grammar in which something must follow a stop token.

    Raises:
        SpecError: with the pointer of the nearest capture.
    """
    cdef StopCheck check
    cdef uint32_t label
    wanted = grammar.tokens_within(frozenset(stop_token_ids))
    if not wanted:
        return
    spend(grammar.budget, <int64_t>grammar.node_list.size() // NODES_PER_STEP)
    check = StopCheck(grammar, lowered)
    for node in wanted:
        check.wanted[<uint32_t>node] = check.stops[<uint32_t>node] = 1
    while check.find_stops():
        spend(grammar.budget, <int64_t>grammar.node_list.size() // NODES_PER_STEP)
    with nogil:
        check.find_last()
        label = check.find_dead_end()
    if label != NO_LABEL:
        raise SpecError("a stop token ends the text: nothing can follow it", grammar.labels[label])


cdef class StopCheck:
    cdef Grammar grammar
    cdef LoweredGrammar lowered
    # by node: it matches only stop tokens; each of its words ends with one; it may be last
    cdef vector[uint8_t] wanted, stops, last
    cdef vector[uint32_t] children          # scratch

    def __cinit__(self, Grammar grammar, LoweredGrammar lowered):
        self.grammar, self.lowered = grammar, lowered
        self.wanted.assign(grammar.node_list.size(), 0)
        self.stops.assign(grammar.node_list.size(), 0)
        self.last.assign(grammar.node_list.size(), 0)

    cdef bint find_stops(self) noexcept nogil:
        """Flag further nodes whose words all end with a stop token. Return whether there were any."""
        cdef bint found = False
        cdef uint32_t number
        for number in range(<uint32_t>self.stops.size()):
            if not self.stops[number] and self.must_stop(&self.grammar.node_list[number]):
                self.stops[number] = found = True
        return found

    cdef bint must_stop(self, const NodeC* node) noexcept nogil:
        cdef uint32_t k
        if node.kind == SEQ or node.kind == ALT:
            for k in range(node.off, node.off + node.n):
                if self.stops[self.grammar.pool[k]] == (node.kind == SEQ):
                    return node.kind == SEQ
            return node.kind == ALT
        if node.kind == REPEAT:
            return node.b > 0 and self.stops[node.a]
        if node.kind == CAPTURE:
            return self.stops[node.a]
        return node.kind == REF and self.stops[self.grammar.rule_nodes[node.a]]

    cdef void find_last(self) noexcept nogil:
        """Flag the nodes that may be last."""
        cdef vector[uint32_t] todo
        cdef uint32_t number
        todo.push_back(self.grammar.rule_nodes[self.lowered.root])
        while todo.size():
            number = todo.back()
            todo.pop_back()
            if not self.last[number]:
                self.last[number] = 1
                self.list_ends(number)
                todo.insert(todo.end(), self.children.begin(), self.children.end())

    cdef uint32_t find_dead_end(self) noexcept nogil:
        """Return the label of the innermost capture around a stop token that is never last; NO_LABEL:
        there is none.
        """
        cdef vector[pair[uint32_t, uint32_t]] todo     # nodes with the labels around them
        cdef vector[uint8_t] seen
        cdef pair[uint32_t, uint32_t] at
        cdef NodeC node
        cdef uint32_t child
        seen.assign(self.wanted.size(), 0)
        todo.push_back(pair[uint32_t, uint32_t](self.grammar.rule_nodes[self.lowered.root], 0))
        while todo.size():
            at = todo.back()
            todo.pop_back()
            if seen[at.first]:
                continue
            seen[at.first] = 1
            node = self.grammar.node_list[at.first]
            if node.kind == CAPTURE:
                at.second = node.b
            self.list_children(at.first)
            child = self.dead_end(&node)
            if child != NO_NODE:
                return self.label_of(child, at.second)
            for child in self.children:
                todo.push_back(pair[uint32_t, uint32_t](child, at.second))
        return NO_LABEL

    cdef uint32_t dead_end(self, const NodeC* node) noexcept nogil:
        """Return a child that ends with a stop token where something must follow; or NO_NODE."""
        cdef uint32_t child
        cdef size_t k
        cdef bint is_followed = node.kind == REPEAT and node.b > 1
        if node.kind == ALT or node.kind == REF:
            # one of several spellings, or a rule's body
            return NO_NODE
        for k in range(self.children.size(), 0, -1):
            child = self.children[k - 1]
            if self.stops[child] and is_followed or self.wanted[child] and not self.last[child]:
                return child
            is_followed = is_followed or node.kind == SEQ and not self.lowered.nullable[child]
        return NO_NODE

    cdef uint32_t label_of(self, uint32_t number, uint32_t label) noexcept nogil:
        """Return the label of the innermost capture around a stop token in a node."""
        cdef NodeC node
        cdef uint32_t k, _level
        # recursive rules would lead here again and again
        for _level in range(MAX_LEVELS):
            node = self.grammar.node_list[number]
            if node.kind == CAPTURE:
                label = node.b
            if node.kind == CAPTURE or node.kind == REPEAT:
                number = node.a
            elif node.kind == REF:
                number = self.grammar.rule_nodes[node.a]
            elif node.kind == SEQ:
                for k in range(node.off, node.off + node.n):
                    if self.stops[self.grammar.pool[k]]:
                        number = self.grammar.pool[k]
                        break
            else:
                break
        return label

    cdef void list_children(self, uint32_t number) noexcept nogil:
        """List a node's children; of a REF the rule's body."""
        cdef NodeC* node = &self.lowered.nodes[number]
        list_operands(node, self.lowered.pool, self.lowered.rule_nodes, &self.children)
        if node.kind == DISPATCH:
            self.list_arms(node, True)

    cdef void list_arms(self, const NodeC* node, bint all_arms) noexcept nogil:
        """List the nodes of a DISPATCH's arms: all, or those that may be last in it."""
        cdef uint32_t* pool = self.grammar.pool.data()
        cdef uint32_t at = node.off + 4, _k
        for _k in range(node.b):
            # arms that do not return end the text
            if all_arms or pool[node.off] or not pool[at + 1]:
                self.children.push_back(pool[at])
            at += 3 + pool[at + 2]

    cdef void list_ends(self, uint32_t number) noexcept nogil:
        """List the children that may be last in a node that may be last."""
        cdef NodeC node = self.grammar.node_list[number]
        cdef uint32_t k, child
        self.children.clear()
        if node.kind == SEQ:
            for k in range(node.n, 0, -1):
                child = self.grammar.pool[node.off + k - 1]
                self.children.push_back(child)
                if not self.lowered.nullable[child]:
                    return
        elif node.kind == GRAPH:
            self.list_graph_ends(&node)
        elif node.kind == DISPATCH:
            self.list_arms(&node, False)
        elif node.kind != OBJECT or node.b & BARE:
            self.list_children(number)

    cdef void list_graph_ends(self, const NodeC* node) noexcept nogil:
        """List the nodes of edges into states from which nullable edges lead to the end."""
        cdef const uint32_t* edges = self.grammar.pool.data() + node.off
        cdef const uint32_t* finals = self.grammar.pool.data() + node.b
        cdef vector[uint32_t] sources, targets
        cdef vector[uint8_t] ends
        cdef uint32_t k
        for k in range(node.n // 3):
            if self.lowered.nullable[edges[3 * k + 1]]:
                sources.push_back(edges[3 * k])
                targets.push_back(edges[3 * k + 2])
        ends.assign(node.a, 0)
        for k in range(node.c):
            ends[finals[k]] = 1
        reach(&targets, &sources, &ends)
        for k in range(node.n // 3):
            if ends[edges[3 * k + 2]]:
                self.children.push_back(edges[3 * k + 1])
