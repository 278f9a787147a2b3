"""python -m bench.follow_sim: the cost of a shared cache in a large fleet, simulated without Redis.

Each replica draws tool sets, computes missing entries, publishes and announces them, and loads
announced entries, as engine/sharing/artifact_cache.py and cache/redis_log.py do, with their
constants. Several load budgets and table sizes are compared.

Assumptions; replace them by your own figures:
- each replica draws tool sets independently by Zipf's law, the k-th in proportion to 1/k^exponent.
  A router that keeps clients on one replica would make hits more frequent;
- a replica draws --draws sets per second that its compiled grammars do not contain;
- a set has one entry of ENTRY_BYTES of its own. Real sets share most entries, so a real namespace
  of this size belongs to many more sets. Real entries also grow as replicas visit more states, and
  are published again each time; simulated ones do not;
- an entry takes TABLE_FACTOR times its bytes in a table, and a full table drops all entries;
- reads and writes happen in steps of FOLLOW_SECONDS; Redis never fails and is never late;
- SAMPLE replicas are simulated. The others only announce: a draw elsewhere is a miss if a random
  replica of the sample does not hold the set.
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from cache.redis_log import LOG_MESSAGES
from engine import Limits
from engine.sharing.artifact_cache import (
    AT_ONCE,
    FOLLOW_SECONDS,
    LOADS_PER_SECOND,
    MAX_FILLED,
    MAX_FILLED_AT_START,
    MAX_HOTTEST,
    REPORT_SECONDS,
)

from .report import markdown

#: measured with llama3, 300 schemas and 300 tool sets: masks, which are nearly all entries
ENTRY_BYTES: Final = 25_000
TABLE_FACTOR: Final = 2.3
#: entries per second that a start loads from an idle Redis
LOADED_PER_SECOND: Final = 2_000
#: measured with 1,000 followers: bytes of a reply that announces one entry, and replies per second
#: that saturate the one processor of a Redis
MESSAGE_BYTES: Final = 215
REPLIES_PER_SECOND: Final = 50_000
#: bandwidth of the network to Redis: 10 Gbit/s
LINK_BYTES: Final = 1_250_000_000
SAMPLE: Final = 10
BUDGETS: Final = (0, 5, 50, LOADS_PER_SECOND)
TABLES: Final = (64 << 20, Limits().token_mask_bytes, 1 << 30)
LOAD_SECONDS: Final = (0.0, 1.0, 5.0)
#: seconds after a restart in which hits are counted
FIRST_SECONDS: Final = 60


class Replica:
    """The sets that one replica holds, at most ``room``; ``budget``: entries per second."""

    def __init__(self, room: int, budget: float) -> None:
        self._room = room
        self._budget = self._allowance = budget
        self.held: set[int] = set()
        self.hits = self.draws = self.reads = self.drops = self.most_held = 0

    def draw(self, number: int) -> bool:
        """Use a set. Return False if its entry had to be computed."""
        self.draws += 1
        is_hit = number in self.held
        self.hits += is_hit
        self._hold(number)
        return is_hit

    def hear(self, announced: Sequence[int]) -> None:
        """Follow the log for one step. Held entries are read too: they may have grown."""
        self._allowance = min(self._budget, self._allowance + self._budget * FOLLOW_SECONDS)
        taken = announced[: int(self._allowance)]
        self._allowance -= len(taken)
        self.load([*dict.fromkeys(taken)], MAX_FILLED)

    def load(self, numbers: Sequence[int], most_filled: float = MAX_FILLED_AT_START) -> None:
        """Add a set to the table."""
        for start in range(0, len(numbers), AT_ONCE):
            if len(self.held) >= int(self._room * most_filled):
                break
            some = numbers[start : start + AT_ONCE]
            self.reads += len(some)
            for number in some:
                self._hold(number)

    def _hold(self, number: int) -> None:
        if number not in self.held and len(self.held) >= self._room:
            self.held.clear()
            self.drops += 1
        self.held.add(number)
        self.most_held = max(self.most_held, len(self.held))


@dataclass(frozen=True)
class Fleet:
    """``weights``: cumulative weights of the sets."""

    replicas: int
    draws: float
    seconds: int
    weights: Sequence[float]

    def drawn(self, chance: random.Random, count: float) -> list[int]:
        whole = int(count) + (chance.random() < count % 1)
        return chance.choices(range(len(self.weights)), cum_weights=self.weights, k=whole)


class Told(NamedTuple):
    """Figures of a fleet.

    Shares of draws that hit; bytes and messages per second, as means and as the peak of one step;
    processors needed for one reply per message, of which Redis has one (beyond that, messages are
    combined and late); maximum bytes of a table.
    """

    hits: float
    late_hits: float
    values_out: float
    peak_out: float
    values_in: float
    announced_out: float
    messages: float
    processors: float
    table_bytes: float
    drops: float


def cold_fleet(fleet: Fleet, table_bytes: int, budget: float, seed: int = 1) -> Told:
    """Start all replicas with an empty Redis; late hits are those of the last sixth."""
    chance = random.Random(seed)
    sample = [Replica(_room(table_bytes), budget) for _ in range(SAMPLE)]
    known: set[int] = set()
    steps = round(fleet.seconds / FOLLOW_SECONDS)
    early, announced_keys, read_before_publishing, peak = (0, 0), 0, 0, 0
    for step in range(steps):
        if step == steps * 5 // 6:
            early = _hits(sample)
        elsewhere = (fleet.replicas - SAMPLE) * fleet.draws * FOLLOW_SECONDS
        missed = [n for n in fleet.drawn(chance, elsewhere) if n not in chance.choice(sample).held]
        for replica in sample:
            drawn = fleet.drawn(chance, fleet.draws * FOLLOW_SECONDS)
            missed += [number for number in drawn if not replica.draw(number)]
        # others may have computed another part: a miss reads the entry before it publishes
        read_before_publishing += sum(number in known for number in missed)
        announced = [n for n in missed if n not in known]
        known.update(missed)
        chance.shuffle(announced)
        announced_keys += len(announced)
        before = _reads(sample)
        for replica in sample:
            replica.hear(announced)
        peak = max(peak, _reads(sample) - before)
    hits, late = _hits(sample), [now - then for now, then in zip(_hits(sample), early, strict=True)]
    scale = fleet.replicas / SAMPLE * ENTRY_BYTES
    values_out = _reads(sample) * scale + read_before_publishing * ENTRY_BYTES
    messages = announced_keys / fleet.seconds  # a replica rarely misses two sets in one step
    return Told(
        hits=hits[0] / hits[1],
        late_hits=late[0] / late[1],
        values_out=values_out / fleet.seconds,
        peak_out=peak * scale / FOLLOW_SECONDS,
        values_in=messages * ENTRY_BYTES,
        announced_out=messages * fleet.replicas * MESSAGE_BYTES,
        messages=messages,
        processors=messages * fleet.replicas / REPLIES_PER_SECOND,
        table_bytes=max(each.most_held for each in sample) * ENTRY_BYTES * TABLE_FACTOR,
        drops=sum(each.drops for each in sample) / SAMPLE,
    )


def _room(table_bytes: int) -> int:
    return int(table_bytes / TABLE_FACTOR / ENTRY_BYTES)


def _reads(replicas: Sequence[Replica]) -> int:
    return sum(each.reads for each in replicas)


def _hits(replicas: Sequence[Replica]) -> tuple[int, int]:
    return sum(each.hits for each in replicas), sum(each.draws for each in replicas)


class Start(NamedTuple):
    """Figures of a replica that starts with a full Redis: loaded bytes, hits of a minute."""

    loaded_bytes: float
    hits: float


def start(fleet: Fleet, table_bytes: int, load_seconds: float, seed: int = 2) -> Start:
    """Load popular entries; announcements in the meantime are ignored."""
    chance = random.Random(seed)
    sample = [Replica(_room(table_bytes), 0) for _ in range(SAMPLE)]
    for replica in sample:
        replica.load(range(min(MAX_HOTTEST, int(load_seconds * LOADED_PER_SECOND))))
        for number in fleet.drawn(chance, fleet.draws * FIRST_SECONDS):
            replica.draw(number)
    hits, draws = _hits(sample)
    return Start(sample[0].reads * ENTRY_BYTES, hits / draws)


# -- tables ----------------------------------------------------------------------------------------
def cold_table(fleet: Fleet) -> str:
    default = Limits().token_mask_bytes
    cases = [(fleet, default, budget) for budget in BUDGETS]
    cases += [(fleet, table, LOADS_PER_SECOND) for table in TABLES if table != default]
    rows = [["loads a second, table (MiB)", "hits %", "at the end", "values out MB/s", "at most",
             "in MB/s", "announced MB/s", "messages a second", "processors", "table MB",
             "drops"]]  # fmt: skip
    for of, table, budget in cases:
        told = cold_fleet(of, table, budget)
        traffic = (told.values_out, told.peak_out, told.values_in, told.announced_out)
        rows.append(
            [
                f"{budget}, {table >> 20}",
                *(f"{100 * each:.0f}" for each in (told.hits, told.late_hits)),
                *(f"{each / 1e6:,.0f}" for each in traffic),
                f"{told.messages:,.0f}",
                f"{told.processors:.1f}",
                f"{told.table_bytes / 1e6:,.0f}",
                f"{told.drops:.1f}",
            ]
        )
    return markdown(rows)


def start_table(fleet: Fleet) -> str:
    rows = [["seconds of loading, table (MiB)", "read MB", "hits %", f"over {fleet.seconds} s MB/s",
             "at once, seconds of 10 Gbit/s"]]  # fmt: skip
    for table in TABLES:
        for seconds in LOAD_SECONDS:
            found = start(fleet, table, seconds)
            every = found.loaded_bytes * fleet.replicas
            figures = [found.loaded_bytes / 1e6, 100 * found.hits, every / fleet.seconds / 1e6]
            cells = [f"{each:,.0f}" for each in (*figures, every / LINK_BYTES)]
            rows.append([f"{seconds:g}, {table >> 20}", *cells])
    return markdown(rows)


def fleet_of(asked: argparse.Namespace) -> Fleet:
    sets = int(asked.namespace_mb * 1e6 / ENTRY_BYTES)
    weights = [*accumulate(rank**-asked.exponent for rank in range(1, sets + 1))]
    return Fleet(asked.replicas, asked.draws, asked.seconds, weights)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.follow_sim",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--replicas", type=int, default=1_000)
    add("--namespace-mb", type=float, default=1_000)
    add("--draws", type=float, default=1.0, help="tool sets a second and replica")
    add("--seconds", type=int, default=1_800, help="simulated; of a rolling restart, too")
    add("--exponent", type=float, default=1.0)
    asked = parser.parse_args(given)
    if asked.replicas < SAMPLE:
        parser.error(f"--replicas must be at least {SAMPLE}, got {asked.replicas}")
    return asked


def main() -> None:
    asked = arguments()
    fleet = fleet_of(asked)
    print(f"{fleet.replicas:,} replicas, {len(fleet.weights):,} tool sets, Zipf {asked.exponent:g}")
    print("\nA cold fleet:\n", cold_table(fleet), sep="\n", flush=True)
    print("\nRestarts, hits of the first minute:\n", start_table(fleet), sep="\n")
    asking, reporting = fleet.replicas / FOLLOW_SECONDS, 3 * fleet.replicas * fleet.draws
    print(
        f"\nCommands a second: an idle fleet asks {asking:,.0f} times; reports of use, each "
        f"{REPORT_SECONDS:g} s, come to {reporting:,.0f} at most. The log keeps {LOG_MESSAGES:,} "
        "messages."
    )


if __name__ == "__main__":
    main()
