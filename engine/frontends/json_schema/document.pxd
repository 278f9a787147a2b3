"""Whether something is JSON at all, and neither too deep nor too long in its pointers: looked at before
anything else reads it."""

cdef check_document(root, limits, str pointer)
cdef bint has_key(item, str key) except -1
