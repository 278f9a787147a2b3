"""The bytes of a rule's triples, as they lie in a store.

    artifact   magic "SYM1" | version u16 | words of a mask u32 | trie nodes u32
               | number of triples u32 | triples
    triple     state u32 | node u32
               | six lists: words, ids, need_ends, exits, exit_counts, triggers
    list       length u32 | that many u32

All numbers little-endian. ``decode`` checks every length, and the vocabulary's shape;
``TripleTable.load`` checks every index. Anything that does not fit is a miss, never a wrong mask.
Authenticity is the store's business (a MAC over key and value); this module knows no keys.
"""

import struct
from typing import NamedTuple

MAGIC = b"SYM1"
#: part of every key; raised whenever automata are numbered or triples are made differently
VERSION = 4
_HEAD = struct.Struct("<4sHIII")
_TRIPLE = struct.Struct("<II")
_LENGTH = struct.Struct("<I")


class Triple(NamedTuple):
    """One state's triple; the lists are those of ``TripleC``, see triples.pxd."""

    state: int
    node: int
    words: tuple[int, ...]
    ids: tuple[int, ...]
    need_ends: tuple[int, ...]
    exits: tuple[int, ...]
    exit_counts: tuple[int, ...]
    triggers: tuple[int, ...]


LISTS = len(Triple._fields) - 2


def store_key(vocabulary_fingerprint: str, digest: bytes) -> bytes:
    """The store's key of a rule; no triple depends on the grammar, its labels or limits."""
    return b"masks/%d/%s/%s" % (VERSION, vocabulary_fingerprint.encode(), digest.hex().encode())


def encode(triples: list[Triple], *, words: int, nodes: int) -> bytes:
    """``words`` in a mask and ``nodes`` in the trie tell the vocabulary's shape."""
    out = [_HEAD.pack(MAGIC, VERSION, words, nodes, len(triples))]
    for triple in triples:
        out.append(_TRIPLE.pack(triple.state, triple.node))
        for values in triple[2:]:
            out.append(_LENGTH.pack(len(values)))
            out.append(struct.pack(f"<{len(values)}I", *values))
    return b"".join(out)


def decode(data: bytes, *, words: int, nodes: int) -> list[Triple] | None:
    """The triples, or ``None`` where anything is off."""
    try:
        return _decode(data, words, nodes)
    except struct.error:
        return None


def _decode(data: bytes, words: int, nodes: int) -> list[Triple] | None:
    magic, version, its_words, its_nodes, n = _HEAD.unpack_from(data)
    if (magic, version, its_words, its_nodes) != (MAGIC, VERSION, words, nodes):
        return None
    at, out = _HEAD.size, []
    for _ in range(n):
        state, node = _TRIPLE.unpack_from(data, at)
        at += _TRIPLE.size
        lists = []
        for _ in range(LISTS):
            (length,) = _LENGTH.unpack_from(data, at)
            at += _LENGTH.size
            if length > (len(data) - at) // 4:
                return None
            lists.append(struct.unpack_from(f"<{length}I", data, at))
            at += 4 * length
        out.append(Triple(state, node, *lists))
    return out if at == len(data) else None
