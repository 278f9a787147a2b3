"""References inside a document: see the header file."""

from .keywords cimport escape
from .shapes cimport Located, located, root_place

from urllib.parse import unquote

from ...errors import SpecError, UnsupportedSchema


cdef References new_references(root, str pointer):
    cdef References made = References.__new__(References)
    made.root, made.pointer = root, pointer
    return made


cdef class References:
    cdef bint is_older(self) except -1:
        """Whether the document says that it is of a draft before 2020-12."""
        dialect = self.dialect()
        return "draft-0" in dialect or "draft/2019" in dialect

    cdef str dialect(self):
        dialect = self.root.get("$schema") if isinstance(self.root, dict) else None
        return dialect if isinstance(dialect, str) else ""

    cdef str base(self):
        own = ""
        if isinstance(self.root, dict):
            own = (<dict>self.root).get("$id", (<dict>self.root).get("id", ""))
        return (<str>own).rstrip("#") if isinstance(own, str) and own else ""

    cdef Located resolve(self, reference, Located where):
        """The schema that the $ref of another one names.

        Raises:
            SpecError: it names nothing. UnsupportedSchema: it leaves the document, or names an
            anchor.
        """
        if not isinstance(reference, str):
            raise SpecError("$ref must be a string", where.at("$ref"))
        if self.resolved is None:
            self.resolved = {}
        if reference not in self.resolved:
            self.resolved[reference] = self.follow(<str>reference, where)
        return self.resolved[reference]

    cdef Located follow(self, str reference, Located where):
        cdef Located place
        cdef str local = self.local(reference), key, part
        if not local.startswith("#/") and local != "#":
            message = f"the reference {reference!r} leaves the document or names an anchor"
            raise UnsupportedSchema(where.at("$ref"), "$ref", message)
        place = root_place(self.root, self.pointer)
        if "%" in local:
            local = unquote(local)
        for part in local.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
            found = member(place.schema, key)
            if found is None:
                raise SpecError(f"the reference {reference!r} names nothing", where.at("$ref"))
            place = located(found, place, escape(key), None)
            self.check_base(found, place)
        if not isinstance(place.schema, (dict, bool)):
            raise SpecError(f"the reference {reference!r} names no schema", where.at("$ref"))
        return place

    cdef str local(self, str reference):
        """The fragment, where the rest names this document."""
        cdef str base = self.base(), rest
        if base and reference.startswith(base):
            rest = reference[len(base) :]
            if rest[:1] in ("", "#"):
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
            own = (<dict>schema).get(keyword)
            if (
                not isinstance(own, str)
                or own.startswith("#")
                or (keyword == "id" and "draft-0" not in self.dialect())
            ):
                continue
            if has_reference(schema):
                message = f"references below an inner {keyword} can't be resolved"
                raise UnsupportedSchema(where.at(keyword), keyword, message)
        return 0


cdef member(value, str key):
    """The member of an object or an array, None if there is none."""
    if isinstance(value, dict):
        return (<dict>value).get(key)
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
