"""Reasons why no rest makes a prefix of a text valid.

``Refuter.reason`` is sound and not complete: a reason is a proof, and None is none. Whole
values are judged by jsonschema. Open ones are judged by keywords that no rest can mend: their kind,
values of ``enum`` and ``const``, lengths that are exceeded, keys that a closed object does not
list, signs of numbers, anchored patterns without a match to come. Combinators apply this to their
branches.

A rest that repeats a key does not count, because readers differ on repeated keys.
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
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
    spelled,
)

#: nested schemas at one place, by references
DEPTH = 40
REPEATED = "repeated key"
_KINDS = {OpenString: "string", OpenNumber: "number", OpenArray: "array", OpenObject: "object"}
#: 1 for a lower bound
_BOUNDS = {"minimum": 1, "exclusiveMinimum": 1, "maximum": -1, "exclusiveMaximum": -1}
#: formats, as patterns that jsonschema's checks are narrower than
_DAY, _TIME = r"[0-9]{4}-[01][0-9]-[0-3][0-9]", r"[0-2][0-9]:[0-5][0-9]:[0-6][0-9].*"
_NEEDED = {
    "date": _DAY,
    "date-time": f"{_DAY}[Tt]{_TIME}",
    "time": _TIME,
    "ipv4": r"(?:[0-9]{1,3}\\.){3}[0-9]{1,3}",
    "uuid": r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}",
}
#: constructs of patterns whose partial matches are not relied on
_DOUBTFUL = regex.compile(r"\(\?(?!:)|\\[bBpPkux1-9]|\\Z|\[\[|&&|--|\|\|")


def kind_of(node: Node) -> str:
    if isinstance(node, OpenLiteral):
        return "null" if node.text[0] == "n" else "boolean"
    return _KINDS[type(node)]


class Refuter:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._checks = {
            "type": self._type,
            "enum": lambda schema, node, _: self._listed(schema["enum"], node, "enum"),
            "const": lambda schema, node, _: self._listed([schema["const"]], node, "const"),
            "allOf": lambda schema, node, depth: self._any(schema["allOf"], node, depth),
            "anyOf": lambda schema, node, depth: self._all(schema["anyOf"], node, depth, "anyOf"),
            "oneOf": lambda schema, node, depth: self._all(schema["oneOf"], node, depth, "oneOf"),
        }

    def reason(self, root: Node) -> str | None:
        return self._reason(self._document.schema, root, 0)

    def _reason(self, schema: Any, node: Node, depth: int) -> str | None:
        if schema is True or depth > DEPTH:
            return None
        if schema is False:
            return "false"
        if isinstance(node, Nothing):
            return None
        try:
            if isinstance(node, Whole):
                return self._document.fault(node.value, schema)
            if "$ref" in schema:
                target = self._document.resolve(schema["$ref"])
                if found := self._reason(target, node, depth + 1):
                    return found
                if self._document.ignores_siblings:
                    return None
        except Undecidable:
            if self._document.ignores_siblings and isinstance(schema, dict) and "$ref" in schema:
                return None
        if isinstance(node, Whole):
            return None
        return self._by_keywords(schema, node, depth)

    def _by_keywords(self, schema: Any, node: Node, depth: int) -> str | None:
        for keyword, check in self._checks.items():
            applies = keyword in schema and keyword in self._document.keywords
            if applies and (found := check(schema, node, depth)):
                return found
        match node:
            case OpenString():
                return self._string(schema, node)
            case OpenNumber():
                return _number(schema, node)
            case OpenArray():
                return self._array(schema, node, depth)
            case OpenObject():
                return self._object(schema, node, depth)
        return None

    def _any(self, schemas: Iterable[Any], node: Node, depth: int) -> str | None:
        found = (self._reason(each, node, depth + 1) for each in schemas)
        return next((each for each in found if each), None)

    def _all(self, schemas: Iterable[Any], node: Node, depth: int, keyword: str) -> str | None:
        found = [self._reason(each, node, depth + 1) for each in schemas]
        if None in found:
            return None
        for mild in ("format", REPEATED):
            if mild in found:
                return mild
        return found[0] if len(set(found)) == 1 else keyword

    def _type(self, schema: Any, node: Node, _: int) -> str | None:
        types = schema["type"]
        types = [types] if isinstance(types, str) else types
        kind = kind_of(node)
        fits = kind in types or (kind == "number" and "integer" in types)
        return None if fits else "type"

    def _listed(self, values: Iterable[Any], node: Node, keyword: str) -> str | None:
        return None if any(_may_become(node, value) for value in values) else keyword

    def _string(self, schema: Any, node: OpenString) -> str | None:
        most = schema.get("maxLength")
        if most is not None and len(node.text) + bool(node.tail) > most:
            return "maxLength"
        pattern = schema.get("pattern")
        if pattern and _never_matches(pattern, node.text):
            return "pattern"
        needed = _NEEDED.get(schema.get("format", ""))
        return "format" if needed and _never_matches(f"(?a:^{needed})", node.text) else None

    def _array(self, schema: Any, node: OpenArray, depth: int) -> str | None:
        count = len(node.items) + (node.last is not None or node.comma)
        if (most := schema.get("maxItems")) is not None and count > most:
            return "maxItems"
        items = [*map(Whole, node.items), *([] if count == len(node.items) else [node.last])]
        for k, item in enumerate(items):
            for one in self._item_schemas(schema, k):
                if found := self._reason(one, item or Nothing(), depth + 1):
                    return found
        if schema.get("uniqueItems") is True:
            try:
                return self._document.fault(node.items, {"uniqueItems": True})
            except Undecidable:
                pass
        return None

    def _item_schemas(self, schema: Any, k: int) -> Iterator[Any]:
        positional = schema.get("prefixItems") if "prefixItems" in self._document.keywords else None
        rest = schema.get("items", True)
        if isinstance(rest, list):
            positional, rest = rest, schema.get("additionalItems", True)
        positional = positional or []
        yield positional[k] if k < len(positional) else rest

    def _object(self, schema: Any, node: OpenObject, depth: int) -> str | None:
        coming = node.key is not None or node.comma
        most = schema.get("maxProperties")
        if most is not None and len(node.members) + coming > most:
            return "maxProperties"
        for key, value in node.members.items():
            if found := self._member(schema, key, Whole(value), depth):
                return found
        if isinstance(node.key, str):
            return self._member(schema, node.key, node.value or Nothing(), depth)
        if coming:
            return _name(schema, node)
        return None

    def _member(self, schema: Any, key: str, value: Node, depth: int) -> str | None:
        schemas = []
        if key in schema.get("properties", {}):
            schemas.append(schema["properties"][key])
        try:
            for pattern, one in schema.get("patternProperties", {}).items():
                if self._document.fault(key, {"pattern": pattern}) is None:
                    schemas.append(one)
            named = "propertyNames" in schema and "propertyNames" in self._document.keywords
            if named and self._document.fault(key, schema["propertyNames"]):
                return "propertyNames"
        except Undecidable:
            return None
        if not schemas and "additionalProperties" in schema:
            if schema["additionalProperties"] is False:
                return "additionalProperties"
            schemas.append(schema["additionalProperties"])
        found = (self._reason(one, value, depth + 1) for one in schemas)
        return next((each for each in found if each), None)


def _name(schema: Any, node: OpenObject) -> str | None:
    """A key is to come, or is open, in an object that lists all its keys."""
    if schema.get("additionalProperties") is not False or schema.get("patternProperties"):
        return None
    key = node.key if isinstance(node.key, OpenString) else OpenString("")
    fitting = [name for name in schema.get("properties", {}) if _begins(key, name)]
    if any(name not in node.members for name in fitting):
        return None
    return REPEATED if fitting and key.text else "additionalProperties"


@lru_cache(4096)
def _compiled(pattern: str) -> Any:
    try:
        own = pattern.removeprefix("(?a:").removesuffix(")").removesuffix(r"\Z")
        return None if _DOUBTFUL.search(own) else regex.compile(pattern)
    except regex.error:
        return None


def _never_matches(pattern: str, text: str) -> bool:
    """Whether no text that begins like this matches: of patterns with an anchored begin."""
    if not pattern.startswith("(?a:^") or "|" in pattern or not text.isascii():
        return False
    compiled = _compiled(pattern)
    if compiled is None:
        return False
    return compiled.match(text, partial=True, timeout=1) is None


def _number(schema: Any, node: OpenNumber) -> str | None:
    text = node.text
    positive = text[0] != "-"
    mantissa = text.lstrip("-").lower().partition("e")[0]
    nonzero = bool(mantissa.strip("0."))
    for keyword, sign in _BOUNDS.items():
        bound = schema.get(keyword)
        if bound is None or isinstance(bound, bool):
            continue
        strict = (
            keyword.startswith("exclusive") or schema.get(f"exclusive{keyword.title()}") is True
        )
        # The least possible value on the bound's far side: 0 with the number's sign.
        wrong_side = positive == (sign < 0)
        if wrong_side and (bound * sign > 0 or (bound == 0 and (strict or nonzero))):
            return keyword
        if not wrong_side or "e" not in text.lower():
            continue
        exponent = text.lower().partition("e")[2]
        if exponent.lstrip("+").isdigit() and len(exponent) < 5:
            # More digits of the exponent make it only larger.
            value = Decimal(text)
            if (value - bound) * sign < 0:
                return keyword
    return None


def _may_become(node: Node, value: Any) -> bool:
    match node:
        case OpenString():
            return isinstance(value, str) and _begins(node, value)
        case OpenLiteral():
            words = {True: "true", False: "false", None: "null"}
            known = value is None or isinstance(value, bool)
            return known and words[value].startswith(node.text)
        case OpenNumber():
            is_number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
            return is_number and _digits_fit(node.text, value)
        case OpenArray():
            return isinstance(value, list) and _items_fit(node, value)
        case OpenObject():
            return isinstance(value, dict) and _members_fit(node, value)
    return True


def _begins(node: OpenString, text: str) -> bool:
    """Whether a text begins like an open string, with its unfinished escape or character."""
    if not text.startswith(node.text):
        return False
    more = text[len(node.text) :]
    return not node.tail or (more != "" and spelled(node.tail, more[0]) is not None)


def _digits_fit(text: str, value: Any) -> bool:
    """The significant digits of a text are a prefix of those of the value, with zeros behind."""
    if value != 0 and (text[0] == "-") != (value < 0):
        return False
    written = text.lstrip("-").lower().partition("e")[0].replace(".", "").lstrip("0")
    digits = "".join(map(str, Decimal(value).as_tuple().digits)).strip("0")
    return digits.ljust(len(written), "0").startswith(written)


def _equal(one: Any, other: Any) -> bool:
    """JSON's equality: a boolean is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    return bool(one == other)


def _items_fit(node: OpenArray, value: list[Any]) -> bool:
    count = len(node.items)
    if not all(map(_equal, node.items, value[:count])) or len(value) < count:
        return False
    if node.last is None:
        return not node.comma or len(value) > count
    return len(value) > count and _may_become(node.last, value[count])


def _members_fit(node: OpenObject, value: dict[str, Any]) -> bool:
    for key, one in node.members.items():
        if key not in value or not _equal(one, value[key]):
            return False
    left = [key for key in value if key not in node.members]
    if isinstance(node.key, str):
        return node.key in left and (node.value is None or _may_become(node.value, value[node.key]))
    if isinstance(node.key, OpenString):
        return any(_may_become(node.key, key) for key in left)
    return bool(left) or not node.comma
