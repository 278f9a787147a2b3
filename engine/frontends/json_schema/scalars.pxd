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

from libc.stdint cimport uint32_t

from ...native.resources cimport WorkBudget
from ..regex.char_automaton cimport Bound
from .builder cimport Text
from .evaluator cimport Evaluator
from .schema_types cimport Numbers, Strings

# the numbers are Decimals >= 0, None: no bound; the result is a CharAutomaton
cdef object decimals_between(
    low, high, list multiples, list foreign, list barred, bint whole, Bound bound, WorkBudget budget
)


# -- numbers ---------------------------------------------------------------------------------------
# Numbers, with exact bounds.
#
# Unbounded numbers are those of RFC 8259; -0 is 0. An integer is written with its digits, with zeros
# behind a point (up to ``WHOLE_DIGITS`` digits before it), or as one digit with an exponent that alone keeps
# it within the bounds (2e3). A bounded number is a plain decimal without exponent, or d.ddd with an
# exponent that alone keeps it within the bounds (1e-05 between 0 and 1). Readers who round to a
# double can't step over a bound: rounding keeps order, the bounds that are allowed are what a double
# is written as, and an excluded bound is replaced by its neighbour of ``PRECISION`` significant
# digits, which no double confuses with it. Beyond ``WHOLE_DIGITS`` digits before the point, a bounded number
# has no fraction. Multiples, and numbers some of which are left out, are plain decimals (decimals), whole
# ones with zeros behind a point only where that takes few states, and never where numbers must differ.
#
# What bounds become is kept for the next grammar (``fragment``).

cdef uint32_t any_integer(Text text) except? 0xFFFFFFFF
cdef uint32_t build_integer(Text text, Numbers numbers) except? 0xFFFFFFFF
cdef uint32_t any_number(Text text) except? 0xFFFFFFFF
cdef uint32_t build_number(Text text, Numbers numbers) except? 0xFFFFFFFF


# -- strings ---------------------------------------------------------------------------------------
# Strings: lengths, patterns and formats, all judged on the decoded value.
#
# A length alone is a counted repetition, a pattern or format alone is emitted as it stands. Together
# they stay so where the pattern's own lengths lie within the bounds, or where one repeated class can
# take the bounds over as its counts (``^[a-z]{1,4000}$``, ``^#.*$``); otherwise all of them are
# intersected in one automaton, with the complements of what is
# not to match and of the texts that it is not. With a length beside it, a format that has one is taken in its short
# form, which rules a few rare texts out.
#
# Beside ``excludes`` of a structural tag, values with a pattern or a format hold what these say, as in
# xgrammar; all other values, and all keys, hold nothing excluded.
#
# What patterns and formats become is kept for the next grammar (``fragment``).

cdef uint32_t build_string(Text text, Strings strings, Evaluator evaluator, bint apart=*) except? 0xFFFFFFFF
cdef uint32_t build_inside(Text text, Strings strings, Evaluator evaluator, bint is_key=*) except? 0xFFFFFFFF
