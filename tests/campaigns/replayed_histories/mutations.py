"""Damage to histories that knows no API: items and parts dropped, doubled, reordered, cut, emptied.

dropped, doubled, reordered   one item of the history, or one part of an item
cut                           the end is missing
long ids                      ids of 1 KB
emptied                       a text, or the parts of an item, are null, "" or []
newer types                   items of features that this server lacks
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from random import Random
from typing import Any

from app.protocol.anthropic import content
from app.protocol.responses import items

List = list[dict[str, Any]]
Mutation = Callable[[List, Random], None]

#: characters of an id: "ids of 1 KB"
LONG = 1_024
#: objects of the client's own, which are values of one item
_VALUES = ("input", "arguments", "action", "operation", "tools", "tool", "source", "definition")
_IDS = ("id", "call_id", "tool_call_id", "tool_use_id")
_TEXTS = ("content", "output", "text", "thinking", "refusal", "summary", "arguments", "tool_calls")


def lists_in(value: Any) -> Iterator[List]:
    """Yield the lists of objects in a history: of items, of their parts and calls."""
    if isinstance(value, list):
        if value and all(isinstance(each, dict) for each in value):
            yield value
        for each in value:
            yield from lists_in(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in _VALUES:
                yield from lists_in(each)


def _drop(some: List, draw: Random) -> None:
    some.pop(draw.randrange(len(some)))


def _double(some: List, draw: Random) -> None:
    some.insert(draw.randrange(len(some) + 1), deepcopy(draw.choice(some)))


def _reorder(some: List, draw: Random) -> None:
    draw.shuffle(some)


def _cut(some: List, draw: Random) -> None:
    del some[draw.randrange(len(some)) :]


def _long_ids(some: List, draw: Random) -> None:
    number = draw.choice("xé") * LONG
    for each in some:
        for name in _IDS:
            if name in each:
                each[name] = number


def _emptied(some: List, draw: Random) -> None:
    item = draw.choice(some)
    names = [name for name in _TEXTS if name in item]
    if names:
        name = draw.choice(names)
        is_list = isinstance(item[name], list)
        item[name] = draw.choice((None, [] if is_list else ""))


def _newer_types(some: List, draw: Random) -> None:
    kinds = items.LEFT_OUT if "type" in some[0] and "role" in some[0] else ()
    known = {each.get("type") for each in some}
    if "tool_use" in known or "tool_result" in known:
        kinds = content.LEFT_OUT
    if kinds:
        item = {"type": draw.choice(kinds), "id": "x", "status": "completed"}
        some.insert(draw.randrange(len(some) + 1), item)


MUTATIONS: dict[str, Mutation] = {
    "dropped": _drop,
    "doubled": _double,
    "reordered": _reorder,
    "cut": _cut,
    "long ids": _long_ids,
    "emptied": _emptied,
    "newer types": _newer_types,
}


def mutate(history: List, kind: str, draw: Random) -> None:
    """Damage a history in place: in this way, and often in others. Something of it stays."""
    whole = deepcopy(history[-1])
    kinds = [kind, *draw.choices([*MUTATIONS], k=draw.choice((0, 1, 3)))]
    for each in kinds:
        if some := list(lists_in(history)):
            # the history itself, or one of its items
            chosen = some[0] if draw.random() < 0.5 else draw.choice(some)
            MUTATIONS[each](chosen, draw)
    if not history:
        history.append(whole)
