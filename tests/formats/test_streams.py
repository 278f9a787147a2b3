"""A stream adds up to the whole answer, wherever it is cut: random answers of every format.

A walk draws an answer from the masks. The whole answer is read at once, then again with a cut
after every byte: tokens of one byte, each read as soon as it is there. Special tokens are never
cut, because no worker sends a part of one. `make conformance` reads 10,000 answers.
"""

import os
from random import Random

import numpy as np
import pytest

from adapters.formats import (
    Delta,
    FormatPlan,
    OutputSpec,
    Tool,
    ToolStart,
    for_own_engine,
    get_format,
)
from engine import Compiled

from .cases import OUTPUTS, SPECIALS, Said, quiet
from .harness import compiled_as, compiler, walk

NAMES = sorted(SPECIALS)
ANSWERS = 10_000 if os.environ.get("EVERY_TEMPLATE") else 1_000
#: tokens after which a walk is drawn towards its end, and its longest length
PATIENCE, LIMIT = 80, 260

_STRINGS = {"type": "string", "maxLength": 12}
#: arguments of all types: raw strings, JSON, and values that may be either
_ANY = Tool(
    "any",
    {
        "type": "object",
        "properties": {
            "text": _STRINGS,
            "either": {"type": ["string", "integer", "null"], "maxLength": 6},
            "number": {"type": "number", "minimum": -9, "maximum": 9},
            "flag": {"type": "boolean"},
            "unit": {"enum": ["c", "f", "é\n<", 1, None]},
            "list": {"type": "array", "items": _STRINGS, "maxItems": 3},
            "deep": {
                "type": "object",
                "properties": {"a": _STRINGS, "b": {"type": "array", "maxItems": 2}},
                "additionalProperties": False,
            },
        },
        "required": ["text"],
        "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 99},
        "maxProperties": 5,
    },
)
_RICH = OutputSpec((_ANY,))
CHOICES = {
    **OUTPUTS,
    "any type": _RICH,
    "any type, required": OutputSpec((_ANY,), "required"),
    "any type, quiet": quiet(_RICH),
}


def closers_of(name: str) -> np.ndarray:
    """Return the tokens that end a string, a value or a tag, and the token that begins a call."""
    tokens = compiler(name).vocabulary.tokens
    special = len(tokens) - len(SPECIALS[name])
    begin = getattr(get_format(name), "begin", "")[:1].encode()
    return np.array([*b'"}]<{>)', *begin, *range(256, special), *range(special, len(tokens))])


def in_bytes(name: str, ids: list[int]) -> list[int]:
    """Return the same text in tokens of one byte, and the special tokens."""
    tokens = compiler(name).vocabulary.tokens
    special = len(tokens) - len(SPECIALS[name])
    return [part for i in ids for part in ([i] if i >= special else tokens[i])]


def said_at_once(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> tuple[Said, list[str]]:
    parser, reader = grammar.parser(), plan.reader()
    events = [event for token in ids for event in parser.feed(token)] + parser.finish()
    return _added([*reader.feed(events), *reader.finish()])


def said_in_a_stream(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> tuple[Said, list[str]]:
    parser, reader = grammar.parser(), plan.reader()
    deltas = []
    for token in ids:
        for event in parser.feed(token):
            deltas += reader.feed([event])
    for event in parser.finish():
        deltas += reader.feed([event])
    return _added([*deltas, *reader.finish()])


def _added(deltas: list[Delta]) -> tuple[Said, list[str]]:
    """Return the message, and the ids that the model wrote."""
    ids = [delta.id for delta in deltas if isinstance(delta, ToolStart)]
    return Said().add(deltas), ids


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_cut_at_every_byte_is_the_whole_answer(name: str) -> None:
    closers = closers_of(name)
    answers = -(-ANSWERS // len(NAMES))
    grammars = {choice: compiled_as(name, CHOICES[choice], for_own_engine) for choice in CHOICES}
    called = 0
    for number in range(answers):
        plan, grammar = grammars[[*CHOICES][number % len(CHOICES)]]
        ids = walk(grammar, Random(f"{name} {number}"), closers, patience=PATIENCE, limit=LIMIT)
        whole = said_at_once(plan, grammar, ids)
        assert said_in_a_stream(plan, grammar, ids) == whole, (number, ids)
        assert said_in_a_stream(plan, grammar, in_bytes(name, ids)) == whole, (number, ids)
        called += len(whole[0].calls)
    assert called > answers / 3
