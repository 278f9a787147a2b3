"""Keywords, dialects, validity and references of documents."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from .schema_types cimport (
    ARRAY, BOOLEAN, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Location, location_at, root_place,
)

from decimal import Decimal
from urllib.parse import unquote, urljoin

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...json_pointer import escape, path_of

cdef dict TYPES = {
    "null": NULL_TYPE, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING,
    "array": ARRAY, "object": OBJECT,
}

#: by slot
cdef tuple NAMES = (
    "type", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "items", "prefixItems", "minItems", "maxItems", "properties", "required",
    "additionalProperties", "minProperties", "maxProperties", "enum", "const", "$ref", "allOf", "anyOf",
    "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
    "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef", "multipleOf",
    "patternProperties", "propertyNames", "additionalItems", "uniqueItems", "contains", "minContains",
    "maxContains", "nullable",
)

cdef dict SLOT_OF = {
    **{name: slot for slot, name in enumerate(NAMES)},
    "$id": BASE,
    "id": BASE,
}

#: larger upper bounds are no bounds; larger lower bounds cannot be reached
cdef long long COUNTLESS = 1LL << 31
#: maximum digits of a bound or a listed number, before and after the decimal point
cdef int DIGITS = 400


cdef int scan(dict schema, KeywordsC* keywords) except -1:
    cdef PyObject *key
    cdef PyObject *value
    cdef PyObject *slot
    cdef Py_ssize_t at = 0
    cdef int number
    keywords.seen = 0
    while PyDict_Next(schema, &at, &key, &value):
        slot = PyDict_GetItemWithError(SLOT_OF, <object>key)
        if slot != NULL:
            number = <object>slot
            keywords.seen |= bit(number)
            keywords.value[number] = value
    return 0


cdef bint is_reference(schema) except -1:
    """Whether a schema is only a reference."""
    cdef KeywordsC keywords
    if not isinstance(schema, dict) or PyDict_GetItemWithError(schema, "$ref") == NULL:
        return False
    scan(<dict>schema, &keywords)
    return keywords.seen == bit(REFERENCE)


cdef str kind_of(value):
    names = {
        "list": "an array",
        "dict": "an object",
        "str": "a string",
        "NoneType": "null",
        "bool": "a boolean",
    }
    return names.get(type(value).__name__, "a number")


cdef int one_type(value) except -1:
    """Return the bits of the keyword ``type`` if it names one type, otherwise 0."""
    cdef PyObject* bits
    if not isinstance(value, str):
        return 0
    bits = PyDict_GetItemWithError(TYPES, value)
    return 0 if bits == NULL else <int><object>bits


cdef int types_of(value, Location where) except -1:
    """Return the bits of the keyword ``type``."""
    cdef int types = one_type(value)
    if types:
        return types
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise SpecError("type must be a name or a list of names", where.at("type"))
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise SpecError(f"unknown type {name!r}", where.at("type"))
        types |= <int>TYPES[name]
    if len(set(names)) < len(names):
        raise SpecError("a type is listed twice", where.at("type"))
    return types


cdef count(KeywordsC* keywords, int keyword, Location where):
    """Return the value of a keyword that is a whole number >= 0 (also written 3.0); None if it is absent or
    unlimited.
    """
    cdef str name
    if not has(keywords, keyword):
        return None
    value = <object>keywords.value[keyword]
    if type(value) is int and 0 <= value < COUNTLESS:
        return value
    name = NAMES[keyword]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SpecError(f"{name} must be a whole number >= 0", where.at(name))
    if value < COUNTLESS:
        return value
    if name.startswith("min"):
        raise SpecError(f"no value can reach this {name}", where.at(name))
    return None


cdef decimal(value, Location where, str keyword, tightest):
    """Return a number of the schema as it is written: an int if it is small, otherwise a Decimal.

    ``tightest`` (min, max or None) selects the stricter reading, if clients may read the number as written or as
    the nearest double; these differ for whole numbers beyond 2**53.
    """
    if type(value) is int and -(1 << 60) < value < (1 << 60):
        return value
    return decimal_at(value, where.at(keyword), tightest)


cdef decimal_at(value, str pointer, tightest):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SpecError(f"expected a number, got {kind_of(value)}", pointer)
    if isinstance(value, int) and value.bit_length() > 4 * DIGITS:
        raise SpecError(f"a number may have at most {DIGITS} digits", pointer)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise SpecError("a number must be finite", pointer)
    if number and abs(number.adjusted()) >= DIGITS:
        raise SpecError(f"a number may have at most {DIGITS} digits", pointer)
    if tightest is not None and isinstance(value, float) and abs(value) >= 2**53:
        number = tightest(number, Decimal(value))
    return number


cdef set names_of(value, str keyword, Location where):
    """Return the value of ``required``, or of a member of ``dependentRequired`` (no keyword)."""
    cdef set names
    if not isinstance(value, list) or not all([isinstance(name, str) for name in <list>value]):
        raise SpecError(f"{keyword or 'dependentRequired'} must be an array of strings", at(where, keyword))
    names = set(<list>value)
    if len(names) < len(<list>value):
        raise SpecError("a name is listed twice", at(where, keyword))
    return names


cdef str at(Location where, str keyword):
    return where.at(keyword) if keyword else where.pointer()


# -- dialects --------------------------------------------------------------------------------------

cdef dict DRAFTS = {
    "http://json-schema.org/draft-03/schema": 4,
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}


cdef uint64_t known_to(int draft) noexcept nogil:
    cdef uint64_t later = 0
    if draft < 2020:
        later |= bit(PREFIX_ITEMS) | bit(DYNAMIC_REFERENCE)
    if draft != 2019:
        later |= bit(RECURSIVE_REFERENCE)
    if draft < 2019:
        later |= bit(DEPENDENT_REQUIRED) | bit(DEPENDENT_SCHEMAS) | bit(MIN_CONTAINS) | bit(MAX_CONTAINS)
        later |= bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)
    if draft < 7:
        later |= bit(IF_) | bit(THEN_) | bit(ELSE_)
    if draft < 6:
        later |= bit(CONST) | bit(CONTAINS) | bit(PROPERTY_NAMES)
    return ~later


# -- document --------------------------------------------------------------------------------------

cdef extern from "Python.h":
    # without reference counting
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

# maximum recursion of the fast check on the C stack
cdef Py_ssize_t QUICK_LEVELS = 500
# characters of a list index in pointers, as in most lists
cdef Py_ssize_t INDEX_CHARACTERS = 3


cdef check_document(root, limits, str pointer):
    """Return the document made of plain dicts, lists, strings and numbers.

    Raises:
        LimitExceeded: nested deeper than ``spec_depth``, or beyond ``pointer_characters``.
        SpecError: a value that is not JSON, or a key that is not a string.
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
    """Return the characters of the pointers of a value and its descendants, or a number above ``most``."""
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
    """Whether the document is certainly valid. Visits everything once and allocates nothing."""
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
    """Return a copy without subclasses (members of enumerations, ordered dicts)."""
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
    """Check the document and locate the first error; a Location stands for each container."""
    cdef list level = [root_place(root, pointer)] if isinstance(root, (dict, list)) else []
    cdef list below
    cdef Py_ssize_t depth = 0
    while level:
        depth += 1
        if depth > maximum:
            raise LimitExceeded("spec_depth", maximum, depth, (<Location>level[0]).path())
        below = []
        for where in level:
            check_container(<Location>where, below)
        level = below
    return 0


