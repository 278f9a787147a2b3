"""Documented rules about spelling that explain why an engine forbids a valid text.

docs/json-schema.md states ours: white space, the order of listed keys, forms of numbers, formats
that are narrower. llguidance documents its order of keys and its white space; xgrammar follows the
order of ``properties`` and has an option for white space. Forms of numbers, escapes and formats
excuse the peers, too, although they document none.

Only the part of a text behind ``start`` is looked at: the engine allowed the rest.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .completing import TEMPLATES, Completer, dumped, listed_keys
from .document import Document, Undecidable, subschemas

WHITE_SPACE, KEY_ORDER, COMBINED = "white space", "order of keys", "order of keys, several schemas"
NUMBERS, FORMATS, EXTRA_KEYS = "forms of numbers", "formats", "extra keys last"
#: references that are not followed, so that rules of their schemas are not seen
UNFOLLOWED = "references not followed"
LISTED, OLDER, SPELLING = "spelling of listed texts", "keyword of another draft", "escapes"
#: formats of which ours allows every text that jsonschema accepts
EXACT_FORMATS = frozenset(("date", "ipv4", "ipv6", "json-pointer"))
OURS = "ours"
_RANKS = (WHITE_SPACE, NUMBERS, KEY_ORDER, COMBINED, EXTRA_KEYS, LISTED, SPELLING, FORMATS)
_TOKENS = re.compile(
    rb'(?P<space>[ \t\n\r]+)|(?P<string>"(?:[^"\\]|\\.)*")|(?P<number>-?[0-9][-+.0-9eE]*)'
    rb"|(?P<mark>[][{}:,])|(?P<word>[a-z]+)"
)
_SPACE = re.compile(rb"[ \t\n\r]+")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_OUR_SPACE = re.compile(rb" |\n {0,20}")
_DIGITS = re.compile(r"-?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
#: zeros behind a fraction
_LONG_FORM = re.compile(r"\.[0-9]+0$")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.0+|-?[0-9](?:\.0+)?[eE]\+?0*(?:[0-9]|1[0-5])")
#: spellings that a string may do without
_ODD = re.compile(r"\\[/u]|\x7f")
_BOUNDS = frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
_EXCLUDING = frozenset(("not", "oneOf", "if", "enum", "const"))


@dataclass
class _Place:
    """A container that is open: the schemas that may apply, and its keys so far.

    ``misordered``: an early key follows the order of some of the schemas, and not of all, so that a
    witness may be one of the others.
    """

    schemas: list[dict[str, Any]]
    is_object: bool
    keys: list[str] = field(default_factory=list)
    key: str | None = None
    count: int = 0
    misordered: bool = False

    @cached_property
    def orders(self) -> list[list[str]]:
        """The listed keys of each schema that has some."""
        return [order for one in self.schemas if (order := listed_keys([one]))]

    @cached_property
    def merged(self) -> list[list[str]]:
        """Orders of all listed keys: schema by schema, and all ``properties`` before the others."""
        names = [name for order in self.orders for name in order]
        first = [name for one in self.schemas for name in one.get("properties", {})]
        return [list(dict.fromkeys(names)), list(dict.fromkeys([*first, *names]))]


class Rules:
    def __init__(self, document: Document) -> None:
        self._document, self._completer = document, Completer(document, ())
        self._spread: dict[tuple[int, ...], list[dict[str, Any]]] = {}
        inner = list(subschemas(document.schema))
        self._unique = any(one.get("uniqueItems") is True for one in inner)
        references = {str(one["$ref"]) for one in inner if "$ref" in one}
        words = {word for one in inner for word in one}
        self._unfollowed = not all(map(self._follows, references)) or bool(
            words & {"$dynamicRef", "$recursiveRef"}
        )
        unknown = words - document.keywords
        self._older = bool(
            unknown & {"dependencies", "additionalItems", "const", "contains", "propertyNames",
                       "$recursiveRef", "$dynamicRef", "nullable", "prefixItems", "if"}
        )  # fmt: skip

    def broken(self, engine: str, text: bytes, start: int, end: int) -> str | None:
        """Return the first rule that explains why an engine forbids a valid text, or None.

        The token is ``text[start:end]``; what follows was made from true instances and the schema.
        """
        found = set(self._broken(engine, text, start, end))
        unseen = (
            UNFOLLOWED if self._unfollowed else OLDER if self._older and engine == OURS else None
        )
        return next((rule for rule in _RANKS if rule in found), unseen)

    def _follows(self, reference: str) -> bool:
        try:
            self._document.resolve(reference)
        except Undecidable:
            return False
        return True

    def certain(self, engine: str, text: bytes, start: int) -> str | None:
        """Return a rule that every rest of the text breaks, because its end does, or None."""
        if engine == OURS:
            for space in _SPACE.finditer(text, max(0, start - 64)):
                late = space.end() > start and _outside_strings(text, space.start())
                if late and not _OUR_SPACE.fullmatch(space[0]):
                    return WHITE_SPACE
            return None
        return SPELLING if _ODD.search(text[start:].decode("latin-1")) else None

    def spread(self, schemas: Any) -> list[dict[str, Any]]:
        """Return all schemas of a place that may apply, through every combinator."""
        key = tuple(map(id, schemas))
        if key not in self._spread:
            self._spread[key] = self._all(schemas)
        return self._spread[key]

    def _all(self, schemas: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        stack, seen = list(schemas)[::-1], set()
        while stack and len(found) < 400:
            schema = stack.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            found.append(schema)
            more: list[Any] = []
            for word, value in schema.items():
                if word in ("allOf", "anyOf", "oneOf") and isinstance(value, list):
                    more += value
                elif word in ("then", "else", "if", "not"):
                    more.append(value)
                elif word in ("dependentSchemas", "dependencies") and isinstance(value, dict):
                    more += value.values()
                elif word == "$ref":
                    try:
                        more.append(self._document.resolve(value))
                    except Undecidable:
                        continue
            stack += more[::-1]
        return found

    def _broken(self, engine: str, text: bytes, start: int, end: int) -> Iterator[str]:
        stack: list[_Place] = []
        place_of_root = self.spread([self._document.schema])
        for found in _TOKENS.finditer(text):
            kind, late = found.lastgroup, found.end() > start
            inside = stack[-1] if stack else None
            if kind == "space":
                if late and (rule := _space(engine, found, text)):
                    yield rule
                continue
            word = found[0].decode()
            if word in ",:":
                if word == "," and inside and not inside.is_object:
                    inside.count += 1
                elif word == "," and inside:
                    inside.key = None
                continue
            if word in "}]":
                if stack.pop().misordered and late:
                    yield COMBINED
                continue
            if kind == "string" and inside and inside.is_object and inside.key is None:
                inside.key = _text(word)
                inside.keys.append(inside.key)
                broken = list(self._key(engine, inside, found))
                if late:
                    yield from broken
                elif len(inside.orders) > 1 and {KEY_ORDER, COMBINED} & set(broken):
                    inside.misordered = True
                continue
            schemas = self._below(inside) if inside else place_of_root
            if word in "{[":
                stack.append(_Place(schemas, word == "{"))
            elif late and kind == "number":
                if self._is_odd(engine, word, schemas):
                    yield NUMBERS
            elif late and kind == "string":
                yield from _of_string(engine, word, schemas, touched=found.start() < end)

    def _below(self, place: _Place) -> list[dict[str, Any]]:
        if place.is_object:
            found = self._completer.member(place.schemas, place.key or "")
            word = "additionalProperties"
            beside = [one[word] for one in place.schemas if word in one]
            return self.spread([*found, *beside])
        inside = [one["contains"] for one in place.schemas if "contains" in one]
        return self.spread([*self._completer.item(place.schemas, place.count), *inside])

    def _key(self, engine: str, place: _Place, found: Any) -> Iterator[str]:
        *before, last = place.keys
        for order in place.orders:
            if last in order and any(
                name in order and order.index(name) > order.index(last) for name in before
            ):
                yield KEY_ORDER
        for order in place.merged:
            behind = order[order.index(last) + 1 :] if last in order else []
            if len(place.orders) > 1 and any(name in behind for name in before):
                yield COMBINED
        (listed, _) = place.merged
        if engine != OURS and last in listed and any(name not in listed for name in before):
            yield EXTRA_KEYS
        if engine != OURS and _ODD.search(found[0].decode()):
            yield SPELLING

    def _is_odd(self, engine: str, text: str, schemas: list[dict[str, Any]]) -> bool:
        """Whether a number has a form that the engine may forbid."""
        words = {word for one in schemas for word in one}
        kinds = _types(schemas)
        if words & {"enum", "const"}:
            listed = [value for one in schemas for value in one.get("enum", ())]
            listed += [one["const"] for one in schemas if "const" in one]
            return text not in {dumped(value) for value in listed if not isinstance(value, str)}
        if _DIGITS.fullmatch(text) and len(text.lstrip("-")) <= 15:
            return text == "-0" and engine != OURS
        if engine != OURS:
            plain = _DECIMAL.fullmatch(text) and text.strip("-0.") and "number" in kinds
            return not plain or _LONG_FORM.search(text) is not None
        if words & _EXCLUDING or "multipleOf" in words or self._unique:
            return not (_DECIMAL.fullmatch(text) and _short(text) and "number" in kinds)
        if words & _BOUNDS:
            return not (_DECIMAL.fullmatch(text) and _short(text) and "number" in kinds)
        if "number" not in kinds:
            return not (_DIGITS.fullmatch(text) or _WHOLE.fullmatch(text))
        return False


def _types(schemas: list[dict[str, Any]]) -> set[str]:
    """Return types that all schemas with ``type`` allow; all of them if no schema has it."""
    kinds = {"number", "integer", "string", "object", "array", "boolean", "null"}
    for one in schemas:
        if "type" in one:
            kinds &= {one["type"]} if isinstance(one["type"], str) else set(one["type"])
    return kinds


def _short(text: str) -> bool:
    return len(text.lstrip("-").replace(".", "").lstrip("0")) <= 15


def _outside_strings(text: bytes, at: int) -> bool:
    return all(not one.start() < at < one.end() for one in _STRING.finditer(text))


def _text(word: str) -> str:
    return str(json.loads(word))


def _space(engine: str, found: Any, text: bytes) -> str | None:
    at_edge = found.start() == 0 or found.end() == len(text)
    if engine != OURS:
        return WHITE_SPACE if at_edge else None
    return WHITE_SPACE if at_edge or not _OUR_SPACE.fullmatch(found[0]) else None


def _of_string(
    engine: str, word: str, schemas: list[dict[str, Any]], *, touched: bool
) -> Iterator[str]:
    formats = {str(one["format"]) for one in schemas if "format" in one}
    if engine == OURS:
        formats -= EXACT_FORMATS
    if formats and (touched or word[1:-1] not in {t for own in TEMPLATES.values() for t in own}):
        yield FORMATS
    if engine != OURS and _ODD.search(word):
        listed = any("enum" in one or "const" in one for one in schemas)
        yield LISTED if listed else SPELLING
