"""Grammars given as text mean what their own engines say, and mistakes are named by line and column."""

import json
from itertools import pairwise

import pytest

import engine
from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.grammar_text import build_grammar
from engine.frontends.json_schema import build_json_schema
from engine.frontends.structural_tag.tag_vocabulary import TagVocabulary
from engine.grammar.ir import Grammar
from engine.limits import Limits
from tests.engine.frontends.grammar_text.grammar_cases import CASES, MISTAKES, REFUSED, Case
from tests.engine.frontends.recognise import accepts, language
from tests.engine.frontends.structural_tag.tag_specs import (
    EOS,
    SPECIALS,
    STOPS,
    TOKENS,
    TRIG,
    A,
    B,
    compiler_of,
    letters,
)

VOCABULARY = TagVocabulary(SPECIALS, STOPS, TOKENS)
NAMES = [f"{case.syntax}: {case.name}" for case in CASES]
BY_CASE = pytest.mark.parametrize("case", CASES, ids=NAMES)


def recogniser(syntax: str, text: str, **options):
    return language(
        lambda grammar: build_grammar(
            grammar,
            text,
            syntax=syntax,
            vocabulary=VOCABULARY,
            build_schema=build_json_schema,
            **options,
        )
    )


def build(
    syntax: str, text: str, limits: Limits | None = None, schemas=build_json_schema
) -> Grammar:
    grammar = Grammar(limits or Limits())
    node = build_grammar(
        grammar,
        text,
        syntax=syntax,
        vocabulary=VOCABULARY,
        build_schema=schemas,
        pointer="/here",
    )
    grammar.root = grammar.rule("root", node)
    grammar.check()
    return grammar


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    return compiler_of()


def test_names_are_their_own() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert [case.name for case in CASES if bool(case.ours) != bool(case.reason)] == []


@BY_CASE
def test_accepts_what_the_table_says(case: Case) -> None:
    made = recogniser(case.syntax, case.text)
    wrong = [text for text in (*case.yes, *case.ours) if not accepts(made, text)]
    wrong += [text for text in case.no if accepts(made, text)]
    assert wrong == []


#: cases of Lark whose elements are characters, so that a JSON string can contain their texts
IN_JSON = [
    case
    for case in CASES
    if case.syntax == "lark" and "%json" not in case.text and "max_tokens" not in case.text
]


def inside(text: str, *, is_ascii: bool) -> str:
    return json.dumps(text, ensure_ascii=is_ascii)[1:-1]


@pytest.mark.parametrize("is_ascii", [False, True])
@pytest.mark.parametrize("case", IN_JSON, ids=lambda case: case.name)
def test_texts_inside_a_json_string(case: Case, is_ascii: bool) -> None:
    """Inside a JSON string, Lark accepts the same texts in every spelling of their characters."""
    made = recogniser("lark", case.text, inside_json=True)
    texts = (*case.yes, *case.ours)
    wrong = [text for text in texts if not accepts(made, inside(text, is_ascii=is_ascii))]
    wrong += [text for text in case.no if accepts(made, inside(text, is_ascii=is_ascii))]
    assert wrong == []


#: grammars that no JSON string contains, and the construct that errors name
NOT_IN_JSON = (
    ("start: <[1]>", "a token inside a JSON string"),
    ("start: <[^1]>", "a token inside a JSON string"),
    ("start: %json {}", "%json inside a JSON string"),
    ("start: %lark {\nstart: %json {}\n}", "%json inside a JSON string"),
    ("start: a\na[max_tokens=3]: /.*/", "max_tokens inside a JSON string"),
)


@pytest.mark.parametrize(("text", "construct"), NOT_IN_JSON)
def test_constructs_without_characters_are_refused_inside_json(text: str, construct: str) -> None:
    with pytest.raises(UnsupportedSchema) as refused:
        recogniser("lark", text, inside_json=True)
    assert refused.value.keyword == construct


