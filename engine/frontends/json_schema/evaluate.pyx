"""Values and shapes: see the header file."""

from libc.stdint cimport int64_t

from ...budget cimport spend, spent
from ..regex.regex_tree cimport Tree
from .contents cimport has_surrogate, identity, type_of
from .keywords cimport decimal_at
from .schema_types cimport (
    ARRAY, BOOLEAN, NULL_TYPE, NUMBER, OBJECT, STRING, Arrays, Count, Judge, Keyed, Located, Named,
    Numbers, Objects, Shape, Strings, is_crossed, meet_numbers, new_numbers, new_objects,
)

from decimal import Decimal
from fractions import Fraction

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ..regex.char_automaton import Bound
from ..regex.front_end import search_automaton
from ..regex.regex_syntax import parse
from . import formats

# levels of properties that are looked into for a difference between two branches of oneOf
cdef int DISTANCE = 3
# comparisons of two branches of one oneOf; a few hundred branches, some tenths of a second
cdef Py_ssize_t PAIRS = 200_000


cdef Py_ssize_t size_of(value) except -1:
    """The number of values in a value."""
    cdef Py_ssize_t n = 1
    if isinstance(value, dict):
        value = (<dict>value).values()
    elif not isinstance(value, list):
        return n
    for item in value:
        n += size_of(item)
    return n


class CircularReference(SpecError):
    """A schema whose meaning at one place depends on itself."""


