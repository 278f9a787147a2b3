"""Patterns, formats and multiples that took milliseconds to make, shared through a store.

A front end asks for one when this process has not made it. Most were loaded ahead, or are in no store,
which stores with a map know by themselves; so a compile reads for those alone that take longer than the
way there.
Whoever finds that one is costly while making it says so to the others, who wait for it (leases).

Representation   key: "patterns/<version>/<class>/<hash of what it is made from>", for any vocabulary.
                 What it is made from holds whatever its maker reads, limits included; the hash adds the
                 version of Unicode's tables, which are the interpreter's.
                 class: "slow" where a reading by itself is worth it; "quick" is only loaded ahead.
                 value: microseconds that making it took u32 | steps of a budget u32 | fragmentbytes.
Invariants       I1 what can't be written down exactly is not shared.
                 I2 no text of a pattern lies in the store's keys.
                 I3 once the store is not trusted nothing that came from it is kept.
Threads          any.
Not here         keeping them in this process (fragment); what is costly (making).
"""

from libc.stdint cimport uint64_t

from .fragment cimport Fragment, Fragments, Recipe
from .fragmentbytes cimport bytes_of_fragment, fragment_from

import threading
import time
import unicodedata
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from struct import Struct

from ..artifact_version import ARTIFACT_VERSION
from ..prefetching import MOST_AHEAD, load_ahead
from .making import UNDER_WAY, Delivered

#: what making must take, in fetches, to be shared; 0: everything is
LEAST_GAIN = 5
#: nanoseconds of a fetch by itself, of one among many that are loaded ahead, and of a byte: a client's
#: code, rarely run, takes more than its round trip
READ_NS, AHEAD_NS, BYTE_NS = 600_000, 60_000, 10
#: nanoseconds that one compile reads for what others may have; the last reading may end later, by a
#: store's own bound
MOST_READ_NS = 20_000_000
#: seconds that one compile spends on asking who makes its costly ones, and on waiting for those; that
#: they have for it
MOST_WAIT_SECONDS, LEASE_SECONDS = 1.0, 5.0
#: seconds between two looks at what somebody makes: the first ones, and the last
LOOK_AGAIN_SECONDS, MOST_PAUSE_SECONDS = 0.005, 0.04
#: nanoseconds that making one is believed to have taken
MOST_TOOK_NS = 60_000_000_000
#: bytes of a value; stores take a little more
MOST_BYTES = 1_000_000
#: bytes of patterns that were loaded ahead and not asked for yet; a value more may be
MOST_AHEAD_BYTES = 8 << 20

# of a value; what either of its words holds at most
HEAD = Struct("<II")
MOST_WORD = 0xFFFFFFFF

SLOW = b"patterns/%d/slow" % ARTIFACT_VERSION
QUICK = b"patterns/%d/quick" % ARTIFACT_VERSION

# The name of a grammar's own, beside the store's.
OF_GRAMMAR = "patterns of this grammar"

_COUNTERS = (
    "hits",
    "misses",       # readings in vain, but for those while waiting
    "rejected",
    "puts",
    "ahead",        # loaded before anything asked for them
    "waited",       # left to somebody who was making them
    "saved_ns",
    "read_ns",
    "audits",
    "audit_divergence",
)
_EXACT = (type(None), bool, int, float, str, Decimal, Fraction)


