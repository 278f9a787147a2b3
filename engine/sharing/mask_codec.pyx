"""The token masks of a rule as bytes in the log, and which of them are worth sharing.

    artifact     magic "SYM1" | version u32 | words with a token's bit u32 | trie nodes u32
                 | number of token masks u32 | token masks
    token mask   state | node | nanoseconds to build it | body
    body         SAME and the number of an earlier token mask with this body and node, or
                 the accepted tokens: LISTED and the ids; ALL_BUT and the ordinary tokens that are
                 missing in a bitset; WORDS and the bitset, 4 bytes a word
                 | number of needs; if any, the need of each accepted id, by id
                 | exits | exit_counts | triggers
    list         length | distance of each number from the previous one; exits: half the length |
                 for each pair the distance of x from the previous x, and of k from x
    number       as in varint; distances are folded: d as 2d, -d as 2d - 1

The artifact's head and the words of a bitset are little-endian, like every supported processor. A
bitset ends with the last word that has a token's bit, so padded and other vocabularies share it.

Sharing      A token mask is included if building it took at least `LEAST_GAIN` times as long as
             fetching it, and a rule if its token masks took that much longer than fetching its key.
             Fetching was measured with a Redis on the same machine: the client, the MAC, and
             `load`.
Checks       Every length, the shape of the vocabulary, and every index (`is_sound`). An invalid
             value is refused as a whole, and none allows a token that is not ordinary. The log
             checks authenticity by a MAC over key and value; this module knows no keys.
Cost         3 to 4 ns a byte to read; a list takes 1 to 2 bytes a number.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy
from libcpp.memory cimport make_shared

from ..grammar.rule_digest cimport DigestC, bytes_of, digest_from
from ..masks.token_mask cimport TokenMaskC, TokenMaskCache, TokenMaskEntryC, TokenMaskKeyC, is_sound, token_mask_bytes
from ..native.bitset cimport clear_bit, list_bits, set_bits
from ..native.hashing cimport MISSING, U64MapC, hash_words, map_get, map_put, mix
from ..native.pool cimport vector
from ..native.varint cimport ReaderC, put, take
from ..vocabulary.vocabulary cimport Vocabulary

from ..versions import ARTIFACT_VERSION

cdef enum:
    LISTED = 0
    ALL_BUT = 1
    WORDS = 2
    SAME = 3

cdef enum:
    MAX_NEEDS = 1 << 17        # a token has fewer bytes


# -- writing ---------------------------------------------------------------------------------------
cdef void put_head(vector[uint8_t]* out, TokenMaskEntryC* entry) noexcept nogil:
    put(out, entry.key.state)
    put(out, entry.key.node)
    put(out, entry.took_ns)


cdef void put_same(vector[uint8_t]* out, uint32_t number) noexcept nogil:
    out.push_back(SAME)
    put(out, number)


cdef bint put_body(vector[uint8_t]* out, TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil:
    """Append a token mask's body. False: the format cannot express it."""
    cdef vector[uint32_t] accepted, words
    if token_mask.need_ends.size() or token_mask.words.size() == 0:
        words.assign(vocabulary.words, 0)
        set_bits(words.data(), token_mask.ids.data(), token_mask.ids.size())
        list_bits(&words, &accepted)
        if accepted.size() != token_mask.ids.size() or (token_mask.words.size() and words != token_mask.words):
            return False
    elif token_mask.ids.size():
        return False
    if token_mask.words.size():
        put_words(out, &token_mask.words, vocabulary)
    else:
        out.push_back(LISTED)
        put_list(out, &accepted)
    if not put_needs(out, token_mask, &accepted, vocabulary):
        return False
    put_exits(out, &token_mask.exits)
    put_list(out, &token_mask.exit_counts)
    put_list(out, &token_mask.triggers)
    return True


cdef void put_words(vector[uint8_t]* out, vector[uint32_t]* words, Vocabulary vocabulary) noexcept nogil:
    cdef vector[uint32_t] lacking, missing
    cdef const uint8_t* bytes = <const uint8_t*>words.data()
    cdef uint32_t k
    for k in range(vocabulary.used_words):
        lacking.push_back(vocabulary.ordinary_words[k] & ~words[0][k])
    list_bits(&lacking, &missing)
    if missing.size() < 2 * vocabulary.used_words:
        out.push_back(ALL_BUT)
        put_list(out, &missing)
    else:
        out.push_back(WORDS)
        out.insert(out.end(), bytes, bytes + 4 * vocabulary.used_words)


