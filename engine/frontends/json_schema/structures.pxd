"""How many values fit a place: bounds from below and above.

Items that must differ can always be found if each place has more values than items stand before it.

Bounds   LOTS: more than any text holds items. Where a schema says too much to count: from 0 or 1 to LOTS.
         A place within itself, and one below ``LEVELS`` levels, may have any number.
Cost     linear in the schema: a place is counted once. Counted steps (budget).
"""

from libc.stdint cimport uint32_t, uint8_t

from ...native.pool cimport vector
from .builder cimport Places, Text
from .reader cimport Reader
from .schema_types cimport Arrays, Objects, Strings

cdef enum:
    LOTS = 1 << 30

cdef struct RangeC:
    long long least, most

cdef class Cardinality:
    cdef Reader reader
    cdef bint any_order

    cdef RangeC of_place(self, tuple place, int levels) except *
    cdef RangeC counted(self, tuple place, int levels) except *
    cdef tuple key_of(self, tuple place)
    cdef RangeC of_strings(self, Strings strings) except *
    cdef automaton_of(self, Strings strings)
    cdef RangeC of_type(self, shape, int kind, int levels) except *
    cdef RangeC of_numbers(self, numbers, bint whole) except *
    cdef RangeC of_array(self, Arrays arrays, int levels) except *
    cdef RangeC of_object(self, Objects objects, int levels) except *


cdef Cardinality new_cardinality(Reader reader, bint any_order)


# -- members ---------------------------------------------------------------------------------------
# Members that are not listed, sorted by their keys; and objects whose members must be counted.
#
# Keys that are not listed fall into classes: those that match the same patterns. The members of a
# class have one place, made of what each pattern asks and of what is asked of keys that match none.
#
# An object whose members are counted, or in which some member must fit a place, is a graph. Its
# states: the listed members passed (in order a number, in any order their set), how many members
# were written, which of the members that must be somewhere were found, and where keys are few, how many
# listed members were left out.
#
# Keys that are not listed may repeat: each of their values fits, and whether a key was there before takes
# the whole text to tell. Where it matters, since a reader takes the last of them, keys must differ
# (engine.distinct): for ``minProperties``, and the opposite of what ``additionalProperties`` or
# ``patternProperties`` ask of values.

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


# -- objects ---------------------------------------------------------------------------------------
# Objects: listed keys in their order, required ones among them, additional ones anywhere between.
#
# The automaton is made where it is visited (engine.objects), for keys in any order, too.
#
# Listed are the keys of ``properties``, then those that are required but not listed. An additional
# key is any string that is none of them, in any spelling. Additional keys may repeat: which value
# counts is the reader's choice, and each of them fits.

cdef uint32_t build_object(Places places, Objects objects) except? 0xFFFFFFFF


# -- items -----------------------------------------------------------------------------------------
# Arrays some of whose items are counted by what they are, or all of whose items differ.
#
# A state is how many items were written, how many of them were counted for each ``contains``, and
# which values were used. An item that need only be among enough others of its kind is either counted
# or not, as it fits; where there may be too many of its kind, one that is not counted must not fit.
#
# Items that must differ are taken from a short list of values where there is one, each of which is
# used once; all others are told by the text (engine.distinct). Arrays of at most one item, and those
# whose places have no value in common, need neither. Where there might be too few values for the items that
# must be there, ``uniqueItems`` is refused.
#
# Cost   the states multiply: ``graphs.MOST_STATES``, and ``MOST_VALUES`` values that must differ.

cdef uint32_t build_counted_array(Places places, Arrays arrays) except? 0xFFFFFFFF
cdef bint differ_anyway(Reader reader, Arrays arrays) except -1
cdef bint has_short_list(Reader reader, Arrays arrays) except -1
# whether there are values enough for all items that must be there and differ; False: there are not
cdef bint has_values_enough(Places places, Arrays arrays) except -1
cdef uint32_t differing(Places places, tuple place) except? 0xFFFFFFFF


# -- arrays ----------------------------------------------------------------------------------------
# Arrays: a prefix of own schemas, then items of one schema, within bounds on their number.
#
# states   n: n elements of the prefix were written; the last one and the end are joined by a counted
#          repetition
# white space stands behind [, around each comma and before ] of an array that is not empty; in a
#          layout only of such a one (text)
#
# Not here   items that are counted by what they are, or must differ (items).

cdef uint32_t build_array(Places places, Arrays arrays) except? 0xFFFFFFFF
