"""python -m bench [part ...]: see README.md in this folder."""

import argparse
import importlib.util
import os
import platform
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from . import ablation, batch, data, growth, made, memory
from .engines import ENGINES
from .measure import Turns, agreed, schema_case, take_turns, tool_case
from .report import Report, table
from .vocabularies import NAMES, load
from .worker import OK, Bounds, Outcome, Setup, workers

BFCL = ".data/bfcl_eval/data"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    add("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}, all; else schemas and tools")
    add("--engines", default="ours", help="ours,xgrammar,llguidance")
    add("--vocabulary", default="llama3", help=f"{', '.join(NAMES)}, or sized@N for N tokens")
    add("--sample", type=int, default=100, help="cases of each kind")
    add("--maskbench", default=os.environ.get("SWITCHYARD_MASKBENCH"), help="folder")
    add("--half", type=int, choices=(0, 1), help="of MaskBench's files, every second one")
    add("--bfcl", default=os.environ.get("SWITCHYARD_BFCL", BFCL), help="folder")
    add("--limit", type=float, default=15.0, help="seconds for a case; ten times that for a batch")
    add("--memory", type=float, default=8.0, help="GB of address space for an engine")
    add("--rows", default="1,16,64,256", help="batch: sizes")
    add("--threads", default="1", help="batch: how many threads, such as 1,2")
    add("--held", type=int, default=1000, help="memory: grammars kept")
    add("--churn", type=int, default=10_000, help="memory: schemas compiled and dropped")
    add("--axes", default=",".join(growth.AXES), help="growth: which")
    add("--largest", type=int, help="growth: no points beyond")
    add("--fine", action="store_true", help="growth: twice as many points")
    add("--out", type=Path, help="folder for report.md and, where matplotlib is, PNG files")
    asked = parser.parse_args(given)
    for names, known in ((asked.parts, (*PARTS, "all")), (asked.engines.split(","), ENGINES)):
        if unknown := set(names) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}")
    if "sized@" not in asked.vocabulary and asked.vocabulary not in (*NAMES, "bytes"):
        parser.error(f"unknown: {asked.vocabulary}")
    return asked


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


class Run:
    """What was asked for, and where to say what was found."""

    def __init__(self, asked: argparse.Namespace, report: Report) -> None:
        self.asked, self.report = asked, report
        self.bounds = Bounds(asked.limit, int(asked.memory * 2**30))
        self.setups = {name: Setup(name, asked.vocabulary) for name in asked.engines.split(",")}

    def schemas(self) -> list[data.SchemaCase]:
        if not self.asked.maskbench:
            return data.builtin_schemas()[: self.asked.sample]
        return data.maskbench(Path(self.asked.maskbench), self.asked.sample, half=self.asked.half)

    def tools(self, sample: int) -> list[data.ToolCase]:
        folder = Path(self.asked.bfcl)
        return data.bfcl(folder, sample) if folder.is_dir() else data.builtin_tools()

    def plot(self, name: str, kind: str, *what: Any) -> None:
        if importlib.util.find_spec("matplotlib") is not None:
            from . import plots

            self.report.plot(name, getattr(plots, kind), *what)

    def turns(self, name: str, title: str, task: Callable[..., Any], cases: list[Any]) -> None:
        with workers(self.setups, self.bounds) as runners:
            found = take_turns(runners, task, cases)
        self.report.say(table(f"{len(cases)} {title}", found.every))
        self._of_all(name, title, found)
        self.plot(name, "percentiles", found.every)

    def _of_all(self, name: str, title: str, found: Turns) -> None:
        """Once more without the cases that some engine did not compile, if there were any."""
        done = {engine: len(result.times["first"]) for engine, result in found.every.items()}
        common = min(len(result.times["first"]) for result in found.shared.values())
        if set(done.values()) != {common} and common:
            self.report.say(table(f"{common} {title} that all compiled", found.shared))
            self.plot(f"{name}-shared", "percentiles", found.shared)


def _schemas(run: Run) -> None:
    run.turns("schemas", "schemas", schema_case, run.schemas())


