"""A look at the whole document: see the header file."""

from cpython.ref cimport PyObject

from .keywords cimport escape

from ...errors import LimitExceeded, SpecError

cdef extern from "Python.h":
    # without counting references
    bint is_str "PyUnicode_CheckExact"(PyObject*) noexcept
    bint is_bool "PyBool_Check"(PyObject*) noexcept
    bint is_int "PyLong_CheckExact"(PyObject*) noexcept
    bint is_float "PyFloat_CheckExact"(PyObject*) noexcept
    bint is_dict "PyDict_CheckExact"(PyObject*) noexcept
    bint is_list "PyList_CheckExact"(PyObject*) noexcept
    bint next_item "PyDict_Next"(PyObject*, Py_ssize_t*, PyObject**, PyObject**) noexcept
    Py_ssize_t str_size "PyUnicode_GET_LENGTH"(PyObject*) noexcept
    Py_ssize_t list_size "PyList_GET_SIZE"(PyObject*) noexcept
    PyObject* list_item "PyList_GET_ITEM"(PyObject*, Py_ssize_t) noexcept

# levels that the quick look takes C's stack down to
cdef Py_ssize_t QUICK_LEVELS = 500
# of a place in a list, as many as those of most lists take
cdef Py_ssize_t INDEX_CHARACTERS = 3


cdef check_document(root, limits, str pointer):
    """The document, made of plain dicts, lists, strings and numbers.

    Raises:
        LimitExceeded: nested deeper than ``spec_depth``, or ``pointer_characters``.
        SpecError: a value that JSON does not have, or a key that is no string.
    """
    cdef Py_ssize_t maximum = limits.spec_depth, n
    if not is_plain(<PyObject*>root, min(maximum, QUICK_LEVELS)):
        check_by_levels(root, maximum, pointer)
        root = plain(root)
    n = pointer_characters(<PyObject*>root, len(pointer), limits.pointer_characters)
    if n > limits.pointer_characters:
        raise LimitExceeded("pointer_characters", limits.pointer_characters, n, pointer)
    return root


cdef bint has_key(item, str key) except -1:
    """Whether any object in the document has this key."""
    if isinstance(item, dict):
        return key in item or any([has_key(value, key) for value in item.values()])
    return isinstance(item, list) and any([has_key(value, key) for value in item])


cdef Py_ssize_t pointer_characters(PyObject* item, Py_ssize_t above, Py_ssize_t most) noexcept:
    """Characters of the pointers of a value and all that lies below it, or a number above ``most``."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0, found = above
    if is_dict(item):
        while found <= most and next_item(item, &at, &key, &value):
            found += pointer_characters(value, above + 1 + str_size(key), most - found)
    elif is_list(item):
        for at in range(list_size(item)):
            if found <= most:
                found += pointer_characters(list_item(item, at), above + INDEX_CHARACTERS, most - found)
    return found


cdef bint is_plain(PyObject* item, Py_ssize_t levels) noexcept:
    """Whether the document is certainly fine. Looks at everything once and makes nothing."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0
    if is_dict(item):
        if levels == 0:
            return False
        while next_item(item, &at, &key, &value):
            if not is_str(key) or not (is_scalar(value) or is_plain(value, levels - 1)):
                return False
        return True
    if is_list(item):
        if levels == 0:
            return False
        for at in range(list_size(item)):
            value = list_item(item, at)
            if not (is_scalar(value) or is_plain(value, levels - 1)):
                return False
        return True
    return is_scalar(item)


cdef inline bint is_scalar(PyObject* item) noexcept:
    return (
        is_str(item) or is_bool(item) or is_int(item) or is_float(item) or item == <PyObject*>None)


cdef plain(item):
    """A copy without subclasses (an enumeration's member, an ordered dict)."""
    if isinstance(item, dict):
        return {plain(key): plain(value) for key, value in item.items()}
    if isinstance(item, list):
        return [plain(each) for each in item]
    if isinstance(item, str):
        return item if type(item) is str else str.__getitem__(item, slice(None))
    if isinstance(item, float):
        return float.__add__(item, 0.0)
    return int.__add__(item, 0) if isinstance(item, int) and not isinstance(item, bool) else item


cdef int check_by_levels(root, Py_ssize_t maximum, str pointer) except -1:
    """The same with the place of the first flaw. An entry is a container, the entry of the container
    that holds it, and under which key.
    """
    cdef list level = [(root, None, "")] if isinstance(root, (dict, list)) else []
    cdef list below
    cdef Py_ssize_t depth = 0
    while level:
        depth += 1
        if depth > maximum:
            raise LimitExceeded("spec_depth", maximum, depth, pointer + path(level[0]))
        below = []
        for entry in level:
            check_container(entry, below, pointer)
        level = below
    return 0


cdef int check_container(tuple entry, list below, str pointer) except -1:
    """Looks at what the container holds, and adds the containers among it to ``below``."""
    value = entry[0]
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(child, (dict, list)):
            below.append((child, entry, key))
        elif child is not None and not isinstance(child, (str, int, float)):
            place = pointer + path((child, entry, key))
            raise SpecError(f"a value of type {type(child).__name__} is not JSON", place)
    if isinstance(value, dict) and not all([isinstance(key, str) for key in value]):
        raise SpecError("a key must be a string", pointer + path(entry))
    return 0


cdef str path(tuple entry):
    cdef list parts = []
    while entry[1] is not None:
        parts.append(escape(str(entry[2])))
        entry = entry[1]
    return "".join([f"/{part}" for part in reversed(parts)])
