"""Each format of tool calls: its text, and that engines get a grammar for just that text."""

import pytest

from bench.data import ToolCase, builtin_tools
from bench.formats import FORMATS, HARMONY, HERMES, LLAMA
from bench.lark import lark, literal
from bench.measure import tool_case
from bench.vocabularies import load
from bench.worker import Here, Setup

CASE = ToolCase("one", [("f", {"type": "object"}), ("g", {})], [("f", {"a": "é"}), ("g", 1)])

ANSWERS = [
    (LLAMA, '<function=f>{"a": "é"}</function>\n<function=g>1</function>'),
    (HERMES, '<tool_call>\n{"name": "f", "arguments": {"a": "é"}}\n</tool_call>\n'
             '<tool_call>\n{"name": "g", "arguments": 1}\n</tool_call>'),
    (HARMONY, '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": "é"}<|call|>'
              "<|start|>assistant"
              "<|channel|>commentary to=functions.g <|constrain|>json<|message|>1<|call|>"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "calls"), ANSWERS, ids=list(FORMATS))
def test_an_answer_is_some_text_and_the_calls(form, calls):
    assert form.answer(CASE) == form.before + calls
    for tag in form.tags(CASE):
        assert tag.begin.startswith(form.trigger) and tag.begin in form.answer(CASE)


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_wrong_answers_have_a_tool_that_nobody_offers_or_arguments_of_another_kind(form):
    unknown, broken = form.wrong_answers(CASE)
    assert "no_such_f" in unknown and '[1, {"a"' in broken
    assert form.wrong_answers(CASE._replace(calls=[])) == []


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_special_tokens_of_a_format_are_single_tokens(form):
    loaded = load(form.vocabulary)
    ids = form.encode(loaded, form.answer(CASE))
    assert b"".join(loaded.tokens[token] for token in ids).decode() == form.answer(CASE)
    found = {loaded.tokens[token].decode() for token in ids if token in loaded.special.values()}
    assert found == form.special(loaded)
    assert bool(found) == (form is not LLAMA)


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_our_engine_takes_true_answers_and_no_wrong_ones(form):
    ours = Here(Setup("ours", form.vocabulary))
    result = ours.run(tool_case, builtin_tools()[0], None, form).value
    assert dict(result.counts) == {"tool sets taken": 1}
    kinds = {kind: len(times) for kind, times in result.times.items()}
    assert kinds["compile"] == kinds["first"] == kinds["answer"] == 1
    assert kinds["mask"] == kinds["accept"] > 50


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ""),
        ("plain", '"plain"'),
        ("<|a|>", "<|a|>"),
        ("x<|a|>\n<|ab|>", '"x" <|a|> "\\n" <|ab|>'),
    ],
)
def test_a_lark_literal_has_special_tokens_bare(text, parts):
    assert literal(text, ["<|a|>", "<|ab|>"]) == parts


def test_a_lark_grammar_has_a_rule_for_each_tag():
    special = HARMONY.special(load("o200k_harmony"))
    rules = lark(HARMONY, HARMONY.tags(CASE), special).splitlines()
    assert rules[1] == "start: (analysis)* (t0 | t1) (again (t0 | t1))*"
    (first,) = (rule for rule in rules if rule.startswith("t0:"))
    assert '%json {"type": "object"} <|call|>' in first
    plain = lark(HERMES, HERMES.tags(CASE), HERMES.special(load("qwen3"))).splitlines()
    assert plain[1] == "start: (t0 | t1)* TEXT"
    assert plain[2].startswith("t0: TEXT <tool_call> ")