#: recursive grammars that can be read back, with a text of each
READABLE = (
    ("lark", 'start: start "a" | "b"', "baa"),
    ("lark", 'start: s\ns: s s | "a"', "aaa"),
    ("lark", 'start: e\ne: e "+" e | "(" e ")" | /[0-9]+/', "1+(2+3)+4"),
    ("lark", 'start: (a?)* "z"\na: ("x"?)*', "xxz"),
    ("lark", 'start: "x" start | list\nlist: ["," list]\n%ignore " "', "x x,, "),
    ("lark", 'start: %json {"type": "array"}', "[[], [1]]"),
    ("ebnf", 'root ::= root "a" | "b"', "baa"),
)
#: grammars that cannot, with the rule that an error names and a text
UNREADABLE = (
    ("lark", 'start: a\na: b "x" | "y"\nb: a', "a", "yx"),
    ("lark", 'start: x start "q" | "b"\nx: "z"?', "start", "bq"),
    ("lark", 'start: a? "b"\na: (start)', "a", "bb"),
    ("lark", 'start: s\ns: "" | s s "a"', "s", "a"),
    ("lark", 'start: s\ns: A s "a" | "b"\nA: /x*/', "s", "ba"),
    ("lark", 'start: %lark {\nstart: a\na: b "x" | "y"\nb: a\n}', "", "yx"),
    ("ebnf", 'root ::= a "x" | "y"\na ::= root "z"', "a", "yzx"),
)


@pytest.mark.parametrize(("syntax", "text", "sample"), READABLE)
def test_readable_grammars(compiler: engine.Compiler, syntax: str, text: str, sample: str) -> None:
    """A readable grammar passes the check, and the event parser reads its texts."""
    recogniser(syntax, text, readable=True)
    parser = compiler.compile_grammar(text, syntax).parser()
    parser.feed_bytes(sample.encode())
    parser.finish()
    assert parser.is_whole()


@pytest.mark.parametrize(("syntax", "text", "rule", "sample"), UNREADABLE)
def test_left_recursion_that_cannot_be_read_is_refused_by_name(
    compiler: engine.Compiler, syntax: str, text: str, rule: str, sample: str
) -> None:
    """The check refuses exactly such grammars: the event parser cannot read their texts."""
    with pytest.raises(UnsupportedSchema) as refused:
        recogniser(syntax, text, readable=True)
    assert refused.value.keyword == "left recursion"
    assert repr(rule) in refused.value.message
    with pytest.raises(LimitExceeded):
        compiler.compile_grammar(text, syntax).parser().feed_bytes(sample.encode())


def test_only_lark_is_written_inside_json() -> None:
    with pytest.raises(ValueError, match="requires Lark"):
        recogniser("ebnf", 'root ::= "a"', inside_json=True)


def engine_accepts(compiled: engine.Compiled, parts) -> bool:
    matcher = engine.Matcher(compiled)
    return all(matcher.accept_token(i) for i in letters(parts)) and matcher.can_stop()


@BY_CASE
def test_the_matcher_agrees(compiler: engine.Compiler, case: Case) -> None:
    compiled = compiler.compile_grammar(case.text, case.syntax)
    wrong = [text for text in (*case.yes, *case.ours) if not engine_accepts(compiled, text)]
    wrong += [text for text in case.no if engine_accepts(compiled, text)]
    assert wrong == []


