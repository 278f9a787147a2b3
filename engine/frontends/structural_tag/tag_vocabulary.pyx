"""Spellings of texts with special tokens, and the cache of a vocabulary."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t

from ...grammar.ir cimport Grammar, push_pattern
from ...native.hashing cimport MISSING, U64MapC, map_get, map_put
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget, spend, spent
from ...vocabulary.vocabulary cimport TokenSet

from array import array
from bisect import bisect_left
from itertools import chain
from operator import itemgetter

from ...errors import LimitExceeded

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL
    int PyUnicode_KIND(object text)
    const void* PyUnicode_DATA(object text)
    uint32_t PyUnicode_READ(int kind, const void* data, Py_ssize_t at)

#: patterns of one trigger, exclude or end of free text: real ones contain at most three special tokens
SPELLINGS = 8

cdef uint32_t NO_TOKEN = 0xFFFFFFFF

# letters that are spelled or searched in about a microsecond
cdef uint32_t LETTERS_PER_STEP = 16


cdef class Piece:
    """A part of a text: ordinary text, or the text of a special token."""


cdef Piece new_piece(str text, token):
    cdef Piece made = Piece.__new__(Piece)
    made.text, made.token = text, token
    return made


cdef class Spelling:
    """The special tokens of one vocabulary as a trie.

    Args:
        special_tokens: ids by text, of all special tokens.
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
        """Find the first special token from ``start`` on, the longest if there are several.

        Return the position after it and set ``start`` to its beginning; 0: there is none.
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
        """Whether the text contains no special token."""
        cdef Py_ssize_t start = 0
        cdef uint32_t token = 0
        return self.find(text, &start, &token) == 0

    cdef list pieces(self, str text, WorkBudget budget=None):
        cdef Py_ssize_t start = 0, before = 0, end
        cdef uint32_t token = 0
        cdef list pieces = []
        while True:
            if budget is not None:
                spend(budget, 1)
            end = self.find(text, &start, &token)
            if start > before:
                pieces.append(new_piece(text[before:start], None))
            if end == 0:
                return pieces
            pieces.append(new_piece(text[start:end], token))
            before = start = end

    cpdef uint32_t add_mark(self, Grammar grammar, mark) except? 0xFFFFFFFF:
        if isinstance(mark, int):
            return grammar.tokens([mark])
        if self.is_plain(mark):
            return add_literal(grammar, mark, 0)
        return add_pieces(grammar, self.pieces(mark, grammar.budget))

    def patterns(self, mark, str pointer):
        """Return all patterns of a mark that is not empty."""
        if isinstance(mark, int):
            return [(256 + mark,)]
        if self.is_plain(mark):
            return [mark.encode()]
        return as_patterns(product(self.pieces(mark), pointer))

    cdef bint is_pattern(self, mark, stops) except -1:
        """Return whether a mark has few patterns, without stop tokens, and is not empty."""
        cdef list tokens
        if isinstance(mark, int):
            return mark not in stops
        if self.is_plain(mark):
            return len(mark) > 0
        tokens = [(<Piece>piece).token for piece in self.pieces(mark)]
        tokens = [token for token in tokens if token is not None]
        return 2 ** len(tokens) <= SPELLINGS and stops.isdisjoint(tokens)

    cdef list beginnings(self, str begin, Py_ssize_t size, str pointer):
        """Return the patterns of the first ``size`` characters, a trigger, each with the pieces after them.

        A special token whose text straddles the end of the trigger completes it, too.
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
        spend(grammar.budget, 1)
        ways[0] = add_literal(grammar, piece.text, 0)
        if piece.token is not None:
            ways[1] = grammar.tokens([piece.token])
            ways[0] = grammar.add_alt(ways, 2)
        parts.push_back(ways[0])
    return grammar.add_seq(parts.data(), parts.size())


cdef list product(list pieces, str pointer):
    """Return every way to write the pieces in sequence, as tuples of letters."""
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
    """Convert tuples of letters to patterns: bytes if no letter is a token."""
    return [bytes(way) if not way or max(way) < 256 else way for way in ways]


# -- vocabulary -------------------------------------------------------------------------------------

