"""Masks of many states at once, as a server fills them before each step of its model.

There are three kinds of batch, all of tool calls: ``same``, all rows at one position of one answer;
``spread``, rows at different positions of one answer; ``many``, each row with its own tools, at
different positions. After each batch every row takes its token; a row at its end starts again.

Each batch has its own grammars. The first round pays for masks that were never computed before;
``again`` repeats the round. Structures that a process shares between grammars are warm. If all rows
have one tool set, it is always the same set with other names, so that sizes can be compared.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from time import perf_counter
from typing import Any, NamedTuple

from .data import ToolCase
from .engines import Engine
from .formats import LLAMA
from .measure import percentile
from .report import markdown
from .vocabularies import Loaded

KINDS = ("same", "spread", "many")
SIZES = (1, 16, 64, 256)
#: steps of a round; two rounds are measured
STEPS = 48


class Row:
    """A row of a batch: a grammar and a position in its text; ``origin`` is the first one."""

    def __init__(self, engine: Engine, compiled: Any, ids: list[int], origin: int) -> None:
        self.engine, self.compiled, self.ids, self.origin = engine, compiled, ids, origin
        self.begin(origin)

    def begin(self, at: int) -> None:
        self.at, self.state = 0, self.engine.start(self.compiled)
        for _ in range(at):
            self.step()

    def step(self) -> None:
        if self.at == len(self.ids):
            self.begin(0)
        elif self.engine.accept(self.state, self.ids[self.at]):
            self.at += 1
        else:
            raise ValueError("a true answer is rejected")


class Point(NamedTuple):
    """Microseconds per batch in the first and the second round."""

    kind: str
    size: int
    p50: float
    p99: float
    again_p50: float
    again_p99: float


def _renamed(case: ToolCase, mark: str) -> ToolCase:
    return case._replace(
        tools=[(f"{name}_{mark}", schema) for name, schema in case.tools],
        calls=[(f"{name}_{mark}", arguments) for name, arguments in case.calls],
    )


def _rows(engine: Engine, loaded: Loaded, cases: list[ToolCase], kind: str, size: int) -> list[Row]:
    made = []
    for case in cases:
        compiled = engine.compile_tags(LLAMA, LLAMA.tags(case))
        made.append((compiled, LLAMA.encode(loaded, LLAMA.answer(case))))
    rows = []
    for k in range(size):
        compiled, ids = made[k % len(made)]
        rows.append(Row(engine, compiled, ids, 0 if kind == "same" else k * len(ids) // size))
    return rows


def _round(engine: Engine, rows: list[Row], threads: int, steps: int) -> list[float]:
    times = []
    for row in rows:
        row.begin(row.origin)
    for _ in range(steps):
        fill = engine.batch([row.state for row in rows], threads)
        start = perf_counter()
        fill()
        times.append((perf_counter() - start) * 1e6)
        for row in rows:
            row.step()
    return times


def batches(
    engine: Engine,
    loaded: Loaded,
    cases: list[ToolCase],
    sizes: tuple[int, ...] = SIZES,
    threads: int = 1,
    steps: int = STEPS,
) -> Iterator[Point]:
    """Run a task that yields a point for each kind and size.

    ``cases``: ``needed(sizes)`` distinct sets whose true answers the engine accepts.
    """
    one, others = cases[0], iter(cases[1:])
    _round(engine, _rows(engine, loaded, [_renamed(one, "warm")], "same", 1), 1, steps)
    for kind in KINDS:
        for size in sizes:
            taken = [_renamed(one, f"{kind}_{size}")]
            if kind == "many":
                taken = list(islice(others, size))
            rows = _rows(engine, loaded, taken, kind, size)
            first = _round(engine, rows, threads, steps)
            again = _round(engine, rows, threads, steps)
            figures = (percentile(times, p) for times in (first, again) for p in (50, 99))
            yield Point(kind, size, *figures)


def needed(sizes: tuple[int, ...]) -> int:
    return 1 + sum(sizes)


def median(points: Sequence[Point], kind: str, size: int) -> float | None:
    """Return microseconds per mask in the first round; None: there is no such point."""
    return next((p.p50 / size for p in points if (p.kind, p.size) == (kind, size)), None)


def table(found: dict[str, list[Point]]) -> str:
    """Return a table of microseconds per mask: those of a batch divided by its rows."""
    names = list(found)
    places = list(dict.fromkeys((p.kind, p.size) for points in found.values() for p in points))
    lines = [["a mask in a batch (us)", *names]]
    by_place = {name: {(p.kind, p.size): p for p in points} for name, points in found.items()}
    for figure in ("p50", "p99", "again_p50", "again_p99"):
        for place in places:
            points = [by_place[name].get(place) for name in names]
            cells = [f"{getattr(p, figure) / p.size:,.2f}" if p else "-" for p in points]
            lines.append([f"{place[0]} {place[1]} {figure.replace('_', ' ')}", *cells])
    return markdown(lines)
