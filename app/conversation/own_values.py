"""Chat templates that change lists and objects, such as ``ids.append(x)`` or ``ids.pop(0)``.

The sandbox of ``transformers`` forbids it, because a template could change the values that it gets.
So templates of llama.cpp's (Kimi K2) fail there at the first tool call, and that of Hunyuan A13B at
an empty first message. Here such a template gets copies of its inputs, and may change what it has.

Invariants   I1 a template has no input that anything else has. I2 a list or an object has at most
             twice MAX_ITEMS, which also ends loops over a list that grows. I3 only the methods in
             CHANGES are called: a template gets a function without attributes, not the method.
Cost         a copy of the messages and tools for each prompt of such a template, none for others.
Not here     the sandbox (template_call).
"""

from collections.abc import Callable, Mapping, Sized
from itertools import islice
from typing import Any

#: methods that change a value, by its type. ``sort`` would call a function of the template
CHANGES: Mapping[type, frozenset[str]] = {
    list: frozenset(("append", "extend", "insert", "pop", "remove", "clear", "reverse")),
    dict: frozenset(("update", "setdefault", "pop", "popitem", "clear")),
}
_NAMES = frozenset().union(*CHANGES.values())
#: of a list or an object that a template changes; the sandbox allows a range of as many
MAX_ITEMS = 100_000


_OF_SEVERAL = frozenset(("extend", "update"))
_OF_FEWER = frozenset(("pop", "popitem", "remove", "clear"))


class TooManyItems(ValueError):
    """A template makes a list or an object too large."""


def changes_values(environment: Any, source: str) -> bool:
    """Whether a template names a method that changes values."""
    from jinja2 import nodes

    found = environment.parse(source).find_all(nodes.Getattr)
    return any(each.attr in _NAMES for each in found)


def copied(value: Any) -> Any:
    """Return a copy of a JSON value, in plain lists and dicts."""
    if isinstance(value, dict):
        return {name: copied(each) for name, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list | tuple) else value


def change_of(value: Any, name: str) -> Callable[..., Any] | None:
    """Return the function that changes a value as its method does; None: it has no such method."""
    if name not in CHANGES.get(type(value), ()):
        return None
    method = getattr(value, name)

    def change(*given: Any, **named: Any) -> Any:
        if name in _OF_SEVERAL:
            given = tuple(map(_bounded, given))
        if len(value) >= MAX_ITEMS and name not in _OF_FEWER:
            raise TooManyItems(f"{name}: at most {MAX_ITEMS:,} items are allowed")
        return method(*given, **named)

    return change


def _bounded(items: Any) -> Any:
    """Return items to add. An iterator over the list that they are added to never ends."""
    if not isinstance(items, Sized):
        items = list(islice(items, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise TooManyItems(f"at most {MAX_ITEMS:,} items are allowed")
    return items
