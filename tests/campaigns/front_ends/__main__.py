"""The campaign of all front ends.

    python -m tests.campaigns.front_ends [--random 20000] [--growth 400] [--seed 0] [--processes 2]
                                         [--only NAME] [--front-end lark]

Runs random inputs of every front end, and growth series of every construct (about ``--growth`` of
them if given), each with a real vocabulary and the gateway's limits. A finding is a step that takes
over a second of CPU time or 256 MB, a pause of other threads of over 50 ms, over 0.2 s after a
cancellation, memory that is still held a second later, or an error that is no refusal. Writes a
line of JSON for each case to ``--report``, prints a table of findings, and exits with 1 if there is
one. ``--only`` runs the cases of a name or of what names begin with: ``0:12``, ``lark: groups``.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from ..schemas.watched import Workers
from .child import VOCABULARY, serve
from .growth import growth_cases
from .languages import random_case
from .subjects import FRONT_ENDS, Case
from .trial import MEBIBYTE, Outcome, shown

#: wall seconds of one step on a busy machine, after which its process is ended
DEADLINE = 120.0


def chosen_cases(options: argparse.Namespace) -> Iterator[Case]:
    if options.only is not None:
        yield from only(options.only)
        return
    growing = list(growth_cases())
    if options.growth is not None:
        step = max(1, len(growing) // max(1, options.growth))
        growing = growing[::step] if options.growth else []
    randoms = (random_case(options.seed, options.first + n) for n in range(options.random))
    for case in chain(growing, randoms):
        if options.front_end in (None, case.front_end):
            yield case


def only(name: str) -> Iterator[Case]:
    seed, _, number = name.partition(":")
    if seed.isdigit() and number.isdigit():
        yield random_case(int(seed), int(number))
    else:
        yield from (case for case in growth_cases() if case.name.startswith(name))


class Tally:
    """The outcomes so far."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.cases: Counter[str] = Counter()
        self.findings: list[tuple[Case, str, str]] = []
        self.most: dict[str, tuple[float, str]] = {}

    def add(self, case: Case, outcome: Outcome) -> None:
        self.cases[case.front_end] += 1
        self.results[f"{case.front_end}: {outcome.result}"] += 1
        self.findings += [(case, category, detail) for category, detail in outcome.findings]
        for what in ("cpu", "pause", "peak"):
            value = (getattr(outcome, what, 0.0), case.name)
            self.most[what] = max(self.most.get(what, (0.0, "")), value)

    def table(self) -> str:
        lines = [
            f"{category:<7} {case.front_end} {case.name}\n{'':8}{detail}\n{'':8}{shown(case.value)}"
            for case, category, detail in sorted(self.findings, key=lambda each: each[1])
        ]
        lines += [f"{count:>7,} cases: {name}" for name, count in sorted(self.cases.items())]
        lines += [f"{count:>7,} {name}" for name, count in self.results.most_common(60)]
        cpu, pause, peak = (self.most.get(what, (0.0, "")) for what in ("cpu", "pause", "peak"))
        lines.append(
            f"most: {cpu[0]:.2f} s CPU ({cpu[1]}), pause {1000 * pause[0]:.0f} ms ({pause[1]}), "
            f"{peak[0] / MEBIBYTE:,.0f} MB ({peak[1]})"
        )
        found = Counter(category for _, category, _ in self.findings)
        lines.append(f"findings: {dict(found)}" if found else "no findings")
        return "\n".join(lines)


def line_of(case: Case, outcome: Outcome) -> str:
    made = {"case": case.name, "front_end": case.front_end, **vars(outcome)}
    if outcome.findings:
        made["input"] = shown(case.value)
    return json.dumps(made) + "\n"


def run(options: argparse.Namespace) -> Tally:
    tally, begin = Tally(), time.monotonic()
    options.report.parent.mkdir(parents=True, exist_ok=True)
    serves = partial(serve, vocabulary=options.vocabulary)
    with Workers(options.processes, serves) as workers, options.report.open("w") as report:
        for done, (case, outcome) in enumerate(
            workers.outcomes(chosen_cases(options), DEADLINE), 1
        ):
            tally.add(case, outcome)
            report.write(line_of(case, outcome))
            report.flush()
            for category, detail in outcome.findings:
                print(f"{category}, {case.name}: {detail}", flush=True)
            if done % 500 == 0:
                print(f"{done:,} cases, {time.monotonic() - begin:.0f} s", flush=True)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.front_ends")
    parser.add_argument("--random", type=int, default=20_000, help="random inputs")
    parser.add_argument("--growth", type=int, help="growing inputs; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first random input")
    parser.add_argument("--only", help="the name of a case, or how names begin")
    parser.add_argument("--front-end", choices=FRONT_ENDS)
    parser.add_argument("--vocabulary", default=VOCABULARY)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--report", type=Path, default=Path(".data/campaigns/front_ends.jsonl"))
    tally = run(parser.parse_args(arguments))
    print(tally.table())
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
