"""Compiled grammars: see the header file."""

from libc.stdint cimport uint32_t

from ..automata.rule_automata cimport (
    BYTES_EXCEEDED, MASK_ITEMS_EXCEEDED, NO_ERROR, ROW_ITEMS_EXCEEDED, RULE_EDGES_EXCEEDED,
    Automata,
)
from ..grammar.ir cimport Grammar
from ..masks.prefill cimport Prefill
from ..sharing.rule_digest cimport Digests
from .unique_items cimport new_suspects

from sys import getsizeof

from ..errors import LimitExceeded, SpecError

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
        self.key = self.tag_text = self.extend = None
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
