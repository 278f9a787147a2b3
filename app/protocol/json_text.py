"""JSON text of clients: a body, or a schema that a field has as text.

Invariants   numbers that JSON cannot write again are refused; the parser's own depth limit is 200.
"""

import re
from collections.abc import Iterator
from math import isinf
from typing import Any

from pydantic_core import from_json, to_json

#: for the search for infinite numbers: maps digits to 0, and both exponent marks to e
_DIGITS = bytes.maketrans(b"123456789E", b"000000000e")
#: marks of a number that may be infinite: an exponent, or more digits than a float has
_EXPONENT, _LONG = b"0e", b"0" * 300
#: characters of a text that are written at a time
_STEP_CHARS = 1 << 18
#: a string of JSON text; an unterminated one reaches to the end
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)


def has_more_values(body: bytes | bytearray, most: int) -> bool:
    """Whether JSON text has more than ``most`` values inside the outermost one.

    A non-empty array or object has one value more than commas; its opening bracket counts for that
    one. An empty one counts for two.
    """
    if len(body) <= most or sum(body.count(mark) for mark in (b",", b"[", b"{")) <= most:
        return False
    count = end = 0
    for string in _STRING.finditer(body):
        count += _marks(body[end : string.start()])
        if count > most:
            return True
        end = string.end()
    return count + _marks(body[end:]) > most


def _marks(text: bytes | bytearray) -> int:
    """Count commas and opening brackets in a text without strings."""
    return len(text) - len(text.translate(None, b",[{"))


def parse_json(body: bytes | bytearray) -> Any:
    """Parse JSON. Raises ValueError, also for a number that JSON cannot write again."""
    value = from_json(body, allow_inf_nan=False)
    # two constant searches take 15 ms for 4 MiB, a regular expression up to a second
    alike = body.translate(_DIGITS)
    if _EXPONENT in alike or _LONG in alike:
        _refuse_infinite(value)
    return value


def _refuse_infinite(value: Any) -> None:
    """Raise ValueError for an infinite number. Steps of Python, between which other threads run."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, float):
            if isinf(each):
                raise ValueError("a number is out of range")
        elif isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each


def write_json(value: Any) -> bytes:
    """Write JSON in steps, between which other threads run: one call takes 80 ms for the data of
    an image of 32 MB.
    """
    return b"".join(_pieces(value))


def _pieces(value: Any) -> Iterator[bytes]:
    if isinstance(value, str) and len(value) > _STEP_CHARS:
        yield b'"'
        for at in range(0, len(value), _STEP_CHARS):
            yield to_json(value[at : at + _STEP_CHARS])[1:-1]
        yield b'"'
    elif isinstance(value, dict) and value:
        for number, (name, each) in enumerate(value.items()):
            yield b"," if number else b"{"
            yield to_json(name) + b":"
            yield from _pieces(each)
        yield b"}"
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield b"," if number else b"["
            yield from _pieces(each)
        yield b"]"
    else:
        yield to_json(value)
