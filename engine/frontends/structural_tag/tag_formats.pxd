"""The fields of one JSON object, taken one by one; what is left over at the end is refused.

Places are joined only where something is wrong with them.
"""

from libc.stdint cimport uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from ...vocabulary.vocabulary cimport TokenSet

cdef class Fields:
    cdef dict value
    cdef str pointer
    cdef Py_ssize_t taken
    cdef object fault(self, str name, str message)
    cdef int finish(self, tuple known) except -1
    cdef object get(self, str name, default)
    cdef object item(self, str name)
    cdef list items(self, str name)
    cdef list optional_items(self, str name)
    cdef str text(self, str name)
    cdef bint flag(self, str name, bint default) except -1
    cdef object count(self, str name, low, high)
    cdef object bound(self, str name, high)

cdef str as_text(value, str pointer, step, bint filled=*)
cdef str place(str pointer, step)
cdef tuple as_texts(list items, str pointer)
cdef object as_schema(value, str pointer)


# -- tag formats -----------------------------------------------------------------------------------
# The formats of structural tags, as checked objects: what the parser makes and the builder reads.
#
# ``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
# ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.
#
# Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not
#              empty.
#              I2 elements, tags, triggers, ends and arms are not empty.
#              I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
#              some begin.
#              I4 free text in a tag has excludes or a bound, or the tag an end that is not empty.
# Cost         extension types without constructors of their own: each is made once for every tag of
#              every request. They hold no circles, so that the garbage collector need not know them.

cdef class Format:
    cdef readonly str pointer

cdef class ConstString(Format):
    cdef readonly str value

cdef class JsonSchema(Format):
    cdef readonly object schema
    cdef readonly str place               # the JSON pointer of the schema itself
    cdef readonly str extra_keys          # where additional keys may stand, see frontends.json_schema
    cdef readonly str spelling            # of what is known, see frontends.json_schema
    cdef readonly bint loose              # for reading only: any JSON, however badly written
    cdef readonly str style
    cdef readonly bint any_order
    cdef readonly str whitespace
    cdef readonly uint32_t most_blanks    # behind a newline, see frontends.json_schema
    cdef readonly object indent           # of json.dumps, as ``separators``; None: not given
    cdef readonly object separators
    cdef readonly tuple excludes          # what no string may hold as it is written

cdef class Regex(Format):
    cdef readonly str pattern

cdef class Ebnf(Format):
    cdef readonly str text

cdef class AnyText(Format):
    cdef readonly tuple excludes
    # int, or None: no bound
    cdef readonly object max_chars, max_tokens

cdef class Token(Format):
    cdef readonly object token

cdef class OtherTokens(Format):
    cdef readonly tuple excludes
    cdef readonly object minimum
    cdef readonly object maximum

cdef class Sequence(Format):
    cdef readonly tuple elements

cdef class Or(Format):
    cdef readonly tuple elements

cdef class Repeat(Format):
    cdef readonly Format content
    cdef readonly object minimum
    cdef readonly object maximum

cdef class Tag(Format):
    cdef readonly object begin
    cdef readonly Format content
    cdef readonly tuple ends

cdef class Triggered(Format):
    cdef readonly tuple triggers
    cdef readonly tuple tags
    cdef readonly tuple excludes
    cdef readonly bint at_least_one
    cdef readonly bint stop_after_first

cdef class Dispatch(Format):
    cdef readonly tuple arms
    cdef readonly tuple excludes
    cdef readonly bint loop

cdef class TagsWithSeparator(Format):
    cdef readonly tuple tags
    cdef readonly str separator
    cdef readonly bint at_least_one
    cdef readonly bint stop_after_first

cdef ConstString new_const_string(str pointer, str value)
cdef JsonSchema new_json_schema(str pointer, object schema, str place)
cdef Regex new_regex(str pointer, str pattern)
cdef Ebnf new_ebnf(str pointer, str text)
cdef AnyText new_any_text(str pointer, tuple excludes, object max_chars, object max_tokens)
cdef Token new_token(str pointer, object token)
cdef OtherTokens new_other_tokens(str pointer, tuple excludes, object minimum, object maximum)
cdef Sequence new_sequence(str pointer, tuple elements)
cdef Or new_or(str pointer, tuple elements)
cdef Repeat new_repeat(str pointer, Format content, object minimum, object maximum)
cdef Tag new_tag(str pointer, object begin, Format content, tuple ends)
cdef Triggered new_triggered(
    str pointer, tuple triggers, tuple tags, tuple excludes, bint at_least_one, bint stop_after_first
)
cdef Dispatch new_dispatch(str pointer, tuple arms, tuple excludes, bint loop)
cdef TagsWithSeparator new_tags_with_separator(
    str pointer, tuple tags, str separator, bint at_least_one, bint stop_after_first
)

