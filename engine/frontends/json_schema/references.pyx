"""References inside a document: see the header file."""

from .keywords cimport escape
from .shapes cimport Located, root_place

from urllib.parse import unquote

from ...errors import SpecError, UnsupportedSchema


cdef class References:
    def __init__(self, root, str pointer):
        self.root, self.pointer = root, pointer
        own = root.get("$id", root.get("id", "")) if isinstance(root, dict) else ""
        self.base = own.rstrip("#") if isinstance(own, str) else ""
        dialect = root.get("$schema") if isinstance(root, dict) else None
        self.dialect = dialect if isinstance(dialect, str) else ""
        self.is_older = "draft-0" in self.dialect or "draft/2019" in self.dialect

    cdef Located resolve(self, reference, str pointer):
        """The schema that a $ref names.

        Raises:
            SpecError: it names nothing. UnsupportedSchema: it leaves the document, or names an
            anchor.
        """
        if not isinstance(reference, str):
            raise SpecError("$ref must be a string", pointer)
        local = self.local(reference)
        if not local.startswith("#/") and local != "#":
            message = f"the reference {reference!r} leaves the document or names an anchor"
            raise UnsupportedSchema(pointer, "$ref", message)
        found, place = self.root, self.pointer
        for part in unquote(local[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = member(found, key)
            if found is None:
                raise SpecError(f"the reference {reference!r} names nothing", pointer)
            place = f"{place}/{escape(key)}"
            self.check_base(found, root_place(found, place))
        if not isinstance(found, (dict, bool)):
            raise SpecError(f"the reference {reference!r} names no schema", pointer)
        return root_place(found, place)

    cdef str local(self, str reference):
        """The fragment, where the rest names this document."""
        rest = reference[len(self.base) :]
        if self.base and reference.startswith(self.base) and rest[:1] in ("", "#"):
            return rest or "#"
        return reference

    cdef int check_base(self, schema, Located where) except -1:
        """An inner $id makes a document of its own, whose references would have to be resolved in
        it.

        Raises:
            UnsupportedSchema: there are such references.
        """
        if schema is self.root or not isinstance(schema, dict):
            return 0
        for keyword in ("$id", "id"):
            own = schema.get(keyword)
            if (
                not isinstance(own, str)
                or own.startswith("#")
                or (keyword == "id" and "draft-0" not in self.dialect)
            ):
                continue
            if has_reference(schema):
                message = f"references below an inner {keyword} can't be resolved"
                raise UnsupportedSchema(where.at(keyword), keyword, message)
        return 0


cdef member(value, str key):
    """The member of an object or an array, None if there is none."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal() and key.isascii() and len(key) < 10:
        return value[int(key)] if int(key) < len(value) else None
    return None


cdef bint has_reference(schema) except -1:
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if "$ref" in item:
                return True
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return False
