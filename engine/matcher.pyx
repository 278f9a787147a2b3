"""Matchers: see the header file."""

cimport cython
from cython.operator cimport dereference
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector as std_vector
from libcpp.map cimport map as cmap
from libcpp.pair cimport pair

from .automata cimport NO_ERROR
from .rows cimport DEAD, Arena, RowC

# A generation, then the saturated instance and whether a stop token was taken: equal masks.
ctypedef pair[uint64_t, uint64_t] PlaceKey
ctypedef cmap[PlaceKey, Py_ssize_t] Places

cdef uint32_t ORDINARY = 0
cdef uint32_t STOP = 2
cdef uint32_t EMPTY = 3


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
    """

    def __init__(self, Compiled compiled):
        self.compiled = compiled
        self.vocabulary = compiled.vocabulary
        self.generation = compiled.current()
        self.segment = Segment(None, 0)
        self.depth = 0
        self.push(self.generation.arena.root, 0)

    # -- history -----------------------------------------------------------------------------------
    cdef uint32_t instance(self) noexcept nogil:
        return <uint32_t>(self.segment.entries[self.depth - 1 - self.segment.base] >> 32)

    cdef bint terminated(self) noexcept nogil:
        return self.segment.entries[self.depth - 1 - self.segment.base] & TERMINATED

    cdef int push(self, uint32_t instance, uint32_t flags) except -1:
        if self.segment.base + self.segment.entries.size() != self.depth:
            # entries of a fork follow, or our own that were rolled back: they stay as they are
            self.segment = Segment(self.segment, self.depth)
        self.segment.entries.push_back(<uint64_t>instance << 32 | flags)
        self.depth += 1
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

    def fork(self):
        """A matcher in the same place; the two go on independently."""
        cdef Matcher made = Matcher.__new__(Matcher)
        made.compiled, made.vocabulary, made.generation = self.compiled, self.vocabulary, self.generation
        made.segment, made.depth = self.segment, self.depth
        return made

    # -- the arena ---------------------------------------------------------------------------------
    cdef void lock(self):
        if not self.generation.arena.guard.try_lock():
            with nogil:
                self.generation.arena.guard.lock()

    cdef void unlock(self) noexcept nogil:
        self.generation.arena.guard.unlock()

    cdef int check(self) except -1:
        if self.generation.arena.error != NO_ERROR:
            self.compiled.raise_limit(self.generation.arena)
        return 0

    cdef uint32_t after_bytes(self, const unsigned char* data, size_t n) noexcept nogil:
        cdef uint32_t instance = self.instance()
        cdef size_t k
        for k in range(n):
            instance = self.generation.arena.step(instance, data[k])
            if instance == DEAD:
                return DEAD
        return instance

    cdef uint32_t after_token(self, uint32_t token, uint32_t* flags) noexcept nogil:
        """The instance behind a token, DEAD if it is not allowed."""
        cdef uint32_t instance = self.instance(), found, off
        flags[0] = 0
        if self.vocabulary.kind[token] == STOP:
            flags[0] = TERMINATED
            found = self.generation.arena.step_token(instance, token)
            if found == DEAD:
                found = instance
            return found if self.generation.arena.accepts(found) else DEAD
        found = self.generation.arena.step_token(instance, token)
        if self.vocabulary.kind[token] == ORDINARY:
            off = self.vocabulary.offsets[token]
            found = self.generation.arena.merge(
                found, self.after_bytes(&self.vocabulary.data[off], self.vocabulary.offsets[token + 1] - off))
        return found if found == DEAD else self.generation.arena.end_token(found)

    # -- questions and steps -----------------------------------------------------------------------
    def accept_token(self, Py_ssize_t token):
        """Takes one token. Returns whether it was allowed; if not, nothing has changed.

        Raises:
            LimitExceeded: the rows needed would pass a limit.
        """
        cdef uint32_t flags, found
        if not 0 <= token < self.vocabulary.size or self.terminated():
            return False
        self.lock()
        found = self.after_token(<uint32_t>token, &flags)
        self.unlock()
        self.check()
        if found == DEAD:
            return False
        self.push(found, flags)
        return True

    def accept_bytes(self, const unsigned char[:] data):
        """Takes bytes as text, whatever their tokens. Returns whether they were allowed.

        For ``rollback`` this is one accept. Bounds on tokens do not count them.
        """
        cdef uint32_t found
        if self.terminated():
            return False
        if data.shape[0] == 0:
            self.push(self.instance(), 0)
            return True
        self.lock()
        found = self.after_bytes(&data[0], data.shape[0])
        self.unlock()
        self.check()
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

        Raises:
            ValueError: wrong shape or dtype.
            IndexError: no such row.
            LimitExceeded: see ``accept_token``.
        """
        cdef int[:, ::1] view = bitmask
        cdef uint32_t* out
        if not 0 <= row < view.shape[0]:
            raise IndexError(f"row {row} of a bitmask with {view.shape[0]} rows")
        if view.shape[1] < self.vocabulary.words:
            raise ValueError(f"a bitmask of {view.shape[1]} words; the vocabulary needs {self.vocabulary.words}")
        out = <uint32_t*>&view[row, 0]
        self.lock()
        self.fill(out)
        self.unlock()
        self.check()
        if view.shape[1] > self.vocabulary.words:
            memset(out + self.vocabulary.words, 0, 4 * (view.shape[1] - self.vocabulary.words))

    cdef void fill(self, uint32_t* out) noexcept nogil:
        if self.terminated():
            self.generation.masks.fill_stop(out)
        else:
            self.generation.masks.fill(self.instance(), out)

    def is_terminated(self):
        """Whether a stop token was accepted."""
        return bool(self.terminated())

    def can_stop(self):
        """Whether a stop token would be accepted now: the text so far is whole."""
        cdef bint found
        self.lock()
        found = self.terminated() or self.generation.arena.accepts(self.instance())
        self.unlock()
        return bool(found)

    def forced_bytes(self):
        """The bytes that must come next, as far as there is only one way.

        Empty if the text may end here.
        """
        cdef uint32_t instance = self.instance()
        cdef Arena arena = self.generation.arena
        cdef int byte
        cdef bytearray out = bytearray()
        if self.terminated():
            return b""
        self.lock()
        while len(out) < 65536:
            byte = only_byte(arena, instance)
            if byte < 0:
                break
            instance = arena.step(instance, <uint8_t>byte)
            if instance == DEAD:
                break
            out.append(byte)
        self.unlock()
        self.check()
        return bytes(out)

    def forced_tokens(self):
        """``forced_bytes`` as the tokenizer would write them.

        The last token is left out, since it could merge with what follows; so is what a bound on
        tokens does not allow.

        Raises:
            ValueError: the vocabulary has no ``encode``.
        """
        if self.vocabulary.encode is None:
            raise ValueError("forced_tokens needs a vocabulary with encode")
        data = self.forced_bytes()
        text = data.decode("utf-8", "ignore")
        ids = list(self.vocabulary.encode(text))[:-1] if text else []
        spelled = b"".join(self.vocabulary.tokens[i] for i in ids)
        ordinary = all(self.vocabulary.kind[i] == ORDINARY for i in ids)
        return self.allowed(ids) if ordinary and data.startswith(spelled) else []

    cdef list allowed(self, ids):
        """The first of these tokens, as far as they are allowed."""
        cdef Matcher at = self.fork()
        taken = list(ids)
        for k, token in enumerate(taken):
            if not at.accept_token(token):
                return taken[:k]
        return taken

    def place(self, *, bint saturated=False):
        """Identity of the place in the grammar within this generation.

        Equal places have equal futures. With ``saturated``, counts that no single token can tell
        apart are taken for equal; then equal places have equal masks.
        """
        cdef uint32_t instance = self.instance()
        if saturated:
            self.lock()
            instance = self.generation.arena.instances[instance].rep
            self.unlock()
        return instance, bool(self.terminated())

    def brute_force_bitmask(self, bitmask, Py_ssize_t row=0):
        """Like ``fill_bitmask``, but asks for every token on its own. For tests.

        It uses no trie, no triples and no kept masks.
        """
        cdef int[:, ::1] view = bitmask
        cdef uint32_t t, flags
        cdef bint allowed
        view[row, :] = 0
        if self.terminated():
            for t in self.vocabulary.stop_token_ids:
                view[row, t >> 5] |= <int>((<uint32_t>1) << (t & 31))
            return
        self.lock()
        with nogil:
            for t in range(self.vocabulary.size):
                allowed = self.vocabulary.kind[t] != EMPTY and self.after_token(t, &flags) != DEAD
                if allowed:
                    view[row, t >> 5] |= <int>((<uint32_t>1) << (t & 31))
        self.unlock()
        self.check()


