"""Tokens that a parser takes as text: it would make one event of text of them."""

from random import Random

import pytest

from adapters.formats import for_own_engine
from engine import Event, ParseDivergence, Parser, UnsupportedSchema, Vocabulary
from engine.compiler import Compiler
from tests.formats.cases import SPECIALS, quiet
from tests.formats.harness import compiled_as, walk
from tests.formats.test_streams import CHOICES, closers_of

FORMATS = sorted(SPECIALS)[::4]


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_what_would_be_one_event_of_text(name: str) -> None:
    chance, closers, taken = Random(f"text {name}"), closers_of(name), 0
    for output in CHOICES.values():
        try:
            _, grammar = compiled_as(name, output, for_own_engine)
        except UnsupportedSchema:
            continue
        tokens = grammar.vocabulary.tokens
        for _ in range(2):
            ids = walk(grammar, chance, closers, patience=50, limit=150)
            one, other, at = grammar.parser(), grammar.parser(), 0
            while at < len(ids):
                some = ids[at : at + chance.choice((1, 1, 3))]
                node = other.text_node()
                is_text = node is not None and other.feed_text(some)
                events = _together([event for token in some for event in one.feed(token)])
                held = one.text_node() is None
                text = b"".join(tokens[token] for token in some)
                would = node is not None and not held and events == [Event("text", node, text)]
                # a region without an event of its own may end and begin
                assert would or not is_text
                if not is_text:
                    assert _together([e for token in some for e in other.feed(token)]) == events
                assert other.text_node() == one.text_node()
                taken += is_text
                at += len(some)
            assert one.finish() == other.finish() and one.is_whole() == other.is_whole()
    assert taken > 100


@pytest.mark.parametrize("name", FORMATS)
def test_held_tokens_are_those_without_an_event(name: str) -> None:
    chance, closers, taken = Random(f"held {name}"), closers_of(name), 0
    for output in CHOICES.values():
        try:
            _, grammar = compiled_as(name, output, for_own_engine)
        except UnsupportedSchema:
            continue
        for _ in range(2):
            ids = walk(grammar, chance, closers, patience=50, limit=150)
            one, other, at = grammar.parser(), grammar.parser(), 0
            while at < len(ids):
                some = ids[at : at + chance.choice((1, 1, 3))]
                is_text = other.text_node() is not None and other.feed_text(some)
                is_held = not is_text and other.feed_held(some)
                events = one.feed_all(some)
                assert events == [] or not is_held
                if not is_text and not is_held:
                    assert other.feed_all(some) == events
                assert other.text_node() == one.text_node()
                taken += is_held
                at += len(some)
            assert one.finish() == other.finish() and one.is_whole() == other.is_whole()
    assert taken > 0


def _together(events: list[Event]) -> list[Event]:
    """Join texts of one node."""
    found: list[Event] = []
    for event in events:
        if event.kind == "text" and found and found[-1][:2] == event[:2]:
            event = Event("text", event.node, found.pop().bytes + event.bytes)
        found.append(event)
    return found


def test_what_is_no_text_changes_nothing() -> None:
    vocabulary = Vocabulary([*(bytes([b]) for b in range(256)), b"</s>"], stop_token_ids=[256])
    spec = {"type": "regex", "pattern": "[ab]{1,9}"}
    grammar = Compiler(vocabulary).compile_structural_tag(
        {"type": "structural_tag", "format": spec}
    )
    parser = grammar.parser()
    assert parser.text_node() is None
    parser.feed(ord("a"))
    assert parser.text_node() is not None
    a, stop = ord("a"), 256
    for wrong in ([stop], [a, stop], [ord("c")], [a, a, ord("c")], [257], [1 << 31], [a] * 9):
        assert not parser.feed_text(wrong) and not parser.feed_held(wrong)
    assert not parser.feed_text([]) and not parser.feed_held([])
    assert not parser.feed_held([a])
    assert parser.feed_text([a] * 7)
    parser.feed(a)
    with pytest.raises(ParseDivergence, match="byte 10"):
        parser.feed(a)


def test_bytes_that_may_begin_a_mark_are_no_text_yet() -> None:
    _, grammar = compiled_as("hermes", quiet(CHOICES["auto"]), for_own_engine)
    parser = grammar.parser()
    parser.feed(ord("x"))
    assert parser.feed_text(b"y")
    assert not parser.feed_text(b"<too") and not parser.feed_held(b"y<")
    assert parser.feed_held(b"<to") and parser.text_node() is None
    assert parser.feed_held(b"o") and not parser.feed_text(b"!") and not parser.feed_held(b"!")
    assert [event.bytes for event in parser.feed(ord("!"))] == [b"<too!"]
    assert parser.feed_text(b"y")


@pytest.mark.parametrize("name", sorted(SPECIALS))
def test_many_tokens_make_the_events_of_each(name: str) -> None:
    """Random answers, some with a wrong token, in pieces of any size."""
    chance, closers, wrong = Random(f"many {name}"), closers_of(name), 0
    for output in CHOICES.values():
        try:
            _, grammar = compiled_as(name, output, for_own_engine)
        except UnsupportedSchema:
            continue
        for is_wrong in (False, False, True):
            ids = walk(grammar, chance, closers, patience=50, limit=150)
            if is_wrong:
                ids[chance.randrange(len(ids))] = chance.randrange(grammar.vocabulary.size + 1)
            one, many, at, longest = grammar.parser(), grammar.parser(), 0, chance.choice((3, 99))
            while at < len(ids):
                some = ids[at : at + chance.randrange(longest)]
                at += len(some)
                expected = _fed(one, some, at_once=False)
                assert _fed(many, some, at_once=True) == expected
                if isinstance(expected, str):
                    wrong += 1
                    break
                assert many.text_node() == one.text_node()
            else:
                assert one.finish() == many.finish() and one.is_whole() == many.is_whole()
    assert wrong > 0


def _fed(parser: Parser, ids: list[int], *, at_once: bool) -> list[Event] | str:
    """Return the events, or what the error says."""
    try:
        if at_once:
            return _together(parser.feed_all(ids))
        return _together([event for token in ids for event in parser.feed(token)])
    except ParseDivergence as error:
        return str(error)


def test_text_of_many_tokens_is_one_event() -> None:
    _, grammar = compiled_as("hermes", quiet(CHOICES["auto"]), for_own_engine)
    events = grammar.parser().feed_all(b"Oslo is big <b>")
    assert [event.bytes for event in events] == [b"Oslo is big <b>"]
