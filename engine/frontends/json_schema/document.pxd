"""The document: keywords, dialects, validity as JSON, and references.

Keywords     ``scan`` sorts the keywords of a schema into the slots of a ``KeywordsC`` in one pass; it borrows the
             values from the schema. Unknown keywords are annotations, as in the standard. A keyword for types that
             are not allowed has no effect, but its value must be well-formed.
Dialects     keywords outside of a document's dialect are annotations too. ``$schema`` at the root selects draft 4
             (also for 3), 6, 7, 2019-09 or 2020-12 (the default). Some older spellings work in all dialects:
             ``definitions``, ``dependencies``, ``items`` as an array with ``additionalItems``, boolean
             ``exclusiveMinimum``, and OpenAPI's ``nullable`` with ``type``. ``ref_alone``: up to draft 7, keywords
             next to ``$ref`` are ignored.
Validity     ``check_document`` rejects values that are not JSON, too deep nesting and too long pointers before any
             other code reads the document.
References   ``$ref`` and similar keywords within one document; nothing is ever fetched. A document is one resource,
             or several: a schema with its own URI (``$id``) begins another one. A reference is resolved against the
             URI of its resource, and names a resource, an anchor in it, or a location by JSON pointer. The common
             form (``#/$defs/name`` in one resource) is followed at once; others search the document first.
Sources      JSON Schema core 2020-12, sections 8.2 and 9.2; RFC 3986 section 5 (urllib's urljoin); RFC 6901.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from .schema_types cimport Location

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
    # $id and id; their values are not stored
    BASE
    SLOTS

cdef struct KeywordsC:
    # bit k of seen: the schema has keyword k, with the value value[k]
    uint64_t seen
    PyObject* value[SLOTS]


cdef inline uint64_t bit(int keyword) noexcept nogil:
    return <uint64_t>1 << keyword


cdef inline uint64_t from_to(int first, int last) noexcept nogil:
    """Return the bits of consecutive keywords."""
    return (bit(last + 1) - 1) & ~(bit(first) - 1)


cdef inline bint has(const KeywordsC* keywords, int keyword) noexcept nogil:
    return keywords.seen >> keyword & 1


cdef inline uint64_t of_strings() noexcept nogil:
    return from_to(PATTERN, MAX_LENGTH)


cdef inline uint64_t of_numbers() noexcept nogil:
    return from_to(MINIMUM, EXCLUSIVE_MAXIMUM) | bit(MULTIPLE_OF)


cdef inline uint64_t of_arrays() noexcept nogil:
    return from_to(ITEMS, MAX_ITEMS) | from_to(ADDITIONAL_ITEMS, MAX_CONTAINS)


cdef inline uint64_t of_objects() noexcept nogil:
    return from_to(PROPERTIES, MAX_PROPERTIES) | from_to(PATTERN_PROPERTIES, PROPERTY_NAMES)


cdef inline uint64_t composed() noexcept nogil:
    """Return the keywords that may lead back to the schema itself."""
    return from_to(REFERENCE, RECURSIVE_REFERENCE)


cdef inline uint64_t listing() noexcept nogil:
    return bit(ENUM) | bit(CONST)


cdef inline object value_of(const KeywordsC* keywords, int keyword, other):
    return <object>keywords.value[keyword] if has(keywords, keyword) else other


cdef int scan(dict schema, KeywordsC* keywords) except -1
cdef int one_type(value) except -1
cdef bint is_reference(schema) except -1
cdef str kind_of(value)
cdef int types_of(value, Location where) except -1
cdef count(KeywordsC* keywords, int keyword, Location where)
cdef decimal(value, Location where, str keyword, tightest)
cdef decimal_at(value, str pointer, tightest)
cdef set names_of(value, str keyword, Location where)


# -- document ---------------------------------------------------------------------------------------
cdef check_document(root, limits, str pointer)
cdef bint has_key(item, str key) except -1


# -- references -------------------------------------------------------------------------------------
cdef References new_references(root, str pointer)


cdef class References:
    """The references of one document. ``pointer``: the location of its root in the caller's spec."""
    cdef object root
    cdef str pointer
    # the dialect: 4, 6, 7, 2019 or 2020, and the bits of its keywords
    cdef int draft
    cdef bint ref_alone
    cdef uint64_t known
    cdef dict resolved      # reference (with its base URI, if there are several) -> target
    cdef bint has_inner     # whether an inner resource was found
    # by URI, and by (URI, anchor); None before the search
    cdef dict resources, anchors
    cdef dict dynamic       # anchor -> number of locations with it as a dynamic anchor

    cdef Location resolve(self, reference, Location where, str keyword)
    cdef Location resolve_dynamic(self, reference, Location where, str keyword)
    cdef Location follow(self, str reference, Location where, str keyword)
    cdef Location step(self, Location place, str pointer, str reference, Location at, str keyword)
    cdef Location constraint_text(self, str uri, str anchor, str reference, Location at, str keyword)
    cdef int search(self) except -1
    cdef int enter(self, Location place, str base, list todo) except -1
    cdef str own_uri(self, schema)
    cdef str base_of(self, Location where)
    cdef bint is_plain(self, str reference) except -1
    cdef bint is_bare_pointer(self, str reference, Location where) except -1
    cdef int note_base(self, schema) except -1
