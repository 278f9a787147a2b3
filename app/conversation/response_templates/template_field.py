"""A field of a response template: its keys, checked, and its delimiters as pieces of text.

Not here    the meaning of fields (response_template), of calls (readings, transform).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from engine import EngineError, Style, read_style, style_field

from .patterns import Pieces, Text, UnreadablePattern, read_literal, read_pattern

#: fields of a template, keys of an object, literals of a delimiter
MAX_FIELDS = 32
#: characters of a value in an error, and of an error of the engine
MAX_SHOWN = 60
MAX_REASON = 200
_FIELD_KEYS = frozenset(
    [
        *("open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats"),
        *("join", "optional", "transform", "transform_each"),
    ]
)


class UnusableTemplate(ValueError):
    """No family can be made of a response template. The message names the field and the reason."""


@dataclass
class TemplateField:
    """A field of the template. ``path``: its place, for errors."""

    path: str
    data: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise UnusableTemplate(f"{self.path}: must be an object, got {shown(self.data)}")
        known_keys(self.path, self.data, _FIELD_KEYS)

    def fail(self, key: str, why: str) -> UnusableTemplate:
        return UnusableTemplate(f"{self.path}.{key}: {why}")

    @property
    def content(self) -> str:
        content = self.data.get("content", "text")
        if not isinstance(content, str):
            raise self.fail("content", f"must be a string, got {shown(content)}")
        return content

    def options(self, allowed: Collection[str]) -> Mapping[str, Any]:
        """Return the arguments of the content parser, all of which are allowed."""
        options = self.data.get("content_args", {})
        if not isinstance(options, Mapping):
            raise self.fail("content_args", f"must be an object, got {shown(options)}")
        known_keys(f"{self.path}.content_args", options, allowed)
        return options

    def flag(self, key: str) -> bool:
        value = self.data.get(key, False)
        if not isinstance(value, bool):
            raise self.fail(key, f"must be true or false, got {shown(value)}")
        return value

    def delimiters(self, key: str) -> list[Pieces] | None:
        """Return the alternatives of ``open`` or ``close``; None: the field has none."""
        pattern = f"{key}_pattern"
        if key in self.data and pattern in self.data:
            raise self.fail(key, f"excludes {pattern}")
        if pattern in self.data:
            return self.pattern(pattern, self.data[pattern])
        if key not in self.data:
            return None
        value = self.data[key]
        texts = value if isinstance(value, list) else [value]
        if not 0 < len(texts) <= MAX_FIELDS:
            raise self.fail(key, f"must have 1 to {MAX_FIELDS} strings, got {len(texts)}")
        return [self.literal(key, text) for text in texts]

    def literal(self, key: str, value: Any) -> Pieces:
        if not isinstance(value, str):
            raise self.fail(key, f"must be a string, got {shown(value)}")
        try:
            return read_literal(value)
        except UnreadablePattern as error:
            raise self.fail(key, str(error)) from None

    def pattern(self, key: str, value: Any) -> list[Pieces]:
        if not isinstance(value, str):
            raise self.fail(key, f"must be a string, got {shown(value)}")
        try:
            return read_pattern(value)
        except UnreadablePattern as error:
            raise self.fail(key, str(error)) from None

    def texts(self, key: str) -> list[str]:
        """Return the alternatives that are text alone, without white space that may be missing."""
        found = self.delimiters(key) or []
        return [p[0].text for p in found if len(p) == 1 and isinstance(p[0], Text)]


def checked_style(each: TemplateField, style: Style) -> Style:
    """Return the style. Raises UnusableTemplate if the engine cannot read its texts."""
    try:
        return read_style(style_field(style), "")
    except EngineError as error:
        raise each.fail("content_args", str(error)[:MAX_REASON]) from None


def known_keys(path: str, data: Mapping[Any, Any], known: Collection[str]) -> None:
    if len(data) > MAX_FIELDS or set(data) - set(known):
        unknown = next((key for key in data if key not in known), "")
        raise UnusableTemplate(f"{path}{'.' * bool(path)}{named(unknown)}: unknown")


def named(key: Any) -> str:
    return str(key)[:MAX_SHOWN]


def shown(value: Any) -> str:
    """Return a value for an error, without going into it."""
    if isinstance(value, str):
        return repr(value[:MAX_SHOWN])
    is_short = value is None or isinstance(value, bool | float)
    if is_short or (isinstance(value, int) and value.bit_length() <= MAX_SHOWN):
        return repr(value)
    return type(value).__name__
