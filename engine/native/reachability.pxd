"""Graphs as lists of edges: edge k leads from sources[k] to targets[k]."""

from libc.stdint cimport uint32_t, uint8_t

from .pool cimport vector


cdef inline void group_by_state(
    const vector[uint32_t]* states, uint32_t size, vector[uint32_t]* off, vector[uint32_t]* order
) noexcept nogil:
    """List by state s the indices of ``states`` with that value: order[off[s] .. off[s + 1] - 1]."""
    cdef uint32_t k
    cdef vector[uint32_t] at
    off.assign(size + 1, 0)
    for k in range(<uint32_t>states.size()):
        off[0][states[0][k] + 1] += 1
    for k in range(size):
        off[0][k + 1] += off[0][k]
    at = off[0]
    order.resize(states.size())
    for k in range(<uint32_t>states.size()):
        order[0][at[states[0][k]]] = k
        at[states[0][k]] += 1


cdef inline void reach(
    const vector[uint32_t]* sources, const vector[uint32_t]* targets, vector[uint8_t]* marks
) noexcept nogil:
    """Mark all states that marked ones lead to."""
    cdef vector[uint32_t] off, order, todo
    cdef uint32_t s, k
    group_by_state(sources, <uint32_t>marks.size(), &off, &order)
    for s in range(<uint32_t>marks.size()):
        if marks[0][s]:
            todo.push_back(s)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        for k in range(off[s], off[s + 1]):
            if not marks[0][targets[0][order[k]]]:
                marks[0][targets[0][order[k]]] = 1
                todo.push_back(targets[0][order[k]])
