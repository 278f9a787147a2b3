"""Conversations over two replicas while their Redis is killed and started again.

    python -m tests.campaigns.chains [--chains 1000] [--rounds 3] [--seed 0]

Prints the outcomes of the turns. Exits with 1 if an answer is wrong, if a conversation is lost
without a kill, if a lost one gets another error than previous_response_not_found, or if there is an
internal error.
"""

import argparse
import sys
from collections.abc import Sequence

from .campaign import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns.chains", description=__doc__)
    parser.add_argument("--chains", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    watch = run(given.chains, given.rounds, given.seed)
    print("| chains | kills | answered turns | unavailable | lost | unstored | wrong |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    counts = (watch.kills, watch.turns, watch.unavailable, watch.lost, watch.unstored)
    print(f"| {given.chains} | {' | '.join(map(str, counts))} | {len(watch.wrong)} |")
    for text in watch.wrong[:20]:
        print(text, file=sys.stderr)
    return 1 if watch.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