cdef bint put_needs(
    vector[uint8_t]* out, TokenMaskC* token_mask, vector[uint32_t]* accepted, Vocabulary vocabulary
) noexcept nogil:
    cdef vector[uint32_t] needs
    cdef uint32_t need, k = 0, token
    put(out, token_mask.need_ends.size())
    if token_mask.need_ends.size() == 0:
        return True
    if token_mask.need_ends.back() != token_mask.ids.size():
        return False
    needs.assign(vocabulary.size, 0)
    for need in range(<uint32_t>token_mask.need_ends.size()):
        while k < token_mask.need_ends[need]:
            needs[token_mask.ids[k]] = need
            k += 1
    for token in accepted[0]:
        put(out, needs[token])
    return True


cdef void put_list(vector[uint8_t]* out, vector[uint32_t]* values) noexcept nogil:
    cdef uint32_t value, last = 0
    put(out, <uint32_t>values.size())
    for value in values[0]:
        put_distance(out, last, value)
        last = value


cdef void put_exits(vector[uint8_t]* out, vector[uint32_t]* exits) noexcept nogil:
    cdef uint32_t k, last = 0, n = <uint32_t>exits.size() // 2
    put(out, n)
    for k in range(n):
        put_distance(out, last, exits[0][2 * k])
        last = exits[0][2 * k]
        put_distance(out, last, exits[0][2 * k + 1])


cdef inline void put_distance(vector[uint8_t]* out, uint32_t last, uint32_t value) noexcept nogil:
    cdef int64_t distance = <int64_t>value - last
    put(out, <uint64_t>(2 * distance if distance >= 0 else -2 * distance - 1))


# -- reading: every function returns False for invalid bytes ---------------------------------------
cdef bint take_entry(
    ReaderC* left, TokenMaskEntryC* out, vector[TokenMaskEntryC]* before, Vocabulary vocabulary
) noexcept nogil:
    """Read an entry; the rule is not part of its bytes."""
    cdef uint64_t state, node, took_ns, number
    cdef const uint8_t* start
    if not (take(left, &state) and take(left, &node) and take(left, &took_ns)):
        return False
    if (state | node | took_ns) >> 32 or left.at == left.end:
        return False
    out.key.state, out.key.node, out.took_ns = <uint32_t>state, <uint32_t>node, <uint32_t>took_ns
    if left.at[0] == SAME:
        left.at += 1
        if not take(left, &number) or number >= before.size() or before[0][number].key.node != out.key.node:
            return False
        out.token_mask, out.body = before[0][number].token_mask, before[0][number].body
        out.bytes = out.body.size()
        return True
    out.token_mask = make_shared[TokenMaskC]()
    out.token_mask.get().node, out.token_mask.get().shared = out.key.node, True
    start = left.at
    if not take_body(left, out.token_mask.get(), vocabulary) or not is_sound(out.token_mask.get(), vocabulary):
        return False
    out.body.assign(start, left.at)
    out.bytes = token_mask_bytes(out.token_mask.get()) + out.body.size()
    return True


cdef bint take_body(ReaderC* left, TokenMaskC* out, Vocabulary vocabulary) noexcept nogil:
    cdef vector[uint32_t] missing
    cdef uint32_t token
    cdef uint8_t kind = left.at[0]
    left.at += 1
    if kind == LISTED:
        if not take_list(left, &out.ids):
            return False
    elif kind == ALL_BUT:
        if not take_list(left, &missing):
            return False
        out.words.assign(vocabulary.ordinary_words.begin(), vocabulary.ordinary_words.end())
        for token in missing:
            if token >= vocabulary.size:
                return False
            clear_bit(out.words.data(), token)
    elif kind == WORDS:
        if left.end - left.at < 4 * <int64_t>vocabulary.used_words:
            return False
        out.words.assign(vocabulary.words, 0)
        memcpy(out.words.data(), left.at, 4 * vocabulary.used_words)
        left.at += 4 * vocabulary.used_words
    else:
        return False
    return (
        take_needs(left, out) and take_exits(left, &out.exits)
        and take_list(left, &out.exit_counts) and take_list(left, &out.triggers)
    )


