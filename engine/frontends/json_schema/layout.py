"""The white space of ``json.dumps``: its options ``indent`` and ``separators``, checked.

indent       blanks of each level of depth, as a number of spaces or as the blanks themselves; None:
             all on one line.
separators   what stands between items, and between a key and its value: a comma with blanks
             behind it, and a colon with blanks around it. None: ", " and ": ", with an indent ","
             and ": ".

No blanks stand before a comma: behind an item, these would lead to another one, which there need
not be where items must differ (engine.runtime.unique_items).

Not here     which rules write them (json_schema.text).
"""

import re
from typing import Any, NamedTuple

#: most blanks of one level of depth, and most characters of a separator; as many as flexible white
#: space has in a line
MOST_BLANKS = 20

_INDENT = re.compile(r"[ \t]*")
_BLANKS = r"[ \t\n\r]*"
_ITEM, _KEY = re.compile(f",{_BLANKS}"), re.compile(f"{_BLANKS}:{_BLANKS}")


class Layout(NamedTuple):
    """What stands between items, between a key and its value, and at each level of depth of a new
    line; ``unit`` None: there are no lines.
    """

    item: bytes
    key: bytes
    unit: bytes | None


#: no white space at all
COMPACT = Layout(b",", b":", None)


def layout_of(indent: Any, separators: Any) -> Layout:
    """
    Raises:
        ValueError: an option that means nothing, by its name.
    """
    unit = checked_indent(indent)
    item, key = checked_separators(separators) or (", " if unit is None else ",", ": ")
    return Layout(item.encode(), key.encode(), None if unit is None else unit.encode())


def checked_indent(indent: Any) -> str | None:
    """The blanks of one level of depth; None: no lines.

    Raises:
        ValueError: not blanks, or too many.
    """
    if isinstance(indent, int) and not isinstance(indent, bool) and 0 <= indent <= MOST_BLANKS:
        return " " * indent
    if isinstance(indent, str) and len(indent) <= MOST_BLANKS and _INDENT.fullmatch(indent):
        return indent
    if indent is None:
        return None
    message = f"indent must be 0 to {MOST_BLANKS} spaces, as a number, or spaces and tabs"
    raise ValueError(f"{message}, not {indent!r}")


def checked_separators(separators: Any) -> tuple[str, str] | None:
    """
    Raises:
        ValueError: not two texts, or something else than a comma and a colon among blanks.
    """
    if separators is None:
        return None
    if isinstance(separators, list | tuple) and len(separators) == 2:
        item, key = separators
        if _is_separator(item, _ITEM) and _is_separator(key, _KEY):
            return item, key
    message = "separators must be a comma with blanks behind it, and a colon with blanks around it"
    raise ValueError(f"{message}, of at most {MOST_BLANKS} characters, not {separators!r}")


def _is_separator(text: Any, form: re.Pattern[str]) -> bool:
    return isinstance(text, str) and len(text) <= MOST_BLANKS and bool(form.fullmatch(text))
