"""Timing of cases.

The engines take turns, case by case, so that drift of the machine affects all of them equally.

All times are in microseconds.

compile  compiling the spec
first    compile, a matcher and its first mask: the time that a request waits
mask     filling a mask before each token, including the first
accept   accepting the token
answer   compile, and all masks and tokens of one answer (tool calls)
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from .data import SchemaCase, ToolCase
from .engines import Engine
from .formats import LLAMA, Format
from .vocabularies import Loaded
from .worker import OK, TIME_OUT, Outcome, Runner


class Result:
    """Results of one engine: times by kind, and counts."""

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
        return bool(self.times.get("compile"))


class Walk(NamedTuple):
    """Whether a text was accepted to its end, and whether it may end there."""

    taken: bool
    whole: bool


def _since(start: float) -> float:
    return (perf_counter() - start) * 1e6


def _walk(engine: Engine, loaded: Loaded, result: Result, state: Any, ids: Sequence[int]) -> Walk:
    try:
        taken = _steps(engine, result, state, ids)
        return Walk(taken, taken and _may_end(engine, loaded, state))
    except Exception as error:
        result.counts[f"gave up on a text ({type(error).__name__})"] += 1
        return Walk(False, False)


def _steps(engine: Engine, result: Result, state: Any, ids: Sequence[int]) -> bool:
    masks, accepts = result.times["mask"], result.times["accept"]
    for token in ids:
        start = perf_counter()
        engine.fill(state)
        masks.append(_since(start))
        if not engine.allowed(token):
            return False
        start = perf_counter()
        taken = engine.accept(state, token)
        accepts.append(_since(start))
        if not taken:
            result.counts["mask and accept disagree"] += 1
            return False
    return True


def _may_end(engine: Engine, loaded: Loaded, state: Any) -> bool:
    engine.fill(state)
    return engine.allowed(loaded.stop)


def _refused(result: Result, error: Exception) -> Result:
    result.counts[f"refused ({type(error).__name__})"] += 1
    return result


def schema_case(
    engine: Engine, loaded: Loaded, case: SchemaCase, most: int | None = None
) -> Result:
    """Run a task on at most ``most`` tokens of each text."""
    result = Result()
    start = perf_counter()
    try:
        compiled = engine.compile_schema(case.schema)
        compile_time = _since(start)
        engine.fill(engine.start(compiled))
    except Exception as error:
        return _refused(result, error)
    result.times["first"].append(_since(start))
    result.times["compile"].append(compile_time)
    result.counts["schemas taken"] += 1
    for text, valid in case.texts:
        ids = loaded.encoding.encode(text, disallowed_special=())
        walk = _walk(engine, loaded, result, engine.start(compiled), ids[:most])
        if (walk.whole if ids[:most] == ids else walk.taken) != valid:
            result.counts["valid rejected" if valid else "invalid taken"] += 1
    return result


def tool_case(
    engine: Engine, loaded: Loaded, case: ToolCase, most: int | None = None, form: Format = LLAMA
) -> Result:
    """Run a task on at most ``most`` tokens of the answer.

    The matcher is created with the grammar, and decodes the answer.
    """
    result, tags = Result(), form.tags(case)
    start = perf_counter()
    try:
        compiled = engine.compile_tags(form, tags)
        state = engine.start(compiled)
    except Exception as error:
        return _refused(result, error)
    result.times["compile"].append(_since(start))
    result.counts["tool sets taken"] += 1
    ids = form.encode(loaded, form.answer(case))
    walk = _walk(engine, loaded, result, state, ids[:most])
    if not (walk.whole if ids[:most] == ids else walk.taken):
        result.counts["true answers rejected"] += 1
    if masks := result.times["mask"]:
        result.times["first"].append(result.times["compile"][0] + masks[0])
    steps = ("compile", "mask", "accept")
    result.times["answer"].append(sum(sum(result.times[kind]) for kind in steps))
    for text in form.wrong_answers(case):
        ids = form.encode(loaded, text)
        if _walk(engine, loaded, Result(), engine.start(compiled), ids).taken:
            result.counts["wrong answers taken"] += 1
    return result


class Turns(NamedTuple):
    """Return results by engine: over all cases, and over those that every engine compiled."""

    every: dict[str, Result]
    shared: dict[str, Result]


def _result(runner: Runner, outcome: Outcome) -> Result:
    """Return the results; a timeout counts with the limit as its time to the first mask."""
    if outcome.status == OK:
        return outcome.value
    result = Result()
    result.counts[outcome.status] += 1
    if outcome.status == TIME_OUT:
        result.times["first"].append(runner.seconds * 1e6)
    return result


def take_turns(
    runners: Mapping[str, Runner], task: Callable[..., Result], cases: Iterable[Any], *more: Any
) -> Turns:
    turns = Turns({name: Result() for name in runners}, {name: Result() for name in runners})
    for case in cases:
        found = {
            name: _result(runner, runner.run(task, case, *more)) for name, runner in runners.items()
        }
        shared = all(result.compiled for result in found.values())
        for name, result in found.items():
            turns.every[name].add(result)
            if shared:
                turns.shared[name].add(result)
    return turns


def agreed(runners: Mapping[str, Runner], cases: Iterable[ToolCase]) -> list[ToolCase]:
    """Return the sets that every engine compiles and whose true answers every engine accepts."""
    kept = []
    for case in cases:
        found = [_result(runner, runner.run(tool_case, case)) for runner in runners.values()]
        if all(dict(result.counts) == {"tool sets taken": 1} for result in found):
            kept.append(case)
    return kept


def percentile(values: Sequence[float], p: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(p / 100 * len(ordered)))]


def summary(result: Result) -> dict[str, float]:
    """Return medians of compile and first mask, and the median and p99 of masks."""
    out = {kind: median(result.times[kind]) for kind in ("compile", "first")}
    if masks := result.times.get("mask"):
        out |= {"mask p50": percentile(masks, 50), "mask p99": percentile(masks, 99)}
    return out
