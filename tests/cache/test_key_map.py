"""KeyMap: a hint of which keys there are, believed for a while."""

from hypothesis import given
from hypothesis import strategies as st

from cache.key_map import BITS, BYTES, KeyMap, bit_of


def test_a_map_is_believed_for_so_long() -> None:
    now = 0.0
    known = KeyMap(5, clock=lambda: now)
    assert known.is_old()
    known.read(b"")
    assert not known.is_old()
    now = 4.9
    assert not known.is_old()
    now = 5.0
    assert known.is_old()


@given(st.sets(st.binary(max_size=9), max_size=20), st.binary(max_size=9))
def test_what_was_added_may_be_there(added: set[bytes], other: bytes) -> None:
    known = KeyMap(5)
    known.read(b"")
    for key in added:
        known.add(bit_of(key))
    assert all(map(known.may_have, added))
    assert known.may_have(other) == (bit_of(other) in set(map(bit_of, added)))


def test_bits_are_numbered_as_redis_numbers_them() -> None:
    number = bit_of(b"a")
    data = bytearray(number // 8 + 1)
    data[number // 8] = 0x80 >> number % 8
    known = KeyMap(5)
    known.read(bytes(data))
    assert known.may_have(b"a")
    assert 0 <= number < BITS == 8 * BYTES


def test_before_a_reading_nothing_is_noted() -> None:
    known = KeyMap(5)
    known.add(bit_of(b"a"))
    assert known.is_old()
