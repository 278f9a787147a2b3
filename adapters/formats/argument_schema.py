"""Schemas of a tool's arguments: always objects.

A call's arguments are a JSON object on every wire, so a tool's schema is narrowed to objects. A
schema that allows only objects stays unchanged; otherwise ``"type": "object"`` is added, or
replaces a list of types. A schema that no object satisfies is refused; the error names the keyword
that excludes objects.

Only direct statements count: type, const, enum, and those behind $ref, anyOf, oneOf and allOf. The
engine refuses contradictions that lie deeper. Branches are never dropped, so pointers stay those of
the request.

Cost    linear: each part of the schema is visited once, whatever its references do.
"""

from collections.abc import Collection, Mapping
from typing import Any

from .location import split_pointer
from .output_spec import FormatError

#: nested $ref and branches that are followed. Deeper parts count as unknown, which is safe: the
#: type is added, and the engine decides. Real schemas nest 1 or 2; it bounds the recursion
_DEPTH = 16
#: of objects in arguments (sorted_properties): as deep as the schema is read
ALL_LEVELS = _DEPTH
TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))

NO_ARGUMENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}
#: keywords with schemas of the same value: in a list, alone, by name
_BRANCHES = ("allOf", "anyOf", "oneOf")
_CONDITIONS = ("if", "then", "else")
_DEPENDENCIES = ("dependentSchemas", "dependencies")
#: keywords with schemas by name, beside ``properties``; with one schema, or a list
_BY_NAME = frozenset((*_DEPENDENCIES, "$defs", "definitions", "patternProperties"))
_NESTED = frozenset(
    (
        *(*_BRANCHES, *_CONDITIONS, "items", "prefixItems", "additionalItems", "contains"),
        *("additionalProperties", "unevaluatedProperties"),
    )
)


def argument_schema(schema: Any, param: str) -> dict[str, Any]:
    """Return ``schema`` narrowed to objects; {} means no arguments, as with OpenAI.

    Raises:
        FormatError: ``schema`` is not a schema, or no object satisfies it.
    """
    if not isinstance(schema, Mapping):
        raise FormatError("the parameters must be a JSON Schema object", param)
    if not schema:
        return dict(NO_ARGUMENTS)
    if not _names_types(schema.get("type", "object")):
        return dict(schema)  # refused by the engine, which names the place
    reading = _Objects(schema)
    place = reading.excluded(schema, _DEPTH)
    if place is not None:
        raise FormatError("arguments are always an object, which this excludes", param, place)
    if reading.certain(schema, _DEPTH):
        return dict(schema)
    return {"type": "object", **schema} | {"type": "object"}


def sorted_properties(schema: dict[str, Any], levels: int) -> dict[str, Any]:
    """Return a schema with the properties of objects sorted by name, down to a level of nesting;
    1: those of the schema itself, its branches and their definitions. Answers follow the order of
    the schema.
    """
    return _sorted(schema, levels, _DEPTH, _own_parts(schema)) if levels else schema


def _sorted(schema: Any, levels: int, depth: int, own: Collection[int]) -> Any:
    """``own``: the parts that describe the arguments themselves, wherever they stand."""
    if not isinstance(schema, dict) or not levels or not depth:
        return schema

    def below(part: Any) -> Any:
        return _sorted(part, levels if id(part) in own else levels - 1, depth - 1, own)

    made = dict(schema)
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):
            made[key] = {name: below(value[name]) for name in sorted(value)}
        elif key in _BY_NAME and isinstance(value, dict):
            made[key] = {name: below(each) for name, each in value.items()}
        elif key in _NESTED and isinstance(value, list):
            made[key] = [below(each) for each in value]
        elif key in _NESTED:
            made[key] = below(value)
    return made


def _own_parts(root: Mapping[str, Any]) -> set[int]:
    """Return the identities of the parts that describe the same value as the root: the root, its
    branches, and the targets of their references.
    """
    found = set[int]()
    waiting: list[Any] = [root]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping) or id(part) in found:
            continue
        found.add(id(part))
        waiting += [each for key in _BRANCHES for each in _branches(part, key)]
        waiting += [part.get(key) for key in _CONDITIONS]
        waiting += [each for key in _DEPENDENCIES for each in _values(part.get(key))]
        waiting.append(_target(root, part))
    return found


def _values(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, Mapping) else []


class _Objects:
    """Facts about the parts of one schema, by identity; None or False if unknown."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._certain: dict[int, bool] = {}
        self._excluded: dict[int, str | None] = {}

    def certain(self, schema: Any, depth: int) -> bool:
        """Whether the schema allows only objects."""
        if not isinstance(schema, Mapping) or not depth:
            return False
        key = id(schema)
        if key not in self._certain:
            self._certain[key] = False  # what a cycle meets
            self._certain[key] = self._says_object(schema, depth - 1)
        return self._certain[key]

    def _says_object(self, schema: Mapping[str, Any], depth: int) -> bool:
        if schema.get("type") in ("object", ["object"]):
            return True
        if self.certain(_target(self._root, schema), depth):
            return True
        if any(self.certain(part, depth) for part in _branches(schema, "allOf")):
            return True
        choices = [_branches(schema, key) for key in ("anyOf", "oneOf")]
        return any(c and all(self.certain(part, depth) for part in c) for c in choices)

    def excluded(self, schema: Any, depth: int) -> str | None:
        """Return the pointer to the keyword that excludes objects; None: there is none."""
        if schema is False:
            return ""
        if not isinstance(schema, Mapping) or not depth:
            return None
        key = id(schema)
        if key not in self._excluded:
            self._excluded[key] = None  # what a cycle meets
            self._excluded[key] = self._excluder(schema, depth - 1)
        return self._excluded[key]

    def _excluder(self, schema: Mapping[str, Any], depth: int) -> str | None:
        own = _own_exclusion(schema)
        if own is not None:
            return f"/{own}"
        if self.excluded(_target(self._root, schema), depth) is not None:
            return "/$ref"
        for number, part in enumerate(_branches(schema, "allOf")):
            place = self.excluded(part, depth)
            if place is not None:
                return f"/allOf/{number}{place}"
        for key in ("anyOf", "oneOf"):
            parts = _branches(schema, key)
            if parts and all(self.excluded(part, depth) is not None for part in parts):
                return f"/{key}"
        return None


def _target(root: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Return the target of a local $ref; None: there is none."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return None
    found: Any = root
    for key in split_pointer(reference):
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _branches(schema: Mapping[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _names_types(value: Any) -> bool:
    """Whether the value is a valid ``type``: a type, or a list of types."""
    names = [value] if isinstance(value, str) else value
    return isinstance(names, list) and all(isinstance(n, str) and n in TYPES for n in names)


def _own_exclusion(schema: Mapping[str, Any]) -> str | None:
    """Return the schema's own keyword that excludes objects, if any."""
    types = schema.get("type", "object")
    if _names_types(types) and types != "object" and "object" not in types:
        return "type"
    if "const" in schema and not isinstance(schema["const"], Mapping):
        return "const"
    values = schema.get("enum")
    if isinstance(values, list) and not any(isinstance(value, Mapping) for value in values):
        return "enum"
    return None
