"""An ablation: the engine with its ``Features`` off and on, as in table 1 of XGrammar 2
(section 4.3). Measures preprocessing time and the time of a mask over many JSON schemas.

The first row is the paper's baseline: masks are computed with the grammar; here only the ``AHEAD``
most expensive ones, since most schemas have infinitely many states. The next row computes masks
when they are needed; each further row adds one idea of the paper or of ours. The last rows each
leave out one idea.
"""

from typing import Any, NamedTuple

from .data import SchemaCase
from .measure import Result, Turns, percentile, schema_case, take_turns
from .report import markdown
from .worker import DIED, TIME_OUT, Bounds, Setup, workers

AHEAD = 1000
#: feature -> its name in the table, in the order in which they are added
IDEAS = {
    "cross_grammar": "cross-grammar cache",
    "count_registers": "repetition in registers",
    "tail_references": "tail references",
}


class Row(NamedTuple):
    """``options``: arguments of our engine's constructor."""

    name: str
    options: dict[str, Any]


def rows() -> list[Row]:
    none: dict[str, Any] = {**dict.fromkeys(IDEAS, False), "mask_memo": True}
    out = [Row(f"{AHEAD:,} masks ahead", {**none, "ahead": AHEAD}), Row("masks on demand", none)]
    for feature, name in IDEAS.items():
        out.append(Row(f"+ {name}", {**out[-1].options, feature: True}))
    everything = out[-1].options
    for feature, name in list(IDEAS.items())[:-1]:
        out.append(Row(f"all but {name}", {**everything, feature: False}))
    out.append(Row("all but masks remembered", {**everything, "mask_memo": False}))
    return out


def measure(vocabulary: str, cases: list[SchemaCase], bounds: Bounds) -> Turns:
    setups = {row.name: Setup("ours", vocabulary, row.options) for row in rows()}
    with workers(setups, bounds) as runners:
        return take_turns(runners, schema_case, cases)


#: column head -> kind of time, percentile (None: mean), microseconds per unit
_COLUMNS: dict[str, tuple[str, float | None, int]] = {
    "preprocessing (ms)": ("compile", None, 1000),
    "its p99": ("compile", 99, 1000),
    "first mask (ms)": ("first", None, 1000),
    "mask (us)": ("mask", None, 1),
    "mask p50": ("mask", 50, 1),
    "mask p99": ("mask", 99, 1),
}


def figures(result: Result) -> dict[str, float]:
    """Return the figures by column; empty without times."""
    out = {}
    for column, (kind, p, unit) in _COLUMNS.items():
        if values := result.times.get(kind):
            value = sum(values) / len(values) if p is None else percentile(values, p)
            out[column] = value / unit
    return out


def table(turns: Turns) -> str:
    """Return times over the schemas that every row finished, and counts of all failures."""
    known = [TIME_OUT, DIED]
    counts = [c for result in turns.every.values() for c in result.counts if c != "schemas taken"]
    missed = list(dict.fromkeys([*known, *counts]))
    shared = min(len(result.times.get("compile", [])) for result in turns.shared.values())
    lines = [[f"{shared} schemas", *_COLUMNS, *missed]]
    for name, result in turns.every.items():
        found = figures(turns.shared[name])
        times = [f"{found[column]:,.2f}" if column in found else "-" for column in _COLUMNS]
        lines.append([name, *times, *(f"{result.counts.get(count, 0):,}" for count in missed)])
    return markdown(lines)
