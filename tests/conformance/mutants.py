"""Silent drops: a schema, and the same with one keyword left out or changed.

If the engine overlooked a keyword, both would take the same texts. So values are looked for whose
validity the change changes, and there the engine's two verdicts must be the oracle's two. A change
that no value shows is counted, and so is a mutant that is refused.
"""

import copy
import json
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import engine

from . import instances
from .checks import asked_values, compiled_or_none, told
from .oracle import Oracle, parsed
from .walking import takes, walk

#: keywords without a constraint of their own
SILENT = frozenset(("$schema", "$defs", "definitions", "$id", "$anchor", "title", "description"))
#: keywords under which schemas have names, and those that stand for values
NAMED = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
VALUES = frozenset(("enum", "const", "required", "dependentRequired"))
#: values that show one change
SHOWN = 3
#: keywords of one schema that are left out, each by itself
MAX_KEYWORDS = 25

Path = tuple[str | int, ...]


def keywords(schema: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all keywords, inner ones included."""
    if isinstance(schema, list):
        for number, each in enumerate(schema):
            yield from keywords(each, (*path, number))
    elif isinstance(schema, dict):
        for keyword, value in schema.items():
            if keyword not in SILENT:
                yield (*path, keyword)
            if keyword in NAMED:
                for name, each in value.items():
                    yield from keywords(each, (*path, keyword, name))
            elif keyword not in VALUES:
                yield from keywords(value, (*path, keyword))


def without(schema: Any, path: Path) -> Any:
    made = copy.deepcopy(schema)
    at = made
    for step in path[:-1]:
        at = at[step]
    del at[path[-1]]
    return made


def near(compiled: engine.Compiled, rng: Random, count: int) -> list[Any]:
    """Values that the walks of a grammar come to."""
    found = []
    for _ in range(count):
        text = walk(compiled, rng)
        if text is not None:
            found.append(json.loads(text))
    return found


def check_mutants(compiler: engine.Compiler, schema: Any, rng: Random) -> Counter[str]:
    """Remove up to ``MAX_KEYWORDS`` keywords, one at a time; return counts of outcomes.

    Raises:
        Wrong: a removal changes which texts are valid, but not which are accepted.
    """
    counts: Counter[str] = Counter()
    options: dict[str, Any] = {}
    own = compiled_or_none(compiler, schema, Counter(), options)
    if own is None:
        return counts
    oracle = Oracle(schema)
    written = near(own, rng, 3)
    paths = list(keywords(schema))
    for path in rng.sample(paths, min(MAX_KEYWORDS, len(paths))):
        counts += check_mutant(compiler, (schema, own, oracle), without(schema, path), written, rng)
    return counts


def check_mutant(
    compiler: engine.Compiler,
    original: tuple[Any, engine.Compiled, Oracle],
    mutant: Any,
    written: list[Any],
    rng: Random,
) -> Counter[str]:
    schema, own, oracle = original
    other = compiled_or_none(compiler, mutant, Counter(), {})
    if other is None:
        return Counter({"mutants refused": 1})
    other_oracle = Oracle(mutant)
    shown = 0
    for value in asked_values(written + near(other, rng, 3), rng, 120) + instances.pool():
        exact = parsed(json.dumps(value))
        verdicts = oracle.accepts(exact), other_oracle.accepts(exact)
        texts = instances.texts(value) if verdicts[0] != verdicts[1] else []
        if not texts:
            continue
        said = tuple(any(takes(each, text) for text in texts) for each in (own, other))
        if said != verdicts:
            words = f"{texts[0]}: {verdicts}, and {said} was said\n  mutant  {json.dumps(mutant)}"
            raise told(schema, {}, words)
        shown += 1
        if shown == SHOWN:
            break
    return Counter({"mutants shown" if shown else "mutants not shown": 1})
