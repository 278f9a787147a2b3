"""The formats of structural tags, as checked objects: what the parser makes and the builder reads.

``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.

Invariants   I1 every text is encodable in UTF-8; triggers and excludes are not empty.
             I2 elements, tags, triggers and ends are not empty.
             I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
             some begin. I4 free text in a tag has excludes, or the tag an end that is not empty.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

Mark: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class ConstString:
    pointer: str
    value: str


@dataclass(frozen=True, slots=True)
class JsonSchema:
    pointer: str
    schema: Any
    place: str  # the JSON pointer of the schema itself
    extra_keys: str = "anywhere"  # where additional keys may stand, see frontends.json_schema
    loose: bool = False  # for reading only: any JSON, however badly written


@dataclass(frozen=True, slots=True)
class Regex:
    pointer: str
    pattern: str


@dataclass(frozen=True, slots=True)
class AnyText:
    pointer: str
    excludes: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Token:
    pointer: str
    token: int


@dataclass(frozen=True, slots=True)
class Sequence:
    pointer: str
    elements: tuple["Format", ...]


@dataclass(frozen=True, slots=True)
class Or:
    pointer: str
    elements: tuple["Format", ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    pointer: str
    content: "Format"
    minimum: int
    maximum: int | None


@dataclass(frozen=True, slots=True)
class Tag:
    pointer: str
    begin: Mark
    content: "Format"
    ends: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Triggered:
    pointer: str
    triggers: tuple[Mark, ...]
    tags: tuple[Tag, ...]
    excludes: tuple[Mark, ...]
    at_least_one: bool
    stop_after_first: bool


@dataclass(frozen=True, slots=True)
class TagsWithSeparator:
    pointer: str
    tags: tuple[Tag, ...]
    separator: str
    at_least_one: bool
    stop_after_first: bool


Format: TypeAlias = (
    ConstString | JsonSchema | Regex | AnyText | Token
    | Sequence | Or | Repeat | Tag | Triggered | TagsWithSeparator
)  # fmt: skip


def starts_with(begin: Mark, trigger: Mark) -> bool:
    if isinstance(begin, str) and isinstance(trigger, str):
        return begin.startswith(trigger)
    return begin == trigger


def is_endless(made: Format) -> bool:
    """Whether the format holds free text that nothing but the end of the tag around it bounds."""
    if isinstance(made, Sequence | Or):
        return any(is_endless(element) for element in made.elements)
    if isinstance(made, Repeat):
        return is_endless(made.content)
    return isinstance(made, AnyText | Triggered) and not made.excludes


def is_text(made: Format) -> bool:
    """Whether the format is free text without a bound, so that repeating it adds nothing to it."""
    if isinstance(made, Triggered):
        return not made.at_least_one and not made.stop_after_first
    return isinstance(made, AnyText)
