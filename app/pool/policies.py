"""Policies: which of several seats gets a generation. Pure: no I/O, no clock.

A seat is a worker, or one of its ranks. The pool asks a policy only about the seats of workers that
are equally fit: healthy, not ejected, not draining, and below their bound of running generations.
So a policy decides about load and caches alone.

    round-robin    the seat whose last pick is the longest ago
    least-load     the seat with the fewest running generations; equally busy ones take turns
    power-of-two   the less busy of two random seats. Several gateways do not move in step towards
                   the same idle one
    prefix-aware   the seat that served the conversation's previous turn, whose KV cache holds its
                   prompt (prefixes); for a new conversation, the least busy one

Invariants   I1 ``pick`` returns one of its candidates.
             I2 prefix-aware never picks a seat with more running generations than the bound of
                ``has_spare``: a popular conversation does not overload its seat.
Threads      the event loop only: policies keep state.
Not here     health, ejection, retries (worker_pool).
"""

import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import Protocol, TypeVar

from adapters.workers import Generation

from ..settings import PolicyName
from .prefixes import Prefixes, PrefixTable

#: prefix-aware: a seat may have this many times the mean of running generations, and SLACK more.
#: Both are needed. With 1.25 alone, 76 % of later turns meet their worker at a mean of 16, and 29 %
#: at a mean of one; with both, 99 % (docs/adr/0011)
LOAD_FACTOR, SLACK = 1.25, 4


class Candidate(Protocol):
    """A seat as a policy sees it."""

    @property
    def name(self) -> str: ...

    @property
    def running(self) -> int:
        """The number of its open generations."""
        ...


Seat = TypeVar("Seat", bound=Candidate)


class Policy(Protocol):
    """Picks a seat; ``candidates`` is never empty."""

    def pick(self, candidates: Sequence[Seat], generation: Generation) -> Seat: ...


class RoundRobin:
    """See the file's header. Candidates may change from pick to pick: turns follow names."""

    def __init__(self) -> None:
        self._turns = _Turns()

    def pick(self, candidates: Sequence[Seat], generation: Generation) -> Seat:
        return self._turns.take(min(candidates, key=self._turns.last))


class LeastLoad:
    """See the file's header. Equally busy seats take turns."""

    def __init__(self) -> None:
        self._turns = _Turns()

    def pick(self, candidates: Sequence[Seat], generation: Generation) -> Seat:
        return self._turns.take(self._turns.least_busy(candidates))


class PowerOfTwo:
    """See the file's header. ``seed``: for tests."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)

    def pick(self, candidates: Sequence[Seat], generation: Generation) -> Seat:
        two = self._random.sample(candidates, min(2, len(candidates)))
        return min(two, key=lambda candidate: candidate.running)


class PrefixAware:
    """See the file's header."""

    def __init__(self) -> None:
        self._table = PrefixTable()
        self._turns = _Turns()

    def pick(self, candidates: Sequence[Seat], generation: Generation) -> Seat:
        prefixes = Prefixes(
            generation.prompt, generation.images, lora=generation.lora, salt=generation.cache_salt
        )
        name = self._table.find(prefixes, {candidate.name for candidate in candidates})
        home = next((each for each in candidates if each.name == name), None)
        if home is None or not has_spare(home, candidates):
            home = self._turns.least_busy(candidates)
        self._table.remember(prefixes, home.name)
        return self._turns.take(home)


def has_spare(home: Candidate, candidates: Sequence[Candidate]) -> bool:
    """Whether a seat may get one more generation although others are less busy."""
    total = 1 + sum(each.running for each in candidates)
    return home.running + 1 <= LOAD_FACTOR * total / len(candidates) + SLACK


class _Turns:
    """The number of each seat's last pick, by its name; seats come and go."""

    #: names kept: pods that come and go have new addresses
    MAX_NAMES = 1024

    def __init__(self) -> None:
        self._numbers = count(1)
        self._last: dict[str, int] = {}

    def last(self, candidate: Candidate) -> int:
        return self._last.get(candidate.name, 0)

    def least_busy(self, candidates: Sequence[Seat]) -> Seat:
        if len(candidates) == 1:
            return candidates[0]
        return min(candidates, key=lambda each: (each.running, self.last(each)))

    def take(self, candidate: Seat) -> Seat:
        self._last.pop(candidate.name, None)  # the oldest pick comes first
        self._last[candidate.name] = next(self._numbers)
        if len(self._last) > self.MAX_NAMES:
            del self._last[next(iter(self._last))]
        return candidate


_MAKERS: dict[PolicyName, Callable[[], Policy]] = {
    "round-robin": RoundRobin,
    "least-load": LeastLoad,
    "power-of-two": PowerOfTwo,
    "prefix-aware": PrefixAware,
}


def make_policy(name: PolicyName) -> Policy:
    """Return a new policy; each pool has its own."""
    return _MAKERS[name]()