TOKEN_TEXTS = (
    ("ebnf", 'root ::= "x<|a|>"', (("x", A), "x<|a|>"), (("x", B), "x")),
    ("ebnf", f'root ::= Token({A}) Token({A}, {B})', ((A, A), (A, B)), ("<|a|>", (B, A))),
    ("ebnf", f'root ::= ExcludeToken({A}, 97)', ((B,), "b", b"\xc3"), ((A,), "a", (EOS,))),
    ("ebnf", f'root ::= TokenTagDispatch(({A}, a), ({B}, b), excludes=({TRIG}))\na ::= "1" Token({TRIG})?\nb ::= "2"', ((A, "1x", B, "2"), "x", (A, "1", TRIG, "y")), ((A, "2"), ("x", TRIG), (A, "1", B), (EOS, "x"), (A, "1", TRIG, TRIG))),
    ("ebnf", f'root ::= TokenTagDispatch(({A}, a), loop_after_dispatch=false) "."\na ::= "1"', ((A, "1."), ("x.", A, "1."), (B, TRIG, ".")), ((A, "1x."), (A, "."))),
    ("ebnf", 'root ::= TagDispatch(("<|a|>", a), excludes=("<|b|>"))\na ::= "1"', ((A, "1x<|a|>1"), ("x", TRIG)), ((A, "x"), (B,), "<|b|>", "<|a|>")),
    ("gbnf", f'root ::= <[{A}]> <|b|> !<[{A}]> !<|b|>', ((A, B, B, A), (A, B, "xy")), ((A, B, A, A),)),
    ("gbnf", "root ::= . [^a]", ("ab",), ((A, "b"), ("a", A))),
    ("lark", f"start: <|a|> <[{A}-{B},97]> <[^97]>", ((A, B, "b"), (A, "a", B)), ((A, "b", "b"), (A, A, "a"))),
    ("lark", "start: <[*]> <|b|>\n%ignore \" \"", (("a", B), (A, "  ", B), (" a ", B)), ((B,), (EOS, B))),
    ("lark", 'start: a "x"\na[suffix="<|a|>"]: /(.|\\n)*/', ("q<|a|>x", ("q\n", A, "x")), ((A, A, "x"), ("q", B, A, "x"), "<|a|><|a|>x")),
    ("lark", 'start: a "x"\na[lazy]: "q" /[^y]*/ "<|a|>"', ("q<|a|>x",), (("q", A, "x"),)),
    ("lark", 'start: a "x"\na[stop="<|a|>"]: /(.|\\n)*/', ("x", "q<|a|x"), ("q<|a|>x", (A, "x"))),
    ("lark", 'start: a "!"\na[max_tokens=2]: /[^!]*/', ("!", "ab!"), ("abc!", "!!", (A, "!"))),
    ("lark", 'start: "<|a|>" /./', (("<|a|>x"), (A, "x")), ((A, A),)),
)  # fmt: skip


@pytest.mark.parametrize(("syntax", "text", "yes", "no"), TOKEN_TEXTS)
def test_tokens(compiler: engine.Compiler, syntax: str, text: str, yes, no) -> None:
    """A literal may be a special token; a token is never its text; nothing else matches one."""
    compiled = compiler.compile_grammar(text, syntax)
    assert [parts for parts in yes if not engine_accepts(compiled, parts)] == []
    assert [parts for parts in no if engine_accepts(compiled, parts)] == []


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("ebnf", 'root ::= root "+" n | n | root "!"\nn ::= [0-9]'),
        ("gbnf", 'root ::= root "+" n | n | root "!"\nn ::= [0-9]'),
        ("lark", 'start: start "+" N | N | start "!"\nN: /[0-9]/'),
    ],
)
def test_left_recursion_is_read_back(compiler: engine.Compiler, syntax: str, text: str) -> None:
    """A loop, for the event parser as well."""
    parser = compiler.compile_grammar(text, syntax).parser()
    written = b"1!" + b"+2" * 500
    events = [*parser.feed_bytes(written), *parser.finish()]
    assert b"".join(event.bytes for event in events) == written
    assert parser.is_whole()


#: the event parser follows rules downwards (docs/grammars.md)
READ_BACK = [
    case for case in CASES if case.syntax == "ebnf" and case.name != "indirect left recursion"
]


