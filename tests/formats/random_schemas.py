"""Sets of tools with schemas of every kind, small enough that a random answer ends."""

from typing import Any

from adapters.formats import Tool

STRING: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
BOOLEAN: dict[str, Any] = {"type": "boolean"}
NULL: dict[str, Any] = {"type": "null"}

UNITS = ["C", "a b", 'q"t', "it's", "x\\y", "null", "5"]


def _object(properties: dict[str, Any], required: int = 0, **more: Any) -> dict[str, Any]:
    """Return the schema of an object whose first ``required`` properties are required."""
    schema = {"type": "object", "properties": properties, "required": [*properties][:required]}
    return {**schema, "additionalProperties": False, **more}


def _list(items: Any, most: int = 2, **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, "maxItems": most, **more}


_NODE = _object({"name": STRING, "children": _list({"$ref": "#/$defs/node"})}, 1)

TOOL_SETS: dict[str, tuple[Tool, ...]] = {
    "strings": (
        Tool("search", _object({"query": STRING, "note": {**STRING, "maxLength": 12}}, 1)),
        Tool("pick", _object({"unit": {**STRING, "enum": UNITS}}, 1)),
    ),
    "scalars": (
        Tool("set_value", _object({"count": INTEGER, "ratio": NUMBER, "on": BOOLEAN}, 2)),
        Tool("ping", _object({})),
        Tool("pinger", {}),
    ),
    "enums": (
        Tool("choose", _object({"level": {**INTEGER, "enum": [1, 2, 30]}})),
        Tool("mode", _object({"mode": {**STRING, "const": "fast"}})),
    ),
    "null": (Tool("clear", _object({"nothing": NULL})),),
    "objects": (
        Tool("book", _object({"stay": _object({"from": STRING, "nights": INTEGER}, 1)}, 1)),
        Tool("send", _object({"to": _list(_object({"name": STRING, "ok": BOOLEAN}, 1))}, 1)),
    ),
    "lists": (
        Tool("plot", _object({"names": _list(STRING, 3), "rows": _list(_list(NUMBER))}, 1)),
        Tool("mark", _object({"flags": _list(BOOLEAN), "at": _list(INTEGER, minItems=1)}, 1)),
    ),
    "optional": (
        Tool("trim", _object({"end": {"type": ["string", "null"]}})),
        Tool("grow", _object({"size": {"anyOf": [INTEGER, NULL]}})),
    ),
    "unions": (
        Tool("find", _object({"id": {"type": ["string", "integer"]}}, 1)),
        Tool("flag", _object({"value": {"anyOf": [BOOLEAN, STRING]}}, 1)),
    ),
    "mixed enum": (Tool("rank", _object({"level": {"enum": [1, "high", None, True]}}, 1)),),
    "additional": (
        Tool("store", _object({"key": STRING}, 1, additionalProperties=INTEGER)),
        Tool("label", {"type": "object", "additionalProperties": STRING}),
    ),
    "any": (
        Tool("put", _object({"value": {}}, 1)),
        Tool("update", _object({"fields": {"type": "object"}, "list": _list({})})),
    ),
    "references": (
        Tool("tree", _object({"root": {"$ref": "#/$defs/node"}}, 1, **{"$defs": {"node": _NODE}})),
    ),
    "keys": (
        Tool("write", _object({"two words": STRING, "a-b": INTEGER, "ключ": STRING}, 1)),
        Tool("read", _object({"$x.y": INTEGER, "class": STRING}, 1)),
    ),
    "names": (
        Tool("get-weather", _object({"city": STRING}, 1)),
        Tool("v2.list", _object({})),
    ),
}  # fmt: skip
