"""Counts of continuations: values by row, each once, whatever its spelling."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..earley.rows cimport CONFIGURATION, DEAD, ENDS_UNIQUE
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put
from ..native.pool cimport held_bytes, vector
from .uniqueness cimport (
    BACKSLASH, CLOSING_BRACE, CLOSING_BRACKET, COLON, EXPONENT, LOWER_A, LOWER_U, MINUS,
    MAX_BLANKS, NEGATIVE, NINE, OPENING_BRACE, OPENING_BRACKET, OUTSIDE, PENDING, POINT, QUOTE,
    SPACE, SPACES, STRING, UPPER_E, WHOLE, ZERO, Cursor, Mode, UniquenessState, ValuePositionC,
    after, after_blank, is_blank, is_digit, is_end, is_number, string_view,
)

#: counts that one generation caches, 24 MB
cdef size_t MAX_COUNTS = 1 << 20
#: stands for infinity: no text has as many items
cdef uint32_t MANY = 1 << 30
#: nested calls of ``ContinuationCounter.count``, 2 MB of the stack. At least every second level
#: doubles the values, so deeper counts are taken as MANY
cdef uint32_t MAX_NESTED = 4_000
#: values counted beyond the requested ones, so that not every further item starts a new count
cdef uint32_t MARGIN = 64
#: zeros that are tried after a number
cdef int MAX_ZEROS = 64

cdef enum:
    # what is known of a count: being computed (meeting it again means a cycle), a lower bound, or
    # exact
    BEGUN
    LOWER
    EXACT

cdef const char* ENDS = b",]}"
cdef const char* HEX = b"0123456789abcdef"
cdef const char* SHORT = b'"\\bfnrt/'
#: the characters that all but the last of these stand for
cdef const char* SHORT_OF = b'"\\\b\f\n\r\t'


cdef inline uint32_t sum_of(uint32_t a, uint32_t b) noexcept nogil:
    return MANY if a >= MANY or b >= MANY else a + b


cdef inline uint32_t left_of(uint32_t want, uint32_t found) noexcept nogil:
    return want - found if want > found else 0


cdef class ContinuationCounter:
    cdef size_t bytes_held(self) noexcept nogil:
        return map_bytes(&self.numbers) + held_bytes(self.least) + held_bytes(self.known)

    # -- questions ---------------------------------------------------------------------------------
    cdef bint is_stuck(self, uint32_t configuration, const UniquenessState* state) noexcept nogil:
        """Return whether every continuation repeats an item or key of some open array or object."""
        cdef uint32_t level, used, n = state.depth(), k
        cdef ValuePositionC position
        cdef Cursor cursor
        position.configuration, position.mode = configuration, state.mode()
        position.n_escape = <uint8_t>state.escape().size()
        for k in range(position.n_escape):
            position.escape[k] = state.escape().data()[k]
        for level in range(n):
            used = state.used(level)
            position.depth = n - 1 - level
            if used == 0:
                continue
            if not is_number(position.mode) and not position.n_escape:
                if self.count(configuration, position.depth, position.mode, MARGIN) > used:
                    continue
            cursor = state.cursor(level)
            if self.is_spent(&position, &cursor):
                return True
        return False

    cdef bint is_spent(self, ValuePositionC* position, const Cursor* used) noexcept nogil:
        """Return whether no more values begin like the current one than used items do."""
        cdef uint32_t n, same, own, more = used.total()
        if position.n_escape:
            more = used.begun(string_view(position.escape, position.n_escape))
            if more == 0:
                return False
            n = self.escaped(position, NULL, more + 1)
            return n <= more and n <= self.escaped(position, used, MANY)
        if not is_number(position.mode):
            if more == 0:
                return False
            n = self.count(position.configuration, position.depth, position.mode, more + MARGIN)
            return n <= more and self.has_used(position, used, n)
        if position.depth == 0 and self.leaves(position.configuration):
            return False
        if position.mode == EXPONENT:
            # each further digit except zero makes another value
            more = used.raised
            own = self.ended(position.configuration, position.depth, EXPONENT, more + 1)
            n = sum_of(own, self.count(position.configuration, position.depth, EXPONENT, more + 1))
            return more > 0 and (used.is_minus_zero or (n <= more and own <= used.equal))
        same, more = used.ended(position.mode), used.longer(position.mode)
        if more + same == 0:
            return False
        n = self.count(position.configuration, position.depth, position.mode, more + same + MARGIN)
        if n > more + same:
            return False
        own = self.ended(position.configuration, position.depth, position.mode, more + same + 1)
        n = sum_of(n, own)
        if n > more + (same if own else 0):
            return False
        # values that end here, or were carried, have no rest to check
        same = same if own and (position.depth == 0 or used.carried) else 0
        return n <= same or self.has_used(position, used, n - same)

    cdef bint has_used(self, ValuePositionC* position, const Cursor* used, uint32_t n) noexcept nogil:
        """Return whether at least ``n`` of the used items that begin like the current one may come
        here. In arrays with several kinds of items some may not.
        """
        cdef uint32_t k, values = 0, total = used.total()
        for k in range(total):
            if values == n:
                break
            values += self.is_open_to(position.configuration, used.rest(k), position.mode == STRING)
        return values >= n

    cdef bint is_open_to(self, uint32_t configuration, string_view rest, bint is_inside) noexcept nogil:
        """Return whether an item may end after the rest of a canonical text, with the white space
        that a layout requires; ``is_inside``: the rest begins within a string.
        """
        cdef size_t k = 0
        cdef uint32_t target = configuration
        while k < rest.size():
            if rest.data()[k] == BACKSLASH:
                # canonical texts escape it as \u00xx
                target = self.after_escape(target & CONFIGURATION, byte_of(rest.data()[k + 4], rest.data()[k + 5]))
                if target == DEAD:
                    return False
                k += 6
                continue
            target = self.reach(target & CONFIGURATION, <uint8_t>rest.data()[k], is_inside)
            is_inside = is_inside != (rest.data()[k] == QUOTE)
            if target == DEAD:
                # a number may still follow that can be written without its exponent
                return rest.data()[k] == UPPER_E
            k += 1
        return target & ENDS_UNIQUE != 0 if rest.size() and not is_digit(<uint8_t>rest.data()[rest.size() - 1]) else (
            self.leaves(target & CONFIGURATION))

    cdef bint leaves(self, uint32_t configuration) noexcept nogil:
        """Return whether the item may end here: a byte may follow that is not part of it."""
        cdef int k
        for k in range(3):
            if self.go(configuration, ENDS[k]) != DEAD or self.go(configuration, SPACES[k]) != DEAD:
                return True
        return self.go(configuration, SPACES[3]) != DEAD

    # -- steps ---------------------------------------------------------------------------------------
    cdef uint32_t go(self, uint32_t configuration, uint8_t byte) noexcept nogil:
        self.steps += 1
        return self.arena.step_unique(configuration, byte)

    cdef uint32_t reach(self, uint32_t configuration, uint8_t byte, bint is_inside) noexcept nogil:
        """Like ``go``; outside strings also after required white space."""
        cdef uint32_t target, _n
        for _n in range(MAX_BLANKS):
            target = self.go(configuration, byte)
            if target != DEAD or is_inside:
                return target
            configuration = after_blank(self.arena, configuration)
            if configuration == DEAD:
                return DEAD
        return DEAD

    cdef uint32_t past(self, uint32_t configuration, uint32_t depth, uint8_t byte, bint* met) noexcept nogil:
        """Return the configuration after a byte, ``depth`` brackets within the item, if the item
        does not end there. ``met``: whether the item may end there.
        """
        cdef uint32_t target = self.go(configuration, byte)
        met[0] = depth == 0 and target & ENDS_UNIQUE != 0
        return self.arena.step_blocked(configuration, byte) if met[0] else target & CONFIGURATION

    # -- counts --------------------------------------------------------------------------------------
    cdef uint32_t count(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Return the number of values; for a number, of those with further digits."""
        cdef uint64_t key = <uint64_t>configuration << 20 | depth << 4 | <uint32_t>mode
        cdef uint32_t number, values
        if configuration == DEAD or want == 0:
            return 0
        if depth >> 16 or self.nested > MAX_NESTED:
            return MANY
        number = map_get(&self.numbers, key)
        if number == MISSING:
            if self.nested == 0 and self.least.size() > MAX_COUNTS:
                map_clear(&self.numbers)
                self.least.clear()
                self.known.clear()
            number = <uint32_t>self.least.size()
            self.least.push_back(0)
            self.known.push_back(LOWER)
            map_put(&self.numbers, key, number)
        elif self.known[number] == BEGUN:
            return MANY
        elif self.known[number] == EXACT or self.least[number] >= want:
            return self.least[number]
        self.known[number] = BEGUN
        self.nested += 1
        values = min(self.counted(configuration, depth, mode, want), MANY)
        self.nested -= 1
        self.known[number] = LOWER
        if self.arena.error:
            return MANY
        self.least[number] = values
        if values < want or values == MANY:
            self.known[number] = EXACT
        return values

    cdef uint32_t counted(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        if mode == OUTSIDE:
            return self.outside(configuration, depth, want)
        if mode == STRING:
            return self.inside(configuration, depth, want)
        return self.longer(configuration, depth, mode, want)

    cdef uint32_t outside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count outside strings and numbers; opening brackets, which may recurse, come last."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        cdef uint8_t[256] bytes_, last
        cdef uint32_t k, n = 0, n_last = 0, sure, values = 0
        cdef uint8_t byte
        for k in range(5):
            byte = b']},:"'[k]
            if live[byte >> 6] >> (byte & 63) & 1 and self.go(configuration, byte) != DEAD:
                if depth == 0 and byte != QUOTE:
                    # it leaves the array, or follows a key: the item need not be unique
                    return MANY
                bytes_[n] = byte
                n += 1
        for k in range(SPACE + 1, 256):
            if not live[k >> 6] >> (k & 63) & 1 or is_end(<uint8_t>k) or k == COLON or k == QUOTE:
                continue
            if self.go(configuration, <uint8_t>k) == DEAD:
                continue
            if k == OPENING_BRACKET or k == OPENING_BRACE:
                last[n_last] = <uint8_t>k
                n_last += 1
            else:
                bytes_[n] = <uint8_t>k
                n += 1
        for k in range(n_last):
            bytes_[n + k] = last[k]
        n += n_last
        sure = 0
        for k in range(n):
            sure += bytes_[k] != MINUS
        for k in range(n):
            if values + sure >= want:
                return values + sure
            sure -= bytes_[k] != MINUS
            values = sum_of(values, self.count_after(configuration, depth, bytes_[k], left_of(want, values + sure)))
        return sum_of(values, self.spaced(configuration, depth, bytes_[0] if n else 0, left_of(want, values)))

    cdef uint32_t spaced(self, uint32_t configuration, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil:
        """Count the values after white space. ``other`` is a byte allowed here, 0 if there is none.
        If it is also allowed after the white space, both begin the same values, which are counted
        once.
        """
        cdef uint32_t at = after_blank(self.arena, configuration) if want else DEAD, end = at, _n
        cdef bint is_only = True
        for _n in range(MAX_BLANKS):
            if at == DEAD:
                break
            if other and self.go(at, other) != DEAD:
                return 0
            # a required character is not a state of its own
            is_only = is_only and is_blank(self.arena, at)
            at = after_blank(self.arena, at)
            end = at if is_only else end
        return self.count(end, depth, OUTSIDE, want)

    cdef uint32_t count_after(self, uint32_t configuration, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil:
        """Count the values after a byte between strings and numbers."""
        cdef bint met
        cdef uint32_t next_, values
        if byte == OPENING_BRACKET or byte == OPENING_BRACE:
            depth += 1
        elif byte == CLOSING_BRACKET or byte == CLOSING_BRACE:
            depth -= 1
        next_ = self.past(configuration, depth, byte, &met)
        if byte == QUOTE:
            return self.count(next_, depth, STRING, want)
        if byte == MINUS:
            return self.count(next_, depth, NEGATIVE, want)
        if is_digit(byte):
            values = self.ended_or(met, next_, depth, WHOLE, want)
            return sum_of(values, self.count(next_, depth, WHOLE, left_of(want, values)))
        return sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))

    cdef uint32_t inside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count within a string."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        cdef uint32_t[256] children
        cdef bint met
        cdef uint32_t k, n = 0, values, next_ = self.past(configuration, depth, QUOTE, &met)
        values = sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))
        for k in range(SPACE, 256):
            if live[k >> 6] >> (k & 63) & 1 and k != QUOTE and k != BACKSLASH:
                next_ = self.go(configuration, <uint8_t>k) & CONFIGURATION
                if next_ == configuration:
                    return MANY
                if next_ != DEAD:
                    children[n] = next_
                    n += 1
        for k in range(n):
            if values + n - k >= want:
                return values + n - k
            values = sum_of(values, self.count(children[k], depth, STRING, left_of(want, values + n - k - 1)))
        return sum_of(values, self.must_be_escaped(configuration, depth, left_of(want, values)))

    cdef uint32_t must_be_escaped(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count the values that go on with a character that must be escaped. Listed strings have few of these,
        and many states.
        """
        cdef uint32_t escape = self.go(configuration, BACKSLASH) & CONFIGURATION if want else DEAD
        cdef uint32_t number = self.numbered(escape), tens = DEAD, values = 0, k, next_
        if escape == DEAD:
            return 0
        for k in range(BACKSLASH + 1):
            if k & 15 == 0:
                tens = self.go(number, HEX[k >> 4]) & CONFIGURATION if number != DEAD else DEAD
            if values < want and (k < SPACE or k == QUOTE or k == BACKSLASH):
                next_ = self.go(tens, HEX[k & 15]) & CONFIGURATION if tens != DEAD else DEAD
                if next_ == DEAD:
                    next_ = self.lettered(escape, k)
                values = sum_of(values, self.count(next_, depth, STRING, left_of(want, values)))
        return values

    cdef uint32_t after_escape(self, uint32_t configuration, uint32_t character) noexcept nogil:
        """Return the configuration after a character that must be escaped: by its number or, where
        a text has one spelling only, by its letter.
        """
        cdef uint32_t escape = self.go(configuration, BACKSLASH) & CONFIGURATION, target = self.numbered(escape)
        target = self.go(self.go(target, HEX[character >> 4]) & CONFIGURATION, HEX[character & 15]) & CONFIGURATION
        return target if target != DEAD else self.lettered(escape, character)

    cdef uint32_t numbered(self, uint32_t escape) noexcept nogil:
        """Return the configuration after ``u00``."""
        cdef uint32_t k
        cdef const char* number = b"u00"
        for k in range(3):
            escape = self.go(escape, number[k]) & CONFIGURATION
        return escape

    cdef uint32_t lettered(self, uint32_t escape, uint32_t character) noexcept nogil:
        """Return the configuration after the letter of a character's short escape."""
        cdef uint32_t k
        for k in range(7):
            if SHORT_OF[k] == character:
                return self.go(escape, SHORT[k]) & CONFIGURATION
        return DEAD

    cdef uint32_t escaped(self, ValuePositionC* position, const Cursor* used, uint32_t want) noexcept nogil:
        """Count within an incomplete escape. With ``used``: count the used items that begin with
        one of the characters it can become. Where texts have one spelling only, these are few.
        """
        cdef ValuePositionC made
        cdef Cursor cursor
        cdef const char* choices = HEX
        cdef uint32_t k, n = 16, values = 0, at = position.n_escape
        if at == 12 or (at == 6 and not is_first_surrogate(position)) or (at == 2 and position.escape[1] != LOWER_U):
            if used != NULL:
                cursor = used[0]
                cursor.narrow_escape(string_view(position.escape, at))
                return cursor.total()
            return self.count(position.configuration, position.depth, STRING, want)
        if at == 1 or at == 7:
            choices, n = b"u", 1
            if self.go(position.configuration, LOWER_U) == DEAD:
                choices, n = SHORT, 8
        elif at == 6:
            choices, n = b"\\", 1
        for k in range(n):
            made = position[0]
            made.configuration = self.go(position.configuration, choices[k]) & CONFIGURATION
            if made.configuration != DEAD and values < want:
                made.escape[at], made.n_escape = choices[k], <uint8_t>(at + 1)
                values = sum_of(values, self.escaped(&made, used, left_of(want, values)))
        return values

    # -- numbers -------------------------------------------------------------------------------------
    cdef uint32_t longer(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Count numbers with further significant digits."""
        cdef uint32_t values, next_
        cdef bint met
        if mode == PENDING:
            return self.fraction(configuration, depth, want)
        values = self.digits(configuration, depth, mode, want)
        if mode == NEGATIVE or values >= want:
            return values
        if mode == EXPONENT:
            next_ = self.go(configuration, MINUS) & CONFIGURATION
            return sum_of(values, self.count(next_, depth, EXPONENT, left_of(want, values)))
        next_ = self.past(configuration, depth, POINT if mode == WHOLE else ZERO, &met)
        return sum_of(values, self.count(next_, depth, PENDING, left_of(want, values)))

    cdef uint32_t fraction(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count after a point and zeros: any number of further zeros, then another digit."""
        cdef vector[uint32_t] passed
        cdef uint32_t values = 0, some, k
        cdef size_t last = 0        # one past the last state that another digit may follow
        cdef bint met
        while configuration != DEAD:
            for k in range(<uint32_t>passed.size()):
                if passed[k] == configuration:
                    return MANY if last > k else values
            passed.push_back(configuration)
            some = self.digits(configuration, depth, PENDING, left_of(want, values))
            if some:
                last = passed.size()
            values = sum_of(values, some)
            if values >= want:
                return values
            configuration = self.past(configuration, depth, ZERO, &met)
        return values

    cdef uint32_t digits(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Count numbers whose next digit counts: no zero after a point or in an exponent."""
        cdef uint8_t[10] some
        cdef uint8_t byte, least = ZERO if mode == WHOLE or mode == NEGATIVE else ZERO + 1
        cdef uint32_t k, n = 0, sure = 0, values = 0, next_, same
        cdef bint met, is_zero
        cdef Mode now
        for k in range(least, NINE + 1):
            byte = <uint8_t>k
            if self.go(configuration, byte) != DEAD:
                some[n] = byte
                n += 1
                sure += mode != NEGATIVE or byte != ZERO
        for k in range(n):
            if values + sure >= want:
                return values + sure
            is_zero = mode == NEGATIVE and some[k] == ZERO
            sure -= not is_zero
            now = after(mode, some[k])
            next_ = self.past(configuration, depth, some[k], &met)
            same = 0 if is_zero else self.ended_or(met, next_, depth, now, left_of(want, values + sure))
            values = sum_of(values, same)
            values = sum_of(values, self.count(next_, depth, now, left_of(want, values + sure)))
        return values

    cdef uint32_t ended_or(
        self, bint met, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want
    ) noexcept nogil:
        """Like ``ended``, after a digit that may end the item (``met``)."""
        if met:
            return MANY if self.leaves(configuration) else 1
        return self.ended(configuration, depth, mode, want)

    cdef uint32_t ended(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Count the values that end with the number as it is, at once or after insignificant zeros;
        after a minus sign, those with zero.
        """
        cdef uint32_t found, k
        cdef bint met = False
        if mode == NEGATIVE:
            configuration, mode = self.past(configuration, depth, ZERO, &met), WHOLE
        for k in range(MAX_ZEROS):
            found = self.ends(configuration, depth, want) if depth else met
            if depth == 0 and configuration != DEAD and self.leaves(configuration):
                # the item need not be unique
                return MANY
            if found or configuration == DEAD or mode == EXPONENT:
                return found
            configuration = self.past(configuration, depth, POINT if mode == WHOLE and k == 0 else ZERO, &met)
        return 0

    cdef uint32_t ends(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        cdef uint32_t values = 0, k
        cdef uint8_t end = 0
        if configuration == DEAD:
            return 0
        for k in range(3):
            if values < want and self.go(configuration, ENDS[k]) != DEAD:
                end = <uint8_t>ENDS[k]
                values = sum_of(values, self.count_after(configuration, depth, end, left_of(want, values)))
        return sum_of(values, self.spaced(configuration, depth, end, left_of(want, values)))


cdef uint32_t byte_of(char high, char low) noexcept nogil:
    """Return the value of two lower-case hexadecimal digits."""
    return nibble_of(high) << 4 | nibble_of(low)


cdef inline uint32_t nibble_of(char digit) noexcept nogil:
    return digit - ZERO if digit <= NINE else digit - LOWER_A + 10


cdef bint is_first_surrogate(ValuePositionC* position) noexcept nogil:
    return position.escape[2] | 0x20 == 0x64 and position.escape[3] in b"89abAB"
