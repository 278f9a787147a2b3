"""Transcripts by hand: every format accepts the right ones with their meaning, and rejects others.

Special tokens are written by id, once with single bytes and once with longer tokens around them;
then all marks are spelled as bytes. A test is one cell of the composition table: all transcripts of
a format, a choice and a state of thought.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from adapters.formats import (
    FORMATS,
    FormatPlan,
    ThinkingMarks,
    for_own_engine,
    for_reading_foreign,
    get_format,
    with_thinking,
)
from engine import Compiled

from .cases import SPECIALS
from .harness import compiler, encode, is_accepted, read
from .transcripts import CHOICES, THINKING, TOKENS_ONLY, TRANSCRIPTS, Transcript

Dialect = Callable[[FormatPlan], FormatPlan]
#: format, choice, state of thought, marks of thoughts
Cell = tuple[str, str, str, ThinkingMarks | None]


def cells_of(transcripts: Iterable[Transcript]) -> dict[Cell, list[Transcript]]:
    cells = defaultdict(list)
    for each in transcripts:
        cells[each.format, each.choice, each.thinking, each.marks].append(each)
    return cells


ACCEPTED = cells_of(each for each in TRANSCRIPTS if each.means is not None)
REJECTED = cells_of(each for each in TRANSCRIPTS if each.means is None)


def cell_id(cell: Cell) -> str:
    name, choice, thinking, marks = cell
    return f"{name}-{choice}-{thinking}{'-lent marks' if marks else ''}"


def grammar_of(cell: Cell, dialect: Dialect) -> tuple[FormatPlan, Compiled]:
    name, choice, thinking, marks = cell
    wire = get_format(name) if marks is None else with_thinking(get_format(name), marks)
    output = replace(CHOICES[choice], **THINKING[thinking])
    plan = dialect(wire.plan(output, SPECIALS[FORMATS[name].name]))
    return plan, compiler(FORMATS[name].name).compile_structural_tag(plan.spec_json)


def spellings(transcript: Transcript) -> Iterator[list[int]]:
    name = FORMATS[transcript.format].name
    yield encode(name, transcript.text)
    yield encode(name, transcript.text, 9)
    if not transcript.only_tokens and (transcript.means is None or name not in TOKENS_ONLY):
        yield list(transcript.text.encode())


def message(plan: FormatPlan, grammar: Compiled, ids: list[int]) -> tuple[str, str, list[str]]:
    """Return content, reasoning and calls of an answer; arguments in one spelling of JSON."""
    said = read(plan, grammar, ids)
    calls = [json.dumps([name, json.loads(arguments)]) for name, arguments in said.calls]
    return said.content, said.reasoning, calls


def misread(
    cell: Cell, transcripts: Iterable[Transcript], dialect: Dialect
) -> list[tuple[str, object]]:
    """Return the transcripts that are rejected (None) or read as another message."""
    plan, grammar = grammar_of(cell, dialect)
    found: list[tuple[str, object]] = []
    for transcript in transcripts:
        means = transcript.means
        assert means is not None
        wanted = means.content, means.reasoning, [json.dumps(call) for call in means.calls]
        for ids in spellings(transcript):
            got = message(plan, grammar, ids) if is_accepted(grammar, ids) else None
            if got != wanted:
                found.append((transcript.text, got))
    return found


@pytest.mark.share
@pytest.mark.parametrize("cell", ACCEPTED, ids=cell_id)
def test_right_transcripts_are_accepted_and_read(cell: Cell) -> None:
    assert misread(cell, ACCEPTED[cell], for_own_engine) == []


@pytest.mark.share
@pytest.mark.parametrize("cell", ACCEPTED, ids=cell_id)
def test_right_transcripts_of_foreign_engines_are_read(cell: Cell) -> None:
    assert misread(cell, ACCEPTED[cell], for_reading_foreign) == []


@pytest.mark.share
@pytest.mark.parametrize("cell", REJECTED, ids=cell_id)
def test_wrong_transcripts_are_rejected(cell: Cell) -> None:
    _, grammar = grammar_of(cell, for_own_engine)
    found = [
        (transcript.why, transcript.text)
        for transcript in REJECTED[cell]
        for ids in spellings(transcript)
        if is_accepted(grammar, ids)
    ]
    assert found == []


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_transcripts_of_both_kinds(name: str) -> None:
    counts = Counter(each.means is None for each in TRANSCRIPTS if each.format == name)
    assert counts[True] >= 40
    assert counts[False] >= 40


@pytest.mark.parametrize(
    ("choice", "text", "calls"),
    [
        ("auto", "[g(n=2)]", [("g", {"n": 2})]),
        ("auto", "So: [g(n=2), ff()]", [("g", {"n": 2}), ("ff", {})]),
        ("auto", "[f(city='Oslo')]", [("f", {"city": "Oslo"})]),
        ("auto", "[h(n=2)] and f(x) are text", []),
        ("auto", "[g(n='two')]", None),
        ("auto", "[g(n=2)", None),
        ("auto", "[g(n=2)] more", None),
        ("auto, one", "[g(n=2)]", [("g", {"n": 2})]),
        ("auto, one", "[g(n=2), ff()]", None),
        ("barred", "[f(city='Oslo')]", [("f", {"city": "Oslo"})]),
        # REGRESSION: a barred tool could be called in text
        ("barred", "[g(n=2)]", None),
    ],
)
def test_lists_of_calls_without_marks(
    choice: str, text: str, calls: list[tuple[str, object]] | None
) -> None:
    plan, grammar = grammar_of(("llama4_pythonic", choice, "free", None), for_own_engine)
    ids = encode("llama4_pythonic", text)
    assert is_accepted(grammar, ids) == (calls is not None)
    if calls is not None:
        wanted = [json.dumps(list(call)) for call in calls]
        assert message(plan, grammar, ids)[2] == wanted
