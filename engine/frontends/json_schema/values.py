"""Values of enum and const: how they are written, and whether their sibling keywords allow them.

``accepts`` is an exact evaluator of the keywords that are enforced; it follows local references through ``resolve``.
"""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from ...errors import UnsupportedSchema
from ...ir import Node
from .keywords import APPLIES, REFUSED, is_vacuous, types_of
from .text import Text

Resolve = Callable[[str, str], tuple[Any, str]]


def build_value(text: Text, value: Any) -> Node:
    """A JSON value: strings in any spelling, numbers as Python writes them, objects in the order of their keys."""
    g = text.grammar
    if isinstance(value, str):
        return text.literal(value)
    if value is None or isinstance(value, bool):
        return g.bytes({None: b"null", True: b"true", False: b"false"}[value])
    if isinstance(value, int | float):
        return g.bytes(repr(value).encode())
    if isinstance(value, list):
        return _bracketed(text, b"[", [build_value(text, item) for item in value], b"]")
    members = [g.seq(text.literal(key), text.colon(), build_value(text, item)) for key, item in value.items()]
    return _bracketed(text, b"{", members, b"}")


def _bracketed(text: Text, begin: bytes, parts: list[Node], end: bytes) -> Node:
    g = text.grammar
    inside: list[Node] = []
    for part in parts:
        inside += [text.comma(), part] if inside else [part]
    if inside:
        inside.append(text.space())
    return g.seq(g.bytes(begin), text.space(), *inside, g.bytes(end))


def type_of(value: Any) -> set[str]:
    if value is None:
        return {"null"}
    if isinstance(value, bool):
        return {"boolean"}
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return {"integer", "number"}
    for kind, name in ((float, "number"), (str, "string"), (list, "array")):
        if isinstance(value, kind):
            return {name}
    return {"object"}


def equal(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    return type_of(a) & type_of(b) != set() and a == b


def accepts(schema: Any, value: Any, pointer: str, resolve: Resolve) -> bool:
    """Whether the schema allows the value.

    Raises:
        UnsupportedSchema: a keyword decides that can't be evaluated here.
    """
    if isinstance(schema, bool):
        return schema
    types = type_of(value)
    for keyword in schema:
        if keyword in REFUSED and REFUSED[keyword] & types and not is_vacuous(schema, keyword):
            raise UnsupportedSchema(f"{pointer}/{keyword}", keyword)
    if "type" in schema and not types_of(schema, pointer) & types:
        return False
    return _composed(schema, value, pointer, resolve) and all(
        _keyword(keyword, schema, value, pointer, resolve)
        for keyword in schema
        if keyword in APPLIES and APPLIES[keyword] & types
    )


def _composed(schema: dict[str, Any], value: Any, pointer: str, resolve: Resolve) -> bool:
    if "const" in schema and not equal(schema["const"], value):
        return False
    if "enum" in schema and not any(equal(item, value) for item in schema["enum"]):
        return False
    if "$ref" in schema:
        target, place = resolve(schema["$ref"], f"{pointer}/$ref")
        if not accepts(target, value, place, resolve):
            return False
    votes = {
        key: [accepts(s, value, f"{pointer}/{key}/{n}", resolve) for n, s in enumerate(schema[key])]
        for key in ("anyOf", "allOf", "oneOf")
        if key in schema
    }
    return any(votes.get("anyOf", [True])) and all(votes.get("allOf", [])) and sum(votes.get("oneOf", [True])) == 1


def _keyword(keyword: str, schema: dict[str, Any], value: Any, pointer: str, resolve: Resolve) -> bool:
    bound = schema[keyword]
    if keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        return len(value) >= bound if keyword.startswith("min") else len(value) <= bound
    if keyword in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        return _within(keyword, Decimal(repr(value)), Decimal(repr(bound)))
    if keyword == "required":
        return all(name in value for name in bound)
    if keyword in ("pattern", "format"):
        # what a pattern matches is decided by its automaton only; Python's dialect differs
        raise UnsupportedSchema(f"{pointer}/{keyword}", keyword, f"{keyword} beside enum or const can't be enforced")
    if keyword == "properties":
        return all(
            accepts(sub, value[name], f"{pointer}/properties/{name}", resolve)
            for name, sub in bound.items()
            if name in value
        )
    if keyword == "additionalProperties":
        rest = [item for name, item in value.items() if name not in schema.get("properties", {})]
        return all(accepts(bound, item, f"{pointer}/{keyword}", resolve) for item in rest)
    if keyword == "prefixItems":
        return all(
            accepts(sub, item, f"{pointer}/prefixItems/{n}", resolve)
            for n, (sub, item) in enumerate(zip(bound, value, strict=False))
        )
    rest = value[len(schema.get("prefixItems", ())) :]
    return all(accepts(bound, item, f"{pointer}/items", resolve) for item in rest)


def _within(keyword: str, value: Decimal, bound: Decimal) -> bool:
    if keyword == "minimum":
        return value >= bound
    if keyword == "maximum":
        return value <= bound
    return value > bound if keyword == "exclusiveMinimum" else value < bound


def is_text(value: Any) -> bool:
    """Whether all strings inside are text, i.e. hold no lone surrogate."""
    if isinstance(value, str):
        return not re.search("[\ud800-\udfff]", value)
    if isinstance(value, list):
        return all(map(is_text, value))
    if isinstance(value, dict):
        return all(is_text(key) and is_text(item) for key, item in value.items())
    return not isinstance(value, float) or abs(value) != float("inf") and value == value
