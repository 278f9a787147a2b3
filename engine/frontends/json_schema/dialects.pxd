"""Which keywords a document's dialect knows; the others are annotations in it, as the standard says.

The dialect is that of ``$schema`` at the root: drafts 4 (draft 3 is read as 4), 6, 7, 2019-09,
2020-12, and 2020-12 where none is named or nobody knows it. What later drafts spell otherwise is understood everywhere:
``definitions``, ``dependencies``, ``items`` as an array with ``additionalItems``, and
``exclusiveMinimum`` as a boolean; and so is ``nullable``, which is OpenAPI's, beside ``type``.

``ref_alone``: up to draft 7, whatever stands beside ``$ref`` is ignored.
"""

from libc.stdint cimport uint64_t


cdef class Dialect:
    cdef int draft          # 4, 6, 7, 2019 or 2020
    cdef bint ref_alone
    cdef uint64_t known     # the bits of its keywords


cdef Dialect dialect_of(root)
