"""The report of a run: answers, steps and the worst places, as Markdown."""

from collections.abc import Sequence
from typing import Any

from ..report import markdown
from .run import Row
from .steps import worst_places

_ANSWERS = {
    "answers": "answers",
    "complete": "complete",
    "valid": "valid",
    "function": "right function",
    "arguments": "right arguments",
    "field_score": "field score",
    "cut": "cut",
    "invented_keys": "invented keys",
    "calls_an_answer": "calls an answer",
    "failed": "failed",
}


def report(command: str, rows: Sequence[Row]) -> str:
    """Return the whole report."""
    parts = [f"# Quality of answers\n\n    python -m bench.quality {command}", _answers(rows)]
    parts.append(_costs(rows))
    parts += [_places(row) for row in rows if any(step.is_masked for step in row.steps)]
    return "\n\n".join(parts) + "\n"


def _answers(rows: Sequence[Row]) -> str:
    lines = [["model, set, way", *_ANSWERS.values()]]
    for row in rows:
        summary = row.figures.summary()
        lines.append([_name(row), *(_cell(summary[name]) for name in _ANSWERS)])
    return f"## Answers\n\n{markdown(lines)}"


def _costs(rows: Sequence[Row]) -> str:
    head = ["model, set, way", "tokens", "passes", "tokens a pass", "forced", "forced, not wanted"]
    lines = [[*head, "steps", "wanted token masked", "mass kept, mean", "tokens/s"]]
    for row in rows:
        tokens, steps = row.figures.tokens, len(row.steps)
        kept = sum(step.kept for step in row.steps)
        lines.append(
            [
                _name(row),
                f"{tokens:,}",
                f"{row.passes:,}",
                _ratio(tokens, row.passes),
                _share(row.forced, tokens),
                _share(row.unwanted, row.forced),
                f"{steps:,}",
                _share(sum(step.is_masked for step in row.steps), steps),
                f"{kept / steps:.3f}" if steps else "-",
                _ratio(tokens, row.figures.seconds),
            ]
        )
    return f"## Steps\n\n{markdown(lines)}"


def _places(row: Row) -> str:
    lines = [["text before", "wanted", "p", "taken", "p", "mass kept", "like it", "mass lost"]]
    for place in worst_places(row.steps):
        step = place.example
        lines.append(
            [
                _code(step.before[-32:]),
                _code(step.wanted),
                f"{step.wanted_p:.2f}",
                _code(step.taken),
                f"{step.taken_p:.2f}",
                f"{step.kept:.3f}",
                str(place.count),
                f"{place.lost:.2f}",
            ]
        )
    return f"## Worst places: {_name(row)}\n\n{markdown(lines)}"


def _name(row: Row) -> str:
    return f"{row.model}, {row.set}, {row.way}"


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _ratio(part: float, whole: float) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def _code(text: str) -> str:
    """Return a text as code in a table: on one line, without the marks of tables and code."""
    shown = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("`", "'")
    return f"`` {shown.replace('|', '¦')} ``"
