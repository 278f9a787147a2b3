"""Reading of styles: the name of one of tag_styles, or an object with the fields of a ``Style``.

    "qwen_xml"
    {"open": "<arg name=\"{key}\">", "close": "</arg>", "constants": ["True", "False", "None"]}

Checked      what json_schema.arguments, the notations and the readers of arguments assume. The
             begin of an element shows where its key ends. A raw string ends at the first occurrence
             of one text, and a number before the end of its element. An item is no member. Escapes
             of keys can be undone. Python's and Gemma's arguments have the marks that their readers
             know.
Refused      unknown fields (UnsupportedSchema) and other values (SpecError), at the field.
Cost         linear in the texts, which are bounded; about 40 us for a style of elements. The reader
             of structural tags reads the style of several nodes once.
Not here     the meaning of the fields (tag_styles), their grammar (json_schema.arguments).
"""

import re
from collections.abc import Mapping
from typing import Any

from ...errors import SpecError, UnsupportedSchema
from ...json_pointer import escape
from .tag_styles import ITEM, JSON, NOTHING, OPEN_INTEGER, PYTHON, STYLES, TYPES, Style

#: characters of a text of a style; those of model families have up to 60. Each property of a schema
#: repeats them
MAX_STYLE_TEXT = 256
#: characters with an escape in keys; XML has five. Each key is searched for each of them
MAX_ESCAPES = 16
_KEY, _TYPE = "{key}", "{type}"
_SPACE = " \t\r\n"
_IDENTIFIER = "[a-zA-Z_][a-zA-Z0-9_]*"
_IN_NAMES = re.compile("[a-zA-Z0-9_]")
_IN_NUMBERS = "0123456789+-.eE"
_TEXTS = ("open", "close", "glue", "item", "guard", "values", "separator", "quote")
#: fields that one kind of values has in one form only
_FIXED: dict[str, dict[str, Any]] = {
    "json": {"separator": "", "quote": ""},
    "quoted": {"separator": "", "quote": "", "wrap": ("", "")},
    "python": {"open": "{key}=", "close": "", "separator": ",", "quote": ""},
    "gemma": {"open": "{key}:", "close": "", "separator": ","},
}
_OF_ELEMENTS = ("types", "escapes", "glue", "nested", "item", "guard", "wrap")
#: constants in their other spelling, by kind of values; Python's arguments have one of the two
_CONSTANTS = {"json": PYTHON, "quoted": PYTHON, "python": JSON, "gemma": ("", "", "None")}
#: what Gemma's values contain outside of strings
_UNQUOTED = re.compile(r"[a-zA-Z0-9_+\-.{}\[\]:, \t\r\n]")


def style_of(style: str | Style) -> Style:
    """Return a style, given itself or by the name of one of tag_styles."""
    return STYLES[style] if isinstance(style, str) else style


def style_field(style: str | Style) -> str | dict[str, Any]:
    """Return the field ``style`` of a json_schema node: a name if the style has one, else an object
    that ``read_style`` reads.
    """
    if isinstance(style, str):
        return style
    names = (name for name, named in STYLES.items() if named == style)
    return next(names, None) or style_object(style)


