"""The formats of structural tags: see the header file."""

cimport cython

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
