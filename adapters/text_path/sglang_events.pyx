"""A reader of usual events: it walks over JSON once, and keeps five of its values."""

from libc.stdint cimport uint32_t, uint8_t
from libc.string cimport memcmp

from engine.native.pool cimport vector

# of arrays and objects in values that are skipped
cdef int MAX_DEPTH = 8
# more might not fit into 32 bits
cdef int MAX_DIGITS = 9

# the values that are kept
cdef enum:
    OTHER = 0
    OUTPUT_IDS = 1
    META_INFO = 2
    FINISH_REASON = 4
    PROMPT_TOKENS = 8
    COMPLETION_TOKENS = 16
    CACHED_TOKENS = 32
    ERROR = 64

cdef uint32_t NEEDED = OUTPUT_IDS | META_INFO | FINISH_REASON | PROMPT_TOKENS | COMPLETION_TOKENS


cdef inline bint is_next(CursorC* c, uint8_t byte) noexcept nogil:
    """Move over a byte if it is the next one."""
    if c.at < c.end and c.at[0] == byte:
        c.at += 1
        return True
    return False


cdef inline bint is_text(CursorC* c, const char* text, size_t n) noexcept nogil:
    """Move over a text if it comes next."""
    if <size_t>(c.end - c.at) >= n and memcmp(c.at, text, n) == 0:
        c.at += n
        return True
    return False


cdef inline void skip_space(CursorC* c) noexcept nogil:
    while c.at < c.end and c.at[0] == c' ':
        c.at += 1


cdef inline bint is_digit(CursorC* c) noexcept nogil:
    return c.at < c.end and c'0' <= c.at[0] <= c'9'


cdef bint skip_hex(CursorC* c) noexcept nogil:
    """Move over the four digits of an escape, unless it is half of a surrogate pair."""
    cdef int k
    cdef uint8_t byte
    cdef uint32_t code = 0
    if c.end - c.at < 4:
        return False
    for k in range(4):
        byte = c.at[k]
        code <<= 4
        if c'0' <= byte <= c'9':
            code |= byte - c'0'
        elif c'a' <= byte | 0x20 <= c'f':
            code |= (byte | 0x20) - c'a' + 10
        else:
            return False
    c.at += 4
    return not 0xD800 <= code <= 0xDFFF


cdef bint skip_multibyte(CursorC* c) noexcept nogil:
    """Move over a character of several bytes, if it is valid UTF-8."""
    cdef uint8_t lead = c.at[0], low = 0x80, high = 0xBF
    cdef int k, n
    if 0xC2 <= lead <= 0xDF:
        n = 1
    elif 0xE0 <= lead <= 0xEF:
        n = 2
        low = 0xA0 if lead == 0xE0 else 0x80
        high = 0x9F if lead == 0xED else 0xBF
    elif 0xF0 <= lead <= 0xF4:
        n = 3
        low = 0x90 if lead == 0xF0 else 0x80
        high = 0x8F if lead == 0xF4 else 0xBF
    else:
        return False
    if c.end - c.at <= n or not low <= c.at[1] <= high:
        return False
    for k in range(2, n + 1):
        if not 0x80 <= c.at[k] <= 0xBF:
            return False
    c.at += n + 1
    return True


cdef bint skip_string(CursorC* c) noexcept nogil:
    """Move over the rest of a string whose quotation mark was read."""
    cdef uint8_t byte
    while c.at < c.end:
        byte = c.at[0]
        if byte >= 0x80:
            if not skip_multibyte(c):
                return False
            continue
        c.at += 1
        if byte == c'"':
            return True
        if byte < 0x20:
            return False
        if byte == c'\\':
            if c.at == c.end:
                return False
            byte = c.at[0]
            c.at += 1
            if byte == c'u':
                if not skip_hex(c):
                    return False
            elif not (byte == c'"' or byte == c'\\' or byte == c'/' or byte == c'n' or byte == c't'
                      or byte == c'r' or byte == c'b' or byte == c'f'):
                return False
    return False


cdef bint skip_digits(CursorC* c) noexcept nogil:
    if not is_digit(c):
        return False
    while is_digit(c):
        c.at += 1
    return True


