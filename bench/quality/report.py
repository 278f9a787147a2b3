"""The report of a run: answers, steps and the worst places, as Markdown."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from app.cli.quality import NAMES

from ..report import markdown
from .run import Row, together
from .steps import worst_places

#: columns about steps: a figure of Row.summary and its head
STEPS = {
    "tokens": "tokens",
    "tokens_a_pass": "tokens a pass",
    "forced": "forced",
    "forced_unwanted": "forced, not wanted",
    "steps": "steps",
    "masked": "wanted token masked",
    "mass_kept": "mass kept",
    "off_course": "tokens not wanted",
    "tokens_per_s": "tokens/s",
    "mask_us_p50": "mask us p50",
    "mask_us_p99": "p99",
}
_SHARES = frozenset({"forced", "forced_unwanted", "masked", "off_course"})


def report(command: str, rows: Sequence[Row]) -> str:
    """Return the whole report."""
    shown = [*rows, *_sums(rows)]
    parts = [
        f"# Quality of answers\n\n    {command}",
        f"## Answers\n\n{_table(shown, NAMES)}",
        f"## Steps\n\n{_table(shown, STEPS)}",
    ]
    for row in _sums(rows) or rows:
        if places := _places(row):
            parts.append(f"## Worst places: {_name(row)}\n\n{places}")
    return "\n\n".join(parts) + "\n"


def _sums(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of a model and a way as one, where they are several."""

    def key(row: Row) -> tuple[str, str]:
        return row.model, row.way

    groups = [list(group) for _, group in groupby(sorted(rows, key=key), key)]
    return [together("all", group) for group in groups if len(group) > 1]


def _table(rows: Sequence[Row], columns: Mapping[str, str]) -> str:
    lines = [["model, set, way", *columns.values()]]
    for row in rows:
        summary = row.summary()
        lines.append([_name(row), *(cell(name, summary[name]) for name in columns)])
    return markdown(lines)


def _places(row: Row) -> str:
    """Return the table of the worst places; "": there is none."""
    lines = [["text before", "wanted", "p", "taken", "p", "mass kept", "like it", "mass lost"]]
    for place in worst_places(row.trace.steps):
        step = place.example
        lines.append(
            [
                code(step.before[-32:]) if step.before else "(begin)",
                code(step.wanted),
                f"{step.wanted_p:.2f}",
                code(step.taken),
                f"{step.taken_p:.2f}",
                f"{step.kept:.3f}",
                str(place.count),
                f"{place.lost:.2f}",
            ]
        )
    return markdown(lines) if len(lines) > 1 else ""


def _name(row: Row) -> str:
    return f"{row.model}, {row.set}, {row.way}"


def cell(name: str, value: Any) -> str:
    """Return the figure ``name`` of a summary as text."""
    if value is None:
        return "-"
    if name in _SHARES:
        return f"{100 * value:.1f} %"
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def code(text: str) -> str:
    """Return a text as code in a table: on one line, without the marks of tables and code."""
    plain = text.replace("\\", "\\\\").replace("`", "'").replace("|", "¦")
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in plain)
    return f"`` {''.join(shown)} ``"
