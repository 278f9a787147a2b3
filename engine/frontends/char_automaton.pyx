"""Automata over characters: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair

from ..flat cimport CHARS, JSON_CHARS
from ..ir cimport Grammar
from ..pool cimport vector
from ..wordtable cimport WordTableC, table_clear, table_number, table_size

from ..errors import LimitExceeded
from ..ir import ANY_CHAR
from .charset import complement, normalise
from .regex_tree import ANYTHING, Alt, Anchor, Cat, Chars, Repeat, cat

ctypedef pair[uint32_t, uint32_t] Range

cdef uint64_t LOOKS = 64    # of it count as one state
# ranges looked at to make an automaton minimal, which is never needed; formats take up to 100,000
cdef uint64_t MINIMAL_LOOKS = 250_000
# lengths tried to find one from which on all occur; people's patterns need fewer than 10
cdef uint32_t STEADY = 64

cdef enum:
    # signs of empty moves; in a mask of those that hold
    FREE = 0
    AT_START = 1
    AT_END = 2
    NO_STATE = 0xFFFFFFFF


cdef class Bound:
    def __init__(self, limit, str pointer):
        self.limit, self.pointer, self.looks = limit, pointer, 0

    cdef int look(self, uint64_t looks) except -1:
        self.looks += looks
        return self.check(self.looks // LOOKS)

    cdef int check(self, uint64_t states) except -1:
        if states > self.limit:
            raise LimitExceeded("pattern_states", self.limit, states, self.pointer)
        return 0


cdef class CharAutomaton:
    def __init__(self, edges, finals):
        """From lists of (ranges, target) by state."""
        cdef MoveC move
        for out in edges:
            self.states.first.push_back(<uint32_t>self.states.moves.size())
            for ranges, target in out:
                move.off, move.n, move.target = <uint32_t>self.states.pool.size(), len(ranges), target
                for low, high in ranges:
                    self.states.pool.push_back(low)
                    self.states.pool.push_back(high)
                self.states.moves.push_back(move)
        self.states.first.push_back(<uint32_t>self.states.moves.size())
        self.states.final.assign(state_count(&self.states), 0)
        for state in finals:
            self.states.final[<uint32_t>state] = 1

    @property
    def edges(self):
        cdef uint32_t s, k
        return [
            [
                (ranges_of(&self.states, &self.states.moves[k]), self.states.moves[k].target)
                for k in range(self.states.first[s], self.states.first[s + 1])
            ]
            for s in range(state_count(&self.states))
        ]

    @property
    def finals(self):
        cdef uint32_t s
        return {s for s in range(state_count(&self.states)) if self.states.final[s]}

    def to_node(self, grammar, *, bint inside_json=True):
        cdef Grammar g = grammar
        cdef vector[uint32_t] edges, finals
        cdef uint32_t s, k, kind = JSON_CHARS if inside_json else CHARS
        cdef MoveC move
        if state_count(&self.states) == 0:
            return grammar.fail()
        for s in range(state_count(&self.states)):
            if self.states.final[s]:
                finals.push_back(s)
            for k in range(self.states.first[s], self.states.first[s + 1]):
                move = self.states.moves[k]
                edges.push_back(s)
                edges.push_back(g.add_set(kind, &self.states.pool[move.off], move.n))
                edges.push_back(move.target)
        return g.add_graph(
            state_count(&self.states), edges.data(), edges.size() // 3, finals.data(), finals.size())

    def accepts(self, str text):
        cdef uint32_t state = 0
        cdef Py_UCS4 c
        if state_count(&self.states) == 0:
            return False
        for c in text:
            state = target_of(&self.states, state, c)
            if state == NO_STATE:
                return False
        return bool(self.states.final[state])

    def minimal(self):
        cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
        return made if minimise(&self.states, &made.states) else self


cdef inline uint32_t state_count(StatesC* states) noexcept nogil:
    return <uint32_t>states.first.size() - 1 if states.first.size() else 0


cdef uint32_t target_of(StatesC* states, uint32_t s, uint32_t c) noexcept nogil:
    cdef uint32_t k, r
    cdef MoveC* move
    for k in range(states.first[s], states.first[s + 1]):
        move = &states.moves[k]
        for r in range(move.n):
            if states.pool[move.off + 2 * r] <= c <= states.pool[move.off + 2 * r + 1]:
                return move.target
    return NO_STATE


cdef tuple ranges_of(StatesC* states, MoveC* move):
    cdef uint32_t k
    return tuple([
        (states.pool[move.off + 2 * k], states.pool[move.off + 2 * k + 1]) for k in range(move.n)
    ])


# -- moves of one state --------------------------------------------------------------------------


cdef struct DraftC:
    # targets with ranges that lead there, in any order
    vector[pair[uint32_t, Range]] parts


cdef inline void draft_add(DraftC* draft, uint32_t low, uint32_t high, uint32_t target) noexcept nogil:
    cdef pair[uint32_t, Range] part
    part.first, part.second.first, part.second.second = target, low, high
    draft.parts.push_back(part)


cdef void append_state(DraftC* draft, StatesC* out) noexcept nogil:
    """One move to each target, in the order of their characters; ranges that touch become one."""
    cdef vector[MoveC] made
    cdef vector[Range] order
    cdef Range place
    cdef MoveC move
    cdef size_t k
    cdef uint32_t low, high
    sort(draft.parts.begin(), draft.parts.end())
    for k in range(draft.parts.size()):
        low, high = draft.parts[k].second.first, draft.parts[k].second.second
        if made.size() == 0 or made.back().target != draft.parts[k].first:
            move.off, move.n, move.target = <uint32_t>out.pool.size(), 0, draft.parts[k].first
            place.first, place.second = low, <uint32_t>made.size()
            made.push_back(move)
            order.push_back(place)
        if made.back().n and low <= out.pool.back() + 1:
            out.pool[out.pool.size() - 1] = max(out.pool.back(), high)
        else:
            out.pool.push_back(low)
            out.pool.push_back(high)
            made[made.size() - 1].n += 1
    sort(order.begin(), order.end())
    out.first.push_back(<uint32_t>out.moves.size())
    for place in order:
        out.moves.push_back(made[place.second])
    draft.parts.clear()


cdef void finish(StatesC* states) noexcept nogil:
    states.first.push_back(<uint32_t>states.moves.size())


cdef void trim(StatesC* states) noexcept nogil:
    """Drops states that can't reach a final one."""
    cdef uint32_t n = state_count(states), s, k, kept = 0
    cdef vector[uint32_t] off, sources, at, todo, names
    cdef StatesC out
    off.assign(n + 2, 0)
    for k in range(<uint32_t>states.moves.size()):
        off[states.moves[k].target + 1] += 1
    for s in range(n):
        off[s + 1] += off[s]
    at = off
    sources.resize(states.moves.size())
    for s in range(n):
        for k in range(states.first[s], states.first[s + 1]):
            sources[at[states.moves[k].target]] = s
            at[states.moves[k].target] += 1
    names.assign(n, NO_STATE)
    for s in range(n):
        if states.final[s]:
            names[s] = 0
            todo.push_back(s)
    while todo.size():
        s = todo.back()
        todo.pop_back()
        for k in range(off[s], off[s + 1]):
            if names[sources[k]] == NO_STATE:
                names[sources[k]] = 0
                todo.push_back(sources[k])
    if n == 0 or names[0] == NO_STATE:
        states.first.clear()
        states.moves.clear()
        states.pool.clear()
        states.final.clear()
        return
    for s in range(n):
        if names[s] != NO_STATE:
            names[s] = kept
            kept += 1
    if kept == n:
        return
    for s in range(n):
        if names[s] == NO_STATE:
            continue
        out.first.push_back(<uint32_t>out.moves.size())
        out.final.push_back(states.final[s])
        for k in range(states.first[s], states.first[s + 1]):
            if names[states.moves[k].target] != NO_STATE:
                out.moves.push_back(states.moves[k])
                out.moves[out.moves.size() - 1].target = names[states.moves[k].target]
    finish(&out)
    states.first.swap(out.first)
    states.moves.swap(out.moves)
    states.final.swap(out.final)


