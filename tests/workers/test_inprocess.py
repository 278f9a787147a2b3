"""Tokens that need no pass of the model in answers of workers in the gateway's process."""

import json

import pytest

from adapters.workers.base import Generation
from adapters.workers.inprocess import Answer
from engine import Compiler, Vocabulary

A, B, FIRST_STOP, LAST_STOP = range(4)
VOCABULARY = Vocabulary([b"a", b"b", b"<1>", b"<2>"], stop_token_ids=[FIRST_STOP, LAST_STOP])
COMPILER = Compiler(VOCABULARY)


@pytest.mark.parametrize(
    ("pattern", "before", "certain"),
    [
        ("ab?", [], A),
        ("ab?", [A], None),
        ("ab?", [A, B], FIRST_STOP),
        ("[ab]", [], None),
        ("[ab]", [B], FIRST_STOP),
    ],
)
def test_a_token_without_a_choice_is_certain(
    pattern: str, before: list[int], certain: int | None
) -> None:
    """Between several stop tokens there is no choice."""
    spec = json.dumps({"type": "structural_tag", "format": {"type": "regex", "pattern": pattern}})
    compiled = COMPILER.compile_structural_tag(spec)
    generation = Generation("r", [A], spec, max_tokens=9)
    answer = Answer(compiled, VOCABULARY, generation, limit=9, prompt_tokens=1)
    for token in before:
        answer.take(token)
    assert answer.certain(answer.allowed()) == certain
