"""Every fault while many requests come, as a table.

    python -m tests.faults [--requests 1000] [--fault NAME]...

Leaves with 1 if a client got an error, an answer was wrong, a fault was not met, the gateway took
too much memory, or the log was not followed again.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import Outcome, run, yardstick
from .faults import FAULTS

#: counters that are shown, of the time of the fault
SHOWN = ("read", "missing", "invalid", "written", "refused", "failures")


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="while the fault lasts")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="this one; all without")
    options = parser.parse_args(arguments)
    right = yardstick(options.requests)
    print(f"{len(right.answers)} right answers, {len(right.during)} entries of another replica")
    head = ("requests", "errors", "wrong", *SHOWN, "peak MB", "back in")
    print(f"| fault | {' | '.join(head)} |")
    print("|---|" + "---:|" * len(head))
    outcomes = []
    for name in options.fault or FAULTS:
        outcomes.append(run(name, options.requests, right))
        print(_row(outcomes[-1]), flush=True)
    complaints = [(one.name, text) for one in outcomes for text in one.complaints]
    for name, text in complaints:
        print(f"{name}: {text}")
    return 1 if complaints else 0


def _row(one: Outcome) -> str:
    counts = (one.requests, one.errors, one.wrong, *(one.rise[name] for name in SHOWN))
    shown = " | ".join(map(str, (one.name, *counts, one.peak_bytes >> 20)))
    return f"| {shown} | {one.seconds_to_come_back:.1f} s |"


if __name__ == "__main__":
    sys.exit(main())
