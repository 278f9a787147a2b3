"""Automata over characters: what they accept, and the bounds on making them."""

import itertools

import pytest

from engine.errors import LimitExceeded
from engine.frontends.char_automaton import (
    Bound,
    CharAutomaton,
    excluding,
    intersection,
    without,
    words,
)
from engine.frontends.char_lengths import with_length
from engine.frontends.char_subsets import from_tree
from engine.frontends.regex_syntax import parse
from engine.limits import Limits
from tests.engine.frontends.recognise import accepts, language, quoted

ROOM = Bound(1_000, "/p")
TEXTS = ["".join(letters) for n in range(5) for letters in itertools.product("ab", repeat=n)]


def matching(pattern: str, bound: Bound = ROOM) -> CharAutomaton:
    return from_tree(parse(pattern, pointer="", limits=Limits()), bound, search=False)


def accepted(automaton: CharAutomaton) -> list[str]:
    return [text for text in TEXTS if automaton.accepts(text)]


def test_an_intersection_accepts_what_both_accept() -> None:
    left, right = matching("a*b*"), matching("(ab|ba|aa)*")
    assert accepted(intersection(left, right, ROOM)) == ["", "aa", "ab", "aaaa", "aaab"]


def test_an_empty_automaton_has_no_states() -> None:
    nothing = intersection(matching("a+"), matching("b+"), ROOM)
    assert nothing.edges == [] and not nothing.accepts("")
    assert intersection(nothing, matching("a*"), ROOM).edges == []
    assert with_length(matching("a"), 2, 3, ROOM).edges == []
    assert matching("[]").edges == []


def test_lengths_are_counted_in_characters() -> None:
    assert accepted(with_length(matching("a*"), 2, 3, ROOM)) == ["aa", "aaa"]
    assert accepted(with_length(matching("(ab)*"), 1, None, ROOM)) == ["ab", "abab"]
    assert with_length(matching(".*"), 2, 2, ROOM).accepts("é😀")


def test_a_complement_accepts_all_other_texts() -> None:
    ends_in_a = matching("[^]*a")
    assert accepted(without(ends_in_a)) == [text for text in TEXTS if not text.endswith("a")]
    assert without(ends_in_a).accepts("😀")
    everything = without(words([]))
    assert accepted(everything) == TEXTS


@pytest.mark.parametrize("pattern", ["a*b*", "(a|b)*abb", "(ab?){2,4}", "(aa|b)*|ab", "[]"])
def test_a_minimal_automaton_accepts_the_same_with_no_more_states(pattern: str) -> None:
    automaton = matching(pattern)
    minimal = automaton.minimal()
    assert accepted(minimal) == accepted(automaton)
    assert len(minimal.edges) <= len(automaton.edges)
    assert len(minimal.minimal().edges) == len(minimal.edges)


@pytest.mark.parametrize(
    "names",
    [["a"], ["a", "ab", "b"], [""], ["name", "names", "n"], ["é", "😀x"], ['q"', "\\", "/"]],
)
def test_excluded_names_are_excluded_in_every_spelling(names: list[str]) -> None:
    found = language(lambda g: g.seq(g.bytes(b'"'), excluding(names).to_node(g), g.bytes(b'"')))
    near = (
        {name + "x" for name in names}
        | {name[:-1] for name in names}
        | {"a", "zz", "é", "name", "x/y"}
    )
    for text in {*names, *near}:
        assert accepts(found, quoted(text)) == (text not in names), text
    assert not accepts(found, '"\\ud800"')


def test_states_are_bounded() -> None:
    pattern = "a{30}"
    matching(pattern, Bound(32, "/p"))
    with pytest.raises(LimitExceeded) as caught:
        matching(pattern, Bound(30, "/p"))
    assert (caught.value.limit, caught.value.maximum, caught.value.pointer) == (
        "pattern_states",
        30,
        "/p",
    )
    with pytest.raises(LimitExceeded):
        with_length(matching("[ab]*"), 0, 50, Bound(50, "/p"))
    assert with_length(matching("[ab]*"), 0, 50, Bound(51, "/p")).accepts("a" * 50)


def test_the_work_on_large_subsets_is_bounded_too() -> None:
    """Every subset of (a?){n}a{n} has about n members; they count although there are few subsets."""
    with pytest.raises(LimitExceeded):
        matching("(?:a?){500}a{500}", Bound(2_000, "/p"))