cdef bint minimise(StatesC* states, StatesC* out) noexcept nogil:
    """Moore's algorithm; a step costs all moves, and few are needed. False if it takes too long."""
    cdef uint32_t n = state_count(states), s, k, r, before = 0, count
    cdef uint64_t step = 0, looks = 0
    cdef vector[uint32_t] part, refined, key
    cdef WordTableC known
    cdef DraftC draft
    cdef StatesC joined
    for k in range(<uint32_t>states.moves.size()):
        step += states.moves[k].n
    count = 0
    for s in range(n):
        part.push_back(states.final[s])
        count |= 1 << states.final[s]
    count = (count & 1) + (count >> 1)
    refined.resize(n)
    while before < count:
        before = count
        looks += step
        if looks > MINIMAL_LOOKS:
            return False
        table_clear(&known)
        for s in range(n):
            joined.first.clear()
            joined.moves.clear()
            joined.pool.clear()
            joined_state(states, s, &part, &draft, &joined)
            key.clear()
            key.push_back(part[s])
            for k in range(<uint32_t>joined.moves.size()):
                key.push_back(joined.moves[k].target)
                key.push_back(joined.moves[k].n)
                for r in range(2 * joined.moves[k].n):
                    key.push_back(joined.pool[joined.moves[k].off + r])
            refined[s] = table_number(&known, key.data(), key.size())
        part.swap(refined)
        count = table_size(&known)
    merge_parts(states, &part, count, out)
    return True


