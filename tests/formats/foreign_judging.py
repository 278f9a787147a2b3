"""Foreign parsers as judges: they read random answers, and the calls are compared.

A walk draws tokens from the masks of a family's grammar until the answer ends. Answers with a known
difference (foreign_differences.py) are compared as far as the difference allows.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from random import Random
from typing import Any

from .cases import SPECIALS
from .foreign_differences import Difference
from .made_families import MADE, made_walker
from .random_answers import RandomAnswer, Walker
from .random_schemas import TOOL_SETS

IS_LONG = bool(os.environ.get("EVERY_TEMPLATE"))
WALKS = 1000 if IS_LONG else 42
CHOICES = ("required", "auto")

Calls = list[tuple[str, Any]]


@cache
def walker(name: str) -> Walker:
    """Return random answers of a format, or of a family derived from a template."""
    return made_walker(name) if name in MADE else Walker(name)


def specials_of(name: str) -> tuple[str, ...]:
    """Return the special tokens in the answers of a walker."""
    return MADE[name].specials if name in MADE else SPECIALS[name]


@lru_cache(maxsize=1)
def answers(name: str, walks: int) -> list[tuple[int, str, RandomAnswer]]:
    """Return seed, set of tools and answer of the walks that end."""
    return [*_drawn(name, walks)]


def _drawn(name: str, walks: int) -> Iterator[tuple[int, str, RandomAnswer]]:
    walk = walker(name)
    sets = [tools for tools in TOOL_SETS if walk.expresses(tools)]
    pairs = [(tools, choice) for tools in sets for choice in CHOICES]
    for seed in range(walks):
        tools, choice = pairs[seed % len(pairs)]
        answer = walk.answer(tools, choice, Random(f"{name} {seed}"))
        if answer is not None:
            yield seed, tools, answer


def pieces_of(specials: Sequence[str], text: str, chance: Random) -> Iterator[str]:
    """Yield a text in pieces. Special tokens are pieces of their own, as in real streams."""
    marks = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    for part in re.split(f"({marks})", text):
        at = 0
        while at < len(part):
            size = len(part) if part in specials else chance.randint(1, 8)
            yield part[at : at + size]
            at += size


def expected(answer: RandomAnswer, differences: Sequence[Difference]) -> Calls:
    """Return the calls as the parser reads them."""
    calls = answer.calls
    for difference in differences:
        reads = difference.reads
        assert reads is not None
        calls = [(name, {key: reads(value) for key, value in args.items()}) for name, args in calls]
    return calls


def is_same(ours: Any, theirs: Any) -> bool:
    """Whether two JSON values are equal; unlike in Python, true is not 1."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(is_same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        return len(ours) == len(theirs) and all(map(is_same, ours, theirs))
    return isinstance(ours, bool) == isinstance(theirs, bool) and ours == theirs


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A foreign parser by its own name, and the differences that are its own.

    ``adapts``    changes the answer's text to a spelling that the parser knows.
    ``streaming`` differences of streams only; ``reads`` has no meaning there.
    """

    parser: str
    differences: tuple[Difference, ...] = ()
    streaming: tuple[Difference, ...] = ()
    adapts: Callable[[str], str] | None = None


@dataclass
class Verdict:
    """Counts of answers: of walks that ended, of compared ones (``whole``, ``stream``), and by the
    causes of differences.
    """

    ended: int = 0
    judged: Counter[str] = field(default_factory=Counter)
    causes: Counter[str] = field(default_factory=Counter)


def verdict_of(
    name: str,
    judge: Judge,
    specials: Sequence[str],
    whole: Callable[[str, str], Calls],
    stream: Callable[[Sequence[str], str], Calls],
) -> Verdict:
    """Compare the random answers of a family.

    ``specials``: tokens of the stream. ``whole`` and ``stream`` return the judge's calls of a text,
    and of its pieces, for a set of tools. AssertionError: a difference that is not known.
    """
    verdict = Verdict()
    for seed, tools, answer in answers(name, WALKS):
        verdict.ended += 1
        text = answer.text if judge.adapts is None else judge.adapts(answer.text)
        found = [d for d in judge.differences if d.seen(answer)]
        verdict.causes.update(difference.cause for difference in found)
        if any(difference.reads is None for difference in found):
            continue
        calls = expected(answer, found)
        theirs = whole(text, tools)
        assert is_same(calls, theirs), (seed, text, calls, theirs)
        verdict.judged["whole"] += 1
        found = [d for d in judge.streaming if d.seen(answer)]
        verdict.causes.update(difference.cause for difference in found)
        if found:
            continue
        pieces = [*pieces_of(specials, text, Random(seed))]
        theirs = stream(pieces, tools)
        assert is_same(calls, theirs), (seed, pieces, calls, theirs)
        verdict.judged["stream"] += 1
    return verdict


def check(verdict: Verdict, judge: Judge) -> None:
    """Most walks end, a fifth of the answers is compared, and in a long run each known difference
    still occurs.
    """
    assert verdict.ended >= 0.6 * WALKS
    assert verdict.judged["whole"] >= WALKS / 5
    if IS_LONG:
        known = {difference.cause for difference in (*judge.differences, *judge.streaming)}
        assert verdict.causes.keys() == known
