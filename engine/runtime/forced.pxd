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

from libc.stdint cimport uint8_t, uint32_t

from ..earley.rows cimport Arena
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport Vocabulary

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