cdef class Evaluator(Judge):
    def __cinit__(self):
        self.checks = self.depth = 0

    cdef bint holds(self, tuple place, schema) except -1:
        return self.contents.holds(place, schema)

    cdef bint are_apart(self, tuple a, tuple b) except -1:
        return self.contents.are_apart(a, b)

    cdef bint are_all_of(self, tuple place, tuple other) except -1:
        return self.contents.are_all_of(place, other)

    cdef tuple narrower(self, tuple a, tuple b):
        return self.contents.narrower(a, b)

    cdef bint members_apart(self, Objects a, Objects b) except -1:
        return self.contents.members_apart(a, b)

    cdef tuple shapes_at(self, tuple place):
        """The alternatives of a place."""
        raise NotImplementedError

    cdef void place(self, Located where, str keyword):
        self.where, self.keyword = where, keyword

    # -- values -----------------------------------------------------------------------------------
    cdef int check_value(self, value, Located where, str keyword, Py_ssize_t number) except -1:
        """``number`` -1: the keyword's whole value.

        Raises:
            SpecError: no JSON value, or one that no JSON text can spell (a lone surrogate, an
            infinite number).
        """
        cdef list todo
        if isinstance(value, str) and not has_surrogate(value):
            return 0
        todo = [value]
        pointer = where.at(keyword)
        if number >= 0:
            pointer = f"{pointer}/{number}"
        while todo:
            item = todo.pop()
            if isinstance(item, dict):
                todo += [*item, *item.values()]
            elif isinstance(item, list):
                todo += item
            elif isinstance(item, str):
                if has_surrogate(item):
                    raise SpecError("a lone surrogate is not text", pointer)
            elif isinstance(item, float) or (isinstance(item, int) and not isinstance(item, bool)):
                decimal_at(item, pointer, None)
            elif item is not None and not isinstance(item, bool):
                raise SpecError(f"a value of type {type(item).__name__} is not JSON", pointer)
        return 0

    cdef bint fits(self, tuple place, value) except -1:
        """Whether the value fits some shape of the place.

        Raises:
            UnsupportedSchema: a keyword decides that can't be enforced.
        """
        cdef Shape shape
        try:
            shapes = self.shapes_at(place)
        except CircularReference as error:
            message = "values that are judged by the schema they are listed in can't be enforced"
            raise UnsupportedSchema(error.pointer, "enum", message) from None
        self.depth += 1
        try:
            for shape in shapes:
                if self.fits_shape(shape, value):
                    return True
            return False
        finally:
            self.depth -= 1

    cdef bint fits_shape(self, Shape shape, value) except -1:
        cdef int kind = type_of(value)
        spend(self.budget, 1)
        self.checks += 1
        if self.checks > self.checks_limit:
            pointer = self.where.pointer() if self.keyword is None else self.where.at(self.keyword)
            raise LimitExceeded("value_checks", self.checks_limit, self.checks, pointer)
        if not shape.types & kind:
            return False
        shape.check(kind)
        if shape.values is not None:
            if kind & (ARRAY | OBJECT):
                spend(self.budget, size_of(value))
            return identity(value) in self.identities(shape.values)
        if kind == STRING:
            return shape.strings is None or self.string(shape.strings, value)
        if kind & NUMBER:
            return shape.numbers is None or is_within(shape.numbers, value)
        if kind == ARRAY:
            return shape.arrays is None or self.array(shape.arrays, value)
        return kind != OBJECT or shape.objects is None or self.members(shape.objects, value)

    cdef frozenset identities(self, tuple values):
        key = <size_t><void*>values
        if self._listed is None:
            self._listed = {}
        if key not in self._listed:
            self._listed[key] = values, frozenset([identity(value) for value in values])
        return self._listed[key][1]

    cdef bint string(self, Strings strings, str value) except -1:
        cdef Named each
        if len(value) < strings.minimum or (strings.maximum is not None and len(value) > strings.maximum):
            return False
        if value in strings.barred:
            return False
        # an automaton reads about so many characters in a microsecond
        spend(self.budget, (<Py_ssize_t>len(value) >> 6) * (
            <Py_ssize_t>len(strings.patterns) + <Py_ssize_t>len(strings.without)
            + <Py_ssize_t>len(strings.formats)))
        for each in strings.patterns:
            if not self.pattern(each).accepts(value):
                return False
        for each in strings.without:
            if self.pattern(each).accepts(value):
                return False
        for each in strings.formats:
            if len(value) > formats.MOST.get(each.text, len(value)):
                return False
            if not self.format(each, False).accepts(value):
                return False
        return True

    cdef bint matches(self, Named pattern, str text) except -1:
        spend(self.budget, 1 + (<Py_ssize_t>len(text) >> 6))
        return self.pattern(pattern).accepts(text)

    cdef bint array(self, Arrays arrays, list value) except -1:
        cdef Py_ssize_t number
        if len(value) < arrays.minimum or (arrays.maximum is not None and len(value) > arrays.maximum):
            return False
        for number in range(len(value)):
            place = arrays.prefix[number] if number < len(arrays.prefix) else arrays.rest
            if not self.fits(place, value[number]):
                return False
        if arrays.unique is not None and len({identity(item) for item in value}) < len(value):
            return False
        return self.counts(arrays, value)

    cdef bint counts(self, Arrays arrays, list value) except -1:
        cdef Count each
        for each in arrays.counts:
            n = sum([self.fits(each.place, item) for item in value[each.first :]])
            if n < each.minimum or (each.maximum is not None and n > each.maximum):
                return False
        return True

    cdef bint members(self, Objects objects, dict value) except -1:
        if len(value) < objects.minimum or (objects.maximum is not None and len(value) > objects.maximum):
            return False
        for name in objects.required:
            if name not in value:
                return False
        for name, item in value.items():
            if not self.fits(objects.place_of(name, self), item):
                return False
        return objects.is_plain() or self.keys(objects, value)

    cdef bint keys(self, Objects objects, dict value) except -1:
        """What is asked of keys, and of single members by their keys."""
        cdef Keyed each
        for name in value:
            if not self.fits(objects.names, name):
                return False
        for each in objects.some:
            for name, item in value.items():
                if each.has(name, self) and self.fits(each.place, item):
                    break
            else:
                return False
        return True

    cdef pattern(self, Named named):
        """The automaton of a searched pattern.

        Raises:
            as ``regex.build_search``.
        """
        return self.automaton(named.text, named)

    cdef format(self, Named named, bint short):
        """The automaton of a format, or of its short form."""
        return self.automaton((formats.SHORT if short else formats.PATTERNS)[named.text], named)

    cdef Tree tree(self, str pattern, Named named):
        """
        Raises:
            as ``regex_syntax.parse``.
        """
        if self._trees is None:
            self._trees = {}
        if pattern not in self._trees:
            self._trees[pattern] = parse(pattern, pointer=named.pointer(), limits=self.limits)
        return self._trees[pattern]

    cdef automaton(self, str pattern, Named named):
        cdef int64_t begun = spent(self.budget)
        if self._automata is None:
            self._automata = {}
        if self._paid is None:
            self._paid = set()
        known = self._automata.get(pattern)
        if known is None:
            bound = Bound(self.limits.pattern_states, named.pointer(), self.budget)
            found = search_automaton(self.tree(pattern, named), bound).minimal(bound)
            known = self._automata[pattern] = found, spent(self.budget) - begun
        elif pattern not in self._paid:
            spend(self.budget, known[1])
        self._paid.add(pattern)
        return known[0]

    # -- differences ------------------------------------------------------------------------------
    cdef bint are_disjoint(self, list groups) except -1:
        """Whether no value fits two of the groups, as far as ``PAIRS`` comparisons can tell."""
        cdef set seen = set(), own
        cdef Shape left, right
        cdef tuple group
        cdef list free = [], all_of = []
        cdef Py_ssize_t number = 0
        for group in groups:
            own = set()
            for left in group:
                if left.values:
                    own |= self.identities(left.values)
            if not seen.isdisjoint(own):
                return False
            seen |= own
        for group in groups:
            for left in group:
                all_of.append((number, left))
                if left.values is None:
                    free.append((number, left))
            number += 1
        if <Py_ssize_t>len(free) * <Py_ssize_t>len(all_of) > PAIRS:
            return False
        for a, left in free:
            for b, right in all_of:
                if a != b and not self.apart(left, right, DISTANCE):
                    return False
        return True

    cdef bint apart(self, Shape a, Shape b, int distance) except -1:
        cdef int common = a.types & b.types
        cdef Shape some, other
        spend(self.budget, 1)
        if not common:
            return True
        if a.values is not None or b.values is not None:
            some, other = (a, b) if a.values is not None else (b, a)
            for value in some.values:
                if self.fits_shape(other, value):
                    return False
            return True
        if common & (NULL_TYPE | BOOLEAN):
            return False
        if common & STRING and not strings_apart(a.strings, b.strings):
            return False
        if common & NUMBER and not numbers_apart(a.numbers, b.numbers):
            return False
        if common & ARRAY and not arrays_apart(a.arrays, b.arrays):
            return False
        return not common & OBJECT or self.objects_apart(a.objects, b.objects, distance)

    cdef bint objects_apart(self, Objects a, Objects b, int distance) except -1:
        """A name that either side requires, and at which both sides have nothing in common, tells
        them apart.
        """
        cdef Objects nothing
        if a is not None and b is not None and self.contents.members_apart(a, b):
            return True
        if distance == 0:
            return False
        nothing = new_objects({}, True, (), None, (), 0, None, None)
        a, b = a or nothing, b or nothing
        spend(self.budget, 1 + <Py_ssize_t>len(a.required) + <Py_ssize_t>len(b.required))
        for name in dict.fromkeys(a.required + b.required):
            if self.places_apart(a.place_of(name, self), b.place_of(name, self), distance - 1):
                return True
        return False

    cdef bint places_apart(self, tuple a, tuple b, int distance) except -1:
        cdef Shape left, right
        try:
            lefts, rights = self.shapes_at(a), self.shapes_at(b)
        except CircularReference:
            return False
        for left in lefts:
            for right in rights:
                if not self.apart(left, right, distance):
                    return False
        return True


