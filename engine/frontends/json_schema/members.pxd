"""Members that are not listed, sorted by their keys; and objects whose members must be counted.

Keys that are not listed fall into classes: those that match the same patterns. The members of a
class have one place, made of what each pattern asks and of what is asked of keys that match none.

An object whose members are counted, or in which some member must fit a place, is a graph. Its
states: the listed members passed (in order a number, in any order their set), how many members
were written, which of the members that must be somewhere were found, and where keys are few, how many
listed members were left out.

Keys that are not listed may repeat: each of their values fits, and whether a key was there before takes
the whole text to tell. Where it matters, since a reader takes the last of them, keys must differ
(engine.distinct): for ``minProperties``, and the opposite of what ``additionalProperties`` or
``patternProperties`` ask of values.
"""

from libc.stdint cimport uint8_t, uint32_t

from ...native.pool cimport vector
from .cardinality cimport RangeC
from .places cimport Places
from .schema_types cimport Objects
from .text cimport Text


cdef struct MembersC:
    # the values of the listed members, and whether each is required
    vector[uint32_t] nodes
    vector[uint8_t] required


cdef bint must_differ(Objects objects) noexcept
# how many such members there can surely be, and at most; differing ones, where they must
cdef RangeC count_others(Places places, Objects objects, list names) except *
cdef list other_members(Places places, Objects objects, list names)
cdef uint32_t differing_key(Text text, uint32_t key, bint is_any) except? 0xFFFFFFFF
cdef uint32_t counted_members(
    Places places, Objects objects, MembersC* members, list names, list others, Py_ssize_t keys
) except? 0xFFFFFFFF
