"""Forced text: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from ..earley.rows cimport DEAD, Arena, RowC
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

cdef uint32_t ORDINARY = 0
# Takes the blank that a tokenizer puts before each text (rule 4).
cdef str LEAD = "\n"


cdef int only_byte(Arena arena, uint32_t instance) noexcept nogil:
    """The one byte that may come next, -1 if there are others, tokens, or an end."""
    cdef RowC* row = &arena.rows[arena.instances[instance].row]
    cdef int k, found = -1
    if row.accept or row.has_tokens:
        return -1
    for k in range(256):
        if (row.live[k >> 6] >> (k & 63)) & 1:
            if found >= 0:
                return -1
            found = k
    return found


cdef void follow_only(
    Arena arena, uint32_t instance, size_t most, vector[uint8_t]* out
) noexcept nogil:
    """Append bytes while only one may come next, until ``out`` has ``most``. Needs the mutex."""
    cdef int byte
    while out.size() < most:
        byte = only_byte(arena, instance)
        if byte < 0:
            return
        instance = arena.step(instance, <uint8_t>byte)
        if instance == DEAD:
            return
        out.push_back(<uint8_t>byte)


# -- tokens ----------------------------------------------------------------------------------------
cdef list forced_split(Arena arena, Vocabulary vocabulary, uint32_t instance, bytes data, most):
    """The tokens of forced text that stand whatever follows, at most the first ``most``.

    ``data`` is all of the text, or more than ``most`` tokens of it. Empty where the tokenizer does
    not give the text back as it is.
    """
    cdef CrossingsC found
    cdef uint32_t k, end, first = 0
    cdef size_t kept, n
    cdef const uint8_t* bytes_of
    cdef bytes text = data.decode("utf-8", "ignore").encode()
    cdef str lead = ""
    if not data.startswith(text):
        return []
    ids = split(vocabulary, lead, text)
    if not spells(vocabulary, ids, text):
        lead = LEAD
        ids = split(vocabulary, lead, text)
        if not spells(vocabulary, ids, text):
            return []
    ids = ids[:most]
    kept, n, bytes_of = size_of(vocabulary, ids), len(text), text
    with nogil:
        arena.guard.lock()
        find_crossings(arena, vocabulary, instance, bytes_of, n, kept, &found)
        arena.take_error()
        arena.guard.unlock()
    for k in range(<uint32_t>found.starts.size()):
        end = found.ends[k]
        if found.starts[k] < kept:
            added = (<const char*>found.added.data())[first:end]
            ids = common(ids, split(vocabulary, lead, text + added))
            kept = size_of(vocabulary, ids)
        first = end
    return ids


cdef list split(Vocabulary vocabulary, str lead, bytes text):
    """The tokenizer's ids of ``text`` behind ``lead``; empty if it joins the two."""
    before = list(vocabulary.encode(lead)) if lead else []
    ids = list(vocabulary.encode(lead + text.decode("utf-8", "ignore")))
    return ids[len(before):] if ids[:len(before)] == before else []


cdef bint spells(Vocabulary vocabulary, list ids, bytes text) except -1:
    """Whether these are ordinary tokens whose bytes are ``text``."""
    if any([vocabulary.kind[i] != ORDINARY for i in ids]):
        return False
    return b"".join([vocabulary.tokens[i] for i in ids]) == text


cdef size_t size_of(Vocabulary vocabulary, list ids) except? 0:
    """Bytes of these tokens."""
    return sum([len(vocabulary.tokens[i]) for i in ids])


cdef list common(list ids, list others):
    """The tokens with which both begin."""
    for k, (one, other) in enumerate(zip(ids, others)):
        if one != other:
            return ids[:k]
    return ids[:len(others)]


# -- crossings -------------------------------------------------------------------------------------
cdef void find_crossings(
    Arena arena, Vocabulary vocabulary, uint32_t instance, const uint8_t* text, size_t n, size_t before,
    CrossingsC* out
) noexcept nogil:
    """Those that begin at ``before`` at the latest; of each class the first one in the trie."""
    cdef size_t start, k = n - vocabulary.max_token_bytes if n > vocabulary.max_token_bytes else 0
    cdef uint32_t node
    if k >= before:
        return
    for start in range(n):
        instance = arena.step(instance, text[start])
        if instance == DEAD:
            return
    for start in range(k, before):
        node = 0
        for k in range(start, n):
            node = vocabulary.child(node, text[k])
            if node == 0:
                break
        if node != 0:
            cross(arena, vocabulary, instance, node, <uint32_t>start, out)


cdef void cross(
    Arena arena, Vocabulary vocabulary, uint32_t instance, uint32_t node, uint32_t start, CrossingsC* out
) noexcept nogil:
    """The crossings whose part before the forced text's end is a node of the trie."""
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    cdef uint64_t met = 0, bit
    while at < end:
        bit = <uint64_t>1 << class_of(vocabulary.nodes[at].byte)
        if not met & bit and first_token(arena, vocabulary, instance, at, &out.added):
            met |= bit
            out.starts.push_back(start)
            out.ends.push_back(<uint32_t>out.added.size())
        at = vocabulary.nodes[at].end


cdef bint first_token(
    Arena arena, Vocabulary vocabulary, uint32_t instance, uint32_t node, vector[uint8_t]* out
) noexcept nogil:
    """Appends the bytes from a node's own to the end of the first token at or below it that the grammar
    takes; False: there is none."""
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    instance = arena.step(instance, vocabulary.nodes[node].byte)
    if instance == DEAD:
        return False
    out.push_back(vocabulary.nodes[node].byte)
    if vocabulary.nodes[node].first != vocabulary.nodes[node + 1].first:
        return True
    while at < end:
        if first_token(arena, vocabulary, instance, at, out):
            return True
        at = vocabulary.nodes[at].end
    out.pop_back()
    return False


cdef uint32_t class_of(uint8_t byte) noexcept nogil:
    """Small letters, capitals, digits, white space, what is not ASCII, and each sign by itself."""
    if 0x61 <= byte <= 0x7A:
        return 0
    if 0x41 <= byte <= 0x5A:
        return 1
    if 0x30 <= byte <= 0x39:
        return 2
    if byte == 0x20 or 0x09 <= byte <= 0x0D:
        return 3
    if byte >= 0x80:
        return 4
    # 33 signs are left: 0x21-0x2F, 0x3A-0x40, 0x5B-0x60, 0x7B-0x7F; and control characters
    if byte < 0x20:
        return 5
    if byte < 0x30:
        return 6 + byte - 0x21
    if byte < 0x41:
        return 21 + byte - 0x3A
    if byte < 0x61:
        return 28 + byte - 0x5B
    return 34 + byte - 0x7B
