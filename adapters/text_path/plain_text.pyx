"""A path for chunks that only add text, and the places and the counts of an answer's tokens."""

from time import perf_counter

from cpython.contextvars cimport PyContext_Enter, PyContext_Exit
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libcpp.string cimport string

from engine.native.pool cimport vector
from engine.runtime.parser cimport Parser
from engine.vocabulary.vocabulary cimport Vocabulary

from .chunked_text cimport ChunkedBody, TextEvent
from .sglang_events cimport CursorC, EventC, StreamC, read_new


cdef class TokenStarts:
    """Where each token of an answer begins. ``size``: bytes of all of them."""

    def take(self, token_ids, tokens):
        """Append tokens; ``tokens``: the bytes of each id."""
        for token in token_ids:
            self.starts.push_back(self.size)
            self.size += len(<bytes?>tokens[token])

    cdef void add(self, Vocabulary vocabulary, vector[uint32_t]& tokens):
        cdef size_t k
        for k in range(tokens.size()):
            self.starts.push_back(self.size)
            self.size += vocabulary.offsets[tokens[k] + 1] - vocabulary.offsets[tokens[k]]

    def between(self, begin, end):
        """Return how many tokens begin at the byte ``begin`` or behind it, before ``end``; None: there is no end."""
        cdef uint64_t low = begin, high = self.size if end is None else end
        return max(0, self.place(high) - self.place(low))

    cdef Py_ssize_t place(self, uint64_t byte):
        """Return how many tokens begin before a byte."""
        cdef size_t low = 0, high = self.starts.size(), middle
        while low < high:
            middle = (low + high) // 2
            if self.starts[middle] < byte:
                low = middle + 1
            else:
                high = middle
        return low


cdef class TokenCounts:
    """The tokens of a request, of all its answers, and when the first and the last ones came."""

    def __cinit__(self):
        self.first = self.last = -INFINITY

    @property
    def first_at(self):
        """Return a time of ``perf_counter``; None: there was no token."""
        return self.first if self.first > -INFINITY else None

    @property
    def last_at(self):
        """Return a time of ``perf_counter``; None: there was no token."""
        return self.last if self.last > -INFINITY else None

    def take(self, uint64_t new, uint64_t prompt, uint64_t cached):
        """Count new tokens; the prompt, and its part that was cached, count once."""
        self.add(new, prompt, cached)

    cdef double add(self, uint64_t new, uint64_t prompt, uint64_t cached):
        """See ``take``. Return the time."""
        self.last = perf_counter()
        if self.first == -INFINITY:
            self.first = self.last
        self.prompt = max(self.prompt, prompt)
        self.cached = max(self.cached, cached)
        self.completion += new
        return self.last


