"""The fields of one JSON object: see the header file."""

cimport cython
from libc.stdint cimport uint32_t, uint64_t

from ...grammar.ir cimport NO_MAXIMUM, ROLE_END, ROLE_TEXT, Grammar, push_pattern
from ...native.pool cimport vector
from ...vocabulary.vocabulary cimport TokenSet

from itertools import chain
from operator import itemgetter

from ...errors import LimitExceeded, SpecError, UnsupportedSchema


@cython.no_gc
@cython.freelist(8)
cdef class Fields:
    """``taken`` counts the fields of ``value`` that were asked for; none is asked for twice."""

    def __cinit__(self, value, str pointer):
        if not isinstance(value, dict):
            raise SpecError("must be an object", pointer)
        self.value = value
        self.pointer = pointer
        self.taken = 0

    # -- errors ------------------------------------------------------------------------------------
    cdef object fault(self, str name, str message):
        return SpecError(f"{name} {message}", f"{self.pointer}/{name}")

    cdef int finish(self, tuple known) except -1:
        """Refuses a field that is none of the known ones.

        Raises:
            UnsupportedSchema: naming it.
        """
        if len(self.value) != self.taken:
            name = next(name for name in self.value if name not in known)
            raise UnsupportedSchema(self.pointer, name)
        return 0

    # -- values ------------------------------------------------------------------------------------
    cdef object get(self, str name, default):
        if name not in self.value:
            return default
        self.taken += 1
        return self.value[name]

    cdef object item(self, str name):
        """A field that must be there."""
        if name not in self.value:
            raise SpecError(f"the field {name!r} is missing", self.pointer)
        self.taken += 1
        return self.value[name]

    cdef list items(self, str name):
        """The elements of a list that must be there and must not be empty."""
        value = self.item(name)
        if not isinstance(value, list) or not value:
            raise self.fault(name, "must be a list with at least one element")
        return value

    cdef list optional_items(self, str name):
        """The same for a list that may be absent or empty."""
        if name not in self.value or self.value[name] == []:
            return self.get(name, [])
        return self.items(name)

    cdef str text(self, str name):
        return as_text(self.item(name), self.pointer, name)

    cdef bint flag(self, str name, bint default) except -1:
        value = self.get(name, default)
        if value is not True and value is not False:
            raise self.fault(name, "must be true or false")
        return value

    cdef object count(self, str name, low, high):
        """An integer in these bounds."""
        value = self.item(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.fault(name, f"must be an integer from {low} to {high:,}")
        return value

    cdef object bound(self, str name, high):
        """A count that may be absent, or null: None."""
        if self.value.get(name) is None:
            self.get(name, None)
            return None
        return self.count(name, 0, high)


cdef str as_text(value, str pointer, step, bint filled=False):
    """A string that can be written in UTF-8; it stands at ``pointer``/``step``, or just there."""
    if not isinstance(value, str) or (filled and not value):
        raise SpecError("must be a string" + " that is not empty" * filled, place(pointer, step))
    if not (<str>value).isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SpecError("holds half of a surrogate pair", place(pointer, step)) from None
    return value


cdef str place(str pointer, step):
    return pointer if step is None else f"{pointer}/{step}"


cdef tuple as_texts(list items, str pointer):
    """Strings that are not empty."""
    return tuple([as_text(value, pointer, k, True) for k, value in enumerate(items)])


cdef object as_schema(value, str pointer):
    if not isinstance(value, (dict, bool)):
        raise SpecError("must be a JSON Schema, an object or a boolean", pointer)
    return value


# -- tag formats -----------------------------------------------------------------------------------

Mark = str | int


@cython.no_gc
cdef class Format:
    """What every format has."""


@cython.no_gc
cdef class ConstString(Format):
    pass


@cython.no_gc
cdef class JsonSchema(Format):
    pass


@cython.no_gc
cdef class Regex(Format):
    pass


@cython.no_gc
cdef class Ebnf(Format):
    pass


@cython.no_gc
cdef class AnyText(Format):
    pass


@cython.no_gc
cdef class Token(Format):
    pass


@cython.no_gc
cdef class OtherTokens(Format):
    """Tokens that are not among the excluded ones, ``minimum`` to ``maximum`` of them."""


@cython.no_gc
cdef class Sequence(Format):
    pass


@cython.no_gc
cdef class Or(Format):
    pass


@cython.no_gc
cdef class Repeat(Format):
    pass


@cython.no_gc
cdef class Tag(Format):
    pass


@cython.no_gc
cdef class Triggered(Format):
    pass


@cython.no_gc
cdef class Dispatch(Format):
    """Free text in which a pattern wants its format; then the text goes on, if ``loop``."""


@cython.no_gc
cdef class TagsWithSeparator(Format):
    pass


cdef ConstString new_const_string(str pointer, str value):
    cdef ConstString made = ConstString.__new__(ConstString)
    made.pointer = pointer
    made.value = value
    return made


cdef JsonSchema new_json_schema(str pointer, object schema, str place):
    cdef JsonSchema made = JsonSchema.__new__(JsonSchema)
    made.pointer = pointer
    made.schema = schema
    made.place = place
    made.extra_keys = "anywhere"
    made.spelling = "any"
    made.loose = False
    made.style = "json"
    made.any_order = False
    made.whitespace = "flexible"
    made.most_blanks = 20
    made.indent = made.separators = None
    made.excludes = ()
    return made


cdef Regex new_regex(str pointer, str pattern):
    cdef Regex made = Regex.__new__(Regex)
    made.pointer = pointer
    made.pattern = pattern
    return made


cdef Ebnf new_ebnf(str pointer, str text):
    cdef Ebnf made = Ebnf.__new__(Ebnf)
    made.pointer = pointer
    made.text = text
    return made


cdef AnyText new_any_text(str pointer, tuple excludes, object max_chars, object max_tokens):
    cdef AnyText made = AnyText.__new__(AnyText)
    made.pointer = pointer
    made.excludes = excludes
    made.max_chars = max_chars
    made.max_tokens = max_tokens
    return made


cdef Token new_token(str pointer, object token):
    cdef Token made = Token.__new__(Token)
    made.pointer = pointer
    made.token = token
    return made


cdef OtherTokens new_other_tokens(str pointer, tuple excludes, object minimum, object maximum):
    cdef OtherTokens made = OtherTokens.__new__(OtherTokens)
    made.pointer = pointer
    made.excludes = excludes
    made.minimum = minimum
    made.maximum = maximum
    return made


cdef Sequence new_sequence(str pointer, tuple elements):
    cdef Sequence made = Sequence.__new__(Sequence)
    made.pointer = pointer
    made.elements = elements
    return made


cdef Or new_or(str pointer, tuple elements):
    cdef Or made = Or.__new__(Or)
    made.pointer = pointer
    made.elements = elements
    return made


cdef Repeat new_repeat(str pointer, Format content, object minimum, object maximum):
    cdef Repeat made = Repeat.__new__(Repeat)
    made.pointer = pointer
    made.content = content
    made.minimum = minimum
    made.maximum = maximum
    return made


cdef Tag new_tag(str pointer, object begin, Format content, tuple ends):
    cdef Tag made = Tag.__new__(Tag)
    made.pointer = pointer
    made.begin = begin
    made.content = content
    made.ends = ends
    return made


cdef Triggered new_triggered(
    str pointer, tuple triggers, tuple tags, tuple excludes, bint at_least_one, bint stop_after_first
):
    cdef Triggered made = Triggered.__new__(Triggered)
    made.pointer = pointer
    made.triggers = triggers
    made.tags = tags
    made.excludes = excludes
    made.at_least_one = at_least_one
    made.stop_after_first = stop_after_first
    return made


cdef Dispatch new_dispatch(str pointer, tuple arms, tuple excludes, bint loop):
    cdef Dispatch made = Dispatch.__new__(Dispatch)
    made.pointer = pointer
    made.arms = arms
    made.excludes = excludes
    made.loop = loop
    return made


cdef TagsWithSeparator new_tags_with_separator(
    str pointer, tuple tags, str separator, bint at_least_one, bint stop_after_first
):
    cdef TagsWithSeparator made = TagsWithSeparator.__new__(TagsWithSeparator)
    made.pointer = pointer
    made.tags = tags
    made.separator = separator
    made.at_least_one = at_least_one
    made.stop_after_first = stop_after_first
    return made


cdef bint is_endless(Format made) except -1:
    kind = type(made)
    if kind is Sequence or kind is Or:
        for element in (<Sequence>made).elements if kind is Sequence else (<Or>made).elements:
            if is_endless(element):
                return True
        return False
    if kind is Repeat:
        return is_endless((<Repeat>made).content)
    if kind is OtherTokens:
        return (<OtherTokens>made).maximum is None and not (<OtherTokens>made).excludes
    if kind is AnyText:
        return not is_counted(<AnyText>made) and not (<AnyText>made).excludes
    if kind is Triggered:
        return not (<Triggered>made).excludes
    return kind is Dispatch and not (<Dispatch>made).excludes


cdef bint is_text(Format made) except -1:
    kind = type(made)
    if kind is Triggered:
        return not (<Triggered>made).at_least_one and not (<Triggered>made).stop_after_first
    if kind is Dispatch:
        return (<Dispatch>made).loop
    return kind is AnyText and not is_counted(<AnyText>made)


cdef bint is_counted(AnyText made) noexcept:
    return made.max_chars is not None or made.max_tokens is not None


# -- tag spelling ----------------------------------------------------------------------------------

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


# -- tag vocabulary --------------------------------------------------------------------------------

# results kept; a gateway needs one for each kind of free text in its formats
KEPT = 64
# marks and characters of a result that is kept; o200k has 1,100 special tokens of 20,000 characters
KEPT_MARKS = 4_096
KEPT_CHARACTERS = 65_536


cdef class Surroundings:
    """Free text beside its marks."""

    def __eq__(self, other):
        return isinstance(other, Surroundings) and self._content() == (<Surroundings>other)._content()

    __hash__ = None

    def _content(self):
        return self.specials, self.excluded, self.ends, self.beside, self.is_tangled


cdef class TagVocabulary:
    """
    Args:
        special_tokens: the text of every special token, stop tokens too, and its id.
        stop_token_ids: these match nothing but a token edge of their own.
        tokens: the bytes of every token by id; needed for formats that speak of all tokens.
    """

    def __init__(self, special_tokens, stop_token_ids, tokens=()):
        self.special_tokens = special_tokens
        self.special_ids = frozenset(special_tokens.values())
        self.stops = frozenset(stop_token_ids)
        self.spelling = Spelling(special_tokens)
        free = [(t, i) for t, i in special_tokens.items() if i not in self.stops]
        self.free = sorted(free, key=itemgetter(1))
        self.tokens = tokens
        self.kept = {}

    @classmethod
    def of(cls, vocabulary):
        return cls(vocabulary.special_texts(), vocabulary.stop_token_ids, vocabulary.tokens)

    @property
    def size(self):
        return len(self.tokens)

    def other_tokens(self, grammar, excludes):
        """Any token that has a text, but stop tokens and these."""
        banned = self.stops.union(excludes)
        for number, text in enumerate(self.tokens):
            if text and number not in banned:
                return grammar.tokens_except(banned)
        return grammar.fail()

    def surroundings(self, tuple excludes, tuple ends, tuple triggers, arm_tokens, str pointer, str end_pointer):
        """
        ``arm_tokens`` are the tokens that are letters of the text's own patterns; the pointers are
        those of the text and of the tag around it.

        Raises:
            LimitExceeded: a mark that can be written in too many ways; the pointer names it.
        """
        return self.around(excludes, ends, triggers, arm_tokens, pointer, end_pointer)

    cdef Surroundings around(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer
    ):
        cdef tuple key = (excludes, ends, triggers, arm_tokens)
        cdef Surroundings found = self.kept.get(key)
        if found is None:
            found = self._surroundings(*key, f"{pointer}/excludes", f"{end_pointer}/end")
            marks = excludes + ends + triggers
            size = sum([len(mark) for mark in marks if isinstance(mark, str)])
            if len(marks) <= KEPT_MARKS and size <= KEPT_CHARACTERS:
                if len(self.kept) >= KEPT:
                    self.kept.clear()
                self.kept[key] = found
        return found

    def _surroundings(self, excludes, ends, triggers, arm_tokens, pointer, end_pointer):
        cdef Surroundings made = Surroundings.__new__(Surroundings)
        specials = self._allowed((*excludes, *triggers, *ends))
        known = {256 + token for token in chain(specials, arm_tokens)}
        made.specials = TokenSet(specials)
        made.ends = self._patterns([mark for mark in ends if mark != ""], end_pointer)
        patterns = self._patterns(excludes, pointer)
        beside = [pattern for pattern in patterns if pattern not in made.ends]
        made.excluded = possible((*patterns, *made.ends), known)
        made.beside = possible(beside, known)
        made.is_tangled = are_tangled(made.ends, beside)
        for pattern in made.excluded:
            push_pattern(&made.excluded_operands, pattern)
        for pattern in made.beside:
            push_pattern(&made.beside_operands, pattern)
        return made

    def _allowed(self, blocked):
        """The special tokens that free text may hold beside these marks."""
        texts = {mark for mark in blocked if isinstance(mark, str) and mark}
        banned = {mark for mark in blocked if isinstance(mark, int)}
        return [
            token
            for text, token in self.free
            if token not in banned and text not in texts and not any(part in text for part in texts)
        ]

    def _patterns(self, marks, pointer):
        spelled = [pattern for mark in marks for pattern in self.spelling.patterns(mark, pointer)]
        return tuple(dict.fromkeys(spelled))


def possible(patterns, known):
    """The patterns that can be completed at all, with these letters for tokens."""
    return tuple(
        dict.fromkeys(
            pattern
            for pattern in patterns
            if type(pattern) is bytes or all(letter < 256 or letter in known for letter in pattern)
        )
    )


cdef bint are_tangled(ends, others) except -1:
    """Whether an arm for every end would change the language.

    It would where an exclude or a trigger can complete inside an end or together with it, and where
    one end can complete inside another one. (Ends that complete together are one end.)
    """
    cdef tuple end
    cdef list all_ends = [tuple(pattern) for pattern in ends], rest = [tuple(pattern) for pattern in others]
    for end in all_ends:
        for other in rest:
            if reaches_into(end, other, len(end)):
                return True
        for other in all_ends:
            if other != end and reaches_into(end, other, len(end) - 1):
                return True
    return False


cdef bint reaches_into(tuple end, tuple other, Py_ssize_t size) except -1:
    """Whether ``other`` can complete on one of the first ``size`` letters of ``end``."""
    cdef Py_ssize_t taken, length
    last = other[-1]
    for taken in range(1, size + 1):
        if end[taken - 1] == last:
            length = min(taken, len(other))
            if other[len(other) - length:] == end[taken - length:taken]:
                return True
    return False


# -- tag free text ---------------------------------------------------------------------------------

cdef object NO_TOKENS = frozenset()


cdef class FreeText:
    """Free text before it is known what stands around it."""

    cdef int add_arm(self, pattern, uint32_t node, bint returns) except -1:
        self.patterns.append(pattern)
        self.arms.push_back(node)
        self.arms.push_back(returns)
        return push_pattern(&self.arms, pattern)


cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes):
    cdef FreeText made = FreeText.__new__(FreeText)
    made.pointer, made.triggers, made.excludes = pointer, triggers, excludes
    made.patterns = []
    return made