cdef void joined_state(
    StatesC* states, uint32_t s, vector[uint32_t]* part, DraftC* draft, StatesC* out
) noexcept nogil:
    """Appends a state with its moves up to the parts of their targets."""
    cdef uint32_t k, r
    cdef MoveC* move
    for k in range(states.first[s], states.first[s + 1]):
        move = &states.moves[k]
        for r in range(move.n):
            draft_add(
                draft, states.pool[move.off + 2 * r], states.pool[move.off + 2 * r + 1], part[0][move.target])
    append_state(draft, out)


cdef void merge_parts(StatesC* states, vector[uint32_t]* part, uint32_t count, StatesC* out) noexcept nogil:
    """Parts are numbered by their first members, so that those come in order."""
    cdef uint32_t s, made = 0
    cdef DraftC draft
    out.final.assign(count, 0)
    for s in range(state_count(states)):
        if part[0][s] == made:
            joined_state(states, s, part, &draft, out)
            made += 1
        if states.final[s]:
            out.final[part[0][s]] = 1
    finish(out)


# -- from trees ----------------------------------------------------------------------------------


cdef struct EmptyC:
    uint32_t source, sign, target


cdef struct NfaMoveC:
    uint32_t source, off, n, target


cdef struct NfaC:
    # moves by source once ``index`` was called: moves[move_off[s]..move_off[s + 1] - 1]
    uint32_t size
    vector[EmptyC] empty
    vector[NfaMoveC] moves
    vector[uint32_t] pool
    vector[uint32_t] empty_off, move_off
    vector[uint32_t] stamp
    uint32_t now


