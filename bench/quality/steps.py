"""The places where the mask forbids what the model wants.

Steps are grouped by the text before them: its last characters, with every run of letters as ``a``
and every run of digits as ``0``. The worst groups are those that lose the most probability.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

#: characters of the text before a step that decide its group
CONTEXT = 4


@dataclass(frozen=True)
class Step:
    """A sampled step. ``before``: the text before it; ``kept``: the probability within the mask."""

    before: str
    wanted: str
    wanted_p: float
    is_masked: bool
    kept: float
    taken: str
    taken_p: float


@dataclass(frozen=True)
class Place:
    """A group. ``lost``: the sum of probability that masks took; ``example``: its worst step."""

    shape: str
    lost: float
    count: int
    example: Step


def shape(text: str) -> str:
    """Return the group of a text before a step."""
    plain = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text))
    return plain[-CONTEXT:]


def groups_of(steps: Sequence[Step]) -> dict[str, list[Step]]:
    """Return the masked steps of each group."""
    groups: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.is_masked:
            groups[shape(step.before)].append(step)
    return dict(groups)


def lost(group: Sequence[Step]) -> float:
    return sum(1 - step.kept for step in group)


def worst_places(steps: Sequence[Step], most: int = 10) -> list[Place]:
    """Return the groups of masked steps, worst first."""
    places = [
        Place(shape, lost(group), len(group), min(group, key=lambda step: step.kept))
        for shape, group in groups_of(steps).items()
    ]
    return sorted(places, key=lambda place: -place.lost)[:most]