class PatternStore:
    """One for a compiler that has a store.

    Args:
        store: see ``engine.store.Store``.
        audit_every: of so many that were loaded one is made all the same, and compared; 0: none is.
        distrust: called when one differs.
    """

    def __init__(self, store, *, audit_every, distrust):
        self.store = store
        self._audit_every = self._until_audit = audit_every
        self.distrust = distrust
        self._ahead = {}    # key and value by name
        self._ahead_bytes = 0
        self._guard = threading.Lock()
        self._counts = dict.fromkeys(_COUNTERS, 0)
        #: whether what lies there is believed
        self.is_trusted = True

    def of_grammar(self, dict shared):
        """What one grammar needs of it: kept with what front ends keep with the grammar, from when one
        first asks.
        """
        found = shared.get(OF_GRAMMAR)
        if found is None:
            found = shared[OF_GRAMMAR] = GrammarPatterns(self)
        return found

    def prefetch(self, double until):
        """Loads those that others used most.

        Args:
            until: when to stop, as ``time.monotonic`` tells it.
        """
        keys = [key for group in (SLOW, QUICK) for key in self.store.hottest(group, MOST_AHEAD)]
        load_ahead(keys, self._load_ahead, until=until, has_room=self._has_room)

    def _has_room(self):
        return self.is_trusted and self._ahead_bytes < MOST_AHEAD_BYTES

    def _load_ahead(self, keys):
        begun = time.perf_counter_ns()
        values = self.store.get_many(keys, urgent=False)
        self.count(read_ns=time.perf_counter_ns() - begun)
        return sum([value is not None and self._put_ahead(key, value) for key, value in zip(keys, values)])

    def _put_ahead(self, bytes key, bytes value):
        """Whether it is there now, and was not."""
        name = key.rpartition(b"/")[2]
        with self._guard:
            if name in self._ahead or not self._has_room():
                return False
            self._ahead[name] = key, value
            self._ahead_bytes += len(value)
            self._counts["ahead"] += 1
            return True

    def take_ahead(self, bytes name):
        """What was loaded ahead, once; or None."""
        if not self._ahead:
            return None
        with self._guard:
            key, value = self._ahead.pop(name, (None, b""))
            self._ahead_bytes -= len(value)
        if key is None:
            return None
        self.store.used([key])
        return value

    def forget(self):
        """Lets go of what came from the store, and of all that is still to come."""
        with self._guard:
            self.is_trusted = False
            self._ahead.clear()
            self._ahead_bytes = 0

    def keep(self, Fragments table, tuple key, Fragment found):
        """One that came from the store is kept, if that is still trusted: either before ``forget``, or
        not at all.
        """
        with self._guard:
            if self.is_trusted:
                table.keep(key, found)

    def is_audited(self):
        """Whether it is the turn of the one that was loaded now."""
        if not self._audit_every:
            return False
        with self._guard:
            self._until_audit -= 1
            if self._until_audit > 0:
                return False
            self._until_audit = self._audit_every
            return True

    def count(self, **amounts):
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def stats(self):
        """Counters since start; nanoseconds that what was loaded took to make, and took to load; and the
        bytes that were loaded ahead and not asked for yet.
        """
        with self._guard:
            return {**self._counts, "ahead_bytes": self._ahead_bytes}


cdef class GrammarPatterns:
    """A compiler's ``PatternStore`` for one grammar, whose compile waits so long and no longer."""
    cdef object _patterns, _store
    cdef object _left_ns, _left_seconds

    def __init__(self, patterns):
        self._patterns = patterns
        self._store = patterns.store
        self._left_ns = MOST_READ_NS
        self._left_seconds = MOST_WAIT_SECONDS

    def get(self, Fragments table, tuple key, Recipe recipe):
        """The fragment, from the store or from the recipe; ``table`` keeps it."""
        cdef Fragment found = None
        name = name_of(table.name, key) if self._patterns.is_trusted else None
        value = None if name is None else self._load(name)
        if value is not None:
            found = self._fragment(value)
            if found is not None and not self.is_audited():
                self._patterns.keep(table, key, found)
                return found
        making = Making(self, name, None if found is None else value[HEAD.size:])
        under_way = UNDER_WAY.set(making)
        try:
            found = making.run(recipe)
        except Delivered:
            self._patterns.keep(table, key, making.delivered)
            return making.delivered
        finally:
            UNDER_WAY.reset(under_way)
            making.give_back()
        table.keep(key, found)
        return found

    def _load(self, bytes name):
        """A value that was loaded ahead, or that may be in the store."""
        value = self._patterns.take_ahead(name)
        if value is None and self._left_ns > 0 and self._store.may_have(SLOW + b"/" + name):
            start = time.perf_counter_ns()
            value = self._store.get_many([SLOW + b"/" + name])[0]
            took_ns = time.perf_counter_ns() - start
            self._left_ns -= took_ns
            self._patterns.count(misses=value is None, read_ns=took_ns)
        return value

    def _fragment(self, bytes value):
        cdef Fragment found = fragment_from(value[HEAD.size:]) if len(value) > HEAD.size else None
        saved_ns = 0
        if found is not None:
            took_us, found.steps = HEAD.unpack_from(value)
            saved_ns = min(1000 * took_us, MOST_TOOK_NS)
        self._patterns.count(hits=found is not None, rejected=found is None, saved_ns=saved_ns)
        return found

    def from_others(self, bytes name):
        """Of a costly one the value, its fragment, and whether this thread has the lease to make it."""
        if self._left_seconds <= 0 or not self._patterns.is_trusted:
            return None, None, False
        start = time.perf_counter_ns()
        value, found, may_make = self._read_or_claim(name, True)
        took_ns = time.perf_counter_ns() - start
        self._left_seconds -= took_ns / 1e9
        self._patterns.count(misses=found is None, read_ns=took_ns)
        if found is None and not may_make and self._left_seconds > 0:
            self._patterns.count(waited=1)
            return self._wait_for(name)
        return value, found, may_make

    def _wait_for(self, bytes name):
        """As ``from_others``; somebody is making it."""
        value, found, may_make, pause = None, None, False, LOOK_AGAIN_SECONDS
        begun = time.monotonic()
        while found is None and not may_make and time.monotonic() - begun < self._left_seconds:
            time.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE_SECONDS)
            value, found, may_make = self._read_or_claim(name, False)
        self._left_seconds -= time.monotonic() - begun
        return value, found, may_make

    def _read_or_claim(self, bytes name, bint urgent):
        """What lies there by now, and whether it is this thread's to make."""
        key = SLOW + b"/" + name
        value = self._store.get_newest([key], urgent=urgent)[0]
        found = None if value is None else self._fragment(value)
        may_make = found is None and self._store.claim([key], LEASE_SECONDS, urgent=urgent)[0]
        return value, found, may_make

    def is_audited(self):
        """Whether what was loaded now is made all the same."""
        return self._patterns.is_audited()

    def offer(self, bytes name, value, took_ns, *, bint is_awaited):
        """Puts it there if that is worth it, or others wait for it."""
        size_ns = BYTE_NS * len(value)
        if len(value) > MOST_BYTES or not (is_awaited or took_ns >= LEAST_GAIN * (AHEAD_NS + size_ns)):
            return
        is_slow = is_awaited or took_ns >= LEAST_GAIN * (READ_NS + size_ns)
        self._store.put_many([((SLOW if is_slow else QUICK) + b"/" + name, value)])
        self._patterns.count(puts=1)

    def give_back(self, bytes name):
        """The lease on making it."""
        self._store.release([SLOW + b"/" + name])

    def audited(self, bint is_same):
        """Of one that was in the store, whether it is the one that was made."""
        self._patterns.count(audits=1, audit_divergence=not is_same)
        if not is_same:
            self._patterns.distrust("a pattern from the store is not the one made here")


