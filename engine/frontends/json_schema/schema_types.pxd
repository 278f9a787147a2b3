"""What a schema says, sorted by type: the form in which schemas are combined.

    place     a tuple of Located: schemas that must all hold at one place of a value; () holds
              always
    Shape     one alternative: the types it allows, and for each type a facet (None: no constraint)
    schema    a tuple of Shapes, of which one must hold; none means that nothing fits

A type is a bit. Whole numbers are INTEGER whatever the schema calls them; "number" is INTEGER |
FRACTION, so that types meet by &. ``values`` (enum and const) are those that all other constraints
of the shape allow; they stand for the whole. ``refused`` holds keywords that can't be enforced,
each for the types it constrains: they are raised when a text of such a type would have to be
described, and not where the type is ruled out anyway.

Pointers are for errors and names only: a ``Located`` knows the schema that it stands in, and its
pointer is written when somebody asks for it. So are the places of an object's properties: they are
made where somebody asks for them, and most have a meaning that is seen without (``plain``).

Invariants   I1 meet() is exact: a value fits the intersection if and only if it fits both.
             I2 a facet is kept only while its type is allowed.
             I3 a shape without any constraint is ANYTHING itself.
             I4 nothing is changed once it is made.
Not here     reading schemas (reader), what a value fits (evaluate), IR (builder).
"""

from ...native.resources cimport WorkBudget

cdef enum:
    NULL_TYPE = 1
    BOOLEAN = 2
    INTEGER = 4
    FRACTION = 8
    NUMBER = 12
    STRING = 16
    ARRAY = 32
    OBJECT = 64
    ALL = 127


cdef class Located:
    """A schema and its place in what the caller sent: a pointer, or a keyword (and a key) of the
    schema ``above``.
    """
    cdef object schema
    cdef Located above
    cdef str keyword
    cdef object key     # str, int, or None where the keyword's value is the schema
    cdef str known      # the pointer, once somebody asked

    cdef str pointer(self)
    cdef str path(self)
    cdef str at(self, str keyword)
    cdef void release(self) noexcept


cdef enum:
    NOT_THIS
    ANY_OF_THESE
    THIS_VALUE
    PLAIN_NUMBERS


cdef class Derived:
    """Stands where a schema would: of a place that was made of others, see ``complements``."""
    cdef int kind
    cdef tuple places       # one, or the several
    cdef object value


cdef class Named:
    """A pattern's source, a format's name or a number's text, and the schema that asks for it."""
    cdef str text
    cdef Located where
    cdef str keyword

    cdef str pointer(self)


cdef class Refusal:
    cdef int types
    cdef Located where
    cdef str keyword
    cdef str message


cdef class Strings:
    cdef object minimum, maximum    # int; maximum None: no bound
    cdef tuple patterns, formats    # of Named
    cdef tuple without              # patterns that nothing in the text may match
    cdef tuple barred               # texts that it is not
    cdef Located where              # where they are listed, None: nowhere


cdef class Numbers:
    """Bounds (int, Decimal or None), each with whether it is excluded itself."""
    cdef object low, high
    cdef bint low_open, high_open
    cdef tuple multiples, foreign   # of Named: what it is a multiple of, and what it is none of
    cdef tuple barred               # numbers that it is not
    cdef Located where              # where they are listed, None: nowhere
    cdef bint is_plain              # written without an exponent, whole ones without a point


cdef class Count:
    """So many items, from the item ``first`` on, fit a place."""
    cdef tuple place
    cdef Py_ssize_t first
    cdef object minimum, maximum    # int; maximum None: no bound
    cdef Located where


cdef class Arrays:
    cdef tuple prefix   # of places
    cdef tuple rest     # the place of all other items
    cdef object minimum, maximum
    cdef tuple counts           # of Count
    cdef Located unique         # the schema that asks for items that differ; None: none does


cdef class Keyed:
    """A place of members by their keys: those that match a pattern, or that match none of several
    ones; not those of ``excluded``.
    """
    cdef tuple patterns     # of Named; one if is_match
    cdef bint is_match
    cdef frozenset excluded
    cdef tuple place

    cdef bint has(self, str name, Judge judge) except -1


