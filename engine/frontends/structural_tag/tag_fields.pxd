"""The fields of one JSON object, taken one by one; what is left over at the end is refused.

Places are joined only where something is wrong with them.
"""

cdef class Fields:
    cdef dict value
    cdef str pointer
    cdef Py_ssize_t taken
    cdef object fault(self, str name, str message)
    cdef int finish(self, tuple known) except -1
    cdef object get(self, str name, default)
    cdef object item(self, str name)
    cdef list items(self, str name)
    cdef list optional_items(self, str name)
    cdef str text(self, str name)
    cdef bint flag(self, str name, bint default) except -1
    cdef object count(self, str name, low, high)
    cdef object bound(self, str name, high)

cdef str as_text(value, str pointer, step, bint filled=*)
cdef str place(str pointer, step)
cdef tuple as_texts(list items, str pointer)
cdef object as_schema(value, str pointer)
