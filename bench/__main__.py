"""python -m bench [part ...]: see README.md in this folder."""

import argparse
import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from time import perf_counter

from . import growth
from .engines import ENGINES
from .formats import FORMATS
from .parts import LARGE_SETS, PARTS, STANDARD, VOCABULARY, Run
from .report import OURS, Report
from .vocabularies import NAMES

BFCL = ".data/bfcl_eval/data"


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    add = parser.add_argument
    known = f"{', '.join(PARTS)}, all; else {', '.join(STANDARD)}"
    add("parts", nargs="*", metavar="part", help=known)
    add("--engines", default=OURS, help="ours,xgrammar,llguidance")
    add("--every-engine", action="store_true", help="schemas with those that take seconds for many")
    add("--vocabulary", help=f"{', '.join(NAMES)}, or sized@N; else {VOCABULARY}, tools their own")
    add("--maskbench", default=os.environ.get("SWITCHYARD_MASKBENCH"), help="folder")
    add("--half", type=int, choices=(0, 1), help="of MaskBench's files, every second one")
    add(
        "--schemas",
        type=int,
        default=150,
        help="schemas, memory, ablation, maskdiff: how many; 0: all",
    )
    add("--bfcl", default=os.environ.get("SWITCHYARD_BFCL", BFCL), help="folder")
    add("--sets", type=int, default=40, help="tools: sets of each format; forced, maskdiff; 0: all")
    add("--formats", default=",".join(FORMATS), help="tools: which")
    add("--tools", type=int, default=400, help=f"large: tools in each of {LARGE_SETS} sets")
    add("--rows", default="1,16,64,256", help="batch: sizes")
    add("--threads", default="1", help="batch: how many threads, such as 1,2")
    add("--held", type=int, default=1000, help="memory: tool sets kept")
    add("--churn", type=int, default=100_000, help="memory: schemas compiled and dropped; 0: none")
    add("--axes", default=",".join(growth.AXES), help="growth: which")
    add("--largest", type=int, help="growth: no points beyond")
    add("--fine", action="store_true", help="growth: twice as many points")
    add("--limit", type=float, default=15.0, help="seconds for a case; ten times that for a batch")
    add("--memory", type=float, default=8.0, help="GB of address space for an engine")
    add("--jobs", type=int, default=os.cpu_count(), help="maskdiff: processes that judge")
    add("--judged", type=int, default=0, help="maskdiff: tokens judged of a case; 0: all sampled")
    add("--out", type=Path, help="folder for report.md and, where matplotlib is, PNG files")
    asked = parser.parse_args(given)
    _check(parser, asked)
    return asked


def _check(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> None:
    named = {
        "part": (asked.parts, (*PARTS, "all")),
        "engine": (asked.engines.split(","), ENGINES),
        "format": (asked.formats.split(","), FORMATS),
        "axis": (asked.axes.split(","), growth.AXES),
    }
    for kind, (names, known) in named.items():
        if unknown := set(names) - set(known):
            parser.error(f"no such {kind}: {', '.join(sorted(unknown))}")
    size = (asked.vocabulary or "").removeprefix("sized@")
    if asked.vocabulary and not size.isdigit() and size not in (*NAMES, "bytes"):
        parser.error(f"no such vocabulary: {asked.vocabulary}")


def _head(asked: argparse.Namespace, given: list[str]) -> str:
    peers = [name for name in asked.engines.split(",") if name != OURS]
    versions = "".join(f", {name} {metadata.version(name)}" for name in peers)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    vocabulary = asked.vocabulary or f"{VOCABULARY} where a format has no other"
    schemas = "MaskBench" if asked.maskbench else "built in"
    tools = "BFCL" if Path(asked.bfcl).is_dir() else "built in"
    half = "" if asked.half is None or not asked.maskbench else f", half {asked.half}"
    return (
        f"`python -m bench {' '.join(given)}`\n\n"
        f"{machine}{versions}; {vocabulary}; schemas: {schemas}{half}; tool sets: {tools}; "
        f"one thread, {asked.limit:g} s for a case"
    )


def main(given: list[str] | None = None) -> None:
    given = sys.argv[1:] if given is None else given
    asked = arguments(given)
    report = Report(asked.out)
    run = Run(asked, report)
    report.say(_head(asked, given))
    for part in PARTS if "all" in asked.parts else asked.parts or STANDARD:
        start = perf_counter()
        report.say(f"## {part}")
        PARTS[part](run)
        report.say(f"({part}: {perf_counter() - start:,.0f} s)")
    if summary := run.summary.table():
        report.say("## summary")
        report.say(summary)
    report.close()


if __name__ == "__main__":
    main()
