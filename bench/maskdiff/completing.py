"""Rests of a text that may make it valid.

Rests follow true instances where the text does, and otherwise values that are made from the schema.
They are guesses: jsonschema judges them (``judging``). Few are made, the likely ones first. They
have no white space, and their keys come in the order of the schema.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import regex

from .document import Document, Undecidable
from .partial import (
    Node,
    Nothing,
    OpenArray,
    OpenLiteral,
    OpenNumber,
    OpenObject,
    OpenString,
    Whole,
    number_of,
    spelled,
)

#: rests of one value, and of a container
MOST, MOST_OUTSIDE = 14, 24
#: alternatives of combinators that are looked at, and nesting of made values
ALTERNATIVES, DEPTH = 8, 5
#: partial matches tried for one string, and characters that a text goes on with
STEPS, FITTING = 3000, 4
MISSING: Any = object()
TEMPLATES = {
    "date-time": ("2024-01-01T00:00:00Z", "2024-12-31T12:00:00.5+01:00"),
    "date": ("2024-01-01", "2023-12-28"),
    "time": ("00:00:00Z", "12:30:15.25+01:00"),
    "duration": ("P1D", "PT1H", "P1Y"),
    "email": ("a@example.com",),
    "idn-email": ("a@example.com",),
    "hostname": ("example.com", "a"),
    "idn-hostname": ("example.com",),
    "ipv4": ("127.0.0.1", "10.10.10.10"),
    "ipv6": ("::1", "2001:db8:0:0:0:0:0:1"),
    "uri": ("http://example.com/a",),
    "iri": ("http://example.com/a",),
    "uri-reference": ("http://example.com/a", "/a"),
    "iri-reference": ("http://example.com/a", "/a"),
    "uri-template": ("http://example.com/{a}",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "json-pointer": ("/a", ""),
    "relative-json-pointer": ("0/a", "1#"),
    "regex": ("^a$", "a"),
}
_KINDS: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "integer": (int, Decimal),
    "number": (int, Decimal), "boolean": (bool,), "null": (type(None),),
}  # fmt: skip
#: ends of texts of a format that a template does not continue
_ENDS = {
    "date-time": (
        "Z", "0:00", "0Z", "00Z", ":00", "00:00", ":00Z", "0:00Z", "00:00Z", ":00:00Z", "0"
    ),
    "time": ("Z", "0Z", "00Z", ":00Z", "0:00Z", ":00", "0:00", "00:00", "0"),
    "email": ("@example.com", "example.com", ".com", "com", "m", "a"),
    "hostname": ("a", ".com", "com"),
    "uri": ("a", "://a", "//a", ":a", "/a"),
    "ipv4": ("0", ".0", ".0.0", "0.0", ".0.0.0", "0.0.0"),
    "ipv6": ("::", ":", "0", ":1"),
}  # fmt: skip
_MORE_DIGITS = (
    "0", "5", "1", ".5", ".0", "0.5", "00", "e1", "9", "99", "-1", "+1", "000", "e0", ".5e1",
    ".1e2",
)  # fmt: skip
Schemas = tuple[Any, ...]


def dumped(value: Any) -> str:
    """Return compact JSON; Decimals as they are written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{dumped(k)}:{dumped(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dumped, value)) + "]"
    if isinstance(value, Decimal):
        return format(value, "f") if -10 < value.adjusted() < 16 else str(value)
    return json.dumps(value, ensure_ascii=False)


