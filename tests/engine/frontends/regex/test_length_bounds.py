"""Patterns with bounds on their length have exactly the texts that fit both, however counted."""

import itertools
import random
import re

import pytest

import engine
from engine.frontends.regex.char_automaton import Bound, CharAutomaton, bounded_node, with_length
from engine.frontends.regex.char_nfa import from_tree
from engine.frontends.regex.regex_syntax import parse
from engine.grammar.ir import BOUNDED, GRAPH, Grammar, Node
from engine.limits import Limits
from tests.engine.frontends.random_schemas import byte_vocabulary
from tests.engine.harness import bits, new_mask, walk_beside
from tests.reference import Recogniser

LETTERS = b"abc"
PATTERNS = [
    "a*", "(ab)*", "(ab|c)+", "a+b?", "a(b|c+)", "(aa|bbb)*", "(aaa)*b", "a?b?c?", "[ab]+c[ab]*",
    "", "(a|bc*)+c", "ab|c*a", "(a|b)*abb", "a{3}|b{5,}", "(a(b(c)?)?)*",
]  # fmt: skip
BOUNDS = [(0, 0), (0, 3), (1, None), (2, 2), (3, 5), (4, 4), (4, None), (5, 6), (0, 5), (6, 3)]


def automaton(pattern: str) -> CharAutomaton:
    return from_tree(
        parse(pattern, pointer="", limits=Limits()), Bound(20_000, ""), search=False
    ).minimal()


def made(pattern: str, minimum: int, maximum: int | None) -> tuple[Grammar, Node]:
    grammar = Grammar()
    node = bounded_node(grammar, automaton(pattern), minimum, maximum, Bound(20_000, ""))
    grammar.root = grammar.rule("root", grammar.seq(grammar.bytes(b'"'), node, grammar.bytes(b'"')))
    return grammar, node


def texts(pattern: str, minimum: int, maximum: int | None, longest: int = 7) -> set[str]:
    words = ("".join(t) for n in range(longest + 1) for t in itertools.product("abc", repeat=n))
    return {
        word
        for word in words
        if minimum <= len(word) and (maximum is None or len(word) <= maximum)
        and re.fullmatch(pattern, word)
    }  # fmt: skip


def found_texts(
    compiled: engine.Compiled, longest: int, begin: bytes = b"", end: bytes = b""
) -> set[str]:
    """All texts of letters up to a length, by every byte that a mask allows."""
    found, mask = set(), new_mask(byte_vocabulary())
    todo = [(begin, engine.Matcher(compiled))]
    assert todo[0][1].accept_bytes(begin)
    while todo:
        text, matcher = todo.pop()
        matcher.fill_bitmask(mask)
        allowed = bits(mask)
        assert len(allowed), text
        if not end and matcher.can_stop():
            found.add(text.decode())
        for byte in LETTERS + end:
            fork = matcher.fork()
            assert fork.accept_bytes(bytes((byte,))) == (byte in allowed)
            if byte in allowed and byte in end:
                found.add(text[len(begin) :].decode())
            elif byte in allowed and len(text) < len(begin) + longest:
                todo.append((text + bytes((byte,)), fork))
    return found


@pytest.mark.share
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("minimum", "maximum"), BOUNDS)
@pytest.mark.parametrize("count_registers", [True, False], ids=["registers", "written out"])
def test_texts_are_those_that_fit_both(
    pattern: str, minimum: int, maximum: int | None, count_registers: bool
) -> None:
    grammar, node = made(pattern, minimum, maximum)
    expected = texts(pattern, minimum, maximum)
    if grammar.is_fail(node):
        assert not expected
        return
    features = engine.Features(count_registers=count_registers)
    compiled = engine.Compiler(byte_vocabulary(), features=features)._finish(grammar)
    assert found_texts(compiled, 7, b'"', b'"') == expected


