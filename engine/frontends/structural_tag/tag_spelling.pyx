"""Spelling: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector

from ...errors import LimitExceeded

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)
    uint32_t PyUnicode_READ(int kind, const void* data, Py_ssize_t at)

# ways to write one trigger, exclude or end of free text; nobody puts four special tokens in one
SPELLINGS = 8

cdef uint32_t NO_TOKEN = 0xFFFFFFFF


cdef class Piece:
    """A part of a text: ordinary text, or that of a special token."""


cdef Piece new_piece(str text, token):
    cdef Piece made = Piece.__new__(Piece)
    made.text, made.token = text, token
    return made


cdef class Spelling:
    """How texts are written with one vocabulary's special tokens. Made once per vocabulary.

    Args:
        special_tokens: the text of every special token, and its id.
    """

    def __init__(self, special_tokens):
        self.firsts[0] = self.firsts[1] = 0
        self.nodes.resize(1)
        self.nodes[0].child, self.nodes[0].token = 0, NO_TOKEN
        for text, token in special_tokens.items():
            if text:
                self.add(text, token)

    cdef int add(self, str text, uint32_t token) except -1:
        cdef LetterC made
        cdef uint32_t at = 0, found, first = <uint32_t>ord(text[0])
        cdef Py_UCS4 letter
        if first < 128:
            self.firsts[first >> 6] |= <uint64_t>1 << (first & 63)
        for letter in text:
            found = self.child(at, letter)
            if found == 0:
                made.letter, made.child, made.token = letter, 0, NO_TOKEN
                made.sibling = self.nodes[at].child
                found = <uint32_t>self.nodes.size()
                self.nodes.push_back(made)
                self.nodes[at].child = found
            at = found
        self.nodes[at].token = token
        return 0

    cdef uint32_t child(self, uint32_t node, uint32_t letter) noexcept:
        cdef uint32_t at = self.nodes[node].child
        while at and self.nodes[at].letter != letter:
            at = self.nodes[at].sibling
        return at

    cdef Py_ssize_t find(self, str text, Py_ssize_t* start, uint32_t* token) noexcept:
        """Looks from ``start`` on for the first text of a special token, of several the longest.

        Returns the place behind it, with ``start`` at its beginning; 0 if there is none.
        """
        cdef int kind = PyUnicode_KIND(text)
        cdef const void* data = PyUnicode_DATA(text)
        cdef Py_ssize_t n = len(text), k, end = 0
        cdef uint32_t at, letter
        while start[0] < n:
            letter = PyUnicode_READ(kind, data, start[0])
            if letter >= 128 or self.firsts[letter >> 6] >> (letter & 63) & 1:
                k, at = start[0], self.child(0, letter)
                while at:
                    k += 1
                    if self.nodes[at].token != NO_TOKEN:
                        end, token[0] = k, self.nodes[at].token
                    at = self.child(at, PyUnicode_READ(kind, data, k)) if k < n else 0
                if end:
                    return end
            start[0] += 1
        return 0

    cdef bint is_plain(self, str text) noexcept:
        """Whether no special token's text is in it."""
        cdef Py_ssize_t start = 0
        cdef uint32_t token = 0
        return self.find(text, &start, &token) == 0

    cdef list pieces(self, str text):
        cdef Py_ssize_t start = 0, before = 0, end
        cdef uint32_t token = 0
        cdef list made = []
        while True:
            end = self.find(text, &start, &token)
            if start > before:
                made.append(new_piece(text[before:start], None))
            if end == 0:
                return made
            made.append(new_piece(text[start:end], token))
            before = start = end

    def node(self, Grammar grammar, mark):
        """A literal text in all its spellings, or a token."""
        return self.add_mark(grammar, mark)

    cdef uint32_t add_mark(self, Grammar grammar, mark) except? 0xFFFFFFFF:
        if isinstance(mark, int):
            return grammar.tokens([mark])
        if self.is_plain(mark):
            return add_literal(grammar, mark, 0)
        return add_pieces(grammar, self.pieces(mark))

    def patterns(self, mark, str pointer):
        """All ways to write a mark that is not empty."""
        if isinstance(mark, int):
            return [(256 + mark,)]
        return as_patterns(product(self.pieces(mark), pointer))

    cdef list beginnings(self, str begin, Py_ssize_t size, str pointer):
        """All ways to write the first ``size`` characters, a trigger, with the pieces after them.

        Where a special token's text straddles the end of the trigger, the token completes it too.
        """
        cdef list head = [], rest = self.pieces(begin), made, tail
        cdef Piece cut
        while rest and size >= len((<Piece>rest[0]).text):
            head.append(rest.pop(0))
            size -= len((<Piece>head[-1]).text)
        if not size:
            return [(pattern, rest) for pattern in as_patterns(product(head, pointer))]
        cut = rest.pop(0)
        spelled = [*head, new_piece(cut.text[:size], None)]
        tail = [new_piece(cut.text[size:], None), *rest]
        made = [(pattern, tail) for pattern in as_patterns(product(spelled, pointer))]
        if cut.token is not None:
            made += [((*letters, 256 + cut.token), rest) for letters in product(head, pointer)]
        return made


cdef uint32_t add_literal(Grammar grammar, str text, Py_ssize_t start) except? 0xFFFFFFFF:
    """The bytes of a text, from a character on."""
    cdef Py_ssize_t size
    cdef const char* data
    if start and not text.isascii():
        text, start = text[start:], 0
    data = PyUnicode_AsUTF8AndSize(text, &size)
    return grammar.add_bytes(<const unsigned char*>data + start, size - start)


cdef uint32_t add_pieces(Grammar grammar, list pieces) except? 0xFFFFFFFF:
    cdef vector[uint32_t] parts
    cdef uint32_t ways[2]
    cdef Piece piece
    for piece in pieces:
        ways[0] = add_literal(grammar, piece.text, 0)
        if piece.token is not None:
            ways[1] = grammar.tokens([piece.token])
            ways[0] = grammar.add_alt(ways, 2)
        parts.push_back(ways[0])
    return grammar.add_seq(parts.data(), parts.size())


cdef list product(list pieces, str pointer):
    """Every way to write the pieces one after the other, as tuples of letters."""
    cdef Piece piece
    cdef list made = [()], ways
    count = 2 ** len([piece for piece in pieces if (<Piece>piece).token is not None])
    if count > SPELLINGS:
        raise LimitExceeded("tag_spellings", SPELLINGS, count, pointer)
    for piece in pieces:
        ways = [tuple(piece.text.encode())]
        if piece.token is not None:
            ways.append((256 + piece.token,))
        made = [(*head, *tail) for head in made for tail in ways]
    return made


cdef list as_patterns(list ways):
    """Patterns out of tuples of letters: bytes where none is a token."""
    return [bytes(way) if not way or max(way) < 256 else way for way in ways]


cdef list sizes_of(tuple marks):
    if len(marks) == 1:
        return [len(marks[0])] if isinstance(marks[0], str) else []
    return sorted({len(mark) for mark in marks if isinstance(mark, str)})
