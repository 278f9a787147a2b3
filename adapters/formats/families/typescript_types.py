"""Tools as TypeScript types, the form in which gpt-oss was trained.

    // Gets the weather
    type f = (_: {
    // City name
    city: string,
    unit?: "c" | "f", // default: "c"
    }) => any;

These types inform the model and constrain nothing: schemas without such a type are shown as
``any``, and the grammar still enforces them. The text differs from the reference library where that
library loses information: all lines of a description are comments, anyOf is a union, const and
numeric enums are literals, references are followed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..location import split_pointer
from ..output_spec import Tool

_SIMPLE = {
    "string": "string",
    "number": "number",
    "integer": "number",
    "boolean": "boolean",
    "null": "null",
}
#: nesting of types; deeper ones are shown as ``any``, since references may be recursive
_DEPTH = 6
_INDENT = "    "


def namespace(name: str, tools: Sequence[Tool]) -> str:
    """Return all tools as one namespace."""
    shown = "".join(f"{_tool(tool)}\n\n" for tool in tools)
    return f"namespace {name} {{\n\n{shown}}} // namespace {name}"


def _tool(tool: Tool) -> str:
    about = comment(tool.description)
    if not tool.parameters:
        return f"{about}type {tool.name} = () => any;"
    shown = _Types(tool.parameters).show(tool.parameters, "", _DEPTH)
    return f"{about}type {tool.name} = (_: {shown}) => any;"


class _Types:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def show(self, schema: Any, indent: str, depth: int) -> str:
        """Return ``schema`` as a type; its inner lines start with ``indent``."""
        if not isinstance(schema, Mapping) or not depth:
            return "any"
        literals = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(literals, list) and literals:
            return " | ".join(json.dumps(value, ensure_ascii=False) for value in literals)
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list) and schema[key]:
                return self._union([self.show(part, indent, depth - 1) for part in schema[key]])
        if "$ref" in schema:
            return self.show(self._target(schema["$ref"]), indent, depth - 1)
        types = schema.get("type")
        if isinstance(types, list):
            return self._union([self._typed(name, schema, indent, depth) for name in types])
        shown = self._typed(types, schema, indent, depth)
        return f"{shown} | null" if schema.get("nullable") is True else shown

    def _typed(self, name: Any, schema: Mapping[str, Any], indent: str, depth: int) -> str:
        if name == "array":
            items = self.show(schema["items"], indent, depth - 1) if "items" in schema else ""
            if not items:
                return "Array<any>"
            return f"({items})[]" if " | " in items and "\n" not in items else f"{items}[]"
        if name == "object" or (name is None and "properties" in schema):
            return self._object(schema, indent, depth)
        return _SIMPLE.get(name, "any") if isinstance(name, str) else "any"

    def _object(self, schema: Mapping[str, Any], indent: str, depth: int) -> str:
        properties = schema.get("properties")
        required = schema.get("required")
        lines = []
        for key, value in properties.items() if isinstance(properties, Mapping) else ():
            optional = "" if isinstance(required, list) and key in required else "?"
            inner = self.show(value, indent + _INDENT, depth - 1)
            lines.append(_about(value, indent) + f"{indent}{_key(key)}{optional}: {inner},")
            if isinstance(value, Mapping) and "default" in value:
                lines[-1] += f" // default: {json.dumps(value['default'], ensure_ascii=False)}"
        return "{\n" + "".join(f"{line}\n" for line in lines) + indent + "}"

    def _union(self, types: list[str]) -> str:
        return " | ".join(dict.fromkeys(types))

    def _target(self, reference: Any) -> Any:
        found: Any = self._root
        for key in split_pointer(str(reference)):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found


def _about(schema: Any, indent: str) -> str:
    if not isinstance(schema, Mapping):
        return ""
    return comment(schema.get("title"), indent) + comment(schema.get("description"), indent)


def comment(text: Any, indent: str = "") -> str:
    """Return ``text`` as comment lines; "" for a value that is not text."""
    lines = text.splitlines() if isinstance(text, str) else []
    return "".join(f"{indent}// {line}\n" for line in lines)


def _key(key: str) -> str:
    return key if key.isidentifier() else json.dumps(key, ensure_ascii=False)
