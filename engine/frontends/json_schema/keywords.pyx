"""Keywords and the forms of their values: see the header file."""

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Next
from cpython.ref cimport PyObject

from .schema_types cimport ARRAY, BOOLEAN, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Located

from decimal import Decimal

from ...errors import SpecError

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

#: upper bounds from here on bound nothing; lower ones can't be reached
cdef long long COUNTLESS = 1LL << 31
#: digits of a bound or of a listed number, before and behind the point
cdef int DIGITS = 400


cdef int scan(dict schema, KeywordsC* found) except -1:
    cdef PyObject *key
    cdef PyObject *value
    cdef PyObject *slot
    cdef Py_ssize_t at = 0
    cdef int number
    found.seen = 0
    while PyDict_Next(schema, &at, &key, &value):
        slot = PyDict_GetItemWithError(SLOT_OF, <object>key)
        if slot != NULL:
            number = <object>slot
            found.seen |= bit(number)
            found.value[number] = value
    return 0


cdef bint is_reference(schema) except -1:
    """Whether a schema is nothing but a reference to another one."""
    cdef KeywordsC found
    if not isinstance(schema, dict) or PyDict_GetItemWithError(schema, "$ref") == NULL:
        return False
    scan(<dict>schema, &found)
    return found.seen == bit(REFERENCE)


cdef bint is_true(value) except -1:
    """Whether a schema accepts everything at first sight."""
    return value is True or (isinstance(value, dict) and not value)


cdef str escape(str key):
    """One reference token of a JSON pointer (RFC 6901)."""
    if "~" not in key and "/" not in key:
        return key
    return key.replace("~", "~0").replace("/", "~1")


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
    """The bits of the keyword ``type`` where it names one type; 0 otherwise."""
    cdef PyObject* bits
    if not isinstance(value, str):
        return 0
    bits = PyDict_GetItemWithError(TYPES, value)
    return 0 if bits == NULL else <int><object>bits


cdef int types_of(value, Located where) except -1:
    """The bits of the keyword ``type``."""
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
        raise SpecError("a type is named twice", where.at("type"))
    return types


cdef count(KeywordsC* found, int keyword, Located where):
    """A keyword whose value is a whole number >= 0 (also written 3.0); None where there is none, or
    none that bounds.
    """
    cdef str name
    if not has(found, keyword):
        return None
    value = <object>found.value[keyword]
    if type(value) is int and 0 <= value < COUNTLESS:
        return value
    name = NAMES[keyword]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SpecError(f"{name} must be a whole number of at least 0", where.at(name))
    if value < COUNTLESS:
        return value
    if name.startswith("min"):
        raise SpecError(f"no text reaches this {name}", where.at(name))
    return None


cdef decimal(value, Located where, str keyword, tightest):
    """A number of the schema as it is written: an int if it is small, or a Decimal.

    ``tightest`` (min, max or None) decides where readers may take it for the number as written or for
    the double next to it, which for whole numbers beyond 2**53 are not the same.
    """
    if type(value) is int and -(1 << 60) < value < (1 << 60):
        return value
    return decimal_at(value, where.at(keyword), tightest)


cdef decimal_at(value, str pointer, tightest):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise SpecError(f"a number is needed, not {kind_of(value)}", pointer)
    if isinstance(value, int) and value.bit_length() > 4 * DIGITS:
        raise SpecError(f"a number of more than {DIGITS} digits", pointer)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise SpecError("a number must be finite", pointer)
    if number and abs(number.adjusted()) >= DIGITS:
        raise SpecError(f"a number of more than {DIGITS} digits", pointer)
    if tightest is not None and isinstance(value, float) and abs(value) >= 2**53:
        number = tightest(number, Decimal(value))
    return number


cdef set names_of(value, str keyword, Located where):
    """The value of ``required``, or of a member of ``dependentRequired`` (no keyword)."""
    cdef set names
    if not isinstance(value, list) or not all([isinstance(name, str) for name in <list>value]):
        raise SpecError(f"{keyword or 'dependentRequired'} must be an array of strings", at(where, keyword))
    names = set(<list>value)
    if len(names) < len(<list>value):
        raise SpecError("a name is required twice", at(where, keyword))
    return names


cdef str at(Located where, str keyword):
    return where.at(keyword) if keyword else where.pointer()