cdef class TextPath:
    """Takes plain text of one attempt, and what shows nothing, past the general path, while that holds the path open.

    Args:
        parser: of the attempt.
        starts: of its tokens.
        counts: of its request.

    ``last_at``: when the last tokens passed, in the time of ``perf_counter``.
    """

    def __init__(self, Parser parser not None, TokenStarts starts not None, TokenCounts counts not None):
        self.parser, self.vocabulary, self.starts = parser, parser.vocabulary, starts
        self.counts = counts
        self.last_at = -INFINITY

    # -- the general path --------------------------------------------------------------------------
    def open(self, encode, write, *, bint holds_newlines=False):
        """Open the path. ``encode`` makes the event of a text, ``write`` takes it.

        ``holds_newlines``: the general path would hold back a line feed at the end of a text.
        """
        self.encode, self.write, self.holds_newlines = encode, write, holds_newlines
        if isinstance(encode, TextEvent) and isinstance(write, ChunkedBody):
            self.event, self.body = encode, write
        self.passed = 0
        self.is_open = True

    def open_for_marks(self):
        """Open the path for tokens that show nothing, if the parser holds text back or is in a mark."""
        self.passed = 0
        self.is_open = self.parser.text_node() is None

    def close(self):
        """Close the path, and return how many bytes of text passed since it was opened."""
        if not self.is_open:
            return 0
        self.is_open = False
        self.encode = self.write = self.event = self.body = None
        return self.passed

    # -- the stream --------------------------------------------------------------------------------
    def run_in(self, context not None):
        """Set the context in which text is written."""
        self.context = context

    def enter(self, uint32_t seen, uint64_t left, uint32_t least_prompt, stops):
        """Take over the numbers of the stream.

        Args:
            seen: ids so far.
            left: ids until the answer's limit.
            least_prompt: tokens that a prompt must have.
            stops: ids that end the answer.
        """
        self.seen, self.left, self.least_prompt = seen, left, least_prompt
        self.stops.clear()
        for token in stops:
            self.stops.push_back(token)
        self.is_entered = True

    def leave(self):
        """Give the numbers back: ids seen and left, and, if ids passed, tokens of the prompt and cached ones."""
        self.is_entered = False
        return self.seen, self.left, self.prompt_tokens, self.cached_tokens

    def push(self, bytes data not None):
        """Take events at the front of ``data`` that only add text, or show nothing; return how many bytes they have.

        A path takes none while it is closed, or nothing has entered it.
        """
        cdef const uint8_t* start = data
        cdef const uint8_t* end = start
        cdef CursorC cursor = CursorC(start, start + len(data))
        cdef EventC event
        cdef uint32_t seen = self.seen, prompt = 0, cached = 0
        cdef uint64_t left = self.left, size
        cdef str text
        if not (self.is_open and self.is_entered):
            return 0
        self.tokens.clear()
        while self.take_event(&cursor, &event):
            end, prompt, cached = cursor.at, event.prompt_tokens, event.cached_tokens
        text = self.text_of_tokens() if self.tokens.size() and self.encode is not None else None
        if not text or not self.parser.take_text(self.tokens.data(), self.tokens.size()):
            text = None
            if not self.parser.take_held(self.tokens.data(), self.tokens.size()):
                self.seen, self.left = seen, left
                return 0
        self.prompt_tokens, self.cached_tokens = prompt, cached
        size = self.starts.size
        self.starts.add(self.vocabulary, self.tokens)
        if text is not None:
            self.passed += self.starts.size - size
        if self.context is None:
            self.pass_on(text)
        else:
            PyContext_Enter(self.context)
            try:
                self.pass_on(text)
            finally:
                PyContext_Exit(self.context)
        return end - start

    cdef int pass_on(self, str text) except -1:
        """Count the tokens and write their text; None: they show nothing."""
        # a write may close the path
        cdef ChunkedBody body = self.body
        self.last_at = self.counts.add(self.tokens.size(), self.prompt_tokens, self.cached_tokens)
        if text is None:
            return 0
        if body is not None:
            body.write_chunk(self.event.of(text, True))
            return 0
        events = self.encode(text)
        if events:
            self.write(events)
        return 0

    cdef bint take_event(self, CursorC* cursor, EventC* event):
        """Append the new ids of an event; return False, with nothing changed, if they are not plain."""
        cdef StreamC stream = StreamC(self.seen, self.vocabulary.size, self.least_prompt)
        cdef size_t before = self.tokens.size(), k
        cdef bint is_plain = read_new(cursor, event, &self.tokens, &stream)
        is_plain = is_plain and self.tokens.size() - before < self.left
        if is_plain:
            for k in range(before, self.tokens.size()):
                for stop in self.stops:
                    is_plain = is_plain and self.tokens[k] != stop
        if not is_plain:
            self.tokens.resize(before)
            return False
        self.seen, self.left = event.completion_tokens, self.left - (self.tokens.size() - before)
        return True

    cdef str text_of_tokens(self):
        """Return the text of ``tokens``; None if it ends inside a character, or must be held back."""
        cdef uint32_t token = self.tokens[0]
        cdef string joined
        cdef bytes data
        cdef size_t k
        if self.tokens.size() == 1:
            data = self.vocabulary.tokens[token]
        else:
            for k in range(self.tokens.size()):
                token = self.tokens[k]
                joined.append(
                    <const char*>self.vocabulary.data.data() + self.vocabulary.offsets[token],
                    self.vocabulary.offsets[token + 1] - self.vocabulary.offsets[token],
                )
            data = joined
        if self.holds_newlines and data.endswith(b"\n"):
            return None
        try:
            return data.decode()
        except UnicodeDecodeError:
            return None
