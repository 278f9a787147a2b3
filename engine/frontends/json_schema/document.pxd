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


# -- dialects --------------------------------------------------------------------------------------
# Which keywords a document's dialect knows; the others are annotations in it, as the standard says.
#
# The dialect is that of ``$schema`` at the root: drafts 4 (draft 3 is read as 4), 6, 7, 2019-09,
# 2020-12, and 2020-12 where none is named or nobody knows it. What later drafts spell otherwise is
# understood everywhere: ``definitions``, ``dependencies``, ``items`` as an array with ``additionalItems``, and
# ``exclusiveMinimum`` as a boolean; and so is ``nullable``, which is OpenAPI's, beside ``type``.
#
# ``ref_alone``: up to draft 7, whatever stands beside ``$ref`` is ignored.

cdef class Dialect:
    cdef int draft          # 4, 6, 7, 2019 or 2020
    cdef bint ref_alone
    cdef uint64_t known     # the bits of its keywords


cdef Dialect dialect_of(root)


# -- document --------------------------------------------------------------------------------------
# Whether something is JSON at all, and neither too deep nor too long in its pointers: looked at before
# anything else reads it.

cdef check_document(root, limits, str pointer)
cdef bint has_key(item, str key) except -1


# -- references ------------------------------------------------------------------------------------
# ``$ref`` and its like inside one document. Nothing is ever fetched.
#
# A document is one resource, or several: a schema with a URI of its own (``$id``) begins another one.
# A reference is resolved against the URI of the resource that it stands in, and names a resource, an
# anchor in it, or a place by its JSON pointer. References of the usual form (``#/$defs/name``, one
# resource) are followed at once; the document is searched for URIs and anchors when something asks.
#
# Sources   JSON Schema core 2020-12, sections 8.2 and 9.2; RFC 3986 section 5 (urllib's urljoin);
#           RFC 6901.
# Not here  which keywords a dialect knows (dialects).

cdef References new_references(root, str pointer)


cdef class References:
    """The document that references point into. ``pointer`` is where its root stands in what the
    caller sent.
    """
    cdef object root
    cdef str pointer
    cdef Dialect dialect
    cdef dict resolved      # reference, if need be with the URI it is resolved against -> what it names
    cdef bint has_inner     # whether a resource inside the document was met
    # by URI, and by (URI, anchor); None until somebody asks
    cdef dict resources, anchors
    cdef dict dynamic       # anchor -> how many places have it as a dynamic one

    cdef Located resolve(self, reference, Located where, str keyword)
    cdef Located resolve_dynamic(self, reference, Located where, str keyword)
    cdef Located follow(self, str reference, Located where, str keyword)
    cdef Located step(self, Located place, str pointer, str reference, Located at, str keyword)
    cdef Located named(self, str uri, str anchor, str reference, Located at, str keyword)
    cdef int search(self) except -1
    cdef int enter(self, Located place, str base, list todo) except -1
    cdef str own_uri(self, schema)
    cdef str base_of(self, Located where)
    cdef bint is_plain(self, str reference) except -1
    cdef int meet_base(self, schema) except -1
