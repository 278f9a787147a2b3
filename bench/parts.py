"""The parts of the suite.

A part is a function of the ``Run``: it runs its cases, and prints and plots the results. Engines
that are compared take turns, case by case, each in its own process. If a process itself is measured
(memory, batches), engines run one after another.
"""

import importlib.util
import tempfile
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adapters.formats import FORMATS as WIRE_FORMATS

from . import ablation, batch, data, growth, made, memory
from . import families as of_families
from . import forced as forcing
from .formats import FORMATS
from .maskdiff import results as maskdiff_results
from .maskdiff.recording import Recorder
from .maskdiff.recording import lines as recorded
from .maskdiff.verdicts import judge_all, rows
from .measure import Turns, agreed, schema_case, take_turns, tool_case
from .report import OURS, Report, Summary, table
from .vocabularies import NAMES, load
from .worker import OK, Bounds, Outcome, Setup, workers

VOCABULARY = "llama3"
#: engines that take seconds to compile many of the schemas; only run with --every-engine
SLOW_WITH_SCHEMAS = ("xgrammar",)
#: maskdiff: cases of which these engines run one, without --every-engine
SLOW_EVERY = 100
#: sets of many tools
LARGE_SETS = 5

_SCHEMA_ROWS = [f"mask {what}" for what in ("avg", "p25", "p50", "p90", "p99", "p99.9")]
_SCHEMA_ROWS += ["first p50", "first p99"]
_TOOL_ROWS = ["answer avg", "compile p50", "mask avg", "mask p99"]
_LARGE_ROWS = ["compile p50", "first p50", "mask p50"]


class Run:
    """The arguments of a run, and the report of its results."""

    def __init__(self, asked: Namespace, report: Report) -> None:
        self.asked, self.report = asked, report
        self.bounds = Bounds(asked.limit, int(asked.memory * 2**30))
        self.vocabulary = asked.vocabulary or VOCABULARY
        self.engines: list[str] = asked.engines.split(",")
        self.setups = self.with_vocabulary(self.vocabulary)
        self.summary = Summary(self.engines)

    def with_vocabulary(self, vocabulary: str) -> dict[str, Setup]:
        return {name: Setup(name, vocabulary) for name in self.engines}

    def for_schemas(self) -> dict[str, Setup]:
        left_out = () if self.asked.every_engine else SLOW_WITH_SCHEMAS
        if skipped := [name for name in self.engines if name in left_out]:
            self.report.say(f"Skipped without --every-engine: {', '.join(skipped)}.")
        return {name: setup for name, setup in self.setups.items() if name not in left_out}

    def schemas(self) -> list[data.SchemaCase]:
        if not self.asked.maskbench:
            return data.builtin_schemas()[: self.asked.schemas]
        sample = self.asked.schemas or None
        return data.maskbench(Path(self.asked.maskbench), sample, half=self.asked.half)

    def tools(self, sample: int | None = None) -> list[data.ToolCase]:
        folder = Path(self.asked.bfcl)
        return data.bfcl(folder, sample) if folder.is_dir() else data.builtin_tools()

    def plot(self, name: str, kind: str, *what: Any) -> None:
        if importlib.util.find_spec("matplotlib") is not None:
            from . import plots

            self.report.plot(name, getattr(plots, kind), *what)

    def turns(
        self,
        title: str,
        setups: dict[str, Setup],
        task: Callable[..., Any],
        cases: Sequence[Any],
        *more: Any,
        plot: str,
        rows: Sequence[str],
        bounds: Bounds | None = None,
    ) -> None:
        with workers(setups, bounds or self.bounds) as runners:
            found = take_turns(runners, task, cases, *more)
        title = f"{len(cases)} {title}"
        self.report.say(table(title, found.every))
        self._of_all(title, plot, found)
        self.plot(plot, "percentiles", found.every)
        self.summary.take(title, found.every, rows)

    def _of_all(self, title: str, plot: str, found: Turns) -> None:
        """Report again without the cases that some engine did not compile, if there are any."""
        done = {name: len(result.times.get("compile", [])) for name, result in found.every.items()}
        common = min(len(result.times.get("compile", [])) for result in found.shared.values())
        if set(done.values()) != {common} and common:
            self.report.say(table(f"{common} of {title}, those all compiled", found.shared))
            self.plot(f"{plot}-shared", "percentiles", found.shared)

    def say_lost(self, outcomes: Mapping[str, Outcome]) -> None:
        for name, outcome in outcomes.items():
            if outcome.status != OK:
                self.report.say(f"{name}: {outcome.status} after {len(outcome.value)} points")