class Completer:
    """``instances``: valid values."""

    def __init__(self, document: Document, instances: Sequence[Any]) -> None:
        self._document, self._instances = document, instances
        # by the identities of schemas, which live as long as the document
        self._values: dict[tuple[int, ...], list[Any]] = {}
        self._alternatives: dict[tuple[int, ...], list[list[dict[str, Any]]]] = {}

    def rests(self, root: Node, most: int) -> Iterator[str]:
        """Yield different rests, rests of instances first."""
        seen: set[str] = set()
        for hint in (*self._instances[:3], MISSING):
            for rest in self._rests(root, (self._document.schema,), hint, 0):
                if rest not in seen:
                    seen.add(rest)
                    yield rest
                if len(seen) >= most:
                    return

    # -- schemas ---------------------------------------------------------------------------------
    def alternatives(self, schemas: Schemas) -> list[list[dict[str, Any]]]:
        """Return lists of schemas that apply together, one for each choice of branches."""
        key = tuple(map(id, schemas))
        if key not in self._alternatives:
            found: list[list[dict[str, Any]]] = [[]]
            for schema in schemas:
                own = self._expanded(schema, 0)
                found = [[*one, *more] for one in found for more in own][:ALTERNATIVES]
            self._alternatives[key] = found
        return self._alternatives[key]

    def _expanded(self, schema: Any, depth: int) -> list[list[dict[str, Any]]]:
        if not isinstance(schema, dict):
            return [[]] if schema is True else [[{"not": {}}]]
        if depth > 12:
            return [[]]
        found: list[list[dict[str, Any]]] = [[schema]]
        groups: list[list[Any]] = [[one] for one in schema.get("allOf", ())]
        if "$ref" in schema:
            with suppress(Undecidable):
                groups.append([self._document.resolve(schema["$ref"])])
        groups += [schema[word] for word in ("anyOf", "oneOf") if schema.get(word)]
        if "if" in schema:
            groups.append([schema.get("else", True), schema.get("then", True)])
        for group in groups:
            branches = [more for one in group for more in self._expanded(one, depth + 1)]
            found = [[*one, *more] for one in found for more in branches[:ALTERNATIVES]]
        return found[:ALTERNATIVES]

    @staticmethod
    def member(schemas: Iterable[dict[str, Any]], key: str) -> Schemas:
        """Return the schemas of a member's value."""
        found: list[Any] = []
        for schema in schemas:
            own = []
            if key in schema.get("properties", {}):
                own.append(schema["properties"][key])
            for pattern, one in schema.get("patternProperties", {}).items():
                if _matches(pattern, key):
                    own.append(one)
            if not own and "additionalProperties" in schema:
                own.append(schema["additionalProperties"])
            found += own
        return tuple(found)

    @staticmethod
    def item(schemas: Iterable[dict[str, Any]], k: int) -> Schemas:
        found = []
        for schema in schemas:
            rest = schema.get("items", True)
            first = schema.get("prefixItems", ())
            if isinstance(rest, list):
                first, rest = rest, schema.get("additionalItems", True)
            found.append(first[k] if k < len(first) else rest)
        return tuple(found)

    # -- values from nothing ---------------------------------------------------------------------
    def values(self, schemas: Schemas, depth: int = 0) -> list[Any]:
        """Return a few values that may fit."""
        key = (depth, *map(id, schemas))
        if key not in self._values:
            self._values[key] = self._made(schemas, depth)
        return self._values[key]

    def _made(self, schemas: Schemas, depth: int) -> list[Any]:
        found: list[Any] = []
        for together in self.alternatives(schemas):
            if {"not": {}} in together:
                continue
            listed = _listed(together)
            if listed is not None:
                found += listed[:8]
                continue
            for kind in _kinds(together):
                found += self._of_kind(kind, together, depth)
        return found[:MOST]

    def _of_kind(self, kind: str, together: list[dict[str, Any]], depth: int) -> list[Any]:
        match kind:
            case "string":
                return [OpenString("").text + text for text in islice(_strings("", together), 3)]
            case "integer" | "number":
                return _numbers(together, whole=kind == "integer")[:4]
            case "boolean":
                return [True, False]
            case "null":
                return [None]
            case "array":
                return self._arrays(together, depth)
        return self._objects(together, depth)

    def _arrays(self, together: list[dict[str, Any]], depth: int) -> list[Any]:
        least = max((one.get("minItems", 0) for one in together), default=0)
        sizes = [least] if least else [0, 1]
        if any("contains" in one for one in together):
            sizes = [max(1, least)]
        if depth >= DEPTH or least > 60:
            return [[]]
        return [
            made for size in sizes if (made := self.items([], size, together, depth)) is not None
        ]

    def items(
        self, have: list[Any], size: int, together: list[dict[str, Any]], depth: int
    ) -> list[Any] | None:
        """Return items up to a size; all different if they must be."""
        made, unique = list(have), any(one.get("uniqueItems") is True for one in together)
        wanted = tuple(one["contains"] for one in together if "contains" in one)
        for k in range(len(have), size):
            schemas = self.item(together, k) + (wanted if k == size - 1 else ())
            pool = self.values(schemas, depth + 1)
            if unique:
                written = {dumped(one) for one in made}
                pool = [one for one in pool if dumped(one) not in written]
            if not pool:
                return None
            made.append(pool[0])
        return made

    def _objects(self, together: list[dict[str, Any]], depth: int) -> list[Any]:
        if depth >= DEPTH:
            return [{}]
        least = self.members({}, together, depth, MISSING)
        return [least]

    def members(
        self, have: dict[str, Any], together: list[dict[str, Any]], depth: int, hint: Any
    ) -> dict[str, Any]:
        """Return members that are missing, in order: required ones, and those of the hint."""
        hint = hint if isinstance(hint, dict) else {}
        needed = set(required(together, have))
        order = [*listed_keys(together), *hint]
        made: dict[str, Any] = {}
        for key in dict.fromkeys(order):
            if key in have or (key not in needed and key not in hint):
                continue
            if key in hint:
                made[key] = hint[key]
            elif pool := self.values(self.member(together, key), depth + 1):
                made[key] = pool[0]
        return made

    # -- rests -----------------------------------------------------------------------------------
    def _rests(self, node: Node, schemas: Schemas, hint: Any, depth: int) -> Iterator[str]:
        if isinstance(node, Whole):
            yield ""
            return
        if isinstance(node, Nothing):
            if hint is not MISSING:
                yield dumped(hint)
            yield from map(dumped, self.values(schemas, depth))
            return
        if isinstance(node, OpenLiteral):
            yield next(w for w in ("true", "false", "null") if w.startswith(node.text))[
                len(node.text) :
            ]
            return
        makers: dict[type, Callable[..., Iterator[str]]] = {
            OpenString: self._string, OpenNumber: self._number,
            OpenArray: self._array, OpenObject: self._object,
        }  # fmt: skip
        streams = [
            makers[type(node)](node, together, hint, depth)
            for together in self.alternatives(schemas)
        ]
        yield from islice(_in_turn(streams), MOST_OUTSIDE)

    def _string(
        self, node: OpenString, together: list[dict[str, Any]], hint: Any, _: int
    ) -> Iterator[str]:
        listed = _listed(together)
        wanted = [one for one in (hint, *(listed or ())) if isinstance(one, str)]
        wanted = [one for one in wanted if one.startswith(node.text)]
        if listed is None:
            texts = _strings(node.text, together) if not node.tail else _beyond(node, together)
            wanted += islice((text for text in texts if text.startswith(node.text)), MOST)
        for text in dict.fromkeys(wanted):
            if (rest := _rest_of_string(node, text)) is not None:
                yield rest + '"'

    def _number(
        self, node: OpenNumber, together: list[dict[str, Any]], hint: Any, _: int
    ) -> Iterator[str]:
        listed = _listed(together)
        wanted = [hint, *(listed or _numbers(together, whole=False))]
        for value in wanted:
            written = dumped(value) if isinstance(value, (int, Decimal)) else ""
            if written.startswith(node.text):
                yield written[len(node.text) :]
        if number_of(node) is not None:
            yield ""
        for more in _MORE_DIGITS:
            if number_of(OpenNumber(node.text + more)) is not None:
                yield more
        yield from _multiples(node.text, together)

    def _array(
        self, node: OpenArray, together: list[dict[str, Any]], hint: Any, depth: int
    ) -> Iterator[str]:
        true = hint if isinstance(hint, list) else []
        count = len(node.items)
        if node.last is not None or node.comma:
            item_hint = true[count] if count < len(true) else MISSING
            inner = self._rests(
                node.last or Nothing(), self.item(together, count), item_hint, depth + 1
            )
            count += 1
        else:
            inner = iter([""])
        outer = []
        for items in (true[count:], []):
            least = max((one.get("minItems", 0) for one in together), default=0)
            if least > 60:
                continue
            opened = [None] * (count - len(node.items))
            made = self.items([*node.items, *opened, *items], least, together, depth)
            if made is not None:
                written = ",".join(dumped(one) for one in made[count:])
                comma = "," if written and count else ""
                outer.append(f"{comma}{written}]")
        yield from _ended(islice(inner, MOST_OUTSIDE), str.__add__, tuple(dict.fromkeys(outer)))

    def _object(
        self, node: OpenObject, together: list[dict[str, Any]], hint: Any, depth: int
    ) -> Iterator[str]:
        true = hint if isinstance(hint, dict) else {}
        if node.key is None and not node.comma:
            for wanted in (true, MISSING):
                made = self.members(node.members, together, depth, wanted)
                yield _closed(made, first=not node.members)
            return
        if isinstance(node.key, str):
            inner: Iterator[tuple[str, str]] = (
                (node.key, rest) for rest in self._value(node, node.key, together, true, depth)
            )
        else:
            inner = self._keys(node, together, true, depth)

        def closed(member: tuple[str, str], wanted: Any) -> str:
            have = {**node.members, member[0]: None}
            made = self.members(have, together, depth, wanted)
            return member[1] + _closed(made, first=False)

        yield from _ended(islice(inner, MOST_OUTSIDE), closed, (true, MISSING))

    def _value(
        self, node: OpenObject, key: str, together: list[dict[str, Any]], true: Any, depth: int
    ) -> Iterator[str]:
        colon = "" if node.value is not None else ":"
        schemas = self.member(together, key)
        wanted = true.get(key, MISSING)
        # Behind a colon without a value stands a Nothing, and before it None.
        for rest in self._rests(node.value or Nothing(), schemas, wanted, depth + 1):
            yield colon + rest

    def _keys(
        self, node: OpenObject, together: list[dict[str, Any]], true: Any, depth: int
    ) -> Iterator[tuple[str, str]]:
        open_key = node.key if isinstance(node.key, OpenString) else None
        text = open_key.text if open_key else ""
        needed = required(together, node.members)
        names = [name for name in (*true, *needed, *listed_keys(together)) if name.startswith(text)]
        for one in together:
            names += (
                text + more for p in one.get("patternProperties", {}) for more in _grown(p, text)
            )
        names += [text, f"{text}a", f"{text}zz", f"{text}1"]
        if open_key and open_key.tail:
            last = [chr(code) for code in _of_tail(open_key.tail)]
            names += [text + c for c in (*last, *_CANDIDATES)]
        fresh = OpenObject(members=node.members)
        for name in dict.fromkeys(names):
            if name in node.members:
                continue
            start = _rest_of_string(open_key, name) if open_key else dumped(name)[:-1]
            if start is None:
                continue
            values = self._value(fresh, name, together, true, depth)
            for rest in islice(values, 2):
                yield name, f'{start}"{rest}'


