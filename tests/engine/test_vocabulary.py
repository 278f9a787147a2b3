"""A vocabulary's index is the same built or loaded, and whatever lay in the store."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from tests.engine.harness import DictStore, new_mask
from tests.vocabularies import small_vocabulary


def made(tokens: list[bytes], store: DictStore | None = None) -> engine.Vocabulary:
    """The last token stops."""
    end = len(tokens)
    return engine.Vocabulary([*tokens, b"<end>"], stop_token_ids=[end], store=store)


def kept_order(tokens: list[bytes]) -> tuple[bytes, bytes]:
    """The key and the value that a vocabulary leaves in a store."""
    store = DictStore()
    assert not made(tokens, store).loaded
    ((key, value),) = store.kept.items()
    return key, value


def with_value(key: bytes, value: bytes) -> DictStore:
    store = DictStore()
    store.kept[key] = value
    return store


def masks(vocabulary: engine.Vocabulary) -> list[bytes]:
    """Masks that look at the trie, at exits, at free text and at counts of bytes."""
    found, mask = [], new_mask(vocabulary)
    compiler = engine.Compiler(vocabulary)
    for compiled, text in (
        (compiler.compile_json_schema({"properties": {"a": {"type": "string"}}}), b'{"a":"b'),
        (compiler.compile_regex("[ab]{2,5}c*"), b"ab"),
        (
            compiler.compile_structural_tag(
                {
                    "type": "structural_tag",
                    "format": {"type": "any_text", "excludes": ["<bad>"], "max_chars": 40},
                }
            ),
            b"x<b",
        ),
    ):
        matcher = engine.Matcher(compiled)
        for byte in text:
            matcher.fill_bitmask(mask)
            found.append(mask.tobytes())
            assert matcher.accept_bytes(bytes([byte]))
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
    return found


def test_what_is_loaded_is_what_was_built() -> None:
    small = small_vocabulary()
    store = DictStore()
    options = {
        "stop_token_ids": small.stop_token_ids,
        "special_token_ids": small.special_token_ids,
    }
    built = engine.Vocabulary(small.tokens, store=store, **options)
    loaded = engine.Vocabulary(small.tokens, store=store, **options)
    assert (built.loaded, loaded.loaded) == (False, True)
    assert loaded.fingerprint == built.fingerprint == small.fingerprint
    assert loaded.trie_nodes == built.trie_nodes
    assert loaded.max_token_bytes == built.max_token_bytes
    assert masks(loaded) == masks(built)
    assert len(store.kept) == 1


@given(st.lists(st.binary(max_size=4), max_size=30))
def test_any_tokens_load_as_they_were_built(tokens: list[bytes]) -> None:
    """Empty and equal tokens, and those with zero bytes."""
    store = DictStore()
    built, loaded = made(tokens, store), made(tokens, store)
    assert loaded.loaded
    assert loaded.trie_nodes == built.trie_nodes
    prefixes = {token[:n] for token in tokens for n in range(len(token) + 1)} | {b""}
    assert loaded.trie_nodes == len(prefixes)
    pattern = "[^]{0,9}"
    found = []
    for vocabulary in (built, loaded):
        mask, wanted = new_mask(vocabulary), new_mask(vocabulary)
        matcher = engine.Matcher(engine.Compiler(vocabulary).compile_regex(pattern))
        matcher.fill_bitmask(mask)
        matcher.brute_force_bitmask(wanted)
        assert np.array_equal(mask, wanted)
        found.append(mask.tobytes())
    assert found[0] == found[1]


def test_padding_and_stop_tokens_are_not_part_of_the_order() -> None:
    tokens = [b"b", b"a", b"<end>", b"<eot>"]
    store = DictStore()
    engine.Vocabulary(tokens, stop_token_ids=[2], special_token_ids=[2, 3], store=store)
    other = engine.Vocabulary(
        [*tokens, b"", b""], stop_token_ids=[3], special_token_ids=[2, 3], store=store
    )
    assert other.loaded


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
    store = DictStore()
    made(one, store)
    assert not made(other, store).loaded


TOKENS = [b"b", b"ab", b"a", b"a", b"", b"\0", b"ac", b"\xff\0"]


def test_every_flipped_bit_is_found() -> None:
    key, value = kept_order(TOKENS)
    nodes = made(TOKENS).trie_nodes
    for at in range(8 * len(value)):
        damaged = bytearray(value)
        damaged[at // 8] ^= 1 << at % 8
        store = with_value(key, bytes(damaged))
        vocabulary = made(TOKENS, store)
        assert not vocabulary.loaded, at
        assert vocabulary.trie_nodes == nodes
        assert store.kept[key] == value, "what was damaged is written anew"


def test_every_truncation_and_anything_behind_the_end_is_found() -> None:
    key, value = kept_order(TOKENS)
    for damaged in (*(value[:n] for n in range(len(value))), value + b"\0", value + value):
        assert not made(TOKENS, with_value(key, damaged)).loaded


def test_only_one_order_is_right() -> None:
    """Well-formed values by someone who knows the format: other orders, repeats, foreign ids."""
    key, value = kept_order(TOKENS)
    ids = [int.from_bytes(value[at : at + 3], "little") for at in range(26, len(value), 3)]
    assert ids == [5, 2, 3, 1, 6, 0, 7], "by bytes, equal ones by number"
    head = value[:26]
    wrong = [
        [*ids[:k], ids[k + 1], ids[k], *ids[k + 2 :]] for k in range(len(ids) - 1)
    ]  # neighbours changed places
    wrong += [[*ids[:k], other, *ids[k + 1 :]] for k in range(len(ids)) for other in range(16)]
    wrong += [[*ids[:k], 0xFFFFFF, *ids[k + 1 :]] for k in range(len(ids))]
    for other in wrong:
        if other == ids:
            continue
        forged = head + b"".join(number.to_bytes(3, "little") for number in other)
        vocabulary = made(TOKENS, with_value(key, forged))
        assert not vocabulary.loaded, other
        assert masks(vocabulary) == masks(made(TOKENS))
    shorter = value[:22] + struct.pack("<I", len(ids) - 1) + value[26:-3]
    assert not made(TOKENS, with_value(key, shorter)).loaded


def test_a_foreign_order_is_not_taken() -> None:
    key, _ = kept_order(TOKENS)
    _, foreign = kept_order([b"a", b"b", b"c", b"d", b"", b"e", b"f", b"g"])
    assert len(foreign) == len(kept_order(TOKENS)[1])
    assert not made(TOKENS, with_value(key, foreign)).loaded


def test_a_vocabulary_without_ordinary_tokens() -> None:
    store = DictStore()
    assert not made([], store).loaded
    empty = made([], store)
    assert empty.loaded
    assert (empty.trie_nodes, empty.max_token_bytes) == (1, 0)


def test_longest_token_and_one_past_it() -> None:
    assert made([b"x" * 65_535]).max_token_bytes == 65_535
    with pytest.raises(ValueError, match="token 0 is 65536 bytes long"):
        made([b"x" * 65_536])