cdef int check_container(Location where, list below) except -1:
    """Check the values of a container, and append the containers among them to ``below``."""
    value = where.schema
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(child, (dict, list)):
            below.append(location_at(child, where, escape(str(key)), None))
        elif child is not None and not isinstance(child, (str, int, float)):
            raise SpecError(f"a value of type {type(child).__name__} is not JSON", where.at(escape(str(key))))
    if isinstance(value, dict) and not all([isinstance(key, str) for key in value]):
        raise SpecError("a key must be a string", where.pointer())
    return 0


# -- references ------------------------------------------------------------------------------------

#: keywords whose value is a schema or a list of schemas
cdef tuple OF_SCHEMAS = (
    "items", "additionalItems", "prefixItems", "contains", "additionalProperties", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "not", "if", "then", "else", "allOf", "anyOf", "oneOf",
)
#: keywords whose value maps names to schemas
cdef tuple OF_NAMES = (
    "$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies",
)


cdef References new_references(root, str pointer):
    cdef References references = References.__new__(References)
    references.root, references.pointer, references.has_inner = root, pointer, False
    name = (<dict>root).get("$schema") if isinstance(root, dict) else None
    references.draft = DRAFTS.get((<str>name).rstrip("#"), 2020) if isinstance(name, str) else 2020
    references.known, references.ref_alone, references.resolved = known_to(references.draft), references.draft <= 7, {}
    return references