# -- strings --------------------------------------------------------------------------------------
_CANDIDATES = (
    "a", "0", " ", "é", "ü", "€", "漢", "あ", "д", "ا", "א", "ह", "ก", "한", "α", "😀", "𝒜", "\n",
    "\t", '"', "\\", "/", "\x01", "\x7f", "ÿ", "\u2028", "\ufffd", "\U000e0001", "ʰ", "ᄀ", "ḁ",
    "豈", "\U000f0000", "\U00100000", "\u07ff", "𐍈", "\U00020000", "\U00030000",
)  # fmt: skip


def _beyond(node: OpenString, together: list[dict[str, Any]]) -> Iterator[str]:
    """Texts that go on behind an unfinished escape or character."""
    last = [chr(code) for code in _of_tail(node.tail)]
    literal = [c for one in together if "pattern" in one for c in one["pattern"] if c.isalnum()]
    for c in dict.fromkeys((*literal[:40], *"0Z:aT", *last, *_CANDIDATES)):
        if spelled(node.tail, c) is not None:
            yield from islice(_strings(node.text + c, together), 14 if c in "0Z:aT" else 2)


def _of_tail(tail: bytes) -> list[int]:
    """Code points that a tail may become: of its bytes with continuations, or of its digits."""
    if tail[:1] == b"\\":
        digits = tail[2:].decode()
        if len(digits) == 4 or "\\" in digits:
            return [0x10000, 0x1F600]
        return [
            code
            for filler in ("0041", "0", "1", "f", "e9")
            if (code := int((digits + filler + "0000")[:4], 16)) and not 0xD800 <= code < 0xE000
        ]
    found = []
    for filler in (0x80, 0xA9, 0x90, 0xBF, 0xA0):
        for size in (1, 2, 3):
            try:
                found.append(ord((tail + bytes([filler] * size)).decode()))
            except (UnicodeDecodeError, TypeError):
                continue
    return found


