"""JSON objects that were cut: the arguments of calls in answers that reached their limit."""

import json
import re
from collections.abc import Iterator
from typing import Any

#: models write line feeds in strings
_DECODER = json.JSONDecoder(strict=False)
_CLOSERS = {"{": "}", "[": "]"}
#: a string, without its end if that was cut, or a character that structures JSON
_TOKEN = re.compile(r'"(?:[^"\\]++|\\u[0-9a-fA-F]{4}|\\[^u])*("?)|[{}\[\],]')
#: what a cut leaves of a member or an item: a key, or the beginning of a constant
_CUT = re.compile(
    r'\s*,?\s*("(?:[^"\\]++|\\.)*(\\|"\s*)?'
    r'|("(?:[^"\\]++|\\.)*"\s*:\s*)?(-?[\d.eE+-]*|tru?|t|f(als?|al?)?|n(ul?)?)\s*)',
    re.DOTALL,
)
#: nested objects and lists: no template shows deeper ones
_DEPTH = 200


def parsed_object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that a text has, or of which it is the beginning: a cut string ends
    where it was cut, and a member or an item whose value was cut is left out. None: it is no such
    text.
    """
    for candidate in _candidates(text.strip() or "{}"):
        try:
            value = _DECODER.decode(candidate)
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _candidates(text: str) -> Iterator[str]:
    """Yield the text and its completions; the completion that keeps the most text comes first."""
    yield text
    if not text.startswith("{"):
        return
    closers: list[str] = []
    # where the text may end, and what closes it there
    end, suffix = 0, ""
    for token in _TOKEN.finditer(text):
        letter = token[0]
        if letter in _CLOSERS:
            closers.append(_CLOSERS[letter])
            if len(closers) > _DEPTH:
                return
            end, suffix = token.end(), _closing(closers)
        elif letter in ("}", "]"):
            if not closers or closers.pop() != letter:
                return
            end, suffix = token.end(), _closing(closers)
        elif letter == ",":
            end, suffix = token.start(), _closing(closers)
        elif not token[1]:
            # the cut went through this string
            yield f'{text[: token.end()]}"{_closing(closers)}'
    yield text + _closing(closers)
    if _CUT.fullmatch(text, end):
        yield text[:end] + suffix


def _closing(closers: list[str]) -> str:
    return "".join(reversed(closers))
