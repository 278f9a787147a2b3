"""Grammars that share a compiler, or a store, have the masks that each has alone.

They share by digests, so two rules of one digest must have one automaton: a rule that is
referred to and its text written out have different digests.
"""

import random
from collections.abc import Callable

import pytest

import engine
from tests.engine.harness import bits, new_mask
from tests.engine.memory_log import MemoryLog, Redis, loaded
from tests.vocabularies import small_vocabulary

pytestmark = pytest.mark.usefixtures("every_mask_shared")

Build = Callable[[engine.Compiler], engine.Compiled]
VOCABULARY = small_vocabulary()


def ebnf(text: str) -> Build:
    return lambda compiler: compiler.compile_grammar(text)


def regex(pattern: str) -> Build:
    return lambda compiler: compiler.compile_regex(pattern)


#: REGRESSION: a counted reference and the same written out had one digest
PAIRS = [
    (
        ebnf('root ::= "x" c{0,300}\nc ::= [^"\\\\\\n]'),
        b"xabab",
        regex('[^"\\\\\\n]{0,300}y'),
        b"abab",
    ),
    (
        ebnf('root ::= "<" item{5,200} ">"\nitem ::= [a-z0-9A-Z_] [a-z]'),
        b"<abab",
        ebnf('root ::= "<" ([a-z0-9A-Z_] [a-z]){5,200} ">"'),
        b"<abab",
    ),
    (
        ebnf("root ::= r\nr ::= s{2,50}\ns ::= [a-f]"),
        b"abab",
        ebnf("root ::= [a-f]{2,50}"),
        b"abab",
    ),
]


def masks(compiled: engine.Compiled, text: bytes) -> list[bytes]:
    matcher, mask, found = engine.Matcher(compiled), new_mask(VOCABULARY), []
    for byte in text:
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
        assert matcher.accept_bytes(bytes([byte]))
    matcher.fill_bitmask(mask)
    return [*found, mask.tobytes()]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("swapped", [False, True])
def test_one_after_the_other_is_as_one_alone(
    pair: tuple[Build, bytes, Build, bytes], swapped: bool
) -> None:
    first, first_text, second, second_text = pair if not swapped else (*pair[2:], *pair[:2])
    alone = masks(second(engine.Compiler(VOCABULARY)), second_text)
    together = engine.Compiler(VOCABULARY)
    masks(first(together), first_text)
    assert masks(second(together), second_text) == alone
    redis = Redis()
    before = engine.Compiler(VOCABULARY, store=MemoryLog(redis))
    masks(first(before), first_text)
    before.flush()
    assert masks(second(loaded(redis, VOCABULARY)), second_text) == alone


# -- at random -------------------------------------------------------------------------------------
CLASSES = ("[a-z]", "[a-z0-9]", '[^"x]', "[0-9]", "[ab]")
COUNTS = ("{1,3}", "{0,40}", "{5,200}", "{2,}", "*", "+", "?")


def random_grammar(chance: random.Random) -> str:
    """Rules that refer to those behind them, whose parts are few, so that many are alike."""

    def atom(depth: int, rules: list[str]) -> str:
        if rules and chance.random() < 0.4:
            return chance.choice(rules)
        if depth > 2 or chance.random() < 0.5:
            return chance.choice((*CLASSES, '"a"', '"ab"'))
        return f"({body(depth + 1, rules)})"

    def body(depth: int, rules: list[str]) -> str:
        parts = [
            atom(depth, rules) + (chance.choice(COUNTS) if chance.random() < 0.5 else "")
            for _ in range(chance.choice((1, 1, 2)))
        ]
        return (" | " if chance.random() < 0.3 else " ").join(parts)

    names = ["r1", "r2", "r3"]
    lines = [f"root ::= {body(0, names)} {body(0, names)}"]
    lines += [f"{name} ::= {body(1, names[k + 1 :])}" for k, name in enumerate(names)]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(4))
def test_many_in_one_compiler_are_as_brute_force_says(seed: int) -> None:
    chance, redis = random.Random(seed), Redis()
    compiler, checked = loaded(redis, VOCABULARY), 0
    for number in range(120):
        text = random_grammar(chance)
        try:
            compiled = compiler.compile_grammar(text)
        except engine.EngineError:
            continue
        check(engine.Matcher(compiled), chance, text)
        checked += 1
        if number % 30 == 29:
            compiler.flush()
            compiler = loaded(redis, VOCABULARY)
    assert checked > 60


def check(matcher: engine.Matcher, chance: random.Random, text: str) -> None:
    mask, right = new_mask(VOCABULARY), new_mask(VOCABULARY)
    for _ in range(8):
        matcher.fill_bitmask(mask)
        matcher.brute_force_bitmask(right)
        assert (mask == right).all(), text
        single = [token for token in bits(right) if token < 256]
        if not single or not matcher.accept_bytes(bytes([chance.choice(single)])):
            return