def _rest_of_string(node: OpenString, text: str) -> str | None:
    """Return the rest up to the closing quote. Bytes of an unfinished character are Latin-1 here,
    marked by a NUL before them.
    """
    if not text.startswith(node.text):
        return None
    more = text[len(node.text) :]
    start = ""
    if node.tail:
        begun = spelled(node.tail, more[0]) if more else None
        if begun is None:
            return None
        start = begun if isinstance(begun, str) else "\0" + begun.decode("latin-1") + "\0"
        more = more[1:]
    return start + json.dumps(more, ensure_ascii=False)[1:-1]


def encoded(rest: str) -> bytes:
    """Return a rest's bytes; see ``_rest_of_string``."""
    if rest.startswith("\0"):
        _, raw, more = rest.split("\0", 2)
        return raw.encode("latin-1") + more.encode()
    return rest.encode()


def _strings(text: str, together: list[dict[str, Any]]) -> Iterator[str]:
    """Texts that begin like this: by format, by pattern, by length."""
    least = max((one.get("minLength", 0) for one in together), default=0)
    patterns = [one["pattern"] for one in together if "pattern" in one]
    for one in together:
        for template in TEMPLATES.get(one.get("format", ""), ()):
            yield text + template[len(text) :]
            yield text + template
        yield from (text + end for end in _ENDS.get(one.get("format", ""), ()))
    if least > 5000:
        return
    grown = text
    if patterns:
        longest = max(patterns, key=len)
        found = list(_grown(longest, text, least))
        yield from (text + more for more in found)
    yield grown
    yield grown.ljust(least, "a")
    for c in ("a", "0", "A", "-1", ".com", ")", "z.z"):
        yield (text + c).ljust(least, "a")


