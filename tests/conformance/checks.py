"""One schema, walked and asked about: whatever differs from the oracle comes out as a ``Wrong``.

forward    every walk ends in a text whose value is valid; no mask is empty
reverse    a valid value is accepted in some order of its keys, an invalid one in none
"""

import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import engine

from . import instances
from .oracle import Oracle, has_duplicates, parsed
from .walking import DeadEnd, takes, walk

Options = dict[str, Any]
#: characters that distinguish formats from other strings
OF_FORMATS = frozenset(":@P")


class Wrong(AssertionError):
    """The engine and the oracle say different things."""


def compiled_or_none(
    compiler: engine.Compiler, schema: Any, counts: Counter[str], options: Options
) -> engine.Compiled | None:
    """None where the schema is refused, which is counted by why."""
    try:
        return compiler.compile_json_schema(schema, **options)
    except engine.UnsupportedSchema as error:
        counts[f"refused {error.keyword}"] += 1
    except engine.LimitExceeded as error:
        counts[f"limit {error.limit}"] += 1
    except engine.SpecError as error:
        counts["nothing fits" if "nothing can satisfy" in str(error) else "leads back"] += 1
    return None


def told(schema: Any, options: Options, words: str) -> Wrong:
    return Wrong(f"{words}\n  schema  {json.dumps(schema)}\n  options {options}")


def check_walk(
    compiled: engine.Compiled, schema: Any, oracle: Oracle, rng: Random, options: Options
) -> bytes | None:
    try:
        text = walk(compiled, rng)
    except DeadEnd as error:
        raise told(schema, options, f"an empty mask after {error}") from error
    if text is not None and not oracle.accepts(value := parsed(text)):
        twice = "a key stands twice; " if has_duplicates(text) else ""
        raise told(schema, options, f"{text.decode()}\n  {twice}{oracle.why(value)}")
    return text


def check_values(
    compiled: engine.Compiled, schema: Any, oracle: Oracle, values: Iterable[Any], options: Options
) -> Counter[str]:
    counts: Counter[str] = Counter()
    for value in values:
        valid = oracle.accepts(parsed(json.dumps(value)))
        written = instances.texts(value)
        if not written:
            continue
        taken = [text for text in written if takes(compiled, text)]
        if bool(taken) != valid:
            word = "valid, and refused" if valid else f"taken, and {oracle.why(value)}"
            raise told(schema, options, f"{(taken or written)[0]}: {word}")
        counts["valid" if valid else "invalid"] += 1
    return counts


def check_schema(
    compiler: engine.Compiler, schema: Any, rng: Random, walks: int = 4, values: int = 40
) -> Counter[str]:
    """Return counts of outcomes."""
    counts: Counter[str] = Counter()
    options = {"any_order": rng.random() < 0.3}
    if rng.random() < 0.2:
        options["whitespace"] = "compact"
    compiled = compiled_or_none(compiler, schema, counts, options)
    oracle = Oracle(schema)
    near: list[Any] = []
    if compiled is None:
        if counts["nothing fits"]:
            check_nothing_fits(schema, oracle, rng)
        return counts
    counts["compiled"] += 1
    for _ in range(walks):
        text = check_walk(compiled, schema, oracle, rng, options)
        counts["walks" if text is not None else "cut off"] += 1
        if text is not None:
            near.append(json.loads(text))
    asked = asked_values(near, rng, values)
    return counts + check_values(compiled, schema, oracle, asked, options)


def asked_values(near: list[Any], rng: Random, count: int) -> list[Any]:
    """Some of the pool, some that are drawn, and some close to what was written."""
    found = rng.sample(instances.pool(), count // 2)
    found += [instances.drawn(rng) for _ in range(count // 4)]
    if near:
        found += [instances.changed(rng.choice(near), rng) for _ in range(count // 4)]
    return [value for value in found if is_plain(value)]


def is_plain(value: Any) -> bool:
    """Whether a valid value has a text that need be taken: not one with numbers, or characters of
    formats, that a narrower form may leave out.
    """
    for part in instances.parts(value):
        if isinstance(part, (int, float)) and (abs(part) >= 10**6 or part != round(part, 6)):
            return False
        if isinstance(part, str) and OF_FORMATS & set(part):
            return False
        if isinstance(part, dict) and OF_FORMATS & set("".join(part)):
            return False
    return True


def check_nothing_fits(schema: Any, oracle: Oracle, rng: Random) -> None:
    for value in asked_values([], rng, 60):
        if oracle.accepts(parsed(json.dumps(value))):
            raise told(schema, {}, f"{json.dumps(value)}: valid, but nothing is said to fit")
