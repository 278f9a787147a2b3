"""Intersections and differences of automata over characters, by the product construction, and quotients.

All automata are read side by side, so that no complement and no automaton between two of them is made.

Representation   a state of the product has a word for each automaton: its state, or NO_STATE for one that
                 rejects and reads no text of its own any more.
Invariants       states are numbered breadth first, in the order of characters.
Cost             a range of characters costs the automata that still read; ``limits.pattern_states`` bounds
                 the states and the work.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ...automata.minimize cimport LetterEdgeC, LetterEdgesC
from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number, table_size
from .char_automaton cimport (
    NO_STATE, Bound, CharAutomaton, CharStateC, add_range, append_state, finish, is_all,
    state_count, trim,
)

from ...grammar.ir import ANY_CHAR
from .charset import intersect

cdef enum:
    END_OF_CHARS = 0x110000


def intersection(accepting, rejecting, Bound bound):
    cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
    cdef Product product = Product(accepting, rejecting, bound)
    cdef CharStateC char_state
    cdef uint32_t s = 0
    if product.is_nothing:
        return made
    while s < table_size(&product.states):
        made.states.final.push_back(product.is_final(s))
        product.expand(s, &char_state)
        append_state(&char_state, &made.states)
        s += 1
    finish(&made.states)
    trim(&made.states)
    return made


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


def shortest(CharAutomaton automaton):
    finals = automaton.finals
    return trimmed([[] if s in finals else out for s, out in enumerate(automaton.edges)], finals)


def before(CharAutomaton automaton, CharAutomaton ends, Bound bound):
    cdef dict sources = {}      # pairs of states from which a character leads to a pair
    cdef list left = automaton.edges, right = ends.edges, todo = [(s, 0) for s in range(len(left))]
    if not right:
        return CharAutomaton([], ())
    known = set(todo)
    for pair in todo:
        for ranges, target in left[pair[0]]:
            for others, other in right[pair[1]]:
                bound.look(len(ranges) + len(others))
                if intersect(ranges, others):
                    sources.setdefault((target, other), []).append(pair)
                    if (target, other) not in known:
                        bound.check(len(known))
                        known.add((target, other))
                        todo.append((target, other))
    last, ends_last = automaton.finals, ends.finals
    found = {pair for pair in known if pair[0] in last and pair[1] in ends_last}
    todo = list(found)
    for pair in todo:
        for source in sources.get(pair, ()):
            if source not in found:
                found.add(source)
                todo.append(source)
    return trimmed(left, [s for s in range(len(left)) if (s, 0) in found])


cdef CharAutomaton trimmed(list edges, finals):
    cdef CharAutomaton made = CharAutomaton(edges, finals)
    trim(&made.states)
    return made


cdef struct PartC:
    # of one automaton; ``everything``: by state, whether every text is accepted from there on
    const LetterEdgesC* letters
    const uint8_t* final
    vector[uint8_t] everything


cdef struct CursorC:
    # of an automaton that still reads, in a state's edges
    uint32_t part
    const LetterEdgeC* at
    const LetterEdgeC* end


cdef class Product:
    cdef Bound bound
    cdef list kept              # the automata
    cdef bint is_nothing        # no text is accepted, as one of them accepts none
    cdef uint32_t accepting     # how many of the parts accept; they stand first
    cdef vector[PartC] parts
    cdef WordTableC states
    cdef vector[CursorC] cursors
    cdef vector[uint32_t] key

    def __cinit__(self, accepting, rejecting, Bound bound):
        cdef CharAutomaton each
        self.bound, self.kept = bound, []
        self.is_nothing = False
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
        self.kept.append(automaton)
        part.letters, part.final = automaton.letters(), automaton.states.final.data()
        for s in range(state_count(&automaton.states)):
            part.everything.push_back(is_all(&automaton.states, s))
        self.bound.look(part.everything.size())
        self.parts.push_back(part)
        return 0

    cdef bint is_final(self, uint32_t number) noexcept nogil:
        cdef const uint32_t* state = self.states.words.data() + self.states.off[number]
        cdef uint32_t k
        for k in range(<uint32_t>self.parts.size()):
            if (state[k] != NO_STATE and self.parts[k].final[state[k]] != 0) != (k < self.accepting):
                return False
        return True

    cdef int expand(self, uint32_t number, CharStateC* char_state) except -1:
        """Adds the moves of a state, whose targets may be new ones."""
        cdef uint32_t at = 0, after, before, target
        self.start(number)
        while at < END_OF_CHARS:
            self.bound.look(self.cursors.size())
            after = self.read(&at)
            if after == 0:
                continue
            before = table_size(&self.states)
            target = table_number(&self.states, self.key.data(), self.key.size())
            if target == before:
                self.bound.check(<uint64_t>before + 1)
                self.bound.look(self.parts.size())
            add_range(char_state, at, after - 1, target)
            at = after
        return 0

    cdef void start(self, uint32_t number) noexcept nogil:
        """Sets the cursors to the edges of a state."""
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
        """Writes the state that the character ``at`` leads to, and returns the first character behind it
        that may lead elsewhere. 0, and ``at`` further on, where it leads nowhere.
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
                    is_rejected = True
            elif cursor.part < self.accepting:
                skipped = max(skipped, cursor.at.low if cursor.at < cursor.end else <uint32_t>END_OF_CHARS)
            elif cursor.at < cursor.end:
                after = min(after, cursor.at.low)
        if skipped == at[0] and not is_rejected:
            return after
        at[0] = after if skipped == at[0] else skipped
        return 0