def build_free_text(
    Grammar grammar, TagVocabulary vocabulary, arms, *, tuple excludes, bint loop, max_chars=None, max_tokens=None,
    str pointer
):
    """Free text that belongs to no tag; see the interface file."""
    cdef FreeText text
    cdef FreeTextBuilder builder = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    nodes = {}
    for mark, node in arms:
        for pattern in vocabulary.spelling.patterns(mark, pointer):
            nodes.setdefault(pattern, []).append(node)
    text = new_free_text(pointer, tuple(dict.fromkeys([mark for mark, _ in arms])), excludes)
    text.max_chars, text.max_tokens = max_chars, max_tokens
    for pattern, ways in nodes.items():
        text.add_arm(pattern, grammar.alt(*ways), loop)
    return builder.node(text, None)


cdef uint32_t bound(count) except? 0:
    return NO_MAXIMUM if count is None else count


cdef class FreeTextBuilder:
    def __cinit__(self, grammar, vocabulary):
        self.grammar, self.vocabulary, self.ends = grammar, vocabulary, {}

    cdef uint32_t end(self, Tag around) except? 0xFFFFFFFF:
        """The end of a tag as a node of its own."""
        cdef vector[uint32_t] ways
        cdef uint32_t node
        known = self.ends.get(around.ends)
        if known is None:
            for mark in around.ends:
                ways.push_back(self.vocabulary.spelling.add_mark(self.grammar, mark))
            known = self.ends[around.ends] = self.grammar.add_alt(ways.data(), ways.size())
        node = known
        return self.grammar.add_capture(around.pointer, ROLE_END, node)

    cdef uint32_t open(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """Text that may stop anywhere and holds no end of the tag around it."""
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, self.node(text, around))

    cdef uint32_t node(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """As ``open``, without a mark for the event parser."""
        cdef Surroundings beside = self.surroundings(text, around)
        cdef vector[uint32_t] operands = text.arms
        cdef TokenSet specials = None
        if text.max_chars is None:
            specials = beside.specials
            operands.insert(operands.end(), beside.excluded_operands.begin(), beside.excluded_operands.end())
        else:
            for pattern in beside.excluded:
                if type(pattern) is bytes:
                    push_pattern(&operands, pattern)
        return self.grammar.add_dispatch(
            <uint32_t>len(text.patterns), &operands, specials, True, 0, bound(text.max_chars), bound(text.max_tokens))

    cdef uint32_t closed(self, FreeText text, Tag around) except? 0xFFFFFFFF:
        """Text up to the end of the tag around it, with that end."""
        cdef Surroundings beside = self.surroundings(text, around)
        cdef vector[uint32_t] operands
        cdef uint32_t parts[2]
        cdef uint32_t over
        if (text.max_chars is not None or text.max_tokens is not None or "" in around.ends or beside.is_tangled
                or are_tangled(beside.ends, text.patterns)):
            parts[0], parts[1] = self.open(text, around), self.end(around)
            return self.grammar.add_seq(parts, 2)
        over = self.grammar.add_capture(around.pointer, ROLE_END, self.grammar.empty_node)
        operands = text.arms
        for pattern in beside.ends:
            operands.push_back(over)
            operands.push_back(False)
            push_pattern(&operands, pattern)
        operands.insert(operands.end(), beside.beside_operands.begin(), beside.beside_operands.end())
        over = self.grammar.add_dispatch(
            <uint32_t>(len(text.patterns) + len(beside.ends)), &operands, beside.specials, False, 0, NO_MAXIMUM,
            NO_MAXIMUM)
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, over)

    cdef Surroundings surroundings(self, FreeText text, Tag around):
        tokens = NO_TOKENS
        for pattern in text.patterns:
            if type(pattern) is not bytes:
                tokens = tokens.union([letter - 256 for letter in pattern if letter > 255])
        return self.vocabulary.around(
            text.excludes,
            around.ends if around is not None else (),
            text.triggers,
            tokens,
            text.pointer,
            around.pointer if around is not None else "",
        )
