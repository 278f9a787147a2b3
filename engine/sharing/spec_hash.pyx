"""SpecHash: see the header file."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

import json
import marshal
import os

from ..errors import LimitExceeded, SpecError

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    long long PyLong_AsLongLongAndOverflow(object value, int* overflow) except? -1

cdef enum:
    NULL_TAG = 1
    TRUE_TAG = 2
    FALSE_TAG = 3
    INT_TAG = 4
    LARGE_INT_TAG = 5
    FLOAT_TAG = 6
    TEXT_TAG = 7
    LIST_TAG = 8
    TUPLE_TAG = 9
    DICT_TAG = 10
    OTHER_TAG = 11

# Rounds at the end of each half of the digest.
cdef int ROUNDS = 4

# Bytes that a value counts besides its text: a number or a bracket with a comma, a text's quotes.
cdef uint64_t MARK_BYTES = 4

# Levels that are followed here; what is deeper takes the long way, which finds out how deep it is.
cdef int NESTED = 500


cdef inline uint64_t rotate(uint64_t x, int bits) noexcept nogil:
    return x << bits | x >> (64 - bits)


cdef inline void sip_round(SipC* s) noexcept nogil:
    s.v0 += s.v1
    s.v1 = rotate(s.v1, 13) ^ s.v0
    s.v0 = rotate(s.v0, 32)
    s.v2 += s.v3
    s.v3 = rotate(s.v3, 16) ^ s.v2
    s.v0 += s.v3
    s.v3 = rotate(s.v3, 21) ^ s.v0
    s.v2 += s.v1
    s.v1 = rotate(s.v1, 17) ^ s.v2
    s.v2 = rotate(s.v2, 32)


cdef inline void absorb(SipC* s, uint64_t word) noexcept nogil:
    s.v3 ^= word
    sip_round(s)
    s.v0 ^= word


cdef class SpecHash:
    """Digests of specs under one random key."""

    def __init__(self, limits):
        cdef const uint8_t[:] key = os.urandom(16)
        self.limits = limits
        self.most = limits.spec_bytes
        memcpy(&self.key0, &key[0], 8)
        memcpy(&self.key1, &key[8], 8)

    def of(self, str kind, spec):
        """The digest of a spec and of what it is a spec of, 16 bytes."""
        self.begin()
        self.write_text(kind)
        if not self.write_value(spec, 0):
            data = self._other(spec)
            self.begin()
            self.write_text(kind)
            self.write(OTHER_TAG | <uint64_t>len(data) << 8)
            self.write_data(data, len(data))
            self.check_size()
        return self.finish()

    def _other(self, spec):
        """Content of values that hold more than JSON's own types.

        Raises:
            LimitExceeded, SpecError: too deep, or not a JSON value.
        """
        try:
            try:
                return b"m" + marshal.dumps(spec, 2)
            except ValueError:
                # subclasses of str and the like
                return b"j" + json.dumps(spec, separators=(",", ":")).encode()
        except RecursionError:
            limit = self.limits.spec_depth
            raise LimitExceeded("spec_depth", limit, limit + 1) from None
        except (TypeError, ValueError) as error:
            raise SpecError(f"not a JSON value: {error}") from None

    cdef void begin(self) noexcept:
        self.state.v0 = self.key0 ^ <uint64_t>0x736F6D6570736575
        self.state.v1 = self.key1 ^ <uint64_t>0x646F72616E646F6D ^ <uint64_t>0xEE
        self.state.v2 = self.key0 ^ <uint64_t>0x6C7967656E657261
        self.state.v3 = self.key1 ^ <uint64_t>0x7465646279746573
        self.words = self.size = 0

    cdef void write(self, uint64_t word) noexcept:
        absorb(&self.state, word)
        self.words += 1
        self.size += MARK_BYTES

    cdef void write_data(self, const uint8_t* data, Py_ssize_t n) noexcept:
        """n bytes, filled up to a whole word with zeros; n itself must have been written."""
        cdef SipC state = self.state
        cdef uint64_t word
        cdef Py_ssize_t k = 0
        while k + 8 <= n:
            memcpy(&word, data + k, 8)
            absorb(&state, word)
            k += 8
        if k < n:
            word = 0
            memcpy(&word, data + k, n - k)
            absorb(&state, word)
        self.state = state
        self.words += (n + 7) >> 3
        self.size += n

    cdef void write_text(self, str text) noexcept:
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
        cdef int kind = PyUnicode_KIND(text)
        self.write(TEXT_TAG | kind << 4 | <uint64_t>n << 8)
        self.write_data(<const uint8_t*>PyUnicode_DATA(text), n * kind)

    cdef bint write_value(self, value, int depth) except -1:
        """Whether the value consists of JSON's own types, down to a bounded depth."""
        cdef double number
        cdef uint64_t word
        kind = type(value)
        if kind is str:
            self.write_text(<str>value)
        elif kind is dict:
            return depth < NESTED and self.write_dict(<dict>value, depth + 1)
        elif kind is list or kind is tuple:
            self.write((LIST_TAG if kind is list else TUPLE_TAG) | <uint64_t>len(value) << 8)
            self.check_size()
            if depth == NESTED:
                return False
            for item in <list>value if kind is list else <tuple>value:
                if not self.write_value(item, depth + 1):
                    return False
        elif kind is int:
            return self.write_int(value)
        elif kind is float:
            number = value
            memcpy(&word, &number, 8)
            self.write(FLOAT_TAG)
            self.write(word)
        elif value is True or value is False:
            self.write(TRUE_TAG if value is True else FALSE_TAG)
        elif value is None:
            self.write(NULL_TAG)
        else:
            return False
        return True

    cdef bint write_int(self, value) except -1:
        cdef int overflow = 0
        cdef uint64_t word = <uint64_t>PyLong_AsLongLongAndOverflow(value, &overflow)
        if overflow:
            self.write(LARGE_INT_TAG)
            self.write_text(hex(value))
            return True
        self.write(INT_TAG)
        self.write(word)
        return True

    cdef bint write_dict(self, dict value, int depth) except -1:
        cdef PyObject* key
        cdef PyObject* item
        cdef Py_ssize_t at = 0
        self.write(DICT_TAG | <uint64_t>len(value) << 8)
        while PyDict_Next(value, &at, &key, &item):
            if not self.write_value(<object>key, depth) or not self.write_value(<object>item, depth):
                return False
        self.check_size()
        return True

    cdef int check_size(self) except -1:
        """
        Raises:
            LimitExceeded: more bytes than a spec may have.
        """
        if self.size > self.most:
            raise LimitExceeded("spec_bytes", self.most, self.size)
        return 0

    cdef bytes finish(self):
        cdef uint64_t out[2]
        cdef SipC* s = &self.state
        cdef int _k
        self.check_size()
        # the number of words ends the text, as its length does in SipHash
        absorb(s, self.words)
        s.v2 ^= 0xEE
        for _k in range(ROUNDS):
            sip_round(s)
        out[0] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
        s.v1 ^= 0xDD
        for _k in range(ROUNDS):
            sip_round(s)
        out[1] = s.v0 ^ s.v1 ^ s.v2 ^ s.v3
        return PyBytes_FromStringAndSize(<char*>out, 16)
