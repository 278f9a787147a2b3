"""Whole matches and searches, with anchors anywhere, against Python's ``re``."""

import random
import re

import pytest

from engine.errors import LimitExceeded
from engine.frontends.regex.char_automaton import Bound, intersection, with_length
from engine.frontends.regex.char_nfa import from_tree
from engine.frontends.regex.front_end import build_regex, emit_search, search_automaton
from engine.frontends.regex.regex_syntax import Repeat, factored, parse
from engine.grammar.ir import GRAPH, REPEAT, Grammar, Node
from engine.limits import Limits
from engine.native.resources import WorkBudget
from tests.engine.frontends.recognise import accepts, language, quoted


def random_pattern(rng: random.Random, depth: int = 0) -> str:
    kind = rng.random()
    if depth > 3 or kind < 0.35:
        return rng.choice(["a", "b", "ab", ".", "[ab]", "[^a]", "\\d", "x"])
    inner = random_pattern(rng, depth + 1)
    if kind < 0.5:
        return inner + random_pattern(rng, depth + 1)
    if kind < 0.65:
        return f"(?:{inner}|{random_pattern(rng, depth + 1)})"
    if kind < 0.8:
        return f"(?:{inner})" + rng.choice(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"])
    if kind < 0.96:
        return rng.choice([f"^{inner}", f"{inner}$"])
    return rng.choice(["^", "$", "(?:^|a)", "(?:b|$)"])


def build_search(grammar: Grammar, pattern: str, *, pointer: str = "") -> Node:
    tree = parse(pattern, pointer=pointer, limits=grammar.limits, budget=grammar.budget)
    return emit_search(grammar, tree, pointer)


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_mean_what_they_mean_to_python(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        pattern = random_pattern(rng)
        oracle = re.compile(pattern.replace("$", "\\Z"))
        whole = language(lambda g, p=pattern: build_regex(g, p))
        search = language(
            lambda g, p=pattern: g.seq(g.bytes(b'"'), build_search(g, p), g.bytes(b'"'))
        )
        automaton = search_automaton(parse(pattern, pointer="", limits=Limits()), Bound(9_999, ""))
        complement = intersection([], [automaton], Bound(9_999, ""))
        minimal = automaton.minimal()
        bounded = with_length(automaton, 1, 3, Bound(9_999, ""))
        for _ in range(10):
            text = "".join(rng.choice("aabbx1") for _ in range(rng.randrange(7)))
            found = bool(oracle.search(text))
            assert accepts(whole, text) == bool(oracle.fullmatch(text)), (pattern, text)
            assert accepts(search, f'"{text}"') == found, (pattern, text)
            assert accepts(search, quoted(text)) == found, (pattern, text)
            assert automaton.accepts(text) == minimal.accepts(text) == found, (pattern, text)
            assert complement.accepts(text) != found, (pattern, text)
            assert bounded.accepts(text) == (found and 1 <= len(text) <= 3), (pattern, text)


@pytest.mark.parametrize("seed", range(4))
def test_alternatives_with_common_beginnings_mean_the_same(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(60):
        words = ["".join(rng.choice("ab") for _ in range(rng.randrange(6))) for _ in range(8)]
        pattern = "|".join(words) + f"|({'|'.join(words[:4])}){random_pattern(rng)}"
        tree = parse(pattern.replace("^", "").replace("$", ""), pointer="", limits=Limits())
        plain, shared = (
            from_tree(each, Bound(9_999, ""), search=False)
            for each in (tree, factored(tree, WorkBudget()))
        )
        for _ in range(20):
            text = "".join(rng.choice("abx1") for _ in range(rng.randrange(7)))
            assert plain.accepts(text) == shared.accepts(text), (pattern, text)


# (pattern, the counts of one repetition, None where it takes two)
COUNTS = [
    ("(a{2}){3}", (6, 6)), ("(a{1,9}){1,9}", (1, 81)), ("(a+)?", (0, None)), ("(a*)*", (0, None)),
    ("(a{2,3}){2,3}", (4, 9)), ("(a{2,})+", (2, None)), ("(a{3,5}){2}", (6, 10)), ("(a?){7}", (0, 7)),
    ("((a{1,99999}){1,99999}){1,99999}", (1, None)), ("(a{2})*", None), ("(a{2,3})?", None),
    ("(a{5,6}){1,2}", None), ("(a{999999999}){999999999}", None),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "counts"), COUNTS)
def test_counts_of_counts_are_one_count_where_that_is_the_same(
    pattern: str, counts: tuple[int, int | None] | None
) -> None:
    tree = parse(pattern, pointer="", limits=Limits())
    assert isinstance(tree, Repeat)
    assert isinstance(tree.body, Repeat) == (counts is None)
    assert counts in (None, (tree.minimum, tree.maximum))


# (pattern, texts in which it is found, texts in which it is not)
SEARCHES = [
    ("b", ["b", "abc", "bb"], ["", "ac"]),
    ("^b", ["b", "bc"], ["ab", ""]),
    ("b$", ["b", "ab"], ["bc", "b\n"]),
    ("^b$", ["b"], ["ab", "bc", "bb"]),
    ("^$", [""], ["a"]),
    ("^|a", ["", "b"], []),
    ("", ["", "a\n"], []),
    ("^portal|console$", ["portals", "a console"], ["a portal", "consoles"]),
    ("(^a|b)c", ["ac", "xbc", "xacbc"], ["xac", "c"]),
    ("a(b$|c)", ["ab", "xab", "acx"], ["abx"]),
    ("(^a$)|(^b$)", ["a", "b"], ["ab", ""]),
    ("a^b", [], ["ab", "a^b", ""]),
    ("$a", [], ["a", "$a"]),
    ("a*^b", ["b", "bc"], ["ab", "aab"]),
    ("a$b*", ["a", "xa"], ["ab"]),
    ("(^x)*a", ["a", "xa", "ba"], ["b"]),
    ("(a|^)+b", ["b", "ab", "xab"], ["xb"]),
    ("$^", [""], ["a"]),
    ("[^ ]", ["a", " a "], ["", "  "]),
    ("a{2,5}", ["aa", "baab"], ["aba"]),
    ("(foo|ba[rz])[0-9]+", ["foo1", "xbaz99"], ["foo", "bar"]),
]


@pytest.mark.parametrize(("pattern", "good", "bad"), SEARCHES, ids=[case[0] for case in SEARCHES])
def test_a_search_finds_a_match_anywhere_unless_anchored(
    pattern: str, good: list[str], bad: list[str]
) -> None:
    found = language(lambda g: build_search(g, pattern))
    for text in good:
        assert accepts(found, text.replace("\n", "\\n")), text
    for text in bad:
        assert not accepts(found, text.replace("\n", "\\n")), text


@pytest.mark.parametrize(
    ("pattern", "minimum", "maximum"),
    [
        ("^[a-z]{1,4000}$", 1, 4000),
        ("^.{0,65536}$", 0, 65536),
        ("^\\d+$", 1, -1),
        ("^[ab]*", None, None),
    ],
)
def test_a_counted_class_stays_one_repetition(
    pattern: str, minimum: int | None, maximum: int | None
) -> None:
    """Any text follows ^[ab]*, so it includes the repetition."""
    grammar = Grammar()
    node = grammar.nodes[build_search(grammar, pattern)]
    assert node[0] == REPEAT
    assert node[2:] == ((0, -1) if minimum is None else (minimum, maximum))


def test_a_search_is_deterministic_where_that_is_small() -> None:
    grammar = Grammar()
    node = grammar.nodes[build_search(grammar, "foo|bar")]
    assert node[0] == GRAPH
    leaving = [(source, grammar.nodes[edge][1]) for source, edge, _ in node[2]]
    for number, (source, ranges) in enumerate(leaving):
        for other, others in leaving[:number]:
            overlap = any(a <= d and c <= b for a, b in ranges for c, d in others)
            assert source != other or not overlap


def test_a_search_that_would_grow_is_emitted_as_it_stands() -> None:
    """[ab]*a[ab]{15} needs 2**15 states to be deterministic."""
    found = language(lambda g: build_search(g, "a[ab]{15}c"))
    assert accepts(found, "xxa" + "ab" * 7 + "bcxx")
    assert not accepts(found, "xxa" + "ab" * 7 + "cxx")


def test_anchors_in_the_middle_of_a_pattern_that_grows_are_refused() -> None:
    with pytest.raises(LimitExceeded) as caught:
        build_search(
            Grammar(Limits(pattern_states=100)), "(a|^)[ab]*a[ab]{15}c", pointer="/pattern"
        )
    assert (caught.value.limit, caught.value.maximum) == ("pattern_states", 100)
    assert caught.value.pointer == "/pattern"


def test_outside_json_a_regex_is_plain_text() -> None:
    found = language(lambda g: build_regex(g, r'"\\x\n'))
    assert accepts(found, '"\\x\n')
    assert not accepts(found, '\\"\\\\x\\n')


def test_inside_json_a_regex_matches_every_spelling() -> None:
    found = language(lambda g: build_regex(g, r'["\\/\n]é😀', inside_json=True))
    for text in (
        '\\"é😀',
        "\\u0022\\u00E9\\ud83d\\ude00",
        "\\\\\\u00e9😀",
        "/é😀",
        "\\/é😀",
        "\\né😀",
    ):
        assert accepts(found, text), text
    for text in ('"é😀', "\né😀", "\\é😀", "/é\\ud83d", "/é\\ud83d\\ud83d"):
        assert not accepts(found, text), text
