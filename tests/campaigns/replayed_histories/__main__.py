"""Histories as agents send them back, in three APIs: with messages between calls and results, with
results that are missing, repeated or shuffled, with cut arguments, null content, unknown fields and
long ids, with items and parts that are dropped, doubled, reordered or cut.

    python -m tests.campaigns.replayed_histories --records FOLDER

Exits with 1 if a history is refused: an agent sends its whole history with each request, so one
refusal ends its session.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.app.conversation.chat_templates import TEMPLATES
from tests.campaigns.replayed_histories.campaign import (
    FORMATS,
    Findings,
    cases,
    through_gateways,
    through_templates,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.replayed_histories", description=__doc__
    )
    parser.add_argument("--histories", type=int, default=500, help="of each API")
    parser.add_argument("--records", type=Path, help="a folder of recorded requests")
    parser.add_argument("--formats", nargs="*", default=list(FORMATS))
    parser.add_argument("--templates", nargs="*", default=TEMPLATES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    some = list(cases(options.histories, options.seed, options.records))
    found = 0
    for what, run, names in (
        ("gateways of several formats", through_gateways, options.formats),
        ("chat templates", through_templates, options.templates),
    ):
        findings, start = Findings(), time.monotonic()
        run(some, names, findings)
        show(what, findings, time.monotonic() - start)
        found += findings.refused.total() + findings.errors.total()
    return 1 if found else 0


def show(what: str, found: Findings, seconds: float) -> None:
    """Print the counts by kind, and an example of each refusal."""
    print(f"\n{what}: {found.sent.total()} histories in {seconds:.0f} s", end="")
    print(f", the slowest answer {found.slowest:.2f} s\n" if found.slowest else "\n")
    print("| change | sent | unseen | refused | 500 |\n|---|---:|---:|---:|---:|")
    for kind, number in found.sent.items():
        counts = (number, found.unseen[kind], found.refused[kind], found.errors[kind])
        print(f"| {kind} | {' | '.join(map(str, counts))} |")
    for (kind, where), text in sorted(found.texts.items()):
        print(f"{kind}, {where}: {text}")


if __name__ == "__main__":
    sys.exit(main())
