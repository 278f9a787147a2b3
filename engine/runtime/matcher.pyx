"""Matchers: histories, single tokens, forced text, and masks of batches."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector as plain_vector

from ..automata.rule_automata cimport NO_ERROR
from ..earley.rows cimport DEAD, Arena, RowC
from ..masks.row_masks cimport rows_of
from ..native.bitset cimport clear_bit
from ..native.hashing cimport MISSING, map_get
from ..native.pool cimport Pool, vector
from ..native.resources cimport nanoseconds
from ..unique_items.uniqueness cimport UniquenessSnapshot, UniquenessState, follow
from ..vocabulary.vocabulary cimport EMPTY, ORDINARY, STOP, Vocabulary
from .compiled cimport Compiled, Generation

from ..native.resources import keep_ready

cdef enum:
    TERMINATED = 1            # flag of an entry: a stop token was accepted


cdef class MatcherCounters:
    """Counts calls and nanoseconds of one thread's matchers. A Python clock would cost as much as
    the calls.
    """


@cython.trashcan(True)
cdef class Segment:
    """A run of entries that no fork divides."""

    def __cinit__(self, Segment parent, uint32_t base):
        self.parent = parent
        self.base = base


cdef class Matcher:
    """Follows one text through a compiled grammar and computes masks of allowed next tokens.

    Args:
        compiled: from ``Compiler.compile_*``; matchers in many threads may share it.
        tally: counts this matcher's calls of ``accept_token`` and their time, but not those of
            forks.
    """

    def __init__(self, Compiled compiled not None, MatcherCounters tally=None):
        self.tally = tally
        self.compiled = compiled
        self.vocabulary = compiled.vocabulary
        self.generation = compiled.current()
        self.segment = Segment(None, 0)
        self.depth = 0
        self.tracks = compiled.ir.has_unique
        self.push(self.generation.arena.root, 0)

    # -- history -----------------------------------------------------------------------------------
    cdef uint32_t configuration(self) noexcept nogil:
        return <uint32_t>(self.top >> 32)

    cdef bint terminated(self) noexcept nogil:
        return self.top & TERMINATED

    cdef void load_uniqueness(self) noexcept nogil:
        """Load the uniqueness state of the text so far into ``uniqueness``."""
        cdef shared_ptr[UniquenessState] place = self.segment.uniqueness[self.depth - 1 - self.segment.base]
        self.uniqueness = place.get()[0] if place.get() != NULL else UniquenessState()

    cdef bint needs_filter(self) noexcept nogil:
        """Return whether a mask must be cleared of repeated words."""
        return self.tracks and not self.terminated()

    cdef int push(self, uint32_t configuration, uint32_t flags) except -1:
        if self.segment.base + self.segment.entries.size() != self.depth:
            # entries of a fork, or entries of our own that were rolled back, follow: they must not
            # change
            self.segment = Segment(self.segment, self.depth)
        self.top = <uint64_t>configuration << 32 | flags
        self.segment.entries.push_back(self.top)
        if self.tracks:
            self.segment.uniqueness.push_back(
                make_shared[UniquenessState](self.uniqueness) if self.uniqueness.is_open()
                else shared_ptr[UniquenessState]())
        self.depth += 1
        if Pool.instance().is_low():
            keep_ready()
        return 0

    def rollback(self, Py_ssize_t n):
        """Undo the last ``n`` successful accepts.

        Raises:
            ValueError: ``n`` is negative, or exceeds the number of accepts.
        """
        if not 0 <= n < self.depth:
            raise ValueError(f"rollback({n}): only {self.depth - 1} accepts can be undone")
        self.depth -= <uint32_t>n
        while self.depth <= self.segment.base:
            self.segment = self.segment.parent
        self.top = self.segment.entries[self.depth - 1 - self.segment.base]

    def fork(self):
        """Return a matcher in the same state; the two continue independently."""
        cdef Matcher forked = Matcher.__new__(Matcher)
        forked.compiled, forked.vocabulary, forked.generation = self.compiled, self.vocabulary, self.generation
        forked.segment, forked.depth, forked.top, forked.tracks = self.segment, self.depth, self.top, self.tracks
        return forked

    # -- under the arena's mutex -------------------------------------------------------------------
    # The caller holds the mutex, and each function releases it; `error` is the arena's.
    cdef void lock(self) noexcept nogil:
        self.generation.arena.guard.lock()

    cdef void unlock(self) noexcept nogil:
        self.generation.arena.guard.unlock()

    cdef int check(self, uint32_t error) except -1:
        if error != NO_ERROR:
            self.compiled.raise_limit(error, self.generation.arena.error_got)
        return 0

    cdef uint32_t take_bytes(
        self, uint32_t configuration, const uint8_t* data, size_t n, uint32_t* error
    ) noexcept nogil:
        """Return the configuration after these bytes, DEAD if they are not allowed."""
        if self.tracks:
            self.load_uniqueness()
        configuration = self.after_bytes(configuration, data, n)
        if self.tracks and configuration != DEAD and self.uniqueness.has_used():
            if self.generation.candidates.continuations.is_stuck(configuration, &self.uniqueness):
                configuration = DEAD
        error[0] = self.generation.arena.take_error()
        self.unlock()
        return configuration

    cdef uint32_t take_token(
        self, uint32_t configuration, uint32_t token, uint32_t* flags, uint32_t* error
    ) noexcept nogil:
        """Return the configuration after a token, DEAD if it is not allowed."""
        if self.tracks:
            self.load_uniqueness()
        configuration = self.after_token(configuration, token, flags)
        error[0] = self.generation.arena.take_error()
        self.unlock()
        return configuration

    cdef uint32_t fill(self, uint32_t configuration, bint terminated, uint32_t* out) noexcept nogil:
        """Write a mask and return the arena's error."""
        cdef uint32_t error
        if terminated:
            self.generation.masks.fill_stop(out)
        else:
            self.generation.masks.fill(configuration, out)
            if self.tracks:
                self.clear_repeats(configuration, out)
        error = self.generation.arena.take_error()
        self.unlock()
        return error

    # -- steps, under the mutex --------------------------------------------------------------------
    cdef uint32_t after_bytes(self, uint32_t configuration, const uint8_t* data, size_t n) noexcept nogil:
        cdef size_t k
        if self.tracks:
            return follow(self.generation.arena, configuration, data, n, &self.uniqueness)
        for k in range(n):
            configuration = self.generation.arena.step(configuration, data[k])
            if configuration == DEAD:
                return DEAD
        return configuration

    cdef uint32_t after_token(self, uint32_t configuration, uint32_t token, uint32_t* flags) noexcept nogil:
        cdef uint64_t key = <uint64_t>configuration << 32 | token
        cdef uint32_t target
        flags[0] = 0
        if self.tracks or self.vocabulary.kind[token] != ORDINARY:
            return self.follow_token(configuration, token, flags)
        target = map_get(&self.generation.arena.text_memo, key)
        if target != MISSING:
            return target
        target = self.follow_token(configuration, token, flags)
        return self.generation.arena.keep(&self.generation.arena.text_memo, key, target)

    cdef uint32_t follow_token(self, uint32_t configuration, uint32_t token, uint32_t* flags) noexcept nogil:
        cdef uint32_t target, off
        if self.vocabulary.kind[token] == STOP:
            flags[0] = TERMINATED
            target = self.generation.arena.step_token(configuration, token)
            if target == DEAD:
                target = configuration
            return target if self.generation.arena.accepts(target) else DEAD
        target = self.generation.arena.step_token(configuration, token)
        if self.vocabulary.kind[token] == ORDINARY:
            off = self.vocabulary.offsets[token]
            target = self.generation.arena.merge(target, self.after_bytes(
                configuration, &self.vocabulary.data[off], self.vocabulary.offsets[token + 1] - off))
        if self.tracks and target != DEAD and self.uniqueness.has_used():
            if self.generation.candidates.continuations.is_stuck(target, &self.uniqueness):
                return DEAD
        return target if target == DEAD else self.generation.arena.end_token(target)

    cdef void clear_repeats(self, uint32_t configuration, uint32_t* out) noexcept nogil:
        """Clear tokens after which the word is a repeated one, or can only become one."""
        cdef uint32_t t, flags
        cdef UniquenessSnapshot snapshot
        self.load_uniqueness()
        self.generation.candidates.look(configuration, &self.uniqueness, out)
        if self.generation.candidates.found.empty():
            return
        snapshot = UniquenessSnapshot(self.uniqueness)
        for t in self.generation.candidates.found:
            snapshot.begin(self.uniqueness)
            if self.after_token(configuration, t, &flags) == DEAD:
                clear_bit(out, t)

    # -- questions and steps -----------------------------------------------------------------------
    def accept_token(self, Py_ssize_t token):
        """Accept one token. Return whether it was allowed; if not, nothing changes.

        Raises:
            LimitExceeded: the new rows exceed a limit.
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
        cdef uint32_t flags, error, target = self.configuration()
        if not 0 <= token < self.vocabulary.size or self.terminated():
            return False
        if self.generation.arena.guard.try_lock():
            target = self.take_token(target, <uint32_t>token, &flags, &error)
        else:
            with nogil:
                self.lock()
                target = self.take_token(target, <uint32_t>token, &flags, &error)
        self.check(error)
        if target == DEAD:
            return False
        self.push(target, flags)
        return True

    def accept_bytes(self, const unsigned char[:] data not None):
        """Accept bytes as text, without regard to tokens. Return whether they were allowed.

        For ``rollback`` this is one accept. Limits on tokens do not count it.
        """
        cdef uint32_t error, target = self.configuration()
        if self.terminated():
            return False
        if data.shape[0] == 0:
            if self.tracks:
                self.load_uniqueness()
            self.push(target, 0)
            return True
        if self.generation.arena.guard.try_lock():
            target = self.take_bytes(target, &data[0], data.shape[0], &error)
        else:
            with nogil:
                self.lock()
                target = self.take_bytes(target, &data[0], data.shape[0], &error)
        self.check(error)
        if target == DEAD:
            return False
        self.push(target, 0)
        return True

    def fill_bitmask(self, bitmask, Py_ssize_t row=0):
        """Write the mask of allowed next tokens into ``bitmask[row]``.

        A cached mask is copied; the GIL is released while a mask is built.

        Args:
            bitmask: writable C-contiguous buffer of int32, shape (rows, at least ceil(V / 32)).
                Bit t % 32 of word t // 32 is set if token t is allowed. Words past the vocabulary
                become 0.
            row: index of the row to write.

        Raises:
            ValueError: wrong shape or dtype.
            IndexError: the bitmask has no such row.
            LimitExceeded: see ``accept_token``.
        """
        cdef int[:, ::1] view = rows_of(bitmask)
        cdef uint32_t* out
        cdef uint32_t error, configuration = self.configuration()
        cdef bint terminated = self.terminated(), filled = False
        if not 0 <= row < view.shape[0]:
            raise IndexError(f"row must be in 0..{view.shape[0] - 1}, got {row}")
        if view.shape[1] < self.vocabulary.words:
            raise ValueError(f"a bitmask needs {self.vocabulary.words} words a row, got {view.shape[1]}")
        out = <uint32_t*>&view[row, 0]
        if self.generation.arena.guard.try_lock():
            if terminated:
                self.generation.masks.fill_stop(out)
                filled = True
            elif not self.tracks:
                filled = self.generation.masks.fill_kept(configuration, out)
            error = self.generation.arena.take_error()
            self.unlock()
        if not filled:
            with nogil:
                self.lock()
                error = self.fill(configuration, terminated, out)
        self.check(error)
        if view.shape[1] > self.vocabulary.words:
            memset(out + self.vocabulary.words, 0, 4 * (view.shape[1] - self.vocabulary.words))

    def lacks_mask(self):
        """Return whether the next mask must be built; False if the generation is in use."""
        cdef bint found = False
        if not self.terminated() and self.generation.arena.guard.try_lock():
            found = not self.generation.masks.has(self.configuration())
            self.unlock()
        return bool(found)

    def make_mask(self):
        """Build and cache the next mask without the GIL, for a thread that is idle.

        Errors are left to ``fill_bitmask``, which meets them again.
        """
        cdef uint32_t configuration = self.configuration()
        if self.terminated():
            return
        with nogil:
            self.lock()
            self.generation.masks.make_ahead(configuration)
            self.generation.arena.take_error()
            self.unlock()

    def is_terminated(self):
        """Return whether a stop token was accepted."""
        return bool(self.terminated())

    def can_stop(self):
        """Return whether the grammar accepts the text so far, so that a stop token is allowed."""
        cdef uint32_t configuration = self.configuration()
        cdef bint found = self.terminated()
        if not found:
            with nogil:
                self.lock()
                found = self.generation.arena.accepts(configuration)
                self.unlock()
        return bool(found)

    def forced_bytes(self):
        """Return the bytes that must come next, up to the first choice.

        Empty if the text may end here.
        """
        return self.forced(MAX_FORCED_BYTES)

    cdef bytes forced(self, size_t most):
        """Return at most the first ``most`` forced bytes."""
        cdef uint32_t error, configuration = self.configuration()
        cdef vector[uint8_t] out
        if self.terminated():
            return b""
        with nogil:
            self.lock()
            follow_only(self.generation.arena, configuration, most, &out)
            error = self.generation.arena.take_error()
            self.unlock()
        self.check(error)
        return (<const char*>out.data())[:out.size()]

    def forced_tokens(self, most=None):
        """Return ``forced_bytes`` as the tokenizer splits them, at most the first ``most`` tokens.

        Omits tokens at the end that later text could change (see "forced text"), and tokens beyond
        a limit on tokens.

        Raises:
            ValueError: the vocabulary has no ``encode``.
        """
        if self.vocabulary.encode is None:
            raise ValueError("forced_tokens needs a vocabulary with encode")
        cdef size_t reach = MAX_FORCED_BYTES
        if most is not None:
            # one token more, because the last one may be cut
            reach = min(reach, (most + 1) * self.vocabulary.max_token_bytes)
        data = self.forced(reach)
        if not data:
            return []
        return self.accepted_prefix(
            forced_split(self.generation.arena, self.vocabulary, self.configuration(), data, most))

    cdef list accepted_prefix(self, list ids):
        """Return the longest prefix of these tokens that the grammar accepts."""
        cdef Matcher at = self.fork()
        for k, token in enumerate(ids):
            if not at.accept_token(token):
                return ids[:k]
        return ids

    def place(self, *, bint saturated=False):
        """Return an identity of the matcher's state within its generation.

        Equal states accept the same texts. With ``saturated``, counts that no single token can tell
        apart count as equal; then equal states have equal masks.
        """
        cdef uint32_t configuration = self.configuration()
        if saturated:
            with nogil:
                self.lock()
                configuration = self.generation.arena.configurations[configuration].saturated
                self.unlock()
        if self.tracks:
            return configuration, bool(self.terminated()), <size_t>self.segment.uniqueness[
                self.depth - 1 - self.segment.base].get()
        return configuration, bool(self.terminated())

    def brute_force_bitmask(self, bitmask, Py_ssize_t row=0):
        """Like ``fill_bitmask``, but checks each token separately. For tests.

        It uses no trie, no token masks, no cached masks and no cached transitions of tokens.
        """
        cdef int[:, ::1] view = rows_of(bitmask)
        cdef uint32_t t, flags, error, configuration = self.configuration()
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
                    self.load_uniqueness()
                allowed = self.vocabulary.kind[t] != EMPTY and self.follow_token(configuration, t, &flags) != DEAD
                if allowed:
                    view[row, t >> 5] |= <int>((<uint32_t>1) << (t & 31))
            error = self.generation.arena.take_error()
            self.unlock()
        self.check(error)


def fill_bitmask_tree(Matcher matcher not None, tokens, parents, bitmask):
    """Fill the masks after every node of a draft tree, for speculative decoding. The matcher does
    not change.

    Args:
        matcher: in the state in which the draft begins.
        tokens: ids, one for each node of the tree.
        parents: the index of each node's parent, a smaller one; -1: the matcher.
        bitmask: as for ``Matcher.fill_bitmask``; row n gets the mask after node n, all zeros if the
            grammar rejects that node.

    Returns:
        for each node, whether the grammar accepts it.

    Raises:
        ValueError: unequal lengths, or a parent that does not come before its node.
        LimitExceeded: see ``Matcher.accept_token``.
    """
    cdef int[:, ::1] view = rows_of(bitmask)
    cdef Py_ssize_t node
    cdef Matcher at
    if len(tokens) != len(parents) or len(tokens) > view.shape[0]:
        raise ValueError(f"got {len(tokens)} tokens, {len(parents)} parents and {view.shape[0]} rows")
    places, taken = [], []
    for node, (token, parent) in enumerate(zip(tokens, parents)):
        if not -1 <= parent < node:
            raise ValueError(f"parents[{node}] = {parent}: a parent must come before its node")
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


# -- forced text -----------------------------------------------------------------------------------
# The tokens that a tokenizer writes for text that must come next.
#
# The tokenizer splits the forced text as a whole. More text will follow, and a longer token may
# then replace the last ones. A token is returned only if every continuation that the grammar allows
# keeps it, so that the model sees the tokens that it would have written itself:
#
# 1. A token of the vocabulary that begins within the forced text and continues after it, as the
#    grammar allows, is a *crossing token*.
# 2. The forced text is split once with the added text of each crossing token. Tokens are returned as
#    far as all splits agree. The tokenizer must be asked, because it never writes most crossing
#    tokens (`"Hello` after `:`).
# 3. Of the crossing tokens that begin at one position, one is tried for each class of the character
#    after the forced text: tokenizers split text into words by such classes. Each punctuation mark
#    is a class.
# 4. SentencePiece tokenizers put a blank before each text. They split the forced text after a
#    newline, where they add no blank.
#
# Invariants   The tokens spell a prefix of the forced text, and the grammar accepts them. Earlier
#              text is not split again: the model wrote its last token with the same knowledge.
# Cost         without forced text one look at a row. Else a walk along the text, which is cut where
#              the requested tokens cannot reach, and a call of the tokenizer for the text and for
#              each crossing token that is tried (two calls with rule 4).

cdef enum:
    # bytes of forced text that are returned at once; only a longer literal has more
    MAX_FORCED_BYTES = 65536

cdef struct CrossingTokensC:
    vector[uint32_t] starts       # of each: its position in the forced text, ascending
    vector[uint32_t] ends         # of each: the end of its added text in `added`
    vector[uint8_t] added

# Absorbs the blank that a tokenizer puts before each text (rule 4).
cdef str LEAD = "\n"


cdef int only_byte(Arena arena, uint32_t configuration) noexcept nogil:
    """Return the only byte that may come next; -1 if there are several, tokens, or an end."""
    cdef RowC* row = &arena.rows[arena.configurations[configuration].row]
    cdef int k, found = -1
    if row.accept or row.has_tokens:
        return -1
    for k in range(256):
        if (row.live[k >> 6] >> (k & 63)) & 1:
            if found >= 0:
                return -1
            found = k
    return found


cdef void follow_only(Arena arena, uint32_t configuration, size_t most, vector[uint8_t]* out) noexcept nogil:
    """Append bytes while only one may come next, to ``most`` in all, under the mutex."""
    cdef int byte
    while out.size() < most:
        byte = only_byte(arena, configuration)
        if byte < 0:
            return
        configuration = arena.step(configuration, <uint8_t>byte)
        if configuration == DEAD:
            return
        out.push_back(<uint8_t>byte)


cdef list forced_split(Arena arena, Vocabulary vocabulary, uint32_t configuration, bytes data, most):
    """Return the tokens of forced text that no continuation changes, at most the first ``most``.

    ``data`` is the whole text, or more than ``most`` tokens of it. Empty if the tokenizer does not
    reproduce the text.
    """
    cdef CrossingTokensC found
    cdef uint32_t k, end, first = 0
    cdef size_t kept, n
    cdef const uint8_t* bytes_of
    cdef bytes text = data.decode("utf-8", "ignore").encode()
    cdef str lead = ""
    if not data.startswith(text):
        return []
    ids = split(vocabulary, lead, text)
    if not spells(vocabulary, ids, text):
        lead = LEAD
        ids = split(vocabulary, lead, text)
        if not spells(vocabulary, ids, text):
            return []
    ids = ids[:most]
    kept, n, bytes_of = size_of(vocabulary, ids), len(text), text
    with nogil:
        arena.guard.lock()
        find_crossings(arena, vocabulary, configuration, bytes_of, n, kept, &found)
        arena.take_error()
        arena.guard.unlock()
    for k in range(<uint32_t>found.starts.size()):
        end = found.ends[k]
        if found.starts[k] < kept:
            added = (<const char*>found.added.data())[first:end]
            ids = common(ids, split(vocabulary, lead, text + added))
            kept = size_of(vocabulary, ids)
        first = end
    return ids


cdef list split(Vocabulary vocabulary, str lead, bytes text):
    """Return the tokenizer's ids of ``text`` after ``lead``; empty if it joins the two."""
    before = list(vocabulary.encode(lead)) if lead else []
    ids = list(vocabulary.encode(lead + text.decode("utf-8", "ignore")))
    return ids[len(before):] if ids[:len(before)] == before else []


