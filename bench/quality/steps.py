"""The places where the mask forbids what the model wants.

Steps are grouped by the text before them: its last characters, with every run of letters as ``a``
and every run of digits as ``0``. The worst groups are those that lose the most probability.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .loop import Step

#: characters of the text before a step that decide its group
CONTEXT = 4


@dataclass(frozen=True)
class Place:
    """A group. ``lost``: the sum of probability that masks took; ``example``: its worst step."""

    lost: float
    count: int
    example: Step


def shape(text: str) -> str:
    """Return the group of a text before a step."""
    plain = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", text))
    return plain[-CONTEXT:]


def worst_places(steps: Sequence[Step], most: int = 10) -> list[Place]:
    """Return the groups of masked steps, worst first."""
    groups: dict[str, list[Step]] = defaultdict(list)
    for step in steps:
        if step.is_masked:
            groups[shape(step.before)].append(step)
    places = [
        Place(sum(1 - step.kept for step in group), len(group), min(group, key=lambda s: s.kept))
        for group in groups.values()
    ]
    return sorted(places, key=lambda place: -place.lost)[:most]
