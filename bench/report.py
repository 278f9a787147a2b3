"""Results as a table: a column for each engine, and the ratio to the best peer where one ran."""

from .measure import Result

PERCENTILES = (50, 90, 99, 99.9, 100)


def percentile(values: list[float], p: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))]


def _rows(result: Result, kind: str) -> dict[str, float]:
    values = result.times.get(kind)
    if not values:
        return {}
    rows = {f"{kind} avg": sum(values) / len(values)}
    return rows | {f"{kind} p{p:g}": percentile(values, p) for p in PERCENTILES}


def table(title: str, results: dict[str, Result]) -> str:
    names = list(results)
    figures = {
        name: {
            row: v
            for kind in ("compile", "first", "mask", "accept")
            for row, v in _rows(r, kind).items()
        }
        for name, r in results.items()
    }
    rows = list(dict.fromkeys(row for columns in figures.values() for row in columns))
    counts = list(dict.fromkeys(count for r in results.values() for count in r.counts))
    peers = [name for name in names if name != "ours"]
    with_ratio = bool(peers) and "ours" in names
    lines = [[f"{title} (us)", *names, *(["ours / best peer"] if with_ratio else [])]]
    for row in rows:
        line = [row, *(f"{figures[n][row]:,.1f}" if row in figures[n] else "-" for n in names)]
        if with_ratio:
            best = min((figures[n][row] for n in peers if row in figures[n]), default=None)
            own = figures["ours"].get(row)
            line.append(f"{own / best:.2f}" if best and own is not None else "-")
        lines.append(line)
    lines.append(["masks", *(f"{len(results[n].times['mask']):,}" for n in names)])
    lines += [[count, *(f"{results[n].counts[count]:,}" for n in names)] for count in counts]
    widths = [max(len(line[k]) for line in lines if k < len(line)) for k in range(len(lines[0]))]
    return "\n".join(
        "  ".join(c.rjust(widths[k]) if k else c.ljust(widths[0]) for k, c in enumerate(line))
        for line in lines
    )
