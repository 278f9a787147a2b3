"""Tokens that a tokenizer writes for valid texts: no mask leaves one out.

    python -m tests.campaigns.own_tokens [--walks 3000] [--seed 0]

Each walk takes a true call of a tool set, or a valid instance of MaskBench where it is there, in a
layout of JSON and a vocabulary. It writes the text in the tokenizer's own tokens. Every mask on the
way must have the next token and the forced one, and must be that of brute force without detours
(tests/engine/masks/detours) at a few places. Exits with 1 on a finding.
"""

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import engine
from bench.data import maskbench
from bench.forced import call_schema
from bench.made import tool_case
from bench.vocabularies import NAMES, load
from engine.vocabulary.detour_table import detour_entries
from tests.campaigns.template_command import Report, main
from tests.engine.harness import new_mask
from tests.engine.masks.detours import accepted, allowed, detours

MASKBENCH = Path(__file__).parents[3] / "shared" / "data" / "maskbench"
#: layouts of JSON, as arguments of json.dumps; None: any white space
LAYOUTS: dict[str, dict[str, Any]] = {
    "python": {"separators": (", ", ": ")},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
    "flexible": {},
}
#: of the places of a walk, the share whose mask is compared with brute force
COMPARED = 0.02
#: tokens of a walk
LONGEST = 600


@cache
def compiler(name: str) -> engine.Compiler:
    loaded = load(name)
    vocabulary = engine.Vocabulary(
        loaded.tokens,
        stop_token_ids=[loaded.stop],
        special_token_ids=sorted(loaded.special.values()),
        encode=lambda text: loaded.encoding.encode(text, disallowed_special=()),
    )
    return engine.Compiler(vocabulary)


def cases(count: int, seed: int) -> list[tuple[Any, Any]]:
    """At most so many schemas with a valid instance, in a random order."""
    draws = Random(seed)
    found = []
    for case in maskbench(MASKBENCH, count // 2, seed=seed) if MASKBENCH.exists() else []:
        found += [(case.schema, json.loads(text)) for text, valid in case.texts if valid][:1]
    for number in range(count // 2):
        case = tool_case(Random(f"{seed} {number}"))
        name, arguments = draws.choice(case.calls)
        found.append((call_schema(case), {"name": name, "arguments": arguments}))
    draws.shuffle(found)
    return found


def complaint(compiled: engine.Compiled, ids: Sequence[int], draws: Random) -> str:
    """Return what a mask lacks or has too much along these tokens; "": nothing."""
    vocabulary = compiled.vocabulary
    matcher = engine.Matcher(compiled)
    row = new_mask(vocabulary)
    for at, number in enumerate(ids):
        matcher.fill_bitmask(row)
        if not matcher.fork().accept_token(number):
            return ""  # the instance has its members in another order
        for token in (number, *matcher.forced_tokens(1)):
            if not (row[0, token >> 5] >> (token & 31)) & 1:
                return f"{vocabulary.tokens[token]!r} left out after {at} tokens"
        if draws.random() < COMPARED:
            mask = allowed(matcher)
            wanted = accepted(matcher) - detours(matcher, detour_entries(vocabulary))
            if mask != wanted:
                return f"{len(mask ^ wanted)} bits differ after {at} tokens"
        matcher.accept_token(number)
    return ""


def run(count: int, seed: int) -> Report:
    """Write so many texts, with the vocabularies and layouts in turn."""
    draws, drawn = Random(seed), cases(count, seed)
    walks, tokens, findings = 0, 0, []
    for number in range(count):
        schema, value = drawn[number % len(drawn)]
        name, layout = draws.choice(list(NAMES)), draws.choice(list(LAYOUTS))
        try:
            compiled = compiler(name).compile_json_schema(schema, **LAYOUTS[layout])
        except engine.EngineError:
            continue
        encode = compiled.vocabulary.encode
        assert encode is not None
        text = json.dumps(value, ensure_ascii=False, **LAYOUTS[layout])
        ids = list(encode(text))[:LONGEST]
        walks, tokens = walks + 1, tokens + len(ids)
        problem = complaint(compiled, ids, draws)
        if problem:
            findings.append(f"{number}: {name}, {layout}: {problem}: {text[:300]}")
    return Report({"walks": walks, "tokens": tokens}, findings)


if __name__ == "__main__":
    sys.exit(main("own_tokens", __doc__, unit="walks", number=3000, run=run))
