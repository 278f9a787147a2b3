"""Tasks in an engine's process: times of a case, its masks along texts, and random texts."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ..data import SchemaCase
from ..engines import Engine
from ..measure import Result, schema_case
from ..vocabularies import Loaded

#: tokens that a random step chooses from
CHOICES = 16
_MARKS = frozenset(b'"{}[],:')


class Walk(NamedTuple):
    """``masks``: numbers of masks, before each token and behind the last that was accepted.
    ``fresh``: masks by number that no earlier walk had, as words of 32 bits.
    """

    masks: list[int]
    fresh: dict[int, bytes]


def _words(engine: Any, size: int) -> bytes:
    """Return the mask of the vocabulary, without ids beyond it."""
    words = engine.words[: (size + 31) // 32].copy()
    if size % 32:
        words[-1] &= (1 << size % 32) - 1
    return bytes(words.tobytes())


def record(
    engine: Engine, loaded: Loaded, case: SchemaCase, texts: Sequence[Sequence[int]]
) -> Iterator[Result | Walk]:
    """Yield the times of the case, and then a walk for each text.

    Times are taken first, on their own, so that copies of masks do not disturb them.
    """
    result = schema_case(engine, loaded, case)
    yield result
    if not result.compiled:
        return
    compiled = engine.compile_schema(case.schema)
    numbers: dict[bytes, int] = {}
    for ids in texts:
        yield _walk(engine, loaded, compiled, ids, numbers)


def _walk(
    engine: Engine, loaded: Loaded, compiled: Any, ids: Sequence[int], numbers: dict[bytes, int]
) -> Walk:
    walk, state = Walk([], {}), engine.start(compiled)
    for token in (*ids, None):
        try:
            engine.fill(state)
        except Exception:  # an engine gives up on this text
            break
        words = _words(engine, len(loaded.tokens))
        if words not in numbers:
            numbers[words] = len(numbers)
            walk.fresh[numbers[words]] = words
        walk.masks.append(numbers[words])
        if token is None or not engine.allowed(token) or not engine.accept(state, token):
            break
    return walk


def draw(
    engine: Engine, loaded: Loaded, case: SchemaCase, walks: int, most: int, seed: int
) -> Iterator[list[int]]:
    """Yield tokens of random texts; few of them are long, and some do not end."""
    compiled, rng = engine.compile_schema(case.schema), Random(seed)
    for _ in range(walks):
        state, ids = engine.start(compiled), list[int]()
        for step in range(most):
            engine.fill(state)
            token = _chosen(engine, loaded, rng, late=step > most // 3)
            if token is None or token == loaded.stop or not engine.accept(state, token):
                break
            ids.append(token)
        yield ids


def _chosen(engine: Any, loaded: Loaded, rng: Random, *, late: bool) -> int | None:
    words = np.frombuffer(_words(engine, len(loaded.tokens)), dtype=np.uint8)
    allowed = np.flatnonzero(np.unpackbits(words, bitorder="little"))
    if not len(allowed):
        return None
    if late and engine.allowed(loaded.stop):
        return loaded.stop
    some = [int(allowed[rng.randrange(len(allowed))]) for _ in range(CHOICES)]
    if late:
        # Single characters that close a string, an object or an array are rare among all tokens.
        some += [t for t in _closers(loaded) if engine.allowed(t)] * 4
    return rng.choices(some, [_weight(loaded.tokens[token], late) for token in some])[0]


def _closers(loaded: Loaded) -> list[int]:
    return [loaded.encoding.encode_single_token(mark) for mark in '"}]:0tf']


def _weight(token: bytes, late: bool) -> float:
    marks = sum(byte in _MARKS for byte in token)
    weight = (1.0 + 3.0 * marks) / (1 + len(token) // 4)
    if late:
        weight *= 8.0 if token[-1:] in (b'"', b"}", b"]") else 1.0
    return weight
