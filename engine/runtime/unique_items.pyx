"""Unique items: steps that know the text, counts of continuations, and candidates for repeats."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..earley.rows cimport CONFIGURATION, DEAD, ENDS_UNIQUE, Arena
from ..native.bitset cimport has_bit
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..vocabulary.vocabulary cimport Vocabulary

#: bytes of the lists of one generation
cdef size_t MOST_BYTES = 16 << 20
#: counts that one generation caches, 24 MB
cdef size_t MOST_COUNTS = 1 << 20
#: stands for infinity: no text has as many items
cdef uint32_t MANY = 1 << 30
#: nested calls of ``ContinuationCounter.count``, 2 MB of the stack. At least every second level
#: doubles the values, so deeper counts are taken as MANY
cdef uint32_t MOST_NESTED = 4_000
#: values counted beyond the requested ones, so that not every further item starts a new count
cdef uint32_t MARGIN = 64
#: zeros that are tried after a number
cdef int MOST_ZEROS = 64

cdef enum:
    # what is known of a count: being computed (meeting it again means a cycle), a lower bound, or
    # exact
    BEGUN
    LOWER
    EXACT

cdef enum:
    QUOTE = 0x22
    COMMA = 0x2C
    MINUS = 0x2D
    POINT = 0x2E
    ZERO = 0x30
    NINE = 0x39
    COLON = 0x3A
    UPPER_E = 0x45
    OPENING_BRACKET = 0x5B
    BACKSLASH = 0x5C
    CLOSING_BRACKET = 0x5D
    LOWER_A = 0x61
    LOWER_E = 0x65
    LOWER_U = 0x75
    OPENING_BRACE = 0x7B
    CLOSING_BRACE = 0x7D
    SPACE = 0x20

cdef enum:
    # flag of an entry of RepeatCandidates.listed that matters only once items were used
    CLOSES = 0x80000000

cdef const char* ENDS = b",]}"
cdef const char* SPACES = b" \n\t\r"
#: the same characters as bits of the first 64 bytes
cdef uint64_t BLANKS = <uint64_t>1 << 0x20 | 1 << 0x0A | 1 << 0x09 | 1 << 0x0D
#: closing brackets as bits of the second 64 bytes
cdef uint64_t CLOSINGS = <uint64_t>1 << 0x5D - 64 | <uint64_t>1 << 0x7D - 64
#: white space characters skipped between two values: a line of a layout has at most 2,561
cdef uint32_t MOST_BLANKS = 4_000
cdef const char* HEX = b"0123456789abcdef"
cdef const char* SHORT = b'"\\bfnrt/'
#: the characters that all but the last of these stand for
cdef const char* SHORT_OF = b'"\\\b\f\n\r\t'


cdef uint32_t follow(
    Arena arena, uint32_t configuration, const uint8_t* data, size_t n, UniquenessState* state
) noexcept nogil:
    """Return the configuration after these bytes, DEAD if they are not allowed; update ``state``.
    """
    cdef size_t k
    cdef uint32_t found
    for k in range(n):
        found = arena.step_unique(configuration, data[k])
        if found == DEAD:
            return DEAD
        state.read(data[k])
        if found & ENDS_UNIQUE and state.is_open() and state.repeats():
            found = arena.step_blocked(configuration, data[k])
            if found == DEAD:
                return DEAD
        configuration = found & CONFIGURATION
        if (data[k] == OPENING_BRACKET or data[k] == OPENING_BRACE) and not state.is_open():
            if awaits_unique(arena, configuration):
                state.open(data[k] == OPENING_BRACKET)
    return configuration


cdef bint awaits_unique(Arena arena, uint32_t configuration) noexcept nogil:
    """Return whether a unique word may come next, at once or after white space that must come
    first. Only a closing bracket may come instead of such white space: a blank within a string does
    not count.
    """
    cdef uint64_t[4] live
    cdef uint32_t _n
    for _n in range(MOST_BLANKS):
        if arena.rows[arena.configurations[configuration].row].has_unique:
            return True
        live = arena.rows[arena.configurations[configuration].row].live
        if live[0] & ~BLANKS | live[1] & ~CLOSINGS | live[2] | live[3]:
            return False
        configuration = after_blank(arena, configuration)
        if configuration == DEAD:
            return False
    return False


cdef uint32_t after_blank(Arena arena, uint32_t configuration) noexcept nogil:
    """Return the configuration after the only white space character allowed here, DEAD if there is
    none. Where several are allowed, white space is flexible and may be absent.
    """
    cdef uint64_t blanks = arena.rows[arena.configurations[configuration].row].live[0] & BLANKS
    cdef uint32_t found, k
    if blanks and not blanks & (blanks - 1):
        for k in range(4):
            if blanks == <uint64_t>1 << SPACES[k]:
                found = arena.step_unique(configuration, SPACES[k])
                return found if found == DEAD else found & CONFIGURATION
    return DEAD


cdef inline uint32_t sum_of(uint32_t a, uint32_t b) noexcept nogil:
    return MANY if a >= MANY or b >= MANY else a + b


cdef inline uint32_t left_of(uint32_t want, uint32_t found) noexcept nogil:
    return want - found if want > found else 0


cdef inline bint is_end(uint8_t byte) noexcept nogil:
    return byte == COMMA or byte == CLOSING_BRACKET or byte == CLOSING_BRACE


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return ZERO <= byte <= NINE


cdef class ContinuationCounter:
    cdef size_t bytes_held(self) noexcept nogil:
        return map_bytes(&self.numbers) + held_bytes(self.least) + held_bytes(self.known)

    # -- questions ---------------------------------------------------------------------------------
    cdef bint is_stuck(self, uint32_t configuration, const UniquenessState* state) noexcept nogil:
        """Return whether every continuation repeats an item of some open array, or a key of some
        open object.
        """
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
        cdef uint32_t k, found = 0, total = used.total()
        for k in range(total):
            if found == n:
                break
            found += self.is_open_to(position.configuration, used.rest(k), position.mode == STRING)
        return found >= n

    cdef bint is_open_to(self, uint32_t configuration, string_view rest, bint is_inside) noexcept nogil:
        """Return whether an item may end after the rest of a canonical text, with the white space
        that a layout requires; ``is_inside``: the rest begins within a string.
        """
        cdef size_t k = 0
        cdef uint32_t found = configuration
        while k < rest.size():
            if rest.data()[k] == BACKSLASH:
                # canonical texts escape it as \u00xx
                found = self.after_escape(found & CONFIGURATION, byte_of(rest.data()[k + 4], rest.data()[k + 5]))
                if found == DEAD:
                    return False
                k += 6
                continue
            found = self.reach(found & CONFIGURATION, <uint8_t>rest.data()[k], is_inside)
            is_inside = is_inside != (rest.data()[k] == QUOTE)
            if found == DEAD:
                # a number may still follow that can be written without its exponent
                return rest.data()[k] == UPPER_E
            k += 1
        return found & ENDS_UNIQUE != 0 if rest.size() and not is_digit(<uint8_t>rest.data()[rest.size() - 1]) else (
            self.leaves(found & CONFIGURATION))

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
        cdef uint32_t found, _n
        for _n in range(MOST_BLANKS):
            found = self.go(configuration, byte)
            if found != DEAD or is_inside:
                return found
            configuration = after_blank(self.arena, configuration)
            if configuration == DEAD:
                return DEAD
        return DEAD

    cdef uint32_t past(self, uint32_t configuration, uint32_t depth, uint8_t byte, bint* met) noexcept nogil:
        """Return the configuration after a byte, ``depth`` brackets within the item, if the item
        does not end there. ``met``: whether the item may end there.
        """
        cdef uint32_t found = self.go(configuration, byte)
        met[0] = depth == 0 and found & ENDS_UNIQUE != 0
        return self.arena.step_blocked(configuration, byte) if met[0] else found & CONFIGURATION

    # -- counts --------------------------------------------------------------------------------------
    cdef uint32_t count(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Return the number of values; for a number, of those with further digits."""
        cdef uint64_t key = <uint64_t>configuration << 20 | depth << 4 | <uint32_t>mode
        cdef uint32_t number, found
        if configuration == DEAD or want == 0:
            return 0
        if depth >> 16 or self.nested > MOST_NESTED:
            return MANY
        number = map_get(&self.numbers, key)
        if number == MISSING:
            if self.nested == 0 and self.least.size() > MOST_COUNTS:
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
        found = min(self.counted(configuration, depth, mode, want), MANY)
        self.nested -= 1
        self.known[number] = LOWER
        if self.arena.error:
            return MANY
        self.least[number] = found
        if found < want or found == MANY:
            self.known[number] = EXACT
        return found

    cdef uint32_t counted(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        if mode == OUTSIDE:
            return self.outside(configuration, depth, want)
        if mode == STRING:
            return self.inside(configuration, depth, want)
        return self.longer(configuration, depth, mode, want)

    cdef uint32_t outside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count outside strings and numbers. Opening brackets come last, because they may recurse
        without end.
        """
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        cdef uint8_t[256] bytes_, last
        cdef uint32_t k, n = 0, n_last = 0, sure, found = 0
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
            if found + sure >= want:
                return found + sure
            sure -= bytes_[k] != MINUS
            found = sum_of(found, self.count_after(configuration, depth, bytes_[k], left_of(want, found + sure)))
        return sum_of(found, self.spaced(configuration, depth, bytes_[0] if n else 0, left_of(want, found)))

    cdef uint32_t spaced(self, uint32_t configuration, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil:
        """Count the values after white space. ``other`` is a byte allowed here, 0 if there is none.
        If it is also allowed after the white space, both begin the same values, which are counted
        once.
        """
        cdef uint32_t at = after_blank(self.arena, configuration) if want else DEAD, end = at, _n
        cdef bint is_only = True
        for _n in range(MOST_BLANKS):
            if at == DEAD:
                break
            if other and self.go(at, other) != DEAD:
                return 0
            # a required character is not a state of its own
            is_only = is_only and self.is_blank(at)
            at = after_blank(self.arena, at)
            end = at if is_only else end
        return self.count(end, depth, OUTSIDE, want)

    cdef bint is_blank(self, uint32_t configuration) noexcept nogil:
        """Return whether only white space may come."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        return not (live[0] & ~BLANKS | live[1] | live[2] | live[3])

    cdef uint32_t count_after(self, uint32_t configuration, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil:
        """Count the values after a byte between strings and numbers."""
        cdef bint met
        cdef uint32_t next_, found
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
            found = self.ended_or(met, next_, depth, WHOLE, want)
            return sum_of(found, self.count(next_, depth, WHOLE, left_of(want, found)))
        return sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))

    cdef uint32_t inside(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count within a string."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        cdef uint32_t[256] children
        cdef bint met
        cdef uint32_t k, n = 0, found, next_ = self.past(configuration, depth, QUOTE, &met)
        found = sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))
        for k in range(SPACE, 256):
            if live[k >> 6] >> (k & 63) & 1 and k != QUOTE and k != BACKSLASH:
                next_ = self.go(configuration, <uint8_t>k) & CONFIGURATION
                if next_ == configuration:
                    return MANY
                if next_ != DEAD:
                    children[n] = next_
                    n += 1
        for k in range(n):
            if found + n - k >= want:
                return found + n - k
            found = sum_of(found, self.count(children[k], depth, STRING, left_of(want, found + n - k - 1)))
        # characters that must be escaped
        if self.go(configuration, BACKSLASH) == DEAD:
            return found
        for k in range(BACKSLASH + 1):
            if found < want and (k < SPACE or k == QUOTE or k == BACKSLASH):
                next_ = self.after_escape(configuration, k)
                found = sum_of(found, self.count(next_, depth, STRING, left_of(want, found)))
        return found

    cdef uint32_t after_escape(self, uint32_t configuration, uint32_t character) noexcept nogil:
        """Return the configuration after a character that must be escaped: by its number or, where
        a text has one spelling only, by its letter.
        """
        cdef uint32_t found = configuration, k
        cdef const char* number = b"\\u00"
        configuration = self.go(configuration, BACKSLASH) & CONFIGURATION
        for k in range(4):
            found = self.go(found, number[k]) & CONFIGURATION
        found = self.go(self.go(found, HEX[character >> 4]) & CONFIGURATION, HEX[character & 15]) & CONFIGURATION
        if found != DEAD:
            return found
        for k in range(7):
            if SHORT_OF[k] == character:
                return self.go(configuration, SHORT[k]) & CONFIGURATION
        return DEAD

    cdef uint32_t escaped(self, ValuePositionC* position, const Cursor* used, uint32_t want) noexcept nogil:
        """Count within an incomplete escape. With ``used``: count the used items that begin with
        one of the characters it can become. Where texts have one spelling only, these are few.
        """
        cdef ValuePositionC made
        cdef Cursor cursor
        cdef const char* choices = HEX
        cdef uint32_t k, n = 16, found = 0, at = position.n_escape
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
            if made.configuration != DEAD and found < want:
                made.escape[at], made.n_escape = choices[k], <uint8_t>(at + 1)
                found = sum_of(found, self.escaped(&made, used, left_of(want, found)))
        return found

    # -- numbers -------------------------------------------------------------------------------------
    cdef uint32_t longer(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Count numbers with further significant digits."""
        cdef uint32_t found, next_
        cdef bint met
        if mode == PENDING:
            return self.fraction(configuration, depth, want)
        found = self.digits(configuration, depth, mode, want)
        if mode == NEGATIVE or found >= want:
            return found
        if mode == EXPONENT:
            next_ = self.go(configuration, MINUS) & CONFIGURATION
            return sum_of(found, self.count(next_, depth, EXPONENT, left_of(want, found)))
        next_ = self.past(configuration, depth, POINT if mode == WHOLE else ZERO, &met)
        return sum_of(found, self.count(next_, depth, PENDING, left_of(want, found)))

    cdef uint32_t fraction(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        """Count after a point and zeros: any number of further zeros, then another digit."""
        cdef vector[uint32_t] passed
        cdef uint32_t found = 0, some, k
        cdef size_t last = 0        # one past the last state that another digit may follow
        cdef bint met
        while configuration != DEAD:
            for k in range(<uint32_t>passed.size()):
                if passed[k] == configuration:
                    return MANY if last > k else found
            passed.push_back(configuration)
            some = self.digits(configuration, depth, PENDING, left_of(want, found))
            if some:
                last = passed.size()
            found = sum_of(found, some)
            if found >= want:
                return found
            configuration = self.past(configuration, depth, ZERO, &met)
        return found

    cdef uint32_t digits(self, uint32_t configuration, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Count numbers whose next digit is significant: not a zero after a point, or in an
        exponent.
        """
        cdef uint8_t[10] some
        cdef uint8_t byte, least = ZERO if mode == WHOLE or mode == NEGATIVE else ZERO + 1
        cdef uint32_t k, n = 0, sure = 0, found = 0, next_, same
        cdef bint met, is_zero
        cdef Mode now
        for k in range(least, NINE + 1):
            byte = <uint8_t>k
            if self.go(configuration, byte) != DEAD:
                some[n] = byte
                n += 1
                sure += mode != NEGATIVE or byte != ZERO
        for k in range(n):
            if found + sure >= want:
                return found + sure
            is_zero = mode == NEGATIVE and some[k] == ZERO
            sure -= not is_zero
            now = after(mode, some[k])
            next_ = self.past(configuration, depth, some[k], &met)
            same = 0 if is_zero else self.ended_or(met, next_, depth, now, left_of(want, found + sure))
            found = sum_of(found, same)
            found = sum_of(found, self.count(next_, depth, now, left_of(want, found + sure)))
        return found

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
        for k in range(MOST_ZEROS):
            found = self.ends(configuration, depth, want) if depth else met
            if depth == 0 and configuration != DEAD and self.leaves(configuration):
                # the item need not be unique
                return MANY
            if found or configuration == DEAD or mode == EXPONENT:
                return found
            configuration = self.past(configuration, depth, POINT if mode == WHOLE and k == 0 else ZERO, &met)
        return 0

    cdef uint32_t ends(self, uint32_t configuration, uint32_t depth, uint32_t want) noexcept nogil:
        cdef uint32_t found = 0, k
        cdef uint8_t end = 0
        if configuration == DEAD:
            return 0
        for k in range(3):
            if found < want and self.go(configuration, ENDS[k]) != DEAD:
                end = <uint8_t>ENDS[k]
                found = sum_of(found, self.count_after(configuration, depth, end, left_of(want, found)))
        return sum_of(found, self.spaced(configuration, depth, end, left_of(want, found)))


cdef uint32_t byte_of(char high, char low) noexcept nogil:
    """Return the value of two lower-case hexadecimal digits."""
    return nibble_of(high) << 4 | nibble_of(low)


cdef inline uint32_t nibble_of(char digit) noexcept nogil:
    return digit - ZERO if digit <= NINE else digit - LOWER_A + 10


cdef bint is_first_surrogate(ValuePositionC* position) noexcept nogil:
    return position.escape[2] | 0x20 == 0x64 and position.escape[3] in b"89abAB"


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
        cdef uint32_t found = self.arena.step_unique(position.configuration, byte)
        cdef size_t k, n = self.cursors.size()
        if found == DEAD:
            return
        if found & ENDS_UNIQUE or is_end(byte) or byte in b"[{:":
            self.collect(child, True, mask)
            return
        position.configuration = found & CONFIGURATION
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
        cdef uint32_t found = self.arena.step_unique(position.configuration, byte)
        cdef size_t k, n = self.cursors.size()
        cdef bint repeats = False
        cdef Mode before = position.mode
        position.mode = after(before, byte)
        for k in range(first, n):
            self.cursors.push_back(self.cursors[k])
            self.depths.push_back(self.depths[k])
            self.cursors.back().narrow_number(before, byte)
            if found & ENDS_UNIQUE and self.depths[k] == 0:
                repeats = repeats or self.cursors.back().ended(position.mode) > 0
        if repeats:
            position.configuration = self.arena.step_blocked(position.configuration, byte)
        else:
            position.configuration = found & CONFIGURATION
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
        if self.held > MOST_BYTES:
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
        cdef uint32_t k, found
        cdef uint8_t byte
        cdef bint is_met = False
        cdef uint32_t listed = 0
        for k in range(self.vocabulary.offsets[token], self.vocabulary.offsets[token + 1]):
            byte = self.vocabulary.data[k]
            if is_met and byte == COMMA:
                return 1
            found = self.arena.step_unique(configuration, byte)
            if found == DEAD:
                break
            configuration = found & CONFIGURATION
            is_met = is_met or found & ENDS_UNIQUE
            if found & ENDS_UNIQUE and (byte == CLOSING_BRACKET or byte == CLOSING_BRACE):
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
        for k in range(3):
            self.add_tokens(&tokens, ENDS[k])
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
        """Collect tokens that begin with the letter of an exponent, or have one after a digit or a
        point.
        """
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
