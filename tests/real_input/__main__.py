"""The main job on real input, whole.

    python -m tests.real_input [--cases 200] [--schemas FOLDER] [--format NAME | --url URL --model NAME]

Starts a gateway with the noise worker (or takes the one at --url), sends BFCL's cases with
tool_choice required, once with additionalProperties false everywhere and once open, then schemas of
a MaskBench folder as response_format; prints a table, what is wrong, and leaves with 1 unless every
answer is right and fewer than 5% are cut off.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from functools import reduce
from pathlib import Path

from .bfcl import data_folder, read_cases
from .judging import Judge
from .maskbench import Selection
from .runs import Tallies, Tally, run_calls, run_schemas, table
from .served import ServedGateway, metric

#: what a gateway must never count
FAULTS = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    options = _options().parse_args(arguments)
    folder = options.bfcl or data_folder()
    if folder is None:
        print("no BFCL data: `make data` fetches them, --bfcl or SWITCHYARD_BFCL name them")
        return 2
    judge = Judge()
    with nullcontext() if options.url else ServedGateway({"FORMAT": options.format}) as gateway:
        url = options.url or gateway.url
        groups = {}
        for closed in (True, False):
            cases = read_cases(folder, options.cases, closed=closed)
            name = "closed" if closed else "open"
            groups[name] = asyncio.run(run_calls(url, options.model, cases, judge))
        if options.schemas:
            groups["schemas"] = _run_schemas(url, options, judge)
        faults = {name: metric(url, name) for name in FAULTS}
    right = [_report(name, tallies) for name, tallies in groups.items()]
    print("".join(f"\n{name} {count:.0f}" for name, count in faults.items()))
    return 0 if all(right) and not any(faults.values()) else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.real_input")
    parser.add_argument("--cases", type=int, default=200, help="BFCL cases, each sent twice")
    parser.add_argument("--bfcl", type=Path, help="folder with BFCL_v4_*.json")
    parser.add_argument("--schemas", type=Path, help="folder of MaskBench files")
    parser.add_argument("--number", type=int, default=100, help="schemas that the engine takes")
    parser.add_argument("--format", default="auto", help="call syntax of the gateway it starts")
    parser.add_argument("--url", help="a running gateway; default: starts one with the noise worker")
    parser.add_argument("--model", default="noise", help="the model's name there")
    return parser


def _run_schemas(url: str, options: argparse.Namespace, judge: Judge) -> Tallies:
    selection = Selection(options.schemas, options.number, judge.compiler)
    print(f"{len(selection.taken)} schemas taken, {len(selection.refused)} met and left out:")
    for case, reason in sorted(selection.refused.items()):
        print(f"    {case}: {reason[:140]}")
    return asyncio.run(run_schemas(url, options.model, selection.taken, judge))


def _report(name: str, tallies: Tallies) -> bool:
    everything = reduce(Tally.plus, tallies.values())
    print(f"\n{name}")
    print(*table(tallies if len(tallies) == 1 else {**tallies, "all": everything}), sep="\n")
    for case, wrong in everything.wrong.items():
        print(f"    {case}: {'; '.join(wrong)[:600]}")
    print("passes" if everything.passes else "FAILS")
    return everything.passes


if __name__ == "__main__":
    sys.exit(main())