# marks up to which special tokens are searched for each of them
cdef uint32_t FEW_TEXTS = 32

#: cached results; a gateway needs one for each kind of free text in its formats
KEPT = 64
#: marks and characters of a cached result; o200k has 1,100 special tokens of 20,000 characters
KEPT_MARKS = 4_096
KEPT_CHARACTERS = 65_536


cdef class TextPatterns:
    """The content that free text with given marks may have."""

    def __eq__(self, other):
        return isinstance(other, TextPatterns) and self._content() == (<TextPatterns>other)._content()

    __hash__ = None

    def _content(self):
        return self.specials, self.excluded, self.ends, self.excluded_only, self.ends_overlap


cdef class TagVocabulary:
    """The special tokens of one vocabulary.

    Args:
        special_tokens: ids by text, of all special tokens including stop tokens.
        stop_token_ids: tokens that match only a token edge of their own.
        tokens: the bytes of every token by id, for formats that refer to all tokens.
    """

    def __init__(self, special_tokens, stop_token_ids, tokens=()):
        self.special_tokens = special_tokens
        self.special_ids = frozenset(special_tokens.values())
        self.stops = frozenset(stop_token_ids)
        self.spelling = Spelling(special_tokens)
        free = [(t, i) for t, i in special_tokens.items() if i not in self.stops]
        self.free = sorted(free, key=itemgetter(1))
        self.tokens = tokens
        self.with_text = array("I", [number for number, text in enumerate(tokens) if text])
        self.kept = {}

    @classmethod
    def of(cls, vocabulary):
        return cls(vocabulary.special_texts(), vocabulary.stop_token_ids, vocabulary.tokens)

    @property
    def size(self):
        return len(self.tokens)

    def other_tokens(self, grammar, excludes):
        """Add one token with a text that is neither a stop token nor excluded."""
        return self.tokens_outside(grammar, [(number, number) for number in excludes])

    def tokens_outside(self, grammar, ranges):
        """Add one token with a text that is no stop token and in none of these ranges of ids."""
        banned = sorted([*ranges, *[(number, number) for number in self.stops]])
        first = 0
        for low, high in [*banned, (self.size, self.size)]:
            grammar.budget.spend(1)
            # whether a token with a text lies between the last range and this one
            if bisect_left(self.with_text, first) < bisect_left(self.with_text, low):
                return grammar.tokens_except(banned)
            first = max(first, high + 1)
        return grammar.fail()

    cpdef TextPatterns patterns_of(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer,
        WorkBudget budget
    ):
        """Return the patterns of free text with these marks.

        Args:
            arm_tokens: tokens that are letters of the patterns of arms.
            pointer, end_pointer: of the text and of the enclosing tag.
            budget: pays as much for a cached result as for a new one.

        Raises:
            LimitExceeded: ``tag_spellings``, with the pointer of the mark.
        """
        cdef tuple key = (excludes, ends, triggers, arm_tokens)
        cdef TextPatterns patterns = self.kept.get(key)
        cdef int64_t begun
        if patterns is not None:
            spend(budget, patterns.steps)
            return patterns
        begun = spent(budget)
        patterns = self._compute(*key, f"{pointer}/excludes", f"{end_pointer}/end", budget)
        patterns.steps = spent(budget) - begun
        marks = excludes + ends + triggers
        size = sum([len(mark) for mark in marks if isinstance(mark, str)])
        if len(marks) <= KEPT_MARKS and size <= KEPT_CHARACTERS:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.kept[key] = patterns
        return patterns

    def _compute(self, excludes, ends, triggers, arm_tokens, pointer, end_pointer, WorkBudget budget):
        cdef TextPatterns made = TextPatterns.__new__(TextPatterns)
        specials = self._allowed((*excludes, *triggers, *ends), budget)
        known = {256 + token for token in chain(specials, arm_tokens)}
        made.specials = TokenSet(specials)
        made.ends = self._patterns([mark for mark in ends if mark != ""], end_pointer, budget)
        patterns = self._patterns(excludes, pointer, budget)
        own = set(made.ends)
        excluded_only = [pattern for pattern in patterns if pattern not in own]
        made.excluded = possible((*patterns, *made.ends), known, budget)
        made.excluded_only = possible(excluded_only, known, budget)
        made.ends_overlap = overlap(made.ends, excluded_only, budget)
        for pattern in made.excluded:
            push_pattern(&made.excluded_operands, pattern)
        for pattern in made.excluded_only:
            push_pattern(&made.excluded_only_operands, pattern)
        return made

    def _allowed(self, blocked, WorkBudget budget):
        """Return the special tokens that free text with these marks may contain."""
        cdef Blocked texts = Blocked([mark for mark in blocked if isinstance(mark, str) and mark], budget)
        banned = {mark for mark in blocked if isinstance(mark, int)}
        return [
            token for text, token in self.free if token not in banned and not texts.contains_any(text, budget)
        ]

    def _patterns(self, marks, pointer, WorkBudget budget):
        patterns = {}
        for mark in marks:
            spend(budget, steps_of(mark))
            patterns.update(dict.fromkeys(self.spelling.patterns(mark, pointer)))
        return tuple(patterns)


