"""A compiled grammar: flat IR, and the generation of automata, rows and masks that matchers share.

Representation   `generation` is the current one; a matcher holds the one it began with.
Invariants       I1 a generation never changes its answers; a new one gives the same.
                 I2 when a generation's rows pass half of `Limits.rows`, or its bytes
                    `Limits.generation_bytes`, or it met a limit, or the table was found to hold what is
                    not true, the next matcher begins a fresh one.
Threads          swapping the generation happens under the GIL; a generation is used under its
                 arena's mutex, under which no Python runs.
Not here         front ends and caches of whole grammars (compiler).
"""

from libc.stdint cimport uint32_t, uint64_t

from ..automata.automaton_cache cimport AutomatonCache
from ..earley.rows cimport Arena
from ..grammar.lowered cimport LoweredGrammar
from ..masks.row_masks cimport Masks
from ..masks.token_mask cimport TokenMaskCache
from ..vocabulary.vocabulary cimport Vocabulary
from .unique_items cimport Suspects

cdef struct SizesC:
    # of a generation; `bytes` of rows and automata, `mask_bytes` of kept masks
    size_t rows, instances, items, frames, states, bytes
    size_t masks_made, masks_reused, mask_bytes
    size_t trie_nodes           # visited to make token masks and unions

cdef class Compiled

cdef class Generation:
    cdef Arena arena
    cdef Masks masks
    cdef Suspects suspects      # None: no words must differ
    cdef bint is_spent(self, size_t rows, size_t most_bytes) noexcept nogil
    # under the arena's guard
    cdef SizesC sizes(self) noexcept nogil
    cdef size_t bytes_held(self) noexcept nogil

    @staticmethod
    cdef Generation of(Compiled compiled)

cdef class Compiled:
    cdef object __weakref__
    cdef readonly Vocabulary vocabulary
    cdef readonly object grammar
    cdef readonly object limits
    cdef readonly object features
    # set by the compiler: under what it keeps this; and of a structural tag the tag as text or
    # marshalled, and what makes another one of that and more tags (None: it is something else)
    cdef public bytes key
    cdef public object tag_text
    cdef public object extend
    cdef size_t held                      # when it was last measured
    cdef LoweredGrammar ir
    cdef AutomatonCache automata_table
    cdef TokenMaskCache table
    cdef Generation generation
    cdef Generation current(self)
    cdef int raise_limit(self, uint32_t error, uint32_t got) except -1
