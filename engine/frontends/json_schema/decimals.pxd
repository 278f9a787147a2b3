"""Decimals without sign or exponent, as an automaton: between two bounds, multiples of some numbers
and not of others, and none of a few values.

    1 2 . 5 0        digits of the whole part, at most one point, digits of the fraction

A state is what is known of the digits so far: where in the form they stand, how they compare with
each number that the decimal is compared with, and what they leave when divided by each divisor. A
divisor p / 10^q divides a number with more than q digits behind the point if the others are zeros.

Where single numbers or multiples are left out, a number with a point has at most ``PRECISION``
significant digits, so that no double that is read from it is one of those.

Cost      about the product of the divisors and of the lengths of the bounds; ``pattern_states``
          bounds it, and each state counts on the budget. A microsecond or two a state.
Sources   JSON Schema validation 2020-12, section 6.2.1: division with an integer as its result.
Not here  signs, exponents, how bounds are read (numbers).
"""

from ...budget cimport WorkBudget
from ..regex.char_automaton cimport Bound

# the numbers are Decimals >= 0, None: no bound; the result is a CharAutomaton
cdef object decimals_between(
    low, high, list multiples, list foreign, list barred, bint whole, Bound bound, WorkBudget budget
)