cdef class Thompson:
    """Thompson's construction."""
    cdef NfaC nfa
    cdef Bound bound
    cdef dict sets      # where the ranges of a set stand in the pool

    def __cinit__(self, Bound bound):
        self.bound, self.sets = bound, {}

    cdef uint32_t state(self) except? NO_STATE:
        self.bound.check(self.nfa.size + 1)
        self.nfa.size += 1
        return self.nfa.size - 1

    cdef void empty(self, uint32_t s, uint32_t sign, uint32_t t):
        cdef EmptyC made
        made.source, made.sign, made.target = s, sign, t
        self.nfa.empty.push_back(made)

    cdef int move(self, uint32_t s, tuple ranges, uint32_t t) except -1:
        cdef NfaMoveC made
        off = self.sets.get(ranges)
        if off is None:
            off = self.sets[ranges] = self.nfa.pool.size()
            for low, high in ranges:
                self.nfa.pool.push_back(low)
                self.nfa.pool.push_back(high)
        made.source, made.off, made.n, made.target = s, off, <uint32_t>len(ranges), t
        self.nfa.moves.push_back(made)
        return 0

    cdef uint32_t add(self, tree, uint32_t s) except? NO_STATE:
        """Adds a fragment behind state s; returns where it ends."""
        cdef uint32_t t, loop, start
        if isinstance(tree, Cat):
            for part in tree.parts:
                s = self.add(part, s)
            return s
        if isinstance(tree, Repeat):
            for _ in range(tree.minimum):
                s = self.add(tree.body, s)
            if tree.maximum is None:
                loop = self.state()
                self.empty(s, FREE, loop)
                self.empty(self.add(tree.body, loop), FREE, loop)
                return loop
        t = self.state()
        if isinstance(tree, Chars):
            self.move(s, tree.ranges, t)
        elif isinstance(tree, Anchor):
            self.empty(s, AT_START if tree.sign == "^" else AT_END, t)
        elif isinstance(tree, Alt):
            for part in tree.parts:
                start = self.state()
                self.empty(s, FREE, start)
                self.empty(self.add(part, start), FREE, t)
        else:
            for _ in range((tree.maximum or 0) - tree.minimum):
                self.empty(s, FREE, t)
                s = self.add(tree.body, s)
            self.empty(s, FREE, t)
        return t


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


def from_tree(tree, Bound bound, *, bint search):
    cdef Thompson made = Thompson(bound)
    cdef CharAutomaton out = CharAutomaton.__new__(CharAutomaton)
    cdef uint32_t start = made.state()
    cdef uint32_t final = made.add(cat((ANYTHING, tree, ANYTHING)) if search else tree, start)
    index(&made.nfa)
    determinise(&made.nfa, start, final, bound, &out.states)
    trim(&out.states)
    return out


cdef int determinise(NfaC* nfa, uint32_t start, uint32_t final, Bound bound, StatesC* out) except -1:
    """Subset construction. The start is a state of its own: what ^ allows there does not hold where
    the same set is met again; so the subset of state k > 0 is number k - 1.
    """
    cdef WordTableC subsets
    cdef vector[uint32_t] members, end
    cdef vector[vector[uint32_t]] targets
    cdef vector[vector[uint32_t]] pieces
    cdef DraftC draft
    cdef uint32_t s = 0, number, before
    cdef size_t k, j
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


cdef struct EventC:
    # at a character: a move begins (1) or is over (0)
    uint32_t at, begins, number


cdef bint event_before(const EventC& a, const EventC& b) noexcept nogil:
    return a.at < b.at


cdef int cut(
    NfaC* nfa, vector[uint32_t]* members, Bound bound,
    vector[vector[uint32_t]]* targets, vector[vector[uint32_t]]* pieces,
) except -1:
    """Cuts overlapping moves into disjoint ranges, by the set of targets: ``pieces[k]`` are the bounds
    of the ranges that lead to ``targets[k]``.
    """
    cdef vector[NfaMoveC] moves
    cdef vector[EventC] events
    cdef vector[uint32_t] active, place, ends
    cdef WordTableC known
    cdef EventC event
    cdef uint32_t s, k, r, start = 0, number
    cdef uint64_t ranges = 0
    cdef size_t at
    targets.clear()
    pieces.clear()
    for s in members[0]:
        for k in range(nfa.move_off[s], nfa.move_off[s + 1]):
            moves.push_back(nfa.moves[k])
            ranges += nfa.moves[k].n
    bound.look(ranges)
    if moves.size() == 1:
        if moves[0].n:
            targets.resize(1)
            targets[0][0].push_back(moves[0].target)
            pieces.resize(1)
            pieces[0][0].assign(
                nfa.pool.begin() + moves[0].off, nfa.pool.begin() + moves[0].off + 2 * moves[0].n)
        return 0
    for k in range(<uint32_t>moves.size()):
        for r in range(moves[k].n):
            event.number = k
            event.at, event.begins = nfa.pool[moves[k].off + 2 * r], 1
            events.push_back(event)
            event.at, event.begins = nfa.pool[moves[k].off + 2 * r + 1] + 1, 0
            events.push_back(event)
    sort(events.begin(), events.end(), event_before)
    place.resize(moves.size())
    at = 0
    while at < events.size():
        if active.size():
            bound.look(active.size())
            ends.clear()
            for k in active:
                ends.push_back(moves[k].target)
            unique(&ends)
            number = table_number(&known, ends.data(), ends.size())
            if number == targets.size():
                targets.push_back(ends)
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


