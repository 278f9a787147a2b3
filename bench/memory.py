"""Memory of grammars: the resident memory of a process with one engine, as it grows.

``held``: compiles distinct specs and keeps a matcher of each, at its first mask or at the end of
its text (masks are computed when they are needed).
``churn``: compiles, decodes and drops distinct schemas, so that only the engine's caches remain,
which must be bounded.

Resident memory is read from /proc after a garbage collection. For ``held``, the C library first
returns free memory to the system; otherwise grammars would use memory left over from the setup.
For ``churn`` it does not, as in a server.
"""

import ctypes
import gc
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from .data import SchemaCase, ToolCase
from .engines import Engine
from .formats import LLAMA
from .made import schema_case
from .measure import Result
from .measure import schema_case as measure_schema
from .report import markdown
from .vocabularies import Loaded

_CACHES, _FIGURES = ("token_mask", "automaton"), ("bytes", "evictions")
#: points of a curve
POINTS = 10


class Point(NamedTuple):
    """``bytes`` resident after this many grammars; ``stats``: sizes of our compiler's caches."""

    grammars: int
    bytes: int
    refused: int = 0
    stats: dict[str, int] = {}  # noqa: RUF012


def resident(*, trim: bool = False) -> int:
    gc.collect()
    if trim and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _marks(count: int) -> set[int]:
    return {round(count * k / POINTS) for k in range(1, POINTS + 1)}


def _start(engine: Engine, case: SchemaCase | ToolCase) -> tuple[Any, str]:
    """Return a matcher and the first text that it accepts.

    The matcher keeps alive all that it needs of its grammar.
    """
    if isinstance(case, ToolCase):
        return engine.start(engine.compile_tags(LLAMA, LLAMA.tags(case))), LLAMA.answer(case)
    text = next((text for text, valid in case.texts if valid), "")
    return engine.start(engine.compile_schema(case.schema)), text


def _decode(engine: Engine, state: Any, ids: list[int]) -> None:
    """Fill a mask, and one after each token that the engine accepts."""
    engine.fill(state)
    for token in ids:
        if not (engine.allowed(token) and engine.accept(state, token)):
            return
        engine.fill(state)


def held(
    engine: Engine, loaded: Loaded, cases: Sequence[SchemaCase | ToolCase], whole: bool
) -> Iterator[Point]:
    """Run a task. No point contains the first spec, which pays for one-time work."""
    kept: list[Any] = []
    refused, marks = 0, _marks(len(cases) - 1)
    for k, case in enumerate(cases):
        try:
            state, text = _start(engine, case)
            ids = loaded.encoding.encode(text if whole else "", disallowed_special=())
            _decode(engine, state, ids)
            kept.append(state)
        except Exception:
            refused += k > 0
        if k == 0 or k in marks:
            yield Point(k - refused, resident(trim=True), refused)


def churn(engine: Any, loaded: Loaded, count: int, seed: int = 23) -> Iterator[Point]:
    """Run a task of our engine: schema k is generated from seed + k."""
    total, marks = Result(), {1, *_marks(count)}
    yield Point(0, resident(), 0, engine.compiler.stats())
    for k in range(1, count + 1):
        result = measure_schema(engine, loaded, schema_case(Random(seed + k)))
        for name, times in result.counts.items():
            total.counts[name] += times
        if k in marks:
            refused = k - total.counts["schemas taken"]
            yield Point(k, resident(), refused, engine.compiler.stats())


def per_grammar(points: list[Point]) -> float:
    """Return bytes per further grammar, from the first point to the last."""
    first, last = points[0], points[-1]
    return (last.bytes - first.bytes) / max(1, last.grammars - first.grammars)


def grown(points: Sequence[Point]) -> float | None:
    """Return the growth in bytes from the first point to the last."""
    return points[-1].bytes - points[0].bytes if len(points) > 1 else None


def held_table(found: dict[str, list[Point]], title: str) -> str:
    lines = [[title, *found]]
    for k in range(max(map(len, found.values()))):
        cells = [f"{p[k].bytes / 2**20:,.0f} MB" if k < len(p) else "-" for p in found.values()]
        point = next(p[k] for p in found.values() if k < len(p))
        lines.append([f"{point.grammars + point.refused:,}", *cells])
    sums = [grown(points) for points in found.values()]
    lines.append(["together", *(f"{s / 2**20:,.0f} MB" if s is not None else "-" for s in sums)])
    each = [f"{per_grammar(p) / 1024:,.0f} KB" if len(p) > 1 else "-" for p in found.values()]
    lines.append(["for a grammar", *each])
    lines.append(["refused", *(str(p[-1].refused) if p else "-" for p in found.values())])
    return markdown(lines)


def churn_table(points: list[Point]) -> str:
    kept = ["grammars", *(f"{cache}_{figure}" for cache in _CACHES for figure in _FIGURES)]
    lines = [["distinct schemas", "resident MB", "refused", *kept]]
    for point in points:
        figures = [f"{point.stats[name]:,}" if name in point.stats else "-" for name in kept]
        head = [f"{point.grammars:,}", f"{point.bytes / 2**20:,.0f}", f"{point.refused:,}"]
        lines.append([*head, *figures])
    return markdown(lines)