def _matches(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return False


@lru_cache(4096)
def _grown(pattern: str, text: str, least: int = 0) -> tuple[str, ...]:
    """Up to three rests with which a text matches a pattern, by partial matches, depth first."""
    try:
        return tuple(_found(regex.compile(pattern), re.compile(pattern), pattern, text, least))
    except (regex.error, re.error, TimeoutError):
        return ()


def _found(partial: Any, whole: Any, pattern: str, text: str, least: int) -> Iterator[str]:
    plain = re.sub(r"\\.", "", pattern.removeprefix("(?a:"))
    literal = [c for c in plain if c.isalnum() or c in "-_.:/@# +,"]
    # A literal goes on with the characters behind the text's last ones.
    at = "".join(literal).rfind(text[-3:]) + 3 if text else 0
    literal = literal[at:] + literal[:at]
    letters = list(dict.fromkeys([*literal, *"a0A1- ._/:@#+,Zz9%=()[]{}$"]))
    stack, steps, found = [text], 0, 0
    while stack and steps < STEPS and found < 3:
        at = stack.pop()
        if len(at) >= least and whole.search(at):
            found += 1
            yield at[len(text) :]
            continue
        if len(at) - len(text) > 120:
            continue
        fitting = []
        for c in letters:
            steps += 1
            if partial.search(at + c, partial=True, timeout=0.2):
                fitting.append(at + c)
            if len(fitting) == FITTING:
                break
        stack += reversed(fitting)


# -- numbers --------------------------------------------------------------------------------------
def _numbers(together: list[dict[str, Any]], *, whole: bool) -> list[Any]:
    whole = whole or any(one.get("type") == "integer" for one in together)
    steps = [one["multipleOf"] for one in together if one.get("multipleOf")]
    bounds = [
        one[word]
        for one in together
        for word in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        if word in one and not isinstance(one[word], bool)
    ]
    found: list[Any] = []
    for bound in bounds:
        found += [bound, bound + 1, bound - 1]
        if not whole:
            found += [bound + Decimal("0.5"), bound - Decimal("0.5")]
    if len(bounds) > 1:
        found.append(sum(bounds, Decimal(0)) / len(bounds))
    found += [1, 0, 2, 10, *([] if whole else [Decimal("0.5"), Decimal("1.5")]), -1, 100]
    if steps:
        found = [one for value in found for one in (int(value / steps[0]) * steps[0],)] + found
    made = []
    for value in found:
        value = Decimal(value)
        if value == value.to_integral_value() and abs(value) < 10**30:
            made.append(int(value))
        elif not whole:
            made.append(value)
    return sorted(dict.fromkeys(made), key=lambda one: not _within(one, together))


def _within(value: Any, together: list[dict[str, Any]]) -> bool:
    for one in together:
        for word, sign in (("minimum", 1), ("maximum", -1)):
            if word in one and (value - one[word]) * sign < 0:
                return False
            strict = one.get(f"exclusive{word.title()}")
            if strict is True and value == one.get(word):
                return False
            if strict is not None and not isinstance(strict, bool) and (value - strict) * sign <= 0:
                return False
    return True


def _multiples(text: str, together: list[dict[str, Any]]) -> Iterator[str]:
    """Rests of digits that make a multiple, or a number within bounds of more digits."""
    if not text.lstrip("-").isdigit():
        return
    steps = [one["multipleOf"] for one in together if one.get("multipleOf")] or [1]
    for digits in range(16):
        low = Decimal(text.lstrip("-")) * 10**digits
        value = -(-low // steps[0]) * steps[0]
        written = dumped(int(value) if value == int(value) else value)
        if written.startswith(text.lstrip("-")) and written != text.lstrip("-"):
            yield written[len(text.lstrip("-")) :]


# -- schemas that apply together ------------------------------------------------------------------
def _listed(together: list[dict[str, Any]]) -> list[Any] | None:
    """Return listed values, if some schema lists them."""
    for one in together:
        if "const" in one:
            return [one["const"]]
    lists = [one["enum"] for one in together if isinstance(one.get("enum"), list)]
    return min(lists, key=len) if lists else None


def _kinds(together: list[dict[str, Any]]) -> list[str]:
    found = ["string", "integer", "object", "array", "boolean", "null"]
    for one in together:
        if "type" in one:
            own = [one["type"]] if isinstance(one["type"], str) else one["type"]
            kept = [
                kind for kind in own if kind in found or (kind == "number" and "integer" in found)
            ]
            found = [kind for kind in found if kind == "integer" and "number" in own] + kept
        elif "properties" in one or "required" in one:
            found.sort(key=lambda kind: kind != "object")
        elif "items" in one:
            found.sort(key=lambda kind: kind != "array")
    return list(dict.fromkeys(found))


def required(together: Iterable[dict[str, Any]], have: Iterable[str]) -> list[str]:
    """Return required keys that are missing; also those that a present key requires."""
    names: dict[str, None] = {}
    for one in together:
        if isinstance(one.get("required"), list):
            names |= dict.fromkeys(one["required"])
        for word in ("dependentRequired", "dependencies"):
            for key, needed in one.get(word, {}).items():
                if isinstance(needed, list) and (key in have or key in names):
                    names |= dict.fromkeys(needed)
    return [name for name in names if name not in have]


def listed_keys(together: Iterable[dict[str, Any]]) -> list[str]:
    """Return the keys of ``properties``, then required ones that are not there."""
    schemas = list(together)
    names = dict.fromkeys(name for one in schemas for name in one.get("properties", {}))
    return list(names | dict.fromkeys(required(schemas, ())))


def _closed(members: dict[str, Any], *, first: bool) -> str:
    written = dumped(members)[1:]
    return written if first or not members else f",{written}"


def _ended(
    inner: Iterator[Any], end: Callable[[Any, Any], str], ways: Sequence[Any]
) -> Iterator[str]:
    """Yield rests with their ends: of the first two all ends, of others the first before."""
    late = []
    for number, one in enumerate(inner):
        for k, way in enumerate(ways):
            if k == 0 or number < 2:
                yield end(one, way)
            else:
                late.append((one, way))
    for one, way in late:
        yield end(one, way)


def _in_turn(streams: Sequence[Iterator[str]]) -> Iterator[str]:
    left = list(streams)
    while left:
        for stream in tuple(left):
            try:
                yield next(stream)
            except StopIteration:
                left.remove(stream)
