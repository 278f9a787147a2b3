"""Whether a given value fits a shape, and whether two shapes have a value in common.

Needed for enum and const beside other keywords, and for oneOf, which is anyOf where its branches
exclude one another.
"""

from collections.abc import Callable, Hashable
from decimal import Decimal
from typing import Any

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...limits import Limits
from ..char_automaton import Bound, CharAutomaton
from ..regex import search_automaton
from ..regex_syntax import parse
from . import formats
from .keywords import decimal
from .shapes import (
    ARRAY,
    BOOLEAN,
    FRACTION,
    INTEGER,
    NULL,
    NUMBER,
    OBJECT,
    STRING,
    Arrays,
    Named,
    Numbers,
    Objects,
    Place,
    Shape,
    Strings,
    meet_numbers,
)

#: levels of properties that are looked into for a difference between two branches of oneOf
DISTANCE = 3
#: comparisons of two branches of one oneOf; a few hundred branches, some tenths of a second
PAIRS = 200_000


def type_of(value: Any) -> int:
    """The bit of a value's type; 1.0 is a whole number."""
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, float):
        return INTEGER if value.is_integer() else FRACTION
    kinds = {int: INTEGER, str: STRING, list: ARRAY, dict: OBJECT, type(None): NULL}
    return kinds[type(value)]


def identity(value: Any) -> Hashable:
    """Equal for equal JSON values: 1 and 1.0 are, 1 and true are not; the order of keys does not
    count.
    """
    if isinstance(value, list):
        return ARRAY, tuple(map(identity, value))
    if isinstance(value, dict):
        return OBJECT, frozenset((key, identity(item)) for key, item in value.items())
    return type_of(value), value


class CircularReference(SpecError):
    """A schema whose meaning at one place depends on itself."""


