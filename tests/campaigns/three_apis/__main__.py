"""Random requests in the words of chat completions, responses and messages, streamed or not.

    python -m tests.campaigns.three_apis [--requests 1000] [--seed 0]

Exits with 1 if the worker gets another prompt, grammar or sampling from one of the APIs, or if a
client gets another text, reasoning, call, reason of the end, or number of tokens.
"""

import argparse
import sys
from collections.abc import Sequence

from tests.campaigns.three_apis.campaign import FORMATS, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.campaigns.three_apis", description=__doc__
    )
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--formats", nargs="*", default=FORMATS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found = run(options.requests, options.seed, tuple(options.formats))
    counts = {**found.counts, "differences": len(found.texts)}
    for cells in (counts.keys(), ["---:"] * len(counts), counts.values()):
        print(f"| {' | '.join(map(str, cells))} |")
    for text in found.texts[:20]:
        print(text, file=sys.stderr)
    return 1 if found.texts or found.counts["internal errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
