"""Keywords of JSON Schema that xgrammar does not enforce.

It accepts these schemas and drops or weakens the keyword (llguidance refuses what it cannot
enforce). The lists name keywords, not exact cases: one of them may be enforced in a simple schema,
but no rule says in which.

Seen with   xgrammar 0.2.8, on JSON-Schema-Test-Suite 2020-12: each file in which it accepts
            instances that the standard rejects.
"""

from collections.abc import Iterator
from typing import Any

from adapters.formats import join_pointer

#: keywords that are dropped, or that count only where the schema has no other
DROPPED = frozenset(
    (
        *("contains", "minContains", "maxContains", "uniqueItems", "multipleOf", "not", "if"),
        *("then", "else", "dependentRequired", "dependentSchemas", "dependencies"),
        *("unevaluatedItems", "unevaluatedProperties", "propertyNames", "patternProperties"),
        *("$anchor", "$dynamicRef", "$recursiveRef"),
    )
)
#: keywords by the type that they bound; without that ``type`` beside them they are dropped
TYPED = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
}
#: groups of string keywords, of which only one is enforced at a time
GROUPS = (("format",), ("pattern",), ("minLength", "maxLength"))
FORMATS = frozenset(
    (
        *("date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "json-pointer"),
        *("relative-json-pointer", "time", "uri", "uri-reference", "uri-template", "uuid"),
    )
)
#: keywords whose value is a schema, an array of them, or an object of them
_ONE = ("additionalProperties", "items", "contains", "not", "if", "then", "else", "propertyNames")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


def unenforced_keywords(schema: Any) -> list[tuple[str, str]]:
    """Return (pointer, keyword) of what xgrammar does not enforce of an enforceable schema."""
    return [(f"{pointer}/{keyword}", keyword) for pointer, keyword in _walk(schema, "")]


def _walk(schema: Any, pointer: str) -> Iterator[tuple[str, str]]:
    if not isinstance(schema, dict):
        return
    for keyword in _dropped_in(schema):
        yield pointer, keyword
    for keyword in _ONE:
        if keyword in schema:
            yield from _walk(schema[keyword], f"{pointer}/{keyword}")
    for keyword in _MANY:
        for number, child in enumerate(_listed(schema.get(keyword))):
            yield from _walk(child, f"{pointer}/{keyword}/{number}")
    for keyword in _NAMED:
        named = schema.get(keyword)
        for name, child in named.items() if isinstance(named, dict) else ():
            yield from _walk(child, pointer + join_pointer((keyword, name)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _dropped_in(schema: dict[str, Any]) -> Iterator[str]:
    """Return the unenforced keywords of one schema without its subschemas."""
    yield from (keyword for keyword in schema if keyword in DROPPED)
    if len(_listed(schema.get("allOf"))) > 1:
        yield "allOf"
    # overlapping branches are accepted, as in anyOf
    if "oneOf" in schema:
        yield "oneOf"
    reference = schema.get("$ref")
    if isinstance(reference, str) and (not reference.startswith("#") or "$id" in schema):
        yield "$ref"
    if "$ref" in schema:
        # keywords beside a reference are dropped
        yield from (keyword for words in TYPED.values() for keyword in words if keyword in schema)
    else:
        yield from _without_type(schema)
    if "format" in schema and schema["format"] not in FORMATS:
        yield "format"
    groups = [group for group in GROUPS if any(keyword in schema for keyword in group)]
    for group in groups[1:]:
        yield from (keyword for keyword in group if keyword in schema)


def _without_type(schema: dict[str, Any]) -> Iterator[str]:
    types = schema.get("type")
    named = {types} if isinstance(types, str) else set(_listed(types))
    if "integer" in named:
        named.add("number")
    if "type" not in schema and "properties" in schema:
        named.add("object")
    for name, words in TYPED.items():
        if name not in named:
            yield from (keyword for keyword in words if keyword in schema)
