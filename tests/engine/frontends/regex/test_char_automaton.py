"""Automata over characters: what they accept, and the bounds on making them."""

import itertools
import random

import pytest

from engine.errors import LimitExceeded
from engine.frontends.regex.char_automaton import (
    Bound,
    CharAutomaton,
    before,
    intersection,
    is_empty,
    memberships,
    shortest,
    with_length,
    words,
)
from engine.frontends.regex.char_nfa import from_tree
from engine.frontends.regex.regex_syntax import parse
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
    assert accepted(intersection([left, right], [], ROOM)) == ["", "aa", "ab", "aaaa", "aaab"]


def test_an_empty_automaton_has_no_states() -> None:
    nothing = intersection([matching("a+"), matching("b+")], [], ROOM)
    assert nothing.edges == [] and not nothing.accepts("")
    assert intersection([nothing, matching("a*")], [], ROOM).edges == []
    assert intersection([], [matching("[^]*")], ROOM).edges == []
    assert with_length(matching("a"), 2, 3, ROOM).edges == []
    assert matching("[]").edges == []


#: expressions over a and b, some of which accept nothing or the empty text
EXPRESSIONS = (
    "[]",
    "",
    "a",
    "a*b",
    "(ab|ba)*",
    "[ab]*b",
    "(a|bb)+",
    "[ab]{2,3}",
    "[^]*",
    "(aa)*b?",
)


@pytest.mark.parametrize("pattern", EXPRESSIONS)
def test_the_shortest_texts_have_no_accepted_beginning(pattern: str) -> None:
    automaton = matching(pattern)
    assert accepted(shortest(automaton)) == [
        text
        for text in accepted(automaton)
        if not any(automaton.accepts(text[:k]) for k in range(len(text)))
    ]


@pytest.mark.parametrize(("pattern", "end"), list(itertools.product(EXPRESSIONS, repeat=2)))
def test_a_quotient_accepts_what_an_end_completes(pattern: str, end: str) -> None:
    automaton, ends = matching(pattern), matching(end)
    assert accepted(before(automaton, ends, Bound(1_000, "/p"))) == [
        text for text in TEXTS if any(automaton.accepts(text + rest) for rest in accepted(ends))
    ]


def test_a_quotient_is_bounded() -> None:
    with pytest.raises(LimitExceeded) as caught:
        before(matching("(a|b)*a(a|b){5}"), matching("(a|b)*b(a|b){5}"), Bound(60, "/p"))
    assert (caught.value.limit, caught.value.pointer) == ("pattern_states", "/p")


def test_lengths_are_counted_in_characters() -> None:
    assert accepted(with_length(matching("a*"), 2, 3, ROOM)) == ["aa", "aaa"]
    assert accepted(with_length(matching("(ab)*"), 1, None, ROOM)) == ["ab", "abab"]
    assert with_length(matching(".*"), 2, 2, ROOM).accepts("é😀")


def test_a_complement_accepts_all_other_texts() -> None:
    others = intersection([], [matching("[^]*a")], ROOM)
    assert accepted(others) == [text for text in TEXTS if not text.endswith("a")]
    assert others.accepts("😀")
    everything = intersection([], [words([])], ROOM)
    assert accepted(everything) == TEXTS


PATTERNS = ["a*b*", "(ab|ba|aa)*", "[^]*a", "[^a]*", "(a|b){2}", "[]", "[^]*", "b?a+", "ab|abab"]


@pytest.mark.parametrize("seed", range(100))
def test_a_product_accepts_what_its_parts_say(seed: int) -> None:
    rng = random.Random(seed)
    accepting = [matching(pattern) for pattern in rng.sample(PATTERNS, rng.randrange(4))]
    rejecting = [matching(pattern) for pattern in rng.sample(PATTERNS, rng.randrange(4))]
    found = intersection(accepting, rejecting, ROOM)
    assert accepted(found) == [
        text
        for text in TEXTS
        if all(each.accepts(text) for each in accepting)
        and not any(each.accepts(text) for each in rejecting)
    ]
    assert is_empty(accepting, rejecting, ROOM) == (found.size == 0)


@pytest.mark.parametrize("seed", range(30))
def test_classes_tell_which_automata_accept_a_text(seed: int) -> None:
    """A set of automata has a class exactly if some text fits those and no other."""
    rng = random.Random(seed)
    automata = [matching(pattern) for pattern in rng.sample(PATTERNS, rng.randrange(1, 6))]
    classes = memberships(automata, Bound(1_000, "/p"), 1_000)
    assert classes is not None
    met = {tuple(c >> k & 1 for c in classes) for k in range(max(map(int.bit_length, classes)))}
    for chosen in itertools.product((0, 1), repeat=len(automata)):
        inside = [each for each, is_in in zip(automata, chosen, strict=True) if is_in]
        outside = [each for each, is_in in zip(automata, chosen, strict=True) if not is_in]
        if inside:
            assert (chosen in met) != is_empty(inside, outside, Bound(1_000, "/p"))


