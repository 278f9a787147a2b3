"""OpenAI's own rules for ``strict: true``, on top of what the engine enforces anyway.

    every object    additionalProperties is false, and every property is required
    every array     has items
    every schema    has a type, values, anyOf, or a reference to a definition
    root            an object without anyOf
    bounds          5,000 properties, 10 levels, 120,000 characters of names, enum and const values,
                    1,000 enum values, 15,000 characters in one enum of more than 250 strings
    not permitted   constraining keywords that OpenAI does not list as supported, and formats other
                    than OpenAI's nine

STRICT_PROFILE=openai adds these rules; ``extended`` adds none. Messages and contexts are OpenAI's
if known, followed by our JSON pointer:
``In context=('properties', 'a'), 'minLength' is not permitted (at /properties/a).``

Cost   linear in the schema; the depth was bounded when the body was read.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from adapters.formats import join_pointer

from ..errors import bad_request

MAX_PROPERTIES = 5_000
#: the root is level 0, as in OpenAI's clients; anyOf and definitions add no level
MAX_LEVELS = 10
MAX_CHARS = 120_000
MAX_ENUM_VALUES = 1_000
#: an enum of more than LONG_ENUM strings may hold at most LONG_ENUM_CHARS characters
LONG_ENUM, LONG_ENUM_CHARS = 250, 15_000

FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid")
)
NOT_PERMITTED = (
    *("allOf", "not", "oneOf", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "dependencies"),
    *("patternProperties", "propertyNames", "minProperties", "maxProperties"),
    *("unevaluatedProperties", "unevaluatedItems", "prefixItems", "additionalItems"),
    *("contains", "minContains", "maxContains", "uniqueItems"),
    *("minLength", "maxLength", "$dynamicRef", "$recursiveRef"),
)
#: a schema without any of these accepts any value
SAYING = ("type", "anyOf", "$ref", "enum", "const")
#: maximum references followed to find the root's type
MAX_STEPS = 16

Context = tuple[str, ...]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule and its location; no context: the schema as a whole."""

    text: str
    context: Context | None = None

    @property
    def pointer(self) -> str:
        """The location as a JSON pointer."""
        return join_pointer(self.context or ())

    @property
    def message(self) -> str:
        place = "" if self.context is None else f"In context={self.context!r}, "
        return f"{place}{self.text}" + (f" (at {self.pointer})" if self.context else "")


def check_strict(schema: Schema, what: str, param: str, code: str) -> None:
    """Raise ApiError 400 for the first broken rule.

    ``what`` is "function 'f'" or "response_format 'x'".
    """
    for violation in violations(schema):
        raise bad_request(f"Invalid schema for {what}: {violation.message}.", param, code)


def violations(schema: Schema) -> Iterator[Violation]:
    """Return all broken rules: first those of the root, last those on totals."""
    if "anyOf" in schema:
        yield Violation("'anyOf' is not permitted at the root", ())
    kind = _root_type(schema)
    if kind != "object":
        yield Violation(
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'"
        )
    counts = _Counts()
    for node, context, level in _walk(schema):
        counts.add(node, level)
        yield from _broken(node, context)
    yield from counts.exceeded()


def _root_type(schema: Schema) -> Any:
    """Return the type of the root, or of the definition that it refers to."""
    node: Any = schema
    for _ in range(MAX_STEPS):
        if not isinstance(node, dict) or "type" in node or "$ref" not in node:
            break
        place, _, name = str(node["$ref"]).removeprefix("#/").partition("/")
        node = _table(schema, place).get(name)
    return node.get("type") if isinstance(node, dict) else None


def _walk(schema: Schema) -> Iterator[tuple[Schema, Context, int]]:
    """Yield every schema with its context and level, in document order."""
    stack: list[tuple[Any, Context, int]] = [(schema, (), 0)]
    while stack:
        node, context, level = stack.pop()
        if not isinstance(node, dict) and node is not True:
            continue  # the engine refuses invalid and unsatisfiable schemas
        node = {} if node is True else node
        yield node, context, level
        children = [(child, (*context, *path), level + more) for child, path, more in _below(node)]
        stack.extend(reversed(children))


def _below(node: Schema) -> Iterator[tuple[Any, Context, int]]:
    """Yield (subschema, its path, 1 if it is nested a level deeper, else 0)."""
    for name, child in _table(node, "properties").items():
        yield child, ("properties", name), 1
    if "items" in node:
        yield node["items"], ("items",), 1
    branches = node.get("anyOf")
    for number, child in enumerate(branches if isinstance(branches, list) else ()):
        yield child, ("anyOf", str(number)), 0
    for key in ("$defs", "definitions"):
        for name, child in _table(node, key).items():
            yield child, (key, name), 0


