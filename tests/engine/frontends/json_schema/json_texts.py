"""JSON texts of values in one spelling, and in the white space of a layout."""

import json
import re
from typing import Any

#: options of ``json.dumps``
LAYOUTS: list[dict[str, Any]] = [
    {"indent": 2},
    {"indent": 0},
    {"indent": "\t", "separators": [", ", ":"]},
    {"indent": 1, "separators": (",\r\n", " : ")},
    {"separators": (", ", ": ")},
    {"separators": (",", ": ")},
]
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:\s"]+')


def written(value: Any, **options: Any) -> str:
    """A value as serializers write it, whole floats as integers."""
    if isinstance(value, dict):
        return json.dumps(
            {key: json.loads(written(item)) for key, item in value.items()}, **options
        )
    if isinstance(value, list):
        return json.dumps([json.loads(written(item)) for item in value], **options)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        value = int(value)
    return json.dumps(value, **options)


def laid_out(text: str, indent: int | str | None = None, separators: Any = None) -> str:
    """A JSON text with its white space replaced, everything else as it is written: keys that
    repeat, and the spelling of numbers, would not outlive ``json.loads``.
    """
    item, key = separators or (", " if indent is None else ",", ": ")
    unit = " " * indent if isinstance(indent, int) else indent
    out, depth, before = "", 0, ""
    for token in TOKENS.findall(text):
        empty = before in ("{", "[") and token in ("}", "]")
        depth -= token in ("}", "]")
        if not empty and unit is not None and (before in ("{", "[", ",") or token in ("}", "]")):
            out += "\n" + depth * unit
        depth += token in ("{", "[")
        out += {",": item, ":": key}.get(token, token)
        before = token
    return out
