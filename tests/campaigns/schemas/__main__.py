"""The campaign of random compositions, and of ordinary schemas with `uniqueItems`.

    python -m tests.campaigns.schemas [--schemas 100000] [--seed 0] [--jobs 2] [--only NAME]

Each schema is compiled (at most a second, or a refusal by name), walked, and asked about instances:
see cases.py. `--only` runs one case again by its name, `0:12` or `unique: roles`. A share of the
schemas is walked with the vocabulary of Llama 3. Writes one line of JSON per case to `--report`,
shrinks what it finds, prints a summary, and leaves with 1 if anything was found.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, TextIO

from .cases import Case, Outcome
from .compositions import composition
from .shrink import shrunk
from .unique_items import UNIQUE_SCHEMAS
from .watched import Workers

#: walks through each of the ordinary schemas
UNIQUE_WALKS = 30
#: share of the compositions that are walked with the real vocabulary
REAL_SHARE = 0.03


def unique_cases() -> Iterator[Case]:
    for name, schema in UNIQUE_SCHEMAS.items():
        yield Case(f"unique: {name}", schema, walks=UNIQUE_WALKS)


def composed_case(seed: int, number: int, walks: int = 10, real_share: float = REAL_SHARE) -> Case:
    name = f"{seed}:{number}"
    is_real = Random(f"vocabulary {name}").random() < real_share
    vocabulary = "llama3" if is_real else "small"
    return Case(name, composition(seed, number), vocabulary, walks)


def chosen_cases(options: argparse.Namespace) -> Iterator[Case]:
    """All cases, or the one that `--only` names."""
    walks, share = options.walks, options.real_share
    if options.only is None:
        yield from unique_cases()
        for number in range(options.first, options.first + options.schemas):
            yield composed_case(options.seed, number, walks, share)
    elif options.only in (names := {case.name: case for case in unique_cases()}):
        yield names[options.only]
    else:
        seed, _, number = options.only.rpartition(":")
        yield composed_case(int(seed or options.seed), int(number), walks, share)


class Tally:
    """The results of the cases so far."""

    def __init__(self) -> None:
        self.results: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.findings: dict[str, list[tuple[Case, str]]] = defaultdict(list)
        self.endless: list[str] = []
        self.slowest: dict[str, tuple[float, str]] = {}

    def add(self, case: Case, outcome: Outcome) -> None:
        self.results[outcome.result] += 1
        self.counts += outcome.counts
        for category in {category for category, _ in outcome.findings}:
            words = next(words for found, words in outcome.findings if found == category)
            self.findings[category].append((case, words))
        if outcome.counts["schemas of which no walk finished"]:
            self.endless.append(case.name)
        for what, seconds in (
            ("slowest compile", outcome.compile_seconds),
            (f"slowest mask, {case.vocabulary}", outcome.slowest_mask),
        ):
            self.slowest[what] = max(self.slowest.get(what, (0.0, "")), (seconds, case.name))

    def summary(self) -> str:
        lines = [f"{count:>9,}  schemas: {result}" for result, count in self.results.most_common()]
        lines += [f"{count:>9,}  {what}" for what, count in sorted(self.counts.items())]
        if self.endless:
            lines.append(f"{'':9}  no walk finished in cases {', '.join(self.endless[:20])}")
        lines += [
            f"{1000 * seconds:>9,.1f}  ms, {what} (case {name})"
            for what, (seconds, name) in self.slowest.items()
        ]
        lines += [
            f"{len(found):>9,}  FINDINGS: {category} (cases"
            f" {', '.join(case.name for case, _ in found[:8])})"
            for category, found in self.findings.items()
        ]
        return "\n".join(lines or ["nothing ran"]) + ("" if self.findings else "\nno findings")


def line_of(case: Case, outcome: Outcome) -> str:
    """Return a line of the report. A case's name reproduces its schema; findings show it."""
    made: dict[str, Any] = {
        "case": case.name,
        "vocabulary": case.vocabulary,
        "result": outcome.result,
        "compile_ms": round(1000 * outcome.compile_seconds, 2),
        "slowest_mask_ms": round(1000 * outcome.slowest_mask, 2),
        **outcome.counts,
    }
    if outcome.findings:
        made |= {"findings": outcome.findings, "schema": case.schema}
    return json.dumps(made) + "\n"


def shrink_findings(workers: Workers, tally: Tally, report: TextIO, most: int) -> None:
    """Prints the smallest schemas: of each category so many, one for each set of keywords."""
    for category, found in tally.findings.items():
        seen = set()
        for case, words in sorted(found, key=lambda each: len(str(each[0].schema)))[:most]:
            small, said = shrunk(workers, case, category) or (case, f"(did not recur) {words}")
            schema = json.dumps(small.schema, ensure_ascii=False)
            if schema in seen:
                continue
            seen.add(schema)
            print(f"{category}, case {case.name}: {said[:300]}\n    {schema}", flush=True)
            report.write(json.dumps({"shrunk": case.name, "category": category, "schema": schema}))
            report.write("\n")


def run(options: argparse.Namespace) -> Tally:
    tally, begin = Tally(), time.monotonic()
    options.report.parent.mkdir(parents=True, exist_ok=True)
    with Workers(options.jobs) as workers, options.report.open("w") as report:
        for done, (case, outcome) in enumerate(workers.outcomes(chosen_cases(options)), 1):
            tally.add(case, outcome)
            report.write(line_of(case, outcome))
            if outcome.findings:
                report.flush()
            if done % 1000 == 0:
                found = {category: len(each) for category, each in tally.findings.items()}
                print(f"{done:,} cases, {time.monotonic() - begin:.0f} s, {found}", flush=True)
        shrink_findings(workers, tally, report, options.shrink)
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.schemas")
    parser.add_argument("--schemas", type=int, default=100_000, help="random compositions")
    parser.add_argument("--seed", type=int, default=0, help="names the compositions")
    parser.add_argument("--first", type=int, default=0, help="number of the first of them")
    parser.add_argument("--only", help="the name of one case")
    parser.add_argument("--walks", type=int, default=10, help="through each composition")
    parser.add_argument("--real-share", type=float, default=REAL_SHARE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--shrink", type=int, default=5, help="findings of a category to shrink")
    parser.add_argument("--report", type=Path, default=Path(".data/campaigns/schemas.jsonl"))
    tally = run(parser.parse_args(arguments))
    print(tally.summary())
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
