"""Compiled grammars and refusals by the digest of their spec, and one compile of each spec at a time.

Grammars     Two ordered dicts by key: grammars in LRU order, and their measured sizes, the one
             measured longest ago first.
             I1 measured sizes sum up to at most `kept_bytes`, and there are at most
                `kept_grammars`, except for one grammar that is larger alone.
             I2 grammars grow with use: a grammar is measured when the next one is compiled and when
                it is used again. With every `REMEASURE_EVERY` new grammars the one measured longest
                ago is measured again. No measurement waits for a grammar in use.
             Cost: a hit is a look-up; a miss two, and a measurement: 2 us, 10 with cold caches.
Refusals     A spec that was refused once is refused again without work: errors by key, in LRU order.
             Each raise has its own exception, because a traceback belongs to one thread. Only
             refusals that depend on the spec alone are cached: no cancellation, and no limit that
             other specs of the request helped to exceed.
Digest       128 bits of SipHash-1-4 over a spec's content (Python hashes strings with SipHash-1-3),
             under a random key for each object: a collision cannot be constructed without the key.
             It is valid in one process only.
             The content is written depth first in whole words: a tag with a length, then the value,
             so no two contents are written alike. Types differ by tag (1, 1.0 and true; list and
             tuple), objects keep the order of their keys, and strings are written as stored in
             memory. Values of other types are encoded by marshal or JSON first.
             Cost: one pass without copies, a quarter of marshal and BLAKE2b.
             Source: J.-P. Aumasson, D. Bernstein, SipHash: a fast short-input PRF, INDOCRYPT 2012.
Bounds       `Limits.spec_bytes` of a spec's approximate length as JSON text.
Threads      The cache has one lock, which is not held while a spec is compiled. A SpecHash is used
             under the GIL, which hashing does not release.
Not here     the meaning of specs (front ends), rule digests, which are equal in all processes
             (rule_digest).
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t, uint8_t
from libc.string cimport memcpy

from ..native.resources cimport WorkBudget, spend, spent
from ..runtime.compiled cimport Compiled

import json
import marshal
import os
import threading
from collections import OrderedDict

from ..errors import Cancelled, LimitExceeded, SpecError
from ..native import resources as memory
from ..native.single_flight import SingleFlight

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

# rounds after each half of the digest
cdef int ROUNDS = 4

# bytes counted for a value besides its text: a number or a bracket with a comma, or quotes
cdef uint64_t MARK_BYTES = 4

# levels followed here; deeper values are encoded first, which also finds out how deep they are
cdef int NESTED = 500


cdef struct SipHashStateC:
    uint64_t v0, v1, v2, v3


cdef inline uint64_t rotate(uint64_t x, int bits) noexcept nogil:
    return x << bits | x >> (64 - bits)


cdef inline void sip_round(SipHashStateC* s) noexcept nogil:
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


cdef inline void absorb(SipHashStateC* s, uint64_t word) noexcept nogil:
    s.v3 ^= word
    sip_round(s)
    s.v0 ^= word


cdef class SpecHash:
    """Hashes specs under one random key."""

    cdef object limits
    cdef uint64_t most
    cdef uint64_t key0, key1
    cdef SipHashStateC state
    cdef uint64_t words                   # words written so far
    cdef uint64_t size                    # approximate length as JSON text

    def __init__(self, limits):
        cdef const uint8_t[:] key = os.urandom(16)
        self.limits = limits
        self.most = limits.spec_bytes
        memcpy(&self.key0, &key[0], 8)
        memcpy(&self.key1, &key[8], 8)

    def of(self, str kind, spec):
        """Return the digest of a spec and its kind, 16 bytes.

        Raises:
            LimitExceeded: spec_bytes or spec_depth.
            SpecError: not a JSON value.
        """
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
        """Write n bytes, padded with zeros to a whole word; the caller has written n."""
        cdef SipHashStateC state = self.state
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
        """Write a value. False: it is not of JSON's own types, or too deep."""
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
        """Check the size so far.

        Raises:
            LimitExceeded: spec_bytes.
        """
        if self.size > self.most:
            raise LimitExceeded("spec_bytes", self.most, self.size)
        return 0

    cdef bytes finish(self):
        cdef uint64_t out[2]
        cdef SipHashStateC* s = &self.state
        cdef int _k
        self.check_size()
        # the number of words ends the input, like the length in SipHash
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


# -- refusals --------------------------------------------------------------------------------------

cdef enum:
    # limit on the characters of a cached message and its pointer
    MOST_CHARS = 4_096


cdef class Refusals:
    """A bounded LRU of refusals.

    Args:
        most: limit on the number of entries.
    """
    cdef Py_ssize_t _most
    cdef object _errors

    def __init__(self, Py_ssize_t most):
        self._most = most
        self._errors = OrderedDict()

    def __len__(self):
        return len(self._errors)

    cdef get(self, bytes key):
        """Return an exception to raise, or None."""
        error = self._errors.get(key)
        if error is None:
            return None
        self._errors.move_to_end(key)
        return again(error)

    cdef int add(self, bytes key, error) except -1:
        """Add a copy of the error."""
        if len(str(error)) <= MOST_CHARS:
            self._errors[key] = again(error)
        while len(self._errors) > self._most:
            self._errors.popitem(last=False)
        return 0

    cdef int clear(self) except -1:
        self._errors.clear()
        return 0