cdef bint skip_number(CursorC* c) noexcept nogil:
    """Move over a number of less than twenty characters: a longer one may be too large."""
    cdef const uint8_t* start = c.at
    is_next(c, c'-')
    if not is_next(c, c'0') and not skip_digits(c):
        return False
    if is_next(c, c'.') and not skip_digits(c):
        return False
    # rare, and the way to numbers that are too large
    if c.at < c.end and c.at[0] | 0x20 == c'e':
        return False
    return c.at - start < 20


cdef bint skip_value(CursorC* c, int depth) noexcept nogil:
    cdef uint8_t byte, closing
    skip_space(c)
    if c.at == c.end:
        return False
    byte = c.at[0]
    if byte == c'"':
        c.at += 1
        return skip_string(c)
    if byte == c'n':
        return is_text(c, "null", 4)
    if byte == c't':
        return is_text(c, "true", 4)
    if byte == c'f':
        return is_text(c, "false", 5)
    if byte != c'{' and byte != c'[':
        return skip_number(c)
    if depth == 0:
        return False
    c.at += 1
    closing = c'}' if byte == c'{' else c']'
    skip_space(c)
    if is_next(c, closing):
        return True
    while True:
        if byte == c'{':
            skip_space(c)
            if not (is_next(c, c'"') and skip_string(c)):
                return False
            skip_space(c)
            if not is_next(c, c':'):
                return False
        if not skip_value(c, depth - 1):
            return False
        skip_space(c)
        if is_next(c, closing):
            return True
        if not is_next(c, c','):
            return False


cdef bint read_count(CursorC* c, uint32_t* out) noexcept nogil:
    """Read an integer of one to nine digits."""
    cdef const uint8_t* start
    cdef uint32_t value = 0
    skip_space(c)
    start = c.at
    while is_digit(c):
        value = 10 * value + (c.at[0] - c'0')
        c.at += 1
        if c.at - start > MAX_DIGITS:
            return False
    out[0] = value
    if c.at == start or (start[0] == c'0' and c.at - start > 1):
        return False
    # a fraction or an exponent may follow, and is no count
    return c.at < c.end and (c.at[0] == c',' or c.at[0] == c'}' or c.at[0] == c']' or c.at[0] == c' ')


cdef bint read_ids(CursorC* c, vector[uint32_t]* ids) noexcept nogil:
    cdef uint32_t number = 0
    skip_space(c)
    if not is_next(c, c'['):
        return False
    skip_space(c)
    if is_next(c, c']'):
        return True
    while True:
        if not read_count(c, &number):
            return False
        ids.push_back(number)
        skip_space(c)
        if is_next(c, c']'):
            return True
        if not is_next(c, c','):
            return False


cdef bint read_key(CursorC* c, bint is_meta, uint32_t* key) noexcept nogil:
    """Read a key and its colon."""
    cdef const uint8_t* start
    cdef size_t n
    skip_space(c)
    if not is_next(c, c'"'):
        return False
    start = c.at
    while c.at < c.end and c.at[0] != c'"':
        # an escape may stand for any character, and only ASCII is valid as it is
        if c.at[0] == c'\\' or c.at[0] < 0x20 or c.at[0] >= 0x80:
            return False
        c.at += 1
    n = c.at - start
    key[0] = OTHER
    if is_meta:
        if n == 13 and memcmp(start, <const char*>"finish_reason", n) == 0:
            key[0] = FINISH_REASON
        elif n == 13 and memcmp(start, <const char*>"prompt_tokens", n) == 0:
            key[0] = PROMPT_TOKENS
        elif n == 17 and memcmp(start, <const char*>"completion_tokens", n) == 0:
            key[0] = COMPLETION_TOKENS
        elif n == 13 and memcmp(start, <const char*>"cached_tokens", n) == 0:
            key[0] = CACHED_TOKENS
    elif n == 10 and memcmp(start, <const char*>"output_ids", n) == 0:
        key[0] = OUTPUT_IDS
    elif n == 9 and memcmp(start, <const char*>"meta_info", n) == 0:
        key[0] = META_INFO
    elif n == 5 and memcmp(start, <const char*>"error", n) == 0:
        key[0] = ERROR
    if not is_next(c, c'"'):
        return False
    skip_space(c)
    return is_next(c, c':')