cdef class Objects:
    # name -> its schema, one of those at ``where``; or its place, which says all that is asked of its
    # value, once two objects have met or keys are matched by patterns
    cdef dict properties
    cdef bint has_met
    cdef tuple required
    cdef set wanted         # the same names; None: none
    cdef tuple rest         # the place of what is not listed
    cdef tuple keyed        # of Keyed: more that is asked of what is not listed
    cdef tuple names        # the place of all keys, as strings
    cdef tuple some         # of Keyed: for each of them there is a member that fits its place
    cdef object minimum, maximum
    cdef Located where
    cdef dict places        # of its properties, those that were asked for; None: none
    cdef dict hulls         # of ``contents``: what values of members are at most; None until asked for

    cdef bint is_plain(self) noexcept
    cdef tuple place_of(self, name, Judge judge)
    cdef tuple place_in(self, name, property)


cdef class Evaluated:
    """What a schema's keywords have looked at, for those that are about the rest of an object or an
    array.
    """
    cdef frozenset names
    cdef tuple patterns     # of Named
    cdef Py_ssize_t items   # so many of the first
    cdef tuple contained    # places: items that fit one of them
    cdef bint all_members, all_items

    cdef bint covers(self, Evaluated other) except -1


cdef class Shape:
    cdef int types
    cdef tuple values       # None: not listed
    cdef Strings strings
    cdef Numbers numbers
    cdef Arrays arrays
    cdef Objects objects
    cdef tuple refused
    cdef Evaluated evaluated    # None: nothing, or nobody asks

    cdef int check(self, int types) except -1


cdef class Judge:
    """Says whether single values fit, what is seen of schemas at first sight, and counts work: what
    ``meet`` needs to know of an ``Evaluator``.
    """
    cdef WorkBudget budget

    cdef bint fits_shape(self, Shape shape, value) except -1
    cdef bint matches(self, Named pattern, str text) except -1
    # see ``contents``
    cdef bint holds(self, tuple place, schema) except -1
    cdef bint are_apart(self, tuple a, tuple b) except -1
    cdef bint are_all_of(self, tuple place, tuple other) except -1
    cdef tuple narrower(self, tuple a, tuple b)
    cdef bint members_apart(self, Objects a, Objects b) except -1


cdef Shape ANYTHING
cdef tuple ANYTHING_ONLY

cdef Located root_place(schema, str pointer)
cdef Located located(schema, Located above, str keyword, key)
cdef tuple place_at(schema, Located above, str keyword, key)
cdef Named named(str text, Located where, str keyword)
cdef Refusal refusal(int types, Located where, str keyword, str message)
cdef Strings new_strings(minimum, maximum, tuple patterns, tuple formats, tuple without, tuple barred)
cdef Numbers new_numbers(
    low, bint low_open, high, bint high_open, tuple multiples, tuple foreign, tuple barred)
cdef Count new_count(tuple place, Py_ssize_t first, minimum, maximum, Located where)
cdef Arrays new_arrays(tuple prefix, tuple rest, minimum, maximum, tuple counts, Located unique)
cdef Keyed new_keyed(tuple patterns, bint is_match, frozenset excluded, tuple place)
cdef Objects new_objects(
    dict properties, bint has_met, tuple required, set wanted, tuple rest, minimum, maximum, Located where)
cdef Objects keyed_objects(Objects objects, tuple keyed, tuple names, tuple some)
cdef Evaluated new_evaluated(
    frozenset names, tuple patterns, Py_ssize_t items, tuple contained, bint all_members, bint all_items)
cdef Shape new_shape(
    int types, tuple values, Strings strings, Numbers numbers, Arrays arrays, Objects objects, tuple refused)
cdef Shape with_evaluated(Shape shape, Evaluated evaluated)
cdef tuple without_evaluated(tuple shapes)
cdef Shape listed(tuple values)
cdef Shape meet(Shape a, Shape b, Judge judge)
cdef bint objects_apart(Shape a, Shape b, Judge judge) except -1
cdef Numbers meet_numbers(Numbers a, Numbers b)
cdef Strings meet_strings(Strings a, Strings b)
cdef bint is_crossed(Numbers numbers) except -1
cdef Py_ssize_t weight_of(Objects objects) except -1
cdef tuple both(tuple a, tuple b, Judge judge)
cdef tuple united(tuple a, tuple b)
cdef smaller_bound(a, b)
