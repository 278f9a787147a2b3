"""The main job on real input, whole.

    python -m tests.real_input [--cases 200] [--schemas FOLDER] [--seed 0] [--format NAME]
    python -m tests.real_input --url URL --model NAME

Starts a gateway with the noise worker (or takes the one at --url), sends BFCL's cases with
tool_choice required, once with additionalProperties false everywhere and once open, then schemas of
a MaskBench folder as response_format; prints a table, what is wrong, and leaves with 1 unless every
answer is right and fewer than 5% are cut off.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import reduce
from pathlib import Path

from .asking import MAX_TOKENS
from .bfcl import data_folder, read_cases
from .judging import Judge
from .maskbench import Selection
from .runs import Tallies, Tally, Target, run_calls, run_schemas, table
from .served import metric, served_gateway

#: what a gateway must never count
FAULTS = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    options = _options().parse_args(arguments)
    options.bfcl = options.bfcl or data_folder()
    if options.bfcl is None:
        print("no BFCL data: `make data` fetches them, --bfcl or SWITCHYARD_BFCL name them")
        return 2
    own = {"FORMAT": options.format}
    with nullcontext(options.url) if options.url else served_gateway(own) as url:
        target = Target(url, options.model, options.seed, options.max_tokens)
        right = [_report(name, tallies) for name, tallies in _groups(target, options)]
        faults = {name: metric(target.url, name) for name in FAULTS}
    print("".join(f"\n{name} {count:.0f}" for name, count in faults.items()))
    return 0 if all(right) and not any(faults.values()) else 1


def _groups(target: Target, options: argparse.Namespace) -> Iterator[tuple[str, Tallies]]:
    judge = Judge()
    for closed in (True, False):
        cases = read_cases(options.bfcl, options.cases, closed=closed, seed=options.seed)
        name = "closed" if closed else "open"
        yield f"tool calls, {name}", asyncio.run(run_calls(target, cases, judge))
    if options.schemas:
        found = Selection(options.schemas, options.number, judge.compiler, seed=options.seed)
        print(f"\n{len(found.taken)} schemas taken, {len(found.refused)} met and left out:")
        for case, reason in sorted(found.refused.items()):
            print(f"    {case}: {reason[:140]}")
        yield "response_format", asyncio.run(run_schemas(target, found.taken, judge))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.real_input")
    parser.add_argument("--cases", type=int, default=200, help="BFCL cases, each sent twice")
    parser.add_argument("--bfcl", type=Path, help="folder with BFCL_v4_*.json")
    parser.add_argument("--schemas", type=Path, help="folder of MaskBench files")
    parser.add_argument("--number", type=int, default=100, help="schemas that the engine takes")
    parser.add_argument("--seed", type=int, default=0, help="other cases, other draws")
    parser.add_argument("--format", default="auto", help="call syntax of the gateway it starts")
    parser.add_argument(
        "--url", help="a running gateway; default: starts one with the noise worker"
    )
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS, help="limit of an answer")
    parser.add_argument("--model", default="noise", help="the model's name there")
    return parser


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
