"""Matchers: see the header file."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.memory cimport make_shared, shared_ptr

from ..automata.rule_automata cimport NO_ERROR
from ..earley.rows cimport DEAD
from ..masks.bitmask cimport rows_of
from ..native.bitset cimport clear_bit
from ..native.clock cimport nanoseconds
from ..native.hashing cimport MISSING, map_get, map_put
from ..native.pool cimport Pool, vector
from .forced cimport MOST_FORCED_BYTES, follow_only, forced_split
from .unique_items cimport Place, Trials, follow

from ..native.pool import keep_ready

cdef uint32_t ORDINARY = 0
cdef uint32_t STOP = 2
cdef uint32_t EMPTY = 3


cdef class MatcherCounters:
    """Counts the calls of one thread's matchers: a clock of Python's would cost what they take."""


@cython.trashcan(True)
cdef class Segment:
    """A run of entries that no fork divides."""

    def __cinit__(self, Segment parent, uint32_t base):
        self.parent = parent
        self.base = base


cdef class Matcher:
    """Follows one text through a compiled grammar and tells which tokens may come next.

    Args:
        compiled: from ``Compiler.compile_*``; many matchers may share it, in many threads.
        tally: counts this matcher's calls of ``accept_token``, and their time. Not those of forks.
    """

    def __init__(self, Compiled compiled not None, MatcherCounters tally=None):
        self.tally = tally
        self.compiled = compiled
        self.vocabulary = compiled.vocabulary
        self.generation = compiled.current()
        self.segment = Segment(None, 0)
        self.depth = 0
        self.tracks = compiled.ir.has_differing
        self.push(self.generation.arena.root, 0)

    # -- history -----------------------------------------------------------------------------------
    cdef uint32_t instance(self) noexcept nogil:
        return <uint32_t>(self.top >> 32)

    cdef bint terminated(self) noexcept nogil:
        return self.top & TERMINATED

    cdef void enter_place(self) noexcept nogil:
        """Makes ``at`` the place of the text so far."""
        cdef shared_ptr[Place] place = self.segment.places[self.depth - 1 - self.segment.base]
        self.at = place.get()[0] if place.get() != NULL else Place()

    cdef bint needs_look(self) noexcept nogil:
        """Whether a mask must be looked through for what the text rules out."""
        return self.tracks and not self.terminated()

    cdef int push(self, uint32_t instance, uint32_t flags) except -1:
        if self.segment.base + self.segment.entries.size() != self.depth:
            # entries of a fork follow, or our own that were rolled back: they stay as they are
            self.segment = Segment(self.segment, self.depth)
        self.top = <uint64_t>instance << 32 | flags
        self.segment.entries.push_back(self.top)
        if self.tracks:
            self.segment.places.push_back(make_shared[Place](self.at) if self.at.is_open() else shared_ptr[Place]())
        self.depth += 1
        if Pool.instance().is_low():
            keep_ready()
        return 0

    def rollback(self, Py_ssize_t n):
        """Takes back the last ``n`` successful accepts.

        Raises:
            ValueError: fewer than ``n`` accepts were made, or ``n`` is negative.
        """
        if not 0 <= n < self.depth:
            raise ValueError(f"rollback({n}) of {self.depth - 1} accepted")
        self.depth -= <uint32_t>n
        while self.depth <= self.segment.base:
            self.segment = self.segment.parent
        self.top = self.segment.entries[self.depth - 1 - self.segment.base]

    def fork(self):
        """A matcher in the same place; the two go on independently."""
        cdef Matcher made = Matcher.__new__(Matcher)
        made.compiled, made.vocabulary, made.generation = self.compiled, self.vocabulary, self.generation
        made.segment, made.depth, made.top, made.tracks = self.segment, self.depth, self.top, self.tracks
        return made

    # -- under the arena's mutex -------------------------------------------------------------------
    # Each of these runs under the mutex and gives it back; `error` is the arena's.
    cdef void lock(self) noexcept nogil:
        self.generation.arena.guard.lock()

    cdef void unlock(self) noexcept nogil:
        self.generation.arena.guard.unlock()

    cdef int check(self, uint32_t error) except -1:
        if error != NO_ERROR:
            self.compiled.raise_limit(error, self.generation.arena.error_got)
        return 0

    cdef uint32_t take_bytes(
        self, uint32_t instance, const uint8_t* data, size_t n, uint32_t* error
    ) noexcept nogil:
        """The instance behind some bytes, DEAD if they are not allowed."""
        if self.tracks:
            self.enter_place()
        instance = self.after_bytes(instance, data, n)
        if self.tracks and instance != DEAD and self.at.has_used():
            if self.generation.suspects.ways.is_stuck(instance, &self.at):
                instance = DEAD
        error[0] = self.generation.arena.take_error()
        self.unlock()
        return instance

    cdef uint32_t take_token(
        self, uint32_t instance, uint32_t token, uint32_t* flags, uint32_t* error
    ) noexcept nogil:
        """The instance behind a token, DEAD if it is not allowed."""
        if self.tracks:
            self.enter_place()
        instance = self.after_token(instance, token, flags)
        error[0] = self.generation.arena.take_error()
        self.unlock()
        return instance

    cdef uint32_t fill(self, uint32_t instance, bint terminated, uint32_t* out) noexcept nogil:
        """Writes a mask; returns the arena's error."""
        cdef uint32_t error
        if terminated:
            self.generation.masks.fill_stop(out)
        else:
            self.generation.masks.fill(instance, out)
            if self.tracks:
                self.rule_out(instance, out)
        error = self.generation.arena.take_error()
        self.unlock()
        return error

    # -- steps, under the mutex --------------------------------------------------------------------
    cdef uint32_t after_bytes(self, uint32_t instance, const uint8_t* data, size_t n) noexcept nogil:
        cdef size_t k
        if self.tracks:
            return follow(self.generation.arena, instance, data, n, &self.at)
        for k in range(n):
            instance = self.generation.arena.step(instance, data[k])
            if instance == DEAD:
                return DEAD
        return instance

    cdef uint32_t after_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil:
        cdef uint64_t key = <uint64_t>instance << 32 | token
        cdef uint32_t found
        flags[0] = 0
        if self.tracks or self.vocabulary.kind[token] != ORDINARY:
            return self.follow_token(instance, token, flags)
        found = map_get(&self.generation.arena.text_memo, key)
        if found == MISSING:
            found = self.follow_token(instance, token, flags)
            if self.generation.arena.error == NO_ERROR:
                map_put(&self.generation.arena.text_memo, key, found)
        return found

    cdef uint32_t follow_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil:
        cdef uint32_t found, off
        if self.vocabulary.kind[token] == STOP:
            flags[0] = TERMINATED
            found = self.generation.arena.step_token(instance, token)
            if found == DEAD:
                found = instance
            return found if self.generation.arena.accepts(found) else DEAD
        found = self.generation.arena.step_token(instance, token)
        if self.vocabulary.kind[token] == ORDINARY:
            off = self.vocabulary.offsets[token]
            found = self.generation.arena.merge(found, self.after_bytes(
                instance, &self.vocabulary.data[off], self.vocabulary.offsets[token + 1] - off))
        if self.tracks and found != DEAD and self.at.has_used():
            if self.generation.suspects.ways.is_stuck(found, &self.at):
                return DEAD
        return found if found == DEAD else self.generation.arena.end_token(found)

    cdef void rule_out(self, uint32_t instance, uint32_t* out) noexcept nogil:
        """Takes tokens out of a mask that end a word which was there before, or can only become one."""
        cdef uint32_t t, flags
        cdef Trials trials
        self.enter_place()
        self.generation.suspects.look(instance, &self.at, out)
        if self.generation.suspects.found.empty():
            return
        trials = Trials(self.at)
        for t in self.generation.suspects.found:
            trials.begin(self.at)
            if self.after_token(instance, t, &flags) == DEAD:
                clear_bit(out, t)

    # -- questions and steps -----------------------------------------------------------------------
    def accept_token(self, Py_ssize_t token):
        """Takes one token. Returns whether it was allowed; if not, nothing has changed.

        Raises:
            LimitExceeded: the rows needed would pass a limit.
        """
        cdef uint64_t start
        cdef bint taken
        if self.tally is None:
            return self.accept(token)
        start = nanoseconds()
        self.tally.accepts += 1
        try:
            taken = self.accept(token)
        finally:
            self.tally.accept_ns += nanoseconds() - start
        return taken

    cdef bint accept(self, Py_ssize_t token) except -1:
        cdef uint32_t flags, error, found = self.instance()
        if not 0 <= token < self.vocabulary.size or self.terminated():
            return False
        if self.generation.arena.guard.try_lock():
            found = self.take_token(found, <uint32_t>token, &flags, &error)
        else:
            with nogil:
                self.lock()
                found = self.take_token(found, <uint32_t>token, &flags, &error)
        self.check(error)
        if found == DEAD:
            return False
        self.push(found, flags)
        return True

    def accept_bytes(self, const unsigned char[:] data not None):
        """Takes bytes as text, whatever their tokens. Returns whether they were allowed.

        For ``rollback`` this is one accept. Bounds on tokens do not count them.
        """
        cdef uint32_t error, found = self.instance()
        if self.terminated():
            return False
        if data.shape[0] == 0:
            if self.tracks:
                self.enter_place()
            self.push(found, 0)
            return True
        if self.generation.arena.guard.try_lock():
            found = self.take_bytes(found, &data[0], data.shape[0], &error)
        else:
            with nogil:
                self.lock()
                found = self.take_bytes(found, &data[0], data.shape[0], &error)
        self.check(error)
        if found == DEAD:
            return False
        self.push(found, 0)
        return True

    def fill_bitmask(self, bitmask, Py_ssize_t row=0):
        """Writes the mask of allowed next tokens into ``bitmask[row]``.

        Args:
            bitmask: writable C-contiguous buffer of int32, shape (rows, at least ceil(V / 32)).
                Bit t % 32 of word t // 32 says whether token t is allowed. Words past the
                vocabulary are set to 0.
            row: which row.

        A mask that is there is copied; while one is made, the GIL is released.

        Raises:
            ValueError: wrong shape or dtype.
            IndexError: no such row.
            LimitExceeded: see ``accept_token``.
        """
        cdef int[:, ::1] view = rows_of(bitmask)
        cdef uint32_t* out
        cdef uint32_t error, instance = self.instance()
        cdef bint terminated = self.terminated(), filled = False
        if not 0 <= row < view.shape[0]:
            raise IndexError(f"row {row} of a bitmask with {view.shape[0]} rows")
        if view.shape[1] < self.vocabulary.words:
            raise ValueError(f"a bitmask of {view.shape[1]} words; the vocabulary needs {self.vocabulary.words}")
        out = <uint32_t*>&view[row, 0]
        if self.generation.arena.guard.try_lock():
            if terminated:
                self.generation.masks.fill_stop(out)
                filled = True
            elif not self.tracks:
                filled = self.generation.masks.fill_kept(instance, out)
            error = self.generation.arena.take_error()
            self.unlock()
        if not filled:
            with nogil:
                self.lock()
                error = self.fill(instance, terminated, out)
        self.check(error)
        if view.shape[1] > self.vocabulary.words:
            memset(out + self.vocabulary.words, 0, 4 * (view.shape[1] - self.vocabulary.words))

    def lacks_mask(self):
        """Whether the next mask must be made first; never waits, and says no where it can't tell."""
        cdef bint found = False
        if not self.terminated() and self.generation.arena.guard.try_lock():
            found = not self.generation.masks.has(self.instance())
            self.unlock()
        return bool(found)

    def make_mask(self):
        """Makes the next mask to be kept, without the GIL: for a thread that has nothing else to do.

        What fails here is met again by ``fill_bitmask``.
        """
        cdef uint32_t instance = self.instance()
        if self.terminated():
            return
        with nogil:
            self.lock()
            self.generation.masks.make_ahead(instance)
            self.generation.arena.take_error()
            self.unlock()

    def is_terminated(self):
        """Whether a stop token was accepted."""
        return bool(self.terminated())

    def can_stop(self):
        """Whether a stop token would be accepted now: the text so far is whole."""
        cdef uint32_t instance = self.instance()
        cdef bint found = self.terminated()
        if not found:
            with nogil:
                self.lock()
                found = self.generation.arena.accepts(instance)
                self.unlock()
        return bool(found)

    def forced_bytes(self):
        """The bytes that must come next, as far as there is only one way.

        Empty if the text may end here.
        """
        return self.forced(MOST_FORCED_BYTES)

    cdef bytes forced(self, size_t most):
        """At most the first ``most`` of them."""
        cdef uint32_t error, instance = self.instance()
        cdef vector[uint8_t] out
        if self.terminated():
            return b""
        with nogil:
            self.lock()
            follow_only(self.generation.arena, instance, most, &out)
            error = self.generation.arena.take_error()
            self.unlock()
        self.check(error)
        return (<const char*>out.data())[:out.size()]

    def forced_tokens(self, most=None):
        """``forced_bytes`` as the tokenizer writes them, at most the first ``most`` tokens.

        Left out are tokens at the end that would be others if what follows were known (``forced``),
        and what a bound on tokens does not allow.

        Raises:
            ValueError: the vocabulary has no ``encode``.
        """
        if self.vocabulary.encode is None:
            raise ValueError("forced_tokens needs a vocabulary with encode")
        cdef size_t reach = MOST_FORCED_BYTES
        if most is not None:
            # one token more, since the last one may be cut
            reach = min(reach, (most + 1) * self.vocabulary.max_token_bytes)
        data = self.forced(reach)
        if not data:
            return []
        return self.allowed(
            forced_split(self.generation.arena, self.vocabulary, self.instance(), data, most))

    cdef list allowed(self, list ids):
        """The first of these tokens, as far as they are allowed."""
        cdef Matcher at = self.fork()
        for k, token in enumerate(ids):
            if not at.accept_token(token):
                return ids[:k]
        return ids

    def place(self, *, bint saturated=False):
        """Identity of the place in the grammar within this generation.

        Equal places have equal futures. With ``saturated``, counts that no single token can tell
        apart are taken for equal; then equal places have equal masks.
        """
        cdef uint32_t instance = self.instance()
        if saturated:
            with nogil:
                self.lock()
                instance = self.generation.arena.instances[instance].rep
                self.unlock()
        if self.tracks:
            return instance, bool(self.terminated()), <size_t>self.segment.places[
                self.depth - 1 - self.segment.base].get()
        return instance, bool(self.terminated())

    def brute_force_bitmask(self, bitmask, Py_ssize_t row=0):
        """Like ``fill_bitmask``, but asks for every token on its own. For tests.

        It uses no trie, no token masks, no kept masks, and no memory of tokens taken before.
        """
        cdef int[:, ::1] view = rows_of(bitmask)
        cdef uint32_t t, flags, error, instance = self.instance()
        cdef bint allowed
        view[row, :] = 0
        if self.terminated():
            for t in self.vocabulary.stop_token_ids:
                view[row, t >> 5] |= <int>((<uint32_t>1) << (t & 31))
            return
        with nogil:
            self.lock()
            for t in range(self.vocabulary.size):
                if self.tracks:
                    self.enter_place()
                allowed = self.vocabulary.kind[t] != EMPTY and self.follow_token(instance, t, &flags) != DEAD
                if allowed:
                    view[row, t >> 5] |= <int>((<uint32_t>1) << (t & 31))
            error = self.generation.arena.take_error()
            self.unlock()
        self.check(error)


