"""Digests of specs: Python's hash of a spec's content behind a random key, twice, 128 bits.

Content      depth first: a tag with a length, then the value, so no two contents are written alike. Types
             differ by tag (1, 1.0 and true; list and tuple), objects keep the order of their keys, and strings
             are written as stored in memory. Values of other types are encoded by marshal or JSON first.
Keys         two for each ``SpecHash``. Python's hash is SipHash: without the keys, a collision cannot be
             constructed. Digests are valid in one process.
Bounds       `Limits.spec_bytes` of the content, which is about as long as JSON text. Values are counted while they
             are written, so one that shares its parts, or contains itself, costs no more than others.
Cost         for tool sets of BFCL (1,400 characters at the median, 3,000 at p90) 0.9 and 1.7 us as text, of the 3.3
             and 4.7 us of a cached compile and the 94 and 140 us of a new one; 2.8 and 5.8 us as values. A SipHash
             of our own took 0.4 and 0.7 us for text, with another 60 lines; BLAKE2b 2.0 and 4.0 us. ``marshal`` and
             ``hashlib`` took 19 and 41 us for values, with a bound on those that share parts.
Threads      a digest takes the GIL, which it does not release.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

from ..native.pool cimport vector

import json
import marshal
import os

from ..errors import LimitExceeded, SpecError

cdef extern from "Python.h":
    int PyUnicode_KIND(object text)
    void* PyUnicode_DATA(object text)
    Py_ssize_t PyUnicode_GET_LENGTH(object text)

cdef enum:
    NULL_TAG = 1
    TRUE_TAG = 2
    FALSE_TAG = 3
    INT_TAG = 4
    FLOAT_TAG = 5
    LIST_TAG = 6
    TUPLE_TAG = 7
    DICT_TAG = 8
    OTHER_TAG = 9
    TEXT_TAG = 10

cdef enum:
    KEY_BYTES = 16
    # a tag and a length
    MARK_BYTES = 5
    # levels followed here; deeper values are encoded first, which also finds out how deep they are
    NESTED = 500
    # content of most specs
    USUAL_BYTES = 4096


cdef class SpecHash:
    """Hashes specs under one random key."""
    cdef object limits
    cdef size_t most
    cdef bytes key

    def __init__(self, limits):
        self.limits, self.most, self.key = limits, limits.spec_bytes, os.urandom(2 * KEY_BYTES)

    def of(self, str kind, spec):
        """Return the digest of a spec and its kind, 16 bytes.

        Raises:
            LimitExceeded: spec_bytes or spec_depth.
            SpecError: not a JSON value.
        """
        cdef vector[uint8_t] content
        cdef uint64_t[2] out
        cdef bytes data
        cdef int k
        content.reserve(USUAL_BYTES)
        self.begin(kind, &content)
        if not self.write_value(spec, 0, &content):
            data = self._other(spec)
            self.begin(kind, &content)
            self.write(OTHER_TAG, <const char*>data, len(data), len(data), &content)
        for k in range(2):
            memcpy(content.data(), <const char*>self.key + KEY_BYTES * k, KEY_BYTES)
            out[k] = <uint64_t><Py_hash_t>hash(PyBytes_FromStringAndSize(<char*>content.data(), content.size()))
        return PyBytes_FromStringAndSize(<char*>out, 16)

    def _other(self, spec):
        """Encode values that are not of JSON's own types.

        Raises:
            LimitExceeded: the spec is too deep.
            SpecError: not a JSON value.
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

    cdef int begin(self, str kind, vector[uint8_t]* out) except -1:
        out.assign(KEY_BYTES, 0)
        return self.write_text(TEXT_TAG, kind, out)

    cdef int write(self, uint8_t tag, const void* data, size_t n, uint32_t length, vector[uint8_t]* out) except -1:
        """Write a tag, a length, and n bytes."""
        cdef size_t at = out.size(), size = at - KEY_BYTES + MARK_BYTES + n
        if size > self.most:
            raise LimitExceeded("spec_bytes", self.most, size)
        out.resize(at + MARK_BYTES + n)
        out.data()[at] = tag
        memcpy(out.data() + at + 1, &length, 4)
        if n:
            memcpy(out.data() + at + MARK_BYTES, data, n)
        return 0

    cdef int write_text(self, uint8_t tag, str text, vector[uint8_t]* out) except -1:
        cdef int kind = PyUnicode_KIND(text)
        cdef Py_ssize_t n = PyUnicode_GET_LENGTH(text)
        return self.write(tag | kind << 5, PyUnicode_DATA(text), n * kind, <uint32_t>n, out)

    cdef bint write_value(self, value, int depth, vector[uint8_t]* out) except -1:
        """Write a value. False: it is not of JSON's own types, or too deep."""
        cdef PyObject* key
        cdef PyObject* item
        cdef Py_ssize_t at = 0
        kind = type(value)
        if kind is str:
            self.write_text(TEXT_TAG, <str>value, out)
        elif kind is dict or kind is list or kind is tuple:
            if depth == NESTED:
                return False
            tag = DICT_TAG if kind is dict else LIST_TAG if kind is list else TUPLE_TAG
            self.write(tag, NULL, 0, <uint32_t>len(value), out)
            if kind is not dict:
                for part in <list>value if kind is list else <tuple>value:
                    if not self.write_value(part, depth + 1, out):
                        return False
                return True
            while PyDict_Next(value, &at, &key, &item):
                if not self.write_value(<object>key, depth + 1, out) or not self.write_value(
                        <object>item, depth + 1, out):
                    return False
        elif kind is int or kind is float:
            # hexadecimal digits have no limit
            self.write_text(INT_TAG if kind is int else FLOAT_TAG, hex(value) if kind is int else repr(value), out)
        elif value is True or value is False or value is None:
            self.write(NULL_TAG if value is None else TRUE_TAG if value else FALSE_TAG, NULL, 0, 0, out)
        else:
            return False
        return True
