"""Notations: how families write the arguments of a call.

A notation has two directions: ``written`` turns the JSON text of a past call into the family's
text, and ``style`` is the engine's grammar of that text (the field ``style`` of a json_schema
node), by its name or as data, whose events the reader turns back into JSON.
"""

import json
from dataclasses import dataclass
from typing import Any

from engine import Style, style_of

from ..parts import JSON_STYLE


@dataclass(frozen=True)
class Notation:
    """How arguments are written: as JSON text, unless a subclass has ``_text``. ``style``: of the
    json_schema node.
    """

    style: str | Style = JSON_STYLE

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
        style = style_of(self.style)
        if self.glue is not None:
            style = style._replace(open=style.open.replace(style.glue, self.glue))
        return "".join(_element(style, key, value) + self.after for key, value in values.items())

    @property
    def layout(self) -> dict[str, Any]:
        glue = style_of(self.style).glue if self.glue is None else self.glue
        return {"element_space": [glue, self.after]}


@dataclass(frozen=True)
class PythonArguments(Notation):
    """Python's keyword arguments. ``quote``: of strings, a quotation mark or an apostrophe;
    ``separator``: of arguments and of items.
    """

    style: str | Style = "python"
    quote: str = '"'
    separator: str = ", "

    def _text(self, values: dict[str, Any]) -> str:
        return self.separator.join(f"{key}={self._literal(value)}" for key, value in values.items())

    @property
    def layout(self) -> dict[str, Any]:
        return {"indent": None, "separators": [self.separator, ": "]}

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            text = json.dumps(value, ensure_ascii=False)[1:-1]
            if self.quote == "'":
                text = text.replace('\\"', '"').replace("'", "\\'")
            return f"{self.quote}{text}{self.quote}"
        if isinstance(value, list):
            return f"[{self.separator.join(map(self._literal, value))}]"
        if isinstance(value, dict):
            # the grammar has keys in quotation marks only
            keys = (json.dumps(key, ensure_ascii=False) for key in value)
            pairs = (
                f"{key}: {self._literal(each)}"
                for key, each in zip(keys, value.values(), strict=True)
            )
            return f"{{{self.separator.join(pairs)}}}"
        constants = dict(zip((True, False, None), style_of(self.style).constants, strict=False))
        is_constant = value is None or isinstance(value, bool)
        return constants.get(value, repr(value)) if is_constant else repr(value)


@dataclass(frozen=True)
class GemmaArguments(Notation):
    """An object of Gemma without its braces: bare keys, and strings between marks."""

    style: str | Style = "gemma"

    def _text(self, values: dict[str, Any]) -> str:
        return self._literal(values)[1:-1]

    @property
    def layout(self) -> dict[str, Any]:
        return {"indent": None, "separators": [",", ":"]}

    def _literal(self, value: Any) -> str:
        if isinstance(value, str):
            quote = style_of(self.style).quote
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
    head, _, begin = style.open.partition("{key}")
    return head + key + _tagged(style, begin, style.close.replace("{key}", key), value)


def _tagged(style: Style, begin: str, end: str, value: Any) -> str:
    begin = begin.replace("{type}", style.types.get(_type_of(value), ""))
    if isinstance(value, str) and style.values == "json":
        return begin + _raw(style, value) + end
    if style.nested and isinstance(value, dict):
        return begin + "".join(_element(style, key, each) for key, each in value.items()) + end
    if style.nested and isinstance(value, list):
        close = style.close.replace("{key}", style.item_name)
        return begin + "".join(_tagged(style, style.item, close, each) for each in value) + end
    return begin + json.dumps(value, ensure_ascii=False) + end


def _raw(style: Style, value: str) -> str:
    """Return a raw string, in the style's wrap if it contains a character of XML, a line feed or
    the begin of the wrap.
    """
    before, after = style.wrap
    is_special = before in value or any(character in value for character in "<&\n")
    if before and after not in value and is_special:
        return before + value + after
    return value


def _type_of(value: Any) -> str:
    types = {bool: "boolean", int: "integer", float: "number", str: "string", dict: "object"}
    return "null" if value is None else types.get(type(value), "array")
