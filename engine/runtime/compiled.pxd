"""A compiled grammar: its lowered IR, and the automata, rows and masks that matchers share.

A `Generation` owns the automata, rows and masks that were built together. `Prefill` builds masks
before they are needed: while a prompt is prefilled, or all masks of a finite grammar.

Representation   `generation` is the current one. A matcher keeps the generation it began with.
                 Prefill explores configurations breadth first, byte by byte, from the root. It
                 estimates the cost of each mask from the width of the row's items and from the
                 token masks that are cached, and builds the most expensive masks first. Where a
                 character has an unescaped spelling, only that one is followed: models rarely
                 write escapes.
Invariants       I1 a generation never changes its answers; a new one gives the same answers.
                 I2 the next matcher starts a fresh generation when the current one has more rows
                    than half of `Limits.rows`, or more bytes than `Limits.generation_bytes`.
Bounds           Prefill bounds explored configurations and built masks. In a generation that
                 matchers use, it may take an eighth of each limit of a generation and of a mask.
Threads          The GIL guards the swap of the generation. A generation is used under its arena's
                 mutex, under which no Python code runs. Prefill releases the mutex after each
                 configuration and each mask, so a scheduler waits for at most one of them.
Not here         front ends and the cache of compiled grammars (compiler, grammar_cache).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.unordered_set cimport unordered_set

from ..automata.rule_automata cimport AutomatonCache
from ..earley.rows cimport Arena
from ..grammar.lowered cimport LoweredGrammar
from ..masks.row_masks cimport RowMasks
from ..masks.token_mask cimport TokenMaskCache
from ..native.pool cimport vector
from ..unique_items.repeat_candidates cimport RepeatCandidates
from ..vocabulary.detour_table cimport DetourTable
from ..vocabulary.vocabulary cimport Vocabulary

cdef struct GenerationSizesC:
    # counts, and bytes of rows and automata (`bytes`) and of cached masks (`mask_bytes`)
    size_t rows, configurations, items, register_sets, states, bytes
    size_t masks_made, masks_reused, mask_bytes
    size_t trie_nodes           # visited while token masks and unions were built

cdef class Generation:
    cdef Arena arena
    cdef RowMasks masks
    cdef RepeatCandidates candidates      # None: no words must be unique
    cdef bint is_spent(self, size_t rows, size_t most_bytes) noexcept nogil
    # the caller holds the arena's mutex
    cdef GenerationSizesC sizes(self) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil

cdef class Compiled:
    cdef object __weakref__
    cdef readonly Vocabulary vocabulary
    cdef readonly object grammar
    cdef readonly object limits
    cdef readonly object features
    # of a structural tag, set by the compiler: the tag as text or marshalled, and the function that
    # compiles it with more tags; None for other grammars
    cdef public object tag_text
    cdef public object extend
    cdef size_t held                      # bytes at the last measurement
    cdef LoweredGrammar ir
    cdef AutomatonCache automata_table
    cdef TokenMaskCache table
    cdef DetourTable detours              # None: masks have detours
    cdef Generation generation
    cdef Generation current(self)
    cdef int raise_limit(self, uint32_t error, uint32_t got) except -1

cdef struct PrefillTargetC:
    uint64_t cost
    uint32_t configuration

cdef class Prefill:
    cdef Arena arena
    cdef RowMasks masks
    cdef bint escapes, leaves_out
    cdef size_t most_rows, most_bytes         # of the generation; beyond them nothing is built
    cdef uint32_t items_left                  # that exploration may still meet
    cdef vector[PrefillTargetC] targets
    cdef vector[uint32_t] todo                # configurations in the order of discovery
    cdef size_t at                            # index into ``todo``: the next one to explore
    cdef unordered_set[uint32_t] seen
    cdef bint is_over
    # results
    cdef uint32_t made, error
    cdef bint is_complete                     # every configuration was explored
    cdef int run(self, uint32_t most, uint32_t budget) except -1
    cdef void make(self, uint32_t configuration) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef bint passes_limit(self) noexcept nogil
    cdef void look(self, uint32_t most) noexcept nogil
    cdef bint follow(self, uint32_t configuration, uint32_t most) noexcept nogil
    cdef uint64_t cost(self, uint32_t configuration) noexcept nogil
