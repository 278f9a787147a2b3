"""Random schemas over all keywords, from a seed: the campaigns and most tests draw them here.

Names, patterns and numbers are few, so that keywords meet; ``Words`` has them. The strategies of
tests/engine/frontends/random_schemas.py share nothing with this maker: hypothesis shrinks theirs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from hypothesis import strategies as st

Schema = Any

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


@dataclass(frozen=True)
class Words:
    """The names, patterns, formats and numbers that schemas are drawn of; ``counts``: of parts."""

    names: Sequence[str] = ("a", "b", "ab", "x-1")
    patterns: Sequence[str] = (
        *("^a", "b", "^a*$", "^[a-c]{1,3}$", "b$", "^x-", "[^a]", "^ab|b$", "-", "^$"),
    )
    formats: Sequence[str] = ("date", "ipv4", "uuid", "time", "email", "uri", "unknown")
    bounds: Sequence[float] = (0, 1, -1, 2, 3, 5, 10, 0.5, 1.5, -2.5, 12.25)
    counts: Sequence[int] = (0, 1, 1, 2, 2, 3)
    divisors: Sequence[float] = (1, 2, 3, 5, 0.5, 0.1, 0.01, 1.5, 2.0)
    scalars: Sequence[Any] = (
        *("", "a", "b", "ab", "x-1", 0, 1, 2, 3, -1, 0.5, 1.0, 2.5, True, False, None),
    )


DIALECTS = {
    2020: "https://json-schema.org/draft/2020-12/schema",
    2019: "https://json-schema.org/draft/2019-09/schema",
    7: "http://json-schema.org/draft-07/schema#",
    6: "http://json-schema.org/draft-06/schema#",
    4: "http://json-schema.org/draft-04/schema#",
}
#: what each type's own keywords are drawn from
TOPICS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems",
        "uniqueItems", "unevaluatedItems",
    ),
    "object": (
        "properties", "required", "additionalProperties", "patternProperties", "propertyNames",
        "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties",
    ),
}  # fmt: skip
COMPOSED = ("allOf", "anyOf", "oneOf", "not", "if", "$ref", "enum", "const")
REFERENCES = ("#/$defs/x", "#/$defs/y", "#")
#: keywords that other drafts write otherwise
OLDER = {
    "prefixItems": "items",
    "unevaluatedItems": "additionalItems",
    "dependentRequired": "dependencies",
    "dependentSchemas": "dependencies",
    "unevaluatedProperties": "additionalProperties",
}


class SchemaMaker:
    """Draws schemas of one dialect."""

    #: types whose keywords are drawn, and levels of listed values
    topics: Sequence[str] = tuple(TOPICS)
    value_depth = 1
    #: keywords whose schemas are for other values than the one they stand at: they may lead back
    inner = frozenset((
        "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems", "properties",
        "additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames",
    ))  # fmt: skip

    def __init__(
        self, rng: Random, draft: int = 2020, depth: int = 3, words: Words | None = None
    ) -> None:
        self.rng, self.draft, self.depth = rng, draft, depth
        self.words = words = words or Words()
        names, patterns = words.names, words.patterns
        #: two types' keywords at every place, and some that compose
        self.dense = rng.random() < 0.2
        #: what may be referred to, so that no schema leads back to itself
        self.targets: tuple[str, ...] = ()
        self.makers: dict[str, Callable[[int], Any]] = {
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), self.count),
            **dict.fromkeys(("minContains", "maxContains"), self.count),
            **dict.fromkeys(("minProperties", "maxProperties"), self.count),
            **dict.fromkeys(("minimum", "maximum"), self.bound),
            **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), self.branches),
            **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), self.bound),
            **dict.fromkeys(("properties", "dependentSchemas"), self.named),
            "pattern": lambda _: self.pick(patterns),
            "format": lambda _: self.pick(words.formats),
            "multipleOf": lambda _: self.pick(words.divisors),
            "uniqueItems": lambda _: self.rng.random() < 0.7,
            "required": lambda _: self.some(names, 2),
            "patternProperties": lambda depth: {
                key: self.schema(depth) for key in self.some(patterns, 2)
            },
            "propertyNames": self.names,
            "dependentRequired": lambda _: {
                name: self.some(names, 2) for name in self.some(names, 2)
            },
            "dependencies": lambda depth: {
                name: self.some(names, 2) if self.rng.random() < 0.5 else self.schema(depth)
                for name in self.some(names, 2)
            },
            "enum": lambda _: self.values(),
            "const": lambda _: self.value(self.value_depth),
            "$ref": lambda _: self.pick(self.targets or ("#/$defs/z",)),
        }

    # -- draws ------------------------------------------------------------------------------------
    def pick(self, among: Sequence[Any]) -> Any:
        return among[self.rng.randrange(len(among))]

    def some(self, among: Sequence[Any], most: int) -> list[Any]:
        return self.rng.sample(among, self.rng.randint(0, min(most, len(among))))

    def bound(self, _: int) -> float:
        bound: float = self.pick(self.words.bounds)
        return bound

    def count(self, _: int) -> int:
        return self.rng.choice(self.words.counts)

    def branches(self, depth: int) -> list[Schema]:
        return [self.schema(depth) for _ in range(self.rng.randint(1, 3))]

    def named(self, depth: int) -> dict[str, Schema]:
        return {name: self.schema(depth) for name in self.some(self.words.names, 3)}

    def value(self, depth: int) -> Any:
        draw = self.rng.random()
        if depth == 0 or draw < 0.75:
            return self.pick(self.words.scalars)
        if draw < 0.88:
            return [self.value(depth - 1) for _ in range(self.rng.randint(0, 3))]
        return {name: self.value(depth - 1) for name in self.some(self.words.names, 2)}

    def values(self) -> list[Any]:
        found = [self.value(self.value_depth) for _ in range(self.rng.randint(1, 4))]
        return [each for n, each in enumerate(found) if each not in found[:n]]

    def names(self, depth: int) -> Schema:
        draw = self.rng.random()
        if draw < 0.3:
            return {"enum": self.some(self.words.names, 3) or ["a"]}
        if draw < 0.7:
            return {"pattern": self.pick(self.words.patterns)}
        return self.schema(min(depth, 1))

    # -- schemas ----------------------------------------------------------------------------------
    def document(self) -> Schema:
        """A schema, with what its references name."""
        self.targets = REFERENCES[:2]
        made = self.schema(self.depth)
        if not isinstance(made, dict):
            return made
        if self.draft != 2020 or self.rng.random() < 0.1:
            made = {"$schema": DIALECTS[self.draft], **made}
        self.targets = REFERENCES[1:2]
        x = self.schema(self.depth - 1)
        self.targets = ()
        y = self.schema(self.depth - 1)
        return {**made, "$defs": {"x": x, "y": y, "z": {"type": self.pick(TYPES)}}}

    def schema(self, depth: int) -> Schema:
        """Keywords of one type, mostly beside that type, and maybe some that compose."""
        if self.rng.random() < (0.06 if depth else 0.15):
            return self.rng.random() < 0.6 if self.draft > 4 else {}
        if depth <= 0:
            return self.leaf()
        made: dict[str, Any] = {}
        draw = self.rng.random()
        for _ in range(2 if self.dense else draw < 0.75):
            self.add_topic(made, self.pick(self.topics), depth - 1)
        for _ in range(self.rng.choice((1, 1, 2)) if self.dense or draw > 0.6 else 0):
            self.add(made, self.pick(COMPOSED), depth - 1)
        return made

    def leaf(self) -> Schema:
        draw, made = self.rng.random(), {}
        if draw < 0.35:
            return {"type": self.pick(TYPES)}
        if draw < 0.6:
            self.add(made, self.pick(("enum", "const", "$ref")), 0)
        else:
            self.add_topic(made, self.pick(("string", "number")), 0)
        return made

    def add_topic(self, made: dict[str, Any], topic: str, depth: int) -> None:
        if self.rng.random() < (0.25 if self.dense else 0.75):
            made["type"] = "integer" if topic == "number" and self.rng.random() < 0.4 else topic
        for keyword in self.rng.sample(TOPICS[topic], self.rng.randint(1, 3)):
            self.add(made, keyword, depth)

    def add(self, made: dict[str, Any], keyword: str, depth: int) -> None:
        """Add the keyword in its dialect. 2019-09 gets no unevaluated keywords: there the oracle
        lets ``contains`` evaluate items, and ``additionalProperties`` not all members.
        """
        if self.draft <= 2019 and keyword in ("prefixItems", "unevaluatedItems"):
            self.add_value(made, "items", depth, self.branches)
            if keyword == "unevaluatedItems" or self.rng.random() < 0.5:
                self.add_value(made, "additionalItems", depth)
        elif self.draft == 2019 and keyword == "unevaluatedProperties":
            self.add_value(made, "additionalProperties", depth)
        elif self.draft == 4 and keyword.startswith("exclusive"):
            made |= {keyword[9:].lower(): self.bound(depth), keyword: self.rng.random() < 0.8}
        elif self.draft <= 7 and keyword in OLDER:
            self.add_value(made, OLDER[keyword], depth)
        elif keyword == "if":
            for each in ("if", *self.some(("then", "else"), 2)):
                made[each] = self.schema(depth)
        else:
            self.add_value(made, keyword, depth)

    def add_value(
        self,
        made: dict[str, Any],
        keyword: str,
        depth: int,
        maker: Callable[[int], Any] | None = None,
    ) -> None:
        if keyword == "items" and maker is None:
            made.pop("additionalItems", None)
        before = self.targets
        self.targets = REFERENCES if keyword in self.inner else before
        made[keyword] = (maker or self.makers.get(keyword, self.schema))(depth)
        self.targets = before
        if keyword in ("minContains", "maxContains"):
            made.setdefault("contains", self.schema(depth))


def drawn(draft: int) -> st.SearchStrategy[Schema]:
    return st.randoms(use_true_random=False).map(lambda rng: SchemaMaker(rng, draft).document())


#: mostly the current draft
documents = st.sampled_from((2020, 2020, 2020, 2019, 7, 6, 4)).flatmap(drawn)
