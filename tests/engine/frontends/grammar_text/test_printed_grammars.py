"""Grammars that xgrammar prints compile, and take what the grammars that they were printed from take."""

import random

import pytest

import engine
from tests.engine.frontends.grammar_text.printed_cases import CASES, Case, made_by_xgrammar, stored
from tests.engine.frontends.structural_tag.tag_specs import (
    EOS,
    compiler_of,
    letters,
)

BY_CASE = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
PRINTED = stored()


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    return compiler_of()


def takes(compiled: engine.Compiled, tokens: list[int]) -> bool:
    matcher = engine.Matcher(compiled)
    return all(matcher.accept_token(token) for token in tokens) and matcher.can_stop()


def changed(case: Case) -> list[list[int]]:
    """Texts of the case with a letter left out, put in or doubled; characters stay whole."""
    rng = random.Random(case.name)
    signs = letters("".join(text for text in (*case.yes, *case.no) if isinstance(text, str)) + "x1")
    made = []
    for parts in (*case.yes, *case.no):
        for _ in range(40):
            tokens = letters(parts)
            for _ in range(rng.randint(1, 2)):
                at = rng.randrange(len(tokens) + 1)
                new = rng.choice([[], [rng.choice(signs)], tokens[at : at + 1] * 2])
                tokens[at : at + 1] = new
            if is_text(tokens):
                made.append(tokens)
    return made


def is_text(tokens: list[int]) -> bool:
    try:
        bytes(token if token < 256 else 0 for token in tokens).decode()
    except UnicodeDecodeError:
        return False
    return True


def test_every_case_is_stored() -> None:
    assert list(PRINTED) == [case.name for case in CASES]


@BY_CASE
def test_a_printed_grammar_takes_what_the_table_says(compiler, case: Case) -> None:
    compiled = compiler.compile_grammar(PRINTED[case.name])
    assert [parts for parts in case.yes if not takes(compiled, letters(parts))] == []
    assert [parts for parts in case.no if takes(compiled, letters(parts))] == []


@BY_CASE
def test_xgrammar_agrees(compiler, case: Case) -> None:
    """On the table's texts and on such that are nearly like them."""
    pytest.importorskip("xgrammar", reason="xgrammar is not installed (extra: bench)")
    import xgrammar

    theirs, printed = made_by_xgrammar(case)
    assert printed == PRINTED[case.name]
    ours = compiler.compile_grammar(printed)
    wrong = []
    for tokens in [*map(letters, (*case.yes, *case.no)), *changed(case)]:
        matcher = xgrammar.GrammarMatcher(theirs)
        expected = all(matcher.accept_token(token) for token in (*tokens, EOS))
        if takes(ours, tokens) != expected:
            wrong.append((bytes(token for token in tokens if token < 256), expected))
    assert wrong == []
