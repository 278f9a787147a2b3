"""Times of a backend's calls: sums by kind, and a sample of whole steps.

Representation   a *step* lasts from one allocation of masks to the next: its masks, its tokens, and
                 the calls for requests that arrived in between. A step is a row of nanoseconds by
                 kind (KINDS). Rows are sampled separately by *size*, the number of filled masks
                 rounded up to a power of two.
Invariants       I1 a size keeps at most ``most`` rows, each step with equal probability (Vitter's
                 algorithm R, 1985). I2 a reading resets all counts.
Threads          the scheduler's.
"""

from random import Random
from typing import Any

#: calls in their order: those of a request, then those of a step
KINDS = (
    "key", "lookup", "copy", "allocate", "is_terminated", "fill", "fill_one", "move", "apply",
    "accept", "rollback",
)  # fmt: skip
NUMBER = {kind: number for number, kind in enumerate(KINDS)}
#: rows per size: enough for 20 beyond the p99
MAX_ROWS = 2000


def size_of(masks: int) -> int:
    """Return the smallest power of two that is not less."""
    return 1 << (masks - 1).bit_length()


class Tally:
    """See the file's header. ``inside``: a call is being timed; ``nested``: calls within it."""

    def __init__(self, most: int = MAX_ROWS) -> None:
        self._most = most
        self._random = Random(1)
        self.inside = False
        self.nested = 0
        #: time that the wrapper adds to a call, and for each nested call
        self.call_ns = 0.0
        self.nested_ns = 0.0
        self._begin()

    def add(self, kind: int, nanoseconds: int) -> None:
        """Add a call of KINDS[kind], without the cost of measuring it."""
        took = nanoseconds - self.call_ns - self.nested * self.nested_ns
        self._ns[kind] += took
        self._calls[kind] += 1
        self._step[kind] += took

    def next_step(self) -> None:
        """Begin a step: masks are about to be allocated."""
        if self._masks:
            self._steps += 1
            self._keep(size_of(self._masks), [round(took) for took in self._step])
        self._step = [0.0] * len(KINDS)
        self._masks = 0

    def masks(self, number: int) -> None:
        """Record the number of masks that this step is about to fill."""
        self._masks = number

    def taken(self) -> dict[str, Any]:
        """Return all counts since the last reading as JSON, without the current step."""
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
