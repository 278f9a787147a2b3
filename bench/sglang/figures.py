"""Statistics of samples, and their JSON files."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from ..measure import percentile
from ..report import markdown

#: samples drawn with replacement for an interval (Efron, 1979)
DRAWS = 10_000


def interval(
    values: Sequence[float],
    figure: Callable[[Sequence[float]], float] = median,
    share: float = 0.95,
    seed: int = 5,
) -> tuple[float, float]:
    """Return a 95 % interval of the statistic, by the bootstrap's percentiles."""
    random = Random(seed)
    drawn = [figure(random.choices(values, k=len(values))) for _ in range(DRAWS)]
    beyond = 100 * (1 - share) / 2
    return percentile(drawn, beyond), percentile(drawn, 100 - beyond)


def spread(values: Sequence[float]) -> dict[str, float]:
    """Return median, p90 and p99."""
    return {f"p{p}": percentile(values, p) for p in (50, 90, 99)}


def keep(folder: Path | None, name: str, found: Any) -> None:
    """Write a JSON file of that name."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def show(lines: Sequence[Sequence[str]]) -> None:
    """Return a table; the first line is its head."""
    print(markdown(lines), end="\n\n", flush=True)
