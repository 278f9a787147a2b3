"""Instances of a schema, made by reading it, and the texts that the engine promises to take.

`candidates` follows the schema's keywords with no care for completeness: it may return an invalid
value, and the caller's judge (`jsonschema`) decides. Shares no code with the engine.

Texts (docs/json-schema.md, "Text" and "Numbers"): numbers are integers or short decimals, strings
are written without escapes that JSON doesn't need. Of an object's members

any order       every permutation is promised, but of objects listed by `enum` and `const`;
schema's order  `properties` first, as listed, then the required ones; other members stand anywhere.
                Where a place has applicators such as `allOf`, the order is that of the parts, and
                the promise is one order among all (`has_plain_order`).
"""

import json
import math
from collections.abc import Iterator
from random import Random
from typing import Any

from tests.conformance.instances import parts
from tests.conformance.schemas import TOPICS, TYPES, Schema

from .compositions import FORMATS, NAMES, NUMBERS, PATTERNS, TEXTS

#: levels of a made value; a recursive schema would go on
MAX_LEVELS = 6
#: values within a made one, after which only scalars and empty ones follow
MAX_VALUES = 400
#: members and items of a made value, unless a bound asks for more
MAX_PARTS = 4
#: the longest string, array or object that is made for a large minLength and its like
MAX_LENGTH = 120
#: applicators that put the members of one object together from several schemas
COMPOSING = frozenset((
    "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependentRequired",
))  # fmt: skip
#: keywords of places where more than one schema judges a member or an item
SHARED = frozenset((
    "$ref", "patternProperties", "contains", "unevaluatedProperties", "unevaluatedItems",
))  # fmt: skip
#: keywords whose opposite is asked for somewhere: what is not of a format is enforced narrowly
OPPOSING = frozenset((
    "not", "oneOf", "if", "contains", "unevaluatedItems", "unevaluatedProperties",
    "dependentSchemas", "dependentRequired",
))  # fmt: skip
#: characters of texts of the other formats, and texts that each of them must take
FORMAT_CHARACTERS = frozenset(":@P.-é")
ORDINARY = frozenset(text for texts in FORMATS.values() for text in texts)
#: drawn formats with an exact opposite
EXACT_FORMATS = frozenset(("date", "ipv4", "something-unknown"))


def keywords(schema: Schema) -> Iterator[str]:
    """All keys of all objects in it: the keywords and, harmlessly, names and listed values."""
    for part in parts(schema):
        yield from part if isinstance(part, dict) else ()


def target_of(document: Schema, pointer: str) -> Schema:
    for part in pointer.split("/")[1:]:
        document = document[part]
    return document


