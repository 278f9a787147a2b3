"""Seal: only what was sealed with this secret for this key opens; all else is None."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache.seal import MIN_SECRET_BYTES, OVERHEAD, Seal

SECRET = b"0123456789abcdef"
KEYED, KEYLESS = Seal(SECRET), Seal(None)


@given(st.binary(), st.binary())
def test_what_was_wrapped_opens_again(key: bytes, value: bytes) -> None:
    for seal in (KEYED, KEYLESS):
        sealed = seal.wrap(key, value)
        assert len(sealed) == len(value) + OVERHEAD
        assert seal.unwrap(key, sealed) == value


@pytest.mark.parametrize("seal", [KEYED, KEYLESS], ids=["keyed", "keyless"])
def test_every_flipped_bit_and_every_cut_is_noticed(seal: Seal) -> None:
    sealed = seal.wrap(b"key", b"some value")
    for place in range(8 * len(sealed)):
        spoiled = bytearray(sealed)
        spoiled[place // 8] ^= 1 << place % 8
        assert seal.unwrap(b"key", bytes(spoiled)) is None, place
    for length in range(len(sealed)):
        assert seal.unwrap(b"key", sealed[:length]) is None, length
    assert seal.unwrap(b"key", sealed + b"\0") is None


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_open(data: bytes) -> None:
    assert KEYED.unwrap(b"key", data) is None
    assert KEYLESS.unwrap(b"key", data) is None


@pytest.mark.parametrize(
    ("reader", "key"),
    [
        (Seal(b"another secret, long enough"), b"key"),
        (KEYLESS, b"key"),
        (KEYED, b"other key"),
        (KEYED, b"keys"),
        (KEYED, b""),
    ],
    ids=["wrong secret", "no secret", "other key", "key and a byte of the value", "no key"],
)
def test_another_secret_or_key_does_not_open(reader: Seal, key: bytes) -> None:
    assert reader.unwrap(key, KEYED.wrap(b"key", b"some value")) is None


def test_a_keyless_seal_is_not_taken_by_a_keyed_reader() -> None:
    """Otherwise an attacker with write access to Redis could omit the MAC."""
    assert KEYED.unwrap(b"key", KEYLESS.wrap(b"key", b"value")) is None


def test_the_boundary_between_key_and_value_is_sealed() -> None:
    sealed = KEYED.wrap(b"ab", b"cd")
    moved = sealed[:6] + (3).to_bytes(4, "big") + sealed[10:OVERHEAD] + b"bcd"
    assert KEYED.unwrap(b"a", moved) is None


def test_secrets_at_and_below_the_bound() -> None:
    Seal(bytes(MIN_SECRET_BYTES))
    with pytest.raises(ValueError, match="at least 16 bytes, got 15"):
        Seal(bytes(MIN_SECRET_BYTES - 1))
