"""The formats of structural tags, as checked objects: what the parser makes and the builder reads.

``pointer`` is a format's JSON pointer in the document that the caller sent. A mark (what begins,
ends or triggers a tag) is a ``str``, a literal text, or an ``int``, a token id.

Invariants   I1 every text is encodable in UTF-8; triggers, patterns of arms and excludes are not
             empty.
             I2 elements, tags, triggers, ends and arms are not empty.
             I3 the begin of every tag in Triggered starts with a trigger, and every trigger starts
             some begin.
             I4 free text in a tag has excludes or a bound, or the tag an end that is not empty.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

Mark: TypeAlias = str | int

@dataclass(eq=False)
class ConstString:
    pointer: str
    value: str

@dataclass(eq=False)
class JsonSchema:
    pointer: str
    schema: Any
    place: str  # the JSON pointer of the schema itself
    extra_keys: str = "anywhere"  # where additional keys may stand, see frontends.json_schema
    loose: bool = False  # for reading only: any JSON, however badly written
    style: str = "json"
    any_order: bool = False
    whitespace: str = "flexible"
    indent: int = 20

@dataclass(eq=False)
class Regex:
    pointer: str
    pattern: str

@dataclass(eq=False)
class Ebnf:
    pointer: str
    text: str

@dataclass(eq=False)
class AnyText:
    pointer: str
    excludes: tuple[Mark, ...]
    max_chars: int | None = None
    max_tokens: int | None = None

@dataclass(eq=False)
class Token:
    pointer: str
    token: int

@dataclass(eq=False)
class OtherTokens:
    """Tokens that are not among the excluded ones, ``minimum`` to ``maximum`` of them."""

    pointer: str
    excludes: tuple[int, ...]
    minimum: int
    maximum: int | None

@dataclass(eq=False)
class Sequence:
    pointer: str
    elements: tuple[Format, ...]

@dataclass(eq=False)
class Or:
    pointer: str
    elements: tuple[Format, ...]

@dataclass(eq=False)
class Repeat:
    pointer: str
    content: Format
    minimum: int
    maximum: int | None

@dataclass(eq=False)
class Tag:
    pointer: str
    begin: Mark
    content: Format
    ends: tuple[Mark, ...]

@dataclass(eq=False)
class Triggered:
    pointer: str
    triggers: tuple[Mark, ...]
    tags: tuple[Tag, ...]
    excludes: tuple[Mark, ...]
    at_least_one: bool
    stop_after_first: bool

@dataclass(eq=False)
class Dispatch:
    """Free text in which a pattern wants its format; then the text goes on, if ``loop``."""

    pointer: str
    arms: tuple[tuple[Mark, Format], ...]
    excludes: tuple[Mark, ...]
    loop: bool

@dataclass(eq=False)
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

def is_endless(made: Format) -> bool: ...
def is_text(made: Format) -> bool: ...
