"""Random schemas of the campaign: those of tests/conformance/schemas.py, of more and larger words.

Most counts are small; some are large, and many of them in a heavy schema, because costs hide there.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.conformance.schemas import REFERENCES, TOPICS, TYPES, Schema, SchemaMaker, Words

MAX_DEPTH = 4
#: share of draws that are large, the same in heavy schemas, and the share of these
LARGE, LARGE_IF_HEAVY, HEAVY = 0.03, 0.3, 0.1
NAMES = ("a", "b", "id", "name", "tags", "k1", "k2", "x-y", "é")
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
TEXTS = ("", "a", "b", "ab", "x-y", "blue", "Alice", "555-1234", "é", "long text of words")
NUMBERS = (0, 1, 2, 3, 5, 10, -1, -7, 0.5, 1.5, 2.25, -2.5, 100)
WORDS = Words(
    names=NAMES,
    patterns=tuple(PATTERNS),
    formats=tuple(FORMATS),
    bounds=NUMBERS,
    counts=(0, 1, 1, 2, 2, 3, 5),
    divisors=(1, 2, 3, 5, 10, 0.5, 0.25, 0.1, 0.01, 1.5),
    scalars=(*TEXTS, *NUMBERS, True, False, None),
)
LARGE_DIVISORS = (97, 997, 9973, 19997, 123457, 0.001, 0.0003)
LARGE_COUNTS = (7, 12, 40, 100, 1000, 20000)


class Composer(SchemaMaker):
    """Draws schemas. `composer.document()` is one; the state of `rng` decides which."""

    topics = ("object", "object", "array", *TOPICS)
    value_depth = 2
    # the engine says of a reference in the opposite of `propertyNames` that it leads back to itself
    inner = SchemaMaker.inner - {"propertyNames"}

    def __init__(self, rng: Random) -> None:
        super().__init__(rng, words=WORDS)
        self.depth = self.pick((1, 2, 2, 3) if self.dense else (1, 2, 2, 3, 3, MAX_DEPTH))
        self.large = LARGE_IF_HEAVY if rng.random() < HEAVY else LARGE
        bounds = ("maxLength", "maxItems", "maxContains", "maxProperties")
        self.makers |= dict.fromkeys(bounds, lambda depth: self.count(depth, LARGE_COUNTS))

    def schema(self, depth: int) -> Schema:
        if self.targets == REFERENCES and self.rng.random() < 0.08:
            return {"$ref": self.pick(REFERENCES)}
        return super().schema(depth)

    def is_large(self) -> bool:
        return self.rng.random() < self.large

    def count(self, _: int, large: Sequence[int] = LARGE_COUNTS[:2]) -> int:
        return self.rng.choice(large if self.is_large() else self.words.counts)

    def branches(self, depth: int) -> list[Schema]:
        if self.is_large():
            return [self.schema(min(depth, 1)) for _ in range(self.rng.randint(4, 10))]
        return super().branches(depth)

    def values(self) -> list[Any]:
        if self.is_large():
            return [f"value {at}" for at in range(self.pick((20, 100, 300)))]
        return super().values()

    def value(self, depth: int) -> Any:
        """Keys ascend, so that two listed objects of one value are one text."""
        made = super().value(depth)
        return dict(sorted(made.items())) if isinstance(made, dict) else made

    def add_topic(self, made: dict[str, Any], topic: str, depth: int) -> None:
        super().add_topic(made, topic, depth)
        kind = made.get("type")
        if isinstance(kind, str) and self.rng.random() < 0.08:
            made["type"] = [kind, self.pick([each for each in TYPES if each != kind])]

    def add_value(self, made: dict[str, Any], keyword: str, depth: int, *maker: Any) -> None:
        super().add_value(made, keyword, depth, *maker)
        if keyword == "multipleOf" and self.is_large():
            made[keyword] = self.pick(LARGE_DIVISORS)
        elif keyword == "patternProperties" and self.is_large():
            made[keyword] = {key: self.schema(0) for key in self.rng.sample(LETTERS, 5)}
        elif keyword == "dependentRequired" and self.is_large():
            made[keyword] = {name: self.some(NAMES, 2) for name in self.rng.sample(NAMES, 6)}


def composition(seed: int, number: int) -> Schema:
    """Schema `number` of the campaign `seed`."""
    return Composer(Random(f"{seed}:{number}")).document()
