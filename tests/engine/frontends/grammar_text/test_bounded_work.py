"""Each loop over a grammar's text spends steps, can be cancelled, and ends at a named limit."""

import gc
import sys
from collections.abc import Callable

import pytest

import engine
from engine.errors import Cancelled, EngineError, LimitExceeded, SpecError
from engine.grammar.ir import TOKENS as ONE_OF
from engine.grammar.ir import TOKENS_EXCEPT, Grammar
from tests.engine.frontends.grammar_text.test_grammar_text import build
from tests.engine.frontends.structural_tag.tag_specs import STOPS, TOKENS, compiler_of
from tests.engine.harness import bits, new_mask

#: a vocabulary in which a set of tokens may be long
MANY = [*TOKENS, *(f"token {number}".encode() for number in range(1_000))]
LAST = len(MANY) - 1


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    return compiler_of(MANY)


def lark_rules(head: str, rule: Callable[[int], str]) -> Callable[[int], str]:
    return lambda n: f"{head}\n" + "".join(f"{rule(number)}\n" for number in range(n))


def parameter(element: str) -> Callable[[int], str]:
    """A rule with n values."""
    return lambda n: f'start: a::{4095 - n}\na::_: {element} a::incr([0:12]) | "z"'


# (name, syntax, the text of n such constructs, steps that each takes at least)
SERIES: list[tuple[str, str, Callable[[int], str], float]] = [
    ("blanks", "lark", lambda n: 'start: "a"' + " " * 64 * n, 1),
    ("empty lines", "lark", lambda n: 'start: "a"' + "\n" * 64 * n, 1),
    ("comments", "lark", lambda n: 'start: "a"' + "\n//" * n, 0.03),
    ("characters of a literal", "lark", lambda n: 'start: "' + "a" * 64 * n + '"', 1),
    ("escapes", "lark", lambda n: 'start: "' + "\\n" * n + '"', 1),
    ("parts", "lark", lambda n: "start: " + '"a" ' * n, 5),
    ("equal alternatives", "lark", lambda n: "start: " + '"a" | ' * n + '"a"', 5),
    ("groups", "lark", lambda n: "start: " + '("a") ' * n, 8),
    ("operands", "lark", lambda n: "start: A\nA: " + '"a" & ' * n + '"a"', 5),
    ("patterns", "lark", lambda n: "start: " + "/a/ " * n, 8),
    ("literals in any case", "lark", lambda n: "start: " + '"ab"i ' * n, 8),
    ("names", "lark", lambda n: "start: " + "b " * n + '\nb: "b"', 5),
    ("definitions", "lark", lark_rules("start: r0", lambda n: f'r{n}: "a"'), 8),
    ("ignored texts", "lark", lark_rules('start: "a"', lambda n: f"%ignore /{n}/"), 8),
    ("imports", "lark", lark_rules("start: A0", lambda n: f"%import common.INT -> A{n}"), 8),
    ("attributes", "lark", lambda n: "start[" + "lazy, " * n + 'lazy]: "a"', 4),
    ("tokens of a set", "lark", lambda n: "start: <[1" + ",1" * n + "]>", 1),
    ("sets of tokens", "lark", lambda n: "start: " + f"<[0-{LAST}]> " * n, 5),
    ("excluded tokens", "lark", lambda n: "start: <[^1" + ",1" * n + "]>", 1),
    ("special tokens", "lark", lambda n: "start: " + "<|a|> " * n, 5),
    ("special tokens in a literal", "lark", lambda n: 'start: "' + "<|a|>" * n + '"', 1),
    ("grammars in a grammar", "lark", lambda n: "start: " + '%lark {start: "a"} ' * n, 32),
    ("schemas", "lark", lambda n: "start: " + "%json true " * n, 8),
    ("chunks", "lark", lambda n: f"start: %regex {{\"substring_chars\": \"{'ab' * n}\"}}", 6),
    ("tests of a condition", "lark", lambda n: f'start: a::1\na::_: "a" %if {condition(n)}', 16),
    ("values", "lark", parameter('"a"'), 8),
    ("values with a test", "lark", lambda n: parameter(f'"z" %if {condition(64)} | "a"')(n), 16),
    ("values with tokens", "lark", parameter(f"<[0-{LAST}]>"), 8),
    ("parts", "ebnf", lambda n: "root ::= " + '"a" ' * n, 3),
    ("equal alternatives", "ebnf", lambda n: "root ::= " + '"a" | ' * n + '"a"', 3),
    ("groups", "ebnf", lambda n: "root ::= " + '("a") ' * n, 4),
    ("names", "ebnf", lambda n: "root ::= " + "b " * n + '\nb ::= "b"', 3),
    ("names that look like attributes", "ebnf", lambda n: "root ::= " + 'b["]"\\"" ' * n + '\nb ::= "b"', 3),
    ("members of a class", "ebnf", lambda n: "root ::= [" + "a" * n + "]", 1),
    ("arguments", "ebnf", lambda n: "root ::= Token(1" + ", 1" * n + ")", 3),
    ("tags", "ebnf", lambda n: "root ::= TagDispatch(" + ", ".join(f'("a{k}", b)' for k in range(n)) + ')\nb ::= "b"', 3),
    ("chunks", "ebnf", lambda n: "root ::= Substring(" + '"a", ' * n + '"a")', 6),
    ("patterns", "ebnf", lambda n: "root ::= " + 'Regex("a") ' * n, 3),
    ("blanks", "ebnf", lambda n: 'root ::= "a"' + " " * 64 * n, 1),
    ("comments", "gbnf", lambda n: 'root ::= "a"' + "\n#" * n, 0.03),
    ("tokens", "gbnf", lambda n: "root ::= " + "<[1]> " * n, 3),
    ("escapes", "gbnf", lambda n: 'root ::= "' + "\\n" * n + '"', 1),
]  # fmt: skip
BY_SERIES = pytest.mark.parametrize(
    ("syntax", "text", "each"), [row[1:] for row in SERIES],
    ids=[f"{row[1]}: {row[0]}" for row in SERIES],
)  # fmt: skip


