"""Text that must come next, and the tokens that a tokenizer writes for it.

The tokenizer splits the forced text as a whole, but a token at its end may be none of those that it
writes once more text follows: a longer token may stand there. So that a model sees the tokens that
it would have written itself, a token is given only if no text that the grammar allows makes the
tokenizer split otherwise:

1. A token of the vocabulary that begins within the forced text and goes on behind it, as the
   grammar allows, is a *crossing*.
2. The forced text is split once with what each crossing adds. Tokens are given as far as all splits
   agree. Most crossings are none that the tokenizer ever writes (`"Hello` behind `:`), which is why
   it is asked.
3. Of crossings that begin in one place, one is tried for each class of the character behind the
   forced text: tokenizers cut text into words by such classes. Of signs each is a class.
4. SentencePiece tokenizers put a blank before each text. They split the forced text behind a
   newline, where they add none.

Invariants       I1 the tokens spell a beginning of the forced text, and the grammar takes them.
                 I2 what was written before is not split again: its last token stands already, and
                    the model wrote it knowing as much as we do.
Cost             no forced text: one look at a row. Else a walk of the text, which is cut where
                 the tokens asked for can't reach, and one call of the tokenizer for it and for
                 each crossing that is tried (two calls if rule 4 applies).
Threads          crossings are found under the arena's mutex; the tokenizer is called with the GIL
                 alone.
Not here         which of the tokens the grammar takes (matcher).
"""

from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.memory cimport shared_ptr
from libcpp.vector cimport vector as plain_vector

from ..automata.rule_automata cimport AutomatonCache
from ..earley.rows cimport Arena
from ..grammar.lowered cimport LoweredGrammar
from ..masks.row_masks cimport Masks
from ..masks.token_mask cimport TokenMaskCache
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary
from .unique_items cimport Place, Suspects

cdef enum:
    # bytes of forced text that are looked at; only a const of that length has more
    MOST_FORCED_BYTES = 65536

cdef struct CrossingsC:
    vector[uint32_t] starts       # where in the forced text each begins, ascending
    vector[uint32_t] ends         # of what it adds, in `added`
    vector[uint8_t] added

cdef void follow_only(
    Arena arena, uint32_t instance, size_t most, vector[uint8_t]* out
) noexcept nogil
cdef list forced_split(Arena arena, Vocabulary vocabulary, uint32_t instance, bytes data, most)


# -- compiled --------------------------------------------------------------------------------------
# A compiled grammar: flat IR, and the generation of automata, rows and masks that matchers share.
#
# Representation   `generation` is the current one; a matcher holds the one it began with.
# Invariants       I1 a generation never changes its answers; a new one gives the same.
#                  I2 when a generation's rows pass half of `Limits.rows`, or its bytes
#                     `Limits.generation_bytes`, or it met a limit, or the table was found to hold what is
#                     not true, the next matcher begins a fresh one.
# Threads          swapping the generation happens under the GIL; a generation is used under its
#                  arena's mutex, under which no Python runs.
# Not here         front ends and caches of whole grammars (compiler).

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
    # set by the compiler for a structural tag: the tag as text or marshalled, and the function that compiles
    # it with more tags (None: this is no structural tag)
    cdef public object tag_text
    cdef public object extend
    cdef size_t held                      # when it was last measured
    cdef LoweredGrammar ir
    cdef AutomatonCache automata_table
    cdef TokenMaskCache table
    cdef Generation generation
    cdef Generation current(self)
    cdef int raise_limit(self, uint32_t error, uint32_t got) except -1


# -- matcher ---------------------------------------------------------------------------------------
# A matcher: one text's place in a grammar, with its whole history as a persistent stack.
#
# Representation   entries are packed (instance, flags), one for each successful accept, in
#                  segments: a fork shares all segments so far and begins one of its own when it
#                  next accepts. `depth` counts entries.
#                  Where words must differ (distinct), each entry has a Place beside it, null where no
#                  such array is open.
# Invariants       I1 entries below a fork point never change.
#                  I2 a failed call changes nothing.
# Cost             accept, fork: O(1) beside the rows' work; rollback: O(1) within a segment, else
#                  O(segments left).
# Threads          rows and masks are used under the arena's mutex. The GIL is never held while
#                  waiting for it, nor waited for while holding it: who gets the mutex at once may
#                  keep the GIL for what is short, everyone else works without it.
#                  One matcher is for one thread at a time.
# Not here         rows (rows), masks (row_masks), events (parser), many matchers at once (batch).

