"""One fault while requests come: no client hears of it, no mask is wrong, the log comes back.

Three runs of requests, all with other rules: some before, the many during, some after. Another
replica publishes entries for half of each. The answers of a gateway without a log are the
reference: the noise worker draws allowed tokens by seed, so that a wrong mask shows.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from cache.entries import Entry
from tests.real_input.served import metric, served_gateway
from tests.redis_server import RedisServer

from .asking import ask_all, counters
from .faults import FAULTS, Rise
from .world import KEY, World, replica_of, world_of

#: requests of the runs before and after; those of the run between follow
BEFORE, AFTER = range(8), range(8, 24)
#: of so many in a row the other replica made the first half: two pairs of twins
STOCKED = 8
#: seconds until a fault shows or is over: the longest pause of the background thread, the time-out
#: of a reply, and what a slow machine needs
PATIENCE_SECONDS = 90.0
#: that the gateway may take beyond one without a log: replies, and what it loads
MAX_BYTES = 128 << 20
#: what a gateway must never count
NEVER = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


class Yardstick(NamedTuple):
    """Right answers by number, the memory that the gateway took which gave them, and what one
    published that got half of these requests.
    """

    answers: dict[int, str]
    peak_bytes: int
    before: list[Entry]
    during: list[Entry]
    after: list[Entry]


class Outcome(NamedTuple):
    """The result of a campaign, with complaints if it failed."""

    name: str
    requests: int
    errors: int
    wrong: int
    rise: Rise
    peak_bytes: int
    seconds_to_come_back: float
    complaints: list[str]


@contextmanager
def gateway(redis_url: str | None) -> Iterator[str]:
    """Yield its URL. ``redis_url`` None: without a shared cache."""
    # a busy machine loads all that is popular, too
    settings = {"REDIS_URL": redis_url or "", "CACHE_KEY": KEY, "CACHE_PREFETCH_SECONDS": "60"}
    with served_gateway(settings) as url:
        yield url


def during(requests: int) -> range:
    return range(AFTER.stop, AFTER.stop + requests)


def yardstick(requests: int) -> Yardstick:
    """For campaigns of so many requests."""
    with gateway(None) as url:
        answers = ask_all(url, range(during(requests).stop))
        peak = peak_bytes()
    server = RedisServer()
    server.start()
    try:
        stocks = [learned(server, numbers) for numbers in (BEFORE, during(requests), AFTER)]
        return Yardstick(answers, peak, *stocks)
    finally:
        server.close()


def learned(server: RedisServer, numbers: Sequence[int]) -> list[Entry]:
    """Return the entries that a gateway publishes for half of the requests."""
    with gateway(server.url) as url:
        ask_all(url, [number for number in numbers if number % STOCKED < STOCKED // 2])
    with replica_of(server) as log:
        namespace = log.namespace()
        entries, _ = namespace.read(list(namespace.keys(PATIENCE_SECONDS)))
    server.kill()
    server.start()
    return entries


def run(name: str, requests: int, right: Yardstick) -> Outcome:
    """One campaign."""
    fault = FAULTS[name]
    with world_of(right.before, right.during) as world:
        course = fault.course(world)
        next(course)
        if fault.from_start:
            next(course)
        with gateway(world.url) as url:
            return _watched(name, url, world, course, during(requests), right)


def _watched(
    name: str, url: str, world: World, course: Iterator[None], numbers: range, right: Yardstick
) -> Outcome:
    fault = FAULTS[name]
    given = ask_all(url, BEFORE)
    checks = {"used before": fault.from_start or comes(lambda: _is_used(counters(url)))}
    start = Counter() if fault.from_start else counters(url)
    given |= ask_all(url, numbers, None if fault.from_start else lambda: next(course))
    checks["the fault"] = comes(lambda: fault.shows(counters(url) - start))
    rise = counters(url) - start
    next(course, None)  # mends it
    mended = time.monotonic()
    checks["followed again"] = _is_followed(url, world, right.after)
    seconds = time.monotonic() - mended
    checks["written again"] = _is_written(url, world, given)
    complaints = [f"not seen: {what}, of {dict(rise)}" for what, seen in checks.items() if not seen]
    complaints += [f"{counted} is not 0" for counted in NEVER if metric(url, counted)]
    if (peak := peak_bytes()) > right.peak_bytes + MAX_BYTES:
        complaints.append(f"{peak:,} bytes taken, {right.peak_bytes:,} without a log")
    errors = {number for number, answer in given.items() if answer.startswith("error")}
    wrong = {number for number in given if given[number] != right.answers[number]} - errors
    complaints += [
        f"request {number}: {given[number][:300]} instead of {right.answers[number][:300]}"
        for number in sorted(errors | wrong)
    ]
    return Outcome(name, len(given), len(errors), len(wrong), rise, peak, seconds, complaints)


def _is_used(rise: Rise) -> bool:
    return rise["shared_masks_loaded"] > 0 and rise["shared_masks_published"] > 0


def _is_followed(url: str, world: World, entries: Sequence[Entry]) -> bool:
    """Whether the gateway loads what another replica publishes now."""
    start = counters(url)

    def followed() -> bool:
        world.publish(entries)
        rise = counters(url) - start
        return rise["announced"] > 0 and rise["shared_masks_loaded"] > 0

    return comes(followed)


def _is_written(url: str, world: World, given: dict[int, str]) -> bool:
    """Whether another replica gets what the gateway learns from the last run of requests."""
    with replica_of(world.server) as other:
        other.position()
        given |= ask_all(url, AFTER)
        keys: list[bytes] = []

        def written() -> bool:
            keys.extend(other.follow(0.1))
            return bool(keys)

        return comes(written) and None not in other.read(keys)


def comes(happened: Callable[[], object]) -> bool:
    """Whether it happens; waits for it."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.1)
    return True


def peak_bytes() -> int:
    """The most memory that the gateway, a child of this process, had at once."""
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            text = status.read_text()
            command = status.with_name("cmdline").read_bytes().split(b"\0")
            if f"\nPPid:\t{os.getpid()}\n" in text and b"app" in command:
                return 1024 * int(text.partition("VmHWM:")[2].split()[0])
    raise AssertionError("there is no gateway")
