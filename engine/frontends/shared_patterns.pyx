"""Patterns, formats and multiples that took milliseconds to make, shared through a log.

A front end asks for one when this process has not made it. What the log had is here already, as bytes, or it
is made: nothing waits for the log.

Representation   name: hash of what the fragment is made from, limits included, with the version of Unicode's
                 tables, which are the interpreter's. No text of a pattern lies in a key.
                 value: microseconds that making it took u32 | steps of a budget u32 | fragmentbytes.
Invariants       I1 what can't be written down exactly is not shared.
                 I2 loaded values that nothing asked for take at most ``MOST_LOADED_BYTES``, and made ones that
                    were not handed over ``MOST_FRESH_BYTES``.
Threads          any; one lock, held for a dictionary's look-up.
Not here         fragments that are ready to use (fragment), the log (artifact_cache).
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
from weakref import WeakValueDictionary

from ..artifact_version import ARTIFACT_VERSION

#: what making must take, in loads, to be shared; 0: everything is
LEAST_GAIN = 5
#: nanoseconds of a load among many, and of a byte
LOAD_NS, BYTE_NS = 60_000, 10
#: nanoseconds that making one is believed to have taken
MOST_TOOK_NS = 60_000_000_000
#: bytes of a value; logs take a little more
MOST_BYTES = 1_000_000
#: bytes of loaded values that nothing asked for, and of made ones that are not handed over
MOST_LOADED_BYTES, MOST_FRESH_BYTES = 8 << 20, 8 << 20
#: what the keys of patterns begin with in a log; they are the same for any vocabulary
GROUP = b"patterns/%d/any" % ARTIFACT_VERSION

# of a value; what either of its words holds at most
HEAD = Struct("<II")
MOST_WORD = 0xFFFFFFFF

_EXACT = (type(None), bool, int, float, str, Decimal, Fraction)


class SharedPatterns:
    """The patterns of one compiler that has a log."""

    def __init__(self):
        self._loaded = {}           # value by name
        self._loaded_bytes = 0
        self._fresh = {}            # value by name
        self._fresh_bytes = 0
        self._stored = WeakValueDictionary()    # fragment by name, whose use is noted; its table drops it
        self._guard = threading.Lock()
        self._counts = {"used": 0, "refused": 0, "saved_ns": 0, "dropped": 0}

    # -- front ends ---------------------------------------------------------------------------------
    def get(self, Fragments table, tuple key, Recipe recipe):
        """The fragment, loaded or made; ``table`` keeps it."""
        cdef Fragment found = None
        cdef uint64_t took_ns, start
        name = name_of(table.name, key)
        if name is not None:
            found = self._take(name)
        if found is None:
            start = time.thread_time_ns()
            found = recipe.run()
            # of the time only this thread's own work counts
            took_ns = time.thread_time_ns() - start
            if name is not None and took_ns >= LEAST_GAIN * LOAD_NS and not found.is_nothing():
                self._offer(name, found, took_ns)
        table.keep(key, found)
        return found

    def _take(self, name):
        """The loaded fragment, once: the table has it afterwards."""
        cdef Fragment found
        with self._guard:
            value = self._loaded.pop(name, None)
            if value is None:
                return None
            self._loaded_bytes -= len(value)
        found = fragment_from(value[HEAD.size:]) if len(value) > HEAD.size else None
        with self._guard:
            if found is None:
                self._counts["refused"] += 1
                return None
            took_us, found.steps = HEAD.unpack_from(value)
            self._counts["used"] += 1
            self._counts["saved_ns"] += min(1000 * took_us, MOST_TOOK_NS)
            self._note(name, found)
        return found

    def _offer(self, name, Fragment found, took_ns):
        """Keep what was made for the log, where that is worth it."""
        data = bytes_of_fragment(found)
        if len(data) > MOST_BYTES or took_ns < LEAST_GAIN * (LOAD_NS + BYTE_NS * len(data)):
            return
        value = HEAD.pack(min(took_ns // 1000, MOST_WORD), min(found.steps, MOST_WORD)) + data
        with self._guard:
            if self._fresh_bytes + len(value) > MOST_FRESH_BYTES:
                self._counts["dropped"] += 1
                return
            self._fresh_bytes += len(value) - len(self._fresh.get(name, b""))
            self._fresh[name] = value
            self._note(name, found)

    def _note(self, name, Fragment found):
        """Under the guard: from now on its use is told."""
        found.is_used = True
        self._stored[name] = found

    # -- the log ------------------------------------------------------------------------------------
    def has_room(self):
        return self._loaded_bytes < MOST_LOADED_BYTES

    def knows(self, bytes name):
        return name in self._loaded or name in self._stored

    def load(self, bytes name, bytes value):
        """Keep a value until a front end asks for it; False: there is no room."""
        with self._guard:
            if not self.has_room() or self.knows(name):
                return False
            self._loaded[name] = value
            self._loaded_bytes += len(value)
            return True

    def take_fresh(self):
        """What was made here since the last call, and is worth it: [(name, value)]."""
        with self._guard:
            taken = list(self._fresh.items())
            self._fresh.clear()
            self._fresh_bytes = 0
        return taken

    def take_used(self):
        """The names of shared ones that grammars used since the last call."""
        cdef Fragment each
        out = []
        with self._guard:
            for name, each in list(self._stored.items()):
                if each.is_used:
                    each.is_used = False
                    out.append(name)
        return out

    def stats(self):
        """Counters since start; bytes of loaded values that nothing asked for yet."""
        with self._guard:
            return {**self._counts, "loaded_bytes": self._loaded_bytes}


def name_of(str name, tuple key):
    """In the log, of what is made from ``key``; None if that can't be told apart exactly."""
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
