"""Steps that know the text: whether a word may end that must be unique."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..earley.rows cimport CONFIGURATION, DEAD, ENDS_UNIQUE, Arena

cdef const char* SPACES = b" \n\t\r"
#: white space as bits of the first 64 bytes
cdef uint64_t BLANKS = <uint64_t>1 << 0x20 | 1 << 0x0A | 1 << 0x09 | 1 << 0x0D
#: closing brackets as bits of the second 64 bytes
cdef uint64_t CLOSINGS = <uint64_t>1 << 0x5D - 64 | <uint64_t>1 << 0x7D - 64


cdef uint32_t follow(
    Arena arena, uint32_t configuration, const uint8_t* data, size_t n, UniquenessState* state
) noexcept nogil:
    """Return the configuration after these bytes, DEAD if they are not allowed; update ``state``.
    """
    cdef size_t k
    cdef uint32_t target
    for k in range(n):
        target = arena.step_unique(configuration, data[k])
        if target == DEAD:
            return DEAD
        state.read(data[k])
        if target & ENDS_UNIQUE and state.is_open() and state.repeats():
            target = arena.step_blocked(configuration, data[k])
            if target == DEAD:
                return DEAD
        configuration = target & CONFIGURATION
        if (data[k] == OPENING_BRACKET or data[k] == OPENING_BRACE) and not state.is_open():
            if awaits_unique(arena, configuration):
                state.open(data[k] == OPENING_BRACKET)
    return configuration


cdef bint awaits_unique(Arena arena, uint32_t configuration) noexcept nogil:
    """Return whether a unique word may come next, at once or after white space that must come
    first. Only a closing bracket may come instead of such white space: a blank within a string does
    not count.
    """
    cdef uint64_t[4] live
    cdef uint32_t _n
    for _n in range(MAX_BLANKS):
        if arena.rows[arena.configurations[configuration].row].has_unique:
            return True
        live = arena.rows[arena.configurations[configuration].row].live
        if live[0] & ~BLANKS | live[1] & ~CLOSINGS | live[2] | live[3]:
            return False
        configuration = after_blank(arena, configuration)
        if configuration == DEAD:
            return False
    return False


cdef uint32_t after_blank(Arena arena, uint32_t configuration) noexcept nogil:
    """Return the configuration after the only white space character allowed here, DEAD if there is
    none. Where several are allowed, white space is flexible and may be absent.
    """
    cdef uint64_t blanks = arena.rows[arena.configurations[configuration].row].live[0] & BLANKS
    cdef uint32_t target, k
    if blanks and not blanks & (blanks - 1):
        for k in range(4):
            if blanks == <uint64_t>1 << SPACES[k]:
                target = arena.step_unique(configuration, SPACES[k])
                return target if target == DEAD else target & CONFIGURATION
    return DEAD


cdef bint is_blank(Arena arena, uint32_t configuration) noexcept nogil:
    cdef uint64_t[4] live = arena.rows[arena.configurations[configuration].row].live
    return not (live[0] & ~BLANKS | live[1] | live[2] | live[3])
