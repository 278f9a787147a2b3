"""The keywords of JSON Schema: what each constrains, and the forms their values must have.

Unknown keywords are annotations, as the standard says. A keyword that constrains types which a
place does not allow constrains nothing there and is passed over, but its value must be well-formed
all the same.

A schema is read in one pass: ``scan`` sorts its keywords into the slots of a ``KeywordsC``, which
borrows the values from the schema and is good for as long as that is not changed.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from .schema_types cimport Located

cdef enum:
    TYPE
    PATTERN
    FORMAT
    MIN_LENGTH
    MAX_LENGTH
    MINIMUM
    MAXIMUM
    EXCLUSIVE_MINIMUM
    EXCLUSIVE_MAXIMUM
    ITEMS
    PREFIX_ITEMS
    MIN_ITEMS
    MAX_ITEMS
    PROPERTIES
    REQUIRED
    ADDITIONAL
    MIN_PROPERTIES
    MAX_PROPERTIES
    ENUM
    CONST
    REFERENCE
    ALL_OF
    ANY_OF
    ONE_OF
    NOT
    IF_
    THEN_
    ELSE_
    DEPENDENT_REQUIRED
    DEPENDENT_SCHEMAS
    DEPENDENCIES
    UNEVALUATED_PROPERTIES
    UNEVALUATED_ITEMS
    DYNAMIC_REFERENCE
    RECURSIVE_REFERENCE
    MULTIPLE_OF
    PATTERN_PROPERTIES
    PROPERTY_NAMES
    ADDITIONAL_ITEMS
    UNIQUE_ITEMS
    CONTAINS
    MIN_CONTAINS
    MAX_CONTAINS
    NULLABLE
    # no value is kept of these: $id with id
    BASE
    SLOTS

cdef struct KeywordsC:
    # bit k of seen: keyword k is there, and value[k] is its value
    uint64_t seen
    PyObject* value[SLOTS]


cdef inline uint64_t bit(int keyword) noexcept nogil:
    return <uint64_t>1 << keyword


cdef inline uint64_t from_to(int first, int last) noexcept nogil:
    """The bits of keywords that stand together."""
    return (bit(last + 1) - 1) & ~(bit(first) - 1)


cdef inline bint has(const KeywordsC* found, int keyword) noexcept nogil:
    return found.seen >> keyword & 1


cdef inline uint64_t of_strings() noexcept nogil:
    return from_to(PATTERN, MAX_LENGTH)


cdef inline uint64_t of_numbers() noexcept nogil:
    return from_to(MINIMUM, EXCLUSIVE_MAXIMUM) | bit(MULTIPLE_OF)


cdef inline uint64_t of_arrays() noexcept nogil:
    return from_to(ITEMS, MAX_ITEMS) | from_to(ADDITIONAL_ITEMS, MAX_CONTAINS)


cdef inline uint64_t of_objects() noexcept nogil:
    return from_to(PROPERTIES, MAX_PROPERTIES) | from_to(PATTERN_PROPERTIES, PROPERTY_NAMES)


cdef inline uint64_t composed() noexcept nogil:
    """Those that may lead back to the schema itself."""
    return from_to(REFERENCE, RECURSIVE_REFERENCE)


cdef inline uint64_t listing() noexcept nogil:
    return bit(ENUM) | bit(CONST)


cdef inline object value_of(const KeywordsC* found, int keyword, other):
    return <object>found.value[keyword] if has(found, keyword) else other


cdef int scan(dict schema, KeywordsC* found) except -1
cdef int one_type(value) except -1
cdef bint is_reference(schema) except -1
cdef bint is_true(value) except -1
cdef str escape(str key)
cdef str kind_of(value)
cdef int types_of(value, Located where) except -1
cdef count(KeywordsC* found, int keyword, Located where)
cdef decimal(value, Located where, str keyword, tightest)
cdef decimal_at(value, str pointer, tightest)
cdef set names_of(value, str keyword, Located where)
