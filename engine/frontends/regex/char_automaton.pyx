"""Automata over characters: see the header file."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort

from ...automata.minimize cimport LetterEdgeC, LetterEdgesC, refine
from ...budget cimport WorkBudget, spend
from ...grammar.ir cimport Grammar
from ...grammar.lowered cimport CHARS, JSON_CHARS
from ...native.pool cimport vector

from ...errors import LimitExceeded

cdef uint64_t LOOKS = 64    # of it count as one state
# looks that take about a microsecond: a member of a subset or a range takes some 30 ns
cdef uint64_t LOOKS_PER_STEP = 32
# ranges looked at to make an automaton minimal, which is never needed; formats take up to 40,000
cdef uint64_t MINIMAL_LOOKS = 250_000

cdef class Bound:
    def __init__(self, limit, str pointer, WorkBudget budget=None):
        """``budget`` None: one of its own."""
        self.limit, self.pointer, self.looks = limit, pointer, 0
        self.budget = WorkBudget() if budget is None else budget

    cdef int look(self, uint64_t looks) except -1:
        cdef uint64_t before = self.looks // LOOKS_PER_STEP
        self.looks += looks
        spend(self.budget, self.looks // LOOKS_PER_STEP - before)
        return self.compare(self.looks // LOOKS)

    cdef int check(self, uint64_t states) except -1:
        spend(self.budget, 1)
        return self.compare(states)

    cdef int compare(self, uint64_t states) except -1:
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
    def size(self):
        return state_count(&self.states)

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
            spend(g.budget, 1 + (self.states.first[s + 1] - self.states.first[s]) // 8)
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

    cpdef CharAutomaton minimal(self, Bound bound=None):
        cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
        cdef bint is_done
        cdef uint64_t looks = 0
        cdef const LetterEdgesC* letters = self.letters()
        with nogil:
            is_done = minimise(&self.states, letters, &made.states, &looks)
        if bound is not None:
            spend(bound.budget, looks // LOOKS_PER_STEP)
        return made if is_done else self

    cdef const LetterEdgesC* letters(self) noexcept:
        if self.sorted.off.size() == 0:
            list_letters(&self.states, &self.sorted)
        return &self.sorted


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


cdef bint is_all(StatesC* states, uint32_t s) noexcept nogil:
    """Whether every text is accepted from here on, as far as one state shows it."""
    cdef uint32_t k = states.first[s]
    if not states.final[s] or states.first[s + 1] != k + 1 or states.moves[k].target != s:
        return False
    return (
        states.moves[k].n == 2
        and states.pool[states.moves[k].off] == 0 and states.pool[states.moves[k].off + 3] == 0x10FFFF
        and states.pool[states.moves[k].off + 1] == 0xD7FF
        and states.pool[states.moves[k].off + 2] == 0xE000
    )


# -- moves of one state --------------------------------------------------------------------------


cdef void append_state(CharStateC* char_state, StatesC* out) noexcept nogil:
    """One move to each target, in the order of their characters; ranges that touch become one."""
    cdef Range place
    cdef MoveC move
    cdef size_t k
    cdef uint32_t low, high
    if append_apart(char_state, out):
        return
    char_state.made.clear()
    char_state.order.clear()
    sort(char_state.parts.begin(), char_state.parts.end())
    for k in range(char_state.parts.size()):
        low, high = char_state.parts[k].second.first, char_state.parts[k].second.second
        if char_state.made.size() == 0 or char_state.made.back().target != char_state.parts[k].first:
            move.off, move.n, move.target = <uint32_t>out.pool.size(), 0, char_state.parts[k].first
            place.first, place.second = low, <uint32_t>char_state.made.size()
            char_state.made.push_back(move)
            char_state.order.push_back(place)
        if char_state.made.back().n and low <= out.pool.back() + 1:
            out.pool[out.pool.size() - 1] = max(out.pool.back(), high)
        else:
            out.pool.push_back(low)
            out.pool.push_back(high)
            char_state.made[char_state.made.size() - 1].n += 1
    sort(char_state.order.begin(), char_state.order.end())
    out.first.push_back(<uint32_t>out.moves.size())
    for place in char_state.order:
        out.moves.push_back(char_state.made[place.second])
    char_state.parts.clear()


cdef bint append_apart(CharStateC* char_state, StatesC* out) noexcept nogil:
    """The same, for ranges that stand in order and have different targets; False: others."""
    cdef uint32_t state = <uint32_t>out.first.size(), target
    cdef MoveC move
    cdef size_t k
    for k in range(char_state.parts.size()):
        target = char_state.parts[k].first
        if char_state.seen.size() <= target:
            char_state.seen.resize(2 * <size_t>target + 1, NO_STATE)
        if char_state.seen[target] == state or (
                k and char_state.parts[k].second.first < char_state.parts[k - 1].second.first):
            return False
        char_state.seen[target] = state
    out.first.push_back(<uint32_t>out.moves.size())
    for k in range(char_state.parts.size()):
        move.off, move.n, move.target = <uint32_t>out.pool.size(), 1, char_state.parts[k].first
        out.pool.push_back(char_state.parts[k].second.first)
        out.pool.push_back(char_state.parts[k].second.second)
        out.moves.push_back(move)
    char_state.parts.clear()
    return True


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


cdef bint minimise(
    StatesC* states, const LetterEdgesC* letters, StatesC* out, uint64_t* looks
) noexcept nogil:
    """False if it takes too long."""
    cdef vector[uint32_t] parts
    cdef uint32_t n = state_count(states), s, count
    if n == 0:
        finish(out)
        return True
    for s in range(n):
        parts.push_back(states.final[s] != states.final[0])
    count = 1
    for s in parts:
        count = max(count, s + 1)
    count = refine(letters, &parts, count, MINIMAL_LOOKS, looks)
    if count:
        merge_parts(states, &parts, count, out)
    return count > 0


cdef bint edge_before(const LetterEdgeC& a, const LetterEdgeC& b) noexcept nogil:
    return a.low < b.low


cdef void list_letters(StatesC* states, LetterEdgesC* out) noexcept nogil:
    """The ranges of all states, in the order of their characters."""
    cdef LetterEdgeC made
    cdef uint32_t s, k, r
    cdef MoveC* move
    for s in range(state_count(states)):
        out.off.push_back(<uint32_t>out.edges.size())
        for k in range(states.first[s], states.first[s + 1]):
            move = &states.moves[k]
            made.target = move.target
            for r in range(move.n):
                made.low, made.high = states.pool[move.off + 2 * r], states.pool[move.off + 2 * r + 1]
                out.edges.push_back(made)
        sort(out.edges.begin() + out.off[s], out.edges.end(), edge_before)
    out.off.push_back(<uint32_t>out.edges.size())


cdef void joined_state(
    StatesC* states, uint32_t s, vector[uint32_t]* part, CharStateC* char_state, StatesC* out
) noexcept nogil:
    """Appends a state with its moves up to the parts of their targets."""
    cdef uint32_t k, r
    cdef MoveC* move
    for k in range(states.first[s], states.first[s + 1]):
        move = &states.moves[k]
        for r in range(move.n):
            add_range(
                char_state, states.pool[move.off + 2 * r], states.pool[move.off + 2 * r + 1], part[0][move.target])
    append_state(char_state, out)


cdef void merge_parts(StatesC* states, vector[uint32_t]* part, uint32_t count, StatesC* out) noexcept nogil:
    """Parts are numbered by their first members, so that those come in order."""
    cdef uint32_t s, made = 0
    cdef CharStateC char_state
    out.final.assign(count, 0)
    for s in range(state_count(states)):
        if part[0][s] == made:
            joined_state(states, s, part, &char_state, out)
            made += 1
        if states.final[s]:
            out.final[part[0][s]] = 1
    finish(out)


# -- sets of texts -------------------------------------------------------------------------------


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
