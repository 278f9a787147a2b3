"""A shared cache in a large fleet, simulated without Redis: `python -m bench.follow_sim`.

Replicas publish the entries of each tool set that they compile first, follow the log, and read what
others announce, at most so many bytes a second (the load budget).

Assumed, and to be replaced by figures of your own:
- tool sets are drawn by Zipf's law (--exponent): the k-th is drawn in proportion to 1/k^exponent;
- each replica draws --draws sets a second, each time anew: a router that keeps clients on one
  replica makes hits more frequent than this;
- a set has ENTRIES entries of ENTRY_BYTES each, shared with no other set. Real sets share many;
- a replica drops the sets used longest ago beyond its memory, and forgets announcements beyond
  QUEUE_SECONDS of its budget, oldest first;
- an announcement arrives within a second, reading takes no time, and Redis never fails;
- a replica that misses a set makes it, then reads it from Redis and publishes it only if it was not
  there; --blind: publishes it anyhow;
- a replica reads any set that is announced; --choosy: only those that fit into half of its memory,
  most popular first, as if all knew how popular each will be;
- SAMPLE replicas stand for all: traffic is theirs, scaled."""

import argparse
import random
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

ENTRIES: Final = 4
ENTRY_BYTES: Final = 20_000
SET_BYTES: Final = ENTRIES * ENTRY_BYTES
#: bytes of one announced key and of one message around its keys, as Redis sends them
KEY_BYTES: Final = 120
MESSAGE_BYTES: Final = 80
QUEUE_SECONDS: Final = 60
SAMPLE: Final = 10
LOG_MESSAGES: Final = 10_000
#: bytes a second of the network before Redis, 10 Gbit/s
LINK_BYTES: Final = 1_250_000_000
BUDGETS: Final = (0, 10_000, 100_000, 1_000_000, 10_000_000)
MEMORIES: Final = (16 << 20, 64 << 20, 256 << 20, 1 << 30)


