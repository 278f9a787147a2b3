"""Every fault while requests come, as a table.

    python -m tests.campaigns.workers [--requests 1000] [--fault NAME]...

Exits with 1 if a client noticed what no client may notice.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import Outcome, world
from .faults import FAULTS


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.workers", description=__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="while a fault lasts")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="this one; all without")
    options = parser.parse_args(arguments)
    print(
        "| fault | requests | failed | wrong | attempts at the bad worker | ejected in | back in |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    complaints = []
    with world() as both:
        for name in options.fault or FAULTS:
            outcome = both.run(FAULTS[name], options.requests)
            print(_row(outcome), flush=True)
            complaints += outcome.complaints
            for text in outcome.complaints:
                print(f"{name}: {text}", file=sys.stderr, flush=True)
    return 1 if complaints else 0


def _row(one: Outcome) -> str:
    counts = (one.requests, len(one.failures), len(one.wrong), one.attempts)
    times = (one.seconds_to_eject, one.seconds_to_recover)
    shown = [*map(str, counts), *("never" if t is None else f"{t:.2f} s" for t in times)]
    return f"| {one.fault.name} | {' | '.join(shown)} |"


if __name__ == "__main__":
    sys.exit(main())
