"""The keywords of JSON Schema: what each applies to, and whether it is enforced, refused or only an annotation.

Unknown keywords are annotations, as the standard says. A keyword that applies to types which a place does not allow
constrains nothing there and is passed over.
"""

from typing import Any

from ...errors import SpecError, UnsupportedSchema

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")

#: keyword -> the types that it constrains
APPLIES = {
    **dict.fromkeys(("properties", "required", "additionalProperties"), {"object"}),
    **dict.fromkeys(("items", "prefixItems", "minItems", "maxItems"), {"array"}),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), {"string"}),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), {"number", "integer"}
    ),
}

#: constraints that are refused wherever they could mean something
REFUSED = {
    **dict.fromkeys(("patternProperties", "propertyNames", "minProperties", "maxProperties"), {"object"}),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "dependencies"), {"object"}),
    "unevaluatedProperties": {"object"},
    **dict.fromkeys(("uniqueItems", "contains", "minContains", "maxContains"), {"array"}),
    **dict.fromkeys(("unevaluatedItems", "additionalItems"), {"array"}),
    "multipleOf": {"number", "integer"},
    **dict.fromkeys(("not", "if", "then", "else", "$dynamicRef", "$recursiveRef"), set(TYPES)),
}

#: what a place says beside its types
COMPOSED = ("$ref", "anyOf", "allOf", "oneOf")

VALIDATING = {*APPLIES, *REFUSED, *COMPOSED, "type", "enum", "const"}


def validating(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without annotations and definitions."""
    return {key: value for key, value in schema.items() if key in VALIDATING}


def is_vacuous(schema: dict[str, Any], keyword: str) -> bool:
    """Whether a keyword that would be refused provably constrains nothing here."""
    value = schema[keyword]
    if keyword == "uniqueItems":
        return value is False
    if keyword == "minProperties":
        required = schema.get("required")
        listed = len(set(required)) if isinstance(required, list) else 0
        return isinstance(value, int) and value <= listed
    if keyword in ("patternProperties", "dependentRequired", "dependentSchemas", "dependencies"):
        return value == {}
    if keyword in ("propertyNames", "unevaluatedProperties", "unevaluatedItems"):
        return value is True or value == {}
    if keyword in ("minContains", "maxContains"):
        return "contains" not in schema
    if keyword == "additionalItems":
        return not isinstance(schema.get("items"), list)
    if keyword == "if":
        return "then" not in schema and "else" not in schema
    if keyword in ("then", "else"):
        return "if" not in schema
    if keyword == "multipleOf":
        return value == 1 and schema.get("type") == "integer"
    return keyword == "not" and value is False


def refuse_unsupported(schema: dict[str, Any], types: set[str], pointer: str) -> None:
    """
    Raises:
        UnsupportedSchema: the first keyword of the place that applies and can't be enforced.
    """
    for keyword in schema:
        if keyword in REFUSED and REFUSED[keyword] & types and not is_vacuous(schema, keyword):
            raise UnsupportedSchema(f"{pointer}/{escape(keyword)}", keyword)


def escape(key: str) -> str:
    """One reference token of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")


def types_of(schema: dict[str, Any], pointer: str) -> set[str]:
    """The types a place allows, without "integer" where "number" is."""
    value = schema.get("type", list(TYPES))
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names:
        raise SpecError("type must be a name or a list of names", f"{pointer}/type")
    for name in names:
        if name not in TYPES:
            raise SpecError(f"unknown type {name!r}", f"{pointer}/type")
    found = set(names)
    return found - {"integer"} if "number" in found else found


def count(schema: dict[str, Any], keyword: str, default: int | None, pointer: str) -> int | None:
    """A keyword whose value is a whole number >= 0 (also written 3.0)."""
    if keyword not in schema:
        return default
    value = schema[keyword]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SpecError(f"{keyword} must be a whole number of at least 0", f"{pointer}/{keyword}")
    if value >= 1 << 31:
        # beyond every text; an upper bound of that size bounds nothing
        value = None if keyword.startswith("max") else (1 << 31) - 1
    return value
