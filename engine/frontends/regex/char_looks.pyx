"""Look-around worked into automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.utility cimport pair

from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number, table_size
from .char_automaton cimport (
    NO_STATE, Bound, CharAutomaton, CharStateC, StatesC, add_range, append_state, finish, is_all,
    state_count, trim,
)
from .char_nfa cimport (
    AT_END, AT_START, FREE, LOOK, EmptyC, NfaC, NfaMoveC, Thompson, index, sweep, unique,
)

from .regex_tree import ANYTHING, Alt, Cat, Look, Repeat, cat

# what one more automaton costs beside its states, in looks
cdef uint64_t AUTOMATON_LOOKS = 256
# states up to which an automaton that looks behind is made minimal: it multiplies those of the tree
cdef uint32_t SMALL = 16

cdef enum:
    # of a state of an automaton that goes along: the text may end here; anything may follow; the
    # text must not be one of the automaton's
    ENDS = 1
    ALL = 2
    NEGATED = 4
    # the first word of a subset: whether the text begins here, or that all is settled
    INSIDE = 0
    BEGINS = 1
    SETTLED = 2


cdef CharAutomaton looked(tree, Bound bound, bint is_search):
    cdef Behind behind = Behind(bound)
    cdef vector[uint32_t] context
    cdef CharAutomaton each
    behind.find(tree)
    context.push_back(BEGINS)
    for each in behind.automata:
        context.push_back(0 if state_count(&each.states) else NO_STATE)
    return Looker(bound, behind, tree, is_search).automaton(&context)


cdef class Behind:
    """The automata of what is looked behind for anywhere in a tree, by number."""
    cdef Bound bound
    cdef list automata
    cdef dict numbers   # of bodies, by the object's id

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
            self.automata.append(small(looked(cat((ANYTHING, tree.body)), self.bound, False), self.bound))
        return 0


cdef class Looker:
    """Makes the automaton of one tree. A *context* is the first word of a subset and the states of
    the automata that look behind, here by their own numbers.
    """
    cdef Bound bound
    cdef Behind behind
    cdef Thompson made
    cdef NfaC* nfa              # of ``made``; states from ``own`` on are of automata that go along
    cdef uint32_t final, own
    cdef bint is_search
    cdef vector[uint8_t] flags  # of states from ``own`` on
    cdef vector[uint8_t] stays  # of the tree's states: more than a way to others
    cdef vector[uint32_t] bases             # first states of the automata that look behind
    cdef WordTableC contexts    # (look, context) -> number in ``entries``
    cdef vector[uint32_t] entries           # first states of the automata that look ahead
    cdef WordTableC configs     # (state, obligations...)
    cdef WordTableC subsets     # (context..., configurations...)
    cdef vector[uint32_t] held  # obligations of the configuration at hand
    cdef vector[uint32_t] stamp             # by configuration
    cdef uint32_t now

    def __cinit__(self, Bound bound, Behind behind, tree, bint is_search):
        cdef uint32_t s
        cdef EmptyC empty
        cdef CharAutomaton each
        self.bound, self.behind, self.is_search = bound, behind, is_search
        self.made = Thompson(bound)
        self.nfa = &self.made.nfa
        self.final = self.made.add(tree, self.made.state())
        self.own = self.nfa.size
        index(self.nfa)
        self.stays.assign(self.own, 0)
        self.stays[self.final] = 1
        for s in range(self.own):
            if self.nfa.move_off[s] < self.nfa.move_off[s + 1]:
                self.stays[s] = 1
        for empty in self.nfa.empty:
            if empty.sign == AT_END:
                self.stays[empty.source] = 1
        for each in behind.automata:
            self.bases.push_back(self.adopt(&each.states, 0))

    cdef uint32_t adopt(self, StatesC* states, uint8_t flags) except? NO_STATE:
        """Takes an automaton in that goes along; its first state."""
        cdef NfaC* nfa = self.nfa
        cdef uint32_t base = nfa.size, pool = <uint32_t>nfa.pool.size(), s, k
        cdef NfaMoveC made
        self.bound.look(AUTOMATON_LOOKS + states.moves.size() + states.pool.size())
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
        """The number of a subset that was closed."""
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
        self.bound.look(key.size())
        self.bound.check(table_size(&self.subsets))
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
        """Adds the moves of a subset."""
        cdef vector[NfaMoveC] moves
        cdef vector[uint32_t] sources, off, to, found, next_context
        cdef vector[vector[uint32_t]] groups, pieces
        cdef uint32_t c, number
        cdef size_t k, j
        self.sources(members, context, &sources)
        off.assign(self.nfa.size, 0)
        self.gather(&sources, &off, &moves)
        sweep(self.nfa, &moves, self.bound, &groups, &pieces)
        for k in range(groups.size()):
            to.assign(moves.size(), NO_STATE)
            for c in groups[k]:
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
        """All states of a subset, those that go along, too."""
        cdef uint32_t c, k
        cdef size_t j
        for c in members[0]:
            for k in range(self.configs.off[c], self.configs.off[c + 1]):
                found.push_back(self.configs.words[k])
        for j in range(1, context.size()):
            if context[0][j] != NO_STATE:
                found.push_back(context[0][j])
        unique(found)

    cdef int gather(self, vector[uint32_t]* sources, vector[uint32_t]* off, vector[NfaMoveC]* moves) except -1:
        """The moves of all sources; ``off``: where those of each begin."""
        cdef uint32_t s, k
        cdef uint64_t ranges = 0
        for s in sources[0]:
            off[0][s] = <uint32_t>moves.size()
            for k in range(self.nfa.move_off[s], self.nfa.move_off[s + 1]):
                moves.push_back(self.nfa.moves[k])
                ranges += self.nfa.moves[k].n
        return self.bound.look(ranges + moves.size() + self.nfa.size // 64)

    cdef uint32_t moved(self, uint32_t s, vector[uint32_t]* off, vector[uint32_t]* to) noexcept nogil:
        """Where a state of a deterministic automaton leads; NO_STATE: nowhere."""
        cdef uint32_t k
        if s != NO_STATE:
            for k in range(off[0][s], off[0][s] + self.nfa.move_off[s + 1] - self.nfa.move_off[s]):
                if to[0][k] != NO_STATE:
                    return to[0][k]
        return NO_STATE

    cdef int follow(
        self, uint32_t c, vector[uint32_t]* off, vector[uint32_t]* to, vector[uint32_t]* found
    ) except -1:
        """Adds what a configuration leads to."""
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
        """Adds the configuration of a state with the obligations at hand."""
        cdef vector[uint32_t] key
        cdef uint32_t c
        key.push_back(q)
        for c in self.held:
            key.push_back(c)
        unique_behind(&key)
        c = table_number(&self.configs, key.data(), key.size())
        self.bound.look(key.size())
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
        """Adds all configurations reached without a character; ``signs`` are the anchors that hold."""
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
        """Leaves out what only leads to others, and configurations that ask for more than another."""
        cdef vector[pair[uint64_t, uint32_t]] order
        cdef pair[uint64_t, uint32_t] each
        cdef vector[uint32_t] kept
        cdef size_t k, first = 0
        for c in found[0]:
            each.first, each.second = <uint64_t>self.state_of(c) << 32 | self.size_of(c), c
            if self.stays[self.state_of(c)]:
                order.push_back(each)
        sort(order.begin(), order.end())
        for each in order:
            if kept.size() and self.state_of(kept[first]) != each.first >> 32:
                first = kept.size()
            for k in range(first, kept.size()):
                self.bound.look(1)
                if self.includes(each.second, kept[k]):
                    break
            else:
                kept.push_back(each.second)
        sort(kept.begin(), kept.end())
        found.swap(kept)
        return 0

    cdef bint includes(self, uint32_t a, uint32_t b) noexcept nogil:
        """Whether a has all the obligations of b."""
        cdef uint32_t i = self.configs.off[a] + 1, j
        for j in range(self.configs.off[b] + 1, self.configs.off[b + 1]):
            while i < self.configs.off[a + 1] and self.configs.words[i] < self.configs.words[j]:
                i += 1
            if i == self.configs.off[a + 1] or self.configs.words[i] != self.configs.words[j]:
                return False
        return True

    # -- obligations ------------------------------------------------------------------------------
    cdef bint look(self, uint32_t number, vector[uint32_t]* context) except -1:
        """Whether a look holds so far; adds to the obligations at hand what it asks of the rest."""
        cdef uint32_t s
        tree = self.made.looks[number]
        if tree.ahead:
            return self.oblige(self.entry(number, context), NEGATED if tree.negated else 0)
        s = context[0][1 + <size_t>self.behind.numbers[id(tree.body)]]
        return (s != NO_STATE and self.flags[s - self.own] & ENDS != 0) != <bint>tree.negated

    cdef bint oblige(self, uint32_t s, uint8_t negated) except -1:
        """Adds the obligation of state s, if it is not settled; whether it can hold. NO_STATE: no
        text is one of the automaton's any more.
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
        """The first state of what a look ahead asks for in a context; NO_STATE: no text."""
        cdef vector[uint32_t] key
        cdef uint32_t k
        cdef size_t j
        cdef CharAutomaton made
        cdef Behind behind
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
            behind = Behind(self.bound)
        made = Looker(self.bound, behind, cat((tree.body, ANYTHING)), True).automaton(&key)
        self.entries.push_back(NO_STATE)
        if state_count(&made.states):
            self.entries[k] = self.adopt(&made.states, NEGATED if tree.negated else 0)
        return self.entries[k]


cdef CharAutomaton small(CharAutomaton automaton, Bound bound):
    return automaton.minimal(bound) if state_count(&automaton.states) <= SMALL else automaton


cdef void unique_behind(vector[uint32_t]* key) noexcept nogil:
    """Sorts what follows the first word and drops repeated words."""
    cdef size_t k, n = 1
    sort(key.begin() + 1, key.end())
    for k in range(1, key.size()):
        if k == 1 or key[0][k] != key[0][n - 1]:
            key[0][n] = key[0][k]
            n += 1
    key.resize(n)
