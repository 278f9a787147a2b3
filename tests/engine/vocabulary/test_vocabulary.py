"""A vocabulary's index: any tokens, its fingerprint, and the longest token."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from tests.engine.harness import new_mask


def made(tokens: list[bytes]) -> engine.Vocabulary:
    """The last token stops."""
    end = len(tokens)
    return engine.Vocabulary([*tokens, b"<end>"], stop_token_ids=[end])


@given(st.lists(st.binary(max_size=4), max_size=30))
def test_any_tokens_are_indexed(tokens: list[bytes]) -> None:
    """Empty and equal tokens, and those with zero bytes."""
    vocabulary = made(tokens)
    prefixes = {token[:n] for token in tokens for n in range(len(token) + 1)} | {b""}
    assert vocabulary.trie_nodes == len(prefixes)
    mask, wanted = new_mask(vocabulary), new_mask(vocabulary)
    matcher = engine.Matcher(engine.Compiler(vocabulary).compile_regex("[^]{0,9}"))
    matcher.fill_bitmask(mask)
    matcher.brute_force_bitmask(wanted)
    assert np.array_equal(mask, wanted)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([b"ab", b"c"], [b"a", b"bc"]),
        ([b"a", b"b"], [b"b", b"a"]),
        ([b"a", b"", b"b"], [b"", b"a", b"b"]),
        ([b"a", b"b"], [b"a", b"b", b"b"]),
    ],
    ids=["a moved byte", "other ids", "a moved gap", "one more"],
)
def test_other_tokens_have_another_fingerprint(one: list[bytes], other: list[bytes]) -> None:
    assert made(one).fingerprint != made(other).fingerprint


def test_a_vocabulary_without_ordinary_tokens() -> None:
    empty = made([])
    assert (empty.trie_nodes, empty.max_token_bytes) == (1, 0)


def test_longest_token_and_one_past_it() -> None:
    assert made([b"x" * 65_535]).max_token_bytes == 65_535
    with pytest.raises(ValueError, match="token 0 has 65536 bytes"):
        made([b"x" * 65_536])
