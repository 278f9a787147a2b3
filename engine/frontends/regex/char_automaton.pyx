"""Automata over characters: minimisation, tries, products, quotients and lengths."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ...automata.determinize cimport LetterEdgeC, LetterEdgesC, number_live, refine
from ...grammar.ir cimport CHARS, JSON_CHARS, Grammar
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget, spend
from ...native.word_table cimport WordTableC, table_number, table_size

from ...errors import LimitExceeded
from ...grammar.ir import ANY_CHAR

#: units of work (members of subsets, ranges) that count as one state
cdef uint64_t WORK_PER_STATE = 64
#: units of work in a step, about a microsecond: a member of a subset or a range takes about 30 ns
cdef uint64_t WORK_PER_STEP = 32
#: ranges that minimisation may examine before it gives up; formats take up to 40,000
cdef uint64_t MINIMISATION_WORK = 250_000

cdef class Bound:
    def __init__(self, limit, str pointer, WorkBudget budget=None):
        self.limit, self.pointer, self.work = limit, pointer, 0
        self.budget = WorkBudget() if budget is None else budget

    cdef int count_work(self, uint64_t units) except -1:
        cdef uint64_t before = self.work // WORK_PER_STEP
        self.work += units
        spend(self.budget, self.work // WORK_PER_STEP - before)
        return self.check_limit(self.work // WORK_PER_STATE)

    cdef int check_states(self, uint64_t states) except -1:
        spend(self.budget, 1)
        return self.check_limit(states)

    cdef int check_limit(self, uint64_t states) except -1:
        if states > self.limit:
            raise LimitExceeded("pattern_states", self.limit, states, self.pointer)
        return 0


cdef class CharAutomaton:
    def __init__(self, edges, finals):
        cdef CharMoveC move
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
        cdef uint32_t s, k, r
        cdef const uint32_t* pool = self.states.pool.data()
        cdef list found = [[] for _ in range(state_count(&self.states))]
        cdef CharMoveC move
        for s in range(state_count(&self.states)):
            for k in range(self.states.first[s], self.states.first[s + 1]):
                move = self.states.moves[k]
                ranges = [(pool[r], pool[r + 1]) for r in range(move.off, move.off + 2 * move.n, 2)]
                found[s].append((tuple(ranges), move.target))
        return found

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
        cdef CharMoveC move
        if state_count(&self.states) == 0:
            return grammar.fail()
        self.check_edges(g, inside_json)
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

    cdef int check_edges(self, Grammar grammar, bint inside_json) except -1:
        """Refuse an automaton whose edges a rule cannot hold, before it becomes nodes.

        Raises:
            LimitExceeded: ``rule_edges``, estimated as ``LoweredGrammar.weight`` does.
        """
        cdef uint64_t edges = 0
        cdef CharMoveC move
        for move in self.states.moves:
            edges += 20 + 24 * <uint64_t>move.n if inside_json else (
                1 if move.n == 1 and self.states.pool[move.off + 1] < 128 else 8 * <uint64_t>move.n)
        if edges > <uint64_t>grammar.limits.rule_edges:
            raise LimitExceeded("rule_edges", grammar.limits.rule_edges, edges)
        return 0

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
        cdef CharAutomaton automaton = CharAutomaton.__new__(CharAutomaton)
        cdef bint is_done
        cdef uint64_t looks = 0
        if letter_count(&self.states) > MINIMISATION_WORK:
            # the first round of the refinement would already exceed it
            return self
        with nogil:
            is_done = minimise(&self.states, self.letters(), &automaton.states, &looks)
        if bound is not None:
            spend(bound.budget, looks // WORK_PER_STEP)
        return automaton if is_done else self

    cdef const LetterEdgesC* letters(self) noexcept nogil:
        if self.sorted.off.size() == 0:
            list_letters(&self.states, &self.sorted)
        return &self.sorted


cdef uint32_t target_of(StatesC* states, uint32_t s, uint32_t c) noexcept nogil:
    cdef uint32_t k, r
    cdef CharMoveC* move
    for k in range(states.first[s], states.first[s + 1]):
        move = &states.moves[k]
        for r in range(move.n):
            if states.pool[move.off + 2 * r] <= c <= states.pool[move.off + 2 * r + 1]:
                return move.target
    return NO_STATE


cdef bint is_all(StatesC* states, uint32_t s) noexcept nogil:
    cdef uint32_t k = states.first[s]
    if not states.final[s] or states.first[s + 1] != k + 1 or states.moves[k].target != s:
        return False
    return (
        states.moves[k].n == 2
        and states.pool[states.moves[k].off] == 0 and states.pool[states.moves[k].off + 3] == 0x10FFFF
        and states.pool[states.moves[k].off + 1] == 0xD7FF
        and states.pool[states.moves[k].off + 2] == 0xE000
    )


# -- moves of one state ----------------------------------------------------------------------------


cdef void append_state(CharStateC* char_state, StatesC* out) noexcept nogil:
    """Append a state with one move to each target, by first character; adjacent ranges are merged."""
    cdef Range place
    cdef CharMoveC move
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
    """Append a state whose ranges are sorted and have distinct targets; False: they are not."""
    cdef uint32_t state = <uint32_t>out.first.size(), target
    cdef CharMoveC move
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
    """Drop states that cannot reach a final one."""
    cdef uint32_t n = state_count(states), s, k, kept
    cdef vector[uint32_t] targets, owners, names
    cdef StatesC out
    for s in range(n):
        for k in range(states.first[s], states.first[s + 1]):
            targets.push_back(states.moves[k].target)
        owners.resize(targets.size(), s)
        names.push_back(0 if states.final[s] else NO_STATE)
    kept = number_live(&targets, &owners, False, &names)
    if n == 0 or names[0] == NO_STATE:
        states.first.clear()
        states.moves.clear()
        states.pool.clear()
        states.final.clear()
        return
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
    """Write the minimal automaton; False: it would take too much work."""
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
    count = refine(letters, &parts, count, MINIMISATION_WORK, looks)
    if count:
        merge_parts(states, &parts, count, out)
    return count > 0


cdef bint edge_before(const LetterEdgeC& a, const LetterEdgeC& b) noexcept nogil:
    return a.low < b.low


cdef uint64_t letter_count(StatesC* states) noexcept nogil:
    """Return the ranges of all moves."""
    cdef uint64_t count = 0
    cdef CharMoveC move
    for move in states.moves:
        count += move.n
    return count


cdef void list_letters(StatesC* states, LetterEdgesC* out) noexcept nogil:
    """List the ranges of all states in the order of their characters."""
    cdef LetterEdgeC made
    cdef uint32_t s, k, r
    cdef CharMoveC* move
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
    """Append the state of a block: the moves of its member s, with blocks as targets."""
    cdef uint32_t k, r
    cdef CharMoveC* move
    for k in range(states.first[s], states.first[s + 1]):
        move = &states.moves[k]
        for r in range(move.n):
            add_range(
                char_state, states.pool[move.off + 2 * r], states.pool[move.off + 2 * r + 1], part[0][move.target])
    append_state(char_state, out)


cdef void merge_parts(StatesC* states, vector[uint32_t]* part, uint32_t count, StatesC* out) noexcept nogil:
    """Write one state for each block; blocks are numbered by their first members."""
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


# -- sets of texts ---------------------------------------------------------------------------------


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
    if not ends:
        return CharAutomaton([], ())
    return CharAutomaton([[(((c, c),), t) for c, t in sorted(out.items())] for out in children], ends)


# -- products ----------------------------------------------------------------------------------------

cdef enum:
    END_OF_CHARS = 0x110000


def intersection(accepting, rejecting, Bound bound):
    cdef CharAutomaton automaton = CharAutomaton.__new__(CharAutomaton)
    cdef Product product = Product(accepting, rejecting, bound)
    cdef CharStateC char_state
    cdef uint32_t s = 0
    if product.is_nothing:
        return automaton
    while s < table_size(&product.states):
        automaton.states.final.push_back(product.is_final(s))
        product.expand(s, &char_state)
        append_state(&char_state, &automaton.states)
        s += 1
    finish(&automaton.states)
    trim(&automaton.states)
    return automaton


def is_empty(accepting, rejecting, Bound bound):
    cdef Product product = Product(accepting, rejecting, bound)
    cdef CharStateC char_state
    cdef uint32_t s = 0
    while not product.is_nothing and s < table_size(&product.states):
        if product.is_final(s):
            return False
        product.expand(s, &char_state)
        char_state.parts.clear()
        s += 1
    return True


def memberships(automata, Bound bound, uint64_t most_classes):
    cdef Product product = Product((), automata, bound)
    cdef CharStateC char_state
    cdef uint32_t s = 0, k = 0, state
    cdef vector[uint8_t] bits
    cdef list found = []
    cdef CharAutomaton each
    product.is_union = True
    while s < table_size(&product.states):
        if table_size(&product.states) > most_classes:
            return None
        product.expand(s, &char_state)
        char_state.parts.clear()
        s += 1
    for each in automata:
        bits.assign(s // 8 + 1, 0)
        if state_count(&each.states):
            # the first part accepts every text, and automata without states are no parts
            k += 1
            bound.count_work(s // 8)
            for state in range(s):
                if product.has(state, k):
                    bits[state >> 3] |= 1 << (state & 7)
        found.append(int.from_bytes(<bytes>(<char*>bits.data())[:bits.size()], "little"))
    return found


def shortest(CharAutomaton automaton):
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef StatesC* states = &automaton.states
    cdef uint32_t s
    made.states.pool, made.states.final = states.pool, states.final
    for s in range(state_count(states)):
        made.states.first.push_back(<uint32_t>made.states.moves.size())
        if not states.final[s]:
            made.states.moves.insert(
                made.states.moves.end(), states.moves.begin() + states.first[s],
                states.moves.begin() + states.first[s + 1])
    finish(&made.states)
    trim(&made.states)
    return made


def before(CharAutomaton automaton, CharAutomaton ends, Bound bound):
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef Quotient quotient = Quotient(automaton, ends, bound)
    made.states = automaton.states
    quotient.mark(&made.states.final)
    trim(&made.states)
    return made


cdef class Quotient:
    """Pairs of a state of ``left`` and a state of ``right`` that texts reach together, from each state of
    ``left`` and the start of ``right`` on.
    """
    cdef CharAutomaton left, right
    cdef Bound bound
    cdef WordTableC pairs
    # moves between pairs, by their numbers
    cdef vector[uint32_t] sources, targets

    def __cinit__(self, CharAutomaton left, CharAutomaton right, Bound bound):
        cdef uint32_t[2] key = [0, 0]
        cdef uint32_t at = 0
        self.left, self.right, self.bound = left, right, bound
        if state_count(&right.states) == 0:
            return
        bound.count_work(letter_count(&left.states) + letter_count(&right.states))
        for at in range(state_count(&left.states)):
            key[0] = at
            table_number(&self.pairs, key, 2)
        at = 0
        while at < table_size(&self.pairs):
            self.expand(at)
            at += 1

    cdef int expand(self, uint32_t number) except -1:
        """Add the moves of a pair."""
        cdef uint32_t s = self.pairs.words[2 * number], t = self.pairs.words[2 * number + 1], target
        cdef const LetterEdgesC* left = self.left.letters()
        cdef const LetterEdgesC* right = self.right.letters()
        cdef const LetterEdgeC* a = left.edges.data() + left.off[s]
        cdef const LetterEdgeC* a_end = left.edges.data() + left.off[s + 1]
        cdef const LetterEdgeC* b = right.edges.data() + right.off[t]
        cdef const LetterEdgeC* b_end = right.edges.data() + right.off[t + 1]
        cdef uint32_t[2] key
        self.bound.count_work(1 + (a_end - a) + (b_end - b))
        while a < a_end and b < b_end:
            if max(a.low, b.low) <= min(a.high, b.high):
                key[0], key[1] = a.target, b.target
                target = table_number(&self.pairs, key, 2)
                self.bound.check_limit(table_size(&self.pairs))
                if self.targets.size() == 0 or self.sources.back() != number or self.targets.back() != target:
                    self.sources.push_back(number)
                    self.targets.push_back(target)
            if a.high < b.high:
                a += 1
            else:
                b += 1
        return 0

    cdef void mark(self, vector[uint8_t]* final) noexcept nogil:
        """Make the states of ``left`` final from which a text of ``right`` leads to a final state."""
        cdef uint32_t n = table_size(&self.pairs), k
        cdef vector[uint32_t] off, order, todo
        cdef vector[uint8_t] found
        found.assign(n, 0)
        off.assign(n + 2, 0)
        for k in self.targets:
            off[k + 2] += 1
        for k in range(n):
            off[k + 1] += off[k]
        order.resize(self.targets.size())
        for k in range(<uint32_t>self.targets.size()):
            order[off[self.targets[k] + 1]] = self.sources[k]
            off[self.targets[k] + 1] += 1
        for k in range(n):
            if self.left.states.final[self.pairs.words[2 * k]] and (
                    self.right.states.final[self.pairs.words[2 * k + 1]]):
                found[k] = 1
                todo.push_back(k)
        while todo.size():
            n = todo.back()
            todo.pop_back()
            for k in range(off[n], off[n + 1]):
                if not found[order[k]]:
                    found[order[k]] = 1
                    todo.push_back(order[k])
        for k in range(<uint32_t>final.size()):
            final[0][k] = k < found.size() and found[k]


cdef struct PartC:
    # one automaton; ``everything``: by state, whether it accepts every text
    const LetterEdgesC* letters
    const uint8_t* final
    vector[uint8_t] everything


cdef struct CursorC:
    # the next edge of an automaton that has not failed
    uint32_t part
    const LetterEdgeC* at
    const LetterEdgeC* end


cdef class Product:
    cdef Bound bound
    cdef list kept              # the automata
    cdef bint is_nothing        # the product accepts no text
    cdef bint is_union          # parts do not reject: a text may be accepted by any of them
    cdef uint32_t accepting     # number of accepting parts, which come first
    cdef vector[PartC] parts
    cdef WordTableC states
    cdef vector[CursorC] cursors
    cdef vector[uint32_t] key

    def __cinit__(self, accepting, rejecting, Bound bound):
        cdef CharAutomaton each
        self.bound, self.kept = bound, []
        self.is_nothing = self.is_union = False
        for each in accepting or [CharAutomaton([[(ANY_CHAR, 0)]], {0})]:
            self.is_nothing |= state_count(&each.states) == 0
            self.add(each)
        self.accepting = <uint32_t>self.parts.size()
        for each in rejecting:
            if state_count(&each.states):
                self.add(each)
                self.is_nothing |= self.parts.back().everything[0]
        self.key.assign(self.parts.size(), 0)
        table_number(&self.states, self.key.data(), self.key.size())

    cdef int add(self, CharAutomaton automaton) except -1:
        cdef PartC part
        cdef uint32_t s
        self.bound.count_work(letter_count(&automaton.states))
        self.kept.append(automaton)
        part.letters, part.final = automaton.letters(), automaton.states.final.data()
        for s in range(state_count(&automaton.states)):
            part.everything.push_back(is_all(&automaton.states, s))
        self.bound.count_work(part.everything.size())
        self.parts.push_back(part)
        return 0

    cdef bint is_final(self, uint32_t number) noexcept nogil:
        cdef uint32_t k
        for k in range(<uint32_t>self.parts.size()):
            if self.has(number, k) != (k < self.accepting):
                return False
        return True

    cdef bint has(self, uint32_t number, uint32_t part) noexcept nogil:
        """Return whether an automaton accepts the texts of a state."""
        cdef uint32_t state = self.states.words[self.states.off[number] + part]
        return state != NO_STATE and self.parts[part].final[state] != 0

    cdef int expand(self, uint32_t number, CharStateC* char_state) except -1:
        """Add the moves of a state; their targets may be new."""
        cdef uint32_t at = 0, after, before, target
        self.start(number)
        while at < END_OF_CHARS:
            self.bound.count_work(self.cursors.size())
            after = self.read(&at)
            if after == 0:
                continue
            before = table_size(&self.states)
            target = table_number(&self.states, self.key.data(), self.key.size())
            if target == before:
                self.bound.check_states(<uint64_t>before + 1)
                self.bound.count_work(self.parts.size())
            add_range(char_state, at, after - 1, target)
            at = after
        return 0

    cdef void start(self, uint32_t number) noexcept nogil:
        """Set the cursors to the edges of a state."""
        cdef const uint32_t* state = self.states.words.data() + self.states.off[number]
        cdef CursorC cursor
        cdef uint32_t k
        self.cursors.clear()
        for k in range(<uint32_t>self.parts.size()):
            if state[k] != NO_STATE:
                cursor.part = k
                cursor.at = self.parts[k].letters.edges.data() + self.parts[k].letters.off[state[k]]
                cursor.end = self.parts[k].letters.edges.data() + self.parts[k].letters.off[state[k] + 1]
                self.cursors.push_back(cursor)
        self.key.assign(self.parts.size(), NO_STATE)

    cdef uint32_t read(self, uint32_t* at) noexcept nogil:
        """Write the target for the character ``at``, and return the first character that may have another one.

        If there is no target, return 0 and advance ``at``.
        """
        cdef uint32_t after = END_OF_CHARS, skipped = at[0], k
        cdef bint is_rejected = False
        cdef CursorC* cursor
        for k in range(<uint32_t>self.cursors.size()):
            cursor = &self.cursors[k]
            while cursor.at < cursor.end and cursor.at.high < at[0]:
                cursor.at += 1
            self.key[cursor.part] = NO_STATE
            if cursor.at < cursor.end and cursor.at.low <= at[0]:
                self.key[cursor.part] = cursor.at.target
                after = min(after, cursor.at.high + 1)
                if cursor.part >= self.accepting and self.parts[cursor.part].everything[cursor.at.target]:
                    is_rejected = not self.is_union
            elif cursor.part < self.accepting:
                skipped = max(skipped, cursor.at.low if cursor.at < cursor.end else <uint32_t>END_OF_CHARS)
            elif cursor.at < cursor.end:
                after = min(after, cursor.at.low)
        if skipped == at[0] and not is_rejected:
            return after
        at[0] = after if skipped == at[0] else skipped
        return 0


# -- lengths -----------------------------------------------------------------------------------------

#: lengths that ``steady_from`` tries; real patterns need fewer than 10
cdef uint32_t STEADY = 64
#: moves copied, and moves examined, in about a microsecond
cdef uint32_t MOVES_PER_STEP = 16
cdef uint32_t LOOKED_PER_STEP = 256


def with_length(CharAutomaton automaton, minimum, maximum, Bound bound):
    # a state is a state of the automaton and a count, which saturates at the bound
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef WordTableC ids
    cdef CharMoveC move
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
                    bound.check_states(<uint64_t>before + 1)
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
    """Return the length of the shortest text that is not empty; NO_STATE: there is none."""
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
    """Return the length of the longest text, by a topological order of the states; None: unbounded."""
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
    """Return the least n such that from every state, texts of every length >= n lead to a final one.

    NO_STATE: there is none up to ``STEADY``.
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
