"""Formats of structural tags: constructors, and two properties of free text."""

cimport cython

from ..json_schema.json_text cimport BLANKS

from bisect import bisect_right

Mark = str | int


@cython.no_gc
cdef class Format:
    pass


@cython.no_gc
cdef class ConstString(Format):
    def __init__(self, str pointer, str value):
        self.pointer, self.value = pointer, value


@cython.no_gc
cdef class JsonSchema(Format):
    pass


cdef JsonSchema new_json_schema(str pointer, schema, str schema_pointer):
    cdef JsonSchema format = JsonSchema.__new__(JsonSchema)
    format.pointer, format.schema, format.schema_pointer = pointer, schema, schema_pointer
    format.extra_keys, format.spelling, format.whitespace = "anywhere", "any", "flexible"
    format.any_order, format.unordered, format.most_blanks = False, False, BLANKS
    format.indent = format.separators = format.element_space = format.max_items = format.max_length = None
    format.depth = 0
    format.excludes, format.style, format.loose, format.guarded = (), None, False, False
    return format


@cython.no_gc
cdef class Regex(Format):
    def __init__(self, str pointer, str pattern):
        self.pointer, self.pattern = pointer, pattern


@cython.no_gc
cdef class GrammarText(Format):
    def __init__(self, str pointer, str text, str syntax, bint inside_json, bint readable):
        self.pointer, self.text, self.syntax = pointer, text, syntax
        self.inside_json, self.readable = inside_json, readable


@cython.no_gc
cdef class AnyText(Format):
    def __init__(self, str pointer, tuple excludes, max_chars, max_tokens):
        self.pointer, self.excludes, self.max_chars, self.max_tokens = pointer, excludes, max_chars, max_tokens


@cython.no_gc
cdef class Token(Format):
    def __init__(self, str pointer, token):
        self.pointer, self.token = pointer, token


@cython.no_gc
cdef class OtherTokens(Format):
    def __init__(self, str pointer, tuple excludes, minimum, maximum):
        self.pointer, self.excludes, self.minimum, self.maximum = pointer, excludes, minimum, maximum


@cython.no_gc
cdef class Sequence(Format):
    def __init__(self, str pointer, tuple elements):
        self.pointer, self.elements = pointer, elements


@cython.no_gc
cdef class Or(Sequence):
    pass


@cython.no_gc
cdef class Repetition(Format):
    def __init__(self, str pointer, Format content, minimum, maximum):
        self.pointer, self.content, self.minimum, self.maximum = pointer, content, minimum, maximum


@cython.no_gc
cdef class Tag(Format):
    pass


cdef Tag new_tag(str pointer, begin, Format content, tuple ends):
    cdef Tag tag = Tag.__new__(Tag)
    tag.pointer, tag.begin, tag.content, tag.ends = pointer, begin, content, ends
    return tag


@cython.no_gc
cdef class Triggered(Format):
    def __init__(
        self, str pointer, tuple triggers, tuple tags, tuple excludes, bint at_least_one, bint stop_after_first
    ):
        self.pointer, self.triggers, self.tags, self.excludes = pointer, triggers, tags, excludes
        self.at_least_one, self.stop_after_first = at_least_one, stop_after_first


@cython.no_gc
cdef class Dispatch(Format):
    def __init__(self, str pointer, tuple arms, tuple excludes, bint loop):
        self.pointer, self.arms, self.excludes, self.loop = pointer, arms, excludes, loop


@cython.no_gc
cdef class TagsWithSeparator(Format):
    def __init__(self, str pointer, tuple tags, str separator, bint at_least_one, bint stop_after_first):
        self.pointer, self.tags, self.separator = pointer, tags, separator
        self.at_least_one, self.stop_after_first = at_least_one, stop_after_first


cdef bint is_endless(Format format) except -1:
    kind = type(format)
    if kind is Sequence or kind is Or:
        return any([is_endless(element) for element in (<Sequence>format).elements])
    if kind is Repetition:
        return is_endless((<Repetition>format).content)
    if kind is OtherTokens:
        return (<OtherTokens>format).maximum is None and not (<OtherTokens>format).excludes
    if kind is AnyText:
        return not is_counted(<AnyText>format) and not (<AnyText>format).excludes
    if kind is Triggered:
        return not (<Triggered>format).excludes
    return kind is Dispatch and not (<Dispatch>format).excludes


cdef bint is_text(Format format) except -1:
    kind = type(format)
    if kind is Triggered:
        return not (<Triggered>format).at_least_one and not (<Triggered>format).stop_after_first
    if kind is Dispatch:
        return (<Dispatch>format).loop
    return kind is AnyText and not is_counted(<AnyText>format)


cdef bint is_counted(AnyText format) noexcept:
    return format.max_chars is not None or format.max_tokens is not None


cdef list shortest_of(tuple triggers):
    cdef list found = []
    for trigger in sorted([trigger for trigger in triggers if isinstance(trigger, str)]):
        # texts that begin with another one follow it
        if not found or not (<str>trigger).startswith(found[-1]):
            found.append(trigger)
    return found


cdef str trigger_of(str text, list shortest):
    # no text of the list begins with another one, so only the last one up to this text can begin it
    cdef Py_ssize_t at = bisect_right(shortest, text)
    return shortest[at - 1] if at and text.startswith(shortest[at - 1]) else None
