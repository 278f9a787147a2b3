"""Digests tell rules apart that differ, and take those for one that do not."""

from hashlib import blake2b as standard

import pytest

import engine
from engine.grammar.ir import ANY_CHAR, Grammar
from engine.grammar.lowered import LoweredGrammar
from engine.grammar.rule_digest import RuleDigests, blake2b
from tests.vocabularies import small_vocabulary

NONE = bytes(16)


@pytest.mark.parametrize("size", [*range(300), 1000, 4096])
def test_the_hash_is_blake2b(size: int) -> None:
    data = bytes(n * 7 % 256 for n in range(size))
    assert blake2b(data) == standard(data, digest_size=16).digest()


def digest_of(build, *, count_registers: bool = True) -> bytes:  # type: ignore[no-untyped-def]
    grammar = Grammar()
    grammar.root = grammar.rule("root", build(grammar))
    ir = LoweredGrammar(grammar, small_vocabulary(), count_registers=count_registers)
    return RuleDigests(ir, count_registers=count_registers).of_rule(grammar.root)


def ref(g: Grammar, node: int, name: str = "x") -> int:
    return g.ref(g.rule(name, node))


def an_object(  # type: ignore[no-untyped-def]
    g: Grammar,
    name="a",
    value=b"1",
    required=False,
    twice=False,
    extra=None,
    space=None,
    may_be_empty=True,
    **more,
) -> int:
    members = [(name, g.bytes(value), required)] + [("c", g.bytes(b"1"), False)] * twice
    return g.object(
        members,
        extra=g.fail() if extra is None else extra,
        space=g.empty() if space is None else space,
        may_be_empty=may_be_empty,
        **more,
    )


def many(g: Grammar, n: int, last: int | None = None) -> int:
    """More nodes than are hashed at once, one within the other."""
    node = g.bytes(b"%d" % (n - 1)) if last is None else last
    for k in range(n - 1):
        node = g.seq(g.bytes(b"%d" % k), g.optional(node))
    return node


def letters(g: Grammar) -> int:
    return g.graph(1, [(0, g.chars(((97, 99),)), 0)], [0])


DIFFERENT = [
    lambda g: g.bytes(b"a"),
    lambda g: g.bytes(b"b"),
    lambda g: ref(g, g.bytes(b"a")),
    lambda g: g.repeat(ref(g, g.bytes(b"a")), 0, 300),
    lambda g: g.repeat(g.bytes(b"a"), 0, 300),
    lambda g: g.seq(ref(g, g.bytes(b"a")), g.bytes(b"c")),
    lambda g: g.seq(g.bytes(b"a"), g.bytes(b"c")),
    lambda g: g.tokens((1, 2, 3)),
    lambda g: many(g, 200),
    lambda g: many(g, 201),
    lambda g: many(g, 200, last=ref(g, g.bytes(b"199"))),
    lambda g: g.text("a"),
    lambda g: g.chars(((97, 97),)),
    lambda g: g.json_chars(((97, 97),)),
    lambda g: g.json_chars(((97, 98),)),
    lambda g: g.seq(g.chars(((97, 97),)), g.chars(((98, 98),))),
    lambda g: g.seq(g.chars(((98, 98),)), g.chars(((97, 97),))),
    lambda g: g.alt(g.chars(((97, 97),)), g.chars(((98, 98),))),
    lambda g: g.repeat(g.chars(((97, 97),)), 2, 3),
    lambda g: g.repeat(g.chars(((97, 97),)), 2, 4),
    lambda g: g.repeat(g.chars(((97, 97),)), 2, None),
    lambda g: g.tokens((1, 2)),
    lambda g: g.tokens((1, 3)),
    lambda g: g.graph(2, [(0, g.bytes(b"ab"), 1)], [1]),
    lambda g: g.graph(2, [(0, g.bytes(b"ab"), 1)], [0, 1]),
    lambda g: g.graph(2, [(0, g.bytes(b"ab"), 1), (1, g.bytes(b"ab"), 0)], [1]),
    lambda g: g.texts(["a", "b"]),
    lambda g: g.texts(["ab", "c"]),
    lambda g: g.texts(["a", "bc"]),
    lambda g: g.bounded(letters(g), 0, 5),
    lambda g: g.bounded(letters(g), 0, 6),
    lambda g: g.bounded(letters(g), 1, 5),
    lambda g: an_object(g),
    lambda g: an_object(g, name="b"),
    lambda g: an_object(g, value=b"2"),
    lambda g: an_object(g, required=True),
    lambda g: an_object(g, twice=True),
    lambda g: an_object(g, extra=g.bytes(b'"x":1')),
    lambda g: an_object(g, extra=g.bytes(b'"x":1'), extra_last=True),
    lambda g: an_object(g, space=ref(g, g.alt(g.empty(), g.bytes(b" ")))),
    lambda g: an_object(g, may_be_empty=False),
    lambda g: g.dispatch([((97,), g.bytes(b"x"), True)], open_end=True),
    lambda g: g.dispatch([((97,), g.bytes(b"x"), False)], open_end=True),
    lambda g: g.dispatch([((97,), g.fail(), True)], open_end=True),
    lambda g: g.dispatch([], excludes=[(97,)], open_end=True),
    lambda g: g.dispatch([], specials=[1], open_end=True),
]


