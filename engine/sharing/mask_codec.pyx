"""The bytes of a rule's token masks, as they lie in the log, and what of them is worth sharing.

    artifact   magic "SYM1" | version u32 | words with a token's bit u32 | trie nodes u32
               | number of token masks u32 | token masks (mask_bytes)

The head's numbers lie as the processor has them: little-endian wherever this runs, and with any
other order the version is another one.

A token mask goes in if making it took at least ``LEAST_GAIN`` times what fetching it is going to take, and
a rule if its token masks took so much more than its key does. What fetching takes was measured with a
Redis on the same machine: the way through its client, the MAC, and ``load``.

Every length is checked, the vocabulary's shape, and every index (``is_sound``): a value that does
not fit is refused whole, and none allows a token that is not ordinary. Authenticity is the log's
business (a MAC over key and value); this module knows no keys.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from ..masks.token_mask cimport EntryC, TokenMaskCache, TokenMaskKeyC
from ..native.hashing cimport MISSING, U64MapC, hash_words, map_get, map_put, mix
from ..native.pool cimport vector
from ..native.varint cimport ReaderC
from ..vocabulary.vocabulary cimport Vocabulary
from .mask_bytes cimport put_body, put_head, put_same, take_entry
from .rule_digest cimport DigestC, bytes_of, digest_from

from ..versions import ARTIFACT_VERSION

#: what making must take, in fetches, to be shared; 0: everything is
LEAST_GAIN = 1

# Nanoseconds of a fetch.
cdef uint64_t BYTE_NS = 5
cdef uint64_t TOKEN_MASK_NS = 1_000
cdef uint64_t KEY_NS = 12_000

# What a value may come to in memory: a few bytes make a bitset.
cdef size_t MOST_BYTES = 1 << 27
# Of a value that is made; the log takes a little more. And of a token mask's head.
cdef size_t MOST_VALUE_BYTES = 1_000_000
cdef size_t HEAD_BYTES = 24

cdef uint32_t VERSION_C = ARTIFACT_VERSION
cdef uint32_t MAGIC = int.from_bytes(b"SYM1", "little")

cdef enum:
    NONE = 0xFFFFFFFF

cdef struct BodyC:
    EntryC* entry               # first with it
    uint64_t took_ns            # of all with it
    uint32_t uses
    uint32_t number             # of the first, among those that go in; NONE: there is none yet

cdef struct HeadC:
    uint32_t magic, version, words, nodes, token_masks


def store_group(str fingerprint):
    """What the keys of a vocabulary's rules begin with."""
    return b"masks/%d/%s" % (ARTIFACT_VERSION, fingerprint.encode())


def store_key(str fingerprint, bytes digest):
    """The log's key of a rule; no token mask depends on the grammar, its labels or limits."""
    return store_group(fingerprint) + b"/" + digest.hex().encode()


def digest_of(bytes key):
    """The digest in a rule's key, or None."""
    try:
        digest = bytes.fromhex(key.rpartition(b"/")[2].decode())
    except ValueError:
        return None
    return digest if len(digest) == 16 else None


def take_fresh(TokenMaskCache table, Vocabulary vocabulary):
    """What is worth it of the rules with token masks made here since the last call, with those that they
    had before: [(digest, value)].
    """
    cdef vector[EntryC] taken
    cdef TokenMaskKeyC key
    cdef size_t at = 0, end
    out = []
    with nogil:
        table.take_fresh(&taken)
    while at < taken.size():
        key, end = taken[at].key, at
        while end < taken.size() and taken[end].key.high == key.high and taken[end].key.low == key.low:
            end += 1
        value = encode(table, taken.data() + at, end - at, vocabulary, LEAST_GAIN)
        if value is not None:
            out.append((bytes_of(DigestC(key.high, key.low)), value))
        at = end
    return out


def load(TokenMaskCache table, bytes digest, bytes value, Vocabulary vocabulary):
    """Add the token masks of a rule that came from the log. Returns the nanoseconds that making the new
    ones took, or -1, and adds nothing, if any is off.
    """
    cdef vector[EntryC] made
    cdef const uint8_t* data = value
    cdef size_t k, size = len(value)
    cdef DigestC rule = digest_from(digest)
    cdef uint64_t took_ns = 0
    cdef bint fits
    with nogil:
        fits = decode(data, size, vocabulary, &made)
        if fits:
            for k in range(made.size()):
                made[k].key.high, made[k].key.low = rule.high, rule.low
                if table.add(&made[k], False):
                    took_ns += made[k].took_ns
    return took_ns if fits else -1


