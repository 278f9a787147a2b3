"""Locations of constants in a schema, for errors."""

from collections.abc import Iterator
from typing import Any

from ...json_pointer import escape

#: keywords whose members are schemas under names of the client
NAMED = frozenset(
    ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
)
ANNOTATIONS = frozenset(("default", "examples", "example"))


def constant_at(schema: Any, pointer: str, text: str) -> tuple[str, str] | None:
    """Return the pointer of a constant that contains this string, and its keyword.

    A member of an enum has a pointer of its own. None: there is no such constant.
    """
    todo = [(schema, pointer)]
    while todo:
        schema, pointer = todo.pop()
        if isinstance(schema, list):
            todo += [(each, f"{pointer}/{k}") for k, each in reversed(list(enumerate(schema)))]
        if not isinstance(schema, dict):
            continue
        if "const" in schema and _contains(schema["const"], text):
            return f"{pointer}/const", "const"
        values = schema.get("enum")
        for k, value in enumerate(values if isinstance(values, list) else ()):
            if _contains(value, text):
                return f"{pointer}/enum/{k}", "enum"
        todo += reversed(list(_below(schema, pointer)))
    return None


def _below(schema: dict[str, Any], pointer: str) -> Iterator[tuple[Any, str]]:
    for keyword, value in schema.items():
        place = f"{pointer}/{escape(keyword)}"
        if keyword in NAMED and isinstance(value, dict):
            yield from ((each, f"{place}/{escape(name)}") for name, each in value.items())
        elif keyword not in ANNOTATIONS and keyword not in ("const", "enum"):
            yield value, place


def _contains(value: Any, text: str) -> bool:
    """Whether a constant is this string, or has it inside, as a value or a key."""
    todo = [value]
    while todo:
        value = todo.pop()
        if value == text or (isinstance(value, dict) and text in value):
            return True
        if isinstance(value, list | dict):
            todo += value.values() if isinstance(value, dict) else value
    return False