class Evaluator:
    def __init__(self, shapes_at: Callable[[Place], list[Shape]], limits: Limits) -> None:
        self.shapes_at, self.limits = shapes_at, limits
        self.pointer = ""  # the place at which values are judged
        self.depth = 0  # of the part of a value that is judged now
        self._checks = 0
        self._automata: dict[str, CharAutomaton] = {}
        # by the identity of a shape's values, which are kept so that it stays theirs
        self._listed: dict[int, tuple[tuple[Any, ...], frozenset[Hashable]]] = {}

    # -- values -----------------------------------------------------------------------------------
    def check_value(self, value: Any, pointer: str) -> None:
        """
        Raises:
            SpecError: no JSON value, or one that no JSON text can spell (a lone surrogate, an
            infinite number).
        """
        todo = [value]
        while todo:
            item = todo.pop()
            if isinstance(item, dict):
                todo += [*item, *item.values()]
            elif isinstance(item, list):
                todo += item
            elif isinstance(item, str):
                if any("\ud800" <= c <= "\udfff" for c in item):
                    raise SpecError("a lone surrogate is not text", pointer)
            elif isinstance(item, float) or (isinstance(item, int) and not isinstance(item, bool)):
                decimal(item, pointer)
            elif item is not None and not isinstance(item, bool):
                raise SpecError(f"a value of type {type(item).__name__} is not JSON", pointer)

    def fits(self, place: Place, value: Any) -> bool:
        """Whether the value fits some shape of the place.

        Raises:
            UnsupportedSchema: a keyword decides that can't be enforced.
        """
        try:
            shapes = self.shapes_at(place)
        except CircularReference as error:
            message = "values that are judged by the schema they are listed in can't be enforced"
            raise UnsupportedSchema(error.pointer, "enum", message) from None
        self.depth += 1
        try:
            return any(self.fits_shape(shape, value) for shape in shapes)
        finally:
            self.depth -= 1

    def fits_shape(self, shape: Shape, value: Any) -> bool:
        kind, limit = type_of(value), self.limits.value_checks
        self._checks += 1
        if self._checks > limit:
            raise LimitExceeded("value_checks", limit, self._checks, self.pointer)
        if not shape.types & kind:
            return False
        shape.check(kind)
        if shape.values is not None:
            return identity(value) in self._identities(shape.values)
        if kind == STRING:
            return shape.strings is None or self._string(shape.strings, value)
        if kind & NUMBER:
            return shape.numbers is None or _number(shape.numbers, value)
        if kind == ARRAY:
            return shape.arrays is None or self._array(shape.arrays, value)
        return kind != OBJECT or shape.objects is None or self._object(shape.objects, value)

    def _identities(self, values: tuple[Any, ...]) -> frozenset[Hashable]:
        if id(values) not in self._listed:
            self._listed[id(values)] = values, frozenset(map(identity, values))
        return self._listed[id(values)][1]

    def _string(self, strings: Strings, value: str) -> bool:
        if len(value) < strings.minimum or (
            strings.maximum is not None and len(value) > strings.maximum
        ):
            return False
        return all(self.pattern(each).accepts(value) for each in strings.patterns) and all(
            self.format(each).accepts(value) for each in strings.formats
        )

    def _array(self, arrays: Arrays, value: list[Any]) -> bool:
        if len(value) < arrays.minimum or (
            arrays.maximum is not None and len(value) > arrays.maximum
        ):
            return False
        places = arrays.prefix
        for number, item in enumerate(value):
            if not self.fits(places[number] if number < len(places) else arrays.rest, item):
                return False
        return True

    def _object(self, objects: Objects, value: dict[str, Any]) -> bool:
        if len(value) < objects.minimum or (
            objects.maximum is not None and len(value) > objects.maximum
        ):
            return False
        if any(name not in value for name in objects.required):
            return False
        return all(self.fits(objects.place_of(name), item) for name, item in value.items())

    def pattern(self, named: Named) -> CharAutomaton:
        """The automaton of a searched pattern.

        Raises:
            as ``regex.build_search``.
        """
        return self._automaton(named.text, named.pointer)

    def format(self, named: Named, *, short: bool = False) -> CharAutomaton:
        """The automaton of a format, or of its short form."""
        return self._automaton(
            (formats.SHORT if short else formats.PATTERNS)[named.text], named.pointer
        )

    def _automaton(self, pattern: str, pointer: str) -> CharAutomaton:
        if pattern not in self._automata:
            tree = parse(pattern, pointer=pointer, limits=self.limits)
            automaton = search_automaton(tree, Bound(self.limits.pattern_states, pointer))
            self._automata[pattern] = automaton.minimal()
        return self._automata[pattern]

    # -- differences ------------------------------------------------------------------------------
    def are_disjoint(self, groups: list[list[Shape]]) -> bool:
        """Whether no value fits two of the groups, as far as ``PAIRS`` comparisons can tell."""
        listed: set[Hashable] = set()
        for group in groups:
            own = {i for each in group if each.values for i in self._identities(each.values)}
            if not listed.isdisjoint(own):
                return False
            listed |= own
        shapes = [(number, shape) for number, group in enumerate(groups) for shape in group]
        free = [each for each in shapes if each[1].values is None]
        if len(free) * len(shapes) > PAIRS:
            return False
        return all(
            a == b or self._apart(left, right, DISTANCE) for a, left in free for b, right in shapes
        )

    def _apart(self, a: Shape, b: Shape, distance: int) -> bool:
        common = a.types & b.types
        if not common:
            return True
        if a.values is not None or b.values is not None:
            listed, other = (a, b) if a.values is not None else (b, a)
            return not any(self.fits_shape(other, value) for value in listed.values or ())
        if common & (NULL | BOOLEAN):
            return False
        if common & STRING and not _lengths_apart(a.strings, b.strings):
            return False
        if common & NUMBER and not _numbers_apart(a.numbers, b.numbers):
            return False
        if common & ARRAY and not _lengths_apart(a.arrays, b.arrays):
            return False
        return not common & OBJECT or self._objects_apart(a.objects, b.objects, distance)

    def _objects_apart(self, a: Objects | None, b: Objects | None, distance: int) -> bool:
        """A name that either side requires, and at which both sides have nothing in common, tells
        them apart.
        """
        if distance == 0:
            return False
        a, b = a or Objects(), b or Objects()
        return any(
            self._places_apart(a.place_of(name), b.place_of(name), distance - 1)
            for name in dict.fromkeys((*a.required, *b.required))
        )

    def _places_apart(self, a: Place, b: Place, distance: int) -> bool:
        try:
            lefts, rights = self.shapes_at(a), self.shapes_at(b)
        except CircularReference:
            return False
        return all(self._apart(left, right, distance) for left in lefts for right in rights)


def _number(numbers: Numbers, value: int | float) -> bool:
    """Against the bounds as they are read most tightly, see ``keywords.decimal``."""
    for number in (
        {Decimal(repr(value)), Decimal(value)} if abs(value) >= 2**53 else {Decimal(repr(value))}
    ):
        if numbers.low is not None and (
            number < numbers.low or (numbers.low_open and number == numbers.low)
        ):
            return False
        if numbers.high is not None and (
            number > numbers.high or (numbers.high_open and number == numbers.high)
        ):
            return False
    return True


def _lengths_apart(a: Strings | Arrays | None, b: Strings | Arrays | None) -> bool:
    if a is None or b is None:
        return False
    return (a.maximum is not None and a.maximum < b.minimum) or (
        b.maximum is not None and b.maximum < a.minimum
    )


def _numbers_apart(a: Numbers | None, b: Numbers | None) -> bool:
    met = meet_numbers(a or Numbers(), b or Numbers())
    if met.low is None or met.high is None:
        return False
    return met.low > met.high or (met.low == met.high and (met.low_open or met.high_open))