cdef bint spells(Vocabulary vocabulary, list ids, bytes text) except -1:
    """Return whether these are ordinary tokens whose bytes are ``text``."""
    if any([not 0 <= i < vocabulary.size or vocabulary.kind[i] != ORDINARY for i in ids]):
        return False
    return b"".join([vocabulary.tokens[i] for i in ids]) == text


cdef size_t size_of(Vocabulary vocabulary, list ids) except? 0:
    """Return the number of bytes of these tokens."""
    return sum([len(vocabulary.tokens[i]) for i in ids])


cdef list common(list ids, list others):
    """Return the common prefix of two lists."""
    for k, (one, other) in enumerate(zip(ids, others)):
        if one != other:
            return ids[:k]
    return ids[:len(others)]


cdef void find_crossings(
    Arena arena, Vocabulary vocabulary, uint32_t configuration, const uint8_t* text, size_t n, size_t before,
    CrossingTokensC* out
) noexcept nogil:
    """Find crossing tokens that begin before ``before``: each class's first in the trie."""
    cdef size_t start, k = n - vocabulary.max_token_bytes if n > vocabulary.max_token_bytes else 0
    cdef uint32_t node
    if k >= before:
        return
    for start in range(n):
        configuration = arena.step(configuration, text[start])
        if configuration == DEAD:
            return
    for start in range(k, before):
        node = 0
        for k in range(start, n):
            node = vocabulary.child(node, text[k])
            if node == 0:
                break
        if node != 0:
            cross(arena, vocabulary, configuration, node, <uint32_t>start, out)