class Making:
    """A fragment that is made.

    Args:
        patterns: the grammar's.
        name: None: it is not shared.
        expected: the bytes that the store has, where these are to be audited, or None.
    """

    def __init__(self, patterns, name, expected):
        self._patterns, self._name, self._expected = patterns, name, expected
        self._is_asked = name is None or expected is not None
        self._has_lease = False
        self.delivered = None

    def run(self, Recipe recipe):
        """Makes it, and shares it. Of the time only this thread's own work counts."""
        cdef uint64_t took_ns, start = time.thread_time_ns()
        cdef Fragment fragment = recipe.run()
        took_ns = time.thread_time_ns() - start
        least_ns = LEAST_GAIN * AHEAD_NS
        if self._name is None:
            return fragment
        if self._expected is not None:
            self._patterns.audited(bytes_of_fragment(fragment) == self._expected)
        if not fragment.is_nothing() and (self._has_lease or self._expected is not None or took_ns >= least_ns):
            self._share(bytes_of_fragment(fragment), took_ns, fragment.steps)
        return fragment

    def _share(self, bytes data, took_ns, steps):
        value = HEAD.pack(min(took_ns // 1000, MOST_WORD), min(steps, MOST_WORD)) + data
        self._patterns.offer(self._name, value, took_ns, is_awaited=self._has_lease)

    def is_costly(self):
        """As of ``making.Making``: takes what others have made, or tells them that it is made here."""
        if self._is_asked:
            return
        self._is_asked = True
        value, found, self._has_lease = self._patterns.from_others(self._name)
        if found is not None and self._patterns.is_audited():
            self._expected = value[HEAD.size:]
        elif found is not None:
            self.delivered = found
            raise Delivered

    def give_back(self):
        """The lease, if there is one."""
        if self._has_lease:
            self._patterns.give_back(self._name)


def name_of(str name, tuple key):
    """In the store, of what is made from ``key``; None if that can't be told apart exactly."""
    if not is_exact(key):
        return None
    text = repr((name, unicodedata.unidata_version, key))
    digest = blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16)
    return digest.hexdigest().encode()


cdef bint is_exact(value) except -1:
    """Whether ``repr`` says all of it, everywhere."""
    if type(value) is tuple:
        for each in value:
            if not is_exact(each):
                return False
        return True
    return type(value) in _EXACT
