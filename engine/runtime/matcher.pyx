"""Forced text: see the header file."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.memory cimport make_shared, shared_ptr
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector as plain_vector

from ..automata.rule_automata cimport (
    BYTES_EXCEEDED, MASK_ITEMS_EXCEEDED, NO_ERROR, ROW_ITEMS_EXCEEDED, RULE_EDGES_EXCEEDED,
    Automata,
)
from ..earley.rows cimport DEAD, Arena, RowC
from ..grammar.ir cimport Grammar
from ..masks.row_masks cimport Prefill, rows_of
from ..native.bitset cimport clear_bit
from ..native.clock cimport nanoseconds
from ..native.hashing cimport MISSING, map_get, map_put
from ..native.pool cimport Pool, vector
from ..sharing.mask_codec cimport Digests
from ..vocabulary.vocabulary cimport Vocabulary
from .unique_items cimport Place, Trials, follow, new_suspects

from sys import getsizeof

from ..errors import LimitExceeded, SpecError
from ..native.resources import keep_ready

cdef uint32_t ORDINARY = 0
# Takes the blank that a tokenizer puts before each text (rule 4).
cdef str LEAD = "\n"


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


cdef void follow_only(
    Arena arena, uint32_t instance, size_t most, vector[uint8_t]* out
) noexcept nogil:
    """Append bytes while only one may come next, until ``out`` has ``most``. Needs the mutex."""
    cdef int byte
    while out.size() < most:
        byte = only_byte(arena, instance)
        if byte < 0:
            return
        instance = arena.step(instance, <uint8_t>byte)
        if instance == DEAD:
            return
        out.push_back(<uint8_t>byte)


# -- tokens ----------------------------------------------------------------------------------------
cdef list forced_split(Arena arena, Vocabulary vocabulary, uint32_t instance, bytes data, most):
    """The tokens of forced text that stand whatever follows, at most the first ``most``.

    ``data`` is all of the text, or more than ``most`` tokens of it. Empty where the tokenizer does
    not give the text back as it is.
    """
    cdef CrossingsC found
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
        find_crossings(arena, vocabulary, instance, bytes_of, n, kept, &found)
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
    """The tokenizer's ids of ``text`` behind ``lead``; empty if it joins the two."""
    before = list(vocabulary.encode(lead)) if lead else []
    ids = list(vocabulary.encode(lead + text.decode("utf-8", "ignore")))
    return ids[len(before):] if ids[:len(before)] == before else []


cdef bint spells(Vocabulary vocabulary, list ids, bytes text) except -1:
    """Whether these are ordinary tokens whose bytes are ``text``."""
    if any([vocabulary.kind[i] != ORDINARY for i in ids]):
        return False
    return b"".join([vocabulary.tokens[i] for i in ids]) == text


cdef size_t size_of(Vocabulary vocabulary, list ids) except? 0:
    """Bytes of these tokens."""
    return sum([len(vocabulary.tokens[i]) for i in ids])


cdef list common(list ids, list others):
    """The tokens with which both begin."""
    for k, (one, other) in enumerate(zip(ids, others)):
        if one != other:
            return ids[:k]
    return ids[:len(others)]


# -- crossings -------------------------------------------------------------------------------------
cdef void find_crossings(
    Arena arena, Vocabulary vocabulary, uint32_t instance, const uint8_t* text, size_t n, size_t before,
    CrossingsC* out
) noexcept nogil:
    """Those that begin at ``before`` at the latest; of each class the first one in the trie."""
    cdef size_t start, k = n - vocabulary.max_token_bytes if n > vocabulary.max_token_bytes else 0
    cdef uint32_t node
    if k >= before:
        return
    for start in range(n):
        instance = arena.step(instance, text[start])
        if instance == DEAD:
            return
    for start in range(k, before):
        node = 0
        for k in range(start, n):
            node = vocabulary.child(node, text[k])
            if node == 0:
                break
        if node != 0:
            cross(arena, vocabulary, instance, node, <uint32_t>start, out)


cdef void cross(
    Arena arena, Vocabulary vocabulary, uint32_t instance, uint32_t node, uint32_t start, CrossingsC* out
) noexcept nogil:
    """The crossings whose part before the forced text's end is a node of the trie."""
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    cdef uint64_t met = 0, bit
    while at < end:
        bit = <uint64_t>1 << class_of(vocabulary.nodes[at].byte)
        if not met & bit and first_token(arena, vocabulary, instance, at, &out.added):
            met |= bit
            out.starts.push_back(start)
            out.ends.push_back(<uint32_t>out.added.size())
        at = vocabulary.nodes[at].end


