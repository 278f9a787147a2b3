"""The formats of structural tags, as checked objects: what the parser makes and the builder reads.

``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.

Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not
             empty.
             I2 elements, tags, triggers, ends and arms are not empty.
             I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
             some begin.
             I4 free text in a tag has excludes or a bound, or the tag an end that is not empty.
Cost         extension types without constructors of their own: each is made once for every tag of
             every request. They hold no circles, so that the garbage collector need not know them.
"""

from libc.stdint cimport uint32_t

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
