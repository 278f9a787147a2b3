"""Compiled grammars by the digest of their spec, and one compile of each spec at a time.

Representation   two ordered dicts by key: grammars, the least recently used first, and what each took when
                 it was measured, the one measured longest ago first. Refusals beside them (refusals).
Invariants       I1 what was measured is at most ``kept_bytes``, and there are at most ``kept_grammars``, but for
                    one grammar that is larger alone.
                 I2 grammars grow while they are used: a grammar is measured when the next one comes and when it
                    is used again, and with every ``REMEASURE_EVERY`` new ones the one measured longest ago. One
                    whose masks are being made is not waited for.
Cost             of a hit a look-up; of a miss two, and a measurement: 2 us, 10 with cold caches.
Threads          any; one lock, under which nothing is compiled.
Not here         what a spec means (the compiler's front ends).
"""

from ..budget cimport WorkBudget, spend, spent
from ..runtime.compiled cimport Compiled

import threading
from collections import OrderedDict

from ..native import pool
from ..errors import LimitExceeded, SpecError
from .single_flight import SingleFlight
from .refusals import Refusals


cdef enum:
    REMEASURE_EVERY = 4


cdef class GrammarCache:
    """One for a compiler."""
    cdef object _limits, _grammars, _sizes, _refusals, _flights, _guard
    cdef Py_ssize_t _most_grammars, _most_bytes, _held, _whole
    cdef Py_ssize_t _compiles, _hits, _evictions, _refused, _refusal_hits

    def __init__(self, limits):
        self._limits = limits
        self._grammars, self._sizes = OrderedDict(), OrderedDict()
        self._refusals, self._flights, self._guard = Refusals(limits.kept_refusals), SingleFlight(), threading.Lock()
        self._most_grammars, self._most_bytes = limits.kept_grammars, limits.kept_bytes
        self._whole = limits.compile_steps
        self._held = 0
        self.reset_counts()

    def get_or_build(self, bytes key, spec, build, WorkBudget budget):
        """The grammar kept under a key, or what ``build(spec, budget)`` makes. Of several threads that want the
        same one builds.

        Args:
            budget: the request's; None: one of its own.

        Raises:
            what ``build`` raises; a refusal that the spec alone decides is kept.
        """
        cdef Compiled found = self.kept(key)
        cdef bint is_whole, is_made = False
        if found is not None:
            return found
        if budget is None:
            budget = WorkBudget(self._limits)
        is_whole = spent(budget) == 0 and budget.limit == self._whole
        # before waiting for others: nobody does so without a step left
        spend(budget, 1)
        mine = self._flights.begin(key)
        try:
            found = self.kept(key)
            if found is None:
                found = self.build_anew(key, spec, build, budget, is_whole)
            is_made = True
        finally:
            self._flights.end(key, mine, is_made=is_made)
        return found

    cdef Compiled kept(self, bytes key):
        """Raises the spec's refusal, where that is kept."""
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
        pool.keep_ready()
        return found

    cdef Compiled build_anew(self, bytes key, spec, build, WorkBudget budget, bint is_whole):
        cdef Compiled made
        try:
            made = build(spec, budget)
        except (SpecError, LimitExceeded) as error:
            with self._guard:
                self._refused += 1
                if is_whole or not (isinstance(error, LimitExceeded) and error.limit == "compile_steps"):
                    self._refusals.add(key, error)
            raise
        with self._guard:
            self._compiles += 1
            self.keep(key, made)
        pool.keep_ready()
        return made

    # -- under the guard ----------------------------------------------------------------------------
    cdef int keep(self, bytes key, Compiled made) except -1:
        last = next(reversed(self._grammars), None)
        made.key = key
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
    def note_use(self, Compiled compiled):
        """A grammar compiled before is used again: it is dropped last, and measured."""
        with self._guard:
            if compiled.key is not None and self._grammars.get(compiled.key) is compiled:
                self.renew(compiled.key)
        pool.keep_ready()

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
        """How many grammars were measured."""
        return len(self._sizes)

    def stats(self):
        """Counts of compiles, refusals and hits; grammars and refusals kept, and bytes held."""
        with self._guard:
            return {
                "compiles": self._compiles, "grammar_hits": self._hits, "grammar_evictions": self._evictions,
                "refused": self._refused, "refusal_hits": self._refusal_hits,
                "grammars": len(self._grammars), "grammar_bytes": self._held, "refusals": len(self._refusals),
            }
