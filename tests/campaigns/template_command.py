"""The command line of campaigns that write prompts with the chat templates of real models."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from tests.app.conversation.chat_templates import FETCH, TEMPLATES

#: findings that are printed
MAX_SHOWN = 20


class Report(NamedTuple):
    """The counters of a campaign by name, and its findings."""

    counts: Mapping[str, int]
    findings: Sequence[str]


def main(
    name: str,
    about: str | None,
    *,
    unit: str,
    number: int,
    run: Callable[[int, int], Report],
    arguments: Sequence[str] | None = None,
) -> int:
    """Run a campaign, print its counts and findings, and return the exit status.

    ``unit``, ``number``: the option that says how much to do, and its default. ``run``: gets the
    number and the seed.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tests.campaigns.{name}", description=about)
    parser.add_argument(f"--{unit}", type=int, default=number, dest="number")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if not TEMPLATES:
        print(FETCH, file=sys.stderr)
        return 1
    report = run(given.number, given.seed)
    counts = {**report.counts, "findings": len(report.findings)}
    for cells in (counts.keys(), ["---:"] * len(counts), counts.values()):
        print(f"| {' | '.join(map(str, cells))} |")
    for found in report.findings[:MAX_SHOWN]:
        print(found, file=sys.stderr)
    return 1 if report.findings else 0
