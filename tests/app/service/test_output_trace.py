"""The trace of an output: its bounds, and allowed tokens of a whole vocabulary."""

from array import array
from typing import Any

import pytest

from app.service import output_trace
from app.service.output_trace import MAX_LISTED, TOKEN_STEPS, trace
from engine import Cancelled, Compiled, Compiler, Limits, Matcher, WorkBudget
from tests.vocabularies import REAL_NAMES, VOCABULARIES, real_vocabulary, small_vocabulary

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "days": {"enum": [1, 12, 123]}},
    "required": ["name", "days"],
    "additionalProperties": False,
}
TEXT = b'{"name": "ab", "days": 12'


def tokens_of(compiled: Compiled, text: bytes) -> list[int]:
    """Return the longest token at each place."""
    known = {data: number for number, data in enumerate(compiled.vocabulary.tokens) if data}
    found, at = [], 0
    while at < len(text):
        size = next(n for n in range(len(text) - at, 0, -1) if text[at : at + n] in known)
        found.append(known[text[at : at + size]])
        at += size
    return found


def compiled_for(name: str) -> Compiled:
    return Compiler(VOCABULARIES[name]()).compile_json_schema(SCHEMA)


def test_the_time_ends_a_trace(monkeypatch: pytest.MonkeyPatch):
    """It is looked at after every token, so the last one may be late by one token."""
    monkeypatch.setattr(output_trace, "TRACE_SECONDS", -1.0)
    compiled = compiled_for("small")
    ids = tokens_of(compiled, TEXT)
    found = trace(compiled, ids, WorkBudget(), None)
    assert (found["accepted"], len(found["tokens"])) == (1, len(ids))
    assert "more than -1 seconds" in found["problem"]
    assert (found["is_complete"], found["rejected"]) == (False, None)


def test_a_request_that_was_cancelled_ends_its_trace():
    compiled = compiled_for("small")
    budget = WorkBudget()
    budget.cancel()
    with pytest.raises(Cancelled):
        trace(compiled, tokens_of(compiled, TEXT), budget, None)


def test_a_budget_that_is_spent_ends_a_trace_like_other_limits():
    compiled = compiled_for("small")
    budget = WorkBudget(Limits(compile_steps=TOKEN_STEPS))
    found = trace(compiled, tokens_of(compiled, TEXT), budget, None)
    assert (found["accepted"], found["rejected"]) == (1, None)
    assert "compile_steps" in found["problem"]


def test_parts_of_the_grammar_are_left_out_where_too_much_was_built(
    monkeypatch: pytest.MonkeyPatch,
):
    compiled = compiled_for("small")
    ids = tokens_of(compiled, b'{"x')
    assert trace(compiled, ids, WorkBudget(), None)["rejected"]["items"]
    monkeypatch.setattr("app.service.grammar_outline.MAX_INSPECTED", 1)
    found = trace(compiled, ids, WorkBudget(), None)["rejected"]
    assert (found["items"], found["more_items"], found["text"]) == ([], 0, "x")


def allowed_by_force(compiled: Compiled, ids: list[int]) -> list[int]:
    """Return the allowed tokens but the stop tokens, each tried alone."""
    vocabulary = compiled.vocabulary
    matcher = Matcher(compiled)
    assert all(map(matcher.accept_token, ids))
    words = array("i", bytes(4 * vocabulary.words))
    matcher.brute_force_bitmask(memoryview(words).cast("B").cast("i", (1, vocabulary.words)))
    return [
        number
        for number in range(vocabulary.size)
        if words[number >> 5] >> (number & 31) & 1 and number not in vocabulary.stop_token_ids
    ]


def check_places(compiled: Compiled) -> None:
    ids = tokens_of(compiled, TEXT)
    places: dict[int, Any] = {at: trace(compiled, ids, WorkBudget(), at) for at in (0, 1, 3)}
    places[len(ids)] = trace(compiled, ids, WorkBudget(), None)
    for at, found in places.items():
        wanted = allowed_by_force(compiled, ids[:at])
        assert found["at"] == at
        assert found["next"]["count"] == len(wanted)
        assert [each["id"] for each in found["next"]["tokens"]] == wanted[:MAX_LISTED]


def test_the_allowed_tokens_are_those_that_the_grammar_accepts():
    check_places(compiled_for("small"))


@pytest.mark.exact
@pytest.mark.parametrize("name", REAL_NAMES)
def test_the_allowed_tokens_of_a_whole_vocabulary_are_those_that_the_grammar_accepts(name: str):
    assert real_vocabulary(name).size > 100_000
    check_places(compiled_for(name))


def test_the_last_bit_of_a_word_is_listed_and_stop_tokens_are_not():
    """The small vocabulary ends with stop tokens, one of them in a word's last bits."""
    vocabulary = small_vocabulary()
    compiled = Compiler(vocabulary).compile_regex("[^]*")
    found = trace(compiled, [], WorkBudget(), None)["next"]
    assert found["may_end"]
    assert found["count"] == len(allowed_by_force(compiled, []))
