"""The identity of a spec within one process: 128 bits of a keyed hash over its content.

Written      depth first, in whole words: a tag with the length of what follows, then that. So no
             two contents are written alike. Types are told apart by their tags (1 is not 1.0 nor
             true, a list is no tuple), objects keep the order of their keys, texts are written as
             they lie in memory. Values of other types take the long way over marshal or JSON.
Hash         SipHash-1-4 with 128 bits (Python hashes its texts by SipHash-1-3), under a key drawn
             at random for each instance: nobody who does not know it can make two specs that
             collide. It means nothing elsewhere, so that it is no key for a store.
Cost         one pass, without copies: a quarter of marshal and BLAKE2b.
Bounds       ``Limits.spec_bytes``, of what the content takes as JSON text, about.
Source       J.-P. Aumasson, D. Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012.
Threads      an instance is used under the GIL; nothing in between calls into Python.
Not here     rules' identities, which are the same everywhere (digests).
"""

from libc.stdint cimport uint64_t, uint8_t

cdef struct SipC:
    uint64_t v0, v1, v2, v3

cdef class SpecHash:
    cdef object limits
    cdef uint64_t most
    cdef uint64_t key0, key1
    cdef SipC state
    cdef uint64_t words                   # written so far
    cdef uint64_t size                    # about what was written as JSON text
    cdef void begin(self) noexcept
    cdef void write(self, uint64_t word) noexcept
    cdef void write_data(self, const uint8_t* data, Py_ssize_t n) noexcept
    cdef void write_text(self, str text) noexcept
    cdef bint write_value(self, value, int depth) except -1
    cdef bint write_int(self, value) except -1
    cdef bint write_dict(self, dict value, int depth) except -1
    cdef int check_size(self) except -1
    cdef bytes finish(self)
