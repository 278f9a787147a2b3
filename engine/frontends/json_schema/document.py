"""Whether something is JSON at all, and not too deep: looked at before anything else reads it."""

from typing import Any

from ...errors import LimitExceeded, SpecError
from .keywords import escape

#: a container, the entry of the container that holds it, and under which key
_Entry = tuple[Any, "_Entry | None", str | int]


def check_document(root: Any, maximum: int, pointer: str) -> None:
    """
    Raises:
        LimitExceeded: nested deeper than ``maximum`` (``spec_depth``).
        SpecError: a value that JSON does not have, or a key that is no string.
    """
    level: list[_Entry] = [(root, None, "")] if isinstance(root, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > maximum:
            raise LimitExceeded("spec_depth", maximum, depth, pointer + _path(level[0]))
        below: list[_Entry] = []
        for entry in level:
            _check_container(entry, below, pointer)
        level = below


def _check_container(entry: _Entry, below: list[_Entry], pointer: str) -> None:
    """Looks at what the container holds, and adds the containers among it to ``below``."""
    value = entry[0]
    for key, child in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(child, dict | list):
            below.append((child, entry, key))
        elif child is not None and not isinstance(child, str | int | float):
            place = pointer + _path((child, entry, key))
            raise SpecError(f"a value of type {type(child).__name__} is not JSON", place)
    if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
        raise SpecError("a key must be a string", pointer + _path(entry))


def _path(entry: _Entry) -> str:
    parts: list[str] = []
    while entry[1] is not None:
        parts.append(escape(str(entry[2])))
        entry = entry[1]
    return "".join(f"/{part}" for part in reversed(parts))
