"""One fault while requests come: nobody hears of it, no mask is wrong, and the cache comes back.

Three runs of requests, all with other rules: some before, the many during, and at last so many as
it takes until the store is read and written again. What a gateway without a store answers to them
is the yardstick: the noise worker draws by seed among what is allowed, so that a wrong mask shows.
"""

import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from tests.real_input.served import metric, served_gateway
from tests.redis_server import RedisServer

from .asking import ask_all, counters
from .faults import FAULTS, Rise
from .world import KEY, Stock, take_stock, world_of

#: requests of the runs before and after; those of the run between follow
BEFORE, AFTER = range(8), range(8, 72)
DURING_FROM = AFTER.stop
#: of so many in a row the first half lies in the stock: two pairs of twins
STOCKED = 8
#: seconds until a cache is used again: as long as it is left alone at most, and what a slow machine
#: needs
PATIENCE_SECONDS = 90.0
#: what a gateway must never count
NEVER = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


class Yardstick(NamedTuple):
    """Right answers by number, and what a Redis holds that a gateway filled with half of them."""

    answers: dict[int, str]
    stock: Stock


class Outcome(NamedTuple):
    """What a campaign saw: complaints, none of them if all is well."""

    name: str
    requests: int
    errors: int
    wrong: int
    during: Rise
    after: Rise
    seconds_to_come_back: float
    complaints: list[str]


@contextmanager
def gateway(redis_url: str | None) -> Iterator[str]:
    """Its URL. It shares all it learns; ``redis_url`` None: with nobody."""
    settings = {
        "REDIS_URL": redis_url or "",
        "CACHE_KEY": KEY,
        # a healthy Redis of a busy machine is no fault, and every entry is asked for by a compile
        "CACHE_READ_SECONDS": "0.4",
        "CACHE_PREFETCH_SECONDS": "0",
    }
    with served_gateway(settings, module="tests.faults.sharing_gateway") as url:
        yield url


def yardstick(requests: int) -> Yardstick:
    """For campaigns of so many requests."""
    numbers = range(DURING_FROM + requests)
    with gateway(None) as url:
        answers = ask_all(url, numbers)
    server = RedisServer()
    server.start()
    try:
        with gateway(server.url) as url:
            ask_all(url, [number for number in numbers if number % STOCKED < STOCKED // 2])
        return Yardstick(answers, take_stock(server))
    finally:
        server.close()


def run(name: str, requests: int, right: Yardstick) -> Outcome:
    """One campaign."""
    fault = FAULTS[name]
    with world_of(right.stock) as world:
        course = fault.course(world)
        next(course)
        if fault.from_start:
            next(course)
        with gateway(fault.url_of(world)) as url:
            return _watched(name, url, course, requests, right.answers)


def _watched(
    name: str,
    url: str,
    course: Generator[None, None, None],
    requests: int,
    answers: dict[int, str],
) -> Outcome:
    fault = FAULTS[name]
    given = ask_all(url, BEFORE)
    start = Counter() if fault.from_start else counters(url)
    numbers = range(DURING_FROM, DURING_FROM + requests)
    given |= ask_all(url, numbers, None if fault.from_start else lambda: next(course))
    during = _rise(url, start)
    next(course, None)  # mends it
    mended, start = time.monotonic(), counters(url)
    given |= _ask_until_used(url, start)
    after = _rise(url, start)
    next(course, None)  # looks back
    complaints = _complaints(given, answers)
    errors = sum(answer.startswith("error") for answer in given.values())
    wrong = len(complaints)
    complaints += [
        f"{text}: during {dict(during)}, after {dict(after)}"
        for text, holds in (
            ("nothing was read before", fault.from_start or start["l2_hits"] > 0),
            ("the fault was not met", fault.shows(during)),
            ("it is not read again", after["hits"] > 0),
            ("it is not written again", after["writes"] > 0),
        )
        if not holds
    ]
    complaints += [f"{counted} is not 0" for counted in NEVER if metric(url, counted)]
    return Outcome(
        name,
        len(given),
        errors,
        wrong - errors,
        during,
        after,
        time.monotonic() - mended,
        complaints,
    )


def _complaints(given: dict[int, str], answers: dict[int, str]) -> list[str]:
    return [
        f"request {number}: {answer[:300]} instead of {answers[number][:300]}"
        for number, answer in given.items()
        if answer != answers[number] or answer.startswith("error")
    ]


def _rise(url: str, start: Mapping[str, int]) -> Rise:
    """How the far store's counters rose."""
    now = counters(url)
    return Counter(
        {
            key[3:]: now[key] - start.get(key, 0)
            for key in now
            if key.startswith("l2_") and now[key] != start.get(key, 0)
        }
    )


def _ask_until_used(url: str, start: dict[str, int]) -> dict[int, str]:
    """New requests, some at a time, until the store is both read and written as it was before."""
    until = time.monotonic() + PATIENCE_SECONDS
    while counters(url)["l2_open"] and time.monotonic() < until:
        time.sleep(0.1)
    given: dict[int, str] = {}
    for first in range(AFTER.start, AFTER.stop, STOCKED):
        given |= ask_all(url, range(first, first + STOCKED))
        while counters(url)["l2_queued"] and time.monotonic() < until:
            time.sleep(0.1)
        rise = _rise(url, start)
        if (rise["hits"] > 0 and rise["writes"] > 0) or time.monotonic() > until:
            break
        time.sleep(1)  # a map of keys is believed for some seconds; all rounds take longer
    return given
