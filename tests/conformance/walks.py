"""A campaign of random walks: drawn schemas, and every text and value judged by the oracle.

    python -m tests.conformance.walks [--walks 10000] [--seed 0] [--only SEED]

Each schema has a seed of its own; a finding names it, and ``--only`` does it again. Prints what was
found, and leaves with 1 if there is any.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from random import Random

import engine

from .checks import Wrong, check_schema
from .mutants import check_mutants
from .schemas import SchemaMaker
from .walking import vocabulary

DRAFTS = (2020, 2020, 2020, 2019, 7, 6, 4)
#: findings after which a campaign gives up: more of them are mostly the same
ENOUGH = 20
#: schemas that one compiler meets, so that later ones meet what earlier ones left in its caches
SCHEMAS_OF_ONE_COMPILER = 200
#: schemas of which every keyword is left out, too
MUTATED = 0.1


class Campaign:
    """Seeds, one after the other, and what came of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.findings: list[tuple[int, str]] = []

    def run(self, seed: int) -> None:
        """Walk one schema. A disagreement of engine and oracle is a finding."""
        rng = Random(seed)
        schema = SchemaMaker(rng, rng.choice(DRAFTS), rng.choice((1, 2, 2, 3))).document()
        if self.counts["schemas"] % SCHEMAS_OF_ONE_COMPILER == 0:
            self.compiler = engine.Compiler(vocabulary())
        self.counts["schemas"] += 1
        try:
            self.counts += check_schema(self.compiler, schema, rng)
            if rng.random() < MUTATED:
                self.counts += check_mutants(self.compiler, schema, rng)
        except Wrong as wrong:
            text = f"seed {seed}: {wrong}"
            self.findings.append((seed, text))
            print(text, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.walks")
    parser.add_argument("--walks", type=int, default=10_000, help="how many that end")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", type=int, help="this seed alone")
    options = parser.parse_args(arguments)
    campaign, seed = Campaign(), options.seed
    if options.only is not None:
        campaign.run(options.only)
    else:
        while campaign.counts["walks"] < options.walks and len(campaign.findings) < ENOUGH:
            campaign.run(seed)
            seed += 1
    print(", ".join(f"{name} {count:,}" for name, count in campaign.counts.most_common()))
    print(f"{len(campaign.findings)} findings", [seed for seed, _ in campaign.findings])
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
