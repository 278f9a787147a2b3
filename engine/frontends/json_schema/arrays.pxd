"""Arrays: a prefix of own schemas, then items of one schema, within bounds on their number.

states   n: n elements of the prefix were written; the last one and the end are joined by a counted
         repetition
white space stands behind [, around each comma and before ] of an array that is not empty; in a
         layout only of such a one (text)

Not here   items that are counted by what they are, or must differ (items).
"""

from libc.stdint cimport uint32_t

from .places cimport Places
from .schema_types cimport Arrays

cdef uint32_t build_array(Places places, Arrays arrays) except? 0xFFFFFFFF
