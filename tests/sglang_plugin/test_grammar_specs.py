"""Grammars of SGLang's requests are compiled exactly, also after thinking."""

import json

import pytest

from adapters.sglang_plugin.grammar_specs import (
    GrammarSpec,
    GrammarText,
    ThinkingRegion,
    Whitespace,
    compile_grammar,
)
from engine import Compiler, LimitExceeded, Matcher, SpecError
from tests.engine.frontends.random_schemas import byte_vocabulary, takes

COMPILER = Compiler(byte_vocabulary())
TAG = {"type": "structural_tag", "format": {"type": "const_string", "value": "ab"}}
OLD_TAG = {
    "type": "structural_tag",
    "structures": [{"begin": "<f>", "schema": {"type": "integer"}, "end": "</f>"}],
    "triggers": ["<f"],
}

# (kind, text, taken, not taken)
KINDS = [
    ("json", '{"enum":["ab"]}', ['"ab"', '"\\u0061b"'], ["ab", '"b"']),
    ("regex", "a+b", ["ab", "aab"], ["b", "abb"]),
    ("ebnf", 'root ::= "a" "b"', ["ab"], ["a", "b"]),
    ("full_assistant_ebnf", 'root ::= "a" "b"', ["ab"], ["a", "b"]),
    ("structural_tag", json.dumps(TAG), ["ab"], ["a"]),
    ("structural_tag", json.dumps(OLD_TAG), ["x<f>1</f>y", ""], ["<f>a</f>", "<f>1"]),
]


@pytest.mark.parametrize(("kind", "text", "good", "bad"), KINDS)
def test_each_kind_is_compiled(kind: str, text: str, good: list[str], bad: list[str]) -> None:
    compiled = compile_grammar(COMPILER, GrammarSpec(kind, text))
    assert [takes(compiled, each) for each in good + bad] == [True] * len(good) + [False] * len(bad)


@pytest.mark.parametrize(("kind", "text", "good", "bad"), KINDS)
def test_each_kind_stands_behind_thinking(
    kind: str, text: str, good: list[str], bad: list[str]
) -> None:
    compiled = compile_grammar(COMPILER, GrammarSpec(kind, text, ThinkingRegion("</think>")))
    for answer in good:
        assert takes(compiled, f"so <x> \n it is</think>{answer}")
        assert takes(compiled, f"</think>{answer}")
        assert answer == "" or not takes(compiled, answer)
    for answer in bad:
        assert not takes(compiled, f"thought</think>{answer}")


@pytest.mark.parametrize("thinking", [None, ThinkingRegion(";")])
@pytest.mark.parametrize(
    ("whitespace", "good", "bad"),
    [
        (Whitespace(), ["[1,2]", "[1, 2]", "[1,\n      2]"], ["[1,  2]"]),
        (Whitespace(0), ["[1,2]"], ["[1, 2]", "[1,\n2]"]),
        (Whitespace(1), ["[1,2]", "[1, 2]", "[1,\n2]"], ["[1,  2]", "[1,\n 2]"]),
        (Whitespace(2), ["[1,2]", "[1, 2]", "[1,\n 2]"], ["[1,  2]", "[1,\n  2]"]),
        (Whitespace(is_spaced=True), ["[1, 2]"], ["[1,2]", "[1,\n2]"]),
    ],
)
def test_white_space_in_json_is_bounded_as_the_server_says(
    whitespace: Whitespace, good: list[str], bad: list[str], thinking: ThinkingRegion | None
) -> None:
    spec = GrammarSpec("json", '{"type":"array"}', thinking, whitespace)
    compiled = compile_grammar(COMPILER, spec)
    begin = "" if thinking is None else "x;"
    seen = [takes(compiled, begin + each) for each in good + bad]
    assert seen == [True] * len(good) + [False] * len(bad)


def test_thinking_has_an_end() -> None:
    compiled = compile_grammar(COMPILER, GrammarSpec("regex", "b", ThinkingRegion(";", most=3)))
    matcher = Matcher(compiled)
    assert [matcher.accept_token(ord(c)) for c in "xy;b"] == [True] * 4
    matcher = Matcher(compiled)
    assert [matcher.accept_token(ord(c)) for c in "xyzw;"] == [True, True, True, False, True]


# (kind, text, words of the error)
WRONG = [
    ("json", "{", "not JSON"),
    ("json", "", "not JSON"),
    ("json", '{"type":"nothing"}', "/type"),
    ("json", '{"$ref":"#"}', "leads back"),
    ("json", "[" * 100_000, "not JSON"),
    ("json", '{"a":"\x00"}', "not JSON"),
    ("regex", "(", "unterminated|not closed|missing|group"),
    ("ebnf", "", "root"),
    ("structural_tag", "[]", "."),
    ("structural_tag", "{}", "."),
    ("structural_tag", '{"structures":{}}', "/structures"),
    ("structural_tag", '{"structures":[{}],"triggers":[]}', "/structures/0"),
    ("structural_tag", '{"structures":[]}', "triggers"),
    ("lark", "x", "'lark'"),
]


@pytest.mark.parametrize("thinking", [None, ThinkingRegion("</think>")])
@pytest.mark.parametrize(("kind", "text", "words"), WRONG)
def test_what_means_nothing_is_refused(
    kind: str, text: str, words: str, thinking: ThinkingRegion | None
) -> None:
    with pytest.raises((SpecError, LimitExceeded), match=words):
        compile_grammar(COMPILER, GrammarSpec(kind, text, thinking))


@pytest.mark.parametrize("kind", ["json", "regex", "ebnf", "structural_tag"])
def test_32_mb_are_refused_by_their_size(kind: str) -> None:
    with pytest.raises(LimitExceeded, match=r"spec_bytes|pattern_chars"):
        compile_grammar(COMPILER, GrammarSpec(kind, "[" + "1," * (16 << 20) + "1]"))


def test_a_spec_is_short_where_it_is_shown() -> None:
    assert repr(("json", GrammarText("x" * 12_345))) == "('json', <12,345 characters>)"
    assert GrammarText("ab") == "ab" and hash(GrammarText("ab")) == hash("ab")