def condition(n: int) -> str:
    """A condition of n tests, as a balanced tree."""
    return "true" if n < 2 else f"and({condition(n // 2)}, {condition(n - n // 2)})"


def steps(compiler: engine.Compiler, syntax: str, text: str) -> int:
    budget = engine.WorkBudget(engine.Limits(compile_steps=1 << 60))
    compiler.compile_grammar(text, syntax, budget=budget)
    return budget.spent


@BY_SERIES
def test_steps_grow_with_each_construct(
    compiler: engine.Compiler, syntax: str, text: Callable[[int], str], each: float
) -> None:
    """REGRESSION: most of these loops spent nothing, and none offered the GIL."""
    few, many = (steps(compiler, syntax, text(n)) for n in (50, 1_050))
    assert many - few >= 1_000 * each
    compiler.clear()
    assert steps(compiler, syntax, text(1_050)) == many, "shared automata cost as much as new ones"


@BY_SERIES
def test_a_cancelled_compile_ends_in_its_first_thousand_steps(
    compiler: engine.Compiler, syntax: str, text: Callable[[int], str], each: float
) -> None:
    budget = engine.WorkBudget(engine.Limits(compile_steps=1 << 60))
    budget.cancel()
    with pytest.raises(Cancelled):
        compiler.compile_grammar(text(2_000 if each >= 1 else 60_000), syntax, budget=budget)
    assert budget.spent < 20_000