def fill_bitmask_tree(Matcher matcher not None, tokens, parents, bitmask):
    """Masks behind every token of a draft tree, for speculative decoding. The matcher stays as it is.

    Args:
        matcher: in the state from which the draft was made.
        tokens: ids, one for each node of the tree.
        parents: for each node the number of the node it follows, a smaller one; -1: the matcher.
        bitmask: as for ``Matcher.fill_bitmask``; row n gets the mask behind node n, all zeros if
            the grammar does not take that node.

    Returns:
        for each node whether the grammar takes it.

    Raises:
        ValueError: unequal lengths, or a parent that does not stand before its node.
        LimitExceeded: see ``Matcher.accept_token``.
    """
    cdef int[:, ::1] view = rows_of(bitmask)
    cdef Py_ssize_t node
    cdef Matcher at
    if len(tokens) != len(parents) or len(tokens) > view.shape[0]:
        raise ValueError(f"{len(tokens)} tokens, {len(parents)} parents, {view.shape[0]} rows")
    places, taken = [], []
    for node, (token, parent) in enumerate(zip(tokens, parents)):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} follows {parent}")
        before = matcher if parent < 0 else places[parent]
        at = None if before is None else before.fork()
        if at is not None and not at.accept_token(token):
            at = None
        places.append(at)
        taken.append(at is not None)
        if at is None:
            view[node, :] = 0
        else:
            at.fill_bitmask(bitmask, node)
    return taken
