"""Whether something is JSON at all, and not too deep: looked at before anything else reads it."""

cdef check_document(root, Py_ssize_t maximum, str pointer)