cdef bint is_within(Numbers numbers, value) except -1:
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
    return value not in numbers.barred and is_multiple(numbers, value)


cdef bint is_multiple(Numbers numbers, value) except -1:
    """As decimals, which is how a number is written."""
    cdef object number
    cdef Named each
    if not numbers.multiples and not numbers.foreign:
        return True
    number = Fraction(Decimal(repr(value)))
    for each in numbers.multiples:
        if number % Fraction(each.text):
            return False
    for each in numbers.foreign:
        if not number % Fraction(each.text):
            return False
    return True


cdef bint lengths_apart(least_a, most_a, least_b, most_b) except -1:
    return (most_a is not None and most_a < least_b) or (most_b is not None and most_b < least_a)


cdef bint strings_apart(Strings a, Strings b) except -1:
    return a is not None and b is not None and lengths_apart(a.minimum, a.maximum, b.minimum, b.maximum)


cdef bint arrays_apart(Arrays a, Arrays b) except -1:
    return a is not None and b is not None and lengths_apart(a.minimum, a.maximum, b.minimum, b.maximum)


cdef bint numbers_apart(Numbers a, Numbers b) except -1:
    cdef Numbers nothing = new_numbers(None, False, None, False, (), (), ())
    return is_crossed(meet_numbers(a or nothing, b or nothing))
