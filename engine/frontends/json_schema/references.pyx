"""References inside a document: see the header file."""

from .dialects cimport dialect_of
from .keywords cimport escape
from .schema_types cimport Located, located, root_place

from urllib.parse import unquote, urljoin

from ...errors import SpecError, UnsupportedSchema

#: keywords whose value is a schema, or a list of them
cdef tuple OF_SCHEMAS = (
    "items", "additionalItems", "prefixItems", "contains", "additionalProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "not", "if", "then", "else", "allOf", "anyOf", "oneOf",
)
#: those with schemas under names
cdef tuple OF_NAMES = (
    "$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies",
)


cdef References new_references(root, str pointer):
    cdef References made = References.__new__(References)
    made.root, made.pointer, made.has_inner = root, pointer, False
    made.dialect = dialect_of(root)
    return made


cdef class References:
    cdef Located resolve(self, reference, Located where, str keyword):
        """The schema that the $ref of another one names.

        Raises:
            SpecError: it names nothing. UnsupportedSchema: it leaves the document.
        """
        if not isinstance(reference, str):
            raise SpecError(f"{keyword} must be a string", where.at(keyword))
        if self.resolved is None:
            self.resolved = {}
        key = (self.base_of(where), reference) if self.has_inner else reference
        if key not in self.resolved:
            self.resolved[key] = self.follow(<str>reference, where, keyword)
        return self.resolved[key]

    cdef Located resolve_dynamic(self, reference, Located where, str keyword):
        """As ``resolve``, where the way that led here could choose between several places: as long as
        there is but one.

        Raises:
            UnsupportedSchema: there are several.
        """
        cdef Located found = self.resolve(reference, where, keyword)
        if self.resources is None:
            self.search()
        anchor = (<str>reference).partition("#")[2]
        is_dynamic = isinstance(found.schema, dict) and (
            found.schema.get("$dynamicAnchor") == anchor
            or found.schema.get("$recursiveAnchor") is True)
        if is_dynamic and (self.dynamic.get(anchor, 1) > 1 or (not anchor and len(self.resources) > 1)):
            raise UnsupportedSchema(where.at(keyword), keyword, "a reference that depends on the way can't be enforced")
        return found

    cdef Located follow(self, str reference, Located where, str keyword):
        cdef str uri, fragment
        cdef Located place
        if not self.has_inner and self.is_plain(reference):
            return self.step(
                root_place(self.root, self.pointer), reference.partition("#")[2], reference, where, keyword)
        if self.resources is None:
            self.search()
        uri, _, fragment = reference.partition("#")
        uri = urljoin(self.base_of(where), uri) if uri else self.base_of(where)
        if uri not in self.resources:
            message = f"the reference {reference!r} leaves the document"
            raise UnsupportedSchema(where.at(keyword), keyword, message)
        if fragment and not fragment.startswith("/"):
            return self.named(uri, unquote(fragment), reference, where, keyword)
        place = self.resources[uri]
        return self.step(place, fragment, reference, where, keyword)

    cdef bint is_plain(self, str reference) except -1:
        """Whether this is a pointer into the one resource."""
        cdef str base = self.own_uri(self.root)
        if base and reference.startswith(base):
            reference = reference[len(base) :] or "#"
        return reference == "#" or reference.startswith("#/")

    cdef Located step(self, Located place, str pointer, str reference, Located at, str keyword):
        """What a JSON pointer names below a place."""
        cdef str key, part
        if "%" in pointer:
            pointer = unquote(pointer)
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
            found = member(place.schema, key)
            if found is None:
                raise SpecError(f"the reference {reference!r} names nothing", at.at(keyword))
            place = located(found, place, escape(key), None)
            self.meet_base(found)
        if not isinstance(place.schema, (dict, bool)):
            raise SpecError(f"the reference {reference!r} names no schema", at.at(keyword))
        return place

    cdef Located named(self, str uri, str anchor, str reference, Located at, str keyword):
        if (uri, anchor) not in self.anchors:
            raise SpecError(f"the reference {reference!r} names nothing", at.at(keyword))
        return self.anchors[uri, anchor]

    # -- URIs and anchors -------------------------------------------------------------------------
    cdef int search(self) except -1:
        """Finds all resources and anchors."""
        cdef list todo = [(root_place(self.root, self.pointer), "")]
        self.resources, self.anchors, self.dynamic = {"": todo[0][0]}, {}, {}
        while todo:
            place, base = todo.pop()
            self.enter(<Located>place, base, todo)
        return 0

    cdef int enter(self, Located place, str base, list todo) except -1:
        """Notes a schema, and adds those inside it."""
        cdef dict schema
        if not isinstance(place.schema, dict):
            return 0
        schema = <dict>place.schema
        own = self.own_uri(schema)
        if own:
            base = urljoin(base, own)
            self.resources.setdefault(base, place)
            self.has_inner = self.has_inner or schema is not self.root
        for keyword in ("$anchor", "$dynamicAnchor", "$id", "id"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                if not keyword.endswith("id"):
                    self.anchors.setdefault((base, anchor), place)
                elif anchor.startswith("#"):
                    self.anchors.setdefault((base, anchor[1:]), place)
                if keyword == "$dynamicAnchor":
                    self.dynamic[anchor] = self.dynamic.get(anchor, 0) + 1
        for keyword in OF_SCHEMAS:
            value = schema.get(keyword)
            if isinstance(value, list):
                for number, each in enumerate(value):
                    todo.append((located(each, place, keyword, number), base))
            elif value is not None:
                todo.append((located(value, place, keyword, None), base))
        for keyword in OF_NAMES:
            value = schema.get(keyword)
            if isinstance(value, dict):
                for name, each in value.items():
                    todo.append((located(each, place, keyword, name), base))
        return 0

    cdef str own_uri(self, schema):
        """The URI that a schema gives itself, without a fragment; "" if it gives none."""
        if not isinstance(schema, dict):
            return ""
        own = (<dict>schema).get("id" if self.dialect.draft <= 4 else "$id")
        if not isinstance(own, str) or (self.dialect.ref_alone and "$ref" in <dict>schema):
            return ""
        return (<str>own).partition("#")[0]

    cdef str base_of(self, Located where):
        """The URI against which references at a place are resolved."""
        cdef list uris = []
        cdef str base = ""
        while where is not None:
            uris.append(self.own_uri(where.schema))
            where = where.above
        for own in reversed(uris):
            base = urljoin(base, own) if own else base
        return base

    cdef int meet_base(self, schema) except -1:
        """Notes that a schema on the way begins a resource of its own."""
        if schema is not self.root and self.own_uri(schema):
            self.has_inner = True
        return 0


cdef member(value, str key):
    """The member of an object or an array, None if there is none."""
    if isinstance(value, dict):
        return (<dict>value).get(key)
    if isinstance(value, list) and key.isdecimal() and key.isascii() and len(key) < 10:
        return value[int(key)] if int(key) < len(value) else None
    return None
