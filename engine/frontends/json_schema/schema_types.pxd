"""Schema types: the normal form in which schemas are combined.

    place         a tuple of Locations: schemas that jointly apply to one value; () accepts every value
    SchemaType    one alternative: the types it allows, and the constraints of each type (None: none)
    alternatives  a tuple of SchemaTypes, of which one must hold; () accepts no value

A type is a bit. Whole numbers are INTEGER, whatever the schema calls them; "number" is INTEGER | FRACTION, so
types intersect by &. ``values`` (enum and const) are the listed values that satisfy all other constraints of the
alternative. ``refused`` contains unenforceable keywords with the types that they constrain: they raise when texts
of such a type would have to be described, and not if the type is excluded anyway.

Pointers are only for errors and names: a Location knows the schema above it and computes its pointer on demand.
Places of an object's properties are also created on demand; most properties are simple enough to need none.

Invariants   I1 constraints are kept only while their type is allowed.
             I2 an alternative without any constraint is ANYTHING itself.
             I3 objects never change once they are complete.
Not here     intersections (intersection), reading schemas (reader), evaluating values (evaluator), IR (builder).
"""

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


cdef enum:
    TEXTS_PER_STEP = 16     # constraints of one alternative that are joined or compared in about a microsecond


cdef class Location:
    """A schema and its location: a pointer, or a keyword (and a key) of the schema ``above``."""
    cdef object schema
    cdef Location above
    cdef str keyword
    cdef object key     # str, int, or None where the keyword's value is the schema
    cdef str known      # the pointer, once computed

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
    """Takes the place of a schema: a place derived from others, see ``intersection``."""
    cdef int kind
    cdef tuple places       # the operands
    cdef object value


cdef class ConstraintText:
    """A pattern, the name of a format or the text of a number, and the schema that contains it."""
    cdef str text
    cdef Location where
    cdef str keyword

    cdef str pointer(self)


cdef class Refusal:
    cdef int types
    cdef Location where
    cdef str keyword
    cdef str message


cdef class Strings:
    cdef object minimum, maximum    # int; maximum None: no bound
    cdef tuple patterns, formats    # of ConstraintText
    cdef tuple without              # patterns that must not match
    cdef tuple barred               # excluded texts
    cdef Location where              # of the list of excluded values, or None


cdef class Numbers:
    """Bounds (int, Decimal or None), each with whether it is exclusive."""
    cdef object low, high
    cdef bint low_open, high_open
    cdef tuple multiples, foreign   # of ConstraintText: required and excluded divisors
    cdef tuple barred               # excluded numbers
    cdef Location where              # of the list of excluded values, or None
    cdef bint is_plain              # no exponent; whole numbers without a decimal point


cdef class Count:
    """The number of items, from the item ``first`` on, that fit a place."""
    cdef tuple place
    cdef Py_ssize_t first
    cdef object minimum, maximum    # int; maximum None: no bound
    cdef Location where


cdef class Arrays:
    cdef tuple prefix   # of places
    cdef tuple rest     # the place of all other items
    cdef object minimum, maximum
    cdef tuple counts           # of Count
    cdef Location unique         # the schema with ``uniqueItems``, or None

    cdef tuple item(self, Py_ssize_t n)


cdef class Keyed:
    """The place of members whose keys match a pattern, or match none of several; without ``excluded`` keys."""
    cdef tuple patterns     # of ConstraintText; one if is_match
    cdef bint is_match
    cdef frozenset excluded
    cdef tuple place


cdef class Objects:
    # name -> its schema below ``where``; or its complete place, after an intersection or a match of key
    # patterns (``is_intersection``)
    cdef dict properties
    cdef bint is_intersection
    cdef tuple required
    cdef set wanted         # the required names as a set; None: empty
    cdef tuple rest         # the place of unlisted members
    cdef tuple keyed        # of Keyed: further constraints of unlisted members
    cdef tuple names        # the place of all keys, as strings
    cdef tuple some         # of Keyed: for each there must be a member that fits its place
    cdef object minimum, maximum
    cdef bint lists_members     # ``properties`` names some
    cdef bint rules_others      # a keyword is about members that are not listed
    cdef Location where
    cdef dict places        # places of properties, created on demand; None: empty
    cdef dict hulls         # hulls of members, see SchemaFacts; None: empty

    cdef bint is_plain(self) noexcept
    cdef tuple place_in(self, name, property)


cdef class Evaluated:
    """The members and items that a schema's keywords have evaluated, for unevaluated keywords."""
    cdef frozenset names
    cdef tuple patterns     # of ConstraintText
    cdef Py_ssize_t items   # number of leading items
    cdef tuple contained    # places of ``contains``: matching items are evaluated
    cdef bint all_members, all_items

    cdef bint covers(self, Evaluated other) except -1


cdef class SchemaType:
    cdef int types
    cdef tuple values       # None: not listed
    cdef Strings strings
    cdef Numbers numbers
    cdef Arrays arrays
    cdef Objects objects
    cdef tuple refused
    cdef Evaluated evaluated    # None: nothing, or not tracked

    cdef int check(self, int types) except -1


cdef SchemaType ANYTHING
cdef tuple ANYTHING_ONLY

cdef Location root_place(schema, str pointer)
cdef Location location_at(schema, Location above, str keyword, key)
cdef tuple place_at(schema, Location above, str keyword, key)
cdef ConstraintText constraint_text(str text, Location where, str keyword)
cdef Refusal refusal(int types, Location where, str keyword, str message)
cdef Strings new_strings(minimum, maximum, tuple patterns, tuple formats, tuple without, tuple barred)
cdef Numbers new_numbers(
    low, bint low_open, high, bint high_open, tuple multiples, tuple foreign, tuple barred)
cdef Count new_count(tuple place, Py_ssize_t first, minimum, maximum, Location where)
cdef Arrays new_arrays(tuple prefix, tuple rest, minimum, maximum, tuple counts, Location unique)
cdef Keyed new_keyed(tuple patterns, bint is_match, frozenset excluded, tuple place)
cdef Objects new_objects(
    dict properties, bint is_intersection, tuple required, set wanted, tuple rest, minimum, maximum, Location where)
cdef Objects keyed_objects(Objects objects, tuple keyed, tuple names, tuple some)
cdef Evaluated new_evaluated(
    frozenset names, tuple patterns, Py_ssize_t items, tuple contained, bint all_members, bint all_items)
cdef SchemaType new_type(
    int types, tuple values, Strings strings, Numbers numbers, Arrays arrays, Objects objects, tuple refused)
cdef SchemaType with_evaluated(SchemaType schema_type, Evaluated evaluated)
cdef tuple without_evaluated(tuple alternatives)
cdef SchemaType listed(tuple values)
cdef set texts_in(tuple constraints)
