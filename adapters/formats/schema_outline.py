"""A JSON Schema as a short outline of its values, for prompts.

    {"item": string (name of the product), "stars": integer (1 to 5), "tags": list of string}

Models, and small ones most of all, follow a type at the place of its value better than the keywords
of a JSON Schema. An outline says everything that its schema says, but for the difference of oneOf
and anyOf. A schema with a keyword that it cannot say, or whose outline would be longer, has none.
Outlines inform the model and constrain nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

#: nesting of values and references; deeper schemas have no outline
_DEPTH = 32
#: keywords that make the shape: one of them at each place, or a type with its values
_SHAPES = ("const", "enum", "$ref", "anyOf", "oneOf", "type")
_VALUES_OF_TYPE = (["const", "type"], ["enum", "type"])
#: types without a schema of their parts
_TYPE_NAMES = {name: name for name in ("string", "number", "integer", "null")}
_TYPE_NAMES |= {"boolean": "true or false", "array": "any list"}
#: with [string, ...], SmolLM2-135M reached the limit of tokens in 7 of 80 calls, not in 5
_LIST = "list of "
#: keywords of the types' shapes, and keywords that do not describe values
_PARTS = ("items", "properties", "required", "additionalProperties")
_TABLES = ("$defs", "definitions")
_SILENT = ("$schema", "$id", "$comment", *_TABLES)
#: lower and upper bounds, with what they count
_BOUNDS = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minProperties", "maxProperties", " keys"),
)
_REMARKS = {
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "format": "format {}",
    "pattern": "matches {}",
}
_FLAGS = {"uniqueItems": "no item twice", "deprecated": "deprecated"}
_KNOWN = {"title", "description", "default", "examples", *_SHAPES, *_PARTS, *_SILENT}
_KNOWN.update(_REMARKS, _FLAGS, *(names for *names, _ in _BOUNDS))


class _NoOutlineError(Exception):
    """The schema says something that an outline cannot say, or the outline gets too long."""


def schema_outline(schema: Any, name: str = "") -> str | None:
    """Return the outline of a JSON Schema on one line, or None if it has none.

    ``name`` is what the prompt already calls the schema. The time is in proportion to the schema:
    references are written out, but only until the outline is longer than the schema.
    """
    try:
        return _Outline(schema).value(schema, name, "", _DEPTH)
    except _NoOutlineError:
        return None


class _Outline:
    """Writes the outline of one schema, in no more characters than the schema has."""

    def __init__(self, root: Any):
        self._root = root
        self._left = len(_json(root))

    def value(self, schema: Any, name: str, remark: str, depth: int) -> str:
        """Return the type of a schema's values, with the remarks about them in brackets."""
        if schema is True:
            schema = {}
        if not isinstance(schema, Mapping) or not _KNOWN.issuperset(schema) or not depth:
            raise _NoOutlineError
        remarks = "; ".join(filter(None, [remark, *_remarks(schema, name)]))
        shape = self._shape(schema, name, depth - 1)
        return shape + self._text(f" ({remarks})") if remarks else shape

    def _text(self, text: str) -> str:
        """Return a part of the outline, if there is room for it."""
        self._left -= len(text)
        if self._left < 0:
            raise _NoOutlineError
        return text

    def _shape(self, schema: Mapping[str, Any], name: str, depth: int) -> str:
        shapes = [keyword for keyword in _SHAPES if keyword in schema]
        if len(shapes) > 1 and shapes not in _VALUES_OF_TYPE:
            raise _NoOutlineError
        keyword = shapes[0] if shapes else ""
        if keyword != "type" and any(part in schema for part in _PARTS):
            raise _NoOutlineError
        if keyword == "type":
            return self._types(schema, depth)
        if keyword == "$ref":
            return self._referenced(schema["$ref"], name, depth)
        if keyword in ("anyOf", "oneOf"):
            variants = _list(schema[keyword])
            return self._joined(self.value(each, name, "", depth) for each in variants)
        if keyword == "enum":
            return self._joined(self._text(_json(each)) for each in _list(schema["enum"]))
        return self._text(_json(schema["const"]) if keyword == "const" else "any value")

    def _joined(self, alternatives: Iterator[str]) -> str:
        shown = list(alternatives)
        if not shown:
            raise _NoOutlineError
        if len(shown) > 1:
            shown = [self._bracketed(each) if each.startswith(_LIST) else each for each in shown]
        return self._separated(" or ", shown)

    def _bracketed(self, text: str) -> str:
        return self._text("(") + text + self._text(")")

    def _separated(self, separator: str, parts: Sequence[str]) -> str:
        self._text(separator * (len(parts) - 1))
        return separator.join(parts)

    def _referenced(self, reference: Any, name: str, depth: int) -> str:
        """Return the outline of a definition: references elsewhere are left to the JSON Schema."""
        root, table, definition, *_ = [*str(reference).split("/", 2), "", ""]
        definitions = self._root.get(table) if root == "#" and table in _TABLES else None
        if not isinstance(definitions, Mapping) or definition not in definitions:
            raise _NoOutlineError
        return self.value(definitions[definition], definition, "", depth)

    def _types(self, schema: Mapping[str, Any], depth: int) -> str:
        kind = schema["type"]
        kinds = [kind] if isinstance(kind, str) else _list(kind)
        return self._joined(self._type(schema, each, depth) for each in kinds)

    def _type(self, schema: Mapping[str, Any], kind: Any, depth: int) -> str:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array" and "items" in schema:
            items = self.value(schema["items"], "", "", depth)
            return self._text(_LIST) + items
        if not isinstance(kind, str) or kind not in _TYPE_NAMES:
            raise _NoOutlineError
        return self._text(_TYPE_NAMES[kind])

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties, names = schema.get("properties", {}), _list(schema.get("required", ()))
        required = {name for name in names if isinstance(name, str)}
        is_listed = isinstance(properties, Mapping) and required <= properties.keys()
        if not is_listed or not all(isinstance(name, str) for name in names):
            raise _NoOutlineError
        members = []
        for key, value in properties.items():
            remark = "" if key in required else "optional"
            members.append(self._text(f"{_json(key)}: ") + self.value(value, key, remark, depth))
        further = schema.get("additionalProperties", False)
        if further is not False:
            which = "any other key" if members else "any key"
            members.append(self._text(f"{which}: ") + self.value(further, "", "", depth))
        elif not members and "additionalProperties" not in schema:
            return self._text("any object")
        return self._text("{") + self._separated(", ", members) + self._text("}")


def _remarks(schema: Mapping[str, Any], name: str) -> Iterator[str]:
    for keyword in ("title", "description"):
        said = schema.get(keyword, "")
        if not isinstance(said, str):
            raise _NoOutlineError
        if keyword != "title" or _letters(said) != _letters(name):
            yield " ".join(said.split())
    for low, high, unit in _BOUNDS:
        least, most = (_json(schema[each]) if each in schema else "" for each in (low, high))
        if least and most:
            yield f"{least} to {most}{unit}"
        elif least or most:
            yield f"{least} or more{unit}" if least else f"up to {most}{unit}"
    for keyword, text in _REMARKS.items():
        if keyword in schema:
            said = schema[keyword]
            yield text.replace("{}", said if isinstance(said, str) else _json(said))
    yield from (text for keyword, text in _FLAGS.items() if schema.get(keyword) is True)
    if "default" in schema:
        yield f"default {_json(schema['default'])}"
    if "examples" in schema:
        yield f"for example {_json(schema['examples'])}"


def _list(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _NoOutlineError
    return value


def _letters(text: str) -> str:
    """Return what a title shares with the key from which a program made it."""
    return "".join(filter(str.isalnum, text)).casefold()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