cdef bint take_needs(ReaderC* left, TokenMaskC* out) noexcept nogil:
    """Order the ids by need."""
    cdef vector[uint32_t] accepted, needs, places
    cdef uint64_t n, need
    cdef size_t k, count
    cdef uint32_t before = 0
    cdef uint32_t* place
    cdef uint32_t* ids
    if not take(left, &n) or n > MAX_NEEDS:
        return False
    if n == 0:
        return True
    accepted.swap(out.ids)
    if out.words.size():
        list_bits(&out.words, &accepted)
    count = accepted.size()
    out.need_ends.assign(n, 0)
    places.assign(n, 0)
    needs.resize(count)
    place = places.data()
    for k in range(count):
        if not take(left, &need) or need >= n:
            return False
        needs[k] = <uint32_t>need
        place[need] += 1
    for k in range(n):
        before += place[k]
        place[k], out.need_ends[k] = before - place[k], before
    out.ids.resize(count)
    ids = out.ids.data()
    for k in range(count):
        ids[place[needs[k]]] = accepted[k]
        place[needs[k]] += 1
    return True


cdef bint take_list(ReaderC* left, vector[uint32_t]* out) noexcept nogil:
    cdef uint64_t n
    cdef uint32_t k, value = 0
    cdef uint32_t* values
    if not take(left, &n) or n > <uint64_t>(left.end - left.at):
        return False
    out.resize(n)
    values = out.data()
    for k in range(<uint32_t>n):
        if not take_distance(left, &value):
            return False
        values[k] = value
    return True


cdef bint take_exits(ReaderC* left, vector[uint32_t]* out) noexcept nogil:
    cdef uint64_t n
    cdef uint32_t k, x = 0, child
    if not take(left, &n) or n > <uint64_t>(left.end - left.at) // 2:
        return False
    out.resize(2 * n)
    for k in range(<uint32_t>n):
        if not take_distance(left, &x):
            return False
        child = x
        if not take_distance(left, &child):
            return False
        out[0][2 * k], out[0][2 * k + 1] = x, child
    return True


cdef inline bint take_distance(ReaderC* left, uint32_t* value) noexcept nogil:
    """Add a distance to ``value``."""
    cdef uint64_t folded
    cdef int64_t found
    if not take(left, &folded):
        return False
    found = <int64_t>value[0] + (<int64_t>(folded >> 1) ^ -<int64_t>(folded & 1))
    value[0] = <uint32_t>found
    return found >> 32 == 0


# -- artifacts -------------------------------------------------------------------------------------

#: fetches that building must cost for a mask to be shared; 0 shares everything
LEAST_GAIN = 1

# nanoseconds of a fetch
cdef uint64_t BYTE_NS = 5
cdef uint64_t TOKEN_MASK_NS = 1_000
cdef uint64_t KEY_NS = 12_000

# limit on a value's bytes in memory: a few bytes can make a bitset
cdef size_t MAX_BYTES = 1 << 27
# limit on encoded values, below the log's own limit, and on the head of a token mask
cdef size_t MAX_VALUE_BYTES = 1_000_000
cdef size_t HEAD_BYTES = 24

cdef uint32_t VERSION_C = ARTIFACT_VERSION
cdef uint32_t MAGIC = int.from_bytes(b"SYM1", "little")

cdef enum:
    NONE = 0xFFFFFFFF

cdef struct DistinctBodyC:
    TokenMaskEntryC* entry               # the first entry with this body
    uint64_t took_ns            # of all entries with this body
    uint32_t uses
    uint32_t number             # of the first entry among those encoded; NONE: none yet

cdef struct ArtifactHeaderC:
    uint32_t magic, version, words, nodes, token_masks


def store_group(str fingerprint):
    """Return the prefix of the keys of a vocabulary's rules."""
    return b"masks/%d/%s" % (ARTIFACT_VERSION, fingerprint.encode())


def store_key(str fingerprint, bytes digest):
    """Return the log's key of a rule. No token mask depends on the grammar, its labels or limits.
    """
    return store_group(fingerprint) + b"/" + digest.hex().encode()


def digest_of(bytes key):
    """Return the digest in a rule's key, or None."""
    try:
        digest = bytes.fromhex(key.rpartition(b"/")[2].decode())
    except ValueError:
        return None
    return digest if len(digest) == 16 else None


