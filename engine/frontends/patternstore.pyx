"""Patterns, formats and multiples that took milliseconds to make, shared through a store.

A front end asks for one when it needs it and this process has not made it: a reading of its own, but
only of what lies there, for stores know what they lack (a map of keys in Redis). So a grammar with two
costly patterns waits for two round trips and not for two times ten milliseconds.

Representation   key: "patterns/<version>/any/<hash of what it is made from>", for any vocabulary. What it
                 is made from holds whatever its maker reads, limits included; the hash adds the version
                 of Unicode's tables, which are the interpreter's.
                 value: nanoseconds that making it took u64 | fragmentbytes.
Invariants       I1 what can't be written down exactly is not shared.
                 I2 no text of a pattern lies in the store's keys.
Threads          any.
Not here         keeping them in this process (fragment).
"""

from libc.stdint cimport uint64_t

from .fragment cimport Fragment
from .fragmentbytes cimport bytes_of_fragment, fragment_from

import threading
import time
import unicodedata
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b

from .. import artifact

#: nanoseconds of a fetch: a round trip that nothing shares, and reading a byte
READ_NS = 200_000
BYTE_NS = 10
#: bytes of a value; stores take a little more
MOST_BYTES = 1_000_000

_EXACT = (type(None), bool, int, float, str, Decimal, Fraction)


class PatternStore:
    """One for a compiler that has a store (``engine.store.Store``)."""

    def __init__(self, store):
        self._store = store
        self._guard = threading.Lock()
        self._counts = dict.fromkeys(("hits", "misses", "rejected", "puts", "saved_ns", "read_ns"), 0)
        #: whether what lies there is believed
        self.is_trusted = True

    def load(self, str name, tuple key):
        """The fragment, or None."""
        cdef Fragment found = None
        store_key = key_of(name, key) if self.is_trusted else None
        if store_key is None:
            return None
        start = time.perf_counter_ns()
        value = self._store.get_many([store_key])[0]
        took_ns = 0
        if value is not None and len(value) > 8:
            took_ns = int.from_bytes(value[:8], "little")
            found = fragment_from(value[8:])
        self._count(
            hits=found is not None,
            misses=value is None,
            rejected=value is not None and found is None,
            saved_ns=took_ns if found is not None else 0,
            read_ns=time.perf_counter_ns() - start,
        )
        return found

    def offer(self, str name, tuple key, Fragment fragment, uint64_t took_ns):
        """Puts it there if that is worth it."""
        if took_ns < artifact.LEAST_GAIN * READ_NS or fragment.is_nothing():
            return
        store_key = key_of(name, key)
        value = int(took_ns).to_bytes(8, "little") + bytes_of_fragment(fragment)
        if store_key is None or len(value) > MOST_BYTES:
            return
        if took_ns >= artifact.LEAST_GAIN * (READ_NS + BYTE_NS * len(value)):
            self._store.put_many([(store_key, value)])
            self._count(puts=1)

    def _count(self, **amounts):
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def stats(self):
        """Counters since start; nanoseconds that what was loaded took to make, and took to load."""
        with self._guard:
            return dict(self._counts)


def key_of(str name, tuple key):
    """The key in the store of what is made from ``key``, None if that can't be told apart exactly."""
    if not is_exact(key):
        return None
    text = repr((name, unicodedata.unidata_version, key))
    digest = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16)
    return b"patterns/%d/any/%s" % (artifact.VERSION, digest.hexdigest().encode())


cdef bint is_exact(value) except -1:
    """Whether ``repr`` says all of it, everywhere."""
    if type(value) is tuple:
        for each in value:
            if not is_exact(each):
                return False
        return True
    return type(value) in _EXACT