cdef class References:
    cdef Location resolve(self, reference, Location where, str keyword):
        """Return the target of a schema's $ref.

        Raises:
            SpecError: there is no target. UnsupportedSchema: it is outside of the document.
        """
        if not isinstance(reference, str):
            raise SpecError(f"{keyword} must be a string", where.at(keyword))
        key = (self.base_of(where), reference) if self.has_inner else reference
        if key not in self.resolved:
            self.resolved[key] = self.follow(<str>reference, where, keyword)
        return self.resolved[key]

    cdef Location resolve_dynamic(self, reference, Location where, str keyword):
        """Return the target of a dynamic reference, as long as it is the same on every path.

        Raises:
            UnsupportedSchema: there are several targets.
        """
        cdef Location found = self.resolve(reference, where, keyword)
        if self.resources is None:
            self.search()
        anchor = (<str>reference).partition("#")[2]
        is_dynamic = isinstance(found.schema, dict) and (
            found.schema.get("$dynamicAnchor") == anchor
            or found.schema.get("$recursiveAnchor") is True)
        if is_dynamic and (self.dynamic.get(anchor, 1) > 1 or (not anchor and len(self.resources) > 1)):
            message = "a reference with several possible targets can't be enforced"
            raise UnsupportedSchema(where.at(keyword), keyword, message)
        return found

    cdef Location follow(self, str reference, Location where, str keyword):
        cdef str uri, fragment
        cdef Location place
        if not self.has_inner and self.is_plain(reference):
            return self.step(
                root_place(self.root, self.pointer), reference.partition("#")[2], reference, where, keyword)
        if self.resources is None:
            self.search()
        uri, _, fragment = reference.partition("#")
        uri = urljoin(self.base_of(where), uri) if uri else self.base_of(where)
        if uri not in self.resources and self.is_bare_pointer(reference, where):
            return self.step(self.resources[""], reference, reference, where, keyword)
        if uri not in self.resources:
            message = f"the reference {reference!r} leaves the document"
            raise UnsupportedSchema(where.at(keyword), keyword, message)
        if fragment and not fragment.startswith("/"):
            return self.constraint_text(uri, unquote(fragment), reference, where, keyword)
        place = self.resources[uri]
        return self.step(place, fragment, reference, where, keyword)

    cdef bint is_plain(self, str reference) except -1:
        """Whether this is a pointer into the only resource."""
        cdef str base = self.own_uri(self.root)
        if base and reference.startswith(base):
            reference = reference[len(base) :] or "#"
        return reference == "#" or reference.startswith("#/")

    cdef bint is_bare_pointer(self, str reference, Location where) except -1:
        """Whether this is a pointer without its "#", as LiteLLM writes it for Anthropic's API.

        In a document without a URI, a path cannot name another document.
        """
        cdef str key
        if not reference.startswith("/") or self.base_of(where):
            return False
        found = root_place(self.root, self.pointer).schema
        for key in path_of(unquote(reference)):
            found = member(found, key)
        return isinstance(found, (dict, bool))

    cdef Location step(self, Location place, str pointer, str reference, Location at, str keyword):
        """Return the target of a JSON pointer below a location."""
        cdef str key
        if "%" in pointer:
            pointer = unquote(pointer)
        for key in path_of(pointer):
            found = member(place.schema, key)
            if found is None:
                raise SpecError(f"the reference {reference!r} names nothing", at.at(keyword))
            place = location_at(found, place, escape(key), None)
            self.note_base(found)
        if not isinstance(place.schema, (dict, bool)):
            raise SpecError(f"the reference {reference!r} names no schema", at.at(keyword))
        return place

    cdef Location constraint_text(self, str uri, str anchor, str reference, Location at, str keyword):
        if (uri, anchor) not in self.anchors:
            raise SpecError(f"the reference {reference!r} names nothing", at.at(keyword))
        return self.anchors[uri, anchor]

    # -- URIs and anchors -------------------------------------------------------------------------
    cdef int search(self) except -1:
        """Find all resources and anchors."""
        cdef list todo = [(root_place(self.root, self.pointer), "")]
        self.resources, self.anchors, self.dynamic = {"": todo[0][0]}, {}, {}
        while todo:
            place, base = todo.pop()
            self.enter(<Location>place, base, todo)
        return 0

    cdef int enter(self, Location place, str base, list todo) except -1:
        """Record a schema, and append its subschemas."""
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
                    todo.append((location_at(each, place, keyword, number), base))
            elif value is not None:
                todo.append((location_at(value, place, keyword, None), base))
        for keyword in OF_NAMES:
            value = schema.get(keyword)
            if isinstance(value, dict):
                for name, each in value.items():
                    todo.append((location_at(each, place, keyword, name), base))
        return 0

    cdef str own_uri(self, schema):
        """Return the URI that a schema gives itself, without a fragment; "" if none."""
        if not isinstance(schema, dict):
            return ""
        own = (<dict>schema).get("id" if self.draft <= 4 else "$id")
        if not isinstance(own, str) or (self.ref_alone and "$ref" in <dict>schema):
            return ""
        return (<str>own).partition("#")[0]

    cdef str base_of(self, Location where):
        """Return the base URI of references at a location."""
        cdef list uris = []
        cdef str base = ""
        while where is not None:
            uris.append(self.own_uri(where.schema))
            where = where.above
        for own in reversed(uris):
            base = urljoin(base, own) if own else base
        return base

    cdef int note_base(self, schema) except -1:
        """Record that a schema on the path begins another resource."""
        if schema is not self.root and self.own_uri(schema):
            self.has_inner = True
        return 0


cdef member(value, str key):
    """Return the member of an object or an array; None if there is none."""
    if isinstance(value, dict):
        return (<dict>value).get(key)
    if isinstance(value, list) and key.isdecimal() and key.isascii() and len(key) < 10:
        return value[int(key)] if int(key) < len(value) else None
    return None
