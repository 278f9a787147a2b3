"""Decimals as automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ...budget cimport WorkBudget, spend
from ...native.pool cimport vector
from ...native.word_table cimport WordTableC, table_number, table_size
from ..regex.char_automaton cimport (
    Bound, CharAutomaton, CharStateC, add_range, append_state, finish, trim,
)

from decimal import Decimal
from math import gcd, lcm

cdef enum:
    # significant digits that a double keeps apart
    PRECISION = 15
    # what stands for the rest of a number that is no multiple, whatever digits follow
    NEVER = 0xFFFFFFFF
    # the largest divisor, so that remainders fit their words
    MOST_DIVISOR = 0x7FFFFFFF

cdef enum:
    START
    ZERO
    WHOLE
    POINT
    FRACTION

# a state: the place, digits of this part so far, significant digits; then a word for each comparison
# and a word for each remainder
cdef enum:
    PLACE
    DIGITS
    SIGNIFICANT
    FIRST

# of a comparison with what was read so far
cdef enum:
    LESS
    EQUAL
    MORE


cdef struct ComparedC:
    vector[uint8_t] whole, fraction     # digits, without zeros at either end


cdef struct DivisorC:
    # p / 10^q; of whole numbers, p divides them
    uint32_t p, q
    vector[uint32_t] powers             # of ten, modulo p, up to the q-th


cdef object decimals_between(
    low, high, list multiples, list foreign, list barred, bint whole, Bound bound, WorkBudget budget
):
    """
    Raises:
        LimitExceeded: ``pattern_states``, ``compile_steps``.
    """
    cdef Form form = Form.__new__(Form)
    form.is_whole = whole
    form.low, form.high = low is not None, high is not None
    form.dividing = <size_t>len(multiples)
    form.is_short = bool(foreign or barred) and not whole
    form.most = form.fraction = 1
    divisors = [divisor_of(number, whole) for number in multiples + foreign]
    # a number may leave any remainder of their least common multiple, and each is a state
    common = lcm(*[p for p, _ in divisors])
    bound.compare(<uint64_t>min(common, 1 << 63))
    for p, q in divisors:
        bound.compare(0 if p <= MOST_DIVISOR else <uint64_t>1 << 63)
        form.add_divisor(p, q)
    for number in ([low] if form.low else []) + ([high] if form.high else []) + barred:
        form.add_compared(number)
    return form.automaton(bound, budget)


cdef tuple divisor_of(number, bint whole):
    """(p, q) of p / 10^q; of whole numbers, what divides them."""
    digits, exponent = Decimal(number).as_tuple()[1:]
    p, q = int("".join(map(str, digits))), -exponent
    if q < 0:
        p, q = p * 10**-q, 0
    return (p // gcd(p, 10**q), 0) if whole else (p, q)


cdef class Form:
    cdef bint is_whole, low, high, is_short
    cdef vector[ComparedC] compared     # with the lower bound, the upper one, numbers left out
    cdef vector[DivisorC] divisors      # of multiples, then of what is none
    cdef size_t dividing                # how many of the former
    cdef uint32_t most, fraction        # numbers of digits before and behind the point from here on are one

    cdef int add_compared(self, number) except -1:
        cdef ComparedC made
        whole, _, fraction = format(number, "f").partition(".")
        for digit in whole:
            made.whole.push_back(<uint8_t>int(digit))
        for digit in fraction.rstrip("0"):
            made.fraction.push_back(<uint8_t>int(digit))
        self.compared.push_back(made)
        self.most = max(self.most, <uint32_t>made.whole.size() + 1)
        self.fraction = max(self.fraction, <uint32_t>made.fraction.size())
        return 0

    cdef int add_divisor(self, p, q) except -1:
        cdef DivisorC made
        cdef uint32_t _k
        made.p, made.q = p, q
        made.powers.push_back(1 % made.p)
        for _k in range(made.q):
            made.powers.push_back(<uint32_t>(<uint64_t>made.powers.back() * 10 % made.p))
        self.divisors.push_back(made)
        self.fraction = max(self.fraction, made.q)
        return 0

    cdef object automaton(self, Bound bound, WorkBudget budget):
        cdef CharAutomaton made = CharAutomaton.__new__(CharAutomaton)
        cdef WordTableC numbers
        cdef CharStateC char_state
        cdef vector[uint32_t] state, after
        cdef size_t parts = self.compared.size() + self.divisors.size()
        cdef uint32_t s = 0, c, number
        cdef int digit
        state.assign(FIRST + self.compared.size(), EQUAL)
        state[PLACE], state[DIGITS], state[SIGNIFICANT] = START, 0, 0
        state.resize(FIRST + parts, 0)
        after = state
        table_number(&numbers, state.data(), state.size())
        while s < table_size(&numbers):
            spend(budget, 2 + <Py_ssize_t>parts)
            bound.look(10 * parts)
            state.assign(numbers.words.begin() + numbers.off[s], numbers.words.begin() + numbers.off[s + 1])
            made.states.final.push_back(self.is_final(state.data()))
            for digit in range(-1, 10):
                if not (
                    self.point(state.data(), after.data()) if digit < 0
                    else self.digit(state.data(), <uint32_t>digit, after.data())
                ):
                    continue
                c = 0x2E if digit < 0 else <uint32_t>(0x30 + digit)
                number = table_number(&numbers, after.data(), after.size())
                add_range(&char_state, c, c, number)
                bound.compare(table_size(&numbers))
            append_state(&char_state, &made.states)
            s += 1
        finish(&made.states)
        trim(&made.states)
        return made.minimal(bound)

    cdef bint digit(self, const uint32_t* state, uint32_t digit, uint32_t* after) noexcept nogil:
        """Writes the state behind a digit; False: none may stand there."""
        cdef uint32_t place = state[PLACE], n = state[DIGITS], significant = state[SIGNIFICANT]
        cdef size_t k, of_compared = self.compared.size()
        cdef uint32_t rest
        if place == ZERO or (
            self.is_short and place >= POINT and significant >= PRECISION and digit
        ):
            return False
        for k in range(of_compared):
            after[FIRST + k] = self.compared_with(k, place, n, state[FIRST + k], digit)
        for k in range(self.divisors.size()):
            rest = self.remainder(&self.divisors[k], place, n, state[FIRST + of_compared + k], digit)
            if rest == NEVER and k < self.dividing:
                return False
            after[FIRST + of_compared + k] = rest
        after[SIGNIFICANT] = 0
        if self.is_short:
            after[SIGNIFICANT] = min(significant + (significant > 0 or digit > 0), <uint32_t>PRECISION)
        if place == START:
            after[PLACE], after[DIGITS] = WHOLE if digit else ZERO, 1
        else:
            after[PLACE] = WHOLE if place == WHOLE else FRACTION
            after[DIGITS] = min(n + 1, self.most if place < POINT else self.fraction)
        return True

    cdef uint32_t compared_with(
        self, size_t k, uint32_t place, uint32_t n, uint32_t known, uint32_t digit
    ) noexcept nogil:
        cdef vector[uint8_t]* digits = (
            &self.compared[k].whole if place < POINT else &self.compared[k].fraction)
        if place < POINT and n >= digits.size():
            # it has more digits before the point: that alone decides
            return EQUAL
        if known != EQUAL:
            return known
        return self.told(k, <int>digit - (<int>digits[0][n] if n < digits.size() else 0))

    cdef uint32_t told(self, size_t k, int difference) noexcept nogil:
        """What a difference says in a comparison; of numbers that are left out, only whether there is
        one.
        """
        if difference == 0:
            return EQUAL
        return MORE if difference > 0 or k >= <size_t>(self.low + self.high) else LESS

    cdef uint32_t remainder(
        self, const DivisorC* divisor, uint32_t place, uint32_t n, uint32_t before, uint32_t digit
    ) noexcept nogil:
        if before == NEVER:
            return NEVER
        if place >= POINT and n >= divisor.q:
            return NEVER if digit else before
        return <uint32_t>((<uint64_t>before * 10 + digit) % divisor.p)

    cdef bint point(self, const uint32_t* state, uint32_t* after) noexcept nogil:
        """Writes the state behind a point; False: it may not stand there."""
        cdef size_t k, of_compared = self.compared.size()
        if self.is_whole or (state[PLACE] != ZERO and state[PLACE] != WHOLE):
            return False
        if self.is_short and state[SIGNIFICANT] >= PRECISION:
            return False
        after[PLACE], after[DIGITS], after[SIGNIFICANT] = POINT, 0, state[SIGNIFICANT]
        for k in range(of_compared):
            after[FIRST + k] = self.settled(state, k)
        for k in range(of_compared, of_compared + self.divisors.size()):
            after[FIRST + k] = state[FIRST + k]
        return True

    cdef uint32_t settled(self, const uint32_t* state, size_t k) noexcept nogil:
        """A comparison once the number of digits before the point is known."""
        cdef uint32_t found = self.told(k, <int>state[DIGITS] - <int>self.compared[k].whole.size())
        return state[FIRST + k] if found == EQUAL else found

    cdef bint is_final(self, const uint32_t* state) noexcept nogil:
        cdef size_t k, of_compared = self.compared.size()
        cdef uint32_t place = state[PLACE], known, rest, n = state[DIGITS] if place == FRACTION else 0
        cdef DivisorC* divisor
        if place == START or place == POINT:
            return False
        for k in range(of_compared):
            known = state[FIRST + k] if place == FRACTION else self.settled(state, k)
            if known == EQUAL and n < self.compared[k].fraction.size():
                known = LESS
            if known == (
                LESS if k < <size_t>self.low else MORE if k < <size_t>(self.low + self.high) else EQUAL
            ):
                return False
        for k in range(self.divisors.size()):
            divisor, rest = &self.divisors[k], state[FIRST + of_compared + k]
            if rest != NEVER:
                rest = <uint32_t>(
                    <uint64_t>rest * divisor.powers[divisor.q - n if n < divisor.q else 0] % divisor.p)
            if (rest == 0) != (k < self.dividing):
                return False
        return True
