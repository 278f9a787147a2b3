"""Tables of a comparison of masks: times, masks, verdicts, and errors by place."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..measure import Result
from ..report import markdown

Line = dict[str, Any]
OURS = "ours"


def times(
    records: Iterable[Line], engines: Sequence[str]
) -> tuple[dict[str, Result], dict[str, Result]]:
    """Return results by engine: over all cases, and over those that all engines compiled."""
    every = {name: Result() for name in engines}
    shared = {name: Result() for name in engines}
    for line in records:
        found = {name: _result(own) for name, own in line["results"].items() if name in every}
        for name, result in found.items():
            every[name].add(result)
        if len(found) == len(engines) and all(result.compiled for result in found.values()):
            for name, result in found.items():
                shared[name].add(result)
    return every, shared


def _result(own: Line) -> Result:
    made = Result()
    made.times.update(own["times"])
    made.counts.update(own["counts"])
    return made


def masks(records: Iterable[Line], engines: Sequence[str]) -> str:
    """Return a table of the compared masks, and of the tokens on which they differ."""
    counts: Counter[str] = Counter()
    differing: Counter[str] = Counter()
    for line in records:
        counts["schemas"] += 1
        for walk in line["walks"]:
            counts[f"{walk['kind']} texts"] += 1
            counts["steps with masks of two engines or more"] += walk["compared"]
            counts["of these, masks differ"] += walk["differ"]
            counts["tokens sampled"] += len(walk["sampled"])
            differing.update(walk["differing"])
            for name in engines:
                counts[f"masks of {name}"] += walk["steps"].get(name, 0)
    head = [["masks compared", "count"], *([name, f"{count:,}"] for name, count in counts.items())]
    allowed = [["differing tokens of all steps, allowed by", "tokens"]]
    allowed += [[names or "-", f"{count:,}"] for names, count in differing.most_common()]
    return f"{markdown(head)}\n\n{markdown(allowed)}"


def verdicts(total: Mapping[str, int], engines: Sequence[str]) -> str:
    """Return a table of the verdicts: a row for each outcome, a column for each engine."""
    outcomes: Counter[str] = Counter()
    for key, count in total.items():
        name, found, outcome = key.partition("|")
        if found and name in engines:
            outcomes[outcome] += count
    ranks = (
        "right",
        "wrongly forbidden",
        "wrongly allowed",
        "allowed, against",
        "by rule",
        "undecided",
    )
    order = sorted(outcomes, key=lambda one: (_rank(one, ranks), -outcomes[one]))
    table = [["verdicts on sampled tokens", *engines]]
    table += [[one, *(f"{total.get(f'{name}|{one}', 0):,}" for name in engines)] for one in order]
    rest = [["judge", "count"]]
    own = {key: count for key, count in total.items() if "|" not in key}
    rest += [[key, f"{count:,}"] for key, count in sorted(own.items(), key=lambda one: -one[1])]
    return f"{markdown(table)}\n\n{markdown(rest)}"


def _rank(outcome: str, ranks: Sequence[str]) -> int:
    return next((k for k, start in enumerate(ranks) if outcome.startswith(start)), len(ranks))


def errors(judged: Iterable[Line], engine: str, most: int = 40) -> str:
    """Return a list of an engine's errors, one of each schema and outcome."""
    told: list[str] = []
    for line in judged:
        seen = set()
        for one in line["errors"]:
            if one["engine"] == engine and one["outcome"] not in seen and len(told) < most:
                seen.add(one["outcome"])
                told.append(
                    f"- {line['name']}: {one['outcome']} ({one['reason']})\n"
                    f"    - text so far `{one['text'][-160:]}`, token `{one['token']!r}`\n"
                    f"    - witness `{(one['witness'] or '-')[-200:]}`"
                )
    return "\n".join(told)
