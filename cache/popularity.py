"""How popular an entry is: its uses, of which those two weeks ago count half.

A use at time t weighs 2^(t / HALF_LIFE), so that nothing has to be aged: all weights grow alike,
and only their ratios matter. A double holds them until 2064; from then on all uses count alike.
"""

import math
import time
from typing import Final

#: seconds after which a use counts half as much
HALF_LIFE: Final = 14 * 86_400
#: the beginning of 2026
_START: Final = 1_767_225_600
_MOST_HALVINGS: Final = 1_000


def weight(now: float | None = None) -> float:
    """Of one use now."""
    past = (time.time() if now is None else now) - _START
    return math.exp2(min(past / HALF_LIFE, _MOST_HALVINGS))


def uses(score: float, now: float | None = None) -> float:
    """How many uses now a score is worth."""
    return score / weight(now)
