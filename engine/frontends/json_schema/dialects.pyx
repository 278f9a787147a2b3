"""Dialects: see the header file."""

from libc.stdint cimport uint64_t

from .keywords cimport (
    CONST, CONTAINS, DEPENDENT_REQUIRED, DEPENDENT_SCHEMAS, DYNAMIC_REFERENCE, ELSE_, IF_,
    MAX_CONTAINS, MIN_CONTAINS, PREFIX_ITEMS, PROPERTY_NAMES, RECURSIVE_REFERENCE, THEN_,
    UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES, bit,
)


cdef dict DRAFTS = {
    "http://json-schema.org/draft-03/schema": 4,
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}


cdef class Dialect:
    pass


cdef Dialect dialect_of(root):
    cdef Dialect made = Dialect.__new__(Dialect)
    name = (<dict>root).get("$schema") if isinstance(root, dict) else None
    made.draft = DRAFTS.get((<str>name).rstrip("#"), 2020) if isinstance(name, str) else 2020
    made.known = known_to(made.draft)
    made.ref_alone = made.draft <= 7
    return made


cdef uint64_t known_to(int draft) noexcept nogil:
    cdef uint64_t later = 0
    if draft < 2020:
        later |= bit(PREFIX_ITEMS) | bit(DYNAMIC_REFERENCE)
    if draft != 2019:
        later |= bit(RECURSIVE_REFERENCE)
    if draft < 2019:
        later |= bit(DEPENDENT_REQUIRED) | bit(DEPENDENT_SCHEMAS) | bit(MIN_CONTAINS) | bit(MAX_CONTAINS)
        later |= bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)
    if draft < 7:
        later |= bit(IF_) | bit(THEN_) | bit(ELSE_)
    if draft < 6:
        later |= bit(CONST) | bit(CONTAINS) | bit(PROPERTY_NAMES)
    return ~later
