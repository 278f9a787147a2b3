"""Stop tokens end a text; a grammar that goes on behind one is refused when it is compiled."""

import pytest

import engine
from tests.engine.harness import bits, new_mask
from tests.vocabularies import small_vocabulary

CALL = {"type": "token", "token": "<|call|>"}
START = {"type": "token", "token": "<|start|>"}
X = {"type": "const_string", "value": "x"}


def compile_format(form: dict) -> engine.Compiled:
    tag = {"type": "structural_tag", "format": form}
    return engine.Compiler(small_vocabulary()).compile_structural_tag(tag)


def sequence(*elements: dict) -> dict:
    return {"type": "sequence", "elements": list(elements)}


@pytest.mark.parametrize(
    ("form", "pointer"),
    [
        (sequence(CALL, X), "/format/elements/0"),
        (sequence(X, sequence(X, CALL), X), "/format/elements/1/elements/1"),
        (sequence(CALL, CALL), "/format/elements/0"),
        (
            sequence(X, {"type": "or", "elements": [sequence(CALL, X), CALL]}),
            "/format/elements/1/elements/0/elements/0",
        ),
        ({"type": "tag", "begin": CALL, "content": X, "end": "y"}, "/format"),
    ],
)
def test_a_stop_token_that_something_must_follow_is_refused(form: dict, pointer: str) -> None:
    with pytest.raises(engine.SpecError, match="stop token") as caught:
        compile_format(form)
    assert caught.value.pointer == pointer


@pytest.mark.parametrize(
    "form",
    [
        sequence(X, CALL),
        sequence(X, CALL, {"type": "optional", "content": X}),
        {"type": "tag", "begin": START, "content": X, "end": CALL},
        {"type": "star", "content": {"type": "tag", "begin": START, "content": X, "end": CALL}},
        {"type": "or", "elements": [CALL, X]},
    ],
)
def test_a_stop_token_at_the_end_terminates(form: dict) -> None:
    matcher = engine.Matcher(compile_format(form))
    specials = small_vocabulary().special_texts()
    matcher.accept_token(specials["<|start|>"])
    matcher.accept_bytes(b"x")
    assert matcher.can_stop() or matcher.accept_token(specials["<|call|>"])
    if not matcher.is_terminated():
        assert matcher.accept_token(specials["<eos>"])
    mask = new_mask(small_vocabulary())
    matcher.fill_bitmask(mask)
    assert set(bits(mask)) == set(small_vocabulary().stop_token_ids)


@pytest.mark.parametrize(
    "text",
    ["<|call|> <|call|>", '("x" <|call|>) "y" | "z" <|call|>', "<|call|>{2}", "a a\na: <|call|>"],
)
def test_a_stop_token_that_also_stands_at_the_end_is_refused_elsewhere(text: str) -> None:
    """REGRESSION: the token was known as one that may be last, and the mask before it was empty."""
    with pytest.raises(engine.SpecError, match="stop token"):
        engine.Compiler(small_vocabulary()).compile_grammar(f"start: {text}", "lark")
