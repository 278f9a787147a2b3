"""Notations: how families write the arguments of a call.

A notation has two directions: ``written`` turns the JSON text of a past call into the family's
text, and ``style`` names the engine's grammar of that text (the field ``style`` of a json_schema
node), whose events the reader turns back into JSON.
"""

import json
from dataclasses import dataclass
from typing import Any

from engine import STYLES, Style

from ..parts import JSON_STYLE


@dataclass(frozen=True)
class Notation:
    """How arguments are written: as JSON text, unless a subclass has ``_text``. ``style``: of the
    json_schema node.
    """

    style: str = JSON_STYLE

    def written(self, arguments: str) -> str:
        """Return the arguments of a past call, given as JSON text. Text that is no JSON object is
        returned unchanged: a truncated answer may contain it.
        """
        if self.style == JSON_STYLE:
            return arguments
        try:
            values = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return arguments
        return self._text(values) if isinstance(values, dict) else arguments

    @property
    def layout(self) -> dict[str, Any]:
        """The layout that ``written`` has of its own, as options of the json_schema node."""
        return {}

    def _text(self, values: dict[str, Any]) -> str:
        raise NotImplementedError


JSON = Notation()


@dataclass(frozen=True)
class Elements(Notation):
    """One element for each argument, in an XML-like style of the engine.

    ``after``   the white space behind each element.
    ``glue``    the white space in place of the style's glue; None: the glue itself.
    """

    after: str = ""
    glue: str | None = None

    def _text(self, values: dict[str, Any]) -> str:
        style = STYLES[self.style]
        if self.glue is not None:
            style = style._replace(open=style.open.replace(style.glue, self.glue))
        return "".join(_element(style, key, value) + self.after for key, value in values.items())

    @property
    def layout(self) -> dict[str, Any]:
        glue = STYLES[self.style].glue if self.glue is None else self.glue
        return {"element_space": [glue, self.after]}


@dataclass(frozen=True)
class PythonArguments(Notation):
    """Python's keyword arguments. ``quote``: of strings, a quotation mark or an apostrophe."""

    style: str = "python"
    quote: str = '"'

    def _text(self, values: dict[str, Any]) -> str:
        return ", ".join(f"{key}={self._literal(value)}" for key, value in values.items())

    @property
    def layout(self) -> dict[str, Any]:
        return {"indent": None, "separators": [", ", ": "]}

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            text = json.dumps(value, ensure_ascii=False)[1:-1]
            if self.quote == "'":
                text = text.replace('\\"', '"').replace("'", "\\'")
            return f"{self.quote}{text}{self.quote}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._literal, value))}]"
        if isinstance(value, dict):
            # the grammar has keys in quotation marks only
            keys = (json.dumps(key, ensure_ascii=False) for key in value)
            pairs = (
                f"{key}: {self._literal(each)}"
                for key, each in zip(keys, value.values(), strict=True)
            )
            return f"{{{', '.join(pairs)}}}"
        return repr(value)


@dataclass(frozen=True)
class GemmaArguments(Notation):
    """An object of Gemma without its braces: bare keys, and strings between marks."""

    style: str = "gemma"

    def _text(self, values: dict[str, Any]) -> str:
        return self._literal(values)[1:-1]

    @property
    def layout(self) -> dict[str, Any]:
        return {"indent": None, "separators": [",", ":"]}

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            quote = STYLES[self.style].quote
            return f"{quote}{value}{quote}"
        if isinstance(value, list):
            return f"[{','.join(map(self._literal, value))}]"
        if isinstance(value, dict):
            pairs = (f"{key}:{self._literal(each)}" for key, each in value.items())
            return f"{{{','.join(pairs)}}}"
        return json.dumps(value)


def _element(style: Style, key: str, value: Any) -> str:
    for character, escape in style.escapes.items():
        key = key.replace(character, escape)
    begin, end = (text.replace("{key}", key) for text in (style.open, style.close))
    return _tagged(style, begin, end, value)


def _tagged(style: Style, begin: str, end: str, value: Any) -> str:
    begin = begin.replace("{type}", style.types.get(_type_of(value), ""))
    if isinstance(value, str):
        return begin + _raw(style, value) + end
    if style.nested and isinstance(value, dict):
        return begin + "".join(_element(style, key, each) for key, each in value.items()) + end
    if style.nested and isinstance(value, list):
        close = style.close.replace("{key}", "item")
        return begin + "".join(_tagged(style, style.item, close, each) for each in value) + end
    return begin + json.dumps(value, ensure_ascii=False) + end


def _raw(style: Style, value: str) -> str:
    """Return a raw string, in the style's wrap if it contains a character of XML or a line feed."""
    before, after = style.wrap
    if before and after not in value and any(character in value for character in "<&\n"):
        return before + value + after
    return value


def _type_of(value: Any) -> str:
    types = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
    return "null" if value is None else types.get(type(value), "array")