cdef bint read_object(
    CursorC* c, bint is_meta, EventC* event, vector[uint32_t]* ids, uint32_t* found
) noexcept nogil:
    """Read the event, or its ``meta_info``; ``found``: the values that were read."""
    cdef uint32_t key = OTHER
    cdef bint is_read
    skip_space(c)
    if not is_next(c, c'{'):
        return False
    while True:
        if not read_key(c, is_meta, &key) or found[0] & key:
            return False
        found[0] |= key
        if key == OTHER:
            is_read = skip_value(c, MAX_DEPTH)
        elif key == OUTPUT_IDS:
            is_read = read_ids(c, ids)
        elif key == META_INFO:
            is_read = read_object(c, True, event, ids, found)
        elif key == FINISH_REASON:
            skip_space(c)
            is_read = is_text(c, "null", 4)
        elif key == PROMPT_TOKENS:
            is_read = read_count(c, &event.prompt_tokens)
        elif key == COMPLETION_TOKENS:
            is_read = read_count(c, &event.completion_tokens)
        elif key == CACHED_TOKENS:
            is_read = read_count(c, &event.cached_tokens)
        else:
            is_read = False
        if not is_read:
            return False
        skip_space(c)
        if is_next(c, c'}'):
            return True
        if not is_next(c, c','):
            return False


cdef bint read_event(CursorC* c, EventC* event, vector[uint32_t]* ids) noexcept nogil:
    cdef uint32_t found = 0
    event.cached_tokens = 0
    if not is_text(c, "data:", 5) or not read_object(c, False, event, ids, &found):
        return False
    return (found & NEEDED) == NEEDED and is_text(c, "\n\n", 2)


cdef bint read_new(
    CursorC* c, EventC* event, vector[uint32_t]* ids, const StreamC* stream
) noexcept nogil:
    cdef size_t before = ids.size(), new, k
    if not read_event(c, event, ids):
        return False
    new = event.completion_tokens - stream.seen
    if event.completion_tokens < stream.seen or new > ids.size() - before:
        return False
    if event.prompt_tokens < stream.least_prompt or event.cached_tokens > event.prompt_tokens:
        return False
    for k in range(new):
        ids[0][before + k] = ids[0][ids.size() - new + k]
        if ids[0][before + k] >= stream.vocabulary:
            return False
    ids.resize(before + new)
    return True


def read_new_ids(bytes data not None, uint32_t seen, uint32_t vocabulary, uint32_t least_prompt):
    """Return what the usual events at the front of ``data`` bring: (new ids; completion, prompt and cached tokens of
    the last one; bytes of all). None: there is none.

    Args:
        seen: completion tokens before them.
        vocabulary: the number of the model's tokens; an event with another id is not usual.
        least_prompt: tokens that a prompt must have; an event that counts fewer is not usual.
    """
    cdef const uint8_t* start = data
    cdef const uint8_t* end = start
    cdef CursorC c = CursorC(start, start + len(data))
    cdef StreamC stream = StreamC(seen, vocabulary, least_prompt)
    cdef EventC event, last
    cdef vector[uint32_t] ids
    cdef size_t k, n = 0
    while read_new(&c, &event, &ids, &stream):
        stream.seen = event.completion_tokens
        end, last, n = c.at, event, ids.size()
    if end == start:
        return None
    listed = [ids[k] for k in range(n)]
    return listed, last.completion_tokens, last.prompt_tokens, last.cached_tokens, end - start


def read_events(bytes data):
    """Return the usual events at the front of ``data`` as (ids, prompt, completion, cached tokens), and how many
    bytes they have. For tests: what a TextPath reads.
    """
    cdef const uint8_t* start = data
    cdef CursorC c = CursorC(start, start + len(data))
    cdef EventC event
    cdef vector[uint32_t] ids
    cdef size_t k
    events, used = [], 0
    while read_event(&c, &event, &ids):
        listed = [ids[k] for k in range(ids.size())]
        events.append((listed, event.prompt_tokens, event.completion_tokens, event.cached_tokens))
        used = c.at - start
        ids.clear()
    return events, used
