"""Patterns as DFAs over characters: Thompson's construction, then a subset construction.

Trees without look-around use the plain subset construction (``SubsetConstruction``). Many subsets read the same
sets of characters and differ only in the targets; the pieces into which sets divide one another are computed
once for each combination of sets. Trees with look-around use ``LookaroundConstruction``.

Representation   NFA states are 0..size-1. After ``index``, the moves of state s are
                 moves[move_off[s]..move_off[s + 1] - 1], and empty moves likewise. Ranges of characters are in
                 the pool, as in a CharAutomaton. The sign of an empty move is FREE, one end of the text, or
                 LOOK + k: it holds where ``looks[k]`` holds.
Cost             ``limits.pattern_states`` bounds states and work.
Not here         look-ahead within look-behind, which regex_syntax refuses.
Sources          K. Thompson, Regular Expression Search Algorithm, CACM 11(6), 1968. Obligations are those of
                 alternating automata: Chandra, Kozen, Stockmeyer, Alternation, JACM 28(1), 1981.
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair

from ...native.hashing cimport MISSING, U64MapC, map_get, map_put
from ...native.pool cimport vector
from ...native.resources cimport spend
from ...native.word_table cimport WordTableC, table_number, table_size
from .char_automaton cimport (
    NO_STATE, Bound, CharAutomaton, CharMoveC, CharStateC, StatesC, add_range, append_state, finish,
    is_all, state_count, trim,
)
from .regex_syntax cimport Alt, Anchor, Automaton, Cat, Chars, Look, Repeat, Tree

from .regex_syntax import ANYTHING, Alt, Cat, Look, Repeat, cat

#: bounds of ranges that are looked up in about a microsecond
cdef enum:
    BOUNDS_PER_STEP = 128

cdef enum:
    # signs of empty moves; FREE, AT_START and AT_END also make masks of those that hold
    FREE = 0
    AT_START = 1
    AT_END = 2
    LOOK = 4


cdef struct EmptyC:
    uint32_t source, sign, target


cdef struct NfaMoveC:
    uint32_t source, off, n, target


cdef struct CharNfaC:
    uint32_t size
    vector[EmptyC] empty
    vector[NfaMoveC] moves
    vector[uint32_t] pool
    vector[uint32_t] empty_off, move_off
    vector[uint32_t] stamp
    uint32_t now


cdef class Thompson:
    """Builds the NFA of a tree, state by state."""
    cdef CharNfaC nfa
    cdef Bound bound
    cdef list looks     # Look trees, by number
    cdef dict numbers   # of looks, by the identity of the object
    # offsets of sets in the pool: by the address of a tuple, and by the number of a set in ``sets``
    cdef U64MapC placed
    cdef WordTableC sets
    cdef vector[uint32_t] offsets

    def __cinit__(self, Bound bound):
        self.bound, self.looks, self.numbers = bound, [], {}
        self.placed.used = 0

    cdef uint32_t state(self) except? NO_STATE:
        self.bound.check_states(self.nfa.size + 1)
        self.nfa.size += 1
        return self.nfa.size - 1

    cdef void empty(self, uint32_t s, uint32_t sign, uint32_t t):
        cdef EmptyC made
        made.source, made.sign, made.target = s, sign, t
        self.nfa.empty.push_back(made)

    cdef int move(self, uint32_t s, tuple ranges, uint32_t t) except -1:
        cdef uint64_t address = <uint64_t><size_t><void*>ranges
        # copies of a repetition share the tuple of ranges
        cdef uint32_t off = map_get(&self.placed, address)
        cdef vector[uint32_t] bounds
        if off == MISSING:
            for low, high in ranges:
                bounds.push_back(low)
                bounds.push_back(high)
            off = self.set_of(bounds.data(), bounds.size())
            map_put(&self.placed, address, off)
        self.move_by(s, off, len(ranges), t)
        return 0

    cdef void move_by(self, uint32_t s, uint32_t off, size_t n, uint32_t t) noexcept:
        """Add a move by ranges that are already in the pool."""
        cdef NfaMoveC made
        made.source, made.off, made.n, made.target = s, off, <uint32_t>n, t
        self.nfa.moves.push_back(made)

    cdef uint32_t set_of(self, const uint32_t* bounds, size_t n) except? NO_STATE:
        """Return the offset of n bounds of ranges in the pool, and add them if necessary."""
        cdef uint32_t number = table_number(&self.sets, bounds, n)
        spend(self.bound.budget, n // BOUNDS_PER_STEP)
        if number == self.offsets.size():
            self.offsets.push_back(<uint32_t>self.nfa.pool.size())
            self.nfa.pool.insert(self.nfa.pool.end(), bounds, bounds + n)
        return self.offsets[number]

    cdef uint32_t add(self, Tree tree, uint32_t s) except? NO_STATE:
        """Add a fragment that begins at state s, and return its last state."""
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

    cdef int add_states(self, CharAutomaton automaton, uint32_t s, uint32_t t) except -1:
        """Add the states of an automaton between s and t."""
        cdef StatesC* states = &automaton.states
        cdef CharMoveC move
        cdef uint32_t first = self.nfa.size, k, j
        for _ in range(state_count(states)):
            self.state()
        self.empty(s, FREE, first)
        for k in range(state_count(states)):
            for j in range(states.first[k], states.first[k + 1]):
                move = states.moves[j]
                self.move_by(
                    first + k, self.set_of(&states.pool[move.off], 2 * move.n), move.n, first + move.target)
            if states.final[k]:
                self.empty(first + k, FREE, t)
        return 0

    cdef uint32_t number(self, tree):
        """Return the number of a look, by identity; equal looks may have several numbers."""
        if id(tree) not in self.numbers:
            self.numbers[id(tree)] = len(self.looks)
            self.looks.append(tree)
        return self.numbers[id(tree)]


cdef bint empty_before(const EmptyC& a, const EmptyC& b) noexcept nogil:
    return a.source < b.source


cdef bint move_before(const NfaMoveC& a, const NfaMoveC& b) noexcept nogil:
    return a.source < b.source


cdef void index(CharNfaC* nfa) noexcept nogil:
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


cdef void list_kept(CharNfaC* nfa, uint32_t final, vector[uint8_t]* kept) noexcept nogil:
    """Flag the states that subsets keep: the final one, and those with a move or an empty move at the end.

    All others only lead to these.
    """
    cdef uint32_t s
    cdef EmptyC empty
    kept.assign(nfa.size, 0)
    kept[0][final] = 1
    for s in range(nfa.size):
        if nfa.move_off[s] < nfa.move_off[s + 1]:
            kept[0][s] = 1
    for empty in nfa.empty:
        if empty.sign == AT_END:
            kept[0][empty.source] = 1


# -- overlapping moves -------------------------------------------------------------------------------


cdef struct EventC:
    # a move begins at a character (1), or has ended before it (0)
    uint32_t at, begins, number


cdef bint event_before(const EventC& a, const EventC& b) noexcept nogil:
    return a.at < b.at


cdef int sweep(
    CharNfaC* nfa, vector[NfaMoveC]* moves, Bound bound,
    vector[vector[uint32_t]]* groups, vector[vector[uint32_t]]* pieces,
) except -1:
    """Divide overlapping moves into disjoint ranges, grouped by the set of moves.

    ``pieces[k]`` are the bounds of the ranges in which exactly the moves ``groups[k]`` hold.
    """
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
            bound.count_work(active.size())
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
    """Start or end a move. ``place[k]`` is the index of move k in ``active``; ranges of one move do not touch."""
    cdef uint32_t last
    if event.begins:
        place[0][event.number] = <uint32_t>active.size()
        active.push_back(event.number)
    else:
        last = active.back()
        active[0][place[0][event.number]] = last
        place[0][last] = place[0][event.number]
        active.pop_back()


cdef void unique(vector[uint32_t]* words, size_t first) noexcept nogil:
    """Sort the words from ``first`` on and drop repeated ones."""
    cdef size_t k, n = first
    sort(words.begin() + first, words.end())
    for k in range(first, words.size()):
        if k == first or words[0][k] != words[0][n - 1]:
            words[0][n] = words[0][k]
            n += 1
    words.resize(n)


# -- look-around -------------------------------------------------------------------------------------
#
#     (?=X)   the rest of the text must begin with a match of X: an *obligation*, a state of the DFA of X
#             followed by any text, which advances with the text
#     (?!X)   the same, negated
#     (?<=X)  the DFA of any text followed by X, started at the beginning of the text, must be final here
#     (?<!X)  the same, negated
#     \b      both, of one character (regex_syntax)
#
# A *configuration* is a state of the NFA with a set of obligations. A state of the result is a set of
# configurations and one state of each look-behind DFA, so look-around may occur anywhere, even in repetitions.
#
# I1 An obligation that always holds is dropped; one that cannot hold any more removes its configuration.
# I2 Of two configurations with one NFA state, the one whose obligations include the other's is dropped.
# I3 The look-behinds inside X, and whether the text begins here, are fixed where X begins: there is one DFA of X
#    for each such *context* (a single one if X has no anchors).

#: work for an additional automaton, besides its states
cdef uint64_t AUTOMATON_WORK = 256
#: look-behind automata of at most this many states are minimised: they multiply the states of the tree
cdef uint32_t SMALL = 16

cdef enum:
    # flags of states of look-around automata: final; accepts any continuation; negated
    ENDS = 1
    ALL = 2
    NEGATED = 4
    # the first word of a subset: inside the text, at its beginning, or accepting whatever follows
    INSIDE = 0
    BEGINS = 1
    SETTLED = 2


cdef CharAutomaton determinise_looks(tree, Bound bound, bint is_search):
    cdef Lookbehinds behind = Lookbehinds(bound)
    cdef vector[uint32_t] context
    cdef CharAutomaton each
    behind.find(tree)
    context.push_back(BEGINS)
    for each in behind.automata:
        context.push_back(0 if state_count(&each.states) else NO_STATE)
    return LookaroundConstruction(bound, behind, tree, is_search).automaton(&context)


cdef class Lookbehinds:
    """The automata of all look-behinds of a tree, by number."""
    cdef Bound bound
    cdef list automata
    cdef dict numbers   # of bodies, by identity

    def __cinit__(self, Bound bound):
        self.bound, self.automata, self.numbers = bound, [], {}

    cdef int find(self, tree) except -1:
        if isinstance(tree, Cat | Alt):
            for part in tree.parts:
                self.find(part)
        elif isinstance(tree, Repeat) or (isinstance(tree, Look) and tree.ahead):
            self.find(tree.body)
        elif isinstance(tree, Look) and id(tree.body) not in self.numbers:
            self.numbers[id(tree.body)] = len(self.automata)
            self.automata.append(small(determinise_looks(cat((ANYTHING, tree.body)), self.bound, False), self.bound))
        return 0


cdef class LookaroundConstruction:
    """The subset construction for one tree with look-around.

    A *context* is the first word of a subset and the state of each look-behind automaton in its own numbering.
    States from ``own`` on belong to look-around automata, which are part of the NFA's arrays.
    """
    cdef Bound bound
    cdef Lookbehinds behind
    cdef Thompson made
    cdef CharNfaC* nfa          # of ``made``
    cdef uint32_t final, own
    cdef bint is_search
    cdef vector[uint8_t] flags  # of states from ``own`` on
    cdef vector[uint8_t] kept               # by NFA state (list_kept)
    cdef vector[uint32_t] bases             # first states of look-behind automata
    cdef WordTableC contexts    # (look, context) -> number in ``entries``
    cdef vector[uint32_t] entries           # first states of look-ahead automata
    cdef WordTableC configs     # (state, obligations...)
    cdef WordTableC subsets     # (context..., configurations...)
    cdef vector[uint32_t] held  # obligations of the current configuration
    cdef vector[uint32_t] stamp             # by configuration
    cdef uint32_t now

    def __cinit__(self, Bound bound, Lookbehinds behind, tree, bint is_search):
        cdef CharAutomaton each
        self.bound, self.behind, self.is_search = bound, behind, is_search
        self.made = Thompson(bound)
        self.nfa = &self.made.nfa
        self.final = self.made.add(tree, self.made.state())
        self.own = self.nfa.size
        index(self.nfa)
        list_kept(self.nfa, self.final, &self.kept)
        for each in behind.automata:
            self.bases.push_back(self.adopt(&each.states, 0))

    cdef uint32_t adopt(self, StatesC* states, uint8_t flags) except? NO_STATE:
        """Append the states of a look-around automaton, and return its first state."""
        cdef CharNfaC* nfa = self.nfa
        cdef uint32_t base = nfa.size, pool = <uint32_t>nfa.pool.size(), s, k
        cdef NfaMoveC made
        self.bound.count_work(AUTOMATON_WORK + states.moves.size() + states.pool.size())
        for s in states.pool:
            nfa.pool.push_back(s)
        for s in range(state_count(states)):
            for k in range(states.first[s], states.first[s + 1]):
                made.source, made.target = base + s, base + states.moves[k].target
                made.off, made.n = pool + states.moves[k].off, states.moves[k].n
                nfa.moves.push_back(made)
            nfa.move_off.push_back(<uint32_t>nfa.moves.size())
            self.flags.push_back(flags | (ENDS if states.final[s] else 0) | (ALL if is_all(states, s) else 0))
        nfa.size += state_count(states)
        return base

    cdef CharAutomaton automaton(self, vector[uint32_t]* context):
        cdef CharAutomaton out = CharAutomaton.__new__(CharAutomaton)
        cdef vector[uint32_t] key = context[0], found
        cdef size_t k
        for k in range(self.bases.size()):
            if key[k + 1] != NO_STATE:
                key[k + 1] += self.bases[k]
        self.held.clear()
        self.now += 1
        self.reach(&found, 0)
        self.close(&found, &key, AT_START if context[0][0] == BEGINS else FREE)
        self.enter(&found, &key)
        self.determinise(&out.states)
        trim(&out.states)
        return out

    # -- subsets ----------------------------------------------------------------------------------
    cdef int determinise(self, StatesC* out) except -1:
        cdef vector[uint32_t] context, members
        cdef CharStateC char_state
        cdef uint32_t s = 0, low, high
        cdef size_t width = 1 + self.bases.size()
        while s < table_size(&self.subsets):
            low, high = self.subsets.off[s], self.subsets.off[s + 1]
            if self.subsets.words[low] == SETTLED:
                out.final.push_back(True)
                add_range(&char_state, 0, 0xD7FF, s)
                add_range(&char_state, 0xE000, 0x10FFFF, s)
            else:
                context.assign(self.subsets.words.begin() + low, self.subsets.words.begin() + low + width)
                members.assign(self.subsets.words.begin() + low + width, self.subsets.words.begin() + high)
                out.final.push_back(self.may_end(&members, &context))
                self.step(&members, &context, &char_state)
            append_state(&char_state, out)
            s += 1
        finish(out)
        return 0

    cdef uint32_t enter(self, vector[uint32_t]* found, vector[uint32_t]* context) except? NO_STATE:
        """Return the number of a closed subset."""
        cdef vector[uint32_t] key
        cdef uint32_t c
        self.prune(found)
        if self.is_search:
            for c in found[0]:
                if self.size_of(c) == 1 and self.state_of(c) == self.final:
                    key.push_back(SETTLED)
                    return table_number(&self.subsets, key.data(), 1)
        key = context[0]
        for c in found[0]:
            key.push_back(c)
        number = table_number(&self.subsets, key.data(), key.size())
        self.bound.count_work(key.size())
        self.bound.check_states(table_size(&self.subsets))
        return number

    cdef bint may_end(self, vector[uint32_t]* members, vector[uint32_t]* context) except -1:
        cdef vector[uint32_t] found = members[0]
        cdef uint32_t c
        self.restamp(&found)
        self.close(&found, context, AT_START | AT_END if context[0][0] == BEGINS else AT_END)
        for c in found:
            if self.state_of(c) == self.final and self.all_end(c):
                return True
        return False

    cdef int step(self, vector[uint32_t]* members, vector[uint32_t]* context, CharStateC* char_state) except -1:
        """Add the moves of a subset."""
        cdef vector[NfaMoveC] moves
        cdef vector[uint32_t] sources, off, to, last, found, next_context
        cdef vector[vector[uint32_t]] groups, pieces
        cdef uint32_t c, number
        cdef size_t k, j
        self.sources(members, context, &sources)
        off.assign(self.nfa.size, 0)
        self.gather(&sources, &off, &moves)
        sweep(self.nfa, &moves, self.bound, &groups, &pieces)
        to.assign(moves.size(), NO_STATE)
        for k in range(groups.size()):
            for c in last:
                to[c] = NO_STATE
            last = groups[k]
            for c in last:
                to[c] = moves[c].target
            next_context.assign(1, INSIDE)
            for j in range(self.bases.size()):
                next_context.push_back(self.moved(context[0][j + 1], &off, &to))
            found.clear()
            self.now += 1
            for c in members[0]:
                self.follow(c, &off, &to, &found)
            self.close(&found, &next_context, FREE)
            if found.size() == 0:
                continue
            number = self.enter(&found, &next_context)
            for j in range(pieces[k].size() // 2):
                add_range(char_state, pieces[k][2 * j], pieces[k][2 * j + 1], number)
        return 0

    cdef void sources(self, vector[uint32_t]* members, vector[uint32_t]* context, vector[uint32_t]* found):
        """List all states of a subset, those of look-around automata included."""
        cdef uint32_t c, k
        cdef size_t j
        for c in members[0]:
            for k in range(self.configs.off[c], self.configs.off[c + 1]):
                found.push_back(self.configs.words[k])
        for j in range(1, context.size()):
            if context[0][j] != NO_STATE:
                found.push_back(context[0][j])
        unique(found, 0)

    cdef int gather(self, vector[uint32_t]* sources, vector[uint32_t]* off, vector[NfaMoveC]* moves) except -1:
        """List the moves of all sources; ``off``: the first move of each."""
        cdef uint32_t s, k
        cdef uint64_t ranges = 0
        for s in sources[0]:
            off[0][s] = <uint32_t>moves.size()
            for k in range(self.nfa.move_off[s], self.nfa.move_off[s + 1]):
                moves.push_back(self.nfa.moves[k])
                ranges += self.nfa.moves[k].n
        return self.bound.count_work(ranges + moves.size() + self.nfa.size // 64)

    cdef uint32_t moved(self, uint32_t s, vector[uint32_t]* off, vector[uint32_t]* to) noexcept nogil:
        """Return the target of a state of a deterministic automaton, or NO_STATE."""
        cdef uint32_t k
        if s != NO_STATE:
            for k in range(off[0][s], off[0][s] + self.nfa.move_off[s + 1] - self.nfa.move_off[s]):
                if to[0][k] != NO_STATE:
                    return to[0][k]
        return NO_STATE

    cdef int follow(
        self, uint32_t c, vector[uint32_t]* off, vector[uint32_t]* to, vector[uint32_t]* found
    ) except -1:
        """Add the successors of a configuration."""
        cdef uint32_t q = self.state_of(c), k, s, before
        self.held.clear()
        for k in range(self.configs.off[c] + 1, self.configs.off[c + 1]):
            before = self.configs.words[k]
            s = self.moved(before, off, to)
            if not self.oblige(s, self.flags[before - self.own] & NEGATED):
                return 0
        for k in range(off[0][q], off[0][q] + self.nfa.move_off[q + 1] - self.nfa.move_off[q]):
            if to[0][k] != NO_STATE:
                self.reach(found, to[0][k])
        return 0

    # -- configurations ---------------------------------------------------------------------------
    cdef uint32_t state_of(self, uint32_t c) noexcept nogil:
        return self.configs.words[self.configs.off[c]]

    cdef uint32_t size_of(self, uint32_t c) noexcept nogil:
        return self.configs.off[c + 1] - self.configs.off[c]

    cdef int reach(self, vector[uint32_t]* found, uint32_t q) except -1:
        """Add the configuration of a state with the current obligations."""
        cdef vector[uint32_t] key
        cdef uint32_t c
        key.push_back(q)
        for c in self.held:
            key.push_back(c)
        unique(&key, 1)
        c = table_number(&self.configs, key.data(), key.size())
        self.bound.count_work(key.size())
        if c >= self.stamp.size():
            self.stamp.push_back(0)
        if self.stamp[c] != self.now:
            self.stamp[c] = self.now
            found.push_back(c)
        return 0

    cdef void restamp(self, vector[uint32_t]* found) noexcept nogil:
        cdef uint32_t c
        self.now += 1
        for c in found[0]:
            self.stamp[c] = self.now

    cdef int close(self, vector[uint32_t]* found, vector[uint32_t]* context, uint32_t signs) except -1:
        """Add all configurations reached by empty moves; ``signs`` are the anchors that hold."""
        cdef uint32_t c, q, k
        cdef size_t at = 0
        cdef EmptyC move
        while at < found.size():
            c = found[0][at]
            at += 1
            q = self.state_of(c)
            for k in range(self.nfa.empty_off[q], self.nfa.empty_off[q + 1]):
                move = self.nfa.empty[k]
                self.held.assign(
                    self.configs.words.begin() + self.configs.off[c] + 1,
                    self.configs.words.begin() + self.configs.off[c + 1])
                if move.sign >= LOOK:
                    if not self.look(move.sign - LOOK, context):
                        continue
                elif move.sign != FREE and not move.sign & signs:
                    continue
                self.reach(found, move.target)
        return 0

    cdef int prune(self, vector[uint32_t]* found) except -1:
        """Drop configurations of states that are not kept, and those with more obligations than another (I2)."""
        cdef vector[pair[uint64_t, uint32_t]] order
        cdef pair[uint64_t, uint32_t] each
        cdef vector[uint32_t] kept
        cdef size_t k, first = 0
        for c in found[0]:
            each.first, each.second = <uint64_t>self.state_of(c) << 32 | self.size_of(c), c
            if self.kept[self.state_of(c)]:
                order.push_back(each)
        sort(order.begin(), order.end())
        for each in order:
            if kept.size() and self.state_of(kept[first]) != each.first >> 32:
                first = kept.size()
            for k in range(first, kept.size()):
                self.bound.count_work(1)
                if self.includes(each.second, kept[k]):
                    break
            else:
                kept.push_back(each.second)
        sort(kept.begin(), kept.end())
        found.swap(kept)
        return 0

    cdef bint includes(self, uint32_t a, uint32_t b) noexcept nogil:
        """Whether configuration a has all obligations of b."""
        cdef uint32_t i = self.configs.off[a] + 1, j
        for j in range(self.configs.off[b] + 1, self.configs.off[b + 1]):
            while i < self.configs.off[a + 1] and self.configs.words[i] < self.configs.words[j]:
                i += 1
            if i == self.configs.off[a + 1] or self.configs.words[i] != self.configs.words[j]:
                return False
        return True

    # -- obligations ------------------------------------------------------------------------------
    cdef bint look(self, uint32_t number, vector[uint32_t]* context) except -1:
        """Whether a look can hold; a look-ahead adds an obligation."""
        cdef uint32_t s
        tree = self.made.looks[number]
        if tree.ahead:
            return self.oblige(self.entry(number, context), NEGATED if tree.negated else 0)
        s = context[0][1 + <size_t>self.behind.numbers[id(tree.body)]]
        return (s != NO_STATE and self.flags[s - self.own] & ENDS != 0) != <bint>tree.negated

    cdef bint oblige(self, uint32_t s, uint8_t negated) except -1:
        """Add the obligation of state s unless it always holds (I1); return whether it can hold.

        NO_STATE stands for an automaton that accepts no continuation.
        """
        if s == NO_STATE:
            return negated != 0
        if self.flags[s - self.own] & ALL:
            return negated == 0
        self.held.push_back(s)
        return True

    cdef bint all_end(self, uint32_t c) noexcept nogil:
        """Whether all obligations hold if the text ends here."""
        cdef uint32_t k
        cdef uint8_t flags
        for k in range(self.configs.off[c] + 1, self.configs.off[c + 1]):
            flags = self.flags[self.configs.words[k] - self.own]
            if (flags & ENDS != 0) == (flags & NEGATED != 0):
                return False
        return True

    cdef uint32_t entry(self, uint32_t number, vector[uint32_t]* context) except? NO_STATE:
        """Return the first state of a look-ahead automaton in a context; NO_STATE: it accepts nothing."""
        cdef vector[uint32_t] key
        cdef uint32_t k
        cdef size_t j
        cdef CharAutomaton made
        cdef Lookbehinds behind
        tree = self.made.looks[number]
        key.push_back(number)
        if tree.body.anchored:
            key.push_back(context[0][0])
            for j in range(self.bases.size()):
                k = context[0][j + 1]
                key.push_back(k if k == NO_STATE else k - self.bases[j])
        k = table_number(&self.contexts, key.data(), key.size())
        if k < self.entries.size():
            return self.entries[k]
        key.erase(key.begin())
        behind = self.behind
        if not tree.body.anchored:
            key.assign(1, INSIDE)
            behind = Lookbehinds(self.bound)
        made = LookaroundConstruction(self.bound, behind, cat((tree.body, ANYTHING)), True).automaton(&key)
        self.entries.push_back(NO_STATE)
        if state_count(&made.states):
            self.entries[k] = self.adopt(&made.states, NEGATED if tree.negated else 0)
        return self.entries[k]


cdef CharAutomaton small(CharAutomaton automaton, Bound bound):
    return automaton.minimal(bound) if state_count(&automaton.states) <= SMALL else automaton


# -- subsets -----------------------------------------------------------------------------------------

cdef enum:
    LAST_BEFORE_SURROGATES = 0xD7FF
    LAST_CHAR = 0x10FFFF


def from_tree(tree, Bound bound, *, bint search):
    cdef Thompson made = Thompson(bound)
    cdef CharAutomaton out = CharAutomaton.__new__(CharAutomaton)
    cdef SubsetConstruction subsets
    cdef uint32_t start = made.state()
    cdef uint32_t final = made.add(cat((ANYTHING, tree, ANYTHING)) if search else tree, start)
    if made.looks:
        return determinise_looks(cat((ANYTHING, tree, ANYTHING)) if search else tree, bound, search).minimal(bound)
    subsets = SubsetConstruction(made, final)
    subsets.determinise(start, &out.states)
    trim(&out.states)
    return out


cdef struct CharPieceC:
    # the characters that belong to exactly the sets groups[group..group_end - 1] of a combination, given by
    # position; their ranges are in the pool of the automaton
    uint32_t group, group_end, off, n


cdef class SubsetConstruction:
    cdef Bound bound
    cdef Thompson made
    cdef CharNfaC* nfa              # of ``made``
    cdef uint32_t final
    cdef vector[uint8_t] kept               # by NFA state (list_kept)
    cdef vector[uint32_t] anything          # states from which any text is accepted
    cdef vector[uint32_t] sizes             # ranges of a set, by half its offset in the pool
    cdef vector[uint32_t] seen              # by target: the last state that has a move to it
    cdef WordTableC subsets                 # closed ones, except that of the start
    cdef WordTableC targets                 # sets of states, before empty moves
    cdef vector[uint32_t] closed            # the subset of each set in ``targets``
    cdef WordTableC combinations            # of sets of characters, as ascending offsets in the pool
    cdef vector[uint32_t] first             # by combination: its pieces, by their first characters
    cdef vector[CharPieceC] pieces
    cdef vector[uint32_t] groups
    # of the current subset: the set of characters and the target of each move; the distinct sets, and the
    # first move of each
    cdef vector[pair[uint32_t, uint32_t]] moves
    cdef vector[uint32_t] sets, starts
    cdef size_t walked      # states met by the last ``close``

    def __cinit__(self, Thompson made, uint32_t final):
        cdef NfaMoveC move
        self.made, self.bound, self.nfa, self.final = made, made.bound, &made.nfa, final
        index(self.nfa)
        list_kept(self.nfa, final, &self.kept)
        self.sizes.assign(self.nfa.pool.size() // 2 + 1, 0)
        for move in self.nfa.moves:
            if move.n:
                self.sizes[move.off // 2] = move.n
        self.first.push_back(0)
        self.list_anything()

    cdef int determinise(self, uint32_t start, StatesC* out) except -1:
        """Run the construction.

        The start is a separate state, because ^ holds only there; the subset of state k > 0 is number k - 1.
        """
        cdef vector[uint32_t] members, end
        cdef CharStateC char_state
        cdef uint32_t s = 0
        members.push_back(start)
        self.close(&members, AT_START)
        while True:
            end = members
            self.close(&end, AT_END if s else AT_START | AT_END)
            self.bound.count_work(members.size() + end.size())
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
        """Append the state of a subset."""
        cdef vector[uint32_t] key
        cdef CharMoveC move
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
            self.bound.count_work(key.size())
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
        spend(self.bound.budget, char_state.parts.size() // BOUNDS_PER_STEP)
        append_state(char_state, out)
        return 0

    cdef int gather(self, vector[uint32_t]* members) except -1:
        """List the moves of a subset by their sets."""
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
        self.bound.count_work(self.moves.size())
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
        """Return the number of the combination of the current sets."""
        cdef vector[vector[uint32_t]] groups, bounds
        cdef vector[NfaMoveC] moves
        cdef NfaMoveC move = NfaMoveC(0, 0, 0, 0)
        cdef CharPieceC piece
        cdef uint32_t number = table_number(&self.combinations, self.sets.data(), self.sets.size()), k, s
        if number + 1 < self.first.size():
            return number
        for k in range(<uint32_t>self.sets.size()):
            move.off, move.n = self.sets[k], self.sizes[self.sets[k] // 2]
            self.bound.count_work(move.n)
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
        """Return the number of the state for a set of NFA states.

        If the set accepts any text, its other members are dropped. Otherwise a search for one of n words would
        distinguish the 2^n sets of words found.
        """
        cdef uint32_t number, before
        unique(states, 0)
        number = table_number(&self.targets, states.data(), states.size())
        if number < self.closed.size():
            return self.closed[number]
        self.close(states, FREE)
        self.bound.count_work(states.size())
        spend(self.bound.budget, self.walked // BOUNDS_PER_STEP)
        if self.holds_any():
            states.assign(1, self.anything[0])
            self.close(states, FREE)
        before = table_size(&self.subsets)
        self.closed.push_back(table_number(&self.subsets, states.data(), states.size()) + 1)
        if self.closed.back() > before:
            self.bound.check_states(<uint64_t>before + 2)
        return self.closed.back()

    cdef void close(self, vector[uint32_t]* states, uint32_t signs) noexcept nogil:
        """Add all states reached by empty moves and drop those that are not kept.

        ``signs`` are the anchors that hold.
        """
        cdef CharNfaC* nfa = self.nfa
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
        self.walked = states.size()
        for at in range(states.size()):
            if self.kept[states[0][at]]:
                states[0][n] = states[0][at]
                n += 1
        states.resize(n)
        sort(states.begin(), states.end())

    cdef void list_anything(self) noexcept nogil:
        """List the states from which any text is accepted: their only move is a loop over all characters."""
        cdef CharNfaC* nfa = self.nfa
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
        """Whether the set that was closed last contains a state that accepts any text."""
        cdef uint32_t s
        for s in self.anything:
            if self.nfa.stamp[s] == self.nfa.now:
                return True
        return False