def again(error):
    """Return the same error without traceback, cause and context."""
    kind = type(error)
    made = kind.__new__(kind, *error.args)
    made.__dict__.update(error.__dict__)
    return made


# -- compiled grammars -----------------------------------------------------------------------------

cdef enum:
    REMEASURE_EVERY = 4


cdef class GrammarCache:
    """The compiled grammars and refusals of one compiler."""
    cdef object _limits, _grammars, _sizes, _calls, _guard
    cdef Refusals _refusals
    cdef Py_ssize_t _most_grammars, _most_bytes, _held, _whole
    cdef Py_ssize_t _compiles, _hits, _evictions, _refused, _refusal_hits

    def __init__(self, limits):
        self._limits = limits
        self._grammars, self._sizes = OrderedDict(), OrderedDict()
        self._refusals, self._calls, self._guard = Refusals(limits.kept_refusals), SingleFlight(), threading.Lock()
        self._most_grammars, self._most_bytes = limits.kept_grammars, limits.kept_bytes
        self._whole = limits.compile_steps
        self._held = 0
        self.reset_counts()

    def get_or_build(self, bytes key, spec, build, WorkBudget budget):
        """Return the cached grammar of a key, or build it with ``build(spec, budget)``. If several
        threads need one key, one of them builds.

        Args:
            budget: of the request; None: a new one.

        Raises:
            all errors of ``build``. A refusal that depends on the spec alone is cached.
        """
        cdef Compiled found = self.kept(key)
        cdef bint is_whole, is_made = False
        if found is not None:
            return found
        if budget is None:
            budget = WorkBudget(self._limits)
        is_whole = spent(budget) == 0 and budget.limit == self._whole
        # before waiting for others, which a request without a step left must not do
        spend(budget, 1)
        mine = self._calls.begin(key, budget.check)
        try:
            found = self.kept(key)
            if found is None:
                found = self.build_anew(key, spec, build, budget, is_whole)
            is_made = True
        finally:
            self._calls.end(key, mine, is_made=is_made)
        return found

    cdef Compiled kept(self, bytes key):
        """Return a cached grammar, or None. Raises a cached refusal."""
        with self._guard:
            found = self._grammars.get(key)
            if found is None:
                refusal = self._refusals.get(key)
                if refusal is None:
                    return None
                self._refusal_hits += 1
                raise refusal
            self._hits += 1
            self.renew(key)
        memory.keep_ready()
        return found

    cdef Compiled build_anew(self, bytes key, spec, build, WorkBudget budget, bint is_whole):
        cdef Compiled made = None
        try:
            made = build(spec, budget)
        except (SpecError, LimitExceeded, Cancelled) as error:
            # a copy, because the traceback keeps everything that was built
            failure = again(error)
        if made is None:
            memory.keep_ready()
            if not isinstance(failure, Cancelled):
                self.refuse(key, failure, is_whole)
            raise failure
        with self._guard:
            self._compiles += 1
            self.keep(key, made)
        memory.keep_ready()
        return made

    cdef int refuse(self, bytes key, error, bint is_whole) except -1:
        """Count a refusal, and cache it if it depends on the spec alone."""
        with self._guard:
            self._refused += 1
            if is_whole or not (isinstance(error, LimitExceeded) and error.limit == "compile_steps"):
                self._refusals.add(key, error)
        return 0

    # -- under the guard ----------------------------------------------------------------------------
    cdef int keep(self, bytes key, Compiled made) except -1:
        last = next(reversed(self._grammars), None)
        self._grammars[key] = made
        if last is not None:
            self.measure(last)
        if self._compiles % REMEASURE_EVERY == 0:
            self.measure(next(iter(self._sizes), key))
        return self.evict()

    cdef int renew(self, bytes key) except -1:
        self._grammars.move_to_end(key)
        self.measure(key)
        return self.evict()

    cdef int measure(self, bytes key) except -1:
        cdef Py_ssize_t size = (<Compiled>self._grammars[key]).held_bytes()
        self._held += size - self._sizes.pop(key, 0)
        self._sizes[key] = size
        return 0

    cdef int evict(self) except -1:
        while len(self._grammars) > 1 and (
                len(self._grammars) > self._most_grammars or self._held > self._most_bytes):
            dropped = self._grammars.popitem(last=False)[0]
            self._held -= self._sizes.pop(dropped, 0)
            self._evictions += 1
        return 0

    # -- the compiler -------------------------------------------------------------------------------
    def forget(self):
        """Forget all grammars and refusals."""
        with self._guard:
            self._grammars.clear()
            self._refusals.clear()
            self._sizes.clear()
            self._held = 0

    def reset_counts(self):
        self._compiles = self._hits = self._evictions = self._refused = self._refusal_hits = 0

    @property
    def measured(self):
        """The number of measured grammars."""
        return len(self._sizes)

    def stats(self):
        """Return counts of compiles, refusals and hits, cached grammars and refusals, and bytes."""
        with self._guard:
            return {
                "compiles": self._compiles, "grammar_hits": self._hits, "grammar_evictions": self._evictions,
                "refused": self._refused, "refusal_hits": self._refusal_hits,
                "grammars": len(self._grammars), "grammar_bytes": self._held, "refusals": len(self._refusals),
            }
