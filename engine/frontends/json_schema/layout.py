"""The layout of JSON: the options of ``json.dumps`` and those of llguidance, validated.

indent       white space per level, as a number of spaces or as a text; None: everything on one line
separators   the texts between items, and between a key and its value: a comma with white space
             after it, and a colon with white space around it. None: ", " and ": ", with an indent
             "," and ": "

White space before a comma is not allowed: after an item it would commit the text to another item,
which may not exist if items must be unique (engine.unique_items).

x-guidance   options of llguidance at the root of a schema. Those with a counterpart are supported.
             Those that weaken oneOf (``coerce_one_of``) or drop keywords (``lenient``) are ignored,
             because the front end enforces or refuses all keywords. Any other option is refused by
             name.

Source       llguidance, docs/json_schema.md.
Not here     the rules that write it (json_text).
"""

import re
from typing import Any, NamedTuple

from ...errors import SpecError, UnsupportedSchema

#: maximum white space per level, and maximum characters of a separator; equal to the maximum of
#: flexible white space per line
MAX_BLANKS = 20

_INDENT = re.compile(r"[ \t]*")
_BLANKS = r"[ \t\n\r]*"
_WHITE_SPACE = re.compile(_BLANKS)
_ITEM, _KEY = re.compile(f",{_BLANKS}"), re.compile(f"{_BLANKS}:{_BLANKS}")

#: the keyword of llguidance's options
GUIDANCE = "x-guidance"
#: options without effect here
_DEFAULTS = {"item_separator": ",", "key_separator": ":", "json_allowed_escapes": 'nrbtf\\"u'}
_SWITCHES = ("whitespace_flexible", "coerce_one_of", "lenient")


class Layout(NamedTuple):
    """The texts between items, between a key and its value, and of one level of indentation;
    ``unit`` None: no line breaks.
    """

    item: bytes
    key: bytes
    unit: bytes | None


#: no white space at all
COMPACT = Layout(b",", b":", None)


def layout_of(indent: Any, separators: Any) -> Layout:
    """Return the layout of these options.

    Raises:
        ValueError: an option is invalid; the message names it.
    """
    unit = checked_indent(indent)
    item, key = checked_separators(separators) or (", " if unit is None else ",", ": ")
    return Layout(item.encode(), key.encode(), None if unit is None else unit.encode())


def checked_indent(indent: Any) -> str | None:
    """Return the white space of one level; None: no line breaks.

    Raises:
        ValueError: not white space, or too long.
    """
    if isinstance(indent, int) and not isinstance(indent, bool) and 0 <= indent <= MAX_BLANKS:
        return " " * indent
    if isinstance(indent, str) and len(indent) <= MAX_BLANKS and _INDENT.fullmatch(indent):
        return indent
    if indent is None:
        return None
    message = f"indent must be 0 to {MAX_BLANKS} spaces, as a number, or spaces and tabs"
    raise ValueError(f"{message}, not {indent!r}")


def checked_separators(separators: Any) -> tuple[str, str] | None:
    """Return both separators.

    Raises:
        ValueError: not two texts, or more than a comma and a colon with white space.
    """
    if separators is None:
        return None
    if isinstance(separators, list | tuple) and len(separators) == 2:
        item, key = separators
        if _is_separator(item, _ITEM) and _is_separator(key, _KEY):
            return item, key
    message = "separators must be a comma with spaces after it, and a colon with spaces around it"
    raise ValueError(f"{message}, of at most {MAX_BLANKS} characters, got {separators!r}")


def checked_element_space(texts: Any) -> tuple[str, str] | None:
    """Return the white space inside and behind elements.

    Raises:
        ValueError: not two texts of white space, or too long.
    """
    if texts is None:
        return None
    if isinstance(texts, list | tuple) and len(texts) == 2:
        inside, behind = texts
        if _is_separator(inside, _WHITE_SPACE) and _is_separator(behind, _WHITE_SPACE):
            return inside, behind
    message = f"must be two texts of white space, each of at most {MAX_BLANKS} characters"
    raise ValueError(f"element_space {message}, got {texts!r}")


def _is_separator(text: Any, form: re.Pattern[str]) -> bool:
    return isinstance(text, str) and len(text) <= MAX_BLANKS and bool(form.fullmatch(text))


# -- x-guidance ------------------------------------------------------------------------------------
def is_compact(options: Any, pointer: str) -> bool:
    """Whether white space between JSON tokens is forbidden.

    Raises:
        SpecError: a malformed value. UnsupportedSchema: an option that cannot be enforced.
    """
    place = f"{pointer}/{GUIDANCE}"
    if not isinstance(options, dict):
        raise SpecError(f"{GUIDANCE} must be an object", place)
    for name, value in options.items():
        if name in _SWITCHES:
            if not isinstance(value, bool):
                raise SpecError(f"{name} must be true or false, got {value!r}", f"{place}/{name}")
        elif value is not None and _DEFAULTS.get(name) != value:
            raise UnsupportedSchema(place, GUIDANCE, f"{GUIDANCE}: {name} can't be enforced")
    return options.get("whitespace_flexible") is False