class Replica:
    """The sets that one replica holds, most recently used last, and those it will read."""

    def __init__(self, memory: int, budget: int, is_choosy: bool = False) -> None:
        self._is_choosy = is_choosy
        self._most_sets = memory // SET_BYTES
        self._budget = budget
        self._left = 0.0
        self.held: OrderedDict[int, None] = OrderedDict()
        self._queue: deque[int] = deque(maxlen=max(1, budget * QUEUE_SECONDS // SET_BYTES))
        self.hits = self.draws = self.read_sets = 0

    def draw(self, number: int) -> bool:
        """Use a set; True if it was held."""
        self.draws += 1
        is_hit = number in self.held
        self.hits += is_hit
        self._hold(number)
        return is_hit

    def hear(self, number: int) -> None:
        """Another replica announced a set. A choosy one reads those of the popular half alone."""
        is_wanted = not self._is_choosy or number < self._most_sets // 2
        if self._budget and is_wanted and number not in self.held:
            self._queue.append(number)

    def load(self, seconds: float) -> None:
        """Read what was announced, as the budget allows."""
        self._left = min(self._left + self._budget * seconds, max(self._budget, SET_BYTES))
        while self._queue and self._left >= SET_BYTES:
            number = self._queue.popleft()
            if number not in self.held:
                self._left -= SET_BYTES
                self.read_sets += 1
                self._hold(number)

    def start_with(self, most_popular: Sequence[int]) -> None:
        """Read the most popular sets, into half of the memory at most."""
        for number in reversed(most_popular[: self._most_sets // 2]):
            self.read_sets += 1
            self._hold(number)

    def _hold(self, number: int) -> None:
        self.held[number] = None
        self.held.move_to_end(number)
        while len(self.held) > self._most_sets:
            self.held.popitem(last=False)


@dataclass(frozen=True)
class Fleet:
    """``weights`` are cumulated."""

    replicas: int
    draws: float
    seconds: int
    is_blind: bool
    is_choosy: bool
    weights: Sequence[float]

    def drawn(self, chance: random.Random, count: float) -> list[int]:
        return chance.choices(range(len(self.weights)), cum_weights=self.weights, k=round(count))


def cold_fleet(fleet: Fleet, memory: int, budget: int) -> list[str]:
    """All replicas start with an empty Redis."""
    chance = random.Random(1)
    sample = [Replica(memory, budget, fleet.is_choosy) for _ in range(SAMPLE)]
    known: set[int] = set()
    late_hits = late_draws = published = joined = 0
    for second in range(fleet.seconds):
        elsewhere = set(fleet.drawn(chance, (fleet.replicas - SAMPLE) * fleet.draws)) - known
        announced = list(elsewhere)
        published += len(elsewhere)
        is_late = second >= fleet.seconds * 5 // 6
        for replica in sample:
            for number in fleet.drawn(chance, fleet.draws):
                is_hit = replica.draw(number)
                late_hits += is_late and is_hit
                late_draws += is_late
                joined += not is_hit
                if not is_hit and number not in known:
                    published += 1
                    announced.append(number)
        known.update(announced)
        for replica in sample:
            for number in announced:
                replica.hear(number)
            replica.load(1)
    scale = fleet.replicas / SAMPLE / fleet.seconds
    joins = joined * scale
    messages = joins if fleet.is_blind else published / fleet.seconds
    read = sum(each.read_sets for each in sample) * scale + (0 if fleet.is_blind else joins)
    heard = messages * fleet.replicas * (MESSAGE_BYTES + ENTRIES * KEY_BYTES)  # by each replica
    held = sum(len(each.held) for each in sample) * SET_BYTES / 1e6 / SAMPLE
    found = [budget / 1e3, memory >> 20, 100 * hit_rate(sample), 100 * late_hits / late_draws]
    found += [read * SET_BYTES / 1e6, messages * SET_BYTES / 1e6, heard / 1e6]
    return [
        f"{number:,.1f}".removesuffix(".0") for number in (*found, LOG_MESSAGES / messages, held)
    ]


def hit_rate(replicas: Sequence[Replica]) -> float:
    return sum(each.hits for each in replicas) / sum(each.draws for each in replicas)


def rollout(fleet: Fleet, memory: int) -> list[str]:
    """Replicas restart one after the other; Redis is full."""
    chance = random.Random(2)
    sample, cold = ([Replica(memory, 0) for _ in range(SAMPLE)] for _ in range(2))
    for replica in sample:
        replica.start_with(range(len(fleet.weights)))
    for replica in (*sample, *cold):
        for number in fleet.drawn(chance, fleet.draws * 60):
            replica.draw(number)
    at_start = sum(each.read_sets for each in sample) / SAMPLE * SET_BYTES
    cold_rate, warm_rate = 100 * hit_rate(cold), 100 * hit_rate(sample)
    out = at_start * fleet.replicas / fleet.seconds
    found = (memory >> 20, at_start / 1e6, out / 1e6, cold_rate, warm_rate)
    return [f"{number:,.0f}" for number in found]


def show(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.follow_sim")
    parser.add_argument("--replicas", type=int, default=1_000)
    parser.add_argument("--namespace-mb", type=int, default=1_000)
    parser.add_argument("--draws", type=float, default=1.0, help="tool sets a second and replica")
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--exponent", type=float, default=1.0)
    parser.add_argument("--blind", action="store_true", help="publish without reading before")
    parser.add_argument("--choosy", action="store_true", help="read popular sets alone")
    asked = parser.parse_args()
    sets = asked.namespace_mb * 1_000_000 // SET_BYTES
    weights = list(accumulate(1 / rank**asked.exponent for rank in range(1, sets + 1)))
    fleet = Fleet(asked.replicas, asked.draws, asked.seconds, asked.blind, asked.choosy, weights)
    print(f"{fleet.replicas:,} replicas, {sets:,} tool sets, Zipf {asked.exponent:g}")
    print("\nA cold fleet; traffic of Redis in MB/s, mean of the whole time:")
    head = ("budget KB/s", "memory MiB", "hits %", "hits % at end", "values out", "values in",
            "log out", "log lasts s", "held MB")  # fmt: skip
    cases = [(MEMORIES[2], budget) for budget in BUDGETS] + [(m, BUDGETS[2]) for m in MEMORIES[:2]]
    show(head, [cold_fleet(fleet, memory, budget) for memory, budget in cases])
    print("\nA rollout; hits of a replica's first minute, without and with reading the hottest:")
    head = ("memory MiB", "read MB", "Redis out MB/s", "hits % without", "hits % with")
    show(head, [rollout(fleet, memory) for memory in MEMORIES])
    share = LINK_BYTES // 4 // fleet.replicas
    print(f"\nA quarter of 10 Gbit/s is {share / 1e3:,.0f} KB/s per replica, and in a rollout of "
          f"{fleet.seconds} s {share * fleet.seconds / 1e6:,.0f} MB.")  # fmt: skip
    print(f"Redis: maxmemory {asked.namespace_mb * 1.3:,.0f} MB, allkeys-lfu.")


if __name__ == "__main__":
    main()
