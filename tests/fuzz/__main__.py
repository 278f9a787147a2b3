"""A fuzz campaign against the engine: random specs, random walks, and every answer asked twice.

    python -m tests.fuzz [--seconds 600] [--seed 0] [--only SEED] [--share 0.2] [--real llama3]

Each spec has a seed of its own; a finding names it, and ``--only`` does it again. A share of the
specs is walked with a real vocabulary. Prints what was found, and leaves with 1 if there is any.
"""

import argparse
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from random import Random

import engine
from tests.vocabularies import REAL_NAMES, real_vocabulary, small_vocabulary

from .checks import check_case
from .specs import SpecMaker

#: findings after which a campaign gives up: more of them are mostly the same
ENOUGH = 20
#: specs that one compiler meets, so that later ones meet what earlier ones left in its caches
SPECS_OF_ONE_COMPILER = 200


class Campaign:
    """Seeds, one after the other, and what came of them."""

    def __init__(self, real: str, share: float) -> None:
        self.real, self.share = real, share
        self.counts: Counter[str] = Counter()
        self.findings: list[tuple[int, str]] = []
        self._compilers: dict[str, engine.Compiler] = {}

    def run(self, seed: int) -> None:
        """One spec. Every way out but a refusal by name is a finding."""
        rng = Random(seed)
        small = rng.random() >= self.share
        case = SpecMaker(rng).case(f"fuzz-{seed}")
        self.counts["specs"] += 1
        try:
            places, tokens = check_case(self._compiler(small), case, rng, small=small)
        except (engine.SpecError, engine.LimitExceeded) as error:
            self.counts[f"refused: {type(error).__name__}"] += 1
            return
        except Exception:
            spec = json.dumps(case.spec, ensure_ascii=False)
            vocabulary = "small" if small else self.real
            text = f"seed {seed} ({vocabulary}) {case.kind} {spec}"
            text += f"\n{traceback.format_exc(limit=-3)}"
            self.findings.append((seed, text))
            print(text, flush=True)
            return
        self.counts["places"] += places
        self.counts["tokens"] += tokens
        self.counts[case.kind] += 1

    def _compiler(self, small: bool) -> engine.Compiler:
        name = "small" if small else self.real
        if self.counts["specs"] % SPECS_OF_ONE_COMPILER == 0:
            self._compilers.pop(name, None)
        if name not in self._compilers:
            vocabulary = small_vocabulary() if small else real_vocabulary(name)
            self._compilers[name] = engine.Compiler(vocabulary)
        return self._compilers[name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=600, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--only", type=int, help="this seed alone")
    parser.add_argument("--share", type=float, default=0.15, help="specs with a real vocabulary")
    parser.add_argument("--real", choices=REAL_NAMES, default="llama3")
    options = parser.parse_args(arguments)
    campaign = Campaign(options.real, options.share)
    if options.only is not None:
        campaign.run(options.only)
    else:
        seed, end = options.seed, time.monotonic() + options.seconds
        while time.monotonic() < end and len(campaign.findings) < ENOUGH:
            campaign.run(seed)
            seed += 1
    print(", ".join(f"{name} {count:,}" for name, count in campaign.counts.most_common()))
    print(f"{len(campaign.findings)} findings", [seed for seed, _ in campaign.findings])
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main())
