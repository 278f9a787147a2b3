"""Calls that a model learns by heart: each text fits its grammar; and the table of their passes."""

import engine
from bench.data import builtin_tools
from bench.sglang.drafts import Passes, calls, table
from bench.vocabularies import load


def test_each_answer_fits_its_grammar() -> None:
    loaded = load("bytes")
    vocabulary = engine.Vocabulary(loaded.tokens, stop_token_ids=[loaded.stop])
    for call in calls(builtin_tools()):
        compiled = engine.Compiler(vocabulary).compile_structural_tag(call.spec)
        matcher = engine.Matcher(compiled)
        assert matcher.forced_bytes().startswith(b'<tool_call>\n{"name": "')
        assert matcher.accept_bytes(call.answer.encode()) and matcher.can_stop()


def test_the_rate_is_that_of_all_calls() -> None:
    lines = table({"forced": [Passes(30, 10, True), Passes(10, 10, False)]})
    assert lines[1] == ["forced", "2", "1", "40", "20", "2.00"]