def test_classes_are_bounded() -> None:
    """Patterns that are found anywhere have a class for each set of them."""
    automata = [matching(f"[^]*{letter}[^]*").minimal() for letter in "abcdef"]
    assert memberships(automata, Bound(1_000, "/p"), 63) is None
    assert memberships(automata, Bound(1_000, "/p"), 64) is not None


def test_a_product_is_made_no_further_than_to_its_first_text() -> None:
    long = matching("[ab]*c{40}")
    assert not is_empty([], [long], Bound(2, "/p"))
    with pytest.raises(LimitExceeded):
        intersection([], [long], Bound(30, "/p"))
    with pytest.raises(LimitExceeded):
        is_empty([long], [long], Bound(30, "/p"))


@pytest.mark.parametrize("pattern", ["a*b*", "(a|b)*abb", "(ab?){2,4}", "(aa|b)*|ab", "[]"])
def test_a_minimal_automaton_accepts_the_same_with_no_more_states(pattern: str) -> None:
    automaton = matching(pattern)
    minimal = automaton.minimal()
    assert accepted(minimal) == accepted(automaton)
    assert len(minimal.edges) <= len(automaton.edges)
    assert len(minimal.minimal().edges) == len(minimal.edges)


def random_automaton(rng: random.Random) -> CharAutomaton:
    """With ranges that touch, overlap those of other states, and lead to one target in pieces."""
    n = rng.randrange(1, 12)
    edges = []
    for _ in range(n):
        cuts = [*sorted(rng.sample(range(0x61, 0x6C), rng.randrange(6))), 0x6C]
        pieces = [(low, cut - 1) for low, cut in itertools.pairwise(cuts)]
        kept = [each for each in pieces if rng.random() < 0.8]
        rng.shuffle(kept)
        edges.append([(((low, high),), rng.randrange(n)) for low, high in kept])
    return CharAutomaton(edges, rng.sample(range(n), rng.randrange(n + 1)))


def moves_of(automaton: CharAutomaton, state: int) -> dict[int, int]:
    """Where each character leads."""
    return {
        c: target
        for ranges, target in automaton.edges[state]
        for low, high in ranges
        for c in range(low, high + 1)
    }


def parts_of(automaton: CharAutomaton) -> list[int]:
    """The part of each state, by Moore's algorithm over single characters; parts are numbered by
    their first members.
    """
    moves = [moves_of(automaton, state) for state in range(automaton.size)]
    parts = [int(state in automaton.finals) for state in range(automaton.size)]
    while True:
        numbers: dict[object, int] = {}
        refined = []
        for state, out in enumerate(moves):
            key = parts[state], tuple(sorted((c, parts[target]) for c, target in out.items()))
            refined.append(numbers.setdefault(key, len(numbers)))
        if refined == parts:
            return parts
        parts = refined


@pytest.mark.parametrize("seed", range(200))
def test_a_minimal_automaton_has_a_state_for_each_part_in_order(seed: int) -> None:
    automaton = random_automaton(random.Random(seed))
    minimal, parts = automaton.minimal(), parts_of(automaton)
    assert minimal.size == max(parts) + 1
    for state, part in enumerate(parts):
        assert (part in minimal.finals) == (state in automaton.finals)
        expected = {c: parts[target] for c, target in moves_of(automaton, state).items()}
        assert moves_of(minimal, part) == expected
    again = minimal.minimal()
    assert (again.edges, again.finals) == (minimal.edges, minimal.finals)


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("[ab]{1,800}", 801),
        # REGRESSION: took a pass over all states for each of them, and was given up
        (r"(?:\S+\s+){0,199}\S+", 400),
        (r"(?:\S+\s+){0,400}\S+", 802),
    ],
)
def test_long_counts_become_minimal(pattern: str, states: int) -> None:
    assert matching(pattern, Bound(10_000, "/p")).minimal().size == states


@pytest.mark.parametrize(
    "names",
    [["a"], ["a", "ab", "b"], [""], ["name", "names", "n"], ["é", "😀x"], ['q"', "\\", "/"]],
)
def test_excluded_names_are_excluded_in_every_spelling(names: list[str]) -> None:
    others = intersection([], [words(names)], ROOM)
    found = language(lambda g: g.seq(g.bytes(b'"'), others.to_node(g), g.bytes(b'"')))
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
