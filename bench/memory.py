"""Memory of grammars: the resident memory of a process with one engine, as it grows.

``held``: compiles distinct specs and keeps a matcher of each, at its first mask or at the end of
its text (masks are computed when they are needed).
``churn``: compiles, decodes and drops distinct schemas, so that only the engine's caches remain,
which must be bounded.
``counted``: compiles distinct specs of one front end of ours, and compares the bytes that the
engine counts for them, by which its caches are bounded, with the resident memory.

Resident memory is read from /proc after a garbage collection. For ``held``, the C library first
returns free memory to the system; otherwise grammars would use memory left over from the setup.
For ``churn`` it does not, as in a server.
"""

import ctypes
import gc
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from .data import SchemaCase, ToolCase
from .engines import Engine, structural_tag
from .formats import LLAMA
from .made import ebnf_grammar, lark_grammar, regex, schema_case, tool_case
from .measure import Result
from .measure import schema_case as measure_schema
from .report import markdown
from .vocabularies import Loaded

_CACHES, _FIGURES = ("token_mask", "automaton"), ("bytes", "evictions")
_COUNTED = ("token_mask_bytes", "automaton_bytes", "fragment_bytes")
#: front ends: the method of our compiler, and arguments that make a new spec
FRONT_ENDS: dict[str, tuple[str, Callable[[Random], tuple[Any, ...]]]] = {
    "JSON Schema": ("compile_json_schema", lambda random: (schema_case(random).schema,)),
    "structural tags": (
        "compile_structural_tag",
        lambda random: (structural_tag(LLAMA, LLAMA.tags(tool_case(random))),),
    ),
    "regular expressions": ("compile_regex", lambda random: (regex(random),)),
    "Lark": ("compile_grammar", lambda random: (lark_grammar(random), "lark")),
    "EBNF": ("compile_grammar", lambda random: (ebnf_grammar(random), "ebnf")),
}
#: random tokens that each of their grammars accepts, with the masks before them
STEPS = 24
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


class Counted(NamedTuple):
    """Live grammars of a front end, what the engine counts for them, and the resident bytes."""

    grammars: int
    refused: int
    counted: int
    bytes: int


def counted(
    engine: Any, loaded: Loaded, front_end: str, count: int, seed: int = 29
) -> Iterator[Counted]:
    """Run a task of our engine. The first spec, which pays for one-time work, does not count."""
    method, make = FRONT_ENDS[front_end]
    random, kept, refused = Random(seed), [], 0
    before = shared = 0
    for k in range(count + 1):
        try:
            compiled = getattr(engine.compiler, method)(*make(random))
            _wander(engine, engine.start(compiled), random)
            kept.append(compiled)
        except Exception:
            refused += k > 0
        if k == 0:
            kept.clear()
            before, shared = resident(trim=True), _shared(engine)
    bytes_ = resident(trim=True) - before
    sizes = sum(compiled.held_bytes() for compiled in kept)
    yield Counted(len(kept), refused, sizes + _shared(engine) - shared, bytes_)


def _shared(engine: Any) -> int:
    stats = engine.compiler.stats()
    return sum(stats[name] for name in _COUNTED)


def _wander(engine: Any, state: Any, random: Random) -> None:
    """Accept tokens at random out of their masks."""
    for _ in range(STEPS):
        engine.fill(state)
        allowed = np.unpackbits(engine.mask.view(np.uint8), bitorder="little").nonzero()[0]
        if not allowed.size or not engine.accept(state, int(random.choice(allowed))):
            return


def counted_table(found: dict[str, Counted]) -> str:
    lines = [["front end", "live", "refused", "counted MB", "resident MB", "resident / counted"]]
    for name, one in found.items():
        sizes = [f"{size / 2**20:,.1f}" for size in (one.counted, one.bytes)]
        ratio = f"{one.bytes / max(1, one.counted):.2f}"
        lines.append([name, f"{one.grammars:,}", f"{one.refused:,}", *sizes, ratio])
    return markdown(lines)


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
