"""Sets of token ids as bitsets of 32-bit words: token t is bit t % 32 of word t // 32."""

from libc.stdint cimport uint32_t

from .pool cimport vector

cdef extern from *:
    int __builtin_ctz(unsigned int) noexcept nogil
    int __builtin_popcount(unsigned int) noexcept nogil


cdef inline bint has_bit(const uint32_t* words, uint32_t number) noexcept nogil:
    return (words[number >> 5] >> (number & 31)) & 1


cdef inline void clear_bit(uint32_t* words, uint32_t number) noexcept nogil:
    words[number >> 5] &= ~((<uint32_t>1) << (number & 31))


cdef inline uint32_t bits_in(uint32_t word, uint32_t low, uint32_t high) noexcept nogil:
    """Return the bits of a word that belong to the numbers low..high, some of which are in it."""
    return (<uint32_t>-1 << (low & 31 if word == low >> 5 else 0)) & (
        <uint32_t>-1 >> (31 - (high & 31) if word == high >> 5 else 0))


cdef inline void set_range(uint32_t* words, uint32_t low, uint32_t high) noexcept nogil:
    cdef uint32_t k
    for k in range(low >> 5, (high >> 5) + 1):
        words[k] |= bits_in(k, low, high)


cdef inline void clear_range(uint32_t* words, uint32_t low, uint32_t high) noexcept nogil:
    cdef uint32_t k
    for k in range(low >> 5, (high >> 5) + 1):
        words[k] &= ~bits_in(k, low, high)


cdef inline void or_words(uint32_t* out, const uint32_t* words, uint32_t n) noexcept nogil:
    cdef uint32_t k
    for k in range(n):
        out[k] |= words[k]


cdef inline void set_bits(uint32_t* out, const uint32_t* ids, size_t n) noexcept nogil:
    cdef size_t k
    for k in range(n):
        out[ids[k] >> 5] |= (<uint32_t>1) << (ids[k] & 31)


cdef inline bint has_many_bits(vector[uint32_t]* words, uint32_t many) noexcept nogil:
    """Return whether at least ``many`` bits are set."""
    cdef uint32_t word, found = 0
    for word in words[0]:
        # many sets are mostly empty, and a count can be a call
        if word:
            found += __builtin_popcount(word)
            if found >= many:
                return True
    return False


cdef inline void list_bits(vector[uint32_t]* words, vector[uint32_t]* ids) noexcept nogil:
    """Append the numbers of the set bits, ascending."""
    cdef uint32_t k, word
    for k in range(<uint32_t>words.size()):
        word = words[0][k]
        while word:
            ids.push_back(32 * k + <uint32_t>__builtin_ctz(word))
            word &= word - 1
