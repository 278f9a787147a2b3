"""Timing one case with one engine, and taking turns: a case goes through every engine before the
next one comes, so that drift of the machine hits all alike.

All times in microseconds. first = compile and first mask; mask = filling a mask; accept = taking
the token.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from .data import SchemaCase, ToolCase
from .engines import Engine
from .vocabularies import Loaded
from .worker import OK, Outcome, Runner

TRIGGER = "<function="


class Result:
    """What one engine showed: times by kind, and counts."""

    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.counts: dict[str, int] = defaultdict(int)

    def add(self, other: "Result") -> None:
        for kind, times in other.times.items():
            self.times[kind] += times
        for name, count in other.counts.items():
            self.counts[name] += count

    @property
    def compiled(self) -> bool:
        return bool(self.times.get("first"))


class Walk(NamedTuple):
    """Whether a text was taken to its end, and whether it may end there."""

    taken: bool
    whole: bool


def now() -> float:
    return time.perf_counter() * 1e6


def _compile(engine: Engine, result: Result, make: Callable[[], Any]) -> Any | None:
    start = now()
    try:
        compiled = make()
        compile_time = now() - start
        state = engine.start(compiled)
        engine.fill(state)
    except Exception as error:
        result.counts[f"refused ({type(error).__name__})"] += 1
        return None
    result.times["compile"].append(compile_time)
    result.times["first"].append(now() - start)
    return compiled


def _walk(engine: Engine, result: Result, compiled: Any, ids: list[int], stop: int) -> Walk:
    try:
        return _steps(engine, result, engine.start(compiled), ids, stop)
    except Exception as error:
        result.counts[f"gave up on a text ({type(error).__name__})"] += 1
        return Walk(False, False)


def _steps(engine: Engine, result: Result, state: Any, ids: list[int], stop: int) -> Walk:
    for token in ids:
        start = now()
        engine.fill(state)
        filled = now()
        result.times["mask"].append(filled - start)
        if not engine.allowed(token):
            return Walk(False, False)
        start = now()
        taken = engine.accept(state, token)
        result.times["accept"].append(now() - start)
        if not taken:
            result.counts["mask and accept disagree"] += 1
            return Walk(False, False)
    engine.fill(state)
    return Walk(True, engine.allowed(stop))


def _judge(
    engine: Engine, loaded: Loaded, result: Result, compiled: Any, text: str, most: int | None
) -> bool:
    """Whether the engine takes the text, of which it sees no more than ``most`` tokens."""
    ids = loaded.encoding.encode(text, disallowed_special=())
    walk = _walk(engine, result, compiled, ids[:most], loaded.stop)
    return walk.whole if most is None or len(ids) <= most else walk.taken


def schema_case(
    engine: Engine, loaded: Loaded, case: SchemaCase, most: int | None = None
) -> Result:
    result = Result()
    compiled = _compile(engine, result, partial(engine.compile_schema, case.schema))
    if compiled is None:
        return result
    result.counts["schemas taken"] += 1
    for text, valid in case.texts:
        if _judge(engine, loaded, result, compiled, text, most) != valid:
            result.counts["valid rejected" if valid else "invalid taken"] += 1
    return result


def tags(case: ToolCase) -> list[tuple[str, Any, str]]:
    return [(f"{TRIGGER}{name}>", schema, "</function>") for name, schema in case.tools]


def answer(case: ToolCase) -> str:
    """Free text, then the true calls in the syntax ``<function=NAME>{...}</function>``."""
    calls = [
        f"{TRIGGER}{name}>{json.dumps(arguments, ensure_ascii=False)}</function>"
        for name, arguments in case.calls
    ]
    return "Let me look at what you need.\n" + "\n".join(calls)


def tool_case(engine: Engine, loaded: Loaded, case: ToolCase, most: int | None = None) -> Result:
    result = Result()
    compiled = _compile(engine, result, partial(engine.compile_tags, TRIGGER, tags(case)))
    if compiled is None:
        return result
    result.counts["tool sets taken"] += 1
    text = answer(case)
    if not _judge(engine, loaded, result, compiled, text, most):
        result.counts["true answers rejected"] += 1
    wrong = loaded.encoding.encode(text.replace(TRIGGER, f"{TRIGGER}no_such_", 1))
    if case.calls and _walk(engine, Result(), compiled, wrong, loaded.stop).taken:
        result.counts["wrong answers taken"] += 1
    return result


class Turns(NamedTuple):
    """By engine: over all cases, and over those alone that every engine compiled in time."""

    every: dict[str, Result]
    shared: dict[str, Result]


def _result(outcome: Outcome) -> Result:
    if outcome.status == OK:
        return outcome.value
    result = Result()
    result.counts[outcome.status] += 1
    return result


def take_turns(
    runners: Mapping[str, Runner], task: Callable[..., Result], cases: Iterable[Any], *more: Any
) -> Turns:
    turns = Turns({name: Result() for name in runners}, {name: Result() for name in runners})
    for case in cases:
        found = {name: _result(runner.run(task, case, *more)) for name, runner in runners.items()}
        shared = all(result.compiled for result in found.values())
        for name, result in found.items():
            turns.every[name].add(result)
            if shared:
                turns.shared[name].add(result)
    return turns


def agreed(runners: Mapping[str, Runner], cases: Iterable[ToolCase]) -> list[ToolCase]:
    """The sets that every engine compiles, and whose true answers every engine takes."""
    kept = []
    for case in cases:
        found = [_result(runner.run(tool_case, case)) for runner in runners.values()]
        if all(dict(result.counts) == {"tool sets taken": 1} for result in found):
            kept.append(case)
    return kept


def percentile(values: list[float], p: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))]


def summary(result: Result) -> dict[str, float]:
    """Medians of compile and first mask, and of masks the median and p99."""
    out = {kind: median(result.times[kind]) for kind in ("compile", "first")}
    if masks := result.times.get("mask"):
        out |= {"mask p50": percentile(masks, 50), "mask p99": percentile(masks, 99)}
    return out