# (name, syntax, text, the limit's name)
REFUSED = [
    ("REGRESSION a thousand stars", "lark", 'start: "a"' + "*" * 1_000, "spec_depth"),
    ("REGRESSION a thousand counts", "lark", 'start: "a"' + "~2" * 1_000, "spec_depth"),
    ("stars of groups of stars", "lark", "start: " + "(" * 100 + '"a"' + "**)" * 100, "spec_depth"),
    ("optional brackets", "lark", "start: " + "[" * 5_000, "spec_depth"),
    ("complements", "lark", "start: A\nA: " + "~" * 1_000 + '"a"', "spec_depth"),
    ("REGRESSION terminals in terminals", "lark", "start: ~A0\n" + "".join(f"A{n}: A{n + 1}\n" for n in range(150)) + 'A150: "a"', "spec_depth"),
    ("terminals in terminals, the innermost first", "lark", "start: r\n" + "".join(f"r{n}[lazy]: A{n}\n" for n in range(200)) + 'r: "a"\nA0: "a"\n' + "".join(f'A{n + 1}: (A{n} "b")*\n' for n in range(200)), "spec_depth"),
    ("groups", "ebnf", "root ::= " + "(" * 5_000, "spec_depth"),
    ("groups", "gbnf", "root ::= " + "(" * 5_000, "spec_depth"),
    ("arguments in arguments", "ebnf", "root ::= TagDispatch(" + "(" * 5_000, "spec_depth"),
    ("conditions in conditions", "lark", 'start: a::0\na::_: "a" %if ' + "not(" * 5_000, "spec_depth"),
    ("REGRESSION a suffix of letters", "lark", r"start[suffix=/\p{Lu}{5}/]: /(\p{L}|\p{N}){1,2000}/", "rule_edges"),
    ("REGRESSION a lazy run of letters", "lark", r"start[lazy]: /(\p{L}){1,9000}b/", "rule_edges"),
    ("a stop of letters", "lark", r"start[stop=/\p{Lu}{5}/]: /(\p{L}|\p{N}){1,2000}/", "pattern_states"),
    ("REGRESSION a long literal in any case", "lark", 'start: "' + "a" * 20_001 + '"i', "pattern_chars"),
    ("a long pattern", "lark", "start: /" + "a" * 20_001 + "/", "pattern_chars"),
    ("a long class", "ebnf", "root ::= [" + "ab" * 10_001 + "]", "pattern_chars"),
    ("terminals that multiply", "lark", "start[lazy]: A0\n" + "".join(f"A{n}: " + f"A{n + 1} " * 500 + "\n" for n in range(4)) + 'A4: "a"', "pattern_chars"),
    ("many rules", "ebnf", "".join(f'r{n} ::= "a"\n' for n in range(8_193)), "grammar_rules"),
    ("REGRESSION many tests for many values", "lark", f'start: a::0\na::_: "x" a::incr([0:12]) %if {condition(500)} | "z"', "compile_steps"),
    ("REGRESSION rules whose facts are found one by one", "lark", "start: r0\n" + "".join(f'r{n}: "x" r{n + 1}' + (f" | r{n - 1}" if n else ' | "a"') + "\n" for n in range(1_600)) + "r1600: r1599", "compile_steps"),
    ("REGRESSION rules that double when they are built", "lark", "start: " + " | ".join(f"r{n}" for n in range(500)) + "\n" + "".join(f"r{n}: /(é|b)*é(é|b){{14}}{n}/\n" for n in range(500)), "compile_steps"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("syntax", "text", "limit"), [row[1:] for row in REFUSED],
    ids=[f"{row[1]}: {row[0]}" for row in REFUSED],
)  # fmt: skip
def test_a_grammar_beyond_a_limit_is_refused_by_its_name(
    compiler: engine.Compiler, syntax: str, text: str, limit: str
) -> None:
    limits = engine.Limits(compile_steps=100_000) if limit == "compile_steps" else engine.Limits()
    with pytest.raises(LimitExceeded) as caught:
        compiler.compile_grammar(text, syntax, budget=engine.WorkBudget(limits))
    assert caught.value.limit == limit
    assert caught.value.got > caught.value.maximum == getattr(limits, limit)


@pytest.mark.parametrize(
    ("syntax", "text"),
    [
        ("lark", "start: " + "(" * 120 + '"a"' + ")*" * 120),
        ("lark", "start: A\nA: " + "~(" * 60 + '"a"' + ")" * 60),
        ("lark", "start: A0\n" + "".join(f"A{n}: ~A{n + 1}\n" for n in range(60)) + 'A60: "a"'),
        ("ebnf", "root ::= " + "(" * 120 + '"a"' + ")*" * 120),
    ],
)
def test_what_is_within_the_depth_does_not_depend_on_how_deep_the_caller_stands(
    syntax: str, text: str
) -> None:
    def below(frames: int) -> None:
        if frames:
            return below(frames - 1)
        build(syntax, text)
        return None

    below(0)
    below(min(200, sys.getrecursionlimit() // 5))


# -- token sets ------------------------------------------------------------------------------------


def test_a_set_of_tokens_stays_a_range() -> None:
    """REGRESSION: it became a list of all its ids, 1 MB in a large vocabulary."""
    stop = min(STOPS)
    nodes = list(build("lark", f"start: <[5,0-3,2-4,{stop}]> <[^7-9]> <[*]>").nodes)
    assert (ONE_OF, ((0, 5), (stop, stop))) in nodes
    assert (TOKENS_EXCEPT, ((7, 9), *((number, number) for number in sorted(STOPS)))) in nodes


# (a set, whether the text ends after it, the ids that a mask allows)
SETS: list[tuple[str, bool, set[int]]] = [
    ("<[300-1200]>", True, set(range(300, 1_201))),
    (f"<[0-{LAST}]>", True, set(range(LAST + 1))),
    (f"<[0-{LAST}]>", False, set(range(LAST + 1)) - set(STOPS)),
    ("<[300-310,900-1000]>", False, {*range(300, 311), *range(900, 1_001)}),
    ("<[^300-1200]>", True, set(range(LAST + 1)) - set(range(300, 1_201)) - set(STOPS)),
    ("<[*]>", False, set(range(LAST + 1)) - set(STOPS)),
]


@pytest.mark.parametrize(("tokens", "is_last", "allowed"), SETS)
def test_a_long_range_allows_its_tokens(
    compiler: engine.Compiler, tokens: str, is_last: bool, allowed: set[int]
) -> None:
    made = compiler.compile_grammar(f"start: {tokens}" + ("" if is_last else ' "a"'), "lark")
    matcher, mask = engine.Matcher(made), new_mask(made.vocabulary)
    matcher.fill_bitmask(mask)
    assert set(bits(mask)) == allowed
    for token in (0, 299, 300, 310, 311, 899, 1_000, 1_200, 1_201, LAST, *STOPS):
        again = engine.Matcher(made)
        assert again.accept_token(token) == (token in allowed), token


def test_tokens_that_leave_none_allow_nothing(compiler: engine.Compiler) -> None:
    with pytest.raises(SpecError, match="nothing can satisfy"):
        compiler.compile_grammar(f"start: <[^0-{LAST}]>", "lark")


def test_tokens_inside_json_strings_are_refused_unbuilt() -> None:
    text = f"start: <[0-{LAST}]>"
    with pytest.raises(SpecError, match="inside a JSON string"):
        engine.Compiler(
            engine.Vocabulary(MANY, stop_token_ids=list(STOPS), special_token_ids=list(STOPS))
        ).compile_structural_tag(
            {
                "type": "structural_tag",
                "format": {
                    "type": "grammar",
                    "grammar": text,
                    "switchyard": {"version": 7, "syntax": "lark", "inside_json": True},
                },
            }
        )


# -- memory ----------------------------------------------------------------------------------------

LEFT = [
    ("lark", 'start: %lark { start: "a" } a::1\na::_: <[1-5]> %json {"type": "string"} %json 5'),
    ("lark", "start: a::1 /(/\na::_: <[1-5]>"),
    ("lark", r"start: %lark { start: A } " + 'A: "a"' + "*" * 1_000),
    ("ebnf", 'root ::= Token(1) Regex("(")'),
    ("gbnf", "root ::= <[1]> ("),
]


@pytest.mark.parametrize(("syntax", "text"), LEFT)
def test_a_refused_grammar_is_freed_at_once(
    compiler: engine.Compiler, syntax: str, text: str
) -> None:
    """REGRESSION: reference cycles kept it until the next full garbage collection."""
    gc.collect()
    gc.disable()
    try:
        before = sum(type(each) is Grammar for each in gc.get_objects())
        try:
            compiler.compile_grammar(text, syntax)
            raise AssertionError("it is not refused")
        except EngineError:
            pass
        assert sum(type(each) is Grammar for each in gc.get_objects()) == before
    finally:
        gc.enable()
