"""The bytes of automata: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .draft cimport FINAL_STATE, LOOP_STATE, ByteEdgeC, DraftC
from .pool cimport vector
from .varint cimport ReaderC, put, take

from .artifact_version import ARTIFACT_VERSION

cdef uint32_t VERSION = ARTIFACT_VERSION
cdef uint32_t MAGIC = int.from_bytes(b"SYA1", "little")
cdef enum:
    FLAGS = FINAL_STATE | LOOP_STATE
    STATE_BYTES = 2             # at least

cdef struct HeadC:
    uint32_t magic, version
    uint64_t took_ns


# -- writing ---------------------------------------------------------------------------------------
cdef bint put_automaton(vector[uint8_t]* out, const vector[DraftC]* drafts, uint64_t took_ns) noexcept nogil:
    cdef HeadC head = HeadC(MAGIC, VERSION, took_ns)
    cdef size_t k
    out.resize(sizeof(HeadC))
    memcpy(out.data(), &head, sizeof(HeadC))
    put(out, drafts.size())
    for k in range(drafts.size()):
        if not put_state(out, &drafts[0][k]):
            return False
    return drafts.size() > 0


cdef bint put_state(vector[uint8_t]* out, const DraftC* draft) noexcept nogil:
    cdef uint32_t behind = 0
    cdef ByteEdgeC edge
    cdef size_t k
    if draft.refs.size() or draft.tokens.size() or draft.empty.size() or draft.held or draft.is_plain_text:
        return False
    if draft.flags & ~FLAGS:
        return False
    put(out, draft.flags)
    put(out, draft.bytes.size())
    for k in range(draft.bytes.size()):
        edge = draft.bytes[k]
        if edge.low < behind or edge.high < edge.low:
            return False
        put(out, edge.low - behind)
        put(out, edge.high - edge.low)
        put(out, edge.target)
        behind = <uint32_t>edge.high + 1
    return True


# -- reading ---------------------------------------------------------------------------------------
cdef bint take_automaton(
    const uint8_t* data, size_t size, vector[DraftC]* out, uint64_t* took_ns
) noexcept nogil:
    cdef HeadC head
    cdef ReaderC left
    cdef uint64_t states
    cdef size_t k
    if size < sizeof(HeadC):
        return False
    memcpy(&head, data, sizeof(HeadC))
    if head.magic != MAGIC or head.version != VERSION:
        return False
    left.at, left.end = data + sizeof(HeadC), data + size
    if not take(&left, &states) or states == 0 or states > <uint64_t>(left.end - left.at) // STATE_BYTES:
        return False
    out.resize(states)
    for k in range(states):
        if not take_state(&left, <uint32_t>states, &out[0][k]):
            return False
    took_ns[0] = head.took_ns
    return left.at == left.end


cdef bint take_state(ReaderC* left, uint32_t states, DraftC* out) noexcept nogil:
    cdef uint64_t flags, edges, gap, width, target, low, behind = 0
    cdef uint64_t _k
    cdef ByteEdgeC edge
    if not (take(left, &flags) and take(left, &edges)) or flags & ~<uint64_t>FLAGS or edges > 256:
        return False
    out.flags, out.held, out.is_plain_text, out.missing = <uint8_t>flags, 0, 0, 0
    for _k in range(edges):
        if not (take(left, &gap) and take(left, &width) and take(left, &target)):
            return False
        low = behind + gap
        if gap > 255 or width > 255 or low + width > 255 or target >= states:
            return False
        edge.low, edge.high, edge.target = <uint8_t>low, <uint8_t>(low + width), <uint32_t>target
        out.bytes.push_back(edge)
        behind = low + width + 1
    return True
