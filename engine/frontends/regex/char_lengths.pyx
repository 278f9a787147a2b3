"""Lengths of texts, counted in characters: by states (``with_length``), or by the engine's registers
(``bounded_node``), which takes no states.

Cost       by states: states times lengths, within ``limits.pattern_states``.
Not here   bounds that the counts of a pattern can take over (json_schema.strings).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ...budget cimport spend
from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number, table_size
from .char_automaton cimport (
    NO_STATE, Bound, CharAutomaton, MoveC, StatesC, finish, state_count, trim,
)

# lengths tried to find one from which on all occur; people's patterns need fewer than 10
cdef uint32_t STEADY = 64
# moves that are copied, and that are looked at, in about a microsecond
cdef uint32_t MOVES_PER_STEP = 16
cdef uint32_t LOOKED_PER_STEP = 256


def with_length(CharAutomaton automaton, minimum, maximum, Bound bound):
    """Counts past the bounds that matter are one."""
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef WordTableC ids
    cdef MoveC move
    cdef uint32_t[2] key = [0, 0]
    cdef uint32_t least = minimum, cap = minimum if maximum is None else maximum
    cdef bint is_bounded = maximum is not None
    cdef uint32_t s = 0, state, count, k, before
    if state_count(&automaton.states) == 0:
        return automaton
    made.states.pool = automaton.states.pool
    table_number(&ids, key, 2)
    while s < table_size(&ids):
        state, count = ids.words[ids.off[s]], ids.words[ids.off[s] + 1]
        spend(bound.budget, (automaton.states.first[state + 1] - automaton.states.first[state]) // MOVES_PER_STEP)
        made.states.final.push_back(automaton.states.final[state] & <uint8_t>(count >= least))
        made.states.first.push_back(<uint32_t>made.states.moves.size())
        if not is_bounded or count < cap:
            for k in range(automaton.states.first[state], automaton.states.first[state + 1]):
                move = automaton.states.moves[k]
                key[0], key[1] = move.target, min(count + 1, cap)
                before = table_size(&ids)
                move.target = table_number(&ids, key, 2)
                if move.target == before:
                    bound.check(<uint64_t>before + 1)
                made.states.moves.push_back(move)
        s += 1
    finish(&made.states)
    trim(&made.states)
    return made


def bounded_node(grammar, CharAutomaton automaton, minimum, maximum, Bound bound, *, bint inside_json=True):
    cdef uint32_t steady
    cdef CharAutomaton counted = automaton
    if state_count(&automaton.states) == 0:
        return grammar.fail()
    shortest = 0 if automaton.states.final[0] else shortest_text(&automaton.states)
    longest = longest_text(&automaton.states)
    if maximum is not None and maximum < max(minimum, shortest) or longest is not None and longest < minimum:
        return grammar.fail()
    if maximum is not None and longest is not None and longest <= maximum:
        maximum = None
    if minimum <= shortest:
        minimum = 0
    if minimum:
        spend(bound.budget, STEADY * automaton.states.moves.size() // LOOKED_PER_STEP)
        steady = steady_from(&automaton.states)
        if steady == NO_STATE or (maximum is not None and maximum - minimum < steady):
            counted, minimum = with_length(automaton, minimum, None, bound), 0
    if state_count(&counted.states) == 0:
        return grammar.fail()
    if maximum is not None and shortest_text(&counted.states) > maximum:
        return grammar.empty() if counted.states.final[0] else grammar.fail()
    return grammar.bounded(counted.to_node(grammar, inside_json=inside_json), minimum, maximum)


cdef uint32_t shortest_text(StatesC* states) noexcept nogil:
    """The fewest characters of a text that is not empty, NO_STATE if there is none; breadth first."""
    cdef vector[uint32_t] far, order
    cdef uint32_t s, k, t, before
    cdef size_t at = 0
    far.assign(state_count(states), NO_STATE)
    order.push_back(0)
    while at < order.size():
        s = order[at]
        before = far[s] if at else 0
        at += 1
        for k in range(states.first[s], states.first[s + 1]):
            t = states.moves[k].target
            if states.final[t]:
                return before + 1
            if far[t] == NO_STATE:
                far[t] = before + 1
                order.push_back(t)
    return NO_STATE


cdef object longest_text(StatesC* states):
    """The most characters of a text, None if there is no most: states in an order in which moves lead
    forwards, if there is one.
    """
    cdef uint32_t n = state_count(states), s, k, t, found = 0
    cdef vector[uint32_t] far, entries, order
    cdef size_t at = 0
    entries.assign(n, 0)
    for k in range(<uint32_t>states.moves.size()):
        entries[states.moves[k].target] += 1
    far.assign(n, 0)
    if entries[0] == 0:
        order.push_back(0)
    while at < order.size():
        s = order[at]
        at += 1
        if states.final[s]:
            found = max(found, far[s])
        for k in range(states.first[s], states.first[s + 1]):
            t = states.moves[k].target
            far[t] = max(far[t], far[s] + 1)
            entries[t] -= 1
            if entries[t] == 0:
                order.push_back(t)
    return found if at == n else None


cdef uint32_t steady_from(StatesC* states) noexcept nogil:
    """The least count from which on every state has an end so many characters away, NO_STATE if there
    is none that is found soon.
    """
    cdef uint32_t n = state_count(states), s, k, count, all_ends
    cdef vector[uint8_t] ends = states.final, further
    for count in range(1, STEADY + 1):
        further.assign(n, 0)
        all_ends = 0
        for s in range(n):
            for k in range(states.first[s], states.first[s + 1]):
                further[s] |= ends[states.moves[k].target]
            all_ends += further[s]
        if all_ends == n:
            return count
        ends.swap(further)
    return NO_STATE
