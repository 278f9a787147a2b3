"""Objects are what the reference recogniser takes them for, and cost what is visited of them."""

import random
from typing import Any

import pytest

import engine
from engine.grammar.ir import ANY_CHAR, Grammar
from tests.engine.frontends.random_schemas import byte_vocabulary
from tests.engine.harness import new_mask, walk_beside
from tests.reference import Recogniser
from tests.vocabularies import small_vocabulary

# names that begin alike, by characters, by their UTF-8, by their escapes and by their surrogates
NAMES = [
    "", "a", "ab", "abc", "b", 'n"q', "\\", "/", "/\t", "\x01", "\u00e9", "\u00ea", "\u00e9\u00e9",
    "\u2028", "\u2029", "\ud7ff", "\ue000", "\ufffd",
    "\U0001f600", "\U0001f601", "\U0001f600a", "\U0001fa00", "\U00100000",
]  # fmt: skip


def an_object(seed: int) -> Grammar:
    """Some of the names, in some order, some required; perhaps other keys and white space."""
    draw = random.Random(seed)
    g = Grammar()
    names = draw.sample(NAMES, draw.randrange(len(NAMES) + 1))
    one, two = g.ref(g.rule("one", g.bytes(b"1"))), g.bytes(b"2")
    members = [(name, draw.choice((one, two)), draw.random() < 0.2) for name in names]
    extra, space = g.fail(), g.empty()
    if draw.random() < 0.5:
        body = g.rule("body", g.repeat(g.json_chars(ANY_CHAR), 0, None))
        key = g.seq(g.bytes(b'"'), g.text_except(body, names), g.bytes(b'":'))
        extra = g.ref(g.rule("other", g.seq(key, one)))
    if draw.random() < 0.5:
        space = g.ref(g.rule("space", g.alt(g.empty(), g.bytes(b" "), g.bytes(b"\n"))))
    node = g.object(
        members,
        extra=extra,
        space=space,
        may_be_empty=draw.random() < 0.7,
        extra_last=draw.random() < 0.3,
    )
    g.root = g.rule("root", g.alt(node, g.bytes(b"null")))
    return g


def compiled(grammar: Grammar) -> engine.Compiled:
    return engine.Compiler(byte_vocabulary())._finish(grammar)


@pytest.mark.exact
@pytest.mark.parametrize("seed", range(30))
def test_bytes_allowed_are_those_of_the_reference(seed: int) -> None:
    """On walks of noise, which ends objects seldom and takes escapes often."""
    grammar = an_object(seed)
    walk_beside(compiled(grammar), Recogniser(grammar), random.Random(seed), walks=4, length=40)


@pytest.mark.parametrize("seed", range(20))
def test_texts_are_those_of_the_reference(seed: int) -> None:
    draw, g = random.Random(seed), Grammar()
    node = g.texts(draw.sample(NAMES, draw.randrange(2, len(NAMES))))
    g.root = g.rule("root", g.seq(g.bytes(b'"'), node, g.bytes(b'"')))
    walk_beside(compiled(g), Recogniser(g), draw, walks=5, length=200)


def test_texts_that_nothing_spells_are_left_out() -> None:
    g = Grammar()
    assert g.is_fail(g.texts(["\ud800", "a\udc00"]))
    assert g.texts(["\ud800", "a"]) == g.text("a")


# (name, whether the listed member, which is required or not, and other members have a text)
FAILING = [
    ("a required member without a text", False, True, False),
    ("an optional one", False, False, False),
    ("other members without a text", True, True, False),
    ("members without a text beside others", False, False, True),
]


@pytest.mark.parametrize(("name", "listed", "required", "other"), FAILING)
@pytest.mark.parametrize("may_be_empty", [False, True])
def test_members_without_a_text_are_left_out(
    name: str, listed: bool, required: bool, other: bool, may_be_empty: bool
) -> None:
    g = Grammar()
    endless = g.declare("endless")
    g.define(endless, g.seq(g.bytes(b"["), g.ref(endless), g.bytes(b"]")))
    value = g.bytes(b"1") if listed else g.ref(endless)
    extra = g.bytes(b'"x":1') if other else g.ref(endless)
    node = g.object(
        [("a", value, required)], extra=extra, space=g.empty(), may_be_empty=may_be_empty
    )
    g.root = g.rule("root", g.alt(node, g.bytes(b"null")))
    reference, made = Recogniser(g), compiled(g)
    for text in (b"{}", b'{"a":1}', b'{"x":1}', b'{"', b"{", b"null"):
        state: Any = reference.start()
        for byte in text:
            state = state and state.step(byte)
        assert engine.Matcher(made).accept_bytes(text) == (state is not None), (name, text)


def optional_keys(keys: int, **more: Any) -> dict[str, Any]:
    properties = {f"key_{n}": {"type": "string"} for n in range(keys)}
    return {"type": "object", "properties": properties, **more}


def growth_of(schema: dict[str, Any], text: bytes) -> dict[str, int]:
    matcher = engine.Matcher(engine.Compiler(small_vocabulary()).compile_json_schema(schema))
    for byte in text:
        matcher.fill_bitmask(new_mask(small_vocabulary()))
        assert matcher.accept_bytes(bytes((byte,)))
    return matcher.compiled.stats()


@pytest.mark.parametrize("more", [{"additionalProperties": False}, {}], ids=["closed", "open"])
def test_what_is_built_does_not_grow_with_the_keys(more: dict[str, Any]) -> None:
    """REGRESSION: a row held an item for each key that might come."""
    text = b'{"key_7": "x", "key_8":'
    few, many = (growth_of(optional_keys(keys, **more), text) for keys in (10, 5_000))
    assert many["items"] < 10 * few["items"]
    assert many["states"] < 10 * few["states"]


def test_5000_required_keys_that_are_not_listed() -> None:
    schema = {"type": "object", "required": [f"key_{n}" for n in range(5_000)]}
    assert growth_of(schema, b'{"x": 1, "key_0": [], "key_1": 2')["items"] < 2_000
