"""Numbers, with exact bounds.

Unbounded numbers are those of RFC 8259. An integer has neither fraction nor exponent (1.0 and 1e1
are not written); -0 is 0. A bounded number is a plain decimal without exponent, or d.ddd with an
exponent that alone keeps it within the bounds (1e-05 between 0 and 1). Readers who round to a
double can't step over a bound: rounding keeps order, the bounds that are allowed are what a double
is written as, and an excluded bound is replaced by its neighbour of ``PRECISION`` significant
digits, which no double confuses with it. Beyond ``WHOLE`` digits before the point, a bounded number
has no fraction.

What bounds become is kept for the next grammar (``fragment``).
"""

from libc.stdint cimport uint32_t

from .shapes cimport Numbers
from .text cimport Text

cdef uint32_t any_integer(Text text) except? 0xFFFFFFFF
cdef uint32_t build_integer(Text text, Numbers numbers) except? 0xFFFFFFFF
cdef uint32_t any_number(Text text) except? 0xFFFFFFFF
cdef uint32_t build_number(Text text, Numbers numbers) except? 0xFFFFFFFF
