"""Lone surrogates in a body: JSON can spell them (``"\\ud800"``), but they are no Unicode text.

The parser refuses them without naming a place. So a refused body is parsed again by a parser that
accepts them, and searched; the limits on bodies bound cost and depth.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from ..errors import ApiError, bad_request
from .validation_errors import param_of

#: an escape of a surrogate, paired or not, and the bytes that UTF-8 would give it. Two patterns,
#: because ``re`` searches for a constant prefix ten times as fast
_SUSPICIOUS = re.compile(rb"\\u[dD][89a-fA-F]"), re.compile(rb"\xed[\xa0-\xbf]")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: characters of a place that an error repeats
_PLACE_CHARS = 300

#: a value's place: the place of its parent, and its key or index there
Path = tuple["Path", int | str] | None


def lone_surrogate(body: bytes | bytearray) -> ApiError | None:
    """Return a 400 that names the first one; None: there is none, or the body is no JSON at all."""
    if not any(pattern.search(body) for pattern in _SUSPICIOUS):
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    for place, text, is_key in _texts(value):
        if found := _SURROGATE.search(text):
            param = param_of(_steps(place), value)[:_PLACE_CHARS]
            what = f"U+{ord(found[0]):04X} at character {found.start() + 1}"
            where = f"a key in '{param or 'body'}'" if is_key else f"'{param or 'body'}'"
            return bad_request(
                f"Invalid value: {where} holds a lone surrogate, {what}; text must be Unicode.",
                param or None,
                "invalid_value",
            )
    return None


def _texts(value: Any) -> Iterator[tuple[Path, str, bool]]:
    """Yield each string with its place and whether it is a key there, in document order."""
    left: list[tuple[Path, Any]] = [(None, value)]
    while left:
        place, each = left.pop()
        if isinstance(each, str):
            yield place, each, False
        elif isinstance(each, list):
            left += [((place, at), item) for at, item in reversed(list(enumerate(each)))]
        elif isinstance(each, dict):
            for key in each:
                yield place, key, True
            left += [((place, key), item) for key, item in reversed(each.items())]


def _steps(place: Path) -> list[int | str]:
    steps: list[int | str] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return steps[::-1]
