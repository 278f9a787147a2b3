"""Automata of trees with empty moves: see the header file."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort

from ...native.hashing cimport MISSING, map_get, map_put
from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number
from .char_automaton cimport NO_STATE, Bound
from .regex_tree cimport Alt, Anchor, Automaton, Cat, Chars, Look, Repeat, Tree


cdef class Thompson:
    """Thompson's construction."""
    def __cinit__(self, Bound bound):
        self.bound, self.sets, self.looks, self.numbers = bound, {}, [], {}
        self.placed.used = 0

    cdef uint32_t state(self) except? NO_STATE:
        self.bound.check(self.nfa.size + 1)
        self.nfa.size += 1
        return self.nfa.size - 1

    cdef void empty(self, uint32_t s, uint32_t sign, uint32_t t):
        cdef EmptyC made
        made.source, made.sign, made.target = s, sign, t
        self.nfa.empty.push_back(made)

    cdef int move(self, uint32_t s, tuple ranges, uint32_t t) except -1:
        cdef uint64_t address = <uint64_t><size_t><void*>ranges
        # within repetitions the same ranges come again and again
        cdef uint32_t off = map_get(&self.placed, address)
        if off == MISSING:
            off = self.set_of(ranges)
            map_put(&self.placed, address, off)
        self.move_by(s, off, len(ranges), t)
        return 0

    cdef void move_by(self, uint32_t s, uint32_t off, size_t n, uint32_t t) noexcept:
        """As ``move``, by ranges that stand in the pool."""
        cdef NfaMoveC made
        made.source, made.off, made.n, made.target = s, off, <uint32_t>n, t
        self.nfa.moves.push_back(made)

    cdef uint32_t set_of(self, tuple ranges) except? NO_STATE:
        """Where these ranges stand in the pool."""
        off = self.sets.get(ranges)
        if off is None:
            off = self.sets[ranges] = self.nfa.pool.size()
            for low, high in ranges:
                self.nfa.pool.push_back(low)
                self.nfa.pool.push_back(high)
        return off

    cdef uint32_t add(self, Tree tree, uint32_t s) except? NO_STATE:
        """Adds a fragment behind state s; returns where it ends."""
        cdef uint32_t t, start
        cdef Tree part
        if isinstance(tree, Chars):
            t = self.state()
            self.move(s, (<Chars>tree).ranges, t)
            return t
        if isinstance(tree, Cat):
            for part in (<Cat>tree).parts:
                s = self.add(part, s)
            return s
        if isinstance(tree, Repeat):
            return self.add_repeat(<Repeat>tree, s)
        t = self.state()
        if isinstance(tree, Anchor):
            self.empty(s, AT_START if (<Anchor>tree).sign == "^" else AT_END, t)
        elif isinstance(tree, Automaton):
            self.add_states((<Automaton>tree).states, s, t)
        elif isinstance(tree, Look):
            self.empty(s, LOOK + self.number(tree), t)
        else:
            for part in (<Alt?>tree).parts:
                start = self.state()
                self.empty(s, FREE, start)
                self.empty(self.add(part, start), FREE, t)
        return t

    cdef uint32_t add_repeat(self, Repeat tree, uint32_t s) except? NO_STATE:
        cdef uint32_t t
        for _ in range(tree.minimum):
            s = self.add(tree.body, s)
        t = self.state()
        if tree.maximum is None:
            self.empty(s, FREE, t)
            self.empty(self.add(tree.body, t), FREE, t)
            return t
        for _ in range(tree.maximum - tree.minimum):
            self.empty(s, FREE, t)
            s = self.add(tree.body, s)
        self.empty(s, FREE, t)
        return t

    cdef int add_states(self, states, uint32_t s, uint32_t t) except -1:
        """Those of an automaton between s and t."""
        cdef uint32_t first = self.nfa.size, k
        for _ in range(states.size):
            self.state()
        self.empty(s, FREE, first)
        for k, out in enumerate(states.edges):
            for ranges, target in out:
                self.move_by(first + k, self.set_of(ranges), len(ranges), first + <uint32_t>target)
        for k in states.finals:
            self.empty(first + k, FREE, t)
        return 0

    cdef uint32_t number(self, tree):
        """Of one object, however often it is met; equal ones are not looked for."""
        if id(tree) not in self.numbers:
            self.numbers[id(tree)] = len(self.looks)
            self.looks.append(tree)
        return self.numbers[id(tree)]