cdef int only_byte(Arena arena, uint32_t instance) noexcept nogil:
    """The one byte that may come next, -1 if there are others, tokens, or an end."""
    cdef RowC* row = &arena.rows[arena.instances[instance].row]
    cdef int k, found = -1
    if row.accept or row.has_tokens:
        return -1
    for k in range(256):
        if (row.live[k >> 6] >> (k & 63)) & 1:
            if found >= 0:
                return -1
            found = k
    return found


def fill_bitmask_batch(matchers, bitmask, rows):
    """``fill_bitmask`` of many matchers without the GIL; those in one state are made once and copied.

    Args:
        matchers: sequence of ``Matcher``, of one vocabulary.
        bitmask: as for ``Matcher.fill_bitmask``.
        rows: for each matcher its row; equal length, no row twice.
    """
    cdef int[:, ::1] view = bitmask
    cdef list held = list(matchers)
    cdef std_vector[Py_ssize_t] targets = rows
    cdef Py_ssize_t k, same, width = view.shape[1]
    cdef Matcher matcher
    cdef Places places
    if targets.size() != <size_t>len(held):
        raise ValueError(f"{len(held)} matchers for {targets.size()} rows")
    if len(set(rows)) != len(held):
        raise ValueError("two matchers for one row")
    for k, matcher in enumerate(held):
        if not 0 <= targets[k] < view.shape[0]:
            raise IndexError(f"row {targets[k]} of a bitmask with {view.shape[0]} rows")
        if width < matcher.vocabulary.words:
            raise ValueError(f"a bitmask of {width} words; the vocabulary needs {matcher.vocabulary.words}")
    for k, matcher in enumerate(held):
        with nogil:
            matcher.generation.arena.guard.lock()
            same = filled_before(&places, matcher, k)
            if same == k:
                matcher.fill(<uint32_t*>&view[targets[k], 0])
            matcher.generation.arena.guard.unlock()
            if same != k:
                memcpy(&view[targets[k], 0], &view[targets[same], 0], 4 * matcher.vocabulary.words)
            if width > matcher.vocabulary.words:
                memset(&view[targets[k], matcher.vocabulary.words], 0, 4 * (width - matcher.vocabulary.words))
        matcher.check()


def fill_bitmask_tree(Matcher matcher, tokens, parents, bitmask):
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
    cdef int[:, ::1] view = bitmask
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


cdef Py_ssize_t filled_before(Places* places, Matcher matcher, Py_ssize_t k) noexcept nogil:
    """The matcher before number k that has the same mask, k if there is none; notes k then."""
    cdef uint32_t instance = matcher.generation.arena.instances[matcher.instance()].rep
    cdef PlaceKey key = PlaceKey(<uint64_t><void*>matcher.generation, <uint64_t>instance << 1 | matcher.terminated())
    cdef Places.iterator found = places.find(key)
    if found != places.end():
        return dereference(found).second
    places[0][key] = k
    return k
