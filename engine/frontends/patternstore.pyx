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
                 I3 while something is expected of an audit it is one pattern.
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
#: nanoseconds that one compile waits for patterns; the last reading may end later, by a store's own bound
MOST_WAIT_NS = 20_000_000
#: nanoseconds that making one is believed to have taken
MOST_TOOK_NS = 60_000_000_000
#: bytes of a value; stores take a little more
MOST_BYTES = 1_000_000

_EXACT = (type(None), bool, int, float, str, Decimal, Fraction)


class PatternStore:
    """One for a compiler that has a store.

    Args:
        store: see ``engine.store.Store``.
        audit_every: of so many that were loaded one is made all the same, and compared; 0: none is.
        distrust: called when one differs.
    """

    def __init__(self, store, *, audit_every, distrust):
        self._store = store
        self._audit_every = self._until_audit = audit_every
        self._distrust = distrust
        self._expected = {}
        self._guard = threading.Lock()
        self._counts = dict.fromkeys(
            ("hits", "misses", "rejected", "puts", "saved_ns", "read_ns", "audits", "audit_divergence"), 0)
        #: whether what lies there is believed
        self.is_trusted = True

    def for_one(self):
        """What one grammar brings along."""
        return GrammarPatterns(self)

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
            took_ns = min(int.from_bytes(value[:8], "little"), MOST_TOOK_NS)
            found = fragment_from(value[8:])
        self._count(
            hits=found is not None,
            misses=value is None,
            rejected=value is not None and found is None,
            saved_ns=took_ns if found is not None else 0,
            read_ns=time.perf_counter_ns() - start,
        )
        return None if found is None or self._is_audited(store_key, value) else found

    def _is_audited(self, store_key, value):
        """Whether it is this one's turn: then it is made, and ``offer`` compares."""
        with self._guard:
            self._until_audit -= 1
            if not self._audit_every or self._until_audit > 0:
                return False
            self._until_audit = self._audit_every
            self._expected = {store_key: value[8:]}
            return True

    def offer(self, str name, tuple key, Fragment fragment, uint64_t took_ns):
        """Puts it there if that is worth it."""
        if not self._expected and took_ns < artifact.LEAST_GAIN * READ_NS:
            return
        store_key = None if fragment.is_nothing() else key_of(name, key)
        if store_key is None:
            return
        data = bytes_of_fragment(fragment)
        with self._guard:
            expected = self._expected.pop(store_key, None)
        if expected is not None:
            self._count(audits=1, audit_divergence=expected != data)
            if expected != data:
                self._distrust("a pattern from the store is not the one made here")
        value = int(took_ns).to_bytes(8, "little") + data
        if len(value) <= MOST_BYTES and took_ns >= artifact.LEAST_GAIN * (READ_NS + BYTE_NS * len(value)):
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


class GrammarPatterns:
    """A compiler's ``PatternStore`` for one grammar, whose compile waits ``MOST_WAIT_NS`` at most."""

    def __init__(self, patterns):
        self._patterns = patterns
        self._left_ns = MOST_WAIT_NS

    def load(self, str name, tuple key):
        """As of ``PatternStore``; nothing when too much time went by."""
        if self._left_ns <= 0:
            return None
        start = time.perf_counter_ns()
        found = self._patterns.load(name, key)
        self._left_ns -= time.perf_counter_ns() - start
        return found

    def offer(self, str name, tuple key, Fragment fragment, uint64_t took_ns):
        """As of ``PatternStore``."""
        self._patterns.offer(name, key, fragment, took_ns)


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