def take_fresh(TokenMaskCache table, Vocabulary vocabulary):
    """Return [(digest, value)] for the rules with token masks built here since the last call, as
    far as they are worth sharing. A value includes the older token masks of its rule.
    """
    cdef vector[TokenMaskEntryC] taken
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
    """Add a rule's token masks from the log. Return the nanoseconds that building the new ones
    took; -1 if any is invalid, and none is added.
    """
    cdef vector[TokenMaskEntryC] made
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
    """Return the number of token masks in a valid value."""
    cdef const uint8_t* data = value
    cdef ArtifactHeaderC head
    memcpy(&head, data, sizeof(head))
    return head.token_masks


cdef encode(TokenMaskCache table, TokenMaskEntryC* entries, size_t n, Vocabulary vocabulary, uint64_t least_gain):
    """Encode a rule's entries; None: not worth it. Equal bodies count together."""
    cdef vector[uint8_t] out
    cdef vector[DistinctBodyC] bodies
    cdef U64MapC known
    cdef vector[uint32_t] body_of
    cdef ArtifactHeaderC head = ArtifactHeaderC(
        MAGIC, VERSION_C, vocabulary.used_words, <uint32_t>vocabulary.nodes.size() - 1, 0)
    cdef DistinctBodyC* body
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
        out.resize(sizeof(ArtifactHeaderC))
        for k in range(n):
            if body_of[k] == NONE:
                continue
            body = &bodies[body_of[k]]
            if body.took_ns < least_gain * (TOKEN_MASK_NS * body.uses + BYTE_NS * body.entry.body.size()):
                continue
            if out.size() + HEAD_BYTES + entries[k].body.size() > MAX_VALUE_BYTES:
                continue
            put_head(&out, &entries[k])
            if body.number == NONE:
                body.number = head.token_masks
                out.insert(out.end(), entries[k].body.begin(), entries[k].body.end())
            else:
                put_same(&out, body.number)
            took_ns += entries[k].took_ns
            head.token_masks += 1
        memcpy(out.data(), &head, sizeof(ArtifactHeaderC))
    if head.token_masks == 0 or took_ns < least_gain * KEY_NS:
        return None
    return (<const char*>out.data())[:out.size()]


cdef uint32_t find_body(vector[DistinctBodyC]* bodies, U64MapC* known, TokenMaskEntryC* entry) noexcept nogil:
    """Return the index of the entry's body among those met. Colliding hashes may list a body twice.
    """
    cdef const uint8_t* body = entry.body.data()
    cdef uint64_t key = hash_words(<const uint32_t*>body, entry.body.size() // 4)
    cdef uint32_t found
    key = (key ^ mix(<uint64_t>entry.key.node << 32 | entry.body.size())) | 1
    found = map_get(known, key)
    if found == MISSING or not same_body(bodies[0][found].entry, entry):
        found = <uint32_t>bodies.size()
        bodies.push_back(DistinctBodyC(entry, 0, 0, NONE))
        map_put(known, key, found)
    bodies[0][found].took_ns += entry.took_ns
    bodies[0][found].uses += 1
    return found


cdef bint same_body(TokenMaskEntryC* a, TokenMaskEntryC* b) noexcept nogil:
    return a.key.node == b.key.node and a.body.size() == b.body.size() and not memcmp(
        a.body.data(), b.body.data(), a.body.size())


cdef bint decode(const uint8_t* data, size_t size, Vocabulary vocabulary, vector[TokenMaskEntryC]* out) noexcept nogil:
    """Decode a value. False: it is invalid."""
    cdef ArtifactHeaderC head
    cdef ReaderC left
    cdef TokenMaskEntryC entry
    cdef size_t held = 0
    cdef uint32_t _k
    if size < sizeof(ArtifactHeaderC):
        return False
    memcpy(&head, data, sizeof(ArtifactHeaderC))
    if head.magic != MAGIC or head.version != VERSION_C:
        return False
    if head.words != vocabulary.used_words or head.nodes != vocabulary.nodes.size() - 1:
        return False
    left.at, left.end = data + sizeof(ArtifactHeaderC), data + size
    for _k in range(head.token_masks):
        if not take_entry(&left, &entry, out, vocabulary):
            return False
        held += entry.bytes
        if held > MAX_BYTES:
            return False
        out.push_back(entry)
    return left.at == left.end
