"""The bytes of automata, as they lie in a store, and which of them are worth it.

    artifact   magic "SYA1" | version u32 (artifact_version) | nanoseconds that building took u64
               | number of states | states
    state      flags | how many edges; each edge's distance from the byte behind the last one's high, its
               high from its low, and its target
    number     as in varint; fixed ones lie as the processor has them

Shared are automata as tables keep them (drafttable) of which each state has byte edges alone, in order,
if building one took at least ``LEAST_GAIN`` times what fetching it is going to take.

Invariants   I1 what is taken has a state at least, every target is one of its states, edges ascend, and
                flags are those that such rules have.
             I2 each of its states is reached from the first one and reaches a final one, as those that
                walk in automata count on.
                It may still be another rule's: that it is not is the business of the store's MAC.
Cost         linear in the edges.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.memory cimport make_shared

from .digests cimport DigestC, bytes_of, digest_from
from .draft cimport FINAL_STATE, LOOP_STATE, ByteEdgeC, DraftC
from .drafttable cimport AutomatonC, AutomatonPtr, DraftTable
from .pool cimport vector
from .varint cimport ReaderC, put, take

from .artifact_version import ARTIFACT_VERSION

#: what the keys of automata begin with in a store; they are the same for any vocabulary
STORE_GROUP = b"automata/%d/any" % ARTIFACT_VERSION
#: what building must take, in fetches, to be shared; 0: everything is
LEAST_GAIN = 5

# Nanoseconds of a fetch among many, and of a byte.
cdef uint64_t FETCH_NS = 60_000
cdef uint64_t BYTE_NS = 10
# Bytes of a value; stores take a little more. And nanoseconds that building one is believed to have taken.
cdef size_t MOST_BYTES = 1_000_000
cdef uint64_t MOST_TOOK_NS = 60_000_000_000

cdef uint32_t VERSION = ARTIFACT_VERSION
cdef uint32_t MAGIC = int.from_bytes(b"SYA1", "little")
cdef enum:
    FLAGS = FINAL_STATE | LOOP_STATE
    STATE_BYTES = 2             # at least

cdef struct HeadC:
    uint32_t magic, version
    uint64_t took_ns


def store_key(bytes digest):
    """The store's key of a rule's automaton."""
    return STORE_GROUP + b"/" + digest.hex().encode()


def take_fresh(DraftTable table):
    """What was built here since the last call and is worth it: [(digest, value)]."""
    cdef vector[AutomatonPtr] taken
    cdef vector[uint8_t] value
    cdef AutomatonC* each
    cdef size_t k
    cdef bint fits
    with nogil:
        table.take_fresh(&taken)
    out = []
    for k in range(taken.size()):
        each = taken[k].get()
        with nogil:
            fits = put_automaton(&value, &each.drafts, each.took_ns)
        if fits and value.size() <= MOST_BYTES and (
                each.took_ns >= LEAST_GAIN * (FETCH_NS + BYTE_NS * <uint64_t>value.size())):
            digest = bytes_of(DigestC(each.high, each.low))
            out.append((digest, (<const char*>value.data())[:value.size()]))
    return out


def load(DraftTable table, bytes digest, bytes value):
    """Keeps an automaton that came from a store. Returns the nanoseconds that building it took, or -1 if
    anything is off.
    """
    cdef DigestC rule = digest_from(digest)
    cdef AutomatonPtr made = make_shared[AutomatonC]()
    cdef const uint8_t* data = value
    cdef size_t size = len(value)
    cdef bint fits
    made.get().high, made.get().low = rule.high, rule.low
    with nogil:
        fits = take_automaton(data, size, &made.get().drafts, &made.get().took_ns)
        if fits:
            table.add_loaded(made)
    return min(made.get().took_ns, MOST_TOOK_NS) if fits else -1


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
    return left.at == left.end and is_trim(out)


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


cdef bint is_trim(const vector[DraftC]* states) noexcept nogil:
    """I2."""
    cdef vector[uint8_t] reached, reaches
    cdef vector[uint32_t] todo, begin, sources
    cdef ByteEdgeC edge
    cdef size_t n = states.size()
    cdef uint32_t k, at
    reached.assign(n, False)
    reaches.assign(n, False)
    begin.assign(n + 2, 0)
    reached[0] = True
    todo.push_back(0)
    while todo.size():
        at = todo.back()
        todo.pop_back()
        for edge in states[0][at].bytes:
            begin[edge.target + 2] += 1
            if not reached[edge.target]:
                reached[edge.target] = True
                todo.push_back(edge.target)
    # edges by their targets, of all states if all are reached
    for k in range(<uint32_t>n):
        if not reached[k]:
            return False
        begin[k + 2] += begin[k + 1]
    sources.resize(begin[n + 1])
    for k in range(<uint32_t>n):
        for edge in states[0][k].bytes:
            sources[begin[edge.target + 1]] = k
            begin[edge.target + 1] += 1
        if states[0][k].flags & FINAL_STATE:
            reaches[k] = True
            todo.push_back(k)
    while todo.size():
        at = todo.back()
        todo.pop_back()
        for k in range(begin[at], begin[at + 1]):
            if not reaches[sources[k]]:
                reaches[sources[k]] = True
                todo.push_back(sources[k])
    for k in range(<uint32_t>n):
        if not reaches[k]:
            return False
    return True
