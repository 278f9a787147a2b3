"""Arrays some of whose items are counted by what they are, or all of whose items differ.

A state is how many items were written, how many of them were counted for each ``contains``, and
which values were used. An item that need only be among enough others of its kind is either counted
or not, as it fits; where there may be too many of its kind, one that is not counted must not fit.

Items that must differ are taken from a short list of values where there is one, each of which is
used once; all others are told by the text (engine.distinct). Arrays of at most one item, and those
whose places have no value in common, need neither. Where there might be too few values for the items that
must be there, ``uniqueItems`` is refused.

Cost   the states multiply: ``graphs.MOST_STATES``, and ``MOST_VALUES`` values that must differ.
"""

from libc.stdint cimport uint32_t

from .places cimport Places
from .reader cimport Reader
from .schema_types cimport Arrays

cdef uint32_t build_counted_array(Places places, Arrays arrays) except? 0xFFFFFFFF
cdef bint differ_anyway(Reader reader, Arrays arrays) except -1
cdef bint has_short_list(Reader reader, Arrays arrays) except -1
# whether there are values enough for all items that must be there and differ; False: there are not
cdef bint has_values_enough(Places places, Arrays arrays) except -1
cdef uint32_t differing(Places places, tuple place) except? 0xFFFFFFFF