cdef bint first_token(
    Arena arena, Vocabulary vocabulary, uint32_t instance, uint32_t node, vector[uint8_t]* out
) noexcept nogil:
    """Appends the bytes from a node's own to the end of the first token at or below it that the grammar
    takes; False: there is none."""
    cdef uint32_t at = node + 1, end = vocabulary.nodes[node].end
    instance = arena.step(instance, vocabulary.nodes[node].byte)
    if instance == DEAD:
        return False
    out.push_back(vocabulary.nodes[node].byte)
    if vocabulary.nodes[node].first != vocabulary.nodes[node + 1].first:
        return True
    while at < end:
        if first_token(arena, vocabulary, instance, at, out):
            return True
        at = vocabulary.nodes[at].end
    out.pop_back()
    return False


cdef uint32_t class_of(uint8_t byte) noexcept nogil:
    """Small letters, capitals, digits, white space, what is not ASCII, and each sign by itself."""
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
    # 33 signs are left: 0x21-0x2F, 0x3A-0x40, 0x5B-0x60, 0x7B-0x7F; and control characters
    if byte < 0x20:
        return 5
    if byte < 0x30:
        return 6 + byte - 0x21
    if byte < 0x41:
        return 21 + byte - 0x3A
    if byte < 0x61:
        return 28 + byte - 0x5B
    return 34 + byte - 0x7B


# -- compiled --------------------------------------------------------------------------------------

# Places that `prepare` looks at for each mask it may make: names of keys lie between the places that
# cost something.
cdef uint32_t PLACES_FOR_ONE = 32

# edges of a rule whose automaton is built in about a microsecond
cdef int EDGES_PER_STEP = 8

# What the Python objects of one grammar take, measured: eleven of the engine's, and what a compiler keeps
# beside them.
cdef size_t OBJECT_BYTES = 6 << 10


cdef class Generation:
    """Automata, rows and masks that were built together."""

    @staticmethod
    cdef Generation of(Compiled compiled):
        cdef Generation made = Generation.__new__(Generation)
        cdef Automata automata = Automata.__new__(Automata)
        cdef Digests digests = None
        limits, features = compiled.limits, compiled.features
        if compiled.table is not None:
            digests = Digests.__new__(Digests)
            digests.ir, digests.count_registers = compiled.ir, features.count_registers
        automata.open(compiled.ir, compiled.vocabulary, limits.rule_edges, compiled.automata_table, digests)
        made.arena = Arena.__new__(Arena)
        made.arena.open(
            automata, features.tail_references, limits.row_items, limits.rows, limits.most_generation_bytes,
            limits.mask_items)
        made.masks = Masks.__new__(Masks)
        made.masks.open(
            made.arena, compiled.vocabulary, compiled.table, digests, features.mask_memo,
            limits.mask_bytes)
        if compiled.ir.has_differing:
            made.suspects = new_suspects(made.arena, compiled.vocabulary)
        return made

    cdef bint is_spent(self, size_t rows, size_t most_bytes) noexcept nogil:
        """Whether the next matcher should begin a fresh generation."""
        cdef bint spent
        self.arena.guard.lock()
        spent = self.arena.rows.size() > rows or self.arena.bytes_held() > most_bytes
        self.arena.guard.unlock()
        return spent

    cdef SizesC sizes(self) noexcept nogil:
        cdef SizesC out
        out.rows = self.arena.rows.size() - 2
        out.instances = self.arena.instances.size() - 2
        out.items = self.arena.items.size()
        out.frames = self.arena.frame_off.size() - 2
        out.states = self.arena.automata.states.size() - 1
        out.bytes = self.arena.bytes_held()
        out.masks_made, out.masks_reused = self.masks.made, self.masks.reused
        out.mask_bytes = self.masks.kept_bytes()
        out.trie_nodes = self.masks.maker.visited
        return out

    cdef size_t bytes_held(self) noexcept nogil:
        cdef size_t held = self.arena.bytes_held() + self.masks.bytes_held()
        if self.suspects is not None:
            held += self.suspects.bytes_held()
        return held


