"""The bytes of a rule's triples, as they lie in a store.

    magic "SYM1" | artifact version u16 | words of a mask u32 | trie nodes u32 | number of triples u32 | triples
    a triple: state u32 | count u32 | form u8 (0 ids, 1 bitset) | n u32 | n u32 values | exits n u32 | n u32 values

All numbers little-endian. ``decode`` checks every length and every value against the vocabulary it is for, and returns
``None`` for anything that does not fit: a damaged or foreign value is a miss, never a wrong mask. Authenticity is the
store's business (a MAC over key and value); this module knows no keys.
"""

import struct
from array import array
from typing import NamedTuple

from .errors import InternalError

MAGIC = b"SYM1"
#: part of every key; raised whenever automata are numbered or triples are made differently
VERSION = 1
_HEAD = struct.Struct("<4sHIII")
_TRIPLE = struct.Struct("<IIBI")


class Triple(NamedTuple):
    """One state's triple: ``words`` (a bitset) or ``ids`` are the accepted tokens, ``exits`` trie nodes."""

    state: int
    count: int
    words: tuple[int, ...]
    ids: tuple[int, ...]
    exits: tuple[int, ...]


def store_key(vocabulary_fingerprint: str, digest: bytes) -> bytes:
    """The store's key of a rule. Left out: the grammar, labels and limits, which no triple depends on."""
    return b"masks/%d/%s/%s" % (VERSION, vocabulary_fingerprint.encode(), digest.hex().encode())


def _numbers(values: tuple[int, ...]) -> bytes:
    return struct.pack("<I", len(values)) + struct.pack(f"<{len(values)}I", *values)


def encode(triples: list[Triple], *, words: int, nodes: int) -> bytes:
    """``words`` in a mask and ``nodes`` in the trie tell the vocabulary's shape."""
    out = [_HEAD.pack(MAGIC, VERSION, words, nodes, len(triples))]
    for t in triples:
        body = t.words or t.ids
        out.append(_TRIPLE.pack(t.state, t.count, bool(t.words), len(body)))
        out.append(struct.pack(f"<{len(body)}I", *body))
        out.append(_numbers(t.exits))
    return b"".join(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: struct.Struct) -> tuple[int, ...]:
        found = form.unpack_from(self.data, self.at)
        self.at += form.size
        return found

    def numbers(self, n: int, bound: int) -> tuple[int, ...] | None:
        """``n`` values below ``bound``."""
        end = self.at + 4 * n
        if end > len(self.data):
            return None
        values = array("I")
        if values.itemsize != 4:
            raise InternalError("a C int of 32 bits was expected")
        values.frombytes(self.data[self.at : end])
        self.at = end
        return tuple(values) if not values or max(values) < bound else None


def decode(data: bytes, *, words: int, nodes: int) -> list[Triple] | None:
    """The triples, or ``None`` where anything is off."""
    try:
        return _decode(_Reader(data), words, nodes)
    except struct.error:
        return None


def _decode(reader: _Reader, words: int, nodes: int) -> list[Triple] | None:
    head = reader.take(_HEAD)
    if head[:4] != (MAGIC, VERSION, words, nodes):
        return None
    out = []
    for _ in range(head[4]):
        state, count, dense, n = reader.take(_TRIPLE)
        if dense and n != words:
            return None
        body = reader.numbers(n, 1 << 32 if dense else 32 * words)
        (exits_n,) = reader.take(struct.Struct("<I"))
        exits = reader.numbers(exits_n, nodes)
        if body is None or exits is None:
            return None
        out.append(Triple(state, count, body if dense else (), () if dense else body, exits))
    return out if reader.at == len(reader.data) else None
