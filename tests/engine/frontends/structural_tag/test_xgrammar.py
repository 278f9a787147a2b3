"""xgrammar 0.2.8, the reference for structural tags, accepts what the tables say that it accepts.

Where the engine differs, the tables give the reason (``ours``, ``theirs``), and this test holds
them to it: a deviation that is none any more fails too. Needs xgrammar, from the extra ``bench``.
"""

import json

import pytest

from tests.engine.frontends.structural_tag import (
    dispatch_cases,
    excludes_cases,
    tag_cases,
    triggered_cases,
    xml_cases,
)
from tests.engine.frontends.structural_tag.tag_specs import (
    EOS,
    SPECIALS,
    STOPS,
    TOKENS,
    Case,
    letters,
)

xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed (extra: bench)")

CASES = (
    *tag_cases.CASES,
    *triggered_cases.CASES,
    *dispatch_cases.CASES,
    *xml_cases.COMPARED,
    *excludes_cases.CASES,
)


@pytest.fixture(scope="module")
def compiler():
    info = xgrammar.TokenizerInfo(
        TOKENS, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=list(STOPS)
    )
    return xgrammar.GrammarCompiler(info, cache_enabled=False)


def accepts(compiled, parts) -> bool:
    """By its masks, which is how it bounds tokens; ``accept_token`` alone takes more."""
    matcher = xgrammar.GrammarMatcher(compiled)
    bitmask = xgrammar.allocate_token_bitmask(1, 256 + len(SPECIALS))
    for token in (*letters(parts), EOS):
        if matcher.is_terminated():
            return False
        matcher.fill_next_token_bitmask(bitmask)
        if not int(bitmask[0, token // 32]) >> token % 32 & 1:
            return False
        assert matcher.accept_token(token)
    return True


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_table_says_what_xgrammar_does(compiler, case: Case):
    document = json.dumps({"type": "structural_tag", "format": case.format})
    if not case.xgrammar_compiles:
        with pytest.raises(RuntimeError):
            compiler.compile_structural_tag(document)
        return
    compiled = compiler.compile_structural_tag(document)
    wrong = [parts for parts in (*case.yes, *case.theirs) if not accepts(compiled, parts)]
    wrong += [parts for parts in (*case.no, *case.ours) if accepts(compiled, parts)]
    assert wrong == []