cdef void cross(
    Arena arena, Vocabulary vocabulary, uint32_t configuration, uint32_t node, uint32_t start, CrossingTokensC* out
) noexcept nogil:
    """Add the crossing tokens whose part within the forced text is a node of the trie."""
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    cdef uint64_t met = 0, bit
    while at < end:
        bit = <uint64_t>1 << class_of(vocabulary.nodes[at].byte)
        if not met & bit and first_token(arena, vocabulary, configuration, at, &out.added):
            met |= bit
            out.starts.push_back(start)
            out.ends.push_back(<uint32_t>out.added.size())
        at = vocabulary.nodes[at].end


cdef bint first_token(
    Arena arena, Vocabulary vocabulary, uint32_t configuration, uint32_t node, vector[uint8_t]* out
) noexcept nogil:
    """Append the bytes from a node's own to the end of the first token at or below it that the
    grammar accepts. False: there is none.
    """
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    configuration = arena.step(configuration, vocabulary.nodes[node].byte)
    if configuration == DEAD:
        return False
    out.push_back(vocabulary.nodes[node].byte)
    if vocabulary.nodes[node].first != vocabulary.nodes[node + 1].first:
        return True
    while at < end:
        if first_token(arena, vocabulary, configuration, at, out):
            return True
        at = vocabulary.nodes[at].end
    out.pop_back()
    return False


