"""Results as Markdown tables."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from ..measure import percentile
from ..report import markdown
from ..sglang import OURS, PEERS
from ..sglang.figures import spread
from ..sglang.steps import STEADY
from .serving import Measured

Lines = list[list[str]]


def kernel(every: Sequence[Mapping[str, Any]]) -> str:
    """Return a table for each width: times by batch and share of allowed tokens."""
    return "\n\n".join(_kernel(told) for told in every)


def _kernel(told: Mapping[str, Any]) -> str:
    records = told["records"]
    kinds = list(records[0]["us"]) if records else []
    lines = [[f"{told['width']:,} logits (us), tokens allowed", *kinds, "equal", "in flight"]]
    for record in records:
        times = [f"{record['us'][kind]:,.1f}" for kind in kinds]
        checks = [_verdict(record.get(check)) for check in ("equal", "in_flight")]
        lines.append([f"batch {record['batch']}, {record['allowed']}", *times, *checks])
    return markdown(lines)


#: the goal of the decode loop: a share of the tokens per second without grammars
GOAL = 0.99


def decode(every: Sequence[Mapping[str, Any]]) -> str:
    """Return tokens per second by batch and backend, and the checks of the answers."""
    head = ["decode", "runs", "tokens/s", "/ no grammar", "95 %", "fill us p50", "p99",
            "accept p50", "p99", "late", "answers", "judged", "wrong", "refused"]  # fmt: skip
    lines = [head]
    for record in every:
        for name, told in record["backends"].items():
            times = [
                f"{told['us'][kind][p]:,.0f}" if kind in told["us"] else "-"
                for kind in ("fill", "accept")
                for p in ("p50", "p99")
            ]
            low, high = told["interval_95"]
            rates = told["tokens_a_second"]
            lines.append(
                [f"batch {record['batch']}, {name}", f"{len(rates)}", f"{median(rates):,.0f}",
                 f"{told['ratio']:.3f}", f"{low:.3f} - {high:.3f}", *times,
                 f"{100 * told['late']:.1f} %", f"{told['answers']:,}", f"{told['checked']:,}",
                 f"{told['wrongs']:,}", f"{len(told['refused'])}"]
            )  # fmt: skip
    return "\n\n".join(part for part in (markdown(lines), _goal(every)) if part)


def _goal(every: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence: at which batches the goal is missed. It is no finding."""
    missed = []
    for record in every:
        ratios = {name: told["ratio"] for name, told in record["backends"].items()}
        own = ratios.pop(OURS, None)
        if own is not None:
            peers = [ratio for name, ratio in ratios.items() if name in PEERS]
            if own < GOAL or own < max(peers, default=0.0):
                missed.append(f"{record['batch']} rows ({own:.3f})")
    goal = (
        f"Goal: at least {GOAL} of the tokens per second without grammars, and no less than a peer"
    )
    return f"{goal}: missed at {', '.join(missed)}." if missed else f"{goal}: met."


def gateway(every: Sequence[Mapping[str, Any]]) -> str:
    """Return tokens per second and time to first text of the embedded worker, by load."""
    lines = [["gateway", "answers", "finished", "cut off", "calls", "wrong", "tokens",
              "tokens/s", "first text ms p50", "p90"]]  # fmt: skip
    for told in every:
        firsts = told["first_ms"]
        first = [f"{percentile(firsts, p):,.0f}" if firsts else "-" for p in (50, 90)]
        counts = ("answers", "finished", "cut", "calls", "wrongs", "tokens")
        cells = [f"{told[name]:,}" for name in counts]
        lines.append([told["load"], *cells, f"{told['tokens'] / told['seconds']:,.1f}", *first])
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
