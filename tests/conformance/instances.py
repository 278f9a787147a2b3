"""Values to ask about, and the texts that they may be written as."""

import copy
import itertools
import json
import math
from collections.abc import Iterator
from random import Random
from typing import Any

from .schemas import Words

#: orders of keys that are tried for one value
MAX_ORDERS = 120

_LISTS: tuple[Any, ...] = (
    [], [1], [1, 2], [1, 2, 3], ["a"], ["a", "b"], ["a", 1], [1, "a"], [1, 1], ["a", "a"],
    [None, True], [[]], [[1], ["a"]], [{}], [{"a": 1}], [0.5, 2], [True, True], [1, 2, 3, "ab"],
    ["a", 1, 2], ["a", 1, 2, 3],
)  # fmt: skip
_OBJECTS: tuple[Any, ...] = (
    {}, {"a": 1}, {"a": "a"}, {"b": 1}, {"b": "ab"}, {"a": 1, "b": 2}, {"a": 1, "b": "a"},
    {"a": "a", "b": "a"}, {"ab": 1}, {"x-1": 1}, {"ab": "b", "x-1": None}, {"a": {}},
    {"a": None, "b": True, "ab": 0.5},
    {"a": {"a": 1}}, {"b": []}, {"a": [1, "a"]}, {"a": 1, "b": 1, "ab": 1, "x-1": 1}, {"zz": 1},
    {"a": 1, "zz": 1}, {"abc": 1}, {"": 0}, {"a": "2024-02-29"},
)  # fmt: skip
_OTHER_TEXTS = (
    "aa", "aaa", "aab", "abc", "ba", "cab", "bb", "-", "x-", "z", "2024-02-29", "1.2.3.4", "a\n",
    "é",
)  # fmt: skip
_OTHER_NUMBERS = (
    4, 5, 6, 10, 11, 12, 12.25, 1.5, -2.5, -3, 0.25, 0.01, 0.3, 7.5, 100
)  # fmt: skip


def pool() -> list[Any]:
    """Small values of every kind."""
    return [*Words.scalars, *_OTHER_TEXTS, *_OTHER_NUMBERS, *_LISTS, *_OBJECTS]


def drawn(rng: Random, depth: int = 2) -> Any:
    draw = rng.random()
    if depth == 0 or draw < 0.3:
        return rng.choice((*Words.scalars, *_OTHER_TEXTS, *_OTHER_NUMBERS))
    if draw < 0.6:
        return [drawn(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    names = rng.sample((*Words.names, "zz", "abc"), rng.randint(0, 4))
    return {name: drawn(rng, depth - 1) for name in names}


def changed(value: Any, rng: Random) -> Any:
    """The value with one part changed, left out or added."""
    made = copy.deepcopy(value)
    containers = [each for each in parts(made) if isinstance(each, (list, dict))]
    if not containers:
        return drawn(rng, 1)
    chosen: Any = rng.choice(containers)
    if isinstance(chosen, list):
        at = rng.randint(0, len(chosen))
        chosen[at : at + rng.randint(0, 1)] = [drawn(rng, 1)] * rng.randint(0, 1)
    elif chosen and rng.random() < 0.5:
        name = rng.choice(list(chosen))
        del chosen[name]
        if rng.random() < 0.5:
            chosen[name] = drawn(rng, 1)
    else:
        chosen[rng.choice((*Words.names, "zz"))] = drawn(rng, 1)
    return made


def parts(value: Any) -> Iterator[Any]:
    yield value
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from parts(each)


def orders(value: Any) -> int:
    """How many there are."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = math.factorial(len(value)) if isinstance(value, dict) else 1
    return own * math.prod(map(orders, inside))


def in_all_orders(value: Any) -> Iterator[Any]:
    """The value with the keys of its objects in every order."""
    if isinstance(value, list):
        yield from map(list, itertools.product(*map(in_all_orders, value)))
    elif isinstance(value, dict):
        for names in itertools.permutations(value):
            for items in itertools.product(*(in_all_orders(value[name]) for name in names)):
                yield dict(zip(names, items, strict=True))
    else:
        yield value


def texts(value: Any) -> list[str]:
    """In all orders of keys; none where there are too many."""
    if orders(value) > MAX_ORDERS:
        return []
    return [
        json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in in_all_orders(value)
    ]
