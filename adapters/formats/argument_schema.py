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

from collections.abc import Mapping
from typing import Any

from .location import split_pointer
from .output_spec import FormatError

#: nested $ref and branches that are followed. Deeper parts count as unknown, which is safe: the
#: type is added, and the engine decides. Real schemas nest 1 or 2; it bounds the recursion
_DEPTH = 16
TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))

NO_ARGUMENTS: Mapping[str, Any] = {
    "type": "object",
    "properties": {},
    "additionalProperties": False,
}


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
        if self.certain(self._target(schema), depth):
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
        if self.excluded(self._target(schema), depth) is not None:
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

    def _target(self, schema: Mapping[str, Any]) -> Any:
        """Return the target of a local $ref; None: there is none."""
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found: Any = self._root
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
