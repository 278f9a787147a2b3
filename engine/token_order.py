"""The ids of a vocabulary in the order of their bytes, as they lie in a store.

    token order   magic "SYO1" | version u16 | fingerprint 16 bytes | number of ids u32
                  | ids, 3 bytes each

All numbers little-endian. Only the order is kept, since sorting is what building a vocabulary's
index costs most; the trie over it is 12 times as large, would take longer to move and to check
than to make again, and making it checks every id for nothing (``Vocabulary.build_trie``). So
nothing that comes from a store is trusted: an order is the only right one, or it is not used.
"""

import struct

MAGIC = b"SYO1"
VERSION = 1
ID_BYTES = 3
#: a vocabulary with more tokens is not kept
MOST_TOKENS = 1 << 8 * ID_BYTES
_HEAD = struct.Struct("<4sH16sI")
HEAD_BYTES = _HEAD.size


def store_key(fingerprint: str) -> bytes:
    """The store's key of a vocabulary; stop ids, padding and mask width are not in it."""
    return b"order/%d/%s" % (VERSION, fingerprint.encode())


def encode(ids: bytes, *, fingerprint: str) -> bytes:
    """``ids``: 3 bytes each."""
    return _HEAD.pack(MAGIC, VERSION, bytes.fromhex(fingerprint), len(ids) // ID_BYTES) + ids


def decode(data: bytes, *, fingerprint: str, count: int) -> bytes | None:
    """The ids, or ``None`` where this is no order of ``count`` ids of this vocabulary."""
    if len(data) != _HEAD.size + ID_BYTES * count:
        return None
    if _HEAD.unpack_from(data) != (MAGIC, VERSION, bytes.fromhex(fingerprint), count):
        return None
    return data[_HEAD.size :]
