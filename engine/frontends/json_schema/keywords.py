"""The keywords of JSON Schema: what each constrains, and the forms their values must have.

Unknown keywords are annotations, as the standard says. A keyword that constrains types which a
place does not allow constrains nothing there and is passed over, but its value must be well-formed
all the same.
"""

from decimal import Decimal
from typing import Any

from ...errors import SpecError
from .shapes import ALL, ARRAY, NUMBER, OBJECT, TYPES

OF_STRINGS = frozenset(("minLength", "maxLength", "pattern", "format"))
OF_NUMBERS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
OF_ARRAYS = frozenset(("items", "prefixItems", "minItems", "maxItems"))
OF_OBJECTS = frozenset(
    ("properties", "required", "additionalProperties", "minProperties", "maxProperties")
)
COMPOSED = frozenset(("$ref", "allOf", "anyOf", "oneOf", "not"))

#: constraints that are refused wherever they mean something, with the types they constrain
REFUSED = {
    **dict.fromkeys(
        ("patternProperties", "propertyNames", "dependentRequired", "dependentSchemas"), OBJECT
    ),
    **dict.fromkeys(("dependencies", "unevaluatedProperties"), OBJECT),
    **dict.fromkeys(("uniqueItems", "contains", "unevaluatedItems"), ARRAY),
    "multipleOf": NUMBER,
    **dict.fromkeys(("if", "$dynamicRef", "$recursiveRef"), ALL),
}

#: all that may make a schema say more than the $ref in it
SAYS_MORE = frozenset(
    (
        *OF_STRINGS,
        *OF_NUMBERS,
        *OF_ARRAYS,
        *OF_OBJECTS,
        *COMPOSED,
        *REFUSED,
        "type",
        "enum",
        "const",
    )
) - {"$ref"} | {"$id", "id"}

#: upper bounds from here on bound nothing; lower ones can't be reached
COUNTLESS = 1 << 31
#: digits of a bound or of a listed number, before and behind the point
DIGITS = 400


def is_vacuous(schema: dict[str, Any], keyword: str) -> bool:
    """Whether a keyword that would be refused provably constrains nothing here."""
    value = schema[keyword]
    if keyword == "uniqueItems":
        return value is False
    if keyword in ("patternProperties", "dependentRequired", "dependentSchemas", "dependencies"):
        return bool(value == {})
    if keyword in ("propertyNames", "unevaluatedProperties", "unevaluatedItems"):
        return is_true(value)
    if keyword == "contains":
        return schema.get("minContains") == 0 and "maxContains" not in schema
    return keyword == "if" and "then" not in schema and "else" not in schema


def is_reference(schema: Any) -> bool:
    """Whether a schema is nothing but a reference to another one."""
    return isinstance(schema, dict) and "$ref" in schema and SAYS_MORE.isdisjoint(schema)


def is_true(value: Any) -> bool:
    """Whether a schema accepts everything at first sight."""
    return value is True or (isinstance(value, dict) and not value)


def escape(key: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def kind_of(value: Any) -> str:
    names = {
        "list": "an array",
        "dict": "an object",
        "str": "a string",
        "NoneType": "null",
        "bool": "a boolean",
    }
    return names.get(type(value).__name__, "a number")


def types_of(value: Any, pointer: str) -> int:
    """The bits of the keyword ``type``."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise SpecError("type must be a name or a list of names", f"{pointer}/type")
    types = 0
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            raise SpecError(f"unknown type {name!r}", f"{pointer}/type")
        types |= TYPES[name]
    if len(set(names)) < len(names):
        raise SpecError("a type is named twice", f"{pointer}/type")
    return types


def count(schema: dict[str, Any], keyword: str, pointer: str) -> int | None:
    """A keyword whose value is a whole number >= 0 (also written 3.0); None where there is none, or
    none that bounds.
    """
    if keyword not in schema:
        return None
    value = schema[keyword]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SpecError(f"{keyword} must be a whole number of at least 0", f"{pointer}/{keyword}")
    if value < COUNTLESS:
        return value
    if keyword.startswith("min"):
        raise SpecError(f"no text reaches this {keyword}", f"{pointer}/{keyword}")
    return None


def decimal(value: Any, pointer: str, *, tightest: Any = None) -> Decimal:
    """A number of the schema as it is written.

    ``tightest`` (min or max) decides where readers may take it for the number as written or for the
    double next to it, which for whole numbers beyond 2**53 are not the same.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SpecError(f"a number is needed, not {kind_of(value)}", pointer)
    if isinstance(value, int) and value.bit_length() > 4 * DIGITS:
        raise SpecError(f"a number of more than {DIGITS} digits", pointer)
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite():
        raise SpecError("a number must be finite", pointer)
    if number and abs(number.adjusted()) > DIGITS:
        raise SpecError(f"a number of more than {DIGITS} digits", pointer)
    if tightest is not None and isinstance(value, float) and abs(value) >= 2**53:
        number = tightest(number, Decimal(value))
    return number


def names_of(value: Any, pointer: str) -> tuple[str, ...]:
    """The value of ``required``."""
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise SpecError("required must be an array of strings", pointer)
    if len(set(value)) < len(value):
        raise SpecError("a name is required twice", pointer)
    return tuple(value)
