"""FragmentCache: see the header file."""

from libc.stdint cimport int64_t, uint32_t

from ..budget cimport spend, spent
from ..grammar.ir cimport NO_NODE, Grammar
from ..grammar.lowered cimport (
    ALT, BOUNDED, BYTES, CHARS, EMPTY, FAIL, GRAPH, JSON_CHARS, REPEAT, SEQ, TEXT, NodeC,
)
from ..native.pool cimport vector

from collections import OrderedDict
from threading import Lock

from ..errors import InternalError
from ..sharing.single_flight import SingleFlight

#: all ``FragmentCache`` of this process
TABLES = []

# what a key and its entry take without their texts
cdef Py_ssize_t KEY_WORDS = 100
# operands that are copied in about a microsecond
cdef size_t WORDS_PER_STEP = 256


cdef IrFragment fragment_of(Grammar grammar, uint32_t node):
    """What lies below a node."""
    cdef IrFragment made = IrFragment.__new__(IrFragment)
    cdef vector[uint32_t] numbers
    cdef uint32_t k
    numbers.assign(node + 1, NO_NODE)
    mark_below(grammar, node, &numbers)
    # children have smaller numbers than their parents
    for k in range(node + 1):
        if numbers[k] != NO_NODE:
            numbers[k] = <uint32_t>made.nodes.size()
            made.take(grammar, k, &numbers)
    return made


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
        """Appends a node whose children are there already, under the given numbers."""
        cdef NodeC node = grammar.node_list[number], made = node
        cdef uint32_t k, step = child_step(node.kind)
        made.off = <uint32_t>self.pool.size()
        if node.kind == REPEAT or node.kind == BOUNDED:
            made.a = numbers[0][node.a]
        for k in range(node.n):
            self.pool.push_back(grammar.pool[node.off + k])
        if node.kind == GRAPH:
            made.b = <uint32_t>self.pool.size()
            for k in range(node.c):
                self.pool.push_back(grammar.pool[node.b + k])
        elif node.kind not in (EMPTY, FAIL, BYTES, TEXT, CHARS, JSON_CHARS, SEQ, ALT, REPEAT, BOUNDED):
            raise InternalError(f"a node of kind {node.kind} stands in a fragment")
        k = 1 if step == 3 else 0
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
            # equal content is met by its own node: what was composed once is composed as it stands
            node = &self.nodes[j]
            off, a, step = <uint32_t>grammar.pool.size(), node.a, child_step(node.kind)
            # the final states of a graph lie behind its edges
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
        """About how much room it takes."""
        return 6 * self.nodes.size() + self.pool.size() + self.key_words


cdef inline uint32_t child_step(uint32_t kind) noexcept nogil:
    """Which operands are children: all (1), every third from the second on (3), none (0)."""
    return 3 if kind == GRAPH else 1 if kind == SEQ or kind == ALT else 0


cdef class FragmentBuilder:
    cdef IrFragment make(self):
        raise NotImplementedError

    cdef IrFragment run(self):
        cdef int64_t begun = spent(self.budget)
        cdef IrFragment made = self.make()
        # a fragment_builder may do without a part that is too large: not for want of budget
        spend(self.budget, 0)
        made.steps = spent(self.budget) - begun
        return made


cdef class FragmentCache:
    def __init__(self, Py_ssize_t most):
        """``most`` words of four bytes are kept."""
        self.known, self.guard, self.held, self.most = OrderedDict(), Lock(), 0, most
        self.flights = SingleFlight()
        TABLES.append(self)

    cdef IrFragment recall(self, tuple key):
        with self.guard:
            found = self.known.get(key)
            if found is not None:
                self.known.move_to_end(key)
            return found

    def forget(self):
        """Lets go of all of them."""
        with self.guard:
            self.known.clear()
            self.held = 0

    cdef IrFragment get(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder):
        cdef IrFragment found = self.recall(key)
        cdef int64_t begun = spent(grammar.budget)
        if found is None:
            found = self.make(grammar, key, fragment_builder)
        spend(grammar.budget, max(0, found.steps - (spent(grammar.budget) - begun)))
        return found

    cdef IrFragment make(self, Grammar grammar, tuple key, FragmentBuilder fragment_builder):
        cdef IrFragment found = None
        fragment_builder.budget = grammar.budget
        mine, is_made = self.flights.begin(key), False
        try:
            found = self.recall(key)
            if found is None:
                found = fragment_builder.run()
                self.keep(key, found)
            is_made = True
        finally:
            self.flights.end(key, mine, is_made=is_made)
        return found

    cdef int keep(self, tuple key, IrFragment fragment) except -1:
        """One that is too large by itself is not kept."""
        fragment.key_words = KEY_WORDS + chars_of(key)
        if fragment.words() * 8 > self.most:
            return 0
        with self.guard:
            if key not in self.known:
                self.known[key] = fragment
                self.held += fragment.words()
            while self.held > self.most:
                self.held -= (<IrFragment>self.known.popitem(last=False)[1]).words()
        return 0


cdef Py_ssize_t chars_of(tuple key) except -1:
    """Of the texts in a key, which take room as well."""
    cdef Py_ssize_t n = 0
    for each in key:
        if type(each) is tuple:
            n += chars_of(each)
        elif type(each) is str:
            n += len(each)
    return n
