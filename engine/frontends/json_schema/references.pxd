"""``$ref`` inside one document. Nothing is ever fetched."""

from .shapes cimport Located


cdef class References:
    """The document that references point into. ``pointer`` is where its root stands in what the
    caller sent.
    """
    cdef object root
    cdef str pointer, base, dialect
    cdef bint is_older      # whether the document says that it is of a draft before 2020-12

    cdef Located resolve(self, reference, str pointer)
    cdef str local(self, str reference)
    cdef int check_base(self, schema, Located where) except -1
