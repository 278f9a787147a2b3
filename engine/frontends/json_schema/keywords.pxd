"""The keywords of JSON Schema: what each constrains, and the forms their values must have.

Unknown keywords are annotations, as the standard says. A keyword that constrains types which a
place does not allow constrains nothing there and is passed over, but its value must be well-formed
all the same.

A schema is read in one pass: ``scan`` sorts its keywords into the slots of a ``KeywordsC``, which
borrows the values from the schema and is good for as long as that is not changed.
"""

from cpython.ref cimport PyObject

from .shapes cimport Located

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
    MULTIPLE_OF
    # no values are kept of these: all keywords that are refused, and $id with id
    REFUSED_KEYWORD
    BASE
    SLOTS

cdef enum:
    OF_STRINGS = 1 << PATTERN | 1 << FORMAT | 1 << MIN_LENGTH | 1 << MAX_LENGTH
    OF_NUMBERS = 1 << MINIMUM | 1 << MAXIMUM | 1 << EXCLUSIVE_MINIMUM | 1 << EXCLUSIVE_MAXIMUM
    OF_ARRAYS = 1 << ITEMS | 1 << PREFIX_ITEMS | 1 << MIN_ITEMS | 1 << MAX_ITEMS
    OF_OBJECTS = 1 << PROPERTIES | 1 << REQUIRED | 1 << ADDITIONAL | 1 << MIN_PROPERTIES | 1 << MAX_PROPERTIES
    COMPOSED = 1 << REFERENCE | 1 << ALL_OF | 1 << ANY_OF | 1 << ONE_OF | 1 << NOT
    LISTED = 1 << ENUM | 1 << CONST
    REFUSABLE = 1 << MULTIPLE_OF | 1 << REFUSED_KEYWORD

cdef struct KeywordsC:
    # bit k of seen: keyword k is there, and value[k] is its value
    unsigned int seen
    PyObject* value[SLOTS]

cdef dict REFUSED   # keyword -> the types it constrains

cdef int scan(dict schema, KeywordsC* found) except -1
cdef int one_type(value) except -1
cdef bint is_reference(schema) except -1
cdef bint is_true(value) except -1
cdef bint is_vacuous(dict schema, str keyword) except -1
cdef str escape(str key)
cdef str kind_of(value)
cdef int types_of(value, Located where) except -1
cdef count(KeywordsC* found, int keyword, Located where)
cdef decimal(value, Located where, str keyword, tightest)
cdef decimal_at(value, str pointer, tightest)
cdef set names_of(value, Located where)
