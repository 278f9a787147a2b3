"""Growth of the times of compile, first mask and masks along one axis at a time.

tools        number of tools in a set, with about four parameters each; the answer calls one
schema       KB of a schema, an object of objects; the value contains most of them
vocabulary   a set of four tools and ``sized@N`` (see vocabularies)
pattern, maxLength, minItems
             one counter with the bound n: ``[a-z]{0,n}``, and n characters or n items

Each point has variants that are new to an engine. The first one is not counted, because it pays for
structures that an engine builds once. Texts are decoded for at most WALK tokens. Timeouts are
counted; after one, an engine skips all larger points of that axis.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from . import made
from .data import SchemaCase
from .measure import Result, schema_case, summary, tool_case
from .report import markdown
from .worker import DIED, OK, TIME_OUT, Bounds, Runner, Setup, workers

WALK = 1000
VARIANTS = 3
#: the variant that is not counted
WARM = VARIANTS
_BOUNDS = (10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 65_536)
_POWERS = tuple(2**k for k in range(11))
#: axis -> its points; by default, every second one
AXES = {
    "tools": _POWERS,
    "schema": _POWERS,
    "vocabulary": (32_768, 65_536, 131_072, 196_608, 262_144),
    "pattern": _BOUNDS,
    "maxLength": _BOUNDS,
    "minItems": _BOUNDS,
}
UNITS = {"tools": "tools", "schema": "KB", "vocabulary": "tokens"}
FIGURES = ("compile", "first", "mask p50", "mask p99")


class Point(NamedTuple):
    """``figures`` in microseconds, empty unless ``status`` is ok."""

    at: int
    status: str
    figures: dict[str, float]


def _tools(at: int, variant: int) -> tuple[Callable[..., Result], Any]:
    return tool_case, made.tool_case(Random(f"tools {at} {variant}"), at)


def _schema(at: int, variant: int) -> tuple[Callable[..., Result], Any]:
    return schema_case, made.schema_of(Random(f"schema {at} {variant}"), at * 1024)


def _counter(schema: Any, text: str) -> tuple[Callable[..., Result], Any]:
    whole = {
        "type": "object",
        "properties": {"v": schema},
        "required": ["v"],
        "additionalProperties": False,
    }
    return schema_case, SchemaCase("counter", whole, [(f'{{"v": {text}}}', True)])


def _letters(length: int) -> str:
    return '"' + ("thequickbrownfoxjumpsoverthelazydog" * (length // 35 + 1))[:length] + '"'


def _pattern(at: int, variant: int) -> tuple[Callable[..., Result], Any]:
    bound = at + variant
    return _counter({"type": "string", "pattern": f"^[a-z]{{0,{bound}}}$"}, _letters(bound))


def _max_length(at: int, variant: int) -> tuple[Callable[..., Result], Any]:
    bound = at + variant
    return _counter({"type": "string", "maxLength": bound}, _letters(bound))


def _min_items(at: int, variant: int) -> tuple[Callable[..., Result], Any]:
    bound = at + variant
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": bound}
    return _counter(schema, str([k % 100 for k in range(bound)]))


_CASES = {
    "tools": _tools,
    "schema": _schema,
    "pattern": _pattern,
    "maxLength": _max_length,
    "minItems": _min_items,
}


def _point(runner: Runner, at: int, cases: list[tuple[Callable[..., Result], Any]]) -> Point:
    total = Result()
    for task, case in cases:
        outcome = runner.run(task, case, WALK)
        if outcome.status != OK:
            return Point(at, outcome.status, {})
        total.add(outcome.value)
    wrong = [name for name in total.counts if name not in ("schemas taken", "tool sets taken")]
    if wrong:
        return Point(at, wrong[0], {})
    return Point(at, OK, summary(total))


def along(
    runners: Mapping[str, Runner], axis: str, points: tuple[int, ...], variants: int = VARIANTS
) -> dict[str, list[Point]]:
    """Measure one axis; at each point the engines take turns."""
    found: dict[str, list[Point]] = {name: [] for name in runners}
    given_up: set[str] = set()
    for runner in runners.values():
        _point(runner, points[0], [_CASES[axis](points[0], WARM)])
    for at in points:
        cases = [_CASES[axis](at, variant) for variant in range(variants)]
        for name, runner in runners.items():
            if name in given_up:
                found[name].append(Point(at, "not tried", {}))
                continue
            point = _point(runner, at, cases)
            found[name].append(point)
            if point.status in (TIME_OUT, DIED):
                given_up.add(name)
    return found


def along_vocabularies(
    setups: dict[str, Setup], bounds: Bounds, points: tuple[int, ...], variants: int = VARIANTS
) -> dict[str, list[Point]]:
    """Like ``along``, with a process for each engine and vocabulary; ``setup`` starts them."""
    found: dict[str, list[Point]] = {name: [] for name in setups}
    for at in points:
        sized = {n: setup._replace(vocabulary=f"sized@{at}") for n, setup in setups.items()}
        with workers(sized, bounds) as runners:
            cases = [_tools(4, variant) for variant in range(variants)]
            for name, runner in runners.items():
                _point(runner, at, [_tools(4, WARM)])
                point = _point(runner, at, cases)
                if point.status == OK:
                    point.figures["setup"] = runner.setup_seconds * 1e6
                found[name].append(point)
    return found


def table(axis: str, found: dict[str, list[Point]]) -> str:
    lines = [[f"{axis} (us)", *found]]
    seen = {figure for points in found.values() for p in points for figure in p.figures}
    for figure in ("setup", *FIGURES):
        for row in zip(*found.values(), strict=True) if figure in seen else ():
            cells = [f"{p.figures[figure]:,.1f}" if figure in p.figures else p.status for p in row]
            lines.append([f"{figure}, {row[0].at:,} {UNITS.get(axis, '')}".strip(), *cells])
    late = [sum(p.status == TIME_OUT for p in points) for points in found.values()]
    lines.append([TIME_OUT, *map(str, late)])
    return markdown(lines)