cdef uint32_t class_of(uint8_t byte) noexcept nogil:
    """Return the class of a byte: lower case, upper case, digit, white space, not ASCII, control
    character, or the punctuation mark itself.
    """
    if 0x61 <= byte <= 0x7A:
        return 0
    if 0x41 <= byte <= 0x5A:
        return 1
    if 0x30 <= byte <= 0x39:
        return 2
    if byte == 0x20 or 0x09 <= byte <= 0x0D:
        return 3
    if byte >= 0x80:
        return 4
    if byte < 0x20:
        return 5
    # 33 punctuation marks are left: 0x21-0x2F, 0x3A-0x40, 0x5B-0x60, 0x7B-0x7F
    return 6 + byte - (0x21 if byte < 0x30 else 0x2B if byte < 0x41 else 0x45 if byte < 0x61 else 0x5F)


# -- batches ---------------------------------------------------------------------------------------
# Masks of many matchers in one call.
#
# Representation   A request is one matcher's mask. The requests of one generation form a group.
#                  They would wait for each other on its mutex, so one thread serves a group. Within
#                  a group, requests with the same mask (saturated configuration and termination)
#                  are adjacent: the first is filled, the others are copies.
# Cost             a look-up for each request besides its mask. The caller copies cached masks, a
#                  group under one lock. If at least HEAVY masks are missing, in at least two
#                  groups, helper threads take part, up to half of the processors: with less work,
#                  starting them costs as much as they save.
# Threads          Matchers are read under the GIL. Cached masks are copied under the GIL if the
#                  mutex is free and they are few. The GIL is released before any wait and before
#                  masks are built. All data of a generation is used under its arena's mutex.