# whether the format holds text that nothing but the end of the tag around it bounds
cdef bint is_endless(Format made) except -1
# whether the format is free text without a bound, so that repeating it adds nothing to it
cdef bint is_text(Format made) except -1


# -- tag spelling ----------------------------------------------------------------------------------
# Literals that hold special tokens: such a text matches the token or its spelled bytes.
#
# A text is cut into pieces from left to right, always at the longest special token's text; pieces do
# not overlap. A pattern (see engine.ir) is one way to write a text, so a text with k special tokens
# has 2**k patterns. Literals in the IR need no list of them, free text does.
#
# Representation   the special tokens' texts as a trie: nodes[0] is the root, the children of a node
#                  ascend by letter. `firsts` has a bit for every first letter below 128.

cdef struct LetterC:
    uint32_t letter
    uint32_t child, sibling   # 0: none
    uint32_t token            # whose text ends here, NO_TOKEN: none's

cdef class Piece:
    cdef readonly str text
    cdef readonly object token            # the special token of this text; None is ordinary text

cdef class Spelling:
    cdef vector[LetterC] nodes
    cdef uint64_t firsts[2]
    cdef int add(self, str text, uint32_t token) except -1
    cdef uint32_t child(self, uint32_t node, uint32_t letter) noexcept
    cdef Py_ssize_t find(self, str text, Py_ssize_t* start, uint32_t* token) noexcept
    cdef bint is_plain(self, str text) noexcept
    cdef list pieces(self, str text)
    cdef uint32_t add_mark(self, Grammar grammar, mark) except? 0xFFFFFFFF
    cdef list beginnings(self, str begin, Py_ssize_t size, str pointer)

cdef uint32_t add_pieces(Grammar grammar, list pieces) except? 0xFFFFFFFF
cdef uint32_t add_literal(Grammar grammar, str text, Py_ssize_t start) except? 0xFFFFFFFF
# lengths of the texts among marks, ascending, each once
cdef list sizes_of(tuple marks)


# -- tag vocabulary --------------------------------------------------------------------------------
# What structural tags need to know of a vocabulary: made once for each, shared by all compiles.
#
# Kept      what depends on marks and the vocabulary alone: their spellings, and which special tokens
#           free text may hold beside them. A gateway excludes the same hundreds of special tokens in
#           every request; to spell them anew takes milliseconds, to look them up a microsecond.
# Bounds    ``KEPT`` results, none for more than ``KEPT_MARKS`` marks of ``KEPT_CHARACTERS`` in all.
# Threads   results are immutable, and made at most twice if two threads ask at once.
# Not here  what is done with them (structural_tag, tag_free_text).

cdef class Surroundings:
    # free text beside its marks
    cdef TokenSet specials                # the special tokens that it may hold
    cdef tuple excluded                   # what must not be completed in it, the ends among them
    cdef tuple ends
    cdef tuple beside                     # `excluded` without the ends
    cdef bint is_tangled                  # whether an exclude can complete within an end, see tag_free_text
    # the same as operands of a DISPATCH
    cdef vector[uint32_t] excluded_operands, beside_operands

cdef class TagVocabulary:
    cdef readonly object special_tokens, special_ids, stops
    cdef readonly Spelling spelling
    cdef list free
    cdef object tokens                    # the bytes of every token, by id
    cdef dict kept
    cdef Surroundings around(
        self, tuple excludes, tuple ends, tuple triggers, object arm_tokens, str pointer, str end_pointer
    )

cdef bint are_tangled(ends, others) except -1


# -- tag free text ---------------------------------------------------------------------------------
# Free text of structural tags as one DISPATCH: triggers, excludes and the end around it.
#
# Specials   free text holds all special tokens but stop tokens, the excluded ones, and those whose
#            text holds an excluded text, a trigger or an end: they are read as what they hide. Text
#            of which the characters are counted holds none: they have no characters.
# Ends       the end of the tag around free text is excluded from it. Where nothing overlaps with the
#            ends, they are arms of the DISPATCH: the text is over at the first occurrence, without
#            ambiguity. Else the text and the end stand side by side, since an exclude holds for the
#            text alone and not for its end, nor do the characters of an end count as the text's.

cdef class FreeText:
    cdef str pointer
    cdef tuple triggers, excludes
    cdef object max_chars, max_tokens     # int, or None: no bound
    cdef list patterns                    # of the arms
    cdef vector[uint32_t] arms            # operands of a DISPATCH
    cdef int add_arm(self, pattern, uint32_t node, bint returns) except -1

cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes)

cdef class FreeTextBuilder:
    # emits free text into one grammar; ``around`` is the tag that the text stands in
    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef dict ends
    cdef uint32_t end(self, Tag around) except? 0xFFFFFFFF
    cdef uint32_t node(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef uint32_t open(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef uint32_t closed(self, FreeText text, Tag around) except? 0xFFFFFFFF
    cdef Surroundings surroundings(self, FreeText text, Tag around)