def schemas(run: Run) -> None:
    setups = run.for_schemas()
    run.turns("schemas", setups, schema_case, run.schemas(), plot="schemas", rows=_SCHEMA_ROWS)


def tools(run: Run) -> None:
    for name in run.asked.formats.split(","):
        form = FORMATS[name]
        vocabulary = run.asked.vocabulary or form.vocabulary
        run.turns(
            f"tool sets, {form.name}, {vocabulary}",
            run.with_vocabulary(vocabulary),
            tool_case,
            run.tools(run.asked.sets),
            None,
            form,
            plot=f"tools-{form.name}",
            rows=_TOOL_ROWS,
        )


def families(run: Run) -> None:
    names = [name for name, wire in WIRE_FORMATS.items() if wire.name == name]
    found = of_families.measure(load(run.vocabulary), run.tools(run.asked.sets), names)
    run.report.say(of_families.table(found))


def large(run: Run) -> None:
    count = run.asked.tools
    cases = made.large_sets(run.tools(), count, LARGE_SETS)
    run.turns(
        f"sets of {count} tools",
        run.setups,
        tool_case,
        cases,
        plot="large",
        rows=_LARGE_ROWS,
        bounds=run.bounds.long(),
    )


def batches(run: Run) -> None:
    sizes = tuple(map(int, run.asked.rows.split(",")))
    need = batch.needed(sizes)
    with workers(run.setups, run.bounds) as runners:
        cases = agreed(runners, made.tool_cases(run.tools(need), need + need // 8))[:need]
    found, lost = {}, {}
    for threads in map(int, run.asked.threads.split(",")):
        with workers(run.setups, run.bounds.long()) as runners:
            for name, runner in runners.items():
                column = name if threads == 1 else f"{name}, {threads} threads"
                lost[column] = runner.run(batch.batches, cases, sizes, threads)
                found[column] = lost[column].value
                runner.close()
    run.report.say(batch.table(found))
    run.say_lost(lost)
    for size in sizes:
        of_size = {name: batch.median(found.get(name, []), "many", size) for name in run.engines}
        run.summary.add(f"a mask in a batch of {size}: p50", "us", of_size)
    run.plot("batch", "batches", found)


def forced(run: Run) -> None:
    """Bytes of true tool calls that the grammar forces."""
    with workers(run.setups, run.bounds) as runners:
        found = forcing.measure(runners, run.tools(run.asked.sets))
    run.report.say(forcing.table(found))
    run.report.say(forcing.example(found))
    if OURS in run.setups:
        _forced_tokens(run)


def _forced_tokens(run: Run) -> None:
    names = (run.asked.vocabulary,) if run.asked.vocabulary else tuple(NAMES)
    found = {}
    for name in names:
        with workers({OURS: Setup(OURS, name)}, run.bounds) as runners:
            for kind in forcing.KINDS:
                cases = run.tools(run.asked.sets)
                outcomes = [runners[OURS].run(forcing.tokens, case, kind) for case in cases]
                walks = [walk for each in outcomes if each.status == OK for walk in each.value]
                found[name, kind] = walks
    run.report.say(forcing.token_table(found))


def held(run: Run) -> None:
    """Memory: of tool sets, of schemas, beside what our engine counts, and of our own caches after
    many schemas.
    """
    sets = made.tool_cases(run.tools(), run.asked.held + 1)
    kinds = {"its first mask": False, "its whole answer": True}
    curves: dict[str, list[memory.Point]] = {}
    for kind, whole in kinds.items():
        title = f"{run.asked.held:,} tool sets live, each with {kind}"
        curves |= _held(run, title, kind, run.setups, sets, whole)
    run.plot("memory", "resident", curves)
    some, setups = run.schemas(), run.for_schemas()
    for kind, whole in kinds.items():
        _held(run, f"{len(some) - 1} schemas live, each with {kind}", kind, setups, some, whole)
    if OURS in run.setups:
        _counted(run)
    if run.asked.churn and OURS in run.setups:
        _churn(run)


def _counted(run: Run) -> None:
    found: dict[str, memory.Counted] = {}
    lost = {}
    for name in memory.FRONT_ENDS:
        with workers({OURS: run.setups[OURS]}, run.bounds.long()) as runners:
            lost[name] = runners[OURS].run(memory.counted, name, run.asked.held)
            for one in lost[name].value:
                found[name] = one
    run.report.say(memory.counted_table(found))
    run.say_lost(lost)


def _held(
    run: Run,
    title: str,
    kind: str,
    setups: Mapping[str, Setup],
    cases: Sequence[data.SchemaCase | data.ToolCase],
    whole: bool,
) -> dict[str, list[memory.Point]]:
    found, lost = {}, {}
    for name, setup in setups.items():
        with workers({name: setup}, run.bounds.long()) as runners:
            lost[name] = runners[name].run(memory.held, cases, whole)
            found[name] = lost[name].value
    run.report.say(memory.held_table(found, title))
    run.say_lost(lost)
    sums = {name: memory.grown(points) for name, points in found.items()}
    megabytes = {name: None if s is None else s / 2**20 for name, s in sums.items()}
    run.summary.add(title, "MB", megabytes)
    return {f"{name}, {kind}": points for name, points in found.items()}


def _churn(run: Run) -> None:
    with workers({OURS: run.setups[OURS]}, run.bounds.long()) as runners:
        outcome = runners[OURS].run(memory.churn, run.asked.churn)
    run.report.say(memory.churn_table(outcome.value))
    run.say_lost({OURS: outcome})
    run.plot("churn", "resident", {f"{OURS}, schemas dropped": outcome.value})


def grow(run: Run) -> None:
    for axis in run.asked.axes.split(","):
        points = growth.AXES[axis] if run.asked.fine else growth.AXES[axis][::2]
        points = tuple(at for at in points if at <= (run.asked.largest or at))
        if not points:
            run.report.say(f"{axis}: no points up to {run.asked.largest}")
            continue
        if axis == "vocabulary":
            found = growth.along_vocabularies(run.setups, run.bounds, points)
        else:
            with workers(run.setups, run.bounds) as runners:
                found = growth.along(runners, axis, points)
        run.report.say(growth.table(axis, found))
        run.plot(f"growth-{axis}", "growing", axis, found)


def ablate(run: Run) -> None:
    turns = ablation.measure(run.vocabulary, run.schemas(), run.bounds)
    run.report.say(ablation.table(turns))
    run.plot("ablation", "features", turns)


def maskdiff(run: Run) -> None:
    """Masks of all engines along the same texts, and verdicts on the differences."""
    calls = data.of_calls(run.tools(run.asked.sets or None))
    cases = {case.name: case for case in [*calls, *run.schemas()]}
    slow = {} if run.asked.every_engine else dict.fromkeys(SLOW_WITH_SCHEMAS, SLOW_EVERY)
    with ExitStack() as stack:
        folder = run.asked.out or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        records, judged = folder / "maskdiff-records.jsonl", folder / "maskdiff-verdicts.jsonl"
        with workers(run.setups, run.bounds) as runners:
            Recorder(runners, load(run.vocabulary), records, slow).run(cases.values())
        limits = {"jobs": run.asked.jobs, "most": run.asked.judged}
        judge_all(cases, records, judged, run.vocabulary, **limits)
        _say_maskdiff(run, records, judged)


def _say_maskdiff(run: Run, records: Path, judged: Path) -> None:
    every, shared = maskdiff_results.times(recorded(records), run.engines)
    title = f"{sum(1 for _ in recorded(records)):,} schemas"
    run.report.say(table(title, every))
    run.plot("maskdiff", "percentiles", every)
    if common := min(len(result.times.get("compile", [])) for result in shared.values()):
        run.report.say(table(f"{common:,} schemas that all compiled", shared))
        run.plot("maskdiff-shared", "percentiles", shared)
    run.report.say(maskdiff_results.masks(recorded(records), run.engines))
    run.report.say(maskdiff_results.verdicts(rows(recorded(judged)), run.engines))
    for name in run.engines:
        if told := maskdiff_results.errors(recorded(judged), name):
            run.report.say(f"### Proved errors of {name}\n\n{told}")
    run.summary.take(title, every, _SCHEMA_ROWS)


#: in the order in which they run
PARTS: dict[str, Callable[[Run], None]] = {
    "schemas": schemas,
    "tools": tools,
    "families": families,
    "large": large,
    "forced": forced,
    "batch": batches,
    "memory": held,
    "growth": grow,
    "ablation": ablate,
    "maskdiff": maskdiff,
}
#: parts that run by default
STANDARD = ("schemas", "tools", "large")