def _tools(run: Run) -> None:
    run.turns("tools", "tool sets", tool_case, run.tools(run.asked.sample))


def _batch(run: Run) -> None:
    sizes = _numbers(run.asked.rows)
    need = batch.needed(sizes)
    with workers(run.setups, run.bounds) as runners:
        cases = made.tool_cases(run.tools(need), need + need // 8)
        cases = agreed(runners, cases)[:need]
    found, lost = {}, {}
    for threads in _numbers(run.asked.threads):
        with workers(run.setups, run.bounds.long()) as runners:
            for name, runner in runners.items():
                column = name if threads == 1 else f"{name}, {threads} threads"
                outcome = runner.run(batch.batches, cases, sizes, threads)
                found[column], lost[column] = outcome.value, outcome
    run.report.say(batch.table(found))
    _say_lost(run, lost)
    run.plot("batch", "batches", found)


def _say_lost(run: Run, outcomes: dict[str, Outcome]) -> None:
    for name, outcome in outcomes.items():
        if outcome.status != OK:
            run.report.say(f"{name}: {outcome.status} after {len(outcome.value)} points")


def _memory(run: Run) -> None:
    real = run.tools(10 * run.asked.held)
    cases = made.tool_cases(real, run.asked.held + 1)
    kinds = {"first mask": False, "whole answer": True}
    curves: dict[str, list[memory.Point]] = {}
    for kind, whole in kinds.items():
        found, lost = {}, {}
        for name, setup in run.setups.items():
            with workers({name: setup}, run.bounds.long()) as runners:
                lost[name] = runners[name].run(memory.held, cases, whole)
                found[name] = lost[name].value
        run.report.say(memory.held_table(found, f"live grammars, each with its {kind}"))
        _say_lost(run, lost)
        curves |= {f"{name}, {kind}": points for name, points in found.items()}
    run.plot("memory", "resident", curves)
    if run.asked.churn and "ours" in run.setups:
        _churn(run)


def _churn(run: Run) -> None:
    with workers({"ours": run.setups["ours"]}, run.bounds.long()) as runners:
        outcome = runners["ours"].run(memory.churn, run.asked.churn)
    run.report.say(memory.churn_table(outcome.value))
    _say_lost(run, {"ours": outcome})
    run.plot("churn", "resident", {"ours, schemas dropped": outcome.value})


def _growth(run: Run) -> None:
    for axis in run.asked.axes.split(","):
        points = growth.AXES[axis] if run.asked.fine else growth.AXES[axis][::2]
        points = tuple(at for at in points if at <= (run.asked.largest or at))
        if not points:
            continue
        if axis == "vocabulary":
            found = growth.along_vocabularies(run.setups, run.bounds, points)
        else:
            with workers(run.setups, run.bounds) as runners:
                found = growth.along(runners, axis, points)
        run.report.say(growth.table(axis, found))
        run.plot(f"growth-{axis}", "growing", axis, found)


def _ablation(run: Run) -> None:
    turns = ablation.measure(run.asked.vocabulary, run.schemas(), run.bounds)
    run.report.say(ablation.table(turns))


PARTS: dict[str, Callable[[Run], None]] = {
    "schemas": _schemas,
    "tools": _tools,
    "batch": _batch,
    "memory": _memory,
    "growth": _growth,
    "ablation": _ablation,
}


def _head(asked: argparse.Namespace) -> str:
    peers = [name for name in asked.engines.split(",") if name != "ours"]
    versions = "".join(f", {name} {metadata.version(name)}" for name in peers)
    size = len(load(asked.vocabulary).tokens)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    half = "" if asked.half is None else f", half {asked.half} of MaskBench"
    limits = f"{asked.limit:g} s for a case"
    return f"{machine}{versions}, {asked.vocabulary} ({size:,} tokens), {limits}{half}"


def main(given: list[str] | None = None) -> None:
    asked = arguments(given)
    report = Report(asked.out)
    parts = asked.parts or ["schemas", "tools"]
    report.say(_head(asked))
    for part in PARTS if "all" in parts else parts:
        report.say(f"## {part}")
        PARTS[part](Run(asked, report))
    report.close()


if __name__ == "__main__":
    main()
