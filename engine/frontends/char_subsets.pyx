"""Trees -> deterministic automata over characters: the subset construction.

Cost       ``limits.pattern_states`` bounds the states and the work.
Not here   trees with look-around (char_looks).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort

from ..pool cimport vector
from ..wordtable cimport WordTableC, table_number, table_size
from .char_automaton cimport Bound, CharAutomaton, DraftC, StatesC, append_state, draft_add, finish, trim
from .char_looks cimport looked
from .char_nfa cimport AT_END, AT_START, FREE, EmptyC, NfaC, NfaMoveC, Thompson, index, sweep

from .regex_tree import ANYTHING, cat


cdef enum:
    LAST_BEFORE_SURROGATES = 0xD7FF
    LAST_CHAR = 0x10FFFF


def from_tree(tree, Bound bound, *, bint search):
    cdef Thompson made = Thompson(bound)
    cdef CharAutomaton out = CharAutomaton.__new__(CharAutomaton)
    cdef uint32_t start = made.state()
    cdef uint32_t final = made.add(cat((ANYTHING, tree, ANYTHING)) if search else tree, start)
    if made.looks:
        return looked(cat((ANYTHING, tree, ANYTHING)) if search else tree, bound, search).minimal(bound)
    index(&made.nfa)
    determinise(&made.nfa, start, final, bound, &out.states)
    trim(&out.states)
    return out


cdef int determinise(NfaC* nfa, uint32_t start, uint32_t final, Bound bound, StatesC* out) except -1:
    """Subset construction. The start is a state of its own: what ^ allows there does not hold where
    the same set is met again; so the subset of state k > 0 is number k - 1.

    Once any text may follow, nothing else counts: else a search for one of n words would tell apart
    which of them were found, 2^n sets.
    """
    cdef WordTableC subsets
    cdef vector[uint32_t] members, end, anything
    cdef vector[vector[uint32_t]] targets
    cdef vector[vector[uint32_t]] pieces
    cdef DraftC draft
    cdef uint32_t s = 0, number, before
    cdef size_t k, j
    list_anything(nfa, final, &anything)
    members.push_back(start)
    close(nfa, &members, AT_START)
    bound.look(members.size())
    while True:
        end = members
        close(nfa, &end, AT_END if s else AT_START | AT_END)
        bound.look(end.size())
        out.final.push_back(nfa.stamp[final] == nfa.now)
        cut(nfa, &members, bound, &targets, &pieces)
        for k in range(targets.size()):
            close(nfa, &targets[k], FREE)
            bound.look(targets[k].size())
            if holds_any(nfa, &anything):
                targets[k].assign(1, anything[0])
                close(nfa, &targets[k], FREE)
            before = table_size(&subsets)
            number = table_number(&subsets, targets[k].data(), targets[k].size()) + 1
            if number > before:
                bound.check(<uint64_t>before + 2)
            for j in range(pieces[k].size() // 2):
                draft_add(&draft, pieces[k][2 * j], pieces[k][2 * j + 1], number)
        append_state(&draft, out)
        if s == table_size(&subsets):
            break
        members.assign(
            subsets.words.begin() + subsets.off[s], subsets.words.begin() + subsets.off[s + 1])
        s += 1
    finish(out)
    return 0


cdef void list_anything(NfaC* nfa, uint32_t final, vector[uint32_t]* out) noexcept nogil:
    """The states behind which any text may stand: their one move takes every character back to them."""
    cdef uint32_t s
    cdef NfaMoveC* move
    cdef vector[uint32_t] members
    for s in range(nfa.size):
        if nfa.move_off[s + 1] - nfa.move_off[s] != 1:
            continue
        move = &nfa.moves[nfa.move_off[s]]
        if move.n != 2 or nfa.pool[move.off] != 0 or nfa.pool[move.off + 1] != LAST_BEFORE_SURROGATES or (
                nfa.pool[move.off + 2] != LAST_BEFORE_SURROGATES + 0x801 or nfa.pool[move.off + 3] != LAST_CHAR):
            continue
        members.assign(1, move.target)
        close(nfa, &members, FREE)
        if nfa.stamp[s] != nfa.now:
            continue
        members.assign(1, s)
        close(nfa, &members, FREE)
        if nfa.stamp[final] == nfa.now:
            out.push_back(s)


cdef bint holds_any(NfaC* nfa, vector[uint32_t]* states) noexcept nogil:
    """Whether the set that was closed last holds one of these."""
    cdef uint32_t s
    for s in states[0]:
        if nfa.stamp[s] == nfa.now:
            return True
    return False


cdef void close(NfaC* nfa, vector[uint32_t]* states, uint32_t signs) noexcept nogil:
    """Adds all states reached without a character; ``signs`` are the anchors that hold here."""
    cdef uint32_t k, s
    cdef size_t at = 0
    cdef EmptyC* move
    nfa.now += 1
    for s in states[0]:
        nfa.stamp[s] = nfa.now
    while at < states.size():
        s = states[0][at]
        at += 1
        for k in range(nfa.empty_off[s], nfa.empty_off[s + 1]):
            move = &nfa.empty[k]
            if nfa.stamp[move.target] != nfa.now and (move.sign == FREE or move.sign & signs):
                nfa.stamp[move.target] = nfa.now
                states.push_back(move.target)
    sort(states.begin(), states.end())


cdef int cut(
    NfaC* nfa, vector[uint32_t]* members, Bound bound,
    vector[vector[uint32_t]]* targets, vector[vector[uint32_t]]* pieces,
) except -1:
    """The sets of targets of a subset, and where they hold; see ``sweep``."""
    cdef vector[NfaMoveC] moves
    cdef uint32_t s, k
    cdef uint64_t ranges = 0
    for s in members[0]:
        for k in range(nfa.move_off[s], nfa.move_off[s + 1]):
            moves.push_back(nfa.moves[k])
            ranges += nfa.moves[k].n
    bound.look(ranges)
    if moves.size() != 1:
        return sweep(nfa, &moves, False, bound, targets, pieces)
    targets.clear()
    pieces.clear()
    if moves[0].n:
        targets.resize(1)
        targets[0][0].push_back(moves[0].target)
        pieces.resize(1)
        pieces[0][0].assign(
            nfa.pool.begin() + moves[0].off, nfa.pool.begin() + moves[0].off + 2 * moves[0].n)
    return 0