def style_object(style: Style) -> dict[str, Any]:
    """Return the object from which ``read_style`` makes the style, without defaults."""
    defaults = Style("", "")._asdict()
    values = style._asdict().items()
    return {
        name: _plain(value)
        for name, value in values
        if name in ("open", "close") or value != defaults[name]
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def read_style(value: Any, pointer: str) -> Style:
    """Return the style of a name or an object at ``pointer``.

    Raises:
        SpecError, UnsupportedSchema: see the file's header.
    """
    if isinstance(value, str) and value in STYLES:
        return STYLES[value]
    if not isinstance(value, dict):
        known = ", ".join(["json", *STYLES])
        got = repr(value)[:MAX_STYLE_TEXT]
        message = f"the style must be one of {known}, or an object, not {got}"
        raise UnsupportedSchema(pointer.removesuffix("/style"), "style", message)
    return _Reader(value, pointer).style()


class _Reader:
    """Reads one object."""

    def __init__(self, value: dict[str, Any], pointer: str) -> None:
        self._value, self._pointer = value, pointer

    def style(self) -> Style:
        for name in self._value:
            if name not in Style._fields:
                known = ", ".join(Style._fields)
                message = f"a style has no field {name[:MAX_STYLE_TEXT]!r}; it has {known}"
                raise UnsupportedSchema(self._pointer, name, message)
        fields = {name: self._text(name) for name in _TEXTS if name in self._value}
        for name in ("open", "close"):
            self._must(name in fields, "", f"the field {name!r} is missing")
        style = Style(
            **fields,
            types=self._texts_by_name("types"),
            escapes=self._texts_by_name("escapes"),
            nested=self._flag("nested"),
            any_order=self._flag("any_order"),
            constants=self._tuple("constants", 3),
            wrap=self._tuple("wrap", 2) or ("", ""),
        )  # fmt: skip
        self._check_values(style)
        if style.has_elements:
            self._check_element(style)
            self._check_types(style)
            self._check_escapes(style)
            self._check_glue(style)
            self._check_items(style)
        return style

    # -- values -----------------------------------------------------------------------------------
    def _must(self, holds: bool, name: str, message: str) -> None:
        if not holds:
            raise SpecError(message, f"{self._pointer}/{name}" if name else self._pointer)

    def _checked(self, value: Any, place: str) -> str:
        self._must(isinstance(value, str), place, "must be a string")
        size = len(value)
        self._must(
            size <= MAX_STYLE_TEXT, place,
            f"must have at most {MAX_STYLE_TEXT} characters, got {size:,}",
        )  # fmt: skip
        try:
            value.encode()
        except UnicodeEncodeError:
            self._must(False, place, "contains half of a surrogate pair")
        return str(value)

    def _text(self, name: str) -> str:
        return self._checked(self._value[name], name)

    def _flag(self, name: str) -> bool:
        value = self._value.get(name, False)
        self._must(value is True or value is False, name, "must be true or false")
        return bool(value)

    def _tuple(self, name: str, size: int) -> Any:
        value = self._value.get(name, [])
        fits = isinstance(value, list) and len(value) in (0, size)
        self._must(fits, name, f"must be a list of {size} strings")
        return tuple(self._checked(each, f"{name}/{k}") for k, each in enumerate(value))

    def _texts_by_name(self, name: str) -> Mapping[str, str]:
        value = self._value.get(name)
        if value is None or value == {}:
            self._must(name not in self._value or value == {}, name, "must be an object")
            return NOTHING
        self._must(isinstance(value, dict), name, "must be an object")
        most = MAX_ESCAPES if name == "escapes" else len(TYPES) + 1
        self._must(
            len(value) <= most, name, f"must have at most {most} members, got {len(value):,}"
        )
        for key, each in value.items():
            place = f"{name}/{escape(self._checked(key, name))}"
            self._must(bool(self._checked(each, place)), place, "must not be empty")
        return dict(value)

    # -- meaning ----------------------------------------------------------------------------------
    def _check_values(self, style: Style) -> None:
        """Check the fields that only one kind of values has, or that depend on it."""
        kinds = ", ".join(_FIXED)
        self._must(style.values in _FIXED, "values", f"must be one of {kinds}")
        of = f"with the values {style.values!r}"
        for name, only in _FIXED[style.values].items():
            self._must(getattr(style, name) == only, name, f"must be {_plain(only)!r} {of}")
        allowed = _CONSTANTS.get(style.values, ())
        self._must(
            style.constants in ((), allowed),
            "constants",
            f"must be {list(allowed)!r} {of}, or empty",
        )
        if style.has_elements:
            return
        default = Style("", "")
        for name in _OF_ELEMENTS:
            is_absent = getattr(style, name) == getattr(default, name)
            self._must(is_absent, name, f"cannot be combined {of}")
        if style.values == "gemma":
            quote = style.quote
            self._must(bool(quote), "quote", f"must not be empty {of}")
            is_apart = _UNQUOTED.match(quote) is None
            message = "must not begin with a character that values contain outside of strings"
            self._must(is_apart, "quote", message)
            self._check_end(quote, quote, "quote")

    def _check_element(self, style: Style) -> None:
        """Check the begin and the end of an element."""
        head, _, tail = style.open.partition(_KEY)
        counts = style.open.count(_KEY), style.close.count(_KEY)
        self._must(counts[0] == 1, "open", f"must contain {_KEY} once, got {counts[0]} times")
        self._must(
            counts[1] <= 1, "close", f"must contain {_KEY} at most once, got {counts[1]} times"
        )
        self._must(_TYPE not in head, "open", f"must not contain {_TYPE} before {_KEY}")
        is_apart = tail[:1] != "" and not tail.startswith(_TYPE) and not _IN_NAMES.match(tail)
        message = f"must have a text behind {_KEY} that begins with no letter, digit or _"
        self._must(is_apart, "open", message)
        self._must(_TYPE not in style.close, "close", f"must not contain {_TYPE}")
        end, repeated, behind = style.close.partition(_KEY)
        self._must(end != "", "close", f"must not be empty, nor begin with {_KEY}")
        message = "must not begin with a character that numbers contain"
        self._must(end[0] not in _IN_NUMBERS, "close", message)
        is_apart = not repeated or (behind != "" and not _IN_NAMES.match(behind))
        message = f"must have a text behind {_KEY} that begins with no letter, digit or _"
        self._must(is_apart, "close", message)
        guard = style.value_end
        message = f"must be a part of the text {end!r}, which ends an element"
        self._must(guard in end, "guard", message)
        self._check_end(guard, end, "guard" if style.guard else "close")
        begin, closing = style.wrap
        is_whole = (begin == "") == (closing == "")
        self._must(is_whole, "wrap", "must be two texts, neither of which is empty")
        if closing:
            self._check_end(closing, closing, "wrap")

    def _check_end(self, guard: str, end: str, name: str) -> None:
        """Check that behind a text without ``guard``, its first occurrence is that in ``end``."""
        for k in range(1, len(guard)):
            if end.startswith(guard[k:]):
                message = f"{guard!r} ends with {guard[k:]!r}, as which the end of a text begins"
                self._must(False, name, f"{message}: where the text ends would be ambiguous")

    def _check_types(self, style: Style) -> None:
        if not style.types:
            self._must(_TYPE not in style.open, "open", f"must contain {_TYPE} only with types")
            return
        count = style.open.count(_TYPE)
        self._must(count == 1, "open", f"must contain {_TYPE} once with types, got {count} times")
        named = set(style.types)
        is_each = named - {OPEN_INTEGER} == set(TYPES)
        self._must(is_each, "types", f"must have the members {', '.join(TYPES)}")
        behind = style.open.partition(_TYPE)[2]
        self._must(behind != "", "open", f"must have a text behind {_TYPE}")
        for kind, name in style.types.items():
            message = f"must not contain {behind[0]!r}, with which the text behind {_TYPE} begins"
            self._must(behind[0] not in name, f"types/{kind}", message)

    def _check_escapes(self, style: Style) -> None:
        """Check that escapes can be undone: all begin with the first escaped character, and none is
        the beginning of another.
        """
        escapes = style.escapes
        first = next(iter(escapes), "")
        for character, text in escapes.items():
            place = f"escapes/{escape(character)}"
            is_one = len(character) == 1 and not _IN_NAMES.match(character)
            self._must(is_one, place, "must escape one character, no letter, digit or _")
            is_marked = text[0] == first and not any(each in escapes for each in text[1:])
            message = f"must be {first!r}, which is the first escape, and characters without one"
            self._must(is_marked and len(text) > 1, place, message)
            others = (other for each, other in escapes.items() if each != character)
            is_prefix = any(other.startswith(text) for other in others)
            self._must(not is_prefix, place, "must not be the beginning of another escape")

    def _check_glue(self, style: Style) -> None:
        glue = style.glue
        if not glue:
            return
        self._must(not glue.strip(_SPACE), "glue", "must be white space")
        pieces = style.open.split(glue)
        is_between = len(pieces) > 1 and not style.nested
        is_between = is_between and all(piece.endswith(">") for piece in pieces[:-1])
        is_between = is_between and all(piece.startswith("<") for piece in pieces[1:])
        message = "must stand in open between > and <, in a style that is not nested"
        self._must(is_between, "glue", message)
        self._must(glue not in style.close, "close", f"must not contain the glue, {glue!r}")

    def _check_items(self, style: Style) -> None:
        """Check that items and members of a nested style begin differently, but for their ends."""
        head, _, tail = style.open.partition(_KEY)
        item = style.item
        if not style.nested:
            self._must(item == "", "item", "must be empty unless the style is nested")
            return
        self._must(item != "" and _KEY not in item, "item", f"must be a text without {_KEY}")
        shared = style.shared_begin
        count = item.count(_TYPE)
        is_like = shared != "" and shared.count(_TYPE) == count == tail.count(_TYPE)
        self._must(
            is_like, "item", f"must end as open does behind {_KEY}, with {_TYPE} if it has one"
        )
        if style.item_name:
            return
        self._must(_KEY not in style.close, "item", f"must be open with {ITEM!r} for {_KEY}")
        begin, name_end = item.partition(_TYPE)[0], tail.partition(_TYPE)[0]
        is_member = re.match(re.escape(head) + _IDENTIFIER + re.escape(name_end), begin)
        is_apart = is_member is None and not head.startswith(begin)
        self._must(is_apart, "item", f"must not begin as open does with another key than {ITEM!r}")