cdef bint empty_before(const EmptyC& a, const EmptyC& b) noexcept nogil:
    return a.source < b.source


cdef bint move_before(const NfaMoveC& a, const NfaMoveC& b) noexcept nogil:
    return a.source < b.source


cdef void index(NfaC* nfa) noexcept nogil:
    cdef size_t k
    cdef uint32_t s
    sort(nfa.empty.begin(), nfa.empty.end(), empty_before)
    sort(nfa.moves.begin(), nfa.moves.end(), move_before)
    nfa.empty_off.assign(nfa.size + 1, 0)
    nfa.move_off.assign(nfa.size + 1, 0)
    for k in range(nfa.empty.size()):
        nfa.empty_off[nfa.empty[k].source + 1] += 1
    for k in range(nfa.moves.size()):
        nfa.move_off[nfa.moves[k].source + 1] += 1
    for s in range(nfa.size):
        nfa.empty_off[s + 1] += nfa.empty_off[s]
        nfa.move_off[s + 1] += nfa.move_off[s]
    nfa.stamp.assign(nfa.size, 0)
    nfa.now = 0


# -- overlapping moves ---------------------------------------------------------------------------


cdef struct EventC:
    # at a character: a move begins (1) or is over (0)
    uint32_t at, begins, number


cdef bint event_before(const EventC& a, const EventC& b) noexcept nogil:
    return a.at < b.at


cdef int sweep(
    NfaC* nfa, vector[NfaMoveC]* moves, Bound bound,
    vector[vector[uint32_t]]* groups, vector[vector[uint32_t]]* pieces,
) except -1:
    cdef vector[EventC] events
    cdef vector[uint32_t] active, place, ends
    cdef WordTableC known
    cdef EventC event
    cdef uint32_t k, r, start = 0, number
    cdef size_t at = 0
    groups.clear()
    pieces.clear()
    for k in range(<uint32_t>moves.size()):
        for r in range(moves[0][k].n):
            event.number = k
            event.at, event.begins = nfa.pool[moves[0][k].off + 2 * r], 1
            events.push_back(event)
            event.at, event.begins = nfa.pool[moves[0][k].off + 2 * r + 1] + 1, 0
            events.push_back(event)
    sort(events.begin(), events.end(), event_before)
    place.resize(moves.size())
    while at < events.size():
        if active.size():
            bound.look(active.size())
            ends = active
            sort(ends.begin(), ends.end())
            number = table_number(&known, ends.data(), ends.size())
            if number == groups.size():
                groups.push_back(ends)
                pieces.resize(number + 1)
            pieces[0][number].push_back(start)
            pieces[0][number].push_back(events[at].at - 1)
        start = events[at].at
        while at < events.size() and events[at].at == start:
            toggle(&active, &place, &events[at])
            at += 1
    return 0


cdef void toggle(vector[uint32_t]* active, vector[uint32_t]* place, EventC* event) noexcept nogil:
    """``place[k]`` is where move k stands among the active ones. Within a move, ranges do not touch."""
    cdef uint32_t last
    if event.begins:
        place[0][event.number] = <uint32_t>active.size()
        active.push_back(event.number)
    else:
        last = active.back()
        active[0][place[0][event.number]] = last
        place[0][last] = place[0][event.number]
        active.pop_back()


cdef void unique(vector[uint32_t]* members) noexcept nogil:
    """Sorts and drops repeated members."""
    cdef size_t k, n = 0
    sort(members.begin(), members.end())
    for k in range(members.size()):
        if k == 0 or members[0][k] != members[0][n - 1]:
            members[0][n] = members[0][k]
            n += 1
    members.resize(n)
