"""Many alternatives that begin with a text are found by it: one parse, and the events of each."""

import random
from typing import Any

import pytest

import engine

TOKENS = [bytes([byte]) for byte in range(256)] + [b"<|end|>", b"<x>", b"</x>"]
X = 257


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    vocabulary = engine.Vocabulary(TOKENS, stop_token_ids=[256], special_token_ids=[256, 257, 258])
    return engine.Compiler(vocabulary)


def const(text: str) -> dict[str, Any]:
    return {"type": "const_string", "value": text}


def tag(begin: Any, content: Any = None, end: str = "!") -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content or const("-"), "end": end}


def either(*elements: Any) -> dict[str, Any]:
    return {"type": "or", "elements": list(elements)}


def events(
    compiler: engine.Compiler, form: Any, text: str | list[int], most_parses: int = 12
) -> list[tuple[str, str, bytes]] | None:
    """The events of a whole answer, read letter by letter; None: the text is not allowed."""
    compiled = compiler.compile_structural_tag({"format": form})
    parser, matcher = compiled.parser(most_parses=most_parses), engine.Matcher(compiled)
    found = []
    for token in text.encode() if isinstance(text, str) else text:
        if not matcher.accept_token(token):
            return None
        found += parser.feed(token)
    if not matcher.can_stop():
        return None
    found += parser.finish()
    assert parser.is_whole()
    return [tuple(event) for event in found]


ALIKE = [f"a{number}" for number in range(600)]


def test_any_number_of_texts_that_begin_alike_is_one_parse(compiler: engine.Compiler) -> None:
    """REGRESSION: 512 parses were too many, and refused while the answer was read."""
    form = either(*map(const, ALIKE))
    assert events(compiler, form, "a599") == [("text", "/format/elements/599", b"a599")]
    assert events(compiler, form, "a600") is None


@pytest.mark.parametrize("kind", ["or", "tags_with_separator", "sequence"])
def test_any_number_of_tags_that_begin_alike_is_one_parse(
    compiler: engine.Compiler, kind: str
) -> None:
    """REGRESSION: also tags, and sequences that begin with a text."""
    tags, place = [tag(text) for text in ALIKE], "/format/elements/77"
    form, text = either(*tags), "a77-!"
    if kind == "tags_with_separator":
        form, place = {"type": kind, "separator": ",", "tags": tags}, "/format/tags/77"
    if kind == "sequence":
        sequences = [{"type": kind, "elements": [each, const("z")]} for each in tags]
        form, place, text = either(*sequences), f"{place}/elements/0", "a77-!z"
    expected = [
        ("open", place, b"a77"), ("text", f"{place}/content", b"-"), ("close", place, b"!"),
    ]  # fmt: skip
    found = events(compiler, form, text)
    assert found is not None
    assert found[:3] == expected


def test_the_texts_of_a_whole_request_are_found_again(compiler: engine.Compiler) -> None:
    rng = random.Random(7)
    letters = ["a", "b", "é", "日", "😀", "\n"]
    texts = dict.fromkeys("".join(rng.choices(letters, k=rng.randint(1, 5))) for _ in range(300))
    form, known = either(*map(const, texts)), list(texts)
    for number in rng.sample(range(len(known)), 40):
        found = events(compiler, form, known[number])
        assert found == [("text", f"/format/elements/{number}", known[number].encode())]
        changed = known[number] + rng.choice(letters)
        assert (events(compiler, form, changed) is None) == (changed not in texts)


#: many other alternatives, so that begins are looked up
MANY = [const(f"m{number}") for number in range(9)]
#: (an alternative, its text, its events)
CASES: list[tuple[Any, str | list[int], list[tuple[str, str, bytes]]]] = [
    (tag("<x>"), "<x>-!", [("open", "", b"<x>"), ("text", "/content", b"-"), ("close", "", b"!")]),
    (
        tag({"type": "token", "token": "<x>"}),
        [X, ord("-"), ord("!")],
        [("open", "", b"<x>"), ("text", "/content", b"-"), ("close", "", b"!")],
    ),
    (const("m1m"), "m1m", [("text", "", b"m1m")]),
    (const("m<x>"), [ord("m"), X], [("text", "", b"m<x>")]),
    (tag("m1", const("1")), "m11!", [("open", "", b"m1"), ("text", "/content", b"1"), ("close", "", b"!")]),
    ({"type": "regex", "pattern": "m[a-z]"}, "mx", [("text", "", b"mx")]),
    (const(""), "", []),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_events_of_alternatives_do_not_depend_on_their_number(
    compiler: engine.Compiler, case: tuple[Any, str | list[int], list[tuple[str, str, bytes]]]
) -> None:
    element, text, expected = case
    for others in (MANY[:2], MANY):
        found = events(compiler, either(element, *others), text)
        assert found == [(kind, f"/format/elements/0{rest}", data) for kind, rest, data in expected]


def test_a_begin_that_is_a_stop_token_is_still_refused(compiler: engine.Compiler) -> None:
    element = tag({"type": "token", "token": "<|end|>"})
    for others in ([], MANY):
        with pytest.raises(engine.SpecError, match="nothing can follow it"):
            compiler.compile_structural_tag({"format": either(element, *others)})