cdef class Compiled:
    """What ``Compiler.compile_*`` returns; give it to ``Matcher``, or ask it for a ``parser()``.

    Raises:
        LimitExceeded: a rule's automaton would be too large, or building the first row already passes a limit.
    """

    def __init__(self, vocabulary, grammar, *, limits, features, table, automata_table):
        self.vocabulary = vocabulary
        self.grammar = grammar
        self.limits = limits
        self.features = features
        self.ir = LoweredGrammar.__new__(LoweredGrammar)
        self.ir.load(grammar, vocabulary, features.count_registers)
        if self.ir.largest_rule > limits.rule_edges:
            # before anything is built of it
            raise LimitExceeded("rule_edges", limits.rule_edges, self.ir.largest_rule)
        # its automata are built without the GIL, and don't stop halfway
        grammar.budget.spend(self.ir.largest_rule // EDGES_PER_STEP)
        self.table = table
        self.automata_table = automata_table
        self.tag_text = self.extend = None
        self.held = OBJECT_BYTES
        self.generation = Generation.of(self)
        self.raise_limit(self.generation.arena.take_error(), self.generation.arena.error_got)

    cdef Generation current(self):
        cdef Generation generation = self.generation
        cdef size_t rows = self.limits.rows // 2, most_bytes = self.limits.generation_bytes
        cdef bint spent
        with nogil:
            spent = generation.is_spent(rows, most_bytes)
        if spent:
            self.generation = generation = Generation.of(self)
        return generation

    cdef int raise_limit(self, uint32_t error, uint32_t got) except -1:
        """Raises ``LimitExceeded`` if there is an error, an arena's."""
        if error == NO_ERROR:
            return 0
        name = ("rule_edges" if error == RULE_EDGES_EXCEEDED
                else "row_items" if error == ROW_ITEMS_EXCEEDED
                else "most_generation_bytes" if error == BYTES_EXCEEDED
                else "mask_items" if error == MASK_ITEMS_EXCEEDED else "rows")
        raise LimitExceeded(name, getattr(self.limits, name), got)

    def with_tags(self, tags):
        """The same structural tag with more tags in its outermost set of tags.

        What the others need is shared with this one: automata and masks by what they say.

        Args:
            tags: as in the structural tag.

        Raises:
            SpecError: this was not compiled from a structural tag with a set of tags; and as
                ``Compiler.compile_structural_tag``.
        """
        if self.extend is None:
            raise SpecError("only a structural tag can get more tags")
        return self.extend(self.tag_text, tags)

    def prepare(self, uint32_t budget=64):
        """Makes up to ``budget`` masks ahead of time, those that will cost most; returns how many.

        Meant for the time in which a prompt is prefilled. It looks at ``PLACES_FOR_ONE`` places for
        each mask, from the start on, and can be called again to go further. What would pass a limit
        is left out, for the text may never get there.
        """
        cdef Generation generation = self.current()
        cdef Prefill prefill = Prefill(
            generation.arena, generation.masks, escapes=False, leaves_out=True)
        prefill.run(budget * PLACES_FOR_ONE, budget)
        return prefill.made

    def precompute_all(self, uint32_t most=100_000):
        """Makes the masks of all states there are, for a grammar with finitely many.

        Then every later mask is a look-up. Returns how many were made.

        Raises:
            LimitExceeded: there are more than ``most`` states, or infinitely many (recursion).
        """
        cdef Generation generation = self.current()
        cdef Prefill prefill = Prefill(generation.arena, generation.masks, escapes=True)
        prefill.run(most, most)
        self.raise_limit(prefill.error, generation.arena.error_got)
        if not prefill.is_complete:
            raise LimitExceeded("states", most, most + 1)
        return prefill.made

    def held_bytes(self):
        """How much memory it takes, with the current generation, which grows while matchers run; what it
        took before, while one of them is at work.
        """
        cdef Generation generation = self.generation
        if generation.arena.guard.try_lock():
            self.held = OBJECT_BYTES + self.ir.bytes_held() + generation.bytes_held()
            generation.arena.guard.unlock()
            self.held += (<Grammar>self.grammar).bytes_held()
            if self.tag_text is not None:
                self.held += getsizeof(self.tag_text)
        return self.held

    def is_satisfiable(self):
        """Whether there is any text that the grammar accepts."""
        return self.generation.arena.root != 0

    def parser(self):
        """A fresh event parser of this grammar."""
        from .parser import Parser
        return Parser(self)

    def stats(self):
        """Sizes of the current generation: rows, instances, items, states, masks, bytes."""
        cdef Generation generation = self.generation
        cdef SizesC sizes
        with nogil:
            generation.arena.guard.lock()
            sizes = generation.sizes()
            generation.arena.guard.unlock()
        return sizes


# -- matcher ---------------------------------------------------------------------------------------

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


# -- batch -----------------------------------------------------------------------------------------

cdef extern from "native/parallel_for.h" namespace "parallel":
    void parallel_for(
        void (*work)(void*, size_t) noexcept nogil, void* data, size_t count, size_t helpers
    ) noexcept nogil
    size_t processors() noexcept nogil

# Masks to be made from which on helpers are worth starting: about 1.7 ms. With one helper on two
# processors, the other one free, 16 such masks take as long as without, 64 take 2/3.
cdef size_t HEAVY = 64
# Words that are copied GIL in hand: about 0.1 ms. Who lets go of it may get it back only milliseconds later,
# when other threads want it, too.
cdef size_t MOST_WITH_GIL = 1 << 18
# More helpers than these have nothing to do but wait for memory.
cdef size_t MOST_HELPERS = 7


def fill_bitmask_batch(matchers, bitmask, rows, *, threads=None):
    """``fill_bitmask`` of many matchers; those in one state are made once and copied.

    The GIL is released while masks are made, and while many are copied.

    Args:
        matchers: sequence of ``Matcher``, of one vocabulary.
        bitmask: as for ``Matcher.fill_bitmask``.
        rows: for each matcher its row; equal length, no row twice.
        threads: how many work on it, the calling one included. By default half as many as there
            are processors, at most eight, for a batch of several grammars with many masks to be
            made; one otherwise.

    Raises:
        TypeError: something else than a matcher.
        ValueError: wrong shape or dtype, unequal lengths, a row twice, or no thread.
        IndexError: no such row.
        LimitExceeded: see ``Matcher.accept_token``; the other masks are there.
    """
    cdef int[:, ::1] view = rows_of(bitmask)
    cdef list held = list(matchers)
    cdef plain_vector[Py_ssize_t] targets = rows
    cdef Py_ssize_t k
    cdef size_t helpers = 0
    cdef bint choose = threads is None
    cdef Matcher matcher
    cdef PlanC plan
    cdef JobC job
    if targets.size() != <size_t>len(held):
        raise ValueError(f"{len(held)} matchers for {targets.size()} rows")
    if len(set(rows)) != len(held):
        raise ValueError("two matchers for one row")
    if not choose:
        if threads < 1:
            raise ValueError(f"a batch needs a thread, not {threads}")
        helpers = threads - 1
    plan.width, plan.missing = view.shape[1], 0
    plan.jobs.reserve(targets.size())
    for k, matcher in enumerate(held):
        if matcher is None:
            raise TypeError("a batch is of matchers, not of None")
        if not 0 <= targets[k] < view.shape[0]:
            raise IndexError(f"row {targets[k]} of a bitmask with {view.shape[0]} rows")
        if plan.width < matcher.vocabulary.words:
            raise ValueError(f"a bitmask of {plan.width} words; the vocabulary needs {matcher.vocabulary.words}")
        job.generation, job.words = <void*>matcher.generation, matcher.vocabulary.words
        job.instance, job.terminated = matcher.instance(), matcher.terminated()
        job.out, job.number, job.error = <uint32_t*>&view[targets[k], 0], <uint32_t>k, NO_ERROR
        job.filled, job.looks = False, matcher.needs_look()
        plan.jobs.push_back(job)
    if plan.jobs.size() * plan.width <= MOST_WITH_GIL:
        fill_kept(&plan)
    else:
        with nogil:
            fill_kept(&plan)
    if plan.missing:
        with nogil:
            if choose and plan.groups.size() > 1 and plan.missing >= HEAVY:
                # where no processor is free, the caller waits for its helpers' turns: 64 masks took 2-6 times as long
                helpers = max(processors() // 2, <size_t>1) - 1
            helpers = min(helpers, MOST_HELPERS, plan.groups.size() - 1)
            parallel_for(&make_group, &plan, plan.groups.size(), helpers)
    for job in plan.jobs:
        if job.error != NO_ERROR or job.looks:
            matcher = held[job.number]
            matcher.check(job.error)
            if job.looks:
                look_through(matcher, &view[targets[job.number], 0])


cdef int look_through(Matcher matcher, int* out) except -1:
    """What the text rules out of a mask (unique_items), each text by itself."""
    cdef uint32_t instance = matcher.instance(), error
    with nogil:
        matcher.lock()
        matcher.rule_out(instance, <uint32_t*>out)
        error = matcher.generation.arena.take_error()
        matcher.unlock()
    return matcher.check(error)


cdef bint same_generation_first(const JobC& a, const JobC& b) noexcept nogil:
    return a.generation < b.generation if a.generation != b.generation else a.number < b.number


cdef bint same_place_first(const JobC& a, const JobC& b) noexcept nogil:
    if a.instance != b.instance:
        return a.instance < b.instance
    return a.terminated < b.terminated if a.terminated != b.terminated else a.number < b.number


cdef bint same_place(const JobC& a, const JobC& b) noexcept nogil:
    return a.instance == b.instance and a.terminated == b.terminated


cdef bint heavier(const GroupC& a, const GroupC& b) noexcept nogil:
    return a.missing > b.missing if a.missing != b.missing else a.begin < b.begin


cdef void fill_kept(PlanC* plan) noexcept nogil:
    """Fills the masks that are there, waiting for nobody. What is left are ``groups``, the heaviest first."""
    cdef size_t k = 0
    cdef GroupC group
    cdef mutex* guard
    sort(plan.jobs.begin(), plan.jobs.end(), &same_generation_first)
    while k < plan.jobs.size():
        group.begin = k
        while k < plan.jobs.size() and plan.jobs[k].generation == plan.jobs[group.begin].generation:
            k += 1
        group.end = k
        guard = &(<Generation>plan.jobs[group.begin].generation).arena.guard
        group.is_busy = not guard.try_lock()
        if group.is_busy:
            group.missing = group.end - group.begin
        else:
            group.missing = fill_group(plan, &group)
            guard.unlock()
        if group.missing:
            plan.missing += group.missing
            plan.groups.push_back(group)
    sort(plan.groups.begin(), plan.groups.end(), &heavier)


cdef size_t fill_group(PlanC* plan, GroupC* group) noexcept nogil:
    """Fills the jobs whose masks are there, under their mutex; returns how many masks are missing."""
    cdef void* generation = plan.jobs[group.begin].generation
    cdef JobC* job
    cdef JobC* first = NULL
    cdef size_t k, missing = 0
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        job.instance = (<Generation>generation).arena.instances[job.instance].rep
    sort(plan.jobs.begin() + group.begin, plan.jobs.begin() + group.end, &same_place_first)
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        if first != NULL and same_place(first[0], job[0]):
            if first.filled:
                copy(plan, first, job)
            continue
        first = job
        if job.terminated:
            (<Generation>generation).masks.fill_stop(job.out)
            job.filled = True
        else:
            job.filled = (<Generation>generation).masks.fill_kept(job.instance, job.out)
        memset(job.out + job.words, 0, 4 * (plan.width - job.words))
        missing += not job.filled
    return missing


cdef void make_group(void* data, size_t number) noexcept nogil:
    """Makes a group's missing masks, each under a lock of its own."""
    cdef PlanC* plan = <PlanC*>data
    cdef GroupC* group = &plan.groups[number]
    cdef void* generation = plan.jobs[group.begin].generation
    cdef JobC* job
    cdef JobC* first = NULL
    cdef size_t k
    if group.is_busy:
        (<Generation>generation).arena.guard.lock()
        fill_group(plan, group)
        (<Generation>generation).arena.guard.unlock()
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        if job.filled:
            continue
        if first != NULL and same_place(first[0], job[0]):
            copy(plan, first, job)
            continue
        first = job
        (<Generation>generation).arena.guard.lock()
        (<Generation>generation).masks.fill(job.instance, job.out)
        job.error = (<Generation>generation).arena.take_error()
        (<Generation>generation).arena.guard.unlock()
        job.filled = True


cdef void copy(PlanC* plan, const JobC* made, JobC* job) noexcept nogil:
    """The mask of one place, for another job of it."""
    memcpy(job.out, made.out, 4 * plan.width)
    job.error, job.filled = made.error, True