# -- one schema ------------------------------------------------------------------------------------


def _broken(node: Schema, context: Context) -> Iterator[Violation]:
    for keyword in NOT_PERMITTED:
        if keyword in node:
            yield Violation(f"'{keyword}' is not permitted", context)
    if not any(keyword in node for keyword in SAYING):
        yield Violation("schema must have a 'type' key", context)
    given = node.get("format")
    if isinstance(given, str) and given not in FORMATS:
        yield Violation(f"'{given}' is not a valid format", context)
    if not _is_definition(node.get("$ref", "#")):
        text = "reference can only point to definitions defined at the top level of the schema"
        yield Violation(text, context)
    types = _types(node)
    if "object" in types or "properties" in node:
        yield from _broken_object(node, context)
    if "array" in types and not isinstance(node.get("items"), dict | bool):
        step = ("type", str(types.index("array"))) if isinstance(node["type"], list) else ()
        yield Violation("array schema missing items", (*context, *step))


def _is_definition(reference: Any) -> bool:
    """Whether a reference points to a definition or the root."""
    if not isinstance(reference, str) or reference == "#":
        return True  # not a string: the engine refuses it
    place, _, name = reference.removeprefix("#/").partition("/")
    return reference.startswith("#/") and place in ("$defs", "definitions") and "/" not in name


def _broken_object(node: Schema, context: Context) -> Iterator[Violation]:
    if node.get("additionalProperties") is not False:
        text = "'additionalProperties' is required to be supplied and to be false"
        yield Violation(text, context)
    given = node.get("required")
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    required, properties = dict.fromkeys(names), _table(node, "properties")
    for name in properties:
        if name not in required:
            text = "'required' is required to be supplied and to be an array including every key in"
            yield Violation(f"{text} properties. Missing '{name}'", context)
            break  # like OpenAI, name only the first one
    for name in required:
        if name not in properties:
            yield Violation(f"'required' names '{name}', which is not in properties", context)


def _types(node: Schema) -> list[str]:
    given = node.get("type")
    return [given] if isinstance(given, str) else given if isinstance(given, list) else []


def _table(node: Schema, key: str) -> dict[str, Any]:
    value = node.get(key)
    return value if isinstance(value, dict) else {}


# -- bounds ----------------------------------------------------------------------------------------


class _Counts:
    """Totals of a schema that have bounds, and its longest enum."""

    def __init__(self) -> None:
        self._properties = self._levels = self._chars = self._enum_values = self._long_enum = 0

    def add(self, node: Schema, level: int) -> None:
        tables = [_table(node, key) for key in ("properties", "$defs", "definitions")]
        given = node.get("enum")
        values = given if isinstance(given, list) else []
        self._levels = max(self._levels, level)
        self._properties += len(tables[0])
        self._enum_values += len(values)
        self._chars += sum(len(name) for table in tables for name in table) + _chars(values)
        self._chars += _chars([node["const"]]) if "const" in node else 0
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) > LONG_ENUM:
            self._long_enum = max(self._long_enum, _chars(texts))

    def exceeded(self) -> Iterator[Violation]:
        way_out = "or use 'strict: false' to opt out of structured outputs"
        if self._levels > MAX_LEVELS:
            yield Violation(f"{self._levels} levels of nesting exceeds limit of {MAX_LEVELS}")
        if self._properties > MAX_PROPERTIES:
            yield Violation(f"{self._properties} parameters exceeds limit of {MAX_PROPERTIES}")
        if self._enum_values > MAX_ENUM_VALUES:
            yield Violation(
                f"Expected at most {MAX_ENUM_VALUES} enum values in total within a schema when "
                f"using structured outputs, but received {self._enum_values}. Consider reducing "
                f"the number of enums, {way_out}"
            )
        if self._long_enum > LONG_ENUM_CHARS:
            yield Violation(
                f"Expected at most {LONG_ENUM_CHARS} characters in an enum of more than "
                f"{LONG_ENUM} strings, but received {self._long_enum}"
            )
        if self._chars > MAX_CHARS:
            yield Violation(
                f"Expected at most {MAX_CHARS} total string length for names, enum values, and "
                "constant values in a schema when using structured outputs, but received "
                f"{self._chars}. Consider reducing the number/length of names, {way_out}"
            )


def _chars(values: Iterable[Any]) -> int:
    """Return the characters of a string, or of another value as JSON."""
    return sum(len(v if isinstance(v, str) else json.dumps(v)) for v in values)
