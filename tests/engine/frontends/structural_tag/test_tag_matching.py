"""The engine itself, rows and event parser, agrees with the tables of structural tags."""

import pytest

import engine
from tests.engine.frontends.structural_tag import (
    dispatch_cases,
    excludes_cases,
    tag_cases,
    triggered_cases,
    xml_cases,
)
from tests.engine.frontends.structural_tag.tag_specs import (
    STOPS,
    TOKENS,
    Case,
    compiler_of,
    letters,
)

CASES = (
    *tag_cases.CASES,
    *triggered_cases.CASES,
    *dispatch_cases.CASES,
    *xml_cases.CASES,
    *excludes_cases.CASES,
)


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    return compiler_of()


def accepts(compiled: engine.Compiled, parts) -> bool:
    """Whether the text is a whole answer; a stop token may only be its last letter."""
    matcher = engine.Matcher(compiled)
    if not all(matcher.accept_token(i) for i in letters(parts)):
        return False
    return matcher.is_terminated() or matcher.can_stop()


def is_stopped(compiled: engine.Compiled, parts) -> bool:
    """Whether this is a whole answer and then a stop token, which a matcher takes as its end."""
    *body, last = letters(parts) or [0]
    return last in STOPS and accepts(compiled, tuple(body))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_matcher_accepts_what_the_table_says(compiler, case: Case):
    compiled = compiler.compile_structural_tag({"format": case.format})
    wrong = [parts for parts in (*case.yes, *case.ours) if not accepts(compiled, parts)]
    wrong += [parts for parts in (*case.no, *case.theirs) if accepts(compiled, parts)]
    assert [parts for parts in wrong if not is_stopped(compiled, parts)] == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_events_add_up_to_the_text_and_nest(compiler, case: Case):
    compiled = compiler.compile_structural_tag({"format": case.format})
    for parts in (*case.yes, *case.ours):
        parser, events = compiled.parser(), []
        for token in letters(parts):
            events += parser.feed(token)
        events += parser.finish()
        assert b"".join(e.bytes for e in events) == b"".join(TOKENS[i] for i in letters(parts))
        opened: list[str] = []
        for event in events:
            if event.kind == "open":
                opened.append(event.node)
            elif event.kind == "close":
                assert opened.pop() == event.node
        assert opened == []