@pytest.mark.parametrize("case", READ_BACK, ids=lambda case: case.name)
def test_texts_are_read_back(compiler: engine.Compiler, case: Case) -> None:
    compiled = compiler.compile_grammar(case.text)
    for text in (*case.yes, *case.ours):
        parser = compiled.parser()
        events = [*parser.feed_bytes(text.encode()), *parser.finish()]
        assert b"".join(event.bytes for event in events) == text.encode()
        assert parser.is_whole()


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("syntax", "text", "place", "part"), MISTAKES)
def test_mistakes_are_named_by_line_and_column(syntax, text, place, part) -> None:
    with pytest.raises(SpecError) as caught:
        build(syntax, text)
    assert caught.value.pointer == "/here"
    assert caught.value.message.startswith(f"line {place[0]}, column {place[1]}: ")
    assert part in caught.value.message
    assert not isinstance(caught.value, UnsupportedSchema)


@pytest.mark.parametrize(("syntax", "text", "construct"), REFUSED)
def test_what_is_not_supported_is_refused_by_name(syntax, text, construct) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        build(syntax, text)
    assert caught.value.keyword == construct
    assert caught.value.message.startswith("line ")


def test_json_keeps_the_place_of_a_refusal() -> None:
    text = 'start: ("x"\n  %json {"properties": {"a": {"$ref": "x"}}})'
    with pytest.raises(UnsupportedSchema) as caught:
        recogniser("lark", text)
    assert caught.value.pointer == "/%json/properties/a/$ref"
    assert caught.value.message.startswith("line 2, column 3: ")


def test_json_needs_its_front_end() -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        build("lark", "start: %json {}", schemas=None)
    assert caught.value.keyword == "%json"


@pytest.mark.parametrize("text", ["root ::= root", 'root ::= "a" root', "root ::= a\na ::= root"])
def test_a_grammar_without_any_text_is_refused(compiler: engine.Compiler, text: str) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler.compile_grammar(text)


@pytest.mark.parametrize("text", [1, None, ["root"]])
def test_a_grammar_is_a_string(compiler: engine.Compiler, text) -> None:
    with pytest.raises(SpecError, match="string"):
        compiler.compile_grammar(text)


def test_half_of_a_surrogate_pair_is_no_text(compiler: engine.Compiler) -> None:
    with pytest.raises(SpecError, match="line 2, column 2"):
        compiler.compile_grammar('root ::= "a"\n#\ud800')


def test_an_unknown_syntax_is_refused(compiler: engine.Compiler) -> None:
    with pytest.raises(ValueError, match="abnf"):
        compiler.compile_grammar('root = "a"', "abnf")


# -- limits ---------------------------------------------------------------------------------------


def chain(syntax: str, rules: int) -> str:
    sign, root = (":", "start") if syntax == "lark" else (" ::=", "root")
    names = [root, *(f"r{n}" for n in range(1, rules))]
    lines = [f"{a}{sign} {b}" for a, b in pairwise(names)]
    return "\n".join([*lines, f'{names[-1]}{sign} "x"'])


@pytest.mark.parametrize("syntax", ["ebnf", "gbnf", "lark"])
def test_rules_are_bounded(syntax: str) -> None:
    """At the bound a grammar is built; one rule more is refused."""
    build(syntax, chain(syntax, 50), Limits(grammar_rules=50))
    with pytest.raises(LimitExceeded) as caught:
        build(syntax, chain(syntax, 51), Limits(grammar_rules=50))
    error = caught.value
    assert (error.limit, error.maximum, error.got) == ("grammar_rules", 50, 51)
    assert error.pointer == "/here"


def test_the_largest_grammar_is_compiled(compiler: engine.Compiler) -> None:
    """8,192 rules, each behind a number of its own; one rule more is refused."""
    rules = [f'r{n} ::= "x"' for n in range(8_191)]
    ways = " | ".join(f'"{n}" r{n}' for n in range(8_191))
    text = "\n".join([f"root ::= {ways}", *rules])
    assert engine_accepts(compiler.compile_grammar(text), "8190x")
    with pytest.raises(LimitExceeded, match="grammar_rules"):
        compiler.compile_grammar(f'{text}\nmore ::= "y"')


