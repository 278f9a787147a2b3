"""Time per step of the scheduler in its grammar backend, by kind of call.

A constant number of requests runs at once. A step counts if it filled this many masks, or fewer but
more than half (requests end and others begin). Grammars are cached: a first round warms up. Each
peer takes turns with ours, so ours is measured once with every peer.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any, NamedTuple

from . import FREE, OURS, PEERS
from .client import Answer, Asked, load
from .figures import show, spread
from .fleet import Fleet, meter, turns
from .workload import schemas, tool_calls

Workload = Callable[[str, int], list[Asked]]
#: workloads, and the backends that support them
WORKLOADS: dict[str, tuple[Workload, tuple[str, ...]]] = {
    "schemas": (schemas, (*PEERS, FREE)),
    "tool calls": (tool_calls, ("xgrammar", FREE)),
}
#: requests of a round: per running request, and the minimum
EACH, LEAST = 2, 8
#: kinds in every step; all other kinds together are "requests"
STEADY = ("allocate", "is_terminated", "fill", "move", "apply", "accept")


class Sample(NamedTuple):
    """Steps of one size with one backend: nanoseconds by kind, and their sums."""

    kinds: Sequence[str]
    rows: list[list[int]]

    def times(self, kind: str) -> list[float]:
        """Return microseconds per step; "requests": kinds not in STEADY; "all": all kinds."""
        wanted = [k for k, name in enumerate(self.kinds) if _belongs(name, kind)]
        return [sum(row[k] for k in wanted) / 1000 for row in self.rows]

    def record(self) -> dict[str, Any]:
        """Return the number of steps, and statistics of each kind's times."""
        times = {kind: self.times(kind) for kind in (*STEADY, "requests", "all")}
        us = {kind: {**spread(each), "mean": mean(each)} for kind, each in times.items() if each}
        return {"steps": len(self.rows), "us": us}


def measure(
    fleet: Fleet, sizes: Sequence[int], rounds: int, peers: Sequence[str]
) -> list[dict[str, Any]]:
    """Return a record for each workload, pair, backend and size; print tables."""
    found = []
    for peer in peers:
        with fleet.running(OURS, peer) as servers:
            for name, (workload, knowing) in WORKLOADS.items():
                if peer in knowing:
                    samples = _pair(servers, workload, sizes, rounds)
                    found += [_record(name, peer, *key, each) for key, each in samples.items()]
                    show(_table(f"{name}, {peer}", samples))
    return found


def _pair(
    servers: dict[str, Any], workload: Workload, sizes: Sequence[int], rounds: int
) -> dict[tuple[str, int], Sample]:
    rows: dict[tuple[str, int], list[list[int]]] = defaultdict(list)
    kinds: Sequence[str] = ()
    for number, backend in turns(list(servers), rounds + 1):
        for size in sizes:
            told = _round(servers[backend], workload(backend, max(LEAST, EACH * size)), size)
            kinds = told["kinds"]
            if number:  # the first warms up
                rows[backend, size] += told["rows"].get(str(size), [])
    return {key: Sample(kinds, each) for key, each in sorted(rows.items(), key=_by_size)}


def _round(server: Any, requests: list[Asked], at_once: int) -> dict[str, Any]:
    return metered(server, requests, at_once)[1]


def metered(
    server: Any, requests: list[Asked], at_once: int
) -> tuple[list[Answer], dict[str, Any]]:
    """Return the answers in the requests' order, and the meter's reading.

    Raises:
        RuntimeError: the server aborted an answer.
    """
    meter(server)
    answers = load(server.base_url, requests, at_once)
    for answer in answers:
        if answer.how == "abort":
            raise RuntimeError(f"a request was aborted: {answer.finish}")
    return answers, meter(server)


def _by_size(item: tuple[tuple[str, int], Any]) -> tuple[int, str]:
    return item[0][1], item[0][0]


def _belongs(name: str, kind: str) -> bool:
    return kind in ("all", name) or (kind == "requests" and name not in STEADY)


def _record(workload: str, peer: str, backend: str, size: int, sample: Sample) -> dict[str, Any]:
    about = {"workload": workload, "pair": [OURS, peer], "backend": backend, "at_once": size}
    return {**about, **sample.record()}


def _table(title: str, samples: dict[tuple[str, int], Sample]) -> list[list[str]]:
    head = [f"{title} (us a step)", "steps", *STEADY, "requests", "all p50", "p90", "p99"]
    lines = [head]
    for (backend, size), sample in samples.items():
        if not sample.rows:
            continue
        kinds = [median(sample.times(kind)) for kind in STEADY]
        cells = [*kinds, mean(sample.times("requests")), *spread(sample.times("all")).values()]
        count = f"{len(sample.rows):,}"
        lines.append([f"{size} at once, {backend}", count, *(f"{cell:,.1f}" for cell in cells)])
    return lines