cdef struct MaskRequestC:
    void* generation          # borrowed; the matcher holds it
    uint32_t* out
    uint32_t number           # of the matcher in the batch
    uint32_t configuration    # saturated once its group was visited
    bint terminated
    bint filled
    bint needs_filter         # repeated words must be cleared from the mask
    uint32_t words            # of the vocabulary
    uint32_t error

cdef struct RequestGroupC:
    size_t begin, end         # of its requests
    size_t missing            # masks to build
    bint is_busy              # another thread held the mutex: the group was not visited yet

cdef struct BatchC:
    plain_vector[MaskRequestC] requests
    plain_vector[RequestGroupC] groups        # those with missing masks
    size_t missing            # of all groups
    size_t width              # words of a row of the bitmask


cdef extern from "native/parallel_for.h" namespace "parallel":
    void parallel_for(
        void (*work)(void*, size_t) noexcept nogil, void* data, size_t count, size_t helpers
    ) noexcept nogil
    size_t processors() noexcept nogil

# Missing masks at which helpers pay: about 1.7 ms of work. With one helper on two processors, the
# other one idle, 16 such masks take as long as without a helper, and 64 take 2/3.
cdef size_t HEAVY = 64
# Words that are copied under the GIL: about 0.1 ms. A thread that releases the GIL may get it back
# only milliseconds later, when other threads want it.
cdef size_t MAX_UNDER_GIL = 1 << 18
# More helpers would only wait for memory.
cdef size_t MAX_HELPERS = 7


