"""Results as Markdown tables."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..report import markdown
from ..sglang.figures import spread
from ..sglang.steps import STEADY
from .serving import Measured

Lines = list[list[str]]


def kernel(told: Mapping[str, Any]) -> str:
    """Return times by batch and share of allowed tokens."""
    records = told["records"]
    kinds = list(records[0]["us"]) if records else []
    lines = [["masks (us), tokens allowed", *kinds, "equal", "in flight"]]
    for record in records:
        times = [f"{record['us'][kind]:,.1f}" for kind in kinds]
        checks = [_verdict(record.get(check)) for check in ("equal", "in_flight")]
        lines.append([f"batch {record['batch']}, {record['allowed']}", *times, *checks])
    return markdown(lines)


def _verdict(found: bool | None) -> str:
    return "" if found is None else "yes" if found else "NO"


def served(every: Sequence[Measured]) -> list[str]:
    """Yield a table for each part that ran."""
    tables = (_steps(every), _throughput(every), _first_text(every), _checks(every))
    return [markdown(lines) for lines in tables if len(lines) > 1]


def _steps(every: Sequence[Measured]) -> Lines:
    lines = [["scheduler (us a step)", "steps", *STEADY, "requests", "all p50", "p90", "p99"]]
    found = [(each.backend, record) for each in every for record in each.records.get("steps") or ()]
    for backend, record in sorted(found, key=lambda x: (x[1]["workload"], x[1]["batch"])):
        us = record["us"]
        if not us:
            continue
        times = [us[kind]["p50"] for kind in STEADY]
        whole = [us["all"][p] for p in ("p50", "p90", "p99")]
        cells = (f"{time:,.1f}" for time in (*times, us["requests"]["mean"], *whole))
        title = f"{record['workload']}, batch {record['batch']}, {backend}"
        lines.append([title, f"{record['steps']:,}", *cells])
    return lines


def _throughput(every: Sequence[Measured]) -> Lines:
    lines = [["tokens a second", "runs", "no grammar", "with grammars", "with / without"]]
    found = [(each.backend, r) for each in every for r in each.records.get("throughput") or ()]
    for backend, record in sorted(found, key=lambda x: x[1]["batch"]):
        rates = record["tokens_a_second"]
        plain, own = median(rates["none"]), median(rates["own"])
        ratio = median(a / b for a, b in zip(rates["own"], rates["none"], strict=True))
        cells = [f"{len(rates['own'])}", f"{plain:,.0f}", f"{own:,.0f}", f"{ratio:.3f}"]
        lines.append([f"batch {record['batch']}, {backend}", *cells])
    return lines


def _first_text(every: Sequence[Measured]) -> Lines:
    figures = ("p50", "p90", "p99")
    names = [f"{name} {p}" for name in ("no grammar", "new tools") for p in figures]
    lines = [["first text (ms)", "sets", *names, "refused"]]
    for each in every:
        record = each.records.get("first-text")
        if not record:
            continue
        cells = []
        for name in ("none", "own"):
            times = record["ms"][name]
            told = spread(times) if times else {}
            cells += [f"{told[p]:,.1f}" if told else "-" for p in figures]
        count = f"{len(record['ms']['own'])}"
        lines.append([each.backend, count, *cells, str(record["refused"])])
    return lines


def _checks(every: Sequence[Measured]) -> Lines:
    lines = [["answers", "all", "judged, others being cut off", "wrong"]]
    for each in every:
        if each.answers:
            counts = (each.answers, each.checked, len(each.wrong))
            lines.append([each.backend, *(f"{count:,}" for count in counts)])
    return lines
