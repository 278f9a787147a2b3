"""The formats of structural tags, as checked objects: what the parser makes and the builder reads.

``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.

Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not
             empty.
             I2 elements, tags, triggers, ends and arms are not empty.
             I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
             some begin.
             I4 free text in a tag has excludes or a bound, or the tag an end that is not empty.
Cost         extension types, since each is made once for every tag of every request.
"""

import cython

Mark = str | int


@cython.dataclasses.dataclass(eq=False)
cdef class ConstString:
    pointer: str
    value: str


@cython.dataclasses.dataclass(eq=False)
cdef class JsonSchema:
    pointer: str
    schema: object
    place: str  # the JSON pointer of the schema itself
    extra_keys: str = "anywhere"  # where additional keys may stand, see frontends.json_schema
    loose: bint = False  # for reading only: any JSON, however badly written
    style: str = "json"
    any_order: bint = False
    whitespace: str = "flexible"
    indent: int = 20  # blanks behind a newline, see frontends.json_schema


@cython.dataclasses.dataclass(eq=False)
cdef class Regex:
    pointer: str
    pattern: str


@cython.dataclasses.dataclass(eq=False)
cdef class Ebnf:
    pointer: str
    text: str


@cython.dataclasses.dataclass(eq=False)
cdef class AnyText:
    pointer: str
    excludes: tuple
    max_chars: object = None
    max_tokens: object = None


@cython.dataclasses.dataclass(eq=False)
cdef class Token:
    pointer: str
    token: object


@cython.dataclasses.dataclass(eq=False)
cdef class OtherTokens:
    """Tokens that are not among the excluded ones, ``minimum`` to ``maximum`` of them."""

    pointer: str
    excludes: tuple
    minimum: object
    maximum: object


@cython.dataclasses.dataclass(eq=False)
cdef class Sequence:
    pointer: str
    elements: tuple


@cython.dataclasses.dataclass(eq=False)
cdef class Or:
    pointer: str
    elements: tuple


@cython.dataclasses.dataclass(eq=False)
cdef class Repeat:
    pointer: str
    content: object
    minimum: object
    maximum: object


@cython.dataclasses.dataclass(eq=False)
cdef class Tag:
    pointer: str
    begin: object
    content: object
    ends: tuple


@cython.dataclasses.dataclass(eq=False)
cdef class Triggered:
    pointer: str
    triggers: tuple
    tags: tuple
    excludes: tuple
    at_least_one: bint
    stop_after_first: bint


@cython.dataclasses.dataclass(eq=False)
cdef class Dispatch:
    """Free text in which a pattern wants its format; then the text goes on, if ``loop``."""

    pointer: str
    arms: tuple
    excludes: tuple
    loop: bint


@cython.dataclasses.dataclass(eq=False)
cdef class TagsWithSeparator:
    pointer: str
    tags: tuple
    separator: str
    at_least_one: bint
    stop_after_first: bint


Format = (
    ConstString | JsonSchema | Regex | Ebnf | AnyText | Token | OtherTokens
    | Sequence | Or | Repeat | Tag | Triggered | Dispatch | TagsWithSeparator
)


def is_endless(made):
    """Whether the format holds text that nothing but the end of the tag around it bounds."""
    if isinstance(made, (Sequence, Or)):
        return any(is_endless(element) for element in made.elements)
    if isinstance(made, Repeat):
        return is_endless(made.content)
    if isinstance(made, OtherTokens):
        return made.maximum is None
    if is_counted(made):
        return False
    return isinstance(made, (AnyText, Triggered, Dispatch)) and not made.excludes


def is_text(made):
    """Whether the format is free text without a bound, so that repeating it adds nothing to it."""
    if isinstance(made, Triggered):
        return not made.at_least_one and not made.stop_after_first
    if isinstance(made, Dispatch):
        return made.loop
    return isinstance(made, AnyText) and not is_counted(made)


cdef bint is_counted(made):
    return isinstance(made, AnyText) and (made.max_chars is not None or made.max_tokens is not None)
