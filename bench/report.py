"""Results as Markdown tables, and a report that is printed and also written to a folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .measure import Result, percentile

PERCENTILES = (25, 50, 75, 90, 95, 99, 99.9, 100)
KINDS = ("compile", "first", "mask", "accept", "answer")
OURS = "ours"


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Return a table; the first line is the head, the first column is aligned left."""
    widths = [max(3, *(len(line[k]) for line in lines)) for k in range(len(lines[0]))]

    def row(line: Sequence[str]) -> str:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        return f"| {' | '.join([line[0].ljust(widths[0]), *cells[1:]])} |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([row(lines[0]), row(rule), *map(row, lines[1:])])


def figure(result: Result, row: str) -> float | None:
    """Return one figure by its row's name, such as "mask avg" or "first p99"."""
    kind, _, what = row.partition(" ")
    values = result.times.get(kind)
    if not values:
        return None
    return sum(values) / len(values) if what == "avg" else percentile(values, float(what[1:]))


def _rows() -> list[str]:
    whats = ["avg", *(f"p{p:g}" for p in PERCENTILES)]
    return [f"{kind} {what}" for kind in KINDS for what in whats]


def ratio(figures: Mapping[str, float | None]) -> str:
    """Return the ratio of our figure to that of the best peer."""
    own = figures.get(OURS)
    best = min((v for name, v in figures.items() if name != OURS and v is not None), default=None)
    return f"{own / best:.3f}" if best and own is not None else "-"


def table(title: str, results: Mapping[str, Result]) -> str:
    """Return a column for each engine, and the ratio to the best peer if one ran."""
    compared = len(results) > 1 and OURS in results
    last = [""] if compared else []
    lines = [[f"{title} (us)", *results, *(["ours / best peer"] if compared else [])]]
    for row in _rows():
        found = {name: figure(result, row) for name, result in results.items()}
        if any(value is not None for value in found.values()):
            cells = ["-" if value is None else f"{value:,.1f}" for value in found.values()]
            lines.append([row, *cells, *([ratio(found)] if compared else [])])
    masks = (f"{len(r.times.get('mask', [])):,}" for r in results.values())
    lines.append(["masks", *masks, *last])
    for count in dict.fromkeys(count for r in results.values() for count in r.counts):
        lines.append([count, *(f"{r.counts.get(count, 0):,}" for r in results.values()), *last])
    return markdown(lines)


class Summary:
    """Return the most important figures, each in one line with the ratio to the best peer."""

    def __init__(self, engines: Sequence[str]) -> None:
        self._engines = engines
        self._lines: list[list[str]] = []

    def add(self, row: str, unit: str, found: Mapping[str, float | None]) -> None:
        values = [found.get(name) for name in self._engines]
        cells = ["-" if value is None else f"{value:,.1f}" for value in values]
        self._lines.append([f"{row} ({unit})", *cells, ratio(found)])

    def take(self, title: str, results: Mapping[str, Result], rows: Sequence[str]) -> None:
        for row in rows:
            found = {name: figure(result, row) for name, result in results.items()}
            self.add(f"{title}: {row}", "us", found)

    def table(self) -> str:
        head = ["figure", *self._engines, "ours / best peer"]
        return markdown([head, *self._lines]) if self._lines else ""


class Report:
    """Prints a report; with a folder, also writes ``report.md`` and plots to it."""

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
