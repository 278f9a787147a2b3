"""Attacks with write access to Redis, with and without the key of the MACs."""

import random
from collections.abc import Callable, Sequence

from redis import Redis

from cache import Seal
from cache.entries import Entry, batches

from .world import KEY, LOG, PREFIX

POPULAR = PREFIX + b"hot/"
#: false names of a group: more than a gateway loads in a second, or asks for at start
FALSE_KEYS = 5_000
#: keys of one message
AT_ONCE = 100

_OURS, _OTHER = Seal(KEY.encode()), Seal(b"the key of an attacker")


def spoil(admin: Redis, entries: Sequence[Entry]) -> None:
    """Write each entry in one of the ways of ``SPOILED``, by turns."""
    for group in groups(entries):
        mine = [entry for entry in entries if entry.key.startswith(group)]
        for number, entry in enumerate(mine):
            name, other = PREFIX + entry.key, mine[number - 1]
            if number % (len(SPOILED) + 1) == len(SPOILED):
                with admin.pipeline() as transaction:  # a gateway may write it between the two
                    transaction.delete(name).rpush(name, entry.value)
                    transaction.execute()
            else:
                admin.set(name, SPOILED[number % (len(SPOILED) + 1)](name, entry.value, other))


def _with_a_bit_flipped(name: bytes, value: bytes, _: Entry) -> bytes:
    """In the header, the MAC or the value."""
    sealed = bytearray(_OURS.wrap(name, value))
    sealed[sum(name) % len(sealed)] ^= 1 << name[-1] % 8
    return bytes(sealed)


def _of_another_entry(name: bytes, value: bytes, other: Entry) -> bytes:
    return _OURS.wrap(PREFIX + other.key, other.value)


def _with_another_key(name: bytes, value: bytes, _: Entry) -> bytes:
    return _OTHER.wrap(name, value)


def _sealed_but_cut_off(name: bytes, value: bytes, _: Entry) -> bytes:
    return _OURS.wrap(name, value[: len(value) // 2])


SPOILED: tuple[Callable[[bytes, bytes, Entry], bytes], ...] = (
    _with_a_bit_flipped,
    _of_another_entry,
    _with_another_key,
    _sealed_but_cut_off,
)


def announce(admin: Redis, keys: Sequence[bytes]) -> None:
    """Write all messages in one transaction: a replica reads them before any later message."""
    with admin.pipeline() as transaction:
        for some in batches(keys, AT_ONCE):
            transaction.xadd(LOG, {b"by": b"somebody", b"keys": b"\n".join(some)})
        transaction.execute()


def groups(entries: Sequence[Entry]) -> list[bytes]:
    """Return the prefixes of keys, one for each kind of entry."""
    return sorted({entry.key.rpartition(b"/")[0] for entry in entries})


def false_names(chance: random.Random) -> list[bytes]:
    """Some as entries have them, and some that are too long, or no text."""
    names = [chance.randbytes(16) for _ in range(FALSE_KEYS)]
    odd = [b"", b"/", b"\xff" * 600, b"\x00\r\n$9\r\n"]
    return [*(name.hex().encode() for name in names), *odd]