cdef enum:
    TERMINATED = 1

cdef class Segment:
    cdef Segment parent
    cdef uint32_t base            # entries below this segment
    cdef vector[uint64_t] entries
    cdef plain_vector[shared_ptr[Place]] places

cdef class MatcherCounters:
    cdef readonly uint64_t accepts, accept_ns

cdef class Matcher:
    cdef readonly Compiled compiled
    cdef MatcherCounters tally              # None: nobody counts
    cdef Generation generation
    cdef Vocabulary vocabulary
    cdef Segment segment
    cdef uint32_t depth
    cdef uint64_t top             # the last entry: it is looked at far more often than the others
    cdef bint tracks              # whether words must differ
    cdef Place at                 # while a call tries: where its text has led
    cdef uint32_t instance(self) noexcept nogil
    cdef void enter_place(self) noexcept nogil
    cdef void rule_out(self, uint32_t instance, uint32_t* out) noexcept nogil
    cdef bint terminated(self) noexcept nogil
    cdef int push(self, uint32_t instance, uint32_t flags) except -1
    cdef void lock(self) noexcept nogil
    cdef bytes forced(self, size_t most)
    cdef list allowed(self, list ids)
    cdef void unlock(self) noexcept nogil
    cdef int check(self, uint32_t error) except -1
    cdef bint needs_look(self) noexcept nogil
    cdef uint32_t take_bytes(
        self, uint32_t instance, const uint8_t* data, size_t n, uint32_t* error
    ) noexcept nogil
    cdef uint32_t take_token(
        self, uint32_t instance, uint32_t token, uint32_t* flags, uint32_t* error
    ) noexcept nogil
    cdef uint32_t fill(self, uint32_t instance, bint terminated, uint32_t* out) noexcept nogil
    cdef uint32_t after_bytes(self, uint32_t instance, const uint8_t* data, size_t n) noexcept nogil
    cdef bint accept(self, Py_ssize_t token) except -1
    cdef uint32_t follow_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil
    cdef uint32_t after_token(self, uint32_t instance, uint32_t token, uint32_t* flags) noexcept nogil


# -- batch -----------------------------------------------------------------------------------------
# Masks of many matchers at once.
#
# Representation   a *job* is one matcher's mask. Jobs of one generation are a *group*: they would wait
#                  for each other on its mutex, so one thread does them. Within a group, jobs of one
#                  place (saturated instance, terminated or not) stand together: the first is
#                  filled, the others are copies of it.
# Cost             a look-up for each job beside its mask. Masks that are there are copied by the caller,
#                  a group under one lock. For masks to be made, HEAVY of them in two groups or more,
#                  helpers take part (groups.h), for half of the processors: below it, starting them
#                  costs what they save.
# Threads          what a matcher knows is read under the GIL. Masks that are there are copied under it,
#                  where the mutex is free and they are not many; it is released before anything is
#                  waited for or made. All but matchers under the mutex of the job's arena.
# Not here         what a mask is (row_masks).

cdef struct JobC:
    void* generation          # borrowed; its matcher holds it
    uint32_t* out
    uint32_t number           # of the matcher in the batch
    uint32_t instance         # saturated once the group was looked at
    bint terminated
    bint filled
    bint looks                # what the text rules out must be taken off
    uint32_t words            # of the vocabulary
    uint32_t error

cdef struct GroupC:
    size_t begin, end         # of its jobs
    size_t missing            # masks to be made
    bint is_busy              # somebody else had the mutex: nobody has looked yet

cdef struct PlanC:
    plain_vector[JobC] jobs
    plain_vector[GroupC] groups       # those with masks to be made
    size_t missing            # of all groups
    size_t width              # words of a row of the bitmask
