"""The reference library (openai-harmony) reads every answer that the grammar lets gpt-oss write.

A walk draws tokens of gpt-oss's vocabulary from the masks until the answer ends. `make conformance`
makes 10,000 walks.
"""

import os
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from adapters.formats import Delta, FormatPlan, OutputSpec, for_own_engine, get_format
from engine import Compiled, Compiler, Matcher, Vocabulary
from tests.engine.harness import new_mask
from tests.vocabularies import real_tokens

from .cases import OUTPUTS, quiet
from .harmony_library import encoding, library_pieces, readable, reader_pieces

WALKS = 10_000 if os.environ.get("EVERY_TEMPLATE") else 200
#: tokens after which a walk is drawn towards its end, and after which it is given up
PATIENCE, LIMIT = 60, 400

_BUILTIN = {
    "builtin": OutputSpec(builtin_tools=("browser", "python")),
    "builtin and functions": replace(OUTPUTS["auto"], builtin_tools=("browser", "python")),
    "browser, required": OutputSpec(tool_choice="required", builtin_tools=("browser",)),
}
_SPEAKING = {**OUTPUTS, **_BUILTIN}
SPECS = {
    **_SPEAKING,
    **{f"{name}, no reasoning": quiet(output) for name, output in _SPEAKING.items()},
    "auto, budget": replace(OUTPUTS["auto"], thinking_tokens=5),
    "value, budget": replace(OUTPUTS["value"], thinking_tokens=5),
}


@cache
def compiler() -> tuple[Compiler, tuple[str, ...]]:
    """Return a compiler for gpt-oss's vocabulary, and its special tokens' texts."""
    tokens, special = real_tokens("o200k_harmony")
    stops = [special[text] for text in get_format("harmony").stop_texts]
    vocabulary = Vocabulary(tokens, stop_token_ids=stops, special_token_ids=[*special.values()])
    return Compiler(vocabulary), tuple(special)


@cache
def pulling() -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of Harmony's marks, and of tokens that end JSON."""
    _, special = real_tokens("o200k_harmony")
    vocabulary = compiler()[0].vocabulary
    ends = {b'"', b"}", b"]", b'"}', b'"]', b"},", b'",', b'":'}
    closers = [number for number, token in enumerate(vocabulary.tokens) if token in ends]
    marks = [special[text] for text in get_format("harmony").own_tokens]
    return np.array(marks), np.array(closers)


def walk(grammar: Compiled, chance: Random) -> list[int] | None:
    """Return the ids of a whole answer; None: it did not end in time."""
    matcher, ids, mask = Matcher(grammar), [], new_mask(grammar.vocabulary)
    while len(ids) < LIMIT:
        matcher.fill_bitmask(mask)
        flags = np.unpackbits(mask.view(np.uint8), bitorder="little")
        pull = 0.9 if len(ids) > PATIENCE else 0.3
        drawn = [pulled[flags[pulled] == 1] for pulled in pulling() if chance.random() < pull]
        allowed = next((found for found in drawn if found.size), None)
        if allowed is None:
            allowed = np.flatnonzero(flags)
        ids.append(int(allowed[chance.randrange(len(allowed))]))
        assert matcher.accept_token(ids[-1])
        if matcher.is_terminated():
            return ids
    return None


def deltas_of(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> list[Delta]:
    parser, reader = grammar.parser(), plan.reader()
    deltas = [delta for token in ids for delta in reader.feed(parser.feed(token))]
    return [*deltas, *reader.feed(parser.finish()), *reader.finish()]


@pytest.mark.parametrize("name", SPECS)
def test_the_library_reads_random_answers_as_the_reader_does(name: str) -> None:
    output, walks = SPECS[name], -(-WALKS // len(SPECS))
    engine, special = compiler()
    plan = for_own_engine(get_format("harmony").plan(output, special))
    grammar = engine.compile_structural_tag(plan.spec_json)
    ended = 0
    for seed in range(walks):
        ids = walk(grammar, Random(f"{name} {seed}"))
        if ids is not None:
            ended += 1
            ours = reader_pieces(deltas_of(plan, grammar, ids), output.builtin_tools)
            assert ours == library_pieces(_readable(ids)), (seed, ids)
    assert ended >= 0.9 * walks


def _readable(ids: list[int]) -> list[int]:
    """Return an answer whose headers the library can read; most need no change."""
    text = encoding().decode_utf8(ids)
    changed = readable(text)
    return ids if changed == text else encoding().encode(changed, allowed_special="all")