def test_what_differs_has_different_digests() -> None:
    found = [digest_of(build) for build in DIFFERENT]
    assert NONE not in found
    assert len(set(found)) == len(DIFFERENT)


SAME = {
    "names": (lambda g: ref(g, g.bytes(b"ab"), "x"), lambda g: ref(g, g.bytes(b"ab"), "y")),
    "labels": (
        lambda g: g.capture("one", "text", g.text("ab")),
        lambda g: g.capture("two", "text", g.text("ab")),
    ),
    "what was made before": (
        lambda g: g.seq(g.text("a"), g.text("b")),
        lambda g: (g.text("b"), g.seq(g.text("a"), g.text("b")))[1],
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_left_out(name: str) -> None:
    one, other = SAME[name]
    assert digest_of(one) == digest_of(other) != NONE


def test_large_parts_are_alike_wherever_they_stand() -> None:
    """In another rule, behind what was made before, and hashed before or not."""

    def after_others(g: Grammar) -> int:
        g.rule("first", g.seq(g.bytes(b"z"), many(g, 150)))
        return many(g, 200)

    assert digest_of(after_others) == digest_of(lambda g: many(g, 200))
    grammar = Grammar()
    one = grammar.rule("one", grammar.seq(grammar.bytes(b"1"), many(grammar, 200)))
    two = grammar.rule("two", grammar.seq(grammar.bytes(b"2"), many(grammar, 200)))
    grammar.root = grammar.rule("root", grammar.seq(grammar.ref(one), grammar.ref(two)))
    digests = RuleDigests(LoweredGrammar(grammar, small_vocabulary()), count_registers=True)
    found = [digests.of_rule(rule) for rule in (one, two)]
    assert found[1] == digest_of(lambda g: g.seq(g.bytes(b"2"), many(g, 200))) != found[0]


def test_registers_or_unrolling_is_part_of_it() -> None:
    def build(g: Grammar) -> int:
        return g.text("ab")

    assert digest_of(build) != digest_of(build, count_registers=False)


def test_circles_and_what_leads_into_them_have_none() -> None:
    grammar = Grammar()
    rule = grammar.declare("list")
    grammar.define(rule, grammar.optional(grammar.seq(grammar.bytes(b"a"), grammar.ref(rule))))
    outside = grammar.rule("outside", grammar.seq(grammar.bytes(b"b"), grammar.ref(rule)))
    beside = grammar.rule("beside", grammar.bytes(b"b"))
    grammar.root = outside
    digests = RuleDigests(LoweredGrammar(grammar, small_vocabulary()), count_registers=True)
    assert digests.of_rule(rule) == digests.of_rule(outside) == NONE
    assert digests.of_rule(beside) != NONE
    with pytest.raises(IndexError):
        digests.of_rule(99)


def test_a_long_chain_of_rules_needs_no_stack() -> None:
    grammar = Grammar()
    node = grammar.bytes(b"a")
    for n in range(50_000):
        node = grammar.ref(grammar.rule("x", grammar.seq(grammar.bytes(b"%d" % (n % 7)), node)))
    grammar.root = grammar.rule("root", node)
    assert (
        RuleDigests(LoweredGrammar(grammar, small_vocabulary()), count_registers=True).of_rule(
            grammar.root
        )
        != NONE
    )


def test_any_text_but_some() -> None:
    def build(*texts: str):  # type: ignore[no-untyped-def]
        def made(g: Grammar) -> int:
            rule = g.rule("body", g.repeat(g.json_chars(ANY_CHAR), 0, None))
            return g.text_except(rule, texts)

        return made

    assert digest_of(build("a", "b")) == digest_of(build("b", "a"))
    assert len({digest_of(build(*t)) for t in [("a", "b"), ("ab",), ("a",), ()]}) == 4


def test_free_text_is_the_same_whatever_follows_its_triggers() -> None:
    found = []
    for follows, returns in ((b"x", True), (b"y", True), (b"x", False)):
        grammar = Grammar()
        node = grammar.dispatch([((97,), grammar.bytes(follows), returns)], open_end=True)
        grammar.root = grammar.rule("root", node)
        ir = LoweredGrammar(grammar, small_vocabulary())
        behind_the_arms = ir.own_rules + 1
        found.append(RuleDigests(ir, count_registers=True).of_rule(behind_the_arms))
    assert found[0] == found[1] != found[2]


def test_grammars_share_what_is_alike() -> None:
    compiler = engine.Compiler(small_vocabulary())
    misses = []
    for name in ("a", "b"):
        schema = {"properties": {name: {"type": "string", "pattern": "^x[^<]+y$"}}}
        matcher = engine.Matcher(compiler.compile_json_schema(schema))
        assert matcher.accept_bytes(b'{"%s": "xay' % name.encode())
        misses.append(compiler.stats()["automaton_misses"])
    assert misses[0] == misses[1] > 0
