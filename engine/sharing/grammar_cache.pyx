"""Compiled grammars and refusals by the digest of their spec, and one compile of each spec at a time.

Grammars     Two ordered dicts by key: grammars in LRU order, and their measured sizes, the one
             measured longest ago first.
             I1 measured sizes sum up to at most `kept_bytes`, and there are at most
                `kept_grammars`, except for one grammar that is larger alone.
             I2 grammars grow with use: a grammar is measured when the next one is compiled and when
                it is used again. With every `REMEASURE_EVERY` new grammars the one measured longest
                ago is measured again. When the token masks that grammars share are dropped, those
                in use belong to their grammars: all are measured again, `REMEASURE_DROPPED` with
                each new grammar. No measurement waits for a grammar in use.
             Cost: a hit is a look-up; a miss two, and a measurement: 2 us, 10 with cold caches.
Refusals     A spec that was refused once is refused again without work: errors by key, in LRU order.
             Each raise has its own exception, because a traceback belongs to one thread. Only
             refusals that depend on the spec alone are cached: no cancellation, and no limit that
             other specs of the request helped to exceed.
Threads      The cache has one lock, which is not held while a spec is compiled.
Not here     the meaning of specs (front ends), their digests (spec_hash), rule digests, which are equal
             in all processes (rule_digest).
"""

from libc.stdint cimport uint64_t

from ..masks.token_mask cimport TokenMaskCache
from ..native.resources cimport WorkBudget, spend, spent
from ..runtime.compiled cimport Compiled

import threading
from collections import OrderedDict

from ..errors import Cancelled, LimitExceeded, SpecError
from ..native import resources as memory
from ..native.single_flight import SingleFlight


cdef enum:
    # limit on the characters of a cached message and its pointer
    MAX_CHARS = 4_096
    REMEASURE_EVERY = 4
    REMEASURE_DROPPED = 16


def again(error):
    """Return the same error without traceback, cause and context."""
    kind = type(error)
    copy = kind.__new__(kind, *error.args)
    copy.__dict__.update(error.__dict__)
    return copy


cdef class GrammarCache:
    """The compiled grammars and refusals of one compiler."""
    cdef object _limits, _grammars, _sizes, _refusals, _calls, _guard
    cdef Py_ssize_t _most_grammars, _most_bytes, _most_refusals, _held, _whole
    cdef uint64_t _drops        # of shared token masks, as far as they are known
    cdef Py_ssize_t _due        # grammars that a drop made larger, and that were not measured since
    cdef Py_ssize_t _compiles, _hits, _evictions, _refused, _refusal_hits

    def __init__(self, limits):
        self._limits = limits
        self._grammars, self._sizes, self._refusals = OrderedDict(), OrderedDict(), OrderedDict()
        self._calls, self._guard = SingleFlight(), threading.Lock()
        self._most_grammars, self._most_bytes = limits.kept_grammars, limits.kept_bytes
        self._most_refusals = limits.kept_refusals
        self._whole = limits.compile_steps
        self._held = self._due = 0
        self._drops = 0
        self.reset_counts()

    def get_or_build(self, bytes key, spec, build, WorkBudget budget):
        """Return the cached grammar of a key, or build it with ``build(spec, budget)``. If several
        threads need one key, one of them builds.

        Args:
            budget: of the request; None: a new one.

        Raises:
            all errors of ``build``. A refusal that depends on the spec alone is cached.
        """
        cdef Compiled compiled = self.kept(key)
        cdef bint is_whole, is_made = False
        if compiled is not None:
            return compiled
        if budget is None:
            budget = WorkBudget(self._limits)
        is_whole = spent(budget) == 0 and budget.limit == self._whole
        # before waiting for others, which a request without a step left must not do
        spend(budget, 1)
        mine = self._calls.begin(key, budget.check)
        try:
            compiled = self.kept(key)
            if compiled is None:
                compiled = self.build_anew(key, spec, build, budget, is_whole)
            is_made = True
        finally:
            self._calls.end(key, mine, is_made=is_made)
        return compiled

    cdef Compiled kept(self, bytes key):
        """Return a cached grammar, or None. Raises a cached refusal."""
        with self._guard:
            compiled = self._grammars.get(key)
            if compiled is None:
                refusal = self._refusals.get(key)
                if refusal is None:
                    return None
                self._refusals.move_to_end(key)
                self._refusal_hits += 1
                raise again(refusal)
            self._hits += 1
            self.renew(key)
        memory.keep_ready()
        return compiled

    cdef Compiled build_anew(self, bytes key, spec, build, WorkBudget budget, bint is_whole):
        cdef Compiled compiled = None
        try:
            compiled = build(spec, budget)
        except (SpecError, LimitExceeded, Cancelled) as error:
            # a copy, because the traceback keeps everything that was built
            failure = again(error)
        if compiled is None:
            memory.keep_ready()
            if not isinstance(failure, Cancelled):
                self.refuse(key, failure, is_whole)
            raise failure
        with self._guard:
            self._compiles += 1
            self.keep(key, compiled)
        memory.keep_ready()
        return compiled

    cdef int refuse(self, bytes key, error, bint is_whole) except -1:
        """Count a refusal, and cache it if it depends on the spec alone."""
        with self._guard:
            self._refused += 1
            is_cached = is_whole or not (isinstance(error, LimitExceeded) and error.limit == "compile_steps")
            if is_cached and len(str(error)) <= MAX_CHARS:
                self._refusals[key] = again(error)
            while len(self._refusals) > self._most_refusals:
                self._refusals.popitem(last=False)
        return 0

    # -- under the guard ----------------------------------------------------------------------------
    cdef int keep(self, bytes key, Compiled compiled) except -1:
        last = next(reversed(self._grammars), None)
        self._grammars[key] = compiled
        if last is not None:
            self.measure(last)
        if self._compiles % REMEASURE_EVERY == 0:
            self.measure(next(iter(self._sizes), key))
        self.measure_dropped(compiled.table)
        return self.evict()

    cdef int measure_dropped(self, TokenMaskCache table) except -1:
        cdef Py_ssize_t _k
        if table is None:
            return 0
        if table.evictions != self._drops:
            self._drops, self._due = table.evictions, len(self._sizes)
        for _k in range(min(self._due, REMEASURE_DROPPED, <Py_ssize_t>len(self._sizes))):
            self.measure(next(iter(self._sizes)))
            self._due -= 1
        return 0

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
        while len(self._grammars) > 1 and (len(self._grammars) > self._most_grammars or self._held > self._most_bytes):
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
            self._held = self._due = 0

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
