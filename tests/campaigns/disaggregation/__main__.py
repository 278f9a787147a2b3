"""Every fault of every half while requests come, as a table.

    python -m tests.campaigns.disaggregation [--requests 1000] [--fault NAME]...

``--requests``: of all faults together. Exits with 1 if a client noticed what no client may notice.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import complaints_of, pairs
from .faults import FAULTS


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.disaggregation", description=__doc__
    )
    parser.add_argument("--requests", type=int, default=1000, help="of all faults together")
    parser.add_argument("--fault", action="append", help="those of this name; all without")
    options = parser.parse_args(arguments)
    chosen = [key for key in FAULTS if not options.fault or key[1] in options.fault]
    each = max(1, -(-options.requests // len(chosen)))
    print("| half | fault | requests | failed | wrong | attempts | back in |")
    print("|---|---|---:|---:|---:|---:|---:|")
    is_bad, counts = False, [0, 0, 0]
    with pairs() as world:
        for half, name in chosen:
            outcome = world.run_at(half, FAULTS[half, name], each)
            back = outcome.seconds_to_recover
            shown = "never" if back is None else f"{back:.2f} s"
            numbers = (outcome.requests, len(outcome.failures), len(outcome.wrong))
            counts = [total + number for total, number in zip(counts, numbers, strict=True)]
            row = " | ".join(map(str, [*numbers, outcome.attempts]))
            print(f"| {half} | {name} | {row} | {shown} |", flush=True)
            complaints = complaints_of(outcome)
            is_bad |= bool(complaints)
            for text in complaints:
                print(f"{half}, {name}: {text}", file=sys.stderr, flush=True)
    print("| all | | {} | {} | {} | | |".format(*counts))
    return 1 if is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
