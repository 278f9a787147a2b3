"""Trees -> deterministic automata over characters: the subset construction.

Many subsets read the same sets of characters and differ in where these lead. How sets cut one another into
pieces is found out once for all subsets that read them.

Cost       ``limits.pattern_states`` bounds the states and the work.
Not here   trees with look-around (char_looks).
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair

from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number, table_size
from .char_automaton cimport (
    Bound, CharAutomaton, CharStateC, MoveC, StatesC, add_range, append_state, finish, trim,
)
from .char_looks cimport looked
from .char_nfa cimport (
    AT_END, AT_START, FREE, EmptyC, NfaC, NfaMoveC, Thompson, index, sweep, unique,
)

from .regex_tree import ANYTHING, cat


cdef enum:
    LAST_BEFORE_SURROGATES = 0xD7FF
    LAST_CHAR = 0x10FFFF


def from_tree(tree, Bound bound, *, bint search):
    cdef Thompson made = Thompson(bound)
    cdef CharAutomaton out = CharAutomaton.__new__(CharAutomaton)
    cdef Subsets subsets
    cdef uint32_t start = made.state()
    cdef uint32_t final = made.add(cat((ANYTHING, tree, ANYTHING)) if search else tree, start)
    if made.looks:
        return looked(cat((ANYTHING, tree, ANYTHING)) if search else tree, bound, search).minimal(bound)
    subsets = Subsets(made, final)
    subsets.determinise(start, &out.states)
    trim(&out.states)
    return out


cdef struct PieceC:
    # characters that the same sets hold: those groups[group..group_end - 1] of a combination, as
    # positions in it; and their ranges, in the pool of the automaton
    uint32_t group, group_end, off, n


cdef class Subsets:
    cdef Bound bound
    cdef Thompson made
    cdef NfaC* nfa              # of ``made``
    cdef uint32_t final
    cdef vector[uint8_t] stays              # by state: more than a way to others
    cdef vector[uint32_t] anything          # states behind which any text may stand
    cdef vector[uint32_t] sizes             # by half the place of a set in the pool: its ranges
    cdef vector[uint32_t] seen              # by target: the last state that has a move to it
    cdef WordTableC subsets                 # closed ones, but for that of the start
    cdef WordTableC targets                 # sets of states, before empty moves
    cdef vector[uint32_t] closed            # by number of such a set: its subset
    cdef WordTableC combinations            # of sets of characters, as places in the pool, ascending
    cdef vector[uint32_t] first             # by combination: its pieces, in order of their first characters
    cdef vector[PieceC] pieces
    cdef vector[uint32_t] groups
    # of the subset at hand: the set of characters and the target of each move; the different sets, and
    # where the moves of each begin
    cdef vector[pair[uint32_t, uint32_t]] moves
    cdef vector[uint32_t] sets, starts

    def __cinit__(self, Thompson made, uint32_t final):
        cdef uint32_t s
        cdef EmptyC empty
        cdef NfaMoveC move
        self.made, self.bound, self.nfa, self.final = made, made.bound, &made.nfa, final
        index(self.nfa)
        self.stays.assign(self.nfa.size, 0)
        self.stays[final] = 1
        for s in range(self.nfa.size):
            if self.nfa.move_off[s] < self.nfa.move_off[s + 1]:
                self.stays[s] = 1
        for empty in self.nfa.empty:
            if empty.sign == AT_END:
                self.stays[empty.source] = 1
        self.sizes.assign(self.nfa.pool.size() // 2 + 1, 0)
        for move in self.nfa.moves:
            if move.n:
                self.sizes[move.off // 2] = move.n
        self.first.push_back(0)
        self.list_anything()

    cdef int determinise(self, uint32_t start, StatesC* out) except -1:
        """The start is a state of its own: what ^ allows there does not hold where the same set is met
        again; so the subset of state k > 0 is number k - 1.
        """
        cdef vector[uint32_t] members, end
        cdef CharStateC char_state
        cdef uint32_t s = 0
        members.push_back(start)
        self.close(&members, AT_START)
        while True:
            end = members
            self.close(&end, AT_END if s else AT_START | AT_END)
            self.bound.look(members.size() + end.size())
            out.final.push_back(self.nfa.stamp[self.final] == self.nfa.now)
            self.expand(&members, &char_state, out)
            if s == table_size(&self.subsets):
                break
            members.assign(
                self.subsets.words.begin() + self.subsets.off[s],
                self.subsets.words.begin() + self.subsets.off[s + 1])
            s += 1
        finish(out)
        return 0

    cdef int expand(self, vector[uint32_t]* members, CharStateC* char_state, StatesC* out) except -1:
        """Appends the state of a subset."""
        cdef vector[uint32_t] key
        cdef MoveC move
        cdef uint32_t k, j, s, number
        cdef size_t begun = out.moves.size()
        cdef bint is_joined = False
        self.gather(members)
        number = self.combination(out)
        for k in range(self.first[number], self.first[number + 1]):
            key.clear()
            for j in range(self.pieces[k].group, self.pieces[k].group_end):
                for s in range(self.starts[self.groups[j]], self.starts[self.groups[j] + 1]):
                    key.push_back(self.moves[s].second)
            self.bound.look(key.size())
            move.off, move.n, move.target = self.pieces[k].off, self.pieces[k].n, self.subset_of(&key)
            out.moves.push_back(move)
            if self.seen.size() <= move.target:
                self.seen.resize(2 * <size_t>move.target + 1, 0xFFFFFFFF)
            is_joined |= self.seen[move.target] == out.first.size()
            self.seen[move.target] = <uint32_t>out.first.size()
        if not is_joined:
            out.first.push_back(<uint32_t>begun)
            return 0
        for k in range(begun, <uint32_t>out.moves.size()):
            move = out.moves[k]
            for j in range(move.n):
                add_range(char_state, out.pool[move.off + 2 * j], out.pool[move.off + 2 * j + 1], move.target)
        out.moves.resize(begun)
        append_state(char_state, out)
        return 0

    cdef int gather(self, vector[uint32_t]* members) except -1:
        """Lists the moves of a subset by their sets."""
        cdef pair[uint32_t, uint32_t] made
        cdef NfaMoveC* move
        cdef uint32_t s, k
        self.moves.clear()
        for s in members[0]:
            for k in range(self.nfa.move_off[s], self.nfa.move_off[s + 1]):
                move = &self.nfa.moves[k]
                if move.n:
                    made.first, made.second = move.off, move.target
                    self.moves.push_back(made)
        self.bound.look(self.moves.size())
        sort(self.moves.begin(), self.moves.end())
        self.sets.clear()
        self.starts.clear()
        for k in range(<uint32_t>self.moves.size()):
            if k == 0 or self.moves[k].first != self.sets.back():
                self.sets.push_back(self.moves[k].first)
                self.starts.push_back(k)
        self.starts.push_back(<uint32_t>self.moves.size())
        return 0

    cdef uint32_t combination(self, StatesC* out) except? 0xFFFFFFFF:
        """The number of the combination of sets at hand."""
        cdef vector[vector[uint32_t]] groups, bounds
        cdef vector[NfaMoveC] moves
        cdef NfaMoveC move = NfaMoveC(0, 0, 0, 0)
        cdef PieceC piece
        cdef uint32_t number = table_number(&self.combinations, self.sets.data(), self.sets.size()), k, s
        if number + 1 < self.first.size():
            return number
        for k in range(<uint32_t>self.sets.size()):
            move.off, move.n = self.sets[k], self.sizes[self.sets[k] // 2]
            self.bound.look(move.n)
            moves.push_back(move)
        sweep(self.nfa, &moves, self.bound, &groups, &bounds)
        for k in range(<uint32_t>groups.size()):
            piece.group, piece.off = <uint32_t>self.groups.size(), <uint32_t>out.pool.size()
            self.groups.insert(self.groups.end(), groups[k].begin(), groups[k].end())
            piece.group_end = <uint32_t>self.groups.size()
            for s in range(0, <uint32_t>bounds[k].size(), 2):
                if s and bounds[k][s] == out.pool.back() + 1:
                    out.pool[out.pool.size() - 1] = bounds[k][s + 1]
                else:
                    out.pool.push_back(bounds[k][s])
                    out.pool.push_back(bounds[k][s + 1])
            piece.n = (<uint32_t>out.pool.size() - piece.off) // 2
            self.pieces.push_back(piece)
        self.first.push_back(<uint32_t>self.pieces.size())
        return number

    cdef uint32_t subset_of(self, vector[uint32_t]* states) except? 0xFFFFFFFF:
        """The number of the state whose subset these states lead to.

        Once any text may follow, nothing else counts: else a search for one of n words would tell apart
        which of them were found, 2^n sets.
        """
        cdef uint32_t number, before
        unique(states)
        number = table_number(&self.targets, states.data(), states.size())
        if number < self.closed.size():
            return self.closed[number]
        self.close(states, FREE)
        self.bound.look(states.size())
        if self.holds_any():
            states.assign(1, self.anything[0])
            self.close(states, FREE)
        before = table_size(&self.subsets)
        self.closed.push_back(table_number(&self.subsets, states.data(), states.size()) + 1)
        if self.closed.back() > before:
            self.bound.check(<uint64_t>before + 2)
        return self.closed.back()

    cdef void close(self, vector[uint32_t]* states, uint32_t signs) noexcept nogil:
        """Adds all states reached without a character, and leaves out what only leads to others; ``signs``
        are the anchors that hold here.
        """
        cdef NfaC* nfa = self.nfa
        cdef uint32_t k, s
        cdef size_t at = 0, n = 0
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
        for at in range(states.size()):
            if self.stays[states[0][at]]:
                states[0][n] = states[0][at]
                n += 1
        states.resize(n)
        sort(states.begin(), states.end())

    cdef void list_anything(self) noexcept nogil:
        """The states behind which any text may stand: their one move takes every character back to them."""
        cdef NfaC* nfa = self.nfa
        cdef uint32_t s
        cdef NfaMoveC* move
        cdef vector[uint32_t] members
        for s in range(nfa.size):
            if nfa.move_off[s + 1] - nfa.move_off[s] != 1:
                continue
            move = &nfa.moves[nfa.move_off[s]]
            if move.n != 2 or nfa.pool[move.off] != 0 or nfa.pool[move.off + 1] != LAST_BEFORE_SURROGATES or (
                    nfa.pool[move.off + 2] != LAST_BEFORE_SURROGATES + 0x801
                    or nfa.pool[move.off + 3] != LAST_CHAR):
                continue
            members.assign(1, move.target)
            self.close(&members, FREE)
            if nfa.stamp[s] != nfa.now:
                continue
            members.assign(1, s)
            self.close(&members, FREE)
            if nfa.stamp[self.final] == nfa.now:
                self.anything.push_back(s)

    cdef bint holds_any(self) noexcept nogil:
        """Whether the set that was closed last holds a state behind which any text may stand."""
        cdef uint32_t s
        for s in self.anything:
            if self.nfa.stamp[s] == self.nfa.now:
                return True
        return False
