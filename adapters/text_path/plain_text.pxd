"""The text path of one attempt; see the room's header for its contract.

Representation   While the path is entered, the numbers of the server's stream are here, and not in
                 its reader: ``seen`` ids, ``left`` until the limit, the counts of the last event.
Threads          one thread at a time.
"""

from libc.stdint cimport uint32_t, uint64_t

from engine.native.pool cimport vector
from engine.runtime.parser cimport Parser
from engine.vocabulary.vocabulary cimport Vocabulary

from .chunked_text cimport ChunkedBody, TextEvent
from .sglang_events cimport CursorC, EventC

cdef class TokenStarts:
    cdef vector[uint64_t] starts
    cdef readonly uint64_t size

    cdef void add(self, Vocabulary vocabulary, vector[uint32_t]& tokens)
    cdef Py_ssize_t place(self, uint64_t byte)

cdef class TokenCounts:
    cdef readonly uint64_t completion, prompt, cached
    cdef double first, last

    cdef double add(self, uint64_t new, uint64_t prompt, uint64_t cached)

cdef class TextPath:
    cdef Parser parser
    cdef Vocabulary vocabulary
    cdef TokenStarts starts
    cdef TokenCounts counts
    # of the stream
    cdef readonly bint is_entered
    cdef uint32_t seen, prompt_tokens, cached_tokens
    # limits have no bound of their own
    cdef uint64_t left
    cdef uint32_t least_prompt
    cdef vector[uint32_t] stops
    # of the general path, where it stands
    cdef readonly bint is_open
    cdef bint holds_newlines
    # of text; None: the path is closed, or only tokens that show nothing pass
    cdef object encode, write
    # of prepared events, which are written without a call of Python
    cdef TextEvent event
    cdef ChunkedBody body
    cdef uint64_t passed
    # of the attempt
    cdef object context
    cdef readonly double last_at
    # scratch
    cdef vector[uint32_t] tokens

    cdef int pass_on(self, str text) except -1
    cdef bint take_event(self, CursorC* cursor, EventC* event)
    cdef str text_of_tokens(self)
