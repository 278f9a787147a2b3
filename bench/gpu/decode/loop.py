"""A run: steps of a batch, one after another, with the masks of one backend or without any.

A step       1. queue the model's pass over the tokens of the last step
             2. wait for these tokens on the host; accept them; replace rows that are over
             3. compute the masks of this step, while the pass runs
             4. queue the copy of the masks, and behind it and the pass the choice of tokens

So the device waits for the host only if 2 and 3 take longer than the pass. Grammars of coming rows
compile in threads beside the loop: a row is asked for when AHEAD rows wait before it, as requests
of a busy server do. The loop waits for a grammar that is not compiled when its row begins.

Invariants   I1 without a grammar, a step does everything but 3 and the masks of 4.
             I2 all backends run the same rows in the same steps: a row ends when its tokens are
                used up, even if its answer is over before.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter
from typing import Any

import numpy as np

from .answers import Judged, Row, Rows
from .backends import Backend
from .device_queue import FREE, Arrays, DeviceQueue

#: rows that wait for each row of the batch, and at least
AHEAD, LEAST_AHEAD = 0.5, 4
#: tokens of a short row: with such rows alone, a run uses the rows that are made before
SHORT = 20


@dataclass
class Told:
    """Results of a run. Microseconds of the host by step: ``fill`` (3 of a step), ``accept`` (2,
    without waiting for the device, but for compiles). ``late``: steps whose masks were ready after
    the pass. ``refused``: rows whose grammar the backend refuses.
    """

    seconds: float = 0.0
    tokens: int = 0
    us: dict[str, list[float]] = field(default_factory=lambda: {"fill": [], "accept": []})
    late: int = 0
    refused: list[str] = field(default_factory=list)


class Batch:
    """The rows of a batch, in arrays with an entry for each place. ``states``: None where nothing
    constrains the rest of a row.
    """

    def __init__(self, size: int, longest: int) -> None:
        self.rows: list[Row | None] = [None] * size
        self.states: list[Any] = [None] * size
        self.wanted = np.full((size, longest), FREE, dtype=np.int64)
        self.taken = np.zeros((size, longest), dtype=np.int64)
        self.lengths, self.at = (np.zeros(size, dtype=np.int64) for _ in range(2))
        self._every = np.arange(size)

    def put(self, place: int, row: Row, state: Any) -> None:
        """Let a row begin."""
        self.rows[place], self.states[place] = row, state
        self.wanted[place, : len(row.wanted)] = row.wanted
        self.lengths[place], self.at[place] = len(row.wanted), 0

    def steer(self) -> Arrays:
        """Return the wanted token of each row, or FREE."""
        return self.wanted[self._every, self.at]

    def ends(self) -> Arrays:
        """Return 1 for each row whose next token is its last."""
        return (self.at == self.lengths - 1).astype(np.int64)

    def take(self, tokens: Arrays) -> list[int]:
        """Add a token to each row; return the places of rows that are over."""
        self.taken[self._every, self.at] = tokens
        self.at += 1
        return np.flatnonzero(self.at == self.lengths).tolist()


class Run:
    """See the file's header. Rows are those from number ``first`` on.

    ``longest``: tokens of the longest row. Answers of the backend are added to ``judged``.
    """

    def __init__(
        self,
        queue: DeviceQueue,
        backend: Backend | None,
        rows: Rows,
        first: int,
        judged: Judged,
        longest: int,
    ) -> None:
        self._queue, self._backend, self._rows, self._judged = queue, backend, rows, judged
        self.told = Told()
        self._first = first
        self._numbers: Iterator[int] = count(first)
        self._waiting: deque[tuple[Row, Future[Any] | None]] = deque()
        self._batch = Batch(queue.rows, longest)
        self._over: list[tuple[Row, list[int]]] = []

    def run(self, steps: int) -> Told:
        """Run the steps. The rows of the first one are compiled before, those of all are made
        before, and answers are judged after the time is taken.
        """
        size, told = self._queue.rows, self.told
        self._rows.make(self._first, 2 * size + steps * size // SHORT)
        for _ in range(size + max(LEAST_AHEAD, int(AHEAD * size))):
            self._ask()
        for place in range(size):
            # of different lengths, so that rows do not end together
            self._begin(place, share=(place + 1) / size)
        self._queue.reset(self._batch.at)
        start = perf_counter()
        for step in range(steps):
            self._step(is_first=step == 0)
        self._queue.synchronize()
        told.seconds, told.tokens = perf_counter() - start, steps * size
        for _, future in self._waiting:
            if future is not None:
                future.cancel()
        for row, tokens in self._over:
            self._judged.add(row, tokens)
        return told

    def _step(self, *, is_first: bool) -> None:
        queue, batch, told = self._queue, self._batch, self.told
        queue.run_pass()
        if not is_first:
            tokens = queue.tokens()
            begin = perf_counter()
            self._take(tokens)
            told.us["accept"].append(1e6 * (perf_counter() - begin))
        mask = None
        if self._backend is not None:
            begin = perf_counter()
            mask = queue.allocate()
            rows = [place for place, state in enumerate(batch.states) if state is not None]
            if rows:
                self._backend.fill([batch.states[place] for place in rows], rows, mask)
            told.us["fill"].append(1e6 * (perf_counter() - begin))
        told.late += queue.pass_is_over()
        queue.choose(batch.steer(), batch.ends(), mask)

    # -- rows --------------------------------------------------------------------------------------
    def _ask(self) -> None:
        row = self._rows.row(next(self._numbers))
        future = None if self._backend is None else self._backend.compile(row)
        self._waiting.append((row, future))

    def _begin(self, place: int, share: float = 1.0) -> None:
        """Let the next row begin, and ask for another one. ``share``: of its tokens."""
        row, future = self._waiting.popleft()
        state = None
        if self._backend is not None and future is not None:
            try:
                state = self._backend.start(future.result())
            except Exception as error:  # the row runs without a grammar, as long as with one
                self.told.refused.append(f"{row.case.name}: {error}"[:300])
        if share < 1.0:
            row = replace(
                row, wanted=row.wanted[: max(1, int(share * len(row.wanted)))], truth=None
            )
        self._batch.put(place, row, state)
        self._ask()

    def _take(self, tokens: Arrays) -> None:
        if self._backend is not None:
            self._accept(self._backend, tokens.tolist())
        for place in self._batch.take(tokens):
            row = self._batch.rows[place]
            if self._backend is not None and row is not None:
                length = self._batch.at[place]
                self._over.append((row, self._batch.taken[place, :length].tolist()))
            self._begin(place)

    def _accept(self, backend: Backend, tokens: Sequence[int]) -> None:
        states, stop = self._batch.states, self._rows.stop
        for place, state in enumerate(states):
            if state is None:
                continue
            token = tokens[place]
            try:
                taken, why = backend.accept(state, token), ""
            except Exception as error:
                taken, why = False, str(error)
            if not taken:
                self._judged.wrong.append(f"a token of its mask is refused: {token} {why}"[:300])
            if not taken or token == stop:
                states[place] = None
