"""Nested repetitions become one repetition where that changes no language."""

from collections.abc import Callable
from itertools import product

import pytest

import engine
from engine.grammar.ir import ALT, EMPTY, REPEAT, Grammar
from tests.engine.harness import bits, new_mask
from tests.vocabularies import small_vocabulary

Compile = Callable[[engine.Compiler], engine.Compiled]

#: lengths beyond this one are not compared
LONGEST = 40
BOUNDS = [(low, high) for low, high in product(range(4), (1, 2, 3, 5, None)) if low <= (high or 9)]


def lengths(grammar: Grammar, node: int) -> set[int]:
    """The lengths up to ``LONGEST`` of the words of a node over one letter."""
    kind, *operands = grammar.nodes[node]
    if kind == EMPTY:
        return {0}
    if kind == ALT:
        return set().union(*(lengths(grammar, each) for each in operands[0]))
    if kind != REPEAT:
        return {1}
    body, low, high = operands
    inner = lengths(grammar, body)
    found, reached = set(), {0}
    for count in range(LONGEST + 1 if high == -1 else high + 1):
        if count >= low:
            found |= reached
        reached = {a + b for a in reached for b in inner if a + b <= LONGEST}
    return found


def repeated(inner: set[int], low: int, high: int | None) -> set[int]:
    """The lengths of so many words of these lengths."""
    reached, found = {0}, set()
    for count in range((LONGEST if high is None else high) + 1):
        if count >= low:
            found |= reached
        reached = {a + b for a in reached for b in inner if a + b <= LONGEST}
    return found


@pytest.mark.parametrize("inner", BOUNDS)
@pytest.mark.parametrize("is_optional", [False, True])
def test_a_repeated_repetition_has_the_same_words(
    inner: tuple[int, int | None], is_optional: bool
) -> None:
    for outer in BOUNDS:
        grammar = Grammar()
        once = grammar.repeat(grammar.bytes(b"a"), *inner)
        body = grammar.optional(once) if is_optional else once
        wanted = repeated(lengths(grammar, body), *outer)
        assert lengths(grammar, grammar.repeat(body, *outer)) == wanted, (inner, outer)


@pytest.mark.parametrize(
    ("inner", "outer", "bounds"),
    [
        ((0, 9), (0, 9), (0, 81)),
        ((1, 9), (0, 9), (0, 81)),
        ((2, 3), (1, 9), (2, 27)),
        ((0, None), (1, None), (0, -1)),
        ((3, 3), (2, 2), (6, 6)),
        ((0, 1 << 16), (0, 1 << 16), (0, -1)),
        # 0, or 2 and more
        ((2, 3), (0, 9), None),
        ((3, 3), (1, 2), None),
        # more than any text has
        ((1 << 16, 1 << 16), (1 << 16, 1 << 16), None),
    ],
)
def test_bounds_multiply_where_no_count_is_missing(
    inner: tuple[int, int | None], outer: tuple[int, int | None], bounds: tuple[int, int] | None
) -> None:
    grammar = Grammar()
    letter = grammar.bytes(b"a")
    once = grammar.repeat(letter, *inner)
    wanted = (once, *outer) if bounds is None else (letter, *bounds)
    assert grammar.nodes[grammar.repeat(once, *outer)] == (REPEAT, *wanted)


DEPTH = 60


def deep_tag() -> dict[str, object]:
    inner: dict[str, object] = {"type": "const_string", "value": "a"}
    for _ in range(DEPTH):
        inner = {"type": "repeat", "content": inner, "min": 0, "max": 9}
    return {"type": "structural_tag", "format": inner}


NESTED = "(" * DEPTH + '"a"' + "){0,9}" * DEPTH
OPTIONAL = "((" * DEPTH + '"a"' + ")?){1,9}" * DEPTH


@pytest.mark.parametrize(
    "compile_nested",
    [
        lambda compiler: compiler.compile_grammar(f"start: {NESTED}", "lark"),
        lambda compiler: compiler.compile_grammar(f"root ::= {NESTED}", "ebnf"),
        lambda compiler: compiler.compile_grammar(f"root ::= {OPTIONAL}", "ebnf"),
        lambda compiler: compiler.compile_grammar(f"root ::= {NESTED}", "gbnf"),
        lambda compiler: compiler.compile_regex(NESTED.replace('"', "")),
        lambda compiler: compiler.compile_structural_tag(deep_tag()),
    ],
    ids=["lark", "ebnf", "ebnf options", "gbnf", "regex", "structural tag"],
)
def test_deeply_counted_groups_have_masks(compile_nested: Compile) -> None:
    """REGRESSION: the first mask of a hundred groups took two seconds and met ``row_items``."""
    vocabulary = small_vocabulary()
    compiled = compile_nested(engine.Compiler(vocabulary))
    matcher, mask = engine.Matcher(compiled), new_mask(vocabulary)
    assert matcher.accept_bytes(b"a" * 500) and matcher.can_stop()
    matcher.fill_bitmask(mask)
    letters = {n for n, text in enumerate(vocabulary.tokens) if text and not text.strip(b"a")}
    assert letters
    assert set(bits(mask)) == letters | set(vocabulary.stop_token_ids)
