"""Completion tokens per second with a full batch, ours and each of the others in turns.

All answers have equal length, which is checked: the schema requires an array of at least 200
objects, so an answer of 200 tokens always ends at max_new_tokens. Requests ignore stop tokens,
which matters only for ``free``: no grammar allows one so early.

A pair is two consecutive runs, in alternating order. The result is the median of the pairs' ratios
with a 95 % interval by bootstrap, which is robust to temporary slowness of the machine.
"""

from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from . import OURS
from .client import Asked, load
from .figures import interval, show
from .fleet import Fleet, turns
from .workload import endless


def measure(
    fleet: Fleet,
    peers: Sequence[str],
    pairs: int,
    *,
    requests: int = 48,
    at_once: int = 16,
    tokens: int = 200,
) -> list[dict[str, Any]]:
    """Return a record for each peer; print a table."""
    found = []
    for peer in peers:
        rates: dict[str, list[float]] = {OURS: [], peer: []}
        with fleet.running(OURS, peer) as servers:
            for number, backend in turns(list(rates), pairs + 1):
                rate = tokens_a_second(servers[backend], endless(requests, tokens), at_once)
                if number:  # the first warms up
                    rates[backend].append(rate)
        found.append(_record(peer, rates))
    show(_table(found))
    return found


def tokens_a_second(server: Any, requests: Sequence[Asked], at_once: int) -> float:
    """Return the rate of one run.

    Raises:
        RuntimeError: an answer is shorter than requested.
    """
    start = perf_counter()
    answers = load(server.base_url, requests, at_once)
    seconds = perf_counter() - start
    for asked, answer in zip(requests, answers, strict=True):
        if answer.tokens != asked.most_tokens:
            told = f"{answer.tokens} tokens, {answer.finish}"
            raise RuntimeError(f"{server.grammar_backend}: {told}")
    return sum(answer.tokens for answer in answers) / seconds


def _record(peer: str, rates: dict[str, list[float]]) -> dict[str, Any]:
    ratios = [own / other for own, other in zip(rates[OURS], rates[peer], strict=True)]
    return {
        "peer": peer,
        "tokens_per_second": rates,
        "ratios": ratios,
        "ratio": median(ratios),
        "interval_95": interval(ratios),
    }


def _table(found: list[dict[str, Any]]) -> list[list[str]]:
    lines = [["tokens a second", "ours", "the other's", "ours / the other's", "95 %"]]
    for record in found:
        low, high = record["interval_95"]
        rates = [f"{median(each):,.0f}" for each in record["tokens_per_second"].values()]
        ratio = f"{record['ratio']:.3f}"
        lines.append([f"beside {record['peer']}", *rates, ratio, f"{low:.3f} - {high:.3f}"])
    return lines