class InstanceMaker:
    """Makes values for one schema."""

    def __init__(self, document: Schema, rng: Random) -> None:
        self._document, self._rng, self._count = document, rng, 0

    def candidate(self) -> Any:
        self._count = 0
        return self._value(self._document, 0)

    def value(self, schema: Schema) -> Any:
        """A value for a schema within the document."""
        self._count = 0
        return self._value(schema, MAX_LEVELS // 2)

    def _value(self, schema: Schema, level: int) -> Any:
        rng = self._rng
        self._count += 1
        view = self._view(schema, level)
        if "const" in view:
            return view["const"]
        if "enum" in view:
            return rng.choice(view["enum"])
        kinds = view.get("type", self._fitting(view))
        kind = rng.choice(kinds) if isinstance(kinds, list) else kinds
        if (level >= MAX_LEVELS or self._count > MAX_VALUES) and kind in ("object", "array"):
            return {} if kind == "object" else []
        makers = {"object": self._object, "array": self._array, "string": self._string}
        if kind in makers:
            return makers[kind](view, level)
        if kind in ("number", "integer"):
            return self._number(view, kind)
        return None if kind == "null" else rng.random() < 0.5

    def _fitting(self, view: dict[str, Any]) -> str:
        """A type that the keywords speak of, mostly; they don't judge the others."""
        spoken = [kind for kind, words in TOPICS.items() for word in words if word in view]
        among = spoken if spoken and self._rng.random() < 0.8 else TYPES
        return str(self._rng.choice(among))

    # -- what the applicators come to -------------------------------------------------------------
    def _view(self, schema: Schema, level: int) -> dict[str, Any]:
        """One object schema that the value may be made of: branches chosen, the rest merged."""
        if not isinstance(schema, dict):
            return {}
        view = {key: value for key, value in schema.items() if key not in COMPOSING}
        inside = []
        if "$ref" in view:
            inside.append(target_of(self._document, view.pop("$ref")))
        inside += schema.get("allOf", ())
        inside += [self._rng.choice(schema[each]) for each in ("anyOf", "oneOf") if each in schema]
        if "if" in schema:
            holds = self._rng.random() < 0.5
            inside += [schema["if"], schema.get("then", True)] if holds else []
            inside += [] if holds else [schema.get("else", True)]
        if self._rng.random() < 0.5:
            inside += schema.get("dependentSchemas", {}).values()
        for each in inside:
            view = self._merged(view, self._view(each, level))
        if "dependentRequired" in schema:
            self._add_dependents(view, schema["dependentRequired"])
        return view

    @staticmethod
    def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
        made = {**one}
        for keyword, value in other.items():
            if keyword not in made:
                made[keyword] = value
            elif keyword in ("properties", "patternProperties"):
                own = made[keyword]
                both = {k: {"allOf": [own[k], value[k]]} for k in value if k in own}
                made[keyword] = {**own, **value, **both}
            elif keyword == "required":
                made[keyword] = [*made[keyword], *value]
            elif keyword.startswith("min") or keyword == "exclusiveMinimum":
                made[keyword] = max(made[keyword], value)
            elif keyword.startswith("max") or keyword == "exclusiveMaximum":
                made[keyword] = min(made[keyword], value)
            elif keyword in ("items", "contains", "additionalProperties"):
                made[keyword] = {"allOf": [made[keyword], value]}
            elif keyword == "enum":
                made[keyword] = [each for each in made[keyword] if each in value] or value
        return made

    def _add_dependents(self, view: dict[str, Any], dependents: dict[str, list[str]]) -> None:
        required = list(view.get("required", ()))
        if dependents and self._rng.random() < 0.3:
            required.append(self._rng.choice(list(dependents)))
        for name in required:
            required += [each for each in dependents.get(name, ()) if each not in required]
        view["required"] = required

    # -- values of one type -----------------------------------------------------------------------
    def _size(self, view: dict[str, Any], least: str, most: str) -> int:
        low = min(view.get(least, 0), MAX_LENGTH)
        high = max(low, min(view.get(most, MAX_LENGTH), low + MAX_PARTS))
        return self._rng.randint(low, high)

    def _object(self, view: dict[str, Any], level: int) -> dict[str, Any]:
        rng, listed = self._rng, view.get("properties", {})
        size = self._size(view, "minProperties", "maxProperties")
        names = list(dict.fromkeys(view.get("required", ())))
        optional = [name for name in listed if name not in names and listed[name] is not False]
        rng.shuffle(optional)
        patterns = view.get("patternProperties", {})
        others = list(NAMES if rng.random() < 0.7 else TEXTS)
        for pattern in patterns:
            others += PATTERNS.get(pattern, (pattern, f"{pattern}1", f"1{pattern}"))
        rng.shuffle(others)
        others += [f"n{at}" for at in range(size)]
        is_closed = view.get("additionalProperties", True) is False
        more = optional + ([] if is_closed and not patterns else others)
        names += [name for name in dict.fromkeys(more) if name not in names]
        names = names[: max(size, len(set(view.get("required", ()))))]
        return {name: self._member(view, name, level) for name in names}

    def _member(self, view: dict[str, Any], name: str, level: int) -> Any:
        judges = [view["properties"][name]] if name in view.get("properties", {}) else []
        for pattern, schema in view.get("patternProperties", {}).items():
            if name in PATTERNS.get(pattern, ()) or (len(pattern) == 1 and pattern in name):
                judges.append(schema)
        other = view.get("additionalProperties", view.get("unevaluatedProperties", True))
        return self._value({"allOf": judges} if judges else other, level + 1)

    def _array(self, view: dict[str, Any], level: int) -> list[Any]:
        size = self._size(view, "minItems", "maxItems")
        prefix = view.get("prefixItems", [])
        other = view.get("items", view.get("unevaluatedItems", True))
        contained = view.get("minContains", 1) if "contains" in view else 0
        made: list[Any] = []
        for at in range(max(size, contained)):
            schema = prefix[at] if at < len(prefix) else other
            if at >= max(size, contained) - contained:
                schema = {"allOf": [schema, view["contains"]]}
            item = self._value(schema, level + 1)
            for _ in range(8 if view.get("uniqueItems") else 0):
                if item not in made:
                    break
                item = self._value(schema, level + 1)
            made.append(item)
        return made

    def _string(self, view: dict[str, Any], _: int) -> str:
        among = FORMATS.get(view.get("format", ""), PATTERNS.get(view.get("pattern", ""), TEXTS))
        made = self._rng.choice(among)
        low, high = view.get("minLength", 0), view.get("maxLength", MAX_LENGTH)
        return (made + "abcé" * MAX_LENGTH)[:low] if len(made) < low else made[:high]

    def _number(self, view: dict[str, Any], kind: str) -> Any:
        low = max(view.get("minimum", -9), view.get("exclusiveMinimum", -9))
        step = view.get("multipleOf")
        if step is not None:
            made = round(step * (math.ceil(low / step) + self._rng.randint(0, 3)), 6)
        else:
            above = [each for each in NUMBERS if each >= low]
            made = self._rng.choice(above or [low])
            if self._rng.random() < 0.4:
                made += self._rng.choice((1, 0.5, 0.25))
        return int(made) if kind == "integer" or made == int(made) else made


# -- texts ----------------------------------------------------------------------------------------
class Promise:
    """Which valid values of a schema have a text that must be taken, in some order."""

    def __init__(self, schema: Schema) -> None:
        formats = {
            part["format"]
            for part in parts(schema)
            if isinstance(part, dict) and isinstance(part.get("format"), str)
        }
        self._is_narrow = bool(formats - EXACT_FORMATS)
        self._has_opposites = not OPPOSING.isdisjoint(keywords(schema))

    def __contains__(self, value: Any) -> bool:
        for part in parts(value):
            if isinstance(part, float) and (abs(part) >= 10**6 or part != round(part, 6)):
                return False
            names = list(part) if isinstance(part, dict) else [part]
            if not all(self._is_plain(name) for name in names if isinstance(name, str)):
                return False
        return True

    def _is_plain(self, text: str) -> bool:
        """Not, beside a format that is enforced narrowly, a text that might be of it; but for the
        ordinary ones, where its opposite is not asked for.
        """
        is_ordinary = text in ORDINARY and not self._has_opposites
        return not self._is_narrow or is_ordinary or not FORMAT_CHARACTERS & set(text)


def has_plain_order(schema: Schema) -> bool:
    """Whether the order of members follows from each place's own keywords."""
    return (COMPOSING | SHARED).isdisjoint(keywords(schema))


def listed_objects(schema: Schema) -> list[Any]:
    """Objects in `enum` and `const`, which keep the order of their keys."""
    found = []
    for part in parts(schema):
        if isinstance(part, dict):
            listed = [part["const"]] if "const" in part else part.get("enum", ())
            found += [
                each for value in listed for each in parts(value) if isinstance(each, dict) and each
            ]
    return found


def in_order_of(schema: Schema, value: Any) -> Any:
    """The value with its keys in the schema's order, by the schema's own keywords."""
    own = schema if isinstance(schema, dict) else {}
    if "enum" in own or "const" in own:
        return value
    if isinstance(value, list):
        prefix, other = own.get("prefixItems", []), own.get("items", {})
        return [
            in_order_of(prefix[at] if at < len(prefix) else other, each)
            for at, each in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    listed = own.get("properties", {})
    names = dict.fromkeys(name for name in (*listed, *own.get("required", ())) if name in value)
    names |= dict.fromkeys(value)
    other = own.get("additionalProperties", {})
    return {name: in_order_of(listed.get(name, other), value[name]) for name in names}


def shuffled(value: Any, rng: Random, kept: list[Any]) -> Any:
    """The value with the keys of its objects in some order, but of those in `kept`."""
    if isinstance(value, list):
        return [shuffled(each, rng, kept) for each in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    if value in kept:
        return value
    rng.shuffle(names)
    return {name: shuffled(value[name], rng, kept) for name in names}


def written(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
