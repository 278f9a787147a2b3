"""Results as Markdown tables, and a report that is printed as it grows and kept in a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .measure import Result, percentile

PERCENTILES = (50, 90, 99, 99.9, 100)
KINDS = ("compile", "first", "mask", "accept")


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """The first line is the head; the first column stands left, all others right."""
    widths = [max(3, *(len(line[k]) for line in lines)) for k in range(len(lines[0]))]

    def row(line: Sequence[str]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        return f"| {' | '.join([line[0].ljust(widths[0]), *cells[1:]])} |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([row(lines[0]), row(rule), *map(row, lines[1:])])


def _rows(result: Result, kind: str) -> dict[str, float]:
    values = result.times.get(kind)
    if not values:
        return {}
    rows = {f"{kind} avg": sum(values) / len(values)}
    return rows | {f"{kind} p{p:g}": percentile(values, p) for p in PERCENTILES}


def table(title: str, results: dict[str, Result]) -> str:
    """A column for each engine, and the ratio to the best peer where one ran."""
    names = list(results)
    figures = {
        name: {row: v for kind in KINDS for row, v in _rows(r, kind).items()}
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
    last = [""] if with_ratio else []
    lines.append(["masks", *(f"{len(results[n].times['mask']):,}" for n in names), *last])
    lines += [[count, *(f"{results[n].counts[count]:,}" for n in names), *last] for count in counts]
    return markdown(lines)


class Report:
    """Prints what is said; with a folder, ``report.md`` has it too and plots lie beside it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._text = (folder / "report.md").open("w")

    def say(self, text: str) -> None:
        print(text, end="\n\n", flush=True)
        if self._folder is not None:
            print(text, end="\n\n", flush=True, file=self._text)

    def plot(self, name: str, draw: Callable[..., None], *what: Any) -> None:
        """``draw(file, *what)``; ``name`` becomes the file's name."""
        if self._folder is None:
            return
        file = self._folder / f"{name}.png"
        draw(file, *what)
        self.say(f"![{name}]({file.name})")

    def close(self) -> None:
        if self._folder is not None:
            self._text.close()