# -- from automata -------------------------------------------------------------------------------


def intersection(CharAutomaton a, CharAutomaton b, Bound bound):
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef WordTableC ids
    cdef DraftC draft
    cdef uint32_t[2] key = [0, 0]
    cdef uint32_t s = 0, left, right, i, j, number, known, before
    if state_count(&a.states) == 0 or state_count(&b.states) == 0:
        return made
    table_number(&ids, key, 2)
    while s < table_size(&ids):
        left, right = ids.words[ids.off[s]], ids.words[ids.off[s] + 1]
        made.states.final.push_back(a.states.final[left] & b.states.final[right])
        for i in range(a.states.first[left], a.states.first[left + 1]):
            for j in range(b.states.first[right], b.states.first[right + 1]):
                bound.look(a.states.moves[i].n + b.states.moves[j].n)
                before = <uint32_t>draft.parts.size()
                add_common(&a.states, &a.states.moves[i], &b.states, &b.states.moves[j], &draft)
                if draft.parts.size() == before:
                    continue
                key[0], key[1] = a.states.moves[i].target, b.states.moves[j].target
                known = table_size(&ids)
                number = table_number(&ids, key, 2)
                if number == known:
                    bound.check(<uint64_t>known + 1)
                while before < draft.parts.size():
                    draft.parts[before].first = number
                    before += 1
        append_state(&draft, &made.states)
        s += 1
    finish(&made.states)
    trim(&made.states)
    return made


cdef void add_common(StatesC* a, MoveC* left, StatesC* b, MoveC* right, DraftC* draft) noexcept nogil:
    """The characters of both moves, without a target so far."""
    cdef uint32_t i = 0, j = 0, low, high
    while i < left.n and j < right.n:
        low = max(a.pool[left.off + 2 * i], b.pool[right.off + 2 * j])
        high = min(a.pool[left.off + 2 * i + 1], b.pool[right.off + 2 * j + 1])
        if low <= high:
            draft_add(draft, low, high, 0)
        if a.pool[left.off + 2 * i + 1] < b.pool[right.off + 2 * j + 1]:
            i += 1
        else:
            j += 1


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


def bounded_node(grammar, CharAutomaton automaton, minimum, maximum, Bound bound):
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
        steady = steady_from(&automaton.states)
        if steady == NO_STATE or (maximum is not None and maximum - minimum < steady):
            counted, minimum = with_length(automaton, minimum, None, bound), 0
    if maximum is not None and shortest_text(&counted.states) > maximum:
        return grammar.empty() if counted.states.final[0] else grammar.fail()
    return grammar.bounded(counted.to_node(grammar), minimum, maximum)


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


def without(CharAutomaton automaton):
    edges = automaton.edges or [[]]
    sink = len(edges)
    for out in edges:
        rest = complement(normalise([pair for ranges, _ in out for pair in ranges]))
        if rest:
            out.append((rest, sink))
    edges.append([(ANY_CHAR, sink)])
    return CharAutomaton(edges, set(range(sink + 1)) - automaton.finals)


def words(texts):
    cdef list children = [{}]
    cdef set ends = set()
    for text in texts:
        at = 0
        for c in map(ord, text):
            found = children[at].get(c)
            if found is None:
                found = children[at][c] = len(children)
                children.append({})
            at = found
        ends.add(at)
    return CharAutomaton([[(((c, c),), t) for c, t in sorted(out.items())] for out in children], ends)


def excluding(texts):
    return without(words(texts))
