"""Tools as TypeScript types, the form in which gpt-oss was trained.

    namespace functions {

    // Gets the weather
    type f = (_: {
    // City name
    city: string,
    unit?: "c" | "f", // default: c
    }) => any;

    } // namespace functions

The text equals the reference library's (openai-harmony), and so do its limits: anyOf, const and
references are shown as ``any``, and only the first line of a property's description is a comment.
The types inform the model and constrain nothing; the grammar enforces the whole schema.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..output_spec import Tool
from ..rust_json import rust_json

_SIMPLE = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
#: nesting of types; deeper ones are shown as ``any``. The library refuses JSON of 128 levels
_DEPTH = 128


@dataclass(frozen=True)
class Namespace:
    """A named group of tools. One without tools is described in plain text."""

    name: str
    description: str
    tools: tuple[Tool, ...]


def tools_section(namespaces: Sequence[Namespace]) -> str:
    """Return the section that shows these tools to the model."""
    return "\n\n".join(["# Tools", *map(_namespace, namespaces)])


def comment(text: Any) -> str:
    """Return ``text`` as comment lines; "" for a value that is not text."""
    return "".join(f"// {line}\n" for line in _lines(text)) if isinstance(text, str) else ""


def _namespace(space: Namespace) -> str:
    head = f"## {space.name}\n\n"
    if not space.tools:
        return head + "\n".join(_lines(space.description))
    shown = "".join(f"{_tool(tool)}\n\n" for tool in space.tools)
    about = comment(space.description)
    return f"{head}{about}namespace {space.name} {{\n\n{shown}}} // namespace {space.name}"


def _tool(tool: Tool) -> str:
    arguments = f"_: {_type(tool.parameters, '', _DEPTH)}" if tool.parameters else ""
    return f"{comment(tool.description)}type {tool.name} = ({arguments}) => any;"


def _lines(text: str) -> list[str]:
    lines = re.split("\r?\n", text)
    return lines if lines[-1] else lines[:-1]


# -- types -----------------------------------------------------------------------------------------


def _type(schema: Any, indent: str, depth: int) -> str:
    """Return ``schema`` as a type; its inner lines start with ``indent``."""
    if not isinstance(schema, Mapping) or not depth:
        return "any"
    variants = schema.get("oneOf")
    if isinstance(variants, list):
        return "".join(
            f"\n{indent} | {_variant(each, indent, depth)}{_trailing(_remarks(each))}"
            for each in variants
        )
    kind = schema.get("type")
    if isinstance(kind, list):
        names = [name for name in kind if isinstance(name, str)]
        return " | ".join("number" if name == "integer" else name for name in names) or "any"
    if kind == "object":
        return _object(schema, indent, depth)
    if kind == "array" and "items" in schema:
        return f"{_type(schema['items'], indent, depth - 1)}[]"
    if kind == "array":
        return "Array<any>"
    if kind == "string":
        values = schema.get("enum")
        names = values if isinstance(values, list) else []
        return " | ".join(f'"{name}"' for name in names if isinstance(name, str)) or "string"
    return _SIMPLE.get(kind, "any") if isinstance(kind, str) else "any"


def _object(schema: Mapping[str, Any], indent: str, depth: int) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    shown = [
        line
        for key, value in (properties.items() if isinstance(properties, Mapping) else ())
        for line in _property(key if key in needed else f"{key}?", value, indent, depth)
    ]
    about = _described(schema, indent)
    return "".join([*about, "{\n", *shown, indent, "}"])


def _property(name: str, value: Any, indent: str, depth: int) -> Iterator[str]:
    fields = value if isinstance(value, Mapping) else {}
    if isinstance(fields.get("title"), str):
        yield f"{indent}// {fields['title']}\n{indent}//\n"
    if "oneOf" not in fields:
        yield from _described(fields, indent)
    yield from _examples(fields.get("examples"), indent)
    if isinstance(fields.get("oneOf"), list):
        yield from _union(name, fields, indent, depth)
        return
    default = [] if "oneOf" in fields else _default(fields)
    shown = _nullable(_type(value, f"{indent}    ", depth - 1), fields)
    yield f"{indent}{name}: {shown},{_trailing(default)}\n"


def _union(name: str, fields: Mapping[str, Any], indent: str, depth: int) -> Iterator[str]:
    """Yield a property whose type is oneOf, one variant on each line."""
    variants, about = fields["oneOf"], fields.get("description")
    first = variants[0] if variants and isinstance(variants[0], Mapping) else {}
    is_above = isinstance(about, str) and about != first.get("description")
    if is_above:
        yield f"{indent}// {about}\n"
    for default in _default(fields):
        yield f"{indent}// {default}\n"
    yield f"{indent}{name}:\n"
    for number, each in enumerate(variants):
        own = each if isinstance(each, Mapping) else {}
        said = own.get("description")
        is_known = said == about or (is_above and number == 0)
        remarks = [said] if isinstance(said, str) and not is_known else []
        remarks += _default(own)
        yield f"{indent} | {_variant(each, indent, depth)}{_trailing(remarks)}\n"
    yield f"{indent},\n"


def _variant(schema: Any, indent: str, depth: int) -> str:
    return _nullable(_type(schema, f"{indent}   ", depth - 1), schema)


def _nullable(shown: str, schema: Any) -> str:
    nullable = isinstance(schema, Mapping) and schema.get("nullable") is True
    return f"{shown} | null" if nullable and "null" not in shown else shown


# -- comments --------------------------------------------------------------------------------------


def _described(schema: Mapping[str, Any], indent: str) -> list[str]:
    about = schema.get("description")
    return [f"{indent}// {about}\n"] if isinstance(about, str) else []


def _examples(examples: Any, indent: str) -> Iterator[str]:
    if isinstance(examples, list) and examples:
        yield f"{indent}// Examples:\n"
        for example in examples:
            if isinstance(example, str):
                yield f'{indent}// - "{example}"\n'


def _remarks(variant: Any) -> list[str]:
    """Return the description and the default of a variant inside another type."""
    if not isinstance(variant, Mapping):
        return []
    about = variant.get("description")
    default = _default(variant, quoted=True)
    return [*([about] if isinstance(about, str) else []), *default]


def _default(schema: Mapping[str, Any], *, quoted: bool = False) -> list[str]:
    """Return the remark about the default, if there is one. ``quoted``: also that of an enum."""
    if "default" not in schema:
        return []
    value, values = schema["default"], schema.get("enum")
    if not isinstance(value, str):
        return [f"default: {rust_json(value)}"]
    if isinstance(values, list) and values:
        return [f"default: {rust_json(value) if quoted else value}"]
    return [f'default: "{value}"']


def _trailing(remarks: Sequence[str]) -> str:
    return f" // {' '.join(remarks)}" if remarks else ""