def fill_bitmask_batch(matchers, bitmask, rows, *, threads=None):
    """``fill_bitmask`` of many matchers; equal masks are built once and copied.

    The GIL is released while masks are built, and while many are copied.

    Args:
        matchers: sequence of ``Matcher``, of one vocabulary.
        bitmask: as for ``Matcher.fill_bitmask``.
        rows: the row of each matcher; equal length, no row twice.
        threads: number of threads, the calling one included. By default half the number of
            processors, at most eight, for a batch of several grammars with many missing masks; else
            one.

    Raises:
        TypeError: an element is not a matcher.
        ValueError: wrong shape or dtype, unequal lengths, a repeated row, or no thread.
        IndexError: the bitmask has no such row.
        LimitExceeded: see ``Matcher.accept_token``; the other masks are written.
    """
    cdef int[:, ::1] view = rows_of(bitmask)
    cdef list held = list(matchers)
    cdef plain_vector[Py_ssize_t] targets = rows
    cdef size_t helpers = 0
    cdef bint choose = threads is None
    cdef Matcher matcher
    cdef BatchC batch
    cdef MaskRequestC request
    if targets.size() != <size_t>len(held):
        raise ValueError(f"got {targets.size()} rows for {len(held)} matchers")
    if len(set(rows)) != len(held):
        raise ValueError("rows must not repeat")
    if not choose:
        if threads < 1:
            raise ValueError(f"threads must be >= 1, got {threads}")
        helpers = threads - 1
    add_requests(&batch, held, targets, view)
    if batch.requests.size() * batch.width <= MAX_UNDER_GIL:
        fill_kept(&batch)
    else:
        with nogil:
            fill_kept(&batch)
    if batch.missing:
        with nogil:
            if choose and batch.groups.size() > 1 and batch.missing >= HEAVY:
                # without an idle processor the caller waits for its helpers: 64 masks took 2-6
                # times as long
                helpers = max(processors() // 2, <size_t>1) - 1
            helpers = min(helpers, MAX_HELPERS, batch.groups.size() - 1)
            parallel_for(&build_group, &batch, batch.groups.size(), helpers)
    for request in batch.requests:
        if request.error != NO_ERROR or request.needs_filter:
            matcher = held[request.number]
            matcher.check(request.error)
            if request.needs_filter:
                filter_repeats(matcher, &view[targets[request.number], 0])


cdef int add_requests(BatchC* batch, list matchers, const plain_vector[Py_ssize_t]& rows, int[:, ::1] view) except -1:
    """Add a request for each matcher."""
    cdef MaskRequestC request
    cdef Matcher matcher
    cdef Py_ssize_t k
    batch.width, batch.missing = view.shape[1], 0
    batch.requests.reserve(rows.size())
    for k, matcher in enumerate(matchers):
        if matcher is None:
            raise TypeError("matchers must not contain None")
        if not 0 <= rows[k] < view.shape[0]:
            raise IndexError(f"rows[{k}] must be in 0..{view.shape[0] - 1}, got {rows[k]}")
        if batch.width < matcher.vocabulary.words:
            raise ValueError(f"a bitmask needs {matcher.vocabulary.words} words a row, got {batch.width}")
        request.generation, request.words = <void*>matcher.generation, matcher.vocabulary.words
        request.configuration, request.terminated = matcher.configuration(), matcher.terminated()
        request.out, request.number, request.error = <uint32_t*>&view[rows[k], 0], <uint32_t>k, NO_ERROR
        request.filled, request.needs_filter = False, matcher.needs_filter()
        batch.requests.push_back(request)
    return 0


cdef int filter_repeats(Matcher matcher, int* out) except -1:
    """Clear repeated words from a mask (unique_items), which depends on the matcher's text."""
    cdef uint32_t configuration = matcher.configuration(), error
    with nogil:
        matcher.lock()
        matcher.clear_repeats(configuration, <uint32_t*>out)
        error = matcher.generation.arena.take_error()
        matcher.unlock()
    return matcher.check(error)


cdef bint by_generation(const MaskRequestC& a, const MaskRequestC& b) noexcept nogil:
    return a.generation < b.generation if a.generation != b.generation else a.number < b.number


cdef bint by_mask(const MaskRequestC& a, const MaskRequestC& b) noexcept nogil:
    if a.configuration != b.configuration:
        return a.configuration < b.configuration
    return a.terminated < b.terminated if a.terminated != b.terminated else a.number < b.number


cdef bint have_same_mask(const MaskRequestC& a, const MaskRequestC& b) noexcept nogil:
    return a.configuration == b.configuration and a.terminated == b.terminated


cdef bint heavier(const RequestGroupC& a, const RequestGroupC& b) noexcept nogil:
    return a.missing > b.missing if a.missing != b.missing else a.begin < b.begin


cdef void fill_kept(BatchC* batch) noexcept nogil:
    """Fill cached masks without waiting; list ``groups`` with missing masks, largest first."""
    cdef size_t k = 0
    cdef RequestGroupC group
    cdef mutex* guard
    sort(batch.requests.begin(), batch.requests.end(), &by_generation)
    while k < batch.requests.size():
        group.begin = k
        while k < batch.requests.size() and batch.requests[k].generation == batch.requests[group.begin].generation:
            k += 1
        group.end = k
        guard = &(<Generation>batch.requests[group.begin].generation).arena.guard
        group.is_busy = not guard.try_lock()
        if group.is_busy:
            group.missing = group.end - group.begin
        else:
            group.missing = fill_group(batch, &group)
            guard.unlock()
        if group.missing:
            batch.missing += group.missing
            batch.groups.push_back(group)
    sort(batch.groups.begin(), batch.groups.end(), &heavier)


cdef size_t fill_group(BatchC* batch, RequestGroupC* group) noexcept nogil:
    """Fill requests with cached masks, under the mutex. Return the number of missing masks."""
    cdef void* generation = batch.requests[group.begin].generation
    cdef MaskRequestC* request
    cdef MaskRequestC* first = NULL
    cdef size_t k, missing = 0
    for k in range(group.begin, group.end):
        request = &batch.requests[k]
        request.configuration = (<Generation>generation).arena.configurations[request.configuration].saturated
    sort(batch.requests.begin() + group.begin, batch.requests.begin() + group.end, &by_mask)
    for k in range(group.begin, group.end):
        request = &batch.requests[k]
        if first != NULL and have_same_mask(first[0], request[0]):
            if first.filled:
                copy(batch, first, request)
            continue
        first = request
        if request.terminated:
            (<Generation>generation).masks.fill_stop(request.out)
            request.filled = True
        else:
            request.filled = (<Generation>generation).masks.fill_kept(request.configuration, request.out)
        memset(request.out + request.words, 0, 4 * (batch.width - request.words))
        missing += not request.filled
    return missing


cdef void build_group(void* data, size_t number) noexcept nogil:
    """Build a group's missing masks; each holds the mutex separately."""
    cdef BatchC* batch = <BatchC*>data
    cdef RequestGroupC* group = &batch.groups[number]
    cdef void* generation = batch.requests[group.begin].generation
    cdef MaskRequestC* request
    cdef MaskRequestC* first = NULL
    cdef size_t k
    if group.is_busy:
        (<Generation>generation).arena.guard.lock()
        fill_group(batch, group)
        (<Generation>generation).arena.guard.unlock()
    for k in range(group.begin, group.end):
        request = &batch.requests[k]
        if request.filled:
            continue
        if first != NULL and have_same_mask(first[0], request[0]):
            copy(batch, first, request)
            continue
        first = request
        (<Generation>generation).arena.guard.lock()
        (<Generation>generation).masks.fill(request.configuration, request.out)
        request.error = (<Generation>generation).arena.take_error()
        (<Generation>generation).arena.guard.unlock()
        request.filled = True


cdef void copy(BatchC* batch, const MaskRequestC* made, MaskRequestC* request) noexcept nogil:
    """Copy a mask to another request for the same mask."""
    memcpy(request.out, made.out, 4 * batch.width)
    request.error, request.filled = made.error, True