# repetitions of wide classes, which are counted; many where an iteration may go on after it could
# have ended, some where its end is ambiguous
COUNTED_PATTERNS = [
    "(?:[^c]+c+){2,3}", "(?:[^c]+c+){0,2}[^c]+", "(?:[^c]+c+){1,2}c", "(?:[^c]c?){1,4}",
    "(?:[^c]+){2,3}", "(?:[^ab](?:a|ab)){1,3}", "(?:[^c]a*b*){2,4}c*", "(?:c[^c]*){3}",
    "(?:c[^c]*){2,}", "(?:c[^c]*){0,3}c", "(?:[^a]+a(?:ba)*){1,2}b?", "(?:[^c]+c+){3}a*",
    "(?:(?:[^c]+c+){1,2}a){1,2}", "(?:[^c]+c*c){2}[ab]", "(?:(?:[^c]|ab)+c+){1,2}",
    "(?:[^c]?c+){2,3}",
]  # fmt: skip


@pytest.mark.parametrize("pattern", COUNTED_PATTERNS)
@pytest.mark.parametrize("count_registers", [True, False], ids=["registers", "written out"])
def test_iterations_are_counted(pattern: str, count_registers: bool) -> None:
    features = engine.Features(count_registers=count_registers)
    compiled = engine.Compiler(byte_vocabulary(), features=features).compile_regex(pattern)
    assert found_texts(compiled, 7) == texts(pattern, 0, None)


def test_words_are_counted_by_tables() -> None:
    """REGRESSION: white space that may go on made the rule ambiguous, so that rows walked it."""
    schema = {"type": "string", "pattern": r"^(?:\S+\s+){0,99}\S+$"}
    compiled = engine.Compiler(byte_vocabulary()).compile_json_schema(schema)
    assert engine.Matcher(compiled).accept_bytes(b'"some words')
    rule = next(rule for rule in engine.inspect(compiled).rules if rule.name == "repeat{0,99}")
    assert rule.automaton == "tabled"


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(30))
def test_bytes_allowed_are_those_of_the_reference(seed: int) -> None:
    """In every spelling of a character, on walks of noise."""
    draw = random.Random(seed)
    pattern = draw.choice(PATTERNS).replace("b", draw.choice("bé漢😀")).replace("c", "[c-é]")
    grammar, node = made(pattern, *draw.choice(BOUNDS))
    if grammar.is_fail(node):
        return
    compiled = engine.Compiler(byte_vocabulary())._finish(grammar)
    walk_beside(compiled, Recogniser(grammar), draw, walks=4, length=40)


# (pattern, least, most, the states of the graph, the bounds that registers count)
COUNTED = [
    ("(ab|c)+", 0, 1000, 2, (0, 1000)),
    ("(ab|c)+", 1, 1000, 2, (0, 1000)),
    ("(ab|c)+", 9, 1000, 2, (9, 1000)),
    ("[ab]+c[ab]*", 0, 1000, 3, (0, 1000)),
    ("a?b?c?", 0, 1000, None, None),
]


@pytest.mark.parametrize(("pattern", "least", "most", "states", "bounds"), COUNTED)
def test_registers_count(
    pattern: str, least: int, most: int, states: int | None, bounds: tuple[int, int] | None
) -> None:
    """REGRESSION: a pattern's states were multiplied by the bound."""
    grammar, node = made(pattern, least, most)
    kind, *fields = grammar.nodes[node]
    assert kind == (GRAPH if bounds is None else BOUNDED)
    if bounds is not None:
        assert tuple(fields[1:]) == bounds
        assert states is None or grammar.nodes[fields[0]][1] <= states + 1


def test_lengths_that_do_not_all_occur_are_counted_by_states() -> None:
    grammar, node = made("(aaa)*b", 6, 7)
    kind, graph, minimum, maximum = grammar.nodes[node]
    assert (kind, minimum, maximum) == (BOUNDED, 0, 7)
    least = with_length(automaton("(aaa)*b"), 6, None, Bound(99, ""))
    assert grammar.nodes[graph][1] == len(least.edges)


def test_what_is_built_does_not_grow_with_the_bound() -> None:
    schema = {"type": "string", "format": "email", "minLength": 5}
    sizes = []
    for most in (100, 10_000):
        made_ = engine.Compiler(byte_vocabulary()).compile_json_schema(
            {**schema, "maxLength": most}
        )
        matcher = engine.Matcher(made_)
        assert matcher.accept_bytes(b'"ab@cd')
        sizes.append(made_.stats()["states"])
    assert sizes[0] == sizes[1]
