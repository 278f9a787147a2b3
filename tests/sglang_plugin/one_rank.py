"""The decisions of one rank of several: compiles random and hostile grammars like the plug-in, in
threads and without masks computed ahead, walks through them, and prints a digest of every mask,
refusal and limit.
"""

import hashlib
import json
import random
import sys
from concurrent.futures import Future
from typing import Any

import numpy as np

from adapters.sglang_plugin.compiling import Compilations
from adapters.sglang_plugin.grammar_specs import GrammarSpec
from adapters.sglang_plugin.settings import Settings
from engine import Compiled, Compiler, Limits, Matcher, Namespaces
from tests.conformance.schemas import SchemaMaker
from tests.engine.frontends.random_schemas import byte_vocabulary

GRAMMARS, STEPS = 60, 300
#: of a rank among others
RANK = Settings(prefill_most_ms=0, masks_ahead=False)
#: so small that random grammars meet them
LIMITS = Limits(rows=150, pattern_states=60, ir_nodes=3_000)


def main() -> dict[str, Any]:
    compilations = Compilations(Namespaces.one(Compiler(byte_vocabulary(), limits=LIMITS)), RANK)
    digest, told = hashlib.sha256(), {"compiled": 0, "refused": 0, "steps": 0, "stopped": 0}
    for number in range(GRAMMARS):
        made = _compiled(compilations, number)
        if isinstance(made, Compiled):
            told["compiled"] += 1
            _walk(made, number, digest, told)
        else:
            told["refused"] += 1
            digest.update(f"{type(made).__name__}: {made}".encode())
    return {**told, "digest": digest.hexdigest()}


def _compiled(compilations: Compilations, number: int) -> Any:
    schema = SchemaMaker(random.Random(number)).schema(3)
    wanted = GrammarSpec("json", json.dumps(schema))
    if number % 4 == 0:
        # a row for each level, which ends seldom
        wanted = GrammarSpec("ebnf", f'root ::= [ -y] root "z" | "{{" "{number}"')
    future: Future[Any] = compilations.start(wanted, prompt_tokens=500, deliver=lambda made: made)
    return future.result(300)


def _walk(compiled: Compiled, seed: int, digest: Any, told: dict[str, int]) -> None:
    rng, matcher = random.Random(seed), Matcher(compiled)
    mask = np.zeros((1, compiled.vocabulary.words), np.int32)
    for _ in range(STEPS):
        try:
            matcher.fill_bitmask(mask)
            digest.update(mask.tobytes())
            told["steps"] += 1
            allowed = np.unpackbits(mask.view(np.uint8), bitorder="little").nonzero()[0]
            if not len(allowed) or not matcher.accept_token(int(rng.choice(allowed))):
                return
        except Exception as error:  # a limit: which one, and where, is a decision too
            digest.update(str(error).encode())
            told["stopped"] += 1
            return
        if matcher.is_terminated():
            return


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
