"""``$ref`` inside one document. Nothing is ever fetched."""

from .shapes cimport Located


cdef References new_references(root, str pointer)


cdef class References:
    """The document that references point into. ``pointer`` is where its root stands in what the
    caller sent.
    """
    cdef object root
    cdef str pointer
    cdef dict resolved      # reference -> what it names

    cdef bint is_older(self) except -1
    cdef str dialect(self)
    cdef str base(self)
    cdef Located resolve(self, reference, Located where)
    cdef Located follow(self, str reference, Located where)
    cdef str local(self, str reference)
    cdef int check_base(self, schema, Located where) except -1
