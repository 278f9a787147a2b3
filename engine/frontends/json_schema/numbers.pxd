"""Numbers, with exact bounds.

Unbounded numbers are those of RFC 8259; -0 is 0. An integer is written with its digits, with zeros
behind a point (up to ``WHOLE`` digits before it), or as one digit with an exponent that alone keeps
it within the bounds (2e3). A bounded number is a plain decimal without exponent, or d.ddd with an
exponent that alone keeps it within the bounds (1e-05 between 0 and 1). Readers who round to a
double can't step over a bound: rounding keeps order, the bounds that are allowed are what a double
is written as, and an excluded bound is replaced by its neighbour of ``PRECISION`` significant
digits, which no double confuses with it. Beyond ``WHOLE`` digits before the point, a bounded number
has no fraction. Multiples, and numbers some of which are left out, are plain decimals (decimals), whole
ones with zeros behind a point only where that takes few states, and never where numbers must differ.

What bounds become is kept for the next grammar (``fragment``).
"""

from libc.stdint cimport uint32_t

from .schema_types cimport Numbers
from .text cimport Text

cdef uint32_t any_integer(Text text) except? 0xFFFFFFFF
cdef uint32_t build_integer(Text text, Numbers numbers) except? 0xFFFFFFFF
cdef uint32_t any_number(Text text) except? 0xFFFFFFFF
cdef uint32_t build_number(Text text, Numbers numbers) except? 0xFFFFFFFF
