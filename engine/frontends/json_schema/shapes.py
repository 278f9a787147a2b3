"""What a schema says, sorted by type: the form in which schemas are combined.

    place     schemas that must all hold at one place of a value; () holds always
    Shape     one alternative: the types it allows, and for each type a facet (None: no constraint)
    schema    a list of Shapes, of which one must hold; none means that nothing fits

A type is a bit. Whole numbers are INTEGER whatever the schema calls them; "number" is INTEGER |
FRACTION, so that types meet by &. ``values`` (enum and const) are those that all other constraints
of the shape allow; they stand for the whole. ``refused`` holds keywords that can't be enforced,
each for the types it constrains: they are raised when a text of such a type would have to be
described, and not where the type is ruled out anyway.

Invariants   I1 meet() is exact: a value fits the meeting if and only if it fits both.
             I2 a facet is kept only while its type is allowed.
Not here     reading schemas (reader), what a value fits (evaluate), IR (builder).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, NamedTuple

from ...errors import UnsupportedSchema

NULL, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT = (1 << n for n in range(7))
NUMBER = INTEGER | FRACTION
ALL = (1 << 7) - 1
TYPES = {
    "null": NULL, "boolean": BOOLEAN, "integer": INTEGER, "number": NUMBER, "string": STRING,
    "array": ARRAY, "object": OBJECT,
}  # fmt: skip


class Located(NamedTuple):
    """A schema and the JSON pointer of its place in what the caller sent."""

    schema: Any
    pointer: str


Place = tuple[Located, ...]
NOWHERE: Place = (Located(False, ""),)


class Named(NamedTuple):
    """A pattern's source or a format's name, and where it was asked for."""

    text: str
    pointer: str


class Refusal(NamedTuple):
    types: int
    pointer: str
    keyword: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Strings:
    minimum: int = 0
    maximum: int | None = None
    patterns: tuple[Named, ...] = ()
    formats: tuple[Named, ...] = ()


@dataclass(frozen=True, slots=True)
class Numbers:
    """Bounds, each with whether it is excluded itself."""

    low: Decimal | None = None
    low_open: bool = False
    high: Decimal | None = None
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Arrays:
    prefix: tuple[Place, ...] = ()
    rest: Place = ()
    minimum: int = 0
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Objects:
    properties: dict[str, Place] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    rest: Place = ()
    minimum: int = 0
    maximum: int | None = None
    pointer: str = ""

    def place_of(self, name: str) -> Place:
        return self.properties.get(name, self.rest)


@dataclass(frozen=True, slots=True)
class Shape:
    types: int = ALL
    values: tuple[Any, ...] | None = None
    strings: Strings | None = None
    numbers: Numbers | None = None
    arrays: Arrays | None = None
    objects: Objects | None = None
    refused: tuple[Refusal, ...] = ()

    def check(self, types: int = ALL) -> None:
        """
        Raises:
            UnsupportedSchema: the first keyword that constrains one of these types and can't be
            enforced.
        """
        for refusal in self.refused:
            if refusal.types & self.types & types:
                raise UnsupportedSchema(refusal.pointer, refusal.keyword, refusal.message)


ANYTHING = Shape()

Fits = Callable[[Shape, Any], bool]


def meet(a: Shape, b: Shape, fits: Fits) -> Shape | None:
    """The shape of what fits both; None where nothing does. ``fits`` judges single values."""
    if a is ANYTHING:
        return b
    if b is ANYTHING:
        return a
    types = a.types & b.types
    if not types:
        return None
    if a.values is not None or b.values is not None:
        listed, other = (a, b) if a.values is not None else (b, a)
        values = tuple(value for value in listed.values or () if fits(other, value))
        return replace(listed, types=types, values=values) if values else None
    return Shape(
        types,
        None,
        _pick(types & STRING, a.strings, b.strings, meet_strings),
        _pick(types & NUMBER, a.numbers, b.numbers, meet_numbers),
        _pick(types & ARRAY, a.arrays, b.arrays, meet_arrays),
        _pick(types & OBJECT, a.objects, b.objects, meet_objects),
        tuple(refusal for refusal in a.refused + b.refused if refusal.types & types),
    )


def _pick(allowed: int, a: Any, b: Any, meeting: Callable[[Any, Any], Any]) -> Any:
    if not allowed:
        return None
    if a is None or b is None:
        return b if a is None else a
    return meeting(a, b)


def least(a: int | None, b: int | None) -> int | None:
    """The smaller of two upper bounds; None is no bound."""
    return b if a is None else a if b is None else min(a, b)


def meet_strings(a: Strings, b: Strings) -> Strings:
    return Strings(
        max(a.minimum, b.minimum),
        least(a.maximum, b.maximum),
        _united(a.patterns, b.patterns),
        _united(a.formats, b.formats),
    )


def _united(a: tuple[Named, ...], b: tuple[Named, ...]) -> tuple[Named, ...]:
    known = {each.text for each in a}
    return a + tuple(each for each in b if each.text not in known)


def meet_numbers(a: Numbers, b: Numbers) -> Numbers:
    lows = [(x.low, x.low_open) for x in (a, b) if x.low is not None]
    highs = [(x.high, not x.high_open) for x in (a, b) if x.high is not None]
    low, low_open = max(lows, default=(None, False))
    high, high_closed = min(highs, default=(None, True))
    return Numbers(low, low_open, high, not high_closed)


def both(a: Place, b: Place) -> Place:
    """The place at which all schemas of both hold."""
    if not a or not b:
        return a or b
    known = {id(each.schema) for each in a}
    return a + tuple(each for each in b if id(each.schema) not in known)


def meet_arrays(a: Arrays, b: Arrays) -> Arrays:
    length = max(len(a.prefix), len(b.prefix))
    prefix = tuple(
        both(
            a.prefix[n] if n < len(a.prefix) else a.rest,
            b.prefix[n] if n < len(b.prefix) else b.rest,
        )
        for n in range(length)
    )
    return Arrays(
        prefix, both(a.rest, b.rest), max(a.minimum, b.minimum), least(a.maximum, b.maximum)
    )


def meet_objects(a: Objects, b: Objects) -> Objects:
    """Keys keep the order of ``a``; those that only ``b`` lists follow."""
    names = dict.fromkeys((*a.properties, *b.properties))
    return Objects(
        {name: both(a.place_of(name), b.place_of(name)) for name in names},
        tuple(dict.fromkeys((*a.required, *b.required))),
        both(a.rest, b.rest),
        max(a.minimum, b.minimum),
        least(a.maximum, b.maximum),
        a.pointer,
    )
