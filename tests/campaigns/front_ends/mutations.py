"""Mutations of texts and of JSON values: pieces repeated, nested and spliced, numbers made huge."""

import json
import re
from random import Random
from typing import Any

#: numbers at bounds: of tokens, code points, counts, registers and 64 bits
NUMBERS = (
    0, 1, 63, 64, 255, 1_000, 9_999, 65_535, 100_000, 128_255, 1_114_111, 2**31 - 1, 2**31, 2**63,
    2**64 - 1, 10**30,
)  # fmt: skip
#: how often a piece is repeated or nested
TIMES = (2, 3, 10, 50, 130, 300, 1_000)
#: characters of a mutated text: small requests are the dangerous ones
MAX_CHARS = 40_000

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[\w.]+|<[^<>]*>|\[[^\[\]]*\]|\([^()]*\)|\S+\s*")
_BRACKETS = (("(", ")"), ("[", "]"), ("(?:", ")*"), ("(", "){0,9}"), ("~(", ")"), ("(", ")+"))


def mutated(rng: Random, text: str, other: str) -> str:
    """Return a text with one mutation; ``other``: the text that is spliced in."""
    # pieces are mostly short, and mostly whole words
    words = list(_WORD.finditer(text)) or [None]
    word = rng.choice(words)
    start, end = (0, len(text)) if word is None else word.span()
    if rng.random() < 0.3:
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((1, 4, 12, 40)))
    head, piece, tail = text[:start], text[start:end], text[end:]
    kind = rng.randrange(5)
    if kind == 0:
        return (head + piece * rng.choice(TIMES) + tail)[:MAX_CHARS]
    if kind == 1:
        opened, closed = rng.choice(_BRACKETS)
        times = rng.choice(TIMES)
        return (head + opened * times + piece + closed * times + tail)[:MAX_CHARS]
    if kind == 2:
        return _NUMBER.sub(lambda found: _number(rng, found[0]), text)
    if kind == 3:
        at = rng.randint(0, len(other))
        return head + other[at : at + rng.choice((3, 10, 40))] + tail
    return head + tail


def _number(rng: Random, text: str) -> str:
    return str(rng.choice(NUMBERS)) if rng.random() < 0.4 else text


def mutated_value(rng: Random, value: Any, other: Any) -> Any:
    """Return a JSON value with one mutation at a random place."""
    value = json.loads(json.dumps(value))
    places = [(None, None, value), *_places(value)]
    parent, key, found = rng.choice(places)
    if parent is None:
        return value
    parent[key] = _changed(rng, found, parent, other)
    return value if len(json.dumps(value)) <= 16 * MAX_CHARS else parent[key]


def _changed(rng: Random, found: Any, parent: Any, other: Any) -> Any:
    times = rng.choice(TIMES)
    if isinstance(found, bool) or found is None:
        return rng.choice([True, False, None, 0])
    if isinstance(found, int | float):
        return rng.choice([*NUMBERS, -1, 0.1, -(10**20)])
    if isinstance(found, str):
        short = found[:200]
        return rng.choice(
            [short * times, "".join(rng.sample(found, len(found))), mutated(rng, found, str(other))]
        )
    if isinstance(found, list) and found:
        piece = rng.choice(found)
        if isinstance(piece, str):
            return found + [f"{piece}{n}" for n in range(times)]
        return found + [json.loads(json.dumps(piece)) for _ in range(min(times, 300))]
    if isinstance(found, dict) and rng.random() < 0.5:
        wraps = [(key, inner) for key, inner in found.items() if isinstance(inner, dict)]
        if wraps:
            return _nested(found, rng.choice(wraps)[0], rng.choice((3, 20, 60, 130)))
    return rng.choice([inner for _, _, inner in _places(other)] or [other])


def _nested(found: dict[str, Any], key: str, times: int) -> dict[str, Any]:
    """Put an object into its own field, again and again."""
    made = json.loads(json.dumps(found))
    for _ in range(times):
        made = {**found, key: made}
    return made


def _places(value: Any) -> list[tuple[Any, Any, Any]]:
    """Return (parent, key, value) of everything inside a JSON value."""
    found, todo = [], [value]
    while todo:
        each = todo.pop()
        items = (
            each.items()
            if isinstance(each, dict)
            else enumerate(each)
            if isinstance(each, list)
            else ()
        )
        for key, inner in items:
            found.append((each, key, inner))
            todo.append(inner)
    return found
