"""Random JSON Schemas (Draft 2020-12): every keyword, beside and inside every other, from a seed.

Few names, patterns and numbers, so that keywords meet. Most counts are small; some are large, and
many of them in a heavy schema, because costs hide there. References lead to `$defs` or to the root.
One that applies to the same value leads only to a later definition, so no schema refers to itself
without a value between.

Shares no code with the engine, nor with the makers of tests/conformance and tests/fuzz.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

Schema = Any

MOST_DEPTH = 4
#: share of draws that are large, the same in heavy schemas, and the share of these
LARGE, LARGE_IF_HEAVY, HEAVY = 0.03, 0.3, 0.1
NAMES = ("a", "b", "id", "name", "tags", "k1", "k2", "x-y", "é")
TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
#: pattern -> texts that it finds; read alike by ECMA-262 and by Python's `re`, but for `$`
PATTERNS: dict[str, tuple[str, ...]] = {
    "^a": ("a", "ab", "a1"),
    "b": ("b", "ab", "cba"),
    "^k[0-9]$": ("k1", "k2", "k7"),
    "^[a-c]{1,3}$": ("a", "bc", "cab"),
    "^[a-z]+(-[a-z]+)*$": ("x", "x-y", "name"),
    "[^a]": ("b", "ba", "id"),
    "^$": ("",),
    "^(id|name)$": ("id", "name"),
    "^(?!x-)": ("a", "id", "y"),
    "^[A-Z][a-z]{0,4}$": ("A", "Bob", "Alice"),
    "^[0-9]{3}-[0-9]{4}$": ("555-1234", "000-0000"),
    "e$": ("e", "name", "blue"),
}
FORMATS: dict[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "1999-12-31"),
    "time": ("12:30:00Z", "23:59:59Z"),
    "date-time": ("2024-02-29T12:30:00Z",),
    "ipv4": ("10.0.0.1", "192.168.1.254"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "email": ("ann@example.com", "b.c@example.org"),
    "uri": ("https://example.com/a", "urn:x:y"),
    "hostname": ("example.com", "a-b.example.org"),
    "something-unknown": ("a", ""),
}
LETTERS = ("a", "b", "c", "d", "e", "k")
WORDS = ("", "a", "b", "ab", "x-y", "blue", "Alice", "555-1234", "é", "long text of words")
NUMBERS = (0, 1, 2, 3, 5, 10, -1, -7, 0.5, 1.5, 2.25, -2.5, 100)
DIVISORS = (1, 2, 3, 5, 10, 0.5, 0.25, 0.1, 0.01, 1.5)
LARGE_DIVISORS = (97, 997, 9973, 19997, 123457, 0.001, 0.0003)
LARGE_COUNTS = (7, 12, 40, 100, 1000, 20000)
ROOT, DEFINITIONS = "#", ("#/$defs/node", "#/$defs/leaf")

OF_TYPE: dict[str, tuple[str, ...]] = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items", "items", "prefixItems", "contains", "minContains", "maxContains", "minItems",
        "maxItems", "uniqueItems", "unevaluatedItems",
    ),
    "object": (
        "properties", "properties", "required", "additionalProperties", "patternProperties",
        "propertyNames", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties",
    ),
}  # fmt: skip
ANYWHERE = ("allOf", "anyOf", "oneOf", "not", "if", "$ref", "enum", "const")
#: keywords whose schemas judge another value than the one they stand at. `propertyNames` does, too,
#: but the engine says of a reference in its opposite that it leads back to itself
INSIDE = frozenset((
    "items", "prefixItems", "contains", "unevaluatedItems", "properties", "additionalProperties",
    "patternProperties", "unevaluatedProperties",
))  # fmt: skip


class Composer:
    """Draws schemas. `composer.document()` is one; the state of `rng` decides which."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._large = LARGE_IF_HEAVY if rng.random() < HEAVY else LARGE
        self._references: tuple[str, ...] = ()
        counts = ("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains")
        numbers = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        schemas = ("not", "contains", "items", "additionalProperties", "unevaluatedItems")
        self._makers: dict[str, Callable[[str, int], Any]] = {
            **dict.fromkeys((*counts, "minProperties", "maxProperties"), self._count),
            **dict.fromkeys(numbers, lambda *_: self._pick(NUMBERS)),
            **dict.fromkeys((*schemas, "unevaluatedProperties"), lambda _, d: self._schema(d)),
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), self._branches),
            **dict.fromkeys(("properties", "dependentSchemas"), self._members),
            "pattern": lambda *_: self._pick(tuple(PATTERNS)),
            "format": lambda *_: self._pick(tuple(FORMATS)),
            "multipleOf": lambda *_: self._pick(LARGE_DIVISORS if self._is_large() else DIVISORS),
            "uniqueItems": lambda *_: self._rng.random() < 0.9,
            "required": lambda *_: self._some(NAMES, 1, 3),
            "patternProperties": self._patterns,
            "propertyNames": self._names,
            "dependentRequired": self._dependents,
            "$ref": lambda *_: self._pick(self._references),
            "enum": self._values,
            "const": lambda *_: self._value(2),
        }

    def document(self) -> Schema:
        """A schema with its definitions."""
        depth = self._pick((1, 2, 2, 3, 3, MOST_DEPTH))
        self._references = DEFINITIONS
        made = self._schema(depth)
        if not isinstance(made, dict):
            return made
        definitions = {}
        for at, pointer in enumerate(DEFINITIONS):
            self._references = DEFINITIONS[at + 1 :]
            name = pointer.rpartition("/")[2]
            definitions[name] = self._schema(max(1, depth - 1 - at))
        return {**made, "$defs": definitions} if "$ref" in str(made) else made

    # -- schemas ----------------------------------------------------------------------------------
    def _schema(self, depth: int) -> Schema:
        draw = self._rng.random()
        if draw < 0.05:
            return draw < 0.035
        if draw < 0.12 and ROOT in self._references:
            return {"$ref": self._pick(self._references)}
        if depth <= 0:
            return self._flat()
        made: dict[str, Any] = {}
        if draw < 0.7:
            self._add_type(made, self._pick(("object", "object", "array", *OF_TYPE)), depth)
        if draw > 0.85:
            self._add_type(made, self._pick(("object", "array")), depth, share_typed=0.4)
        if draw > 0.6:
            for keyword in self._rng.sample(ANYWHERE, 3 if self._is_large() else 1):
                self._add(made, keyword, depth)
        return made

    def _flat(self) -> Schema:
        """A schema without schemas in it."""
        draw, made = self._rng.random(), {}
        if draw < 0.4:
            return {"type": self._pick(TYPES)}
        if draw < 0.65:
            self._add(made, self._pick(("enum", "const", "$ref")), 0)
        else:
            self._add_type(made, self._pick(("string", "number")), 0)
        return made

    def _add_type(
        self, made: dict[str, Any], kind: str, depth: int, share_typed: float = 0.8
    ) -> None:
        if self._rng.random() < share_typed:
            is_whole = kind == "number" and self._rng.random() < 0.5
            made["type"] = "integer" if is_whole else kind
            if self._rng.random() < 0.08:
                made["type"] = [kind, self._pick([each for each in TYPES if each != kind])]
        count = self._pick((1, 1, 2, 2, 3, 4))
        for keyword in dict.fromkeys(self._rng.sample(OF_TYPE[kind], count)):
            self._add(made, keyword, depth)

    def _add(self, made: dict[str, Any], keyword: str, depth: int) -> None:
        before = self._references
        if keyword in INSIDE:
            self._references = (ROOT, *DEFINITIONS)
        if keyword == "if":
            for each in ("if", *self._some(("then", "else"), 1, 2)):
                made[each] = self._schema(depth - 1)
        elif keyword != "$ref" or self._references:
            made[keyword] = self._makers[keyword](keyword, depth - 1)
        self._references = before
        if keyword in ("minContains", "maxContains") and "contains" not in made:
            self._add(made, "contains", depth)

    # -- values of keywords -----------------------------------------------------------------------
    def _count(self, keyword: str, _: int) -> int:
        if self._is_large():
            return self._pick(LARGE_COUNTS if keyword.startswith("max") else LARGE_COUNTS[:2])
        return self._pick((0, 1, 1, 2, 2, 3, 5))

    def _branches(self, _: str, depth: int) -> list[Schema]:
        count = self._rng.randint(4, 10) if self._is_large() else self._rng.randint(1, 3)
        return [self._schema(min(depth, 1) if count > 3 else depth) for _ in range(count)]

    def _members(self, _: str, depth: int) -> dict[str, Schema]:
        return {name: self._schema(depth) for name in self._some(NAMES, 1, 4)}

    def _patterns(self, _: str, depth: int) -> dict[str, Schema]:
        if self._is_large():
            return {key: self._schema(0) for key in self._some(LETTERS, 4, 6)}
        return {key: self._schema(depth) for key in self._some(tuple(PATTERNS), 1, 2)}

    def _names(self, _: str, depth: int) -> Schema:
        draw = self._rng.random()
        if draw < 0.3:
            return {"enum": self._some(NAMES, 1, 4)}
        if draw < 0.8:
            return {"pattern": self._pick(tuple(PATTERNS))}
        return self._schema(min(depth, 1))

    def _dependents(self, *_: Any) -> dict[str, list[str]]:
        most = 6 if self._is_large() else 3
        return {name: self._some(NAMES, 1, 2) for name in self._some(NAMES, 1, most)}

    def _values(self, *_: Any) -> list[Any]:
        if self._is_large():
            return [f"value {at}" for at in range(self._pick((20, 100, 300)))]
        found = [self._value(2) for _ in range(self._rng.randint(1, 4))]
        return [each for at, each in enumerate(found) if each not in found[:at]]

    def _value(self, depth: int) -> Any:
        draw = self._rng.random()
        if depth == 0 or draw < 0.4:
            return self._pick(WORDS)
        if draw < 0.65:
            return self._pick(NUMBERS)
        if draw < 0.8:
            return self._pick((True, False, None))
        if draw < 0.9:
            return [self._value(depth - 1) for _ in range(self._rng.randint(0, 3))]
        # keys ascend, so that two listed objects of one value are one text
        return {name: self._value(depth - 1) for name in sorted(self._some(NAMES, 0, 3))}

    # -- draws ------------------------------------------------------------------------------------
    def _is_large(self) -> bool:
        return self._rng.random() < self._large

    def _pick(self, among: Sequence[Any]) -> Any:
        return among[self._rng.randrange(len(among))]

    def _some(self, among: Sequence[str], least: int, most: int) -> list[str]:
        return self._rng.sample(among, self._rng.randint(least, min(most, len(among))))


def composition(seed: int, number: int) -> Schema:
    """Schema `number` of the campaign `seed`."""
    return Composer(Random(f"{seed}:{number}")).document()
