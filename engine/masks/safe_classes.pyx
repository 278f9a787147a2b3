"""Safe classes: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..automata.dfa_state cimport TRIGGER_STATE, ByteEdgeC
from ..automata.rule_automata cimport Automata, StateC
from ..native.pool cimport vector
from ..vocabulary.byte_classes cimport (
    BOUNDARY, BROKEN, MULTIBYTE, class_bit, high_of, low_of, phase_after,
)

cdef uint64_t ASCII = (<uint64_t>1 << 43) - 1
# Digits, letters, spaces, characters of several bytes.
cdef uint64_t MANY = MULTIBYTE | 0x3F0


cdef void safe_states(Automata automata, uint32_t rule, vector[SafeC]* out) noexcept nogil:
    """By state of a rule that was built whole: classes any text of which keeps the automaton going.

    The greatest sets such that every text of one byte or character of a state's set leads to a
    state whose set holds it. It may pass through ends of the rule, never through a state that
    refers to others. Nothing for a rule of more than SAFE_STATES.
    """
    cdef uint32_t first = automata.first[rule], s, n = 0
    cdef uint64_t before
    cdef bint changed = True
    cdef SafeC made
    made.classes, made.phase = 0, ANY_PHASE
    while first + n < automata.states.size() and automata.states[first + n].rule == rule:
        n += 1
        if n > SAFE_STATES:
            return
    out.assign(n, made)
    find_phases(automata, first, out)
    for s in range(n):
        if out[0][s].phase == BOUNDARY:
            out[0][s].classes = entered(automata, first + s) | MULTIBYTE
    while changed:
        changed = False
        s = n
        while s:
            s -= 1
            before = out[0][s].classes
            if before:
                out[0][s].classes = held(automata, first + s, before, out)
                changed = changed or out[0][s].classes != before
    for s in range(n):
        if BOUNDARY < out[0][s].phase < BROKEN:
            out[0][s].classes = behind(automata, first + s, out[0][s].phase, out)


cdef SafeC safe_loop(Automata automata, uint32_t state) noexcept nogil:
    """The ASCII classes of which every byte leads from a state to itself."""
    cdef SafeC made
    made.classes, made.phase = held(automata, state, entered(automata, state), NULL), ANY_PHASE
    return made


cdef void find_phases(Automata automata, uint32_t first, vector[SafeC]* out) noexcept nogil:
    """Where within a character each state stands; BROKEN if that is not always the same place."""
    cdef vector[uint32_t] todo
    cdef StateC* state
    cdef uint32_t e, b, s, target
    cdef uint8_t phase
    out[0][0].phase = BOUNDARY
    todo.push_back(0)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        state = &automata.states[first + s]
        for e in range(state.byte_off, state.byte_off + state.n_bytes):
            target = automata.byte_edges[e].target - first
            for b in range(automata.byte_edges[e].low, <uint32_t>automata.byte_edges[e].high + 1):
                phase = phase_after(out[0][s].phase, <uint8_t>b)
                if out[0][target].phase == phase or out[0][target].phase == BROKEN:
                    continue
                out[0][target].phase = phase if out[0][target].phase == ANY_PHASE else BROKEN
                todo.push_back(target)


cdef bint is_plain(StateC* state) noexcept nogil:
    return not state.flags & TRIGGER_STATE and state.n_refs == 0


cdef uint64_t entered(Automata automata, uint32_t state) noexcept nogil:
    """The ASCII classes of which every byte leads to a state that refers to nothing."""
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint32_t e, b, at = 0
    cdef uint64_t missing = 0
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        for b in range(at, min(<uint32_t>edge.low, <uint32_t>128)):
            missing |= class_bit(<uint8_t>b)
        at = <uint32_t>edge.high + 1
        if not is_plain(&automata.states[edge.target]):
            for b in range(edge.low, min(at, <uint32_t>128)):
                missing |= class_bit(<uint8_t>b)
    for b in range(at, 128):
        missing |= class_bit(<uint8_t>b)
    return ASCII & ~missing


cdef uint64_t held(
    Automata automata, uint32_t state, uint64_t classes, vector[SafeC]* sets
) noexcept nogil:
    """The classes, without some so that the others lead only where they are all held.

    Where an edge leads to a smaller set, either what is missing there is given up, or the edge,
    whichever costs less. Without ``sets`` nothing is held but in the state itself.
    """
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint32_t e, b
    cdef uint64_t taken, there
    if classes & MULTIBYTE:
        classes = without(classes, MULTIBYTE, behind(automata, state, BOUNDARY, sets))
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        if edge.target == state:
            continue
        there = 0 if sets == NULL else sets[0][edge.target - automata.first[s.rule]].classes
        if not classes & ~there:
            continue
        taken = 0
        for b in range(edge.low, min(<uint32_t>edge.high + 1, <uint32_t>128)):
            taken |= class_bit(<uint8_t>b)
        if classes & taken:
            classes = without(classes, taken, there)
    return classes


cdef uint64_t without(uint64_t classes, uint64_t taken, uint64_t there) noexcept nogil:
    """The classes without those that an edge takes, or without those that are not held behind it."""
    if weight(classes & ~there) <= weight(classes & taken):
        return classes & there
    return classes & ~taken


cdef uint32_t weight(uint64_t classes) noexcept nogil:
    """About how much of a vocabulary lies behind the classes: letters and digits, and what is not ASCII."""
    return <uint32_t>__builtin_popcountll(classes) + 16 * <uint32_t>__builtin_popcountll(classes & MANY)


cdef uint64_t behind(
    Automata automata, uint32_t state, uint8_t phase, vector[SafeC]* sets
) noexcept nogil:
    """What is held wherever the rest of a character of several bytes may lead; 0: not all are taken."""
    cdef StateC* s = &automata.states[state]
    cdef ByteEdgeC* edge
    cdef uint8_t after
    cdef uint32_t low = 0xC2 if phase == BOUNDARY else low_of(phase), e, b
    cdef uint32_t high = 0xF4 if phase == BOUNDARY else high_of(phase), last = BROKEN
    cdef uint64_t found = ASCII | MULTIBYTE
    for e in range(s.byte_off, s.byte_off + s.n_bytes):
        edge = &automata.byte_edges[e]
        if edge.high < low:
            continue
        if edge.low > low or low > high:
            break
        if not is_plain(&automata.states[edge.target]):
            return 0
        last = BROKEN
        for b in range(low, min(<uint32_t>edge.high, high) + 1):
            after = phase_after(phase, <uint8_t>b)
            if after == last:
                continue
            last = after
            if after == BOUNDARY:
                found &= sets[0][edge.target - automata.first[s.rule]].classes
            else:
                found &= behind(automata, edge.target, after, sets)
        low = <uint32_t>edge.high + 1
    return found if low > high else 0


cdef extern from *:
    int __builtin_popcountll(unsigned long long) noexcept nogil
