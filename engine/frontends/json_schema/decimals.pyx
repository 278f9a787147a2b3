"""Decimals as automata: see the header file."""

from ...turns cimport give_way
from ..char_automaton cimport Bound

from decimal import Decimal
from math import gcd

from ..char_automaton import CharAutomaton

#: significant digits that a double keeps apart
cdef int PRECISION = 15
#: what stands for the rest of a number that is no multiple, whatever digits follow
cdef int NEVER = -1

cdef enum:
    START
    ZERO
    WHOLE
    POINT
    FRACTION


cdef object decimals_between(low, high, list multiples, list foreign, list barred, bint whole, Bound bound):
    """
    Raises:
        LimitExceeded: ``pattern_states``.
    """
    cdef Form form = Form.__new__(Form)
    form.is_whole = whole
    form.low, form.high = low is not None, high is not None
    bounds = ([low] if form.low else []) + ([high] if form.high else [])
    form.compared = [digits_of(number) for number in bounds + barred]
    form.divisors = [divisor_of(number, whole) for number in multiples + foreign]
    form.dividing = len(multiples)
    form.is_short = bool(foreign or barred) and not whole
    form.most = max([len(number[0]) for number in form.compared], default=0) + 1
    return form.automaton(bound)


cdef tuple digits_of(number):
    """The digits before the point and behind it, without zeros at either end."""
    whole, _, fraction = format(number, "f").partition(".")
    return whole, fraction.rstrip("0")


cdef tuple divisor_of(number, bint whole):
    """(p, q) of p / 10^q; of whole numbers, what divides them."""
    digits, exponent = Decimal(number).as_tuple()[1:]
    p, q = int("".join(map(str, digits))), -exponent
    if q < 0:
        p, q = p * 10**-q, 0
    return (p // gcd(p, 10**q), 0) if whole else (p, q)


cdef class Form:
    cdef bint is_whole, low, high, is_short
    cdef list compared          # digits of: the lower bound, the upper one, numbers left out
    cdef list divisors          # of multiples, then of what is none
    cdef Py_ssize_t dividing    # how many of the former
    cdef Py_ssize_t most        # numbers of digits before the point from here on are one

    cdef object automaton(self, Bound bound):
        """A state: (place, digits of this part so far, comparisons, remainders, significant digits)."""
        cdef tuple start = (START, 0, (0,) * len(self.compared), (0,) * len(self.divisors), 0), state
        cdef dict numbers = {start: 0}
        cdef list states = [start], edges = [], out
        cdef Py_ssize_t at = 0
        cdef int digit
        while at < len(states):
            state = states[at]
            at += 1
            give_way()
            bound.look(10 * (<Py_ssize_t>len(self.compared) + <Py_ssize_t>len(self.divisors)))
            out = []
            for digit in range(-1, 10):
                after = self.point(state) if digit < 0 else self.digit(state, digit)
                if after is None:
                    continue
                if after not in numbers:
                    bound.check(len(states) + 1)
                    numbers[after] = len(states)
                    states.append(after)
                c = 0x2E if digit < 0 else 0x30 + digit
                out.append((((c, c),), numbers[after]))
            edges.append(out)
        made = CharAutomaton(edges, [numbers[state] for state in states if self.is_final(state)])
        return made.trimmed().minimal()

    cdef tuple digit(self, tuple state, int digit):
        """The state behind a digit, None if none may stand there."""
        cdef int place = state[0]
        cdef Py_ssize_t k, n = state[1]
        cdef list comparisons = [], remainders = []
        if place == ZERO:
            return None
        if self.is_short and place >= POINT and state[4] >= PRECISION and digit:
            return None
        for k in range(len(self.compared)):
            digits = (<tuple>self.compared[k])[place >= POINT]
            known = state[2][k]
            if place < POINT and n >= len(digits):
                # it has more digits before the point: that alone decides
                known = 0
            elif not known:
                known = self.told(k, digit - (int(digits[n]) if n < len(digits) else 0))
            comparisons.append(known)
        for k in range(len(self.divisors)):
            remainders.append(self.remainder(k, place, n, state[3][k], digit))
            if remainders[k] == NEVER and k < self.dividing:
                return None
        significant = min(state[4] + (state[4] > 0 or digit > 0), PRECISION) if self.is_short else 0
        if place == START:
            return (WHOLE if digit else ZERO), 1, tuple(comparisons), tuple(remainders), significant
        n = min(n + 1, self.most if place < POINT else self.fraction_digits())
        return (WHOLE if place == WHOLE else FRACTION), n, tuple(comparisons), tuple(remainders), significant

    cdef int told(self, Py_ssize_t k, difference) except -2:
        """What a difference says in a comparison; of numbers that are left out, only whether there is
        one.
        """
        if k >= self.low + self.high:
            return difference != 0
        return sign_of(difference)

    cdef remainder(self, Py_ssize_t k, int place, Py_ssize_t n, before, int digit):
        p, q = self.divisors[k]
        if before == NEVER:
            return NEVER
        if place >= POINT and n >= q:
            return NEVER if digit else before
        return (before * 10 + digit) % p

    cdef Py_ssize_t fraction_digits(self):
        """Numbers of digits behind the point from here on are one."""
        return max(
            [len((<tuple>digits)[1]) for digits in self.compared] + [divisor[1] for divisor in self.divisors] + [1])

    cdef tuple point(self, tuple state):
        if self.is_whole or state[0] not in (ZERO, WHOLE):
            return None
        if self.is_short and state[4] >= PRECISION:
            return None
        return POINT, 0, self.settled(state), state[3], state[4]

    cdef tuple settled(self, tuple state):
        """The comparisons once the number of digits before the point is known."""
        cdef Py_ssize_t k, n = state[1]
        cdef list found = []
        for k in range(len(self.compared)):
            more = n - len((<tuple>self.compared[k])[0])
            found.append(self.told(k, more) or state[2][k])
        return tuple(found)

    cdef bint is_final(self, tuple state) except -1:
        cdef Py_ssize_t k, first = self.low + self.high
        cdef tuple comparisons = state[2]
        cdef Py_ssize_t n = state[1] if state[0] == FRACTION else 0
        if state[0] in (START, POINT):
            return False
        if state[0] in (ZERO, WHOLE):
            comparisons = self.settled(state)
        comparisons = tuple([
            known or -(n < len((<tuple>self.compared[k])[1])) for k, known in enumerate(comparisons)])
        if (self.low and comparisons[0] < 0) or (self.high and comparisons[self.low] > 0):
            return False
        for k in range(first, len(comparisons)):
            if comparisons[k] == 0:
                return False
        for k in range(len(self.divisors)):
            p, q = self.divisors[k]
            divides = state[3][k] != NEVER and state[3][k] * 10 ** max(q - n, 0) % p == 0
            if divides != (k < self.dividing):
                return False
        return True


cdef inline int sign_of(number) except -2:
    return (number > 0) - (number < 0)
