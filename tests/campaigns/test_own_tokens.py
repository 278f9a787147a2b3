"""A slice of the campaign of the tokenizer's own tokens, and what it finds."""

from random import Random

import pytest

import engine
from tests.campaigns.own_tokens import complaint, run
from tests.engine.masks.detours import vocabulary_of

pytestmark = pytest.mark.campaign


def test_no_mask_lacks_a_token_of_the_tokenizer() -> None:
    report = run(12, 1)
    assert report.findings == []
    assert report.counts["tokens"] > 100


def test_a_detour_that_is_written_is_found() -> None:
    compiled = engine.Compiler(vocabulary_of(" t")).compile_regex(" true")
    assert complaint(compiled, [*b" true"], Random(0)) != ""
    assert complaint(compiled, [256, *b"rue"], Random(0)) == ""
