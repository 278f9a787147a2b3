"""The formats of structural tags, as checked objects: what the parser makes and the builder reads.

``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.

Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not
             empty.
             I2 elements, tags, triggers, ends and arms are not empty.
             I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
             some begin.
             I4 free text in a tag has excludes or a bound, or the tag an end that is not empty.
Cost         plain classes with slots: a frozen dataclass takes three times as long to make.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

Mark: TypeAlias = str | int


@dataclass(slots=True, eq=False)
class ConstString:
    pointer: str
    value: str


@dataclass(slots=True, eq=False)
class JsonSchema:
    pointer: str
    schema: Any
    place: str  # the JSON pointer of the schema itself
    extra_keys: str = "anywhere"  # where additional keys may stand, see frontends.json_schema
    loose: bool = False  # for reading only: any JSON, however badly written
    style: str = "json"
    any_order: bool = False
    whitespace: str = "flexible"


@dataclass(slots=True, eq=False)
class Regex:
    pointer: str
    pattern: str


@dataclass(slots=True, eq=False)
class Ebnf:
    pointer: str
    text: str


@dataclass(slots=True, eq=False)
class AnyText:
    pointer: str
    excludes: tuple[Mark, ...]
    max_chars: int | None = None


@dataclass(slots=True, eq=False)
class Token:
    pointer: str
    token: int


@dataclass(slots=True, eq=False)
class OtherTokens:
    """Tokens that are not among the excluded ones, ``minimum`` to ``maximum`` of them."""

    pointer: str
    excludes: tuple[int, ...]
    minimum: int
    maximum: int | None


@dataclass(slots=True, eq=False)
class Sequence:
    pointer: str
    elements: tuple["Format", ...]


@dataclass(slots=True, eq=False)
class Or:
    pointer: str
    elements: tuple["Format", ...]


@dataclass(slots=True, eq=False)
class Repeat:
    pointer: str
    content: "Format"
    minimum: int
    maximum: int | None


@dataclass(slots=True, eq=False)
class Tag:
    pointer: str
    begin: Mark
    content: "Format"
    ends: tuple[Mark, ...]


@dataclass(slots=True, eq=False)
class Triggered:
    pointer: str
    triggers: tuple[Mark, ...]
    tags: tuple[Tag, ...]
    excludes: tuple[Mark, ...]
    at_least_one: bool
    stop_after_first: bool


@dataclass(slots=True, eq=False)
class Dispatch:
    """Free text in which a pattern wants its format; then the text goes on, if ``loop``."""

    pointer: str
    arms: tuple[tuple[Mark, "Format"], ...]
    excludes: tuple[Mark, ...]
    loop: bool


@dataclass(slots=True, eq=False)
class TagsWithSeparator:
    pointer: str
    tags: tuple[Tag, ...]
    separator: str
    at_least_one: bool
    stop_after_first: bool


Format: TypeAlias = (
    ConstString | JsonSchema | Regex | Ebnf | AnyText | Token | OtherTokens
    | Sequence | Or | Repeat | Tag | Triggered | Dispatch | TagsWithSeparator
)  # fmt: skip


def is_endless(made: Format) -> bool:
    """Whether the format holds text that nothing but the end of the tag around it bounds."""
    if isinstance(made, Sequence | Or):
        return any(is_endless(element) for element in made.elements)
    if isinstance(made, Repeat):
        return is_endless(made.content)
    if isinstance(made, OtherTokens):
        return made.maximum is None
    if isinstance(made, AnyText) and made.max_chars is not None:
        return False
    return isinstance(made, AnyText | Triggered | Dispatch) and not made.excludes


def is_text(made: Format) -> bool:
    """Whether the format is free text without a bound, so that repeating it adds nothing to it."""
    if isinstance(made, Triggered):
        return not made.at_least_one and not made.stop_after_first
    if isinstance(made, Dispatch):
        return made.loop
    return isinstance(made, AnyText) and made.max_chars is None
