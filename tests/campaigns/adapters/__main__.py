"""Requests while workers lose, load and refuse adapters, and restart, as a table.

    python -m tests.campaigns.adapters [--requests 1000] [--seed 1]

Exits with 1 if an answer was of another adapter, or a request failed.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import world


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.adapters", description=__doc__)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with world() as made:
        report = made.run(options.requests, options.seed)
    print("| requests | wrong | failed | attempts without the adapter | answers | changes |")
    print("|---:|---:|---:|---:|---|---|")
    shown = (
        report.requests,
        len(report.wrong),
        len(report.failures),
        report.lost,
        *(
            ", ".join(f"{k} {n}" for k, n in each.items())
            for each in (report.answers, report.changes)
        ),
    )
    print(f"| {' | '.join(map(str, shown))} |")
    for text in (*report.wrong, *report.failures):
        print(text, file=sys.stderr)
    return 1 if report.wrong or report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