def test_signs_in_literals_are_no_rules() -> None:
    text = 'root ::= "::= ::=" [:=::=] | "\\"::=" # ::= ::='
    for syntax in ("ebnf", "gbnf"):
        build(syntax, text, Limits(grammar_rules=1))


@pytest.mark.parametrize("syntax", ["ebnf", "gbnf", "lark"])
def test_parentheses_are_bounded(syntax: str) -> None:
    head = "start: " if syntax == "lark" else "root ::= "
    nested = lambda n: head + "(" * n + '"a"' + ")" * n  # noqa: E731
    build(syntax, nested(9), Limits(spec_depth=10))
    with pytest.raises(LimitExceeded, match="spec_depth"):
        build(syntax, nested(10), Limits(spec_depth=10))
    with pytest.raises(LimitExceeded, match="spec_depth"):
        build(syntax, nested(100_000))


def test_a_large_count_is_no_large_grammar() -> None:
    assert len(build("ebnf", 'root ::= ("a" | "b"){1,2000000000}').nodes) < 20


# -- other engines --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.syntax == "ebnf"], ids=lambda case: case.name
)
def test_xgrammar_agrees(case: Case) -> None:
    xgrammar = pytest.importorskip("xgrammar", reason="xgrammar is not installed (extra: bench)")
    info = xgrammar.TokenizerInfo(TOKENS, stop_token_ids=list(STOPS))
    compiled = xgrammar.GrammarCompiler(info, cache_enabled=False).compile_grammar(case.text)

    def takes(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(i) for i in text.encode()) and matcher.accept_token(EOS)

    wrong = [text for text in case.yes if not takes(text)]
    wrong += [text for text in (*case.no, *case.ours) if takes(text)]
    assert wrong == []


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.syntax == "lark"], ids=lambda case: case.name
)
def test_llguidance_agrees(case: Case) -> None:
    llguidance = pytest.importorskip("llguidance", reason="llguidance is not installed (bench)")
    tokenizer = llguidance.LLTokenizer("byte")

    def takes(text: str) -> bool:
        matcher = llguidance.LLMatcher(
            tokenizer, json.dumps({"grammars": [{"lark_grammar": case.text}]})
        )
        assert not matcher.is_error(), matcher.get_error()
        taken = matcher.consume_tokens(list(text.encode()))
        return bool(taken and matcher.is_accepting())

    wrong = [text for text in case.yes if not takes(text)]
    wrong += [text for text in (*case.no, *case.ours) if takes(text)]
    assert wrong == []


#: n levels of rules with two readings of each text: 2**n parses behind n letters
def two_readings(levels: int) -> str:
    rules = [f's{n} ::= "a" s{n - 1} t | "a" t s{n - 1}' for n in range(levels, 0, -1)]
    return "\n".join([f"root ::= s{levels}", *rules, 's0 ::= "b"', 't ::= "c"?'])


@pytest.mark.parametrize(("levels", "is_read"), [(4, True), (5, True), (8, False), (9, False)])
def test_parses_are_bounded(compiler: engine.Compiler, levels: int, is_read: bool) -> None:
    """A parser with ``most_parses`` stops where an ambiguous text has more at once."""
    compiled = compiler.compile_grammar(two_readings(levels))
    text = b"a" * levels + b"b"
    compiled.parser().feed_bytes(text)
    parser = compiled.parser(most_parses=200)
    if is_read:
        parser.feed_bytes(text)
        parser.finish()
        assert parser.is_whole()
        return
    with pytest.raises(LimitExceeded) as exceeded:
        parser.feed_bytes(text)
    assert (exceeded.value.limit, exceeded.value.maximum) == ("parses", 200)
