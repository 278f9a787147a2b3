"""Items that must differ: see the header file."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..earley.rows cimport DEAD, INSTANCE, MET, Arena
from ..native.bitset cimport has_bit
from ..native.hashing cimport MISSING, map_bytes, map_clear, map_get, map_put
from ..native.pool cimport held_bytes, vector
from ..vocabulary.vocabulary cimport Vocabulary

#: bytes of the lists of one generation
cdef size_t MOST_BYTES = 16 << 20
#: counts of one generation that are kept, 24 MB
cdef size_t MOST_COUNTS = 1 << 20
#: no text holds as many items; taken for any number
cdef uint32_t MANY = 1 << 30
#: calls of ``Ways.count`` within one another, 2 MB of the stack; every second one at least doubles the values,
#: so that what lies deeper is taken for any number
cdef uint32_t MOST_NESTED = 4_000
#: values counted beyond those asked for, so that not each further item counts anew
cdef uint32_t MARGIN = 64
#: zeros that are tried behind a number
cdef int MOST_ZEROS = 64

cdef enum:
    # of a bound in Ways: it is being made (who meets it again is in a circle), it is a lower one, or exact
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
    # an entry of Suspects.listed that only matters once items were used
    CLOSES = 0x80000000

cdef const char* ENDS = b",]}"
cdef const char* SPACES = b" \n\t\r"
#: the same as bits of the first 64 bytes
cdef uint64_t BLANKS = <uint64_t>1 << 0x20 | 1 << 0x0A | 1 << 0x09 | 1 << 0x0D
#: closing brackets, as bits of the second 64 bytes
cdef uint64_t CLOSINGS = <uint64_t>1 << 0x5D - 64 | <uint64_t>1 << 0x7D - 64
#: characters of white space between two values that are looked at: a line of a layout has 2,561 at most
cdef uint32_t MOST_BLANKS = 4_000
cdef const char* HEX = b"0123456789abcdef"
cdef const char* SHORT = b'"\\bfnrt/'
#: the characters that all but the last of these stand for
cdef const char* SHORT_OF = b'"\\\b\f\n\r\t'


cdef uint32_t follow(
    Arena arena, uint32_t instance, const uint8_t* data, size_t n, Place* place
) noexcept nogil:
    """The instance behind some bytes, DEAD if they are not allowed; ``place`` goes along."""
    cdef size_t k
    cdef uint32_t found
    for k in range(n):
        found = arena.step_met(instance, data[k])
        if found == DEAD:
            return DEAD
        place.read(data[k])
        if found & MET and place.is_open() and place.repeats():
            found = arena.step_blocked(instance, data[k])
            if found == DEAD:
                return DEAD
        instance = found & INSTANCE
        if (data[k] == OPENING_BRACKET or data[k] == OPENING_BRACE) and not place.is_open():
            if awaits_differing(arena, instance):
                place.open(data[k] == OPENING_BRACKET)
    return instance


cdef bint awaits_differing(Arena arena, uint32_t instance) noexcept nogil:
    """Whether a word that must differ may come, at once or behind white space that must come before it. Where
    it must, nothing but a closing bracket may come instead: a blank within a string is none.
    """
    cdef uint64_t[4] live
    cdef uint32_t _n
    for _n in range(MOST_BLANKS):
        if arena.rows[arena.instances[instance].row].has_differing:
            return True
        live = arena.rows[arena.instances[instance].row].live
        if live[0] & ~BLANKS | live[1] & ~CLOSINGS | live[2] | live[3]:
            return False
        instance = behind_blank(arena, instance)
        if instance == DEAD:
            return False
    return False


cdef uint32_t behind_blank(Arena arena, uint32_t instance) noexcept nogil:
    """The instance behind the one character of white space that may stand here; DEAD: there is none. Where
    there are several, white space is flexible, and need not be there.
    """
    cdef uint64_t blanks = arena.rows[arena.instances[instance].row].live[0] & BLANKS
    cdef uint32_t found, k
    if blanks and not blanks & (blanks - 1):
        for k in range(4):
            if blanks == <uint64_t>1 << SPACES[k]:
                found = arena.step_met(instance, SPACES[k])
                return found if found == DEAD else found & INSTANCE
    return DEAD


cdef inline uint32_t sum_of(uint32_t a, uint32_t b) noexcept nogil:
    return MANY if a >= MANY or b >= MANY else a + b


cdef inline uint32_t left_of(uint32_t want, uint32_t found) noexcept nogil:
    return want - found if want > found else 0


cdef inline bint is_end(uint8_t byte) noexcept nogil:
    return byte == COMMA or byte == CLOSING_BRACKET or byte == CLOSING_BRACE


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return ZERO <= byte <= NINE


cdef class Ways:
    cdef size_t bytes_held(self) noexcept nogil:
        return map_bytes(&self.numbers) + held_bytes(self.least) + held_bytes(self.known)

    # -- questions ---------------------------------------------------------------------------------
    cdef bint is_stuck(self, uint32_t instance, const Place* place) noexcept nogil:
        """Whether the text can't go on: in some array, or object, the next item can only be a used one."""
        cdef uint32_t level, used, n = place.depth(), k
        cdef SpotC spot
        cdef Cursor cursor
        spot.instance, spot.mode = instance, place.mode()
        spot.n_escape = <uint8_t>place.escape().size()
        for k in range(spot.n_escape):
            spot.escape[k] = place.escape().data()[k]
        for level in range(n):
            used = place.used(level)
            spot.depth = n - 1 - level
            if used == 0:
                continue
            if not is_number(spot.mode) and not spot.n_escape:
                if self.count(instance, spot.depth, spot.mode, MARGIN) > used:
                    continue
            cursor = place.cursor(level)
            if self.is_spent(&spot, &cursor):
                return True
        return False

    cdef bint is_spent(self, SpotC* spot, const Cursor* used) noexcept nogil:
        """Whether no more values begin like this one than used items do."""
        cdef uint32_t n, same, own, more = used.total()
        if spot.n_escape:
            more = used.begun(string_view(spot.escape, spot.n_escape))
            if more == 0:
                return False
            n = self.escaped(spot, NULL, more + 1)
            return n <= more and n <= self.escaped(spot, used, MANY)
        if not is_number(spot.mode):
            if more == 0:
                return False
            n = self.count(spot.instance, spot.depth, spot.mode, more + MARGIN)
            return n <= more and self.has_used(spot, used, n)
        if spot.depth == 0 and self.leaves(spot.instance):
            return False
        if spot.mode == EXPONENT:
            # each further digit but zero makes another value
            more = used.raised
            own = self.ended(spot.instance, spot.depth, EXPONENT, more + 1)
            n = sum_of(own, self.count(spot.instance, spot.depth, EXPONENT, more + 1))
            return more > 0 and (used.is_minus_zero or (n <= more and own <= used.equal))
        same, more = used.ended(spot.mode), used.longer(spot.mode)
        if more + same == 0:
            return False
        n = self.count(spot.instance, spot.depth, spot.mode, more + same + MARGIN)
        if n > more + same:
            return False
        own = self.ended(spot.instance, spot.depth, spot.mode, more + same + 1)
        n = sum_of(n, own)
        if n > more + (same if own else 0):
            return False
        # of those that end here, or were carried, nothing is left to look at
        same = same if own and (spot.depth == 0 or used.carried) else 0
        return n <= same or self.has_used(spot, used, n - same)

    cdef bint has_used(self, SpotC* spot, const Cursor* used, uint32_t n) noexcept nogil:
        """Whether ``n`` of the used items that begin like this one may come here: where items differ in what
        they may be, some may not.
        """
        cdef uint32_t k, found = 0, total = used.total()
        for k in range(total):
            if found == n:
                break
            found += self.is_open_to(spot.instance, used.rest(k), spot.mode == STRING)
        return found >= n

    cdef bint is_open_to(self, uint32_t instance, string_view rest, bint is_inside) noexcept nogil:
        """Whether an item may end behind the rest of a canonical text, with any white space that must stand in
        it; ``is_inside``: it begins within a string.
        """
        cdef size_t k = 0
        cdef uint32_t found = instance
        while k < rest.size():
            if rest.data()[k] == BACKSLASH:
                # canonical texts spell it by its number
                found = self.behind_escape(found & INSTANCE, byte_of(rest.data()[k + 4], rest.data()[k + 5]))
                if found == DEAD:
                    return False
                k += 6
                continue
            found = self.reach(found & INSTANCE, <uint8_t>rest.data()[k], is_inside)
            is_inside = is_inside != (rest.data()[k] == QUOTE)
            if found == DEAD:
                # only a number that may be written without its exponent might still come
                return rest.data()[k] == UPPER_E
            k += 1
        return found & MET != 0 if rest.size() and not is_digit(<uint8_t>rest.data()[rest.size() - 1]) else (
            self.leaves(found & INSTANCE))

    cdef bint leaves(self, uint32_t instance) noexcept nogil:
        """Whether the item may end here: something follows that is no part of it."""
        cdef int k
        for k in range(3):
            if self.go(instance, ENDS[k]) != DEAD or self.go(instance, SPACES[k]) != DEAD:
                return True
        return self.go(instance, SPACES[3]) != DEAD

    # -- steps ---------------------------------------------------------------------------------------
    cdef uint32_t go(self, uint32_t instance, uint8_t byte) noexcept nogil:
        self.steps += 1
        return self.arena.step_met(instance, byte)

    cdef uint32_t reach(self, uint32_t instance, uint8_t byte, bint is_inside) noexcept nogil:
        """As ``go``, outside of strings behind white space, if need be."""
        cdef uint32_t found, _n
        for _n in range(MOST_BLANKS):
            found = self.go(instance, byte)
            if found != DEAD or is_inside:
                return found
            instance = behind_blank(self.arena, instance)
            if instance == DEAD:
                return DEAD
        return DEAD

    cdef uint32_t past(self, uint32_t instance, uint32_t depth, uint8_t byte, bint* met) noexcept nogil:
        """The instance behind a byte, ``depth`` brackets within the item, if the item does not end there;
        ``met``: whether it may.
        """
        cdef uint32_t found = self.go(instance, byte)
        met[0] = depth == 0 and found & MET != 0
        return self.arena.step_blocked(instance, byte) if met[0] else found & INSTANCE

    # -- counts --------------------------------------------------------------------------------------
    cdef uint32_t count(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Values, of numbers those with further digits."""
        cdef uint64_t key = <uint64_t>instance << 20 | depth << 4 | <uint32_t>mode
        cdef uint32_t number, found
        if instance == DEAD or want == 0:
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
        found = min(self.counted(instance, depth, mode, want), MANY)
        self.nested -= 1
        self.known[number] = LOWER
        if self.arena.error:
            return MANY
        self.least[number] = found
        if found < want or found == MANY:
            self.known[number] = EXACT
        return found

    cdef uint32_t counted(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        if mode == OUTSIDE:
            return self.outside(instance, depth, want)
        if mode == STRING:
            return self.inside(instance, depth, want)
        return self.longer(instance, depth, mode, want)

    cdef uint32_t outside(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil:
        """Between strings and numbers. What opens brackets comes last: it may lead deeper for ever."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.instances[instance].row].live
        cdef uint8_t[256] bytes_, last
        cdef uint32_t k, n = 0, n_last = 0, sure, found = 0
        cdef uint8_t byte
        for k in range(5):
            byte = b']},:"'[k]
            if live[byte >> 6] >> (byte & 63) & 1 and self.go(instance, byte) != DEAD:
                if depth == 0 and byte != QUOTE:
                    # out of the array, or behind a key: the item was one that need not differ
                    return MANY
                bytes_[n] = byte
                n += 1
        for k in range(SPACE + 1, 256):
            if not live[k >> 6] >> (k & 63) & 1 or is_end(<uint8_t>k) or k == COLON or k == QUOTE:
                continue
            if self.go(instance, <uint8_t>k) == DEAD:
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
            found = sum_of(found, self.behind(instance, depth, bytes_[k], left_of(want, found + sure)))
        return sum_of(found, self.spaced(instance, depth, bytes_[0] if n else 0, left_of(want, found)))

    cdef uint32_t spaced(self, uint32_t instance, uint32_t depth, uint8_t other, uint32_t want) noexcept nogil:
        """Values behind white space. What ``other`` begins, a byte that may stand here, is not among them:
        where it may stand behind the white space, too, that says nothing. 0: no other byte may stand here.
        """
        cdef uint32_t at = behind_blank(self.arena, instance) if want else DEAD, end = at, _n
        cdef bint is_only = True
        for _n in range(MOST_BLANKS):
            if at == DEAD:
                break
            if other and self.go(at, other) != DEAD:
                return 0
            # a character that must follow is no place of its own
            is_only = is_only and self.is_blank(at)
            at = behind_blank(self.arena, at)
            end = at if is_only else end
        return self.count(end, depth, OUTSIDE, want)

    cdef bint is_blank(self, uint32_t instance) noexcept nogil:
        """Whether nothing but white space may come."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.instances[instance].row].live
        return not (live[0] & ~BLANKS | live[1] | live[2] | live[3])

    cdef uint32_t behind(self, uint32_t instance, uint32_t depth, uint8_t byte, uint32_t want) noexcept nogil:
        """Values behind a byte that stands between strings and numbers."""
        cdef bint met
        cdef uint32_t next_, found
        if byte == OPENING_BRACKET or byte == OPENING_BRACE:
            depth += 1
        elif byte == CLOSING_BRACKET or byte == CLOSING_BRACE:
            depth -= 1
        next_ = self.past(instance, depth, byte, &met)
        if byte == QUOTE:
            return self.count(next_, depth, STRING, want)
        if byte == MINUS:
            return self.count(next_, depth, NEGATIVE, want)
        if is_digit(byte):
            found = self.ended_or(met, next_, depth, WHOLE, want)
            return sum_of(found, self.count(next_, depth, WHOLE, left_of(want, found)))
        return sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))

    cdef uint32_t inside(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil:
        """Within a string."""
        cdef uint64_t[4] live = self.arena.rows[self.arena.instances[instance].row].live
        cdef uint32_t[256] children
        cdef bint met
        cdef uint32_t k, n = 0, found, next_ = self.past(instance, depth, QUOTE, &met)
        found = sum_of(met, self.count(next_, depth, OUTSIDE, left_of(want, met)))
        for k in range(SPACE, 256):
            if live[k >> 6] >> (k & 63) & 1 and k != QUOTE and k != BACKSLASH:
                next_ = self.go(instance, <uint8_t>k) & INSTANCE
                if next_ == instance:
                    return MANY
                if next_ != DEAD:
                    children[n] = next_
                    n += 1
        for k in range(n):
            if found + n - k >= want:
                return found + n - k
            found = sum_of(found, self.count(children[k], depth, STRING, left_of(want, found + n - k - 1)))
        # characters that have no other spelling
        if self.go(instance, BACKSLASH) == DEAD:
            return found
        for k in range(BACKSLASH + 1):
            if found < want and (k < SPACE or k == QUOTE or k == BACKSLASH):
                next_ = self.behind_escape(instance, k)
                found = sum_of(found, self.count(next_, depth, STRING, left_of(want, found)))
        return found

    cdef uint32_t behind_escape(self, uint32_t instance, uint32_t character) noexcept nogil:
        """The instance behind a character that must be escaped, by its number or, where a text has one spelling
        only, by its letter.
        """
        cdef uint32_t found = instance, k
        cdef const char* number = b"\\u00"
        instance = self.go(instance, BACKSLASH) & INSTANCE
        for k in range(4):
            found = self.go(found, number[k]) & INSTANCE
        found = self.go(self.go(found, HEX[character >> 4]) & INSTANCE, HEX[character & 15]) & INSTANCE
        if found != DEAD:
            return found
        for k in range(7):
            if SHORT_OF[k] == character:
                return self.go(instance, SHORT[k]) & INSTANCE
        return DEAD

    cdef uint32_t escaped(self, SpotC* spot, const Cursor* used, uint32_t want) noexcept nogil:
        """Within an escape that is not whole. Where it has one spelling only, few characters may come: with
        ``used``, how many used items begin with one of these.
        """
        cdef SpotC made
        cdef Cursor cursor
        cdef const char* choices = HEX
        cdef uint32_t k, n = 16, found = 0, at = spot.n_escape
        if at == 12 or (at == 6 and not is_first_surrogate(spot)) or (at == 2 and spot.escape[1] != LOWER_U):
            if used != NULL:
                cursor = used[0]
                cursor.narrow_escape(string_view(spot.escape, at))
                return cursor.total()
            return self.count(spot.instance, spot.depth, STRING, want)
        if at == 1 or at == 7:
            choices, n = b"u", 1
            if self.go(spot.instance, LOWER_U) == DEAD:
                choices, n = SHORT, 8
        elif at == 6:
            choices, n = b"\\", 1
        for k in range(n):
            made = spot[0]
            made.instance = self.go(spot.instance, choices[k]) & INSTANCE
            if made.instance != DEAD and found < want:
                made.escape[at], made.n_escape = choices[k], <uint8_t>(at + 1)
                found = sum_of(found, self.escaped(&made, used, left_of(want, found)))
        return found

    # -- numbers -------------------------------------------------------------------------------------
    cdef uint32_t longer(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Numbers with further digits that say something."""
        cdef uint32_t found, next_
        cdef bint met
        if mode == PENDING:
            return self.fraction(instance, depth, want)
        found = self.digits(instance, depth, mode, want)
        if mode == NEGATIVE or found >= want:
            return found
        if mode == EXPONENT:
            next_ = self.go(instance, MINUS) & INSTANCE
            return sum_of(found, self.count(next_, depth, EXPONENT, left_of(want, found)))
        next_ = self.past(instance, depth, POINT if mode == WHOLE else ZERO, &met)
        return sum_of(found, self.count(next_, depth, PENDING, left_of(want, found)))

    cdef uint32_t fraction(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil:
        """Behind a point and zeros: any number of zeros more, and another digit."""
        cdef vector[uint32_t] passed
        cdef uint32_t found = 0, some, k
        cdef size_t last = 0        # one past the last place where another digit may follow
        cdef bint met
        while instance != DEAD:
            for k in range(<uint32_t>passed.size()):
                if passed[k] == instance:
                    return MANY if last > k else found
            passed.push_back(instance)
            some = self.digits(instance, depth, PENDING, left_of(want, found))
            if some:
                last = passed.size()
            found = sum_of(found, some)
            if found >= want:
                return found
            instance = self.past(instance, depth, ZERO, &met)
        return found

    cdef uint32_t digits(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Numbers whose next digit is not a zero behind a point, or in an exponent."""
        cdef uint8_t[10] some
        cdef uint8_t byte, least = ZERO if mode == WHOLE or mode == NEGATIVE else ZERO + 1
        cdef uint32_t k, n = 0, sure = 0, found = 0, next_, same
        cdef bint met, is_zero
        cdef Mode now
        for k in range(least, NINE + 1):
            byte = <uint8_t>k
            if self.go(instance, byte) != DEAD:
                some[n] = byte
                n += 1
                sure += mode != NEGATIVE or byte != ZERO
        for k in range(n):
            if found + sure >= want:
                return found + sure
            is_zero = mode == NEGATIVE and some[k] == ZERO
            sure -= not is_zero
            now = after(mode, some[k])
            next_ = self.past(instance, depth, some[k], &met)
            same = 0 if is_zero else self.ended_or(met, next_, depth, now, left_of(want, found + sure))
            found = sum_of(found, same)
            found = sum_of(found, self.count(next_, depth, now, left_of(want, found + sure)))
        return found

    cdef uint32_t ended_or(
        self, bint met, uint32_t instance, uint32_t depth, Mode mode, uint32_t want
    ) noexcept nogil:
        """As ``ended``, behind a digit with which the item may end (``met``)."""
        if met:
            return MANY if self.leaves(instance) else 1
        return self.ended(instance, depth, mode, want)

    cdef uint32_t ended(self, uint32_t instance, uint32_t depth, Mode mode, uint32_t want) noexcept nogil:
        """Values with a number as it stands, at once or behind zeros that say nothing; behind a minus sign,
        those with zero.
        """
        cdef uint32_t found, k
        cdef bint met = False
        if mode == NEGATIVE:
            instance, mode = self.past(instance, depth, ZERO, &met), WHOLE
        for k in range(MOST_ZEROS):
            found = self.ends(instance, depth, want) if depth else met
            if depth == 0 and instance != DEAD and self.leaves(instance):
                # it is one that need not differ
                return MANY
            if found or instance == DEAD or mode == EXPONENT:
                return found
            instance = self.past(instance, depth, POINT if mode == WHOLE and k == 0 else ZERO, &met)
        return 0

    cdef uint32_t ends(self, uint32_t instance, uint32_t depth, uint32_t want) noexcept nogil:
        cdef uint32_t found = 0, k
        cdef uint8_t end = 0
        if instance == DEAD:
            return 0
        for k in range(3):
            if found < want and self.go(instance, ENDS[k]) != DEAD:
                end = <uint8_t>ENDS[k]
                found = sum_of(found, self.behind(instance, depth, end, left_of(want, found)))
        return sum_of(found, self.spaced(instance, depth, end, left_of(want, found)))


cdef uint32_t byte_of(char high, char low) noexcept nogil:
    """The number of two hexadecimal digits, in small letters."""
    return nibble_of(high) << 4 | nibble_of(low)


cdef inline uint32_t nibble_of(char digit) noexcept nogil:
    return digit - ZERO if digit <= NINE else digit - LOWER_A + 10


cdef bint is_first_surrogate(SpotC* spot) noexcept nogil:
    return spot.escape[2] | 0x20 == 0x64 and spot.escape[3] in b"89abAB"


cdef Suspects new_suspects(Arena arena, Vocabulary vocabulary):
    cdef Suspects made = Suspects.__new__(Suspects)
    made.arena, made.vocabulary, made.held, made.is_sorted = arena, vocabulary, 0, False
    made.ways = Ways.__new__(Ways)
    made.ways.arena, made.ways.nested, made.ways.steps = arena, 0, 0
    return made


cdef class Suspects:
    cdef void look(self, uint32_t instance, const Place* place, const uint32_t* mask) noexcept nogil:
        """Finds the tokens of a mask that the text may rule out."""
        cdef uint32_t number, level, t, n = place.depth(), k
        cdef bint has_used = place.has_used()
        cdef SpotC spot
        self.found.clear()
        number = self.number(instance, place, mask)
        for t in self.listed[number]:
            if has_used or not t & CLOSES:
                self.found.push_back(t & ~<uint32_t>CLOSES)
        if not has_used:
            return
        self.cursors.clear()
        self.depths.clear()
        for level in range(n):
            if place.used(level):
                self.cursors.push_back(place.cursor(level))
                self.depths.push_back(n - 1 - level)
                if self.cursors.back().total() + self.cursors.back().carried == 0:
                    self.cursors.pop_back()
                    self.depths.pop_back()
        spot.instance, spot.mode = instance, place.mode()
        spot.n_escape = <uint8_t>place.escape().size()
        for k in range(spot.n_escape):
            spot.escape[k] = place.escape().data()[k]
        if spot.mode == EXPONENT:
            if place.may_end() or self.is_raised():
                self.collect(0, True, mask)
        elif self.cursors.size() or place.may_end():
            self.walk(0, spot, 0, mask)

    cdef bint is_raised(self) noexcept nogil:
        """Whether a used item has the digits of the number that stands here."""
        cdef size_t k
        for k in range(self.cursors.size()):
            if self.cursors[k].raised:
                return True
        return False

    # -- along the used items ------------------------------------------------------------------------
    cdef void walk(self, uint32_t node, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil:
        """Follows the children of a node of the trie as long as used items begin like the text, which are
        ``cursors`` from ``first`` on.
        """
        cdef uint32_t child = node + 1, end = self.vocabulary.nodes[node].end
        if spot.mode == STRING:
            self.walk_inside(node, spot, first, mask)
            return
        while child < end:
            if is_number(spot.mode):
                self.walk_number(child, spot, first, mask)
            else:
                self.walk_outside(child, spot, first, mask)
            child = self.vocabulary.nodes[child].end

    cdef void enter(self, uint32_t child, SpotC* spot, size_t first, const uint32_t* mask) noexcept nogil:
        """Walks on from a node, with ``cursors`` from ``first`` on; those of no item go."""
        cdef size_t k, kept = first
        cdef bint is_spent = False
        for k in range(first, self.cursors.size()):
            if self.cursors[k].total() + self.cursors[k].carried:
                self.cursors[kept], self.depths[kept] = self.cursors[k], self.depths[k]
                kept += 1
        self.cursors.resize(kept)
        self.depths.resize(kept)
        for k in range(first, kept):
            spot.depth = self.depths[k]
            is_spent = is_spent or self.ways.is_spent(spot, &self.cursors[k])
        if is_spent:
            self.collect(child, False, mask)
        if kept > first or spot.mode == OUTSIDE:
            self.walk(child, spot[0], first, mask)

    cdef void walk_inside(self, uint32_t node, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil:
        cdef uint32_t child = node + 1, end = self.vocabulary.nodes[node].end
        cdef uint64_t[4] nexts = [0, 0, 0, 0]
        cdef size_t k, n = self.cursors.size()
        cdef uint8_t byte
        cdef SpotC made
        for k in range(first, n):
            self.cursors[k].next(nexts)
        while child < end:
            byte = self.vocabulary.nodes[child].byte
            made = spot
            if spot.n_escape or byte == BACKSLASH or nexts[byte >> 6] >> (byte & 63) & 1:
                made.instance = self.arena.step_met(spot.instance, byte) & INSTANCE
                if made.instance == DEAD:
                    pass
                elif byte == QUOTE and not spot.n_escape:
                    self.collect(child, True, mask)
                else:
                    self.narrow_inside(&made, byte, first, n)
                    self.enter(child, &made, n, mask)
                self.cursors.resize(n)
                self.depths.resize(n)
            child = self.vocabulary.nodes[child].end

    cdef void narrow_inside(self, SpotC* spot, uint8_t byte, size_t first, size_t end) noexcept nogil:
        """Appends the cursors behind one more byte of a string."""
        cdef Cursor cursor
        cdef size_t k
        cdef string_view escape
        cdef bint escapes = spot.n_escape or byte == BACKSLASH
        if escapes:
            spot.escape[spot.n_escape] = <char>byte
            spot.n_escape += 1
            escape = string_view(spot.escape, spot.n_escape)
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
            spot.n_escape = 0

    cdef void walk_outside(self, uint32_t child, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil:
        cdef uint8_t byte = self.vocabulary.nodes[child].byte
        cdef uint32_t found = self.arena.step_met(spot.instance, byte)
        cdef size_t k, n = self.cursors.size()
        if found == DEAD:
            return
        if found & MET or is_end(byte) or byte in b"[{:":
            self.collect(child, True, mask)
            return
        spot.instance = found & INSTANCE
        for k in range(first, n):
            self.cursors.push_back(self.cursors[k])
            self.depths.push_back(self.depths[k])
            if byte == MINUS or is_digit(byte):
                self.cursors.back().narrow_number(OUTSIDE, byte)
            elif not is_space(byte):
                self.cursors.back().narrow(byte)
        if byte == QUOTE:
            spot.mode = STRING
        elif byte == MINUS or is_digit(byte):
            spot.mode = after(OUTSIDE, byte)
        self.enter(child, &spot, n, mask)
        self.cursors.resize(n)
        self.depths.resize(n)

    cdef void walk_number(self, uint32_t child, SpotC spot, size_t first, const uint32_t* mask) noexcept nogil:
        cdef uint8_t byte = self.vocabulary.nodes[child].byte
        cdef uint32_t found = self.arena.step_met(spot.instance, byte)
        cdef size_t k, n = self.cursors.size()
        cdef bint repeats = False
        cdef Mode before = spot.mode
        spot.mode = after(before, byte)
        for k in range(first, n):
            self.cursors.push_back(self.cursors[k])
            self.depths.push_back(self.depths[k])
            self.cursors.back().narrow_number(before, byte)
            if found & MET and self.depths[k] == 0:
                repeats = repeats or self.cursors.back().ended(spot.mode) > 0
        spot.instance = self.arena.step_blocked(spot.instance, byte) if repeats else found & INSTANCE
        if not is_digit(byte) and byte != POINT or spot.instance == DEAD:
            self.collect(child, True, mask)
        else:
            self.enter(child, &spot, n, mask)
        self.cursors.resize(n)
        self.depths.resize(n)

    cdef void collect(self, uint32_t node, bint is_subtree, const uint32_t* mask) noexcept nogil:
        """Suspects the tokens that end at a node, or all below it."""
        cdef uint32_t k, end = self.vocabulary.nodes[node].end if is_subtree else node + 1
        for k in range(self.vocabulary.nodes[node].first, self.vocabulary.nodes[end].first):
            if has_bit(mask, self.vocabulary.order[k]):
                self.found.push_back(self.vocabulary.order[k])

    # -- by row --------------------------------------------------------------------------------------
    cdef uint32_t number(self, uint32_t instance, const Place* place, const uint32_t* mask) noexcept nogil:
        """Of the list of tokens that any text may rule out; good until the next call."""
        cdef uint32_t kind = 0 if not place.is_open() else 1 if place.mode() == STRING else 2
        cdef uint64_t key
        cdef uint32_t found, t
        cdef vector[uint32_t] ids
        cdef vector[uint32_t]* tokens
        if not self.is_sorted:
            self.sort_tokens()
        instance = self.arena.instances[instance].rep
        key = <uint64_t>instance << 2 | kind
        found = map_get(&self.numbers, key)
        if found != MISSING:
            return found
        tokens = &self.opening if kind == 0 else &self.quoting if kind == 1 else &self.ending
        for t in tokens[0]:
            if has_bit(mask, t):
                found = self.is_listed(instance, t)
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
            + held_bytes(self.depths) + sizeof(Cursor) * self.cursors.capacity() + self.ways.bytes_held())

    cdef void drop(self) noexcept nogil:
        map_clear(&self.numbers)
        self.listed.clear()
        self.held = 0

    cdef uint32_t is_listed(self, uint32_t instance, uint32_t token) noexcept nogil:
        """1: it ends an item and goes on behind a comma. CLOSES: it ends an item with a bracket, or goes on
        to an item behind a comma.
        """
        cdef uint32_t k, found
        cdef uint8_t byte
        cdef bint is_met = False
        cdef uint32_t listed = 0
        for k in range(self.vocabulary.offsets[token], self.vocabulary.offsets[token + 1]):
            byte = self.vocabulary.data[k]
            if is_met and byte == COMMA:
                return 1
            found = self.arena.step_met(instance, byte)
            if found == DEAD:
                break
            instance = found & INSTANCE
            is_met = is_met or found & MET
            if found & MET and (byte == CLOSING_BRACKET or byte == CLOSING_BRACE):
                listed = CLOSES
            if byte == COMMA and awaits_differing(self.arena, instance):
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
        """Tokens that begin with a letter of an exponent, or have one behind a digit or a point."""
        cdef uint32_t k, node, parent
        cdef uint8_t before
        for k in range(self.vocabulary.byte_offs[byte], self.vocabulary.byte_offs[byte + 1]):
            node = self.vocabulary.byte_nodes[k]
            parent = self.vocabulary.parents[node]
            before = self.vocabulary.nodes[parent].byte
            if parent == 0 or is_digit(before) or before == POINT:
                self.add_below(&self.raising, node)

    cdef void add_tokens(self, vector[uint32_t]* out, uint8_t byte) noexcept nogil:
        """Tokens with a byte: those below the nodes of the trie that have it."""
        cdef uint32_t k
        for k in range(self.vocabulary.byte_offs[byte], self.vocabulary.byte_offs[byte + 1]):
            self.add_below(out, self.vocabulary.byte_nodes[k])

    cdef void add_below(self, vector[uint32_t]* out, uint32_t node) noexcept nogil:
        cdef uint32_t k, end = self.vocabulary.nodes[node].end
        for k in range(self.vocabulary.nodes[node].first, self.vocabulary.nodes[end].first):
            out.push_back(self.vocabulary.order[k])
