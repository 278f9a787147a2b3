"""The bytes of a rule's triples, as they lie in a store.

    artifact   magic "SYM1" | version u32 | words with a token's bit u32 | trie nodes u32
               | number of triples u32 | triples
    triple     state u32 | node u32
               | six lists: words, ids, need_ends, exits, exit_counts, triggers
    list       length u32 | that many u32

All numbers lie as the processor has them, little-endian wherever this runs; with any other order the
version is another one. Bitsets end with the last word that a token can be in, so that vocabularies
with and without padding share them.

Every length is checked, the vocabulary's shape, and every index (``is_sound``): a value that does
not fit is refused whole, and none allows a token that is not ordinary. Authenticity is the store's
business (a MAC over key and value); this module knows no keys.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.memory cimport make_shared

from .pool cimport vector
from .triples cimport TripleC, TripleKeyC, TriplePtr, TripleTable, is_sound
from .vocabulary cimport Vocabulary

#: part of every key; raised whenever automata are numbered or triples are made differently
VERSION = 5

cdef uint32_t VERSION_C = VERSION
cdef uint32_t MAGIC = int.from_bytes(b"SYM1", "little")

cdef enum:
    HEAD = 5            # u32 of an artifact's head
    LEAST = 8           # u32 of a triple with empty lists

cdef struct ReaderC:
    const uint32_t* at
    const uint32_t* end


def store_key(str fingerprint, bytes digest):
    """The store's key of a rule; no triple depends on the grammar, its labels or limits."""
    return b"masks/%d/%s/%s" % (VERSION, fingerprint.encode(), digest.hex().encode())


def take_fresh(TripleTable table, Vocabulary vocabulary):
    """Of every rule with triples made here since the last call: [(digest, bytes of all its triples)]."""
    cdef vector[TriplePtr] taken
    cdef TripleKeyC key
    cdef size_t at = 0, end
    out = []
    with nogil:
        table.take_fresh(&taken)
    while at < taken.size():
        end = at
        while end < taken.size() and same_rule(taken[at].get(), taken[end].get()):
            end += 1
        key = taken[at].get().key
        digest = int(key.high).to_bytes(8, "little") + int(key.low).to_bytes(8, "little")
        out.append((digest, encode(taken.data() + at, end - at, vocabulary)))
        at = end
    return out


def load(TripleTable table, bytes digest, bytes value, Vocabulary vocabulary):
    """Adds the triples of a rule that came from a store. False, and nothing added, if any is off."""
    cdef vector[TriplePtr] made
    cdef TriplePtr triple
    cdef const uint8_t* data = value
    cdef size_t size = len(value)
    cdef uint64_t high = int.from_bytes(digest[:8], "little"), low = int.from_bytes(digest[8:], "little")
    cdef bint fits
    with nogil:
        fits = decode(data, size, vocabulary, &made)
        if fits:
            for triple in made:
                triple.get().key.high, triple.get().key.low = high, low
                table.add(triple, False)
    return fits


# -- bytes -----------------------------------------------------------------------------------------
cdef bytes encode(TriplePtr* triples, size_t n, Vocabulary vocabulary):
    cdef vector[uint32_t] out
    cdef TripleC* t
    cdef size_t k
    with nogil:
        out.push_back(MAGIC)
        out.push_back(VERSION_C)
        out.push_back(vocabulary.used_words)
        out.push_back(<uint32_t>vocabulary.nodes.size() - 1)
        out.push_back(<uint32_t>n)
        for k in range(n):
            t = triples[k].get()
            out.push_back(t.key.state)
            out.push_back(t.key.node)
            put(&out, t.words.data(), vocabulary.used_words if t.words.size() else 0)
            put(&out, t.ids.data(), t.ids.size())
            put(&out, t.need_ends.data(), t.need_ends.size())
            put(&out, t.exits.data(), t.exits.size())
            put(&out, t.exit_counts.data(), t.exit_counts.size())
            put(&out, t.triggers.data(), t.triggers.size())
    return (<const char*>out.data())[:4 * out.size()]


cdef bint decode(const uint8_t* data, size_t size, Vocabulary vocabulary, vector[TriplePtr]* out) noexcept nogil:
    """False where anything is off."""
    cdef vector[uint32_t] numbers
    cdef ReaderC left
    cdef TriplePtr made
    cdef TripleC* t
    cdef uint32_t _k
    if size % 4 or size < 4 * HEAD:
        return False
    numbers.resize(size // 4)
    memcpy(numbers.data(), data, size)
    if numbers[0] != MAGIC or numbers[1] != VERSION_C or numbers[2] != vocabulary.used_words:
        return False
    if numbers[3] != vocabulary.nodes.size() - 1 or numbers[4] > (numbers.size() - HEAD) // LEAST:
        return False
    left.at, left.end = numbers.data() + HEAD, numbers.data() + numbers.size()
    for _k in range(numbers[4]):
        if left.end - left.at < LEAST:
            return False
        made = make_shared[TripleC]()
        t = made.get()
        t.key.state, t.key.node = left.at[0], left.at[1]
        left.at += 2
        if not (
            take(&left, &t.words) and take(&left, &t.ids) and take(&left, &t.need_ends)
            and take(&left, &t.exits) and take(&left, &t.exit_counts) and take(&left, &t.triggers)
        ):
            return False
        if t.words.size():
            if t.words.size() != vocabulary.used_words:
                return False
            t.words.resize(vocabulary.words)
        if not is_sound(t, vocabulary):
            return False
        out.push_back(made)
    return left.at == left.end


cdef inline void put(vector[uint32_t]* out, const uint32_t* values, size_t n) noexcept nogil:
    out.push_back(<uint32_t>n)
    out.insert(out.end(), values, values + n)


cdef inline bint take(ReaderC* left, vector[uint32_t]* out) noexcept nogil:
    cdef uint32_t n
    if left.at == left.end:
        return False
    n = left.at[0]
    left.at += 1
    if n > <size_t>(left.end - left.at):
        return False
    out.assign(left.at, left.at + n)
    left.at += n
    return True


cdef inline bint same_rule(TripleC* a, TripleC* b) noexcept nogil:
    return a.key.high == b.key.high and a.key.low == b.key.low
