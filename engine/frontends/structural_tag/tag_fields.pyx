"""The fields of one JSON object: see the header file."""

cimport cython

from ...errors import SpecError, UnsupportedSchema


@cython.no_gc
@cython.freelist(8)
cdef class Fields:
    """``taken`` counts the fields of ``value`` that were asked for; none is asked for twice."""

    def __cinit__(self, value, str pointer):
        if not isinstance(value, dict):
            raise SpecError("must be an object", pointer)
        self.value = value
        self.pointer = pointer
        self.taken = 0

    # -- errors ------------------------------------------------------------------------------------
    cdef object fault(self, str name, str message):
        return SpecError(f"{name} {message}", f"{self.pointer}/{name}")

    cdef int finish(self, tuple known) except -1:
        """Refuses a field that is none of the known ones.

        Raises:
            UnsupportedSchema: naming it.
        """
        if len(self.value) != self.taken:
            name = next(name for name in self.value if name not in known)
            raise UnsupportedSchema(self.pointer, name)
        return 0

    # -- values ------------------------------------------------------------------------------------
    cdef object get(self, str name, default):
        if name not in self.value:
            return default
        self.taken += 1
        return self.value[name]

    cdef object item(self, str name):
        """A field that must be there."""
        if name not in self.value:
            raise SpecError(f"the field {name!r} is missing", self.pointer)
        self.taken += 1
        return self.value[name]

    cdef list items(self, str name):
        """The elements of a list that must be there and must not be empty."""
        value = self.item(name)
        if not isinstance(value, list) or not value:
            raise self.fault(name, "must be a list with at least one element")
        return value

    cdef list optional_items(self, str name):
        """The same for a list that may be absent or empty."""
        if name not in self.value or self.value[name] == []:
            return self.get(name, [])
        return self.items(name)

    cdef str text(self, str name):
        return as_text(self.item(name), self.pointer, name)

    cdef bint flag(self, str name, bint default) except -1:
        value = self.get(name, default)
        if value is not True and value is not False:
            raise self.fault(name, "must be true or false")
        return value

    cdef object count(self, str name, low, high):
        """An integer in these bounds."""
        value = self.item(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.fault(name, f"must be an integer from {low} to {high:,}")
        return value

    cdef object bound(self, str name, high):
        """A count that may be absent, or null: None."""
        if self.value.get(name) is None:
            self.get(name, None)
            return None
        return self.count(name, 0, high)


cdef str as_text(value, str pointer, step, bint filled=False):
    """A string that can be written in UTF-8; it stands at ``pointer``/``step``, or just there."""
    if not isinstance(value, str) or (filled and not value):
        raise SpecError("must be a string" + " that is not empty" * filled, place(pointer, step))
    if not (<str>value).isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SpecError("holds half of a surrogate pair", place(pointer, step)) from None
    return value


cdef str place(str pointer, step):
    return pointer if step is None else f"{pointer}/{step}"


cdef tuple as_texts(list items, str pointer):
    """Strings that are not empty."""
    return tuple([as_text(value, pointer, k, True) for k, value in enumerate(items)])


cdef object as_schema(value, str pointer):
    if not isinstance(value, (dict, bool)):
        raise SpecError("must be a JSON Schema, an object or a boolean", pointer)
    return value
