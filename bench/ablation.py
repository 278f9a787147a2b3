"""What each idea is worth: our engine with its ``Features`` switched off and on, as in table 1 of
XGrammar 2 (section 4.3): preprocessing time, and the time to make a mask, over many JSON schemas.

The paper's first row makes all masks before the first token. This engine has no such mode, so its
first row is the paper's second (masks are made when they are met). The paper's ideas come first,
then our own; the last rows leave out one at a time.
"""

from typing import NamedTuple

from .data import SchemaCase
from .measure import Result, Turns, percentile, schema_case, take_turns
from .report import markdown
from .worker import Bounds, Setup, workers

#: feature -> what the table calls it, in the order in which they are added
IDEAS = {
    "cross_grammar": "cross-grammar cache",
    "count_registers": "repetition in registers",
    "mask_memo": "masks remembered",
    "tail_references": "tail references",
}


class Row(NamedTuple):
    name: str
    features: dict[str, bool]


def rows() -> list[Row]:
    out = [Row("masks on demand (JIT)", dict.fromkeys(IDEAS, False))]
    for feature, name in IDEAS.items():
        out.append(Row(f"+ {name}", {**out[-1].features, feature: True}))
    everything = dict.fromkeys(IDEAS, True)
    for feature, name in list(IDEAS.items())[:-1]:
        out.append(Row(f"all but {name}", {**everything, feature: False}))
    return out


def measure(vocabulary: str, cases: list[SchemaCase], bounds: Bounds) -> Turns:
    setups = {row.name: Setup("ours", vocabulary, row.features) for row in rows()}
    with workers(setups, bounds) as runners:
        return take_turns(runners, schema_case, cases)


def _figures(result: Result) -> list[str]:
    compiles, masks = result.times.get("compile"), result.times.get("mask")
    if not compiles or not masks:
        return ["-"] * 5
    return [
        f"{sum(compiles) / len(compiles) / 1000:,.2f}",
        f"{percentile(compiles, 99) / 1000:,.2f}",
        f"{sum(masks) / len(masks):,.2f}",
        f"{percentile(masks, 50):,.2f}",
        f"{percentile(masks, 99):,.2f}",
    ]


def table(turns: Turns) -> str:
    """Times over the schemas that every row did in time; what was not done, over all."""
    known = ["time-outs", "died"]
    counts = [c for result in turns.every.values() for c in result.counts if c != "schemas taken"]
    columns = list(dict.fromkeys([*known, *counts]))
    shared = min(len(result.times["first"]) for result in turns.shared.values())
    times = ["preprocessing (ms)", "its p99", "mask (us)", "its p50", "its p99"]
    lines = [[f"{shared} schemas", *times, *columns]]
    for name, result in turns.every.items():
        missed = [f"{result.counts.get(column, 0):,}" for column in columns]
        lines.append([name, *_figures(turns.shared[name]), *missed])
    return markdown(lines)
