"""What a backend's calls took: sums by kind, and a sample of whole steps.

Representation   a *step* goes from one allocation of masks to the next: its masks, its tokens, and
                 what requests that came meanwhile asked of the backend. A step is a row of
                 nanoseconds by kind (KINDS); rows are sampled apart by *size*, the number of masks
                 filled, rounded up to a power of two.
Invariants       I1 a size keeps at most ``most`` rows, every step being as likely among them as
                 any other (Vitter's algorithm R, 1985). I2 a reading begins anew.
Threads          the scheduler's.
"""

from random import Random
from typing import Any

#: calls as they come: a request's, then a step's
KINDS = (
    "key", "lookup", "copy", "allocate", "is_terminated", "fill", "fill_one", "move", "apply",
    "accept", "rollback",
)  # fmt: skip
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
#: rows kept of each size: enough for a p99 that 20 of them lie beyond
MOST_ROWS = 2000


def size_of(masks: int) -> int:
    """1, 2, 4, 8 ...: the first that is no less."""
    return 1 << (masks - 1).bit_length()


class Tally:
    """See the file's header. ``inside``: a call is being timed; ``nested``: calls within it."""

    def __init__(self, most: int = MOST_ROWS) -> None:
        self._most = most
        self._random = Random(1)
        self.inside = False
        self.nested = 0
        #: what the wrapper itself adds to a call's time, and for each call within it
        self.call_ns = 0.0
        self.nested_ns = 0.0
        self._begin()

    def add(self, kind: int, nanoseconds: int) -> None:
        """One call, of KINDS[kind], without what measuring it took."""
        took = nanoseconds - self.call_ns - self.nested * self.nested_ns
        self._ns[kind] += took
        self._calls[kind] += 1
        self._step[kind] += took

    def next_step(self) -> None:
        """Masks are about to be allocated."""
        if self._masks:
            self._steps += 1
            self._keep(size_of(self._masks), [round(took) for took in self._step])
        self._step = [0.0] * len(KINDS)
        self._masks = 0

    def masks(self, number: int) -> None:
        """So many masks of this step are about to be filled."""
        self._masks = number

    def taken(self) -> dict[str, Any]:
        """All since the last reading, as JSON; the step that is under way is left out."""
        found = {
            "kinds": list(KINDS),
            "ns": [round(took) for took in self._ns],
            "calls": self._calls,
            "steps": self._steps,
            "sizes": {str(size): seen for size, seen in sorted(self._seen.items())},
            "rows": {str(size): rows for size, rows in sorted(self._rows.items())},
            "overhead_ns": {"call": self.call_ns, "nested": self.nested_ns},
        }
        self._begin()
        return found

    def _begin(self) -> None:
        self._ns = [0.0] * len(KINDS)
        self._calls = [0] * len(KINDS)
        self._steps = 0
        self._rows: dict[int, list[list[int]]] = {}
        self._seen: dict[int, int] = {}
        self._step = [0.0] * len(KINDS)
        self._masks = 0

    def _keep(self, size: int, row: list[int]) -> None:
        seen = self._seen[size] = self._seen.get(size, 0) + 1
        rows = self._rows.setdefault(size, [])
        if len(rows) < self._most:
            rows.append(row)
        elif (place := self._random.randrange(seen)) < self._most:
            rows[place] = row
