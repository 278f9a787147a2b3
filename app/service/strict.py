"""OpenAI's own rules for ``strict: true``, on top of what the engine enforces anyway.

    every object    additionalProperties is false, and every property is required
    root            an object, and no anyOf
    bounds          5,000 properties, 10 levels, 120,000 characters of names, enum and const values,
                    1,000 enum values, 15,000 characters in one enum of more than 250 strings
    not permitted   allOf, not, oneOf, dependentRequired, dependentSchemas, if, then, else,
                    patternProperties

Messages and contexts are OpenAI's: ``In context=('properties', 'a'), ...``.
Cost   linear in the schema; the depth was bounded when the body was read.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ApiError, bad_request

MAX_PROPERTIES = 5_000
MAX_LEVELS = 10
MAX_CHARS = 120_000
MAX_ENUM_VALUES = 1_000
#: an enum of more than LONG_ENUM strings may hold at most LONG_ENUM_CHARS characters
LONG_ENUM, LONG_ENUM_CHARS = 250, 15_000

NOT_PERMITTED = (
    "allOf",
    "not",
    "oneOf",
    "dependentRequired",
    "dependentSchemas",
    "if",
    "then",
    "else",
    "patternProperties",
)

Context = tuple[str, ...]
Schema = dict[str, Any]


def check_strict(schema: Schema, what: str, param: str, code: str | None) -> None:
    """Raises ApiError 400; ``what`` is "function 'f'" or "response_format 'x'"."""
    try:
        _check_root(schema)
        _Walk().walk(schema)
    except _Broken as broken:
        raise broken.as_error(what, param, code) from None


@dataclass
class _Broken(Exception):
    """A rule that is broken, and where; no context: the schema as a whole."""

    text: str
    context: Context | None = None

    def as_error(self, what: str, param: str, code: str | None) -> ApiError:
        place = "" if self.context is None else f"In context={self.context!r}, "
        return bad_request(f"Invalid schema for {what}: {place}{self.text}.", param, code)


def _check_root(schema: Schema) -> None:
    if "anyOf" in schema:
        raise _Broken("'anyOf' is not permitted at the root", ())
    kind = schema.get("type")
    if "$ref" not in schema and kind != "object":
        raise _Broken(f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'")


class _Walk:
    """One pass over a schema, counting as it goes."""

    def __init__(self) -> None:
        self._properties = 0
        self._chars = 0
        self._enum_values = 0

    def walk(self, schema: Schema) -> None:
        stack: list[tuple[Any, Context, int]] = [(schema, (), 1)]
        while stack:
            node, context, level = stack.pop()
            if not isinstance(node, dict):
                continue  # what is no schema at all is the engine's to refuse
            self._check(node, context, level)
            stack.extend(
                (child, (*context, *path), level + deeper)
                for child, path, deeper in _children(node)
            )

    def _check(self, node: Schema, context: Context, level: int) -> None:
        for keyword in NOT_PERMITTED:
            if keyword in node:
                raise _Broken(f"'{keyword}' is not permitted", context)
        if level > MAX_LEVELS:
            raise _Broken(f"schema exceeds the maximum of {MAX_LEVELS} levels of nesting", context)
        if (
            node.get("type") in ("object", ["object", "null"], ["null", "object"])
            or "properties" in node
        ):
            _check_object(node, context)
        self._count(node, context)

    def _count(self, node: Schema, context: Context) -> None:
        names = [
            name for key in ("properties", "$defs", "definitions") for name in _table(node, key)
        ]
        self._properties += len(_table(node, "properties"))
        values = node.get("enum")
        values = values if isinstance(values, list) else []
        texts = [value for value in values if isinstance(value, str)]
        self._enum_values += len(values)
        self._chars += sum(map(len, names)) + sum(len(str(value)) for value in values)
        self._chars += len(str(node["const"])) if "const" in node else 0
        _at_most("properties", MAX_PROPERTIES, self._properties)
        _at_most("enum values", MAX_ENUM_VALUES, self._enum_values)
        _at_most("characters in names and values", MAX_CHARS, self._chars)
        if len(texts) > LONG_ENUM:
            _at_most(
                f"characters in an enum of more than {LONG_ENUM} values",
                LONG_ENUM_CHARS,
                sum(map(len, texts)),
            )


def _check_object(node: Schema, context: Context) -> None:
    if node.get("additionalProperties") is not False:
        raise _Broken("'additionalProperties' is required to be supplied and to be false", context)
    required = node.get("required")
    listed = (
        {name for name in required if isinstance(name, str)}
        if isinstance(required, list)
        else set()
    )
    rule = (
        "'required' is required to be supplied and to be an array including every key in properties"
    )
    for name in _table(node, "properties"):
        if name not in listed:
            raise _Broken(f"{rule}. Missing '{name}'", context)
    for name in sorted(listed.difference(_table(node, "properties"))):
        raise _Broken(f"'required' names '{name}', which is not in properties", context)


def _table(node: Schema, key: str) -> dict[str, Any]:
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def _children(node: Schema) -> Iterator[tuple[Any, Context, int]]:
    """(sub-schema, its path, 1 if it lies a level of nesting deeper)."""
    for name, child in _table(node, "properties").items():
        yield child, ("properties", name), 1
    if "items" in node:
        yield node["items"], ("items",), 1
    for key in ("anyOf", "prefixItems"):
        branches = node.get(key)
        for number, child in enumerate(branches if isinstance(branches, list) else ()):
            yield child, (key, str(number)), 0 if key == "anyOf" else 1
    for key in ("$defs", "definitions"):
        for name, child in _table(node, key).items():
            yield child, (key, name), 0


def _at_most(what: str, maximum: int, got: int) -> None:
    if got > maximum:
        raise _Broken(f"at most {maximum:,} {what} are allowed, got {got:,}")
