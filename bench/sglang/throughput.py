"""Completion tokens a second under a full batch, ours beside each of the others, in turns.

All answers have as many tokens, which is checked: the schema is that of an array of at least 200
objects, which no answer of 200 tokens gets to the end of, so each ends at max_new_tokens. Requests
ignore stop tokens; that matters to ``free`` only, since no grammar allows one before.

A pair is two runs, one after the other, the order changing from pair to pair; what is told is the
median of the pairs' ratios, with its 95 % interval by bootstrap, and is robust to a machine that
slows down for a while.
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
    """A record for each peer; prints a table."""
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
    """The rate of one run.

    Raises:
        RuntimeError: an answer has not as many tokens as its request asks for at most.
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
