"""Choices are exact texts, and bad ones are refused by place."""

import pytest

from engine.errors import LimitExceeded, SpecError
from engine.frontends.choice import build_choice
from engine.grammar.ir import Grammar
from engine.limits import Limits
from tests.engine.frontends.recognise import accepts, language


def test_exactly_the_choices_are_accepted() -> None:
    found = language(lambda g: build_choice(g, ["yes", "no", "yesterday", "é", ""]))
    for text in ("yes", "no", "yesterday", "é", ""):
        assert accepts(found, text)
    for text in ("ye", "yest", "noo", "e"):
        assert not accepts(found, text)


@pytest.mark.parametrize(
    ("choices", "pointer"), [([], ""), (["a", 1], "/1"), ([None], "/0"), (["a", "b\ud800"], "/1")]
)
def test_what_is_no_choice_is_refused(choices: list, pointer: str) -> None:
    with pytest.raises(SpecError) as caught:
        build_choice(Grammar(), choices)
    assert caught.value.pointer == pointer


def test_the_number_of_choices_is_bounded() -> None:
    limits = Limits(enum_values=2)
    build_choice(Grammar(limits), ["a", "b"])
    with pytest.raises(LimitExceeded) as caught:
        build_choice(Grammar(limits), ["a", "b", "c"])
    assert (caught.value.limit, caught.value.maximum, caught.value.got) == ("enum_values", 2, 3)
