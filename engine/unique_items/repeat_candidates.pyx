"""Candidates for repeats: by row, and along the used items that begin like the text."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..earley.rows cimport CONFIGURATION, DEAD, ENDS_UNIQUE, Arena
from ..native.bitset cimport has_bit
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..vocabulary.vocabulary cimport Vocabulary
from .continuations cimport ContinuationCounter
from .uniqueness cimport (
    BACKSLASH, CLOSING_BRACE, CLOSING_BRACKET, COMMA, EXPONENT, LOWER_E, MINUS, OPENING_BRACE,
    OPENING_BRACKET, OUTSIDE, POINT, QUOTE, STRING, UPPER_E, Cursor, Mode, UniquenessState,
    ValuePositionC, after, awaits_unique, is_digit, is_end, is_number, is_space, is_whole,
    string_view,
)

#: bytes of the lists of one generation
cdef size_t MAX_BYTES = 16 << 20

cdef enum:
    # flag of an entry of RepeatCandidates.listed that matters only once items were used
    CLOSES = 0x80000000


cdef RepeatCandidates new_repeat_candidates(Arena arena, Vocabulary vocabulary):
    cdef RepeatCandidates made = RepeatCandidates.__new__(RepeatCandidates)
    made.arena, made.vocabulary, made.held, made.is_sorted = arena, vocabulary, 0, False
    made.continuations = ContinuationCounter.__new__(ContinuationCounter)
    made.continuations.arena, made.continuations.nested, made.continuations.steps = arena, 0, 0
    return made


cdef class RepeatCandidates:
    cdef void look(self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask) noexcept nogil:
        """Find the tokens of a mask that may repeat an item of the text."""
        cdef uint32_t number, level, t, n = state.depth(), k
        cdef bint has_used = state.has_used()
        cdef ValuePositionC position
        self.found.clear()
        number = self.number(configuration, state, mask)
        for t in self.listed[number]:
            if has_used or not t & CLOSES:
                self.found.push_back(t & ~<uint32_t>CLOSES)
        if not has_used:
            return
        self.cursors.clear()
        self.depths.clear()
        for level in range(n):
            if state.used(level):
                self.cursors.push_back(state.cursor(level))
                self.depths.push_back(n - 1 - level)
                if self.cursors.back().total() + self.cursors.back().carried == 0:
                    self.cursors.pop_back()
                    self.depths.pop_back()
        position.configuration, position.mode = configuration, state.mode()
        position.n_escape = <uint8_t>state.escape().size()
        for k in range(position.n_escape):
            position.escape[k] = state.escape().data()[k]
        if position.mode == EXPONENT:
            if state.may_end() or self.is_raised():
                self.collect(0, True, mask)
        elif self.cursors.size() or state.may_end():
            self.walk(0, position, 0, mask)

    cdef bint is_raised(self) noexcept nogil:
        """Return whether a used item has the digits of the current number."""
        cdef size_t k
        for k in range(self.cursors.size()):
            if self.cursors[k].raised:
                return True
        return False

    # -- along the used items ------------------------------------------------------------------------
    cdef void walk(self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask) noexcept nogil:
        """Follow the children of a trie node while used items begin like the text. Those are
        ``cursors`` from index ``first`` on.
        """
        cdef uint32_t child = node + 1, end = self.vocabulary.nodes[node].end
        if position.mode == STRING:
            self.walk_inside(node, position, first, mask)
            return
        while child < end:
            if is_number(position.mode):
                self.walk_number(child, position, first, mask)
            else:
                self.walk_outside(child, position, first, mask)
            child = self.vocabulary.nodes[child].end

    cdef void enter(self, uint32_t child, ValuePositionC* position, size_t first, const uint32_t* mask) noexcept nogil:
        """Continue below a node with ``cursors`` from ``first`` on, without empty ones."""
        cdef size_t k, kept = first
        cdef bint is_spent = False
        for k in range(first, self.cursors.size()):
            if self.cursors[k].total() + self.cursors[k].carried:
                self.cursors[kept], self.depths[kept] = self.cursors[k], self.depths[k]
                kept += 1
        self.cursors.resize(kept)
        self.depths.resize(kept)
        for k in range(first, kept):
            position.depth = self.depths[k]
            is_spent = is_spent or self.continuations.is_spent(position, &self.cursors[k])
        if is_spent:
            self.collect(child, False, mask)
        if kept > first or position.mode == OUTSIDE:
            self.walk(child, position[0], first, mask)

    cdef void walk_inside(
        self, uint32_t node, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil:
        cdef uint32_t child = node + 1, end = self.vocabulary.nodes[node].end
        cdef uint64_t[4] nexts = [0, 0, 0, 0]
        cdef size_t k, n = self.cursors.size()
        cdef uint8_t byte
        cdef ValuePositionC made
        for k in range(first, n):
            self.cursors[k].next(nexts)
        while child < end:
            byte = self.vocabulary.nodes[child].byte
            made = position
            if position.n_escape or byte == BACKSLASH or nexts[byte >> 6] >> (byte & 63) & 1:
                made.configuration = self.arena.step_unique(position.configuration, byte) & CONFIGURATION
                if made.configuration == DEAD:
                    pass
                elif byte == QUOTE and not position.n_escape:
                    self.collect(child, True, mask)
                else:
                    self.narrow_inside(&made, byte, first, n)
                    self.enter(child, &made, n, mask)
                self.cursors.resize(n)
                self.depths.resize(n)
            child = self.vocabulary.nodes[child].end

    cdef void narrow_inside(self, ValuePositionC* position, uint8_t byte, size_t first, size_t end) noexcept nogil:
        """Append the cursors after one more byte of a string."""
        cdef Cursor cursor
        cdef size_t k
        cdef string_view escape
        cdef bint escapes = position.n_escape or byte == BACKSLASH
        if escapes:
            position.escape[position.n_escape] = <char>byte
            position.n_escape += 1
            escape = string_view(position.escape, position.n_escape)
        for k in range(first, end):
            cursor = self.cursors[k]
            if not escapes:
                cursor.narrow(byte)
            elif is_whole(escape):
                cursor.narrow_escape(escape)
            elif cursor.begun(escape) == 0:
                continue
            self.cursors.push_back(cursor)
            self.depths.push_back(self.depths[k])
        if escapes and is_whole(escape):
            position.n_escape = 0

    cdef void walk_outside(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil:
        cdef uint8_t byte = self.vocabulary.nodes[child].byte
        cdef uint32_t target = self.arena.step_unique(position.configuration, byte)
        cdef size_t k, n = self.cursors.size()
        if target == DEAD:
            return
        if target & ENDS_UNIQUE or is_end(byte) or byte in b"[{:":
            self.collect(child, True, mask)
            return
        position.configuration = target & CONFIGURATION
        for k in range(first, n):
            self.cursors.push_back(self.cursors[k])
            self.depths.push_back(self.depths[k])
            if byte == MINUS or is_digit(byte):
                self.cursors.back().narrow_number(OUTSIDE, byte)
            elif not is_space(byte):
                self.cursors.back().narrow(byte)
        if byte == QUOTE:
            position.mode = STRING
        elif byte == MINUS or is_digit(byte):
            position.mode = after(OUTSIDE, byte)
        self.enter(child, &position, n, mask)
        self.cursors.resize(n)
        self.depths.resize(n)

    cdef void walk_number(
        self, uint32_t child, ValuePositionC position, size_t first, const uint32_t* mask
    ) noexcept nogil:
        cdef uint8_t byte = self.vocabulary.nodes[child].byte
        cdef uint32_t target = self.arena.step_unique(position.configuration, byte)
        cdef size_t k, n = self.cursors.size()
        cdef bint repeats = False
        cdef Mode before = position.mode
        position.mode = after(before, byte)
        for k in range(first, n):
            self.cursors.push_back(self.cursors[k])
            self.depths.push_back(self.depths[k])
            self.cursors.back().narrow_number(before, byte)
            if target & ENDS_UNIQUE and self.depths[k] == 0:
                repeats = repeats or self.cursors.back().ended(position.mode) > 0
        if repeats:
            position.configuration = self.arena.step_blocked(position.configuration, byte)
        else:
            position.configuration = target & CONFIGURATION
        if not is_digit(byte) and byte != POINT or position.configuration == DEAD:
            self.collect(child, True, mask)
        else:
            self.enter(child, &position, n, mask)
        self.cursors.resize(n)
        self.depths.resize(n)

    cdef void collect(self, uint32_t node, bint is_subtree, const uint32_t* mask) noexcept nogil:
        """Add the tokens that end at a node, or all below it, to the candidates."""
        cdef uint32_t k, end = self.vocabulary.nodes[node].end if is_subtree else node + 1
        for k in range(self.vocabulary.nodes[node].first, self.vocabulary.nodes[end].first):
            if has_bit(mask, self.vocabulary.order[k]):
                self.found.push_back(self.vocabulary.order[k])

    # -- by row --------------------------------------------------------------------------------------
    cdef uint32_t number(
        self, uint32_t configuration, const UniquenessState* state, const uint32_t* mask
    ) noexcept nogil:
        """Return the number of the list of tokens that may repeat an item of some text; valid until
        the next call.
        """
        cdef uint32_t kind = 0 if not state.is_open() else 1 if state.mode() == STRING else 2
        cdef uint64_t key
        cdef uint32_t found, t
        cdef vector[uint32_t] ids
        cdef vector[uint32_t]* tokens
        if not self.is_sorted:
            self.sort_tokens()
        configuration = self.arena.configurations[configuration].saturated
        key = <uint64_t>configuration << 2 | kind
        found = map_get(&self.numbers, key)
        if found != MISSING:
            return found
        tokens = &self.opening if kind == 0 else &self.quoting if kind == 1 else &self.ending
        for t in tokens[0]:
            if has_bit(mask, t):
                found = self.is_listed(configuration, t)
                if found:
                    ids.push_back(t | (found & CLOSES))
        if kind == 2:
            for t in self.raising:
                if has_bit(mask, t):
                    ids.push_back(t | CLOSES)
        if self.held > MAX_BYTES:
            self.drop()
        found = <uint32_t>self.listed.size()
        self.listed.push_back(ids)
        self.held += held_bytes(self.listed.back())
        map_put(&self.numbers, key, found)
        return found

    cdef size_t bytes_held(self) noexcept nogil:
        return (
            self.held + held_bytes(self.listed) + held_bytes(self.quoting) + held_bytes(self.ending)
            + held_bytes(self.opening) + held_bytes(self.raising) + map_bytes(&self.numbers) + held_bytes(self.found)
            + held_bytes(self.depths) + sizeof(Cursor) * self.cursors.capacity() + self.continuations.bytes_held())

    cdef void drop(self) noexcept nogil:
        map_clear(&self.numbers)
        self.listed.clear()
        self.held = 0

    cdef uint32_t is_listed(self, uint32_t configuration, uint32_t token) noexcept nogil:
        """Return 1 if the token ends an item and continues after a comma, CLOSES if it ends an item
        with a bracket or continues to an item after a comma, else 0.
        """
        cdef uint32_t k, target
        cdef uint8_t byte
        cdef bint is_met = False
        cdef uint32_t listed = 0
        for k in range(self.vocabulary.offsets[token], self.vocabulary.offsets[token + 1]):
            byte = self.vocabulary.data[k]
            if is_met and byte == COMMA:
                return 1
            target = self.arena.step_unique(configuration, byte)
            if target == DEAD:
                break
            configuration = target & CONFIGURATION
            is_met = is_met or target & ENDS_UNIQUE
            if target & ENDS_UNIQUE and (byte == CLOSING_BRACKET or byte == CLOSING_BRACE):
                listed = CLOSES
            if byte == COMMA and awaits_unique(self.arena, configuration):
                listed = CLOSES
        return listed

    cdef void sort_tokens(self) noexcept nogil:
        cdef vector[uint32_t] tokens
        cdef uint32_t t, k, at
        cdef uint8_t byte
        cdef bint is_quoted, is_opened, is_ended
        self.is_sorted = True
        self.add_tokens(&tokens, COMMA)
        self.add_tokens(&tokens, CLOSING_BRACKET)
        self.add_tokens(&tokens, CLOSING_BRACE)
        sort(tokens.begin(), tokens.end())
        for k in range(<uint32_t>tokens.size()):
            t = tokens[k]
            if k and tokens[k - 1] == t:
                continue
            is_quoted = is_opened = is_ended = False
            for at in range(self.vocabulary.offsets[t], self.vocabulary.offsets[t + 1]):
                byte = self.vocabulary.data[at]
                is_ended = is_ended or is_quoted and is_end(byte)
                is_quoted = is_quoted or byte == QUOTE
                is_opened = is_opened or byte == OPENING_BRACKET or byte == OPENING_BRACE
            self.ending.push_back(t)
            if is_ended:
                self.quoting.push_back(t)
            if is_opened:
                self.opening.push_back(t)

        self.sort_raising(LOWER_E)
        self.sort_raising(UPPER_E)

    cdef void sort_raising(self, uint8_t byte) noexcept nogil:
        """Collect tokens with the letter of an exponent first, or after a digit or a point."""
        cdef uint32_t k, node, parent
        cdef uint8_t before
        for k in range(self.vocabulary.byte_offs[byte], self.vocabulary.byte_offs[byte + 1]):
            node = self.vocabulary.byte_nodes[k]
            parent = self.vocabulary.parents[node]
            before = self.vocabulary.nodes[parent].byte
            if parent == 0 or is_digit(before) or before == POINT:
                self.add_below(&self.raising, node)

    cdef void add_tokens(self, vector[uint32_t]* out, uint8_t byte) noexcept nogil:
        """Add the tokens that contain a byte: those below the trie nodes with that byte."""
        cdef uint32_t k
        for k in range(self.vocabulary.byte_offs[byte], self.vocabulary.byte_offs[byte + 1]):
            self.add_below(out, self.vocabulary.byte_nodes[k])

    cdef void add_below(self, vector[uint32_t]* out, uint32_t node) noexcept nogil:
        cdef uint32_t k, end = self.vocabulary.nodes[node].end
        for k in range(self.vocabulary.nodes[node].first, self.vocabulary.nodes[end].first):
            out.push_back(self.vocabulary.order[k])
