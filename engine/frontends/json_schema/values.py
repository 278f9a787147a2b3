"""Values of enum and const as they are written: strings in any spelling, objects in the order of
their keys.

A number is written as Python writes it; one that is whole may be written with or without ``.0``.
"""

from typing import Any

from ...ir import Node
from .evaluate import identity
from .text import Text


def build_values(text: Text, values: list[Any]) -> list[Node]:
    """Alternatives, one for all strings, so that they share their quotes."""
    g = text.grammar
    unique = (
        list({identity(value): value for value in values}.values()) if len(values) > 1 else values
    )
    strings = [g.text(value) for value in unique if isinstance(value, str)]
    others = [build_value(text, value) for value in unique if not isinstance(value, str)]
    return [*([text.quoted(g.alt(*strings))] if strings else []), *others]


def build_value(text: Text, value: Any) -> Node:
    g = text.grammar
    if isinstance(value, str):
        return text.literal(value)
    if value is None or isinstance(value, bool):
        return g.bytes({None: b"null", True: b"true", False: b"false"}[value])
    if isinstance(value, int | float):
        return _number(text, value)
    if isinstance(value, list):
        return _bracketed(text, b"[", [build_value(text, item) for item in value], b"]")
    members = [
        g.seq(text.literal(key), text.colon(), build_value(text, item))
        for key, item in value.items()
    ]
    return _bracketed(text, b"{", members, b"}")


def _number(text: Text, value: int | float) -> Node:
    g = text.grammar
    if isinstance(value, float) and value.is_integer():
        return g.alt(g.bytes(str(int(value)).encode()), g.bytes(repr(value).encode()))
    return g.bytes(repr(value).encode())


def _bracketed(text: Text, begin: bytes, parts: list[Node], end: bytes) -> Node:
    g = text.grammar
    inside: list[Node] = []
    for part in parts:
        inside += [text.comma(), part] if inside else [part]
    if inside:
        inside.append(text.space())
    return g.seq(g.bytes(begin), text.space(), *inside, g.bytes(end))