cdef class Blocked:
    """Texts, and whether another one contains any of them.

    Beyond a few, they are looked up by length at each place of the other text.
    """
    cdef list texts
    cdef object known, sizes              # None: there are few

    def __cinit__(self, list texts, WorkBudget budget):
        cdef str text
        spend(budget, len(texts) // LETTERS_PER_STEP)
        self.texts, self.known = texts, None
        if len(texts) > FEW_TEXTS:
            self.known = frozenset(texts)
            self.sizes = sorted({len(text) for text in texts})

    cdef bint contains_any(self, str text, WorkBudget budget) except -1:
        cdef Py_ssize_t n = len(text), size, start
        cdef str part
        if self.known is None:
            spend(budget, len(self.texts) // FEW_TEXTS)
            for part in self.texts:
                if part in text:
                    return True
            return False
        for size in self.sizes:
            if size > n:
                break
            spend(budget, 1 + (n - size) // LETTERS_PER_STEP)
            for start in range(n - size + 1):
                if text[start:start + size] in self.known:
                    return True
        return False


cdef int64_t steps_of(mark) except -1:
    return 1 + len(mark) // LETTERS_PER_STEP if isinstance(mark, str) else 1


cdef tuple possible(patterns, known, WorkBudget budget):
    """Drop patterns with a token that is not among the known letters: they can never complete."""
    cdef dict completing = {}
    for pattern in patterns:
        spend(budget, 1 if type(pattern) is bytes else 1 + len(pattern) // LETTERS_PER_STEP)
        if type(pattern) is bytes or all([letter < 256 or letter in known for letter in pattern]):
            completing[pattern] = None
    return tuple(completing)


# -- overlap ----------------------------------------------------------------------------------------

cdef struct PrefixC:
    # a node of a trie: a prefix of patterns
    uint32_t parent, letter, depth
    uint32_t fail                         # the longest proper suffix that is a prefix, too
    uint32_t below                        # patterns that are longer than this prefix
    uint8_t completes                     # a pattern is a suffix of this prefix


cdef class PatternTrie:
    """Distinct patterns as an automaton that finds all of them in a text (Aho-Corasick; tag_dispatch has another
    one, whose states are those of a rule).
    """
    cdef vector[PrefixC] nodes
    cdef U64MapC children                 # node and letter -> node

    def __cinit__(self, patterns, WorkBudget budget):
        cdef PrefixC root
        root.parent = root.letter = root.depth = root.fail = root.below = root.completes = 0
        self.children.used = 0
        self.nodes.push_back(root)
        for pattern in patterns:
            spend(budget, 1 + len(pattern) // LETTERS_PER_STEP)
            self.add(pattern)
        self.link(budget)

    cdef int add(self, pattern) except -1:
        cdef PrefixC made
        cdef uint32_t at = 0, found, letter
        made.fail = made.below = made.completes = 0
        for letter in pattern:
            self.nodes[at].below += 1
            found = self.child(at, letter)
            if found == 0:
                made.parent, made.letter, made.depth = at, letter, self.nodes[at].depth + 1
                found = <uint32_t>self.nodes.size()
                self.nodes.push_back(made)
                map_put(&self.children, <uint64_t>at << 32 | (letter + 1), found)
            at = found
        self.nodes[at].completes = True
        return 0

    cdef uint32_t child(self, uint32_t node, uint32_t letter) noexcept nogil:
        """Return the child of a node; 0: there is none."""
        cdef uint32_t found = map_get(&self.children, <uint64_t>node << 32 | (letter + 1))
        return 0 if found == MISSING else found

    cdef int link(self, WorkBudget budget) except -1:
        """Set the failure links, by depth."""
        cdef vector[uint32_t] order = self.by_depth()
        cdef uint32_t k, q, at
        for k in range(<uint32_t>order.size()):
            q = order[k]
            if k % LETTERS_PER_STEP == 0:
                spend(budget, 1)
            if self.nodes[q].depth < 2:
                continue
            at = self.move(self.nodes[self.nodes[q].parent].fail, self.nodes[q].letter)
            self.nodes[q].fail = at
            self.nodes[q].completes |= self.nodes[at].completes
        return 0

    cdef vector[uint32_t] by_depth(self) noexcept nogil:
        """Return the nodes below the root, ascending by depth."""
        cdef vector[uint32_t] first, order
        cdef uint32_t k, depth = 0
        for k in range(<uint32_t>self.nodes.size()):
            depth = max(depth, self.nodes[k].depth)
        first.assign(depth + 1, 0)
        for k in range(1, <uint32_t>self.nodes.size()):
            first[self.nodes[k].depth] += 1
        order.resize(self.nodes.size() - 1)
        for k in range(1, depth + 1):
            first[k] += first[k - 1]
        for k in range(<uint32_t>self.nodes.size() - 1, 0, -1):
            first[self.nodes[k].depth] -= 1
            order[first[self.nodes[k].depth]] = k
        return order

    cdef uint32_t move(self, uint32_t q, uint32_t letter) noexcept nogil:
        """Return the longest suffix of a prefix and a letter that is a prefix."""
        cdef uint32_t found = self.child(q, letter)
        while found == 0 and q:
            q = self.nodes[q].fail
            found = self.child(q, letter)
        return found

    cdef uint32_t walk(self, pattern, Py_ssize_t size, bint* completes) except? 0xFFFFFFFF:
        """Return the node after a pattern; set ``completes`` if a pattern of the trie is complete within its first
        ``size`` letters.
        """
        cdef uint32_t q = 0, letter
        cdef Py_ssize_t taken = 0
        for letter in pattern:
            q = self.move(q, letter)
            taken += 1
            if taken <= size and self.nodes[q].completes:
                completes[0] = True
        return q


cdef bint overlap(ends, others, WorkBudget budget) except -1:
    # Then an arm for every end would change the language. Ends that complete together are one end
    cdef PatternTrie trie
    cdef bint completes = False
    if not ends or (not others and len(ends) == 1):
        return False
    trie = PatternTrie(ends, budget)
    for other in others:
        spend(budget, 1 + len(other) // LETTERS_PER_STEP)
        # its last letters begin an end
        if trie.walk(other, 0, &completes):
            return True
    for end in ends:
        spend(budget, 1 + len(end) // LETTERS_PER_STEP)
        trie.walk(end, len(end) - 1, &completes)
        if completes or begins_other(trie, end):
            return True
    if others:
        trie = PatternTrie(others, budget)
        for end in ends:
            spend(budget, 1 + len(end) // LETTERS_PER_STEP)
            trie.walk(end, len(end), &completes)
            if completes:
                return True
    return False


cdef bint begins_other(PatternTrie trie, end) except -1:
    """Return whether the last letters of an end of the trie begin another, longer one."""
    cdef vector[uint32_t] path
    cdef uint32_t q = 0, letter
    path.push_back(0)
    for letter in end:
        q = trie.child(q, letter)
        path.push_back(q)
    while q:
        # the end itself is below its own prefixes
        if trie.nodes[q].below > (path[trie.nodes[q].depth] == q and trie.nodes[q].depth < <uint32_t>len(end)):
            return True
        q = trie.nodes[q].fail
    return False
