"""The bytes of a token mask: see the header file."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.memory cimport make_shared

from ..masks.token_mask cimport EntryC, TokenMaskC, is_sound, token_mask_bytes
from ..native.bitset cimport clear_bit, list_bits, set_bits
from ..native.pool cimport vector
from ..native.varint cimport ReaderC, put, take
from ..vocabulary.vocabulary cimport Vocabulary

cdef enum:
    LISTED = 0
    ALL_BUT = 1
    WORDS = 2
    SAME = 3

cdef enum:
    MOST_NEEDS = 1 << 17        # a token has fewer bytes


# -- writing ---------------------------------------------------------------------------------------
cdef void put_head(vector[uint8_t]* out, EntryC* entry) noexcept nogil:
    put(out, entry.key.state)
    put(out, entry.key.node)
    put(out, entry.took_ns)


cdef void put_same(vector[uint8_t]* out, uint32_t number) noexcept nogil:
    out.push_back(SAME)
    put(out, number)


cdef bint put_body(vector[uint8_t]* out, TokenMaskC* token_mask, Vocabulary vocabulary) noexcept nogil:
    """False if it is none that these bytes can say."""
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


# -- reading: False where anything is off ----------------------------------------------------------
cdef bint take_entry(
    ReaderC* left, EntryC* out, vector[EntryC]* before, Vocabulary vocabulary
) noexcept nogil:
    """Its rule is not in these bytes."""
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
    """The ids in the order of their need."""
    cdef vector[uint32_t] accepted, needs, places
    cdef uint64_t n, need
    cdef size_t k, count
    cdef uint32_t before = 0
    cdef uint32_t* place
    cdef uint32_t* ids
    if not take(left, &n) or n > MOST_NEEDS:
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
    """The number behind ``value``."""
    cdef uint64_t folded
    cdef int64_t found
    if not take(left, &folded):
        return False
    found = <int64_t>value[0] + (<int64_t>(folded >> 1) ^ -<int64_t>(folded & 1))
    value[0] = <uint32_t>found
    return found >> 32 == 0
