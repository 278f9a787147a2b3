"""Every scenario while requests come, as a table.

    python -m tests.campaigns.ranks [--requests 1000] [--scenario NAME]...

Exits with 1 if a request failed, or was answered wrong.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import CHANGES, SCENARIOS, world


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.ranks", description=__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="while a scenario lasts")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="all without")
    options = parser.parse_args(arguments)
    if options.requests < CHANGES:
        parser.error(f"--requests must be at least {CHANGES}")
    print("| scenario | requests | failed | wrong | named a rank | that had gone |")
    print("|---|---:|---:|---:|---:|---:|")
    has_complaints = False
    with world() as made:
        for name in options.scenario or SCENARIOS:
            one = made.run(name, options.requests)
            counts = (one.requests, len(one.failures), len(one.wrong), one.named, one.gone)
            print(f"| {name} | {' | '.join(map(str, counts))} |", flush=True)
            for text in one.complaints:
                has_complaints = True
                print(f"{name}: {text}", file=sys.stderr, flush=True)
    return int(has_complaints)


if __name__ == "__main__":
    sys.exit(main())