def count_of(bytes value):
    """How many token masks a sound value has."""
    cdef const uint8_t* data = value
    cdef HeadC head
    memcpy(&head, data, sizeof(head))
    return head.token_masks


# -- bytes -----------------------------------------------------------------------------------------
cdef encode(TokenMaskCache table, EntryC* entries, size_t n, Vocabulary vocabulary, uint64_t least_gain):
    """None if they are not worth it. Token masks with one body are worth it together."""
    cdef vector[uint8_t] out
    cdef vector[BodyC] bodies
    cdef U64MapC known
    cdef vector[uint32_t] body_of
    cdef HeadC head = HeadC(
        MAGIC, VERSION_C, vocabulary.used_words, <uint32_t>vocabulary.nodes.size() - 1, 0)
    cdef BodyC* body
    cdef size_t k
    cdef uint64_t took_ns = 0
    known.used = 0
    with nogil:
        body_of.assign(n, NONE)
        for k in range(n):
            if entries[k].body.size() == 0:
                if not put_body(&entries[k].body, entries[k].token_mask.get(), vocabulary):
                    entries[k].body.clear()
                    continue
                table.keep_body(&entries[k])
            body_of[k] = find_body(&bodies, &known, &entries[k])
        out.resize(sizeof(HeadC))
        for k in range(n):
            if body_of[k] == NONE:
                continue
            body = &bodies[body_of[k]]
            if body.took_ns < least_gain * (TOKEN_MASK_NS * body.uses + BYTE_NS * body.entry.body.size()):
                continue
            if out.size() + HEAD_BYTES + entries[k].body.size() > MOST_VALUE_BYTES:
                continue
            put_head(&out, &entries[k])
            if body.number == NONE:
                body.number = head.token_masks
                out.insert(out.end(), entries[k].body.begin(), entries[k].body.end())
            else:
                put_same(&out, body.number)
            took_ns += entries[k].took_ns
            head.token_masks += 1
        memcpy(out.data(), &head, sizeof(HeadC))
    if head.token_masks == 0 or took_ns < least_gain * KEY_NS:
        return None
    return (<const char*>out.data())[:out.size()]


cdef uint32_t find_body(vector[BodyC]* bodies, U64MapC* known, EntryC* entry) noexcept nogil:
    """The place of the entry's body among those met. Two of one hash are not told to be the same."""
    cdef const uint8_t* body = entry.body.data()
    cdef uint64_t key = hash_words(<const uint32_t*>body, entry.body.size() // 4)
    cdef uint32_t found
    key = (key ^ mix(<uint64_t>entry.key.node << 32 | entry.body.size())) | 1
    found = map_get(known, key)
    if found == MISSING or not same_body(bodies[0][found].entry, entry):
        found = <uint32_t>bodies.size()
        bodies.push_back(BodyC(entry, 0, 0, NONE))
        map_put(known, key, found)
    bodies[0][found].took_ns += entry.took_ns
    bodies[0][found].uses += 1
    return found


cdef bint same_body(EntryC* a, EntryC* b) noexcept nogil:
    return a.key.node == b.key.node and a.body.size() == b.body.size() and not memcmp(
        a.body.data(), b.body.data(), a.body.size())


cdef bint decode(const uint8_t* data, size_t size, Vocabulary vocabulary, vector[EntryC]* out) noexcept nogil:
    """False where anything is off."""
    cdef HeadC head
    cdef ReaderC left
    cdef EntryC entry
    cdef size_t held = 0
    cdef uint32_t _k
    if size < sizeof(HeadC):
        return False
    memcpy(&head, data, sizeof(HeadC))
    if head.magic != MAGIC or head.version != VERSION_C:
        return False
    if head.words != vocabulary.used_words or head.nodes != vocabulary.nodes.size() - 1:
        return False
    left.at, left.end = data + sizeof(HeadC), data + size
    for _k in range(head.token_masks):
        if not take_entry(&left, &entry, out, vocabulary):
            return False
        held += entry.bytes
        if held > MOST_BYTES:
            return False
        out.push_back(entry)
    return left.at == left.end
