"""Compiled grammars, their generations, and masks built ahead of time."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.algorithm cimport sort

from ..automata.rule_automata cimport (
    BYTES_EXCEEDED, MASK_ITEMS_EXCEEDED, NO_ERROR, ROW_ITEMS_EXCEEDED, RULE_EDGES_EXCEEDED,
    Automata, StateC,
)
from ..earley.rows cimport DEAD, Arena, ItemC, RowC
from ..grammar.ir cimport Grammar
from ..grammar.rule_digest cimport RuleDigests
from ..native.hashing cimport MISSING, map_get
from ..native.resources cimport WorkBudget
from ..unique_items.repeat_candidates cimport new_repeat_candidates
from ..vocabulary.detour_table cimport detours_of

from sys import getsizeof

from ..errors import LimitExceeded, SpecError
from ..grammar.stop_tokens import check_stops

# Configurations that `prepare` explores for each mask it may build. Those within names of keys are
# cheap and lie between the expensive ones.
cdef uint32_t STATES_PER_MASK = 32

# Bytes of the Python objects of one grammar, measured: eleven of the engine's, and the compiler's
# entries.
cdef size_t OBJECT_BYTES = 6 << 10

# the bit of the backslash in the second word of a row's live bytes
cdef uint64_t BACKSLASH = <uint64_t>1 << (0x5C - 64)

# The estimated cost of a state for each byte that it takes: walking the trie for a token mask that
# is not cached, using a cached one, or following rows.
cdef uint64_t UNCACHED_TOKEN_MASK = 1000
cdef uint64_t CACHED_TOKEN_MASK = 1
cdef uint64_t ROWS = 30

# Prefill takes at most 1 / SHARE of the limits of a generation that matchers use.
cdef size_t SHARE = 8


cdef class Generation:
    """Automata, rows and masks that were built together."""

    cdef bint is_spent(self, size_t rows, size_t most_bytes) noexcept nogil:
        """Return whether the next matcher needs a fresh generation."""
        cdef bint spent
        self.arena.guard.lock()
        spent = self.arena.rows.size() > rows or self.arena.bytes_held() > most_bytes
        self.arena.guard.unlock()
        return spent

    cdef GenerationSizesC sizes(self) noexcept nogil:
        cdef GenerationSizesC out
        out.rows = self.arena.rows.size() - 2
        out.configurations = self.arena.configurations.size() - 2
        out.items = self.arena.items.size()
        out.register_sets = self.arena.register_sets.off.size() - 2
        out.states = self.arena.automata.states.size() - 1
        out.bytes = self.arena.bytes_held()
        out.masks_made, out.masks_reused = self.masks.made, self.masks.reused
        out.mask_bytes = self.masks.kept_bytes()
        out.trie_nodes = self.masks.builder.visited
        return out

    cdef size_t bytes_held(self) noexcept nogil:
        cdef size_t held = self.arena.bytes_held() + self.masks.bytes_held()
        if self.candidates is not None:
            held += self.candidates.bytes_held()
        return held


cdef Generation new_generation(Compiled compiled, WorkBudget budget):
    """Return a new generation with its first row; ``budget`` pays for the automata of that row."""
    cdef Generation generation = Generation.__new__(Generation)
    cdef Automata automata = Automata.__new__(Automata)
    cdef RuleDigests digests = None
    limits, features = compiled.limits, compiled.features
    if compiled.table is not None:
        digests = RuleDigests.__new__(RuleDigests)
        digests.ir, digests.count_registers = compiled.ir, features.count_registers
    automata.open(compiled.ir, compiled.vocabulary, limits.rule_edges, compiled.automata_table, digests)
    generation.arena = Arena.__new__(Arena)
    generation.arena.open(
        automata, features.tail_references, limits.row_items, limits.rows, limits.most_generation_bytes,
        limits.mask_items, budget)
    generation.masks = RowMasks.__new__(RowMasks)
    generation.masks.open(
        generation.arena, compiled.vocabulary, compiled.table, digests, compiled.detours, features.mask_memo,
        limits.mask_bytes)
    if compiled.ir.has_unique:
        generation.candidates = new_repeat_candidates(generation.arena, compiled.vocabulary)
    return generation


cdef class Compiled:
    """A compiled grammar, made by ``Compiler.compile_*``. ``Matcher`` and ``parser()`` use it.

    Raises:
        LimitExceeded: a rule's automaton is too large, or the first row exceeds a limit.
        SpecError: a token id is not in the vocabulary, or a stop token cannot end the text.
    """

    def __init__(self, vocabulary, grammar, *, limits, features, table, automata_table, avoid_detours=True):
        self.vocabulary = vocabulary
        self.grammar = grammar
        self.limits = limits
        self.features = features
        self.ir = LoweredGrammar.__new__(LoweredGrammar)
        self.ir.load(grammar, vocabulary, features.count_registers)
        check_stops(grammar, self.ir, vocabulary.stop_token_ids)
        # before anything is allocated for its rules
        self.ir.check_edges(limits.rule_edges)
        self.table = table
        self.automata_table = automata_table
        self.detours = detours_of(vocabulary) if avoid_detours else None
        self.tag_text = self.extend = None
        self.held = OBJECT_BYTES
        self.generation = new_generation(self, grammar.budget)
        self.raise_limit(self.generation.arena.take_error(), self.generation.arena.error_got)

    cdef Generation current(self):
        cdef Generation generation = self.generation
        cdef size_t rows = self.limits.rows // 2, most_bytes = self.limits.generation_bytes
        cdef bint spent
        with nogil:
            spent = generation.is_spent(rows, most_bytes)
        if spent:
            self.generation = generation = new_generation(self, None)
        return generation

    cdef int raise_limit(self, uint32_t error, uint32_t got) except -1:
        """Raise ``LimitExceeded`` for an arena's error code, if it is one."""
        if error == NO_ERROR:
            return 0
        name = ("rule_edges" if error == RULE_EDGES_EXCEEDED
                else "row_items" if error == ROW_ITEMS_EXCEEDED
                else "most_generation_bytes" if error == BYTES_EXCEEDED
                else "mask_items" if error == MASK_ITEMS_EXCEEDED else "rows")
        raise LimitExceeded(name, getattr(self.limits, name), got)

    def with_tags(self, tags):
        """Return the same structural tag with more tags in its outermost set of tags.

        The new grammar shares automata and token masks of equal rules with this one.

        Args:
            tags: as in the structural tag.

        Raises:
            SpecError: this grammar is no structural tag with a set of tags, or
                ``Compiler.compile_structural_tag`` refuses the new one.
        """
        if self.extend is None:
            raise SpecError("only a structural tag accepts more tags")
        return self.extend(self.tag_text, tags)

    def prepare(self, uint32_t budget=64):
        """Build up to ``budget`` masks ahead of time, the most expensive first. Return their
        number.

        Call it while the prompt is prefilled. It explores ``STATES_PER_MASK`` configurations for
        each mask, beginning at the root; another call goes further. It skips masks that would
        exceed a limit, because the text may never need them.
        """
        cdef Generation generation = self.current()
        cdef Prefill prefill = Prefill(generation.arena, generation.masks, escapes=False, leaves_out=True)
        prefill.run(budget * STATES_PER_MASK, budget)
        return prefill.made

    def precompute_all(self, uint32_t most=100_000):
        """Build all masks of a finite grammar, so that every later mask is a copy.

        Returns:
            the number of masks built.

        Raises:
            LimitExceeded: the grammar has more than ``most`` configurations, or infinitely many
                (recursion).
        """
        cdef Generation generation = self.current()
        cdef Prefill prefill = Prefill(generation.arena, generation.masks, escapes=True)
        prefill.run(most, most)
        self.raise_limit(prefill.error, generation.arena.error_got)
        if not prefill.is_complete:
            raise LimitExceeded("states", most, most + 1)
        return prefill.made

    def held_bytes(self):
        """Return the bytes held by the grammar and its current generation, which grows with use.
        While a matcher works, return the last measurement.
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
        """Return whether the grammar accepts any text."""
        return self.generation.arena.root != 0

    def parser(self, *, most_parses=None):
        """Return a new event parser for one text. ``most_parses``: at once, at most ``Limits.row_items``."""
        from .parser import Parser
        return Parser(self, most_parses=most_parses)

    def stats(self):
        """Return sizes of the current generation: rows, items, states, masks, bytes and others."""
        cdef Generation generation = self.generation
        cdef GenerationSizesC sizes
        with nogil:
            generation.arena.guard.lock()
            sizes = generation.sizes()
            generation.arena.guard.unlock()
        return sizes


# -- prefill ---------------------------------------------------------------------------------------

cdef bint costlier(const PrefillTargetC& a, const PrefillTargetC& b) noexcept nogil:
    return a.cost > b.cost if a.cost != b.cost else a.configuration < b.configuration


cdef class Prefill:
    """Builds masks of one generation ahead of time.

    Args:
        escapes: whether to follow all spellings of characters.
        leaves_out: skip masks that exceed a limit, and take only a small part of the generation,
            which matchers use at the same time. Otherwise the first exceeded limit ends the run and
            is reported as ``error``.
    """

    def __cinit__(self, Arena arena not None, RowMasks masks not None, *, bint escapes, bint leaves_out=False):
        self.arena = arena
        self.masks = masks
        self.escapes, self.leaves_out = escapes, leaves_out
        self.made, self.error, self.at, self.is_over, self.is_complete = 0, NO_ERROR, 0, False, False
        self.most_rows, self.most_bytes, self.items_left = ~<size_t>0, ~<size_t>0, 0
        if leaves_out:
            self.most_rows = arena.row_limit // SHARE
            self.most_bytes = arena.byte_limit // SHARE
            self.items_left = arena.mask_items // SHARE

    cdef int run(self, uint32_t most, uint32_t budget) except -1:
        """Explore up to ``most`` configurations, and build the ``budget`` most expensive masks."""
        cdef PrefillTargetC target
        with nogil:
            while not self.is_over:
                self.arena.guard.lock()
                self.look(most)
                self.arena.guard.unlock()
            sort(self.targets.begin(), self.targets.end(), &costlier)
            for target in self.targets:
                if self.made == budget or self.error != NO_ERROR:
                    break
                self.arena.guard.lock()
                if not self.is_full():
                    self.make(target.configuration)
                self.arena.guard.unlock()
        return 0

    cdef void make(self, uint32_t configuration) noexcept nogil:
        """Build one mask. With ``leaves_out``, a mask gets only a part of the usual work."""
        cdef uint32_t most = self.arena.mask_items
        if self.leaves_out:
            self.arena.mask_items = most // SHARE
        self.made += self.masks.make_ahead(configuration)
        self.passes_limit()
        self.arena.mask_items = most

    cdef bint is_full(self) noexcept nogil:
        return self.arena.rows.size() > self.most_rows or self.arena.bytes_held() > self.most_bytes

    cdef bint passes_limit(self) noexcept nogil:
        """Return whether the last step exceeded a limit that ends the run."""
        cdef uint32_t error = self.arena.take_error()
        if not self.leaves_out:
            self.error = error
        return self.error != NO_ERROR

    cdef void look(self, uint32_t most) noexcept nogil:
        """Explore one more configuration, breadth first, and note its successors; ``most`` in all.

        Sets ``is_over`` after the last one, and ``is_complete`` if no configuration is left.
        """
        if self.at == 0:
            self.todo.push_back(self.arena.root)
            self.seen.insert(self.arena.root)
        if self.is_full() or self.at == self.todo.size():
            self.is_complete = self.at == self.todo.size()
            self.is_over = True
            return
        if self.leaves_out:
            self.arena.count_work(self.items_left)
        self.is_over = not self.follow(self.todo[self.at], most)
        if self.leaves_out:
            self.items_left -= min(self.items_left, self.arena.stop_counting())
            self.is_over = self.is_over or self.items_left == 0
        self.at += 1

    cdef bint follow(self, uint32_t configuration, uint32_t most) noexcept nogil:
        """Note the configurations one byte or one token end away. False: there are too many."""
        cdef uint32_t b, target
        cdef uint64_t[4] live = self.arena.rows[self.arena.configurations[configuration].row].live
        self.targets.push_back(PrefillTargetC(self.cost(configuration), configuration))
        if not self.escapes and live[0] | live[1] & ~BACKSLASH | live[2] | live[3]:
            live[1] &= ~BACKSLASH
        # 256 stands for the end of a token
        for b in range(257):
            if b < 256 and not (live[b >> 6] >> (b & 63)) & 1:
                continue
            target = self.arena.step(configuration, <uint8_t>b) if b < 256 else self.arena.end_token(configuration)
            if self.passes_limit():
                return False
            if target == DEAD or self.seen.count(target):
                continue
            if self.seen.size() >= most:
                return False
            self.seen.insert(target)
            self.todo.push_back(target)
        return True

    cdef uint64_t cost(self, uint32_t configuration) noexcept nogil:
        """Estimate the cost of a configuration's mask; 0 if the mask is cached."""
        cdef RowC row = self.arena.rows[self.arena.configurations[configuration].row]
        cdef uint64_t total = 1
        cdef uint32_t k
        cdef ItemC item
        cdef StateC* state
        if map_get(&self.masks.mask_ids, self.arena.configurations[configuration].saturated) != MISSING:
            return 0
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            state = &self.arena.automata.states[item.state]
            if not self.arena.automata.tabled[state.rule]:
                total += ROWS * width(state)
            elif map_get(&self.masks.token_mask_ids, <uint64_t>(state.like or item.state) << 32) == MISSING:
                total += UNCACHED_TOKEN_MASK * width(state)
            else:
                total += CACHED_TOKEN_MASK * width(state)
        return total


cdef uint32_t width(StateC* state) noexcept nogil:
    return sum_bits(state.live[0]) + sum_bits(state.live[1]) + sum_bits(state.live[2]) + sum_bits(state.live[3])


cdef extern from *:
    uint32_t sum_bits "__builtin_popcountll"(unsigned long long) noexcept nogil
