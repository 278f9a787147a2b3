"""Two runs beside each other: their figures, and what became of the worst places.

    python -m bench.quality.compare BEFORE AFTER      folders that --out wrote

A place is a group of steps by the text before them (steps). Their sums can be
compared only if both runs asked the same cases.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.cli.quality import NAMES

from ..report import markdown
from .report import STEPS, cell, code
from .steps import Step, groups_of, lost, worst_places

#: of a row: model, set, way
Key = tuple[str, str, str]


def figures(folder: Path) -> dict[Key, dict[str, Any]]:
    rows = json.loads((folder / "figures.json").read_text())
    return {(row["model"], row["set"], row["way"]): row for row in rows}


def steps(folder: Path) -> dict[tuple[str, str], list[Step]]:
    """Return the steps of each model and way."""
    found: dict[tuple[str, str], list[Step]] = defaultdict(list)
    for line in (folder / "answers.jsonl").read_text().splitlines():
        answer = json.loads(line)
        found[answer["model"], answer["way"]] += [Step(**each) for each in answer.get("steps", ())]
    return found


def compared(before: Path, after: Path) -> str:
    """Return the comparison as Markdown."""
    old, new = figures(before), figures(after)
    shared = [key for key in old if key in new]
    parts = [_figures(old[key], new[key], ", ".join(key)) for key in shared]
    old_steps, new_steps = steps(before), steps(after)
    for model, way in dict.fromkeys((model, way) for model, _, way in shared):
        table = _places(old_steps[model, way], new_steps[model, way])
        parts.append(f"## Worst places: {model}, {way}\n\n{table}")
    return "\n\n".join(parts)


def _figures(old: dict[str, Any], new: dict[str, Any], title: str) -> str:
    lines = [[title, "before", "after"]]
    for name, text in {**NAMES, **STEPS}.items():
        if old[name] is not None or new[name] is not None:
            lines.append([text, cell(name, old[name]), cell(name, new[name])])
    return markdown(lines)


def _places(old: Sequence[Step], new: Sequence[Step]) -> str:
    """Return the worst places of the first run, with their masked steps and lost probability in
    both.
    """
    groups = groups_of(new)
    lines = [["text before", "wanted", "p", "taken", "masked before", "lost", "after", "lost"]]
    for place in worst_places(old):
        step, now = place.example, groups.get(place.shape, [])
        shown = code(step.before[-32:]) if step.before else "(begin)"
        wanted, taken = code(step.wanted), code(step.taken)
        counts = [str(place.count), f"{place.lost:.2f}", str(len(now)), f"{lost(now):.2f}"]
        lines.append([shown, wanted, f"{step.wanted_p:.2f}", taken, *counts])
    return markdown(lines)


if __name__ == "__main__":
    print(compared(Path(sys.argv[1]), Path(sys.argv[2])))
