"""Graphs made state by state: see the header file."""

from libc.stdint cimport uint32_t

from ...budget cimport spend
from ...native.pool cimport vector
from .text cimport Text


cdef Graph new_graph(Text text, start):
    cdef Graph made = Graph.__new__(Graph)
    made.text, made.numbers, made.states, made.finals = text, {}, [], set()
    made.number(start)
    return made


cdef class Graph:
    cdef uint32_t number(self, state) except? 0xFFFFFFFF:
        """The number of a state, a new one if need be; new ones are appended to ``states``."""
        if state not in self.numbers:
            self.numbers[state] = len(self.states)
            self.states.append(state)
        return self.numbers[state]

    cdef int add(self, source, uint32_t node, target) except -1:
        """An edge; one whose node no text fits is none."""
        spend(self.text.grammar.budget, 2)
        if node != self.text.fail:
            self.edges.push_back(self.number(source))
            self.edges.push_back(node)
            self.edges.push_back(self.number(target))
        return 0

    cdef bint is_full(self):
        return len(self.states) > MOST_STATES or self.edges.size() > 3 * MOST_EDGES

    cdef uint32_t node(self) except? 0xFFFFFFFF:
        """The graph without the states from which no final one is reached."""
        cdef vector[uint32_t] kept, finals
        cdef list sources = [[] for _ in self.states], names
        cdef size_t k
        cdef set alive
        for k in range(0, self.edges.size(), 3):
            sources[self.edges[k + 2]].append(self.edges[k])
        alive = {self.numbers[state] for state in self.finals}
        todo = list(alive)
        while todo:
            for source in sources[todo.pop()]:
                if source not in alive:
                    alive.add(source)
                    todo.append(source)
        if 0 not in alive:
            return self.text.fail
        order = sorted(alive)
        names = [0] * len(self.states)
        for k in range(<size_t>len(order)):
            names[order[k]] = k
        for k in range(0, self.edges.size(), 3):
            if self.edges[k] in alive and self.edges[k + 2] in alive:
                kept.push_back(names[self.edges[k]])
                kept.push_back(self.edges[k + 1])
                kept.push_back(names[self.edges[k + 2]])
        for number in sorted([names[self.numbers[state]] for state in self.finals]):
            finals.push_back(number)
        return self.text.graph(
            <uint32_t>len(order), kept.data(), kept.size() // 3, finals.data(), finals.size())
