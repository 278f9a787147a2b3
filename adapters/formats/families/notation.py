"""Notations: how families write the arguments of a call.

A notation has two directions: ``written`` turns the JSON text of a past call into the family's
text, and ``style`` names the engine's grammar of that text (the field ``style`` of a json_schema
node), whose events the reader turns back into JSON.
"""

import json
from dataclasses import dataclass
from typing import Any, Protocol

from engine import STYLES, Style

from ..parts import JSON_STYLE


class Notation(Protocol):
    """How arguments are written. ``style``: of the json_schema node."""

    @property
    def style(self) -> str: ...

    def written(self, arguments: str) -> str:
        """Return the arguments of a past call, given as JSON text. Text that is no JSON object is
        returned unchanged: a truncated answer may contain it.
        """
        ...


@dataclass(frozen=True)
class JsonNotation:
    """JSON text, unchanged."""

    style: str = JSON_STYLE

    def written(self, arguments: str) -> str:
        """See Notation."""
        return arguments


JSON = JsonNotation()


@dataclass(frozen=True)
class Elements:
    """One element for each argument, in an XML-like style of the engine.

    ``after``   the white space behind each element.
    ``glue``    the white space in place of the style's glue; None: the glue itself.
    """

    style: str
    after: str = ""
    glue: str | None = None

    def written(self, arguments: str) -> str:
        """See Notation."""
        try:
            values = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return arguments
        if not isinstance(values, dict):
            return arguments
        style = STYLES[self.style]
        if self.glue is not None:
            style = style._replace(open=style.open.replace(style.glue, self.glue))
        return "".join(_element(style, key, value) + self.after for key, value in values.items())


def _element(style: Style, key: str, value: Any) -> str:
    for character, escape in style.escapes.items():
        key = key.replace(character, escape)
    begin, end = (text.replace("{key}", key) for text in (style.open, style.close))
    return _tagged(style, begin, end, value)


def _tagged(style: Style, begin: str, end: str, value: Any) -> str:
    begin = begin.replace("{type}", style.types.get(_type_of(value), ""))
    if isinstance(value, str):
        return begin + value + end
    if style.nested and isinstance(value, dict):
        return begin + "".join(_element(style, key, each) for key, each in value.items()) + end
    if style.nested and isinstance(value, list):
        close = style.close.replace("{key}", "item")
        return begin + "".join(_tagged(style, style.item, close, each) for each in value) + end
    return begin + json.dumps(value, ensure_ascii=False) + end


def _type_of(value: Any) -> str:
    types = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
    return "null" if value is None else types.get(type(value), "array")
