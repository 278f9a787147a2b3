"""Complements: see the header file."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...native.resources cimport spend, spent
from .evaluator cimport Evaluator, Hull
from .schema_types cimport (
    ALL, ANYTHING, ANY_OF_THESE, ARRAY, BOOLEAN, FRACTION, INTEGER, NOT_THIS, NULL_TYPE, NUMBER,
    OBJECT, PLAIN_NUMBERS, STRING, THIS_VALUE, Arrays, Count, Derived, Judge, Keyed, Located, Named,
    Numbers, Objects, Refusal, Shape, Strings, both, keyed_objects, listed, located, meet, named,
    new_arrays, new_count, new_keyed, new_numbers, new_objects, new_shape, new_strings,
    objects_apart, refusal, root_place, weight_of,
)

from ...errors import UnsupportedSchema
from . import formats
from .evaluator import CircularReference

cdef object WIDE = formats.WIDE
#: the texts of a list become a pattern up to so many
cdef Py_ssize_t MOST_NAMES = 100

NOTHING_FITS = (root_place(False, ""),)


cdef bint is_false(tuple place) noexcept:
    """Whether it is seen at once that nothing fits."""
    cdef Located each
    for each in place:
        if each.schema is False:
            return True
    return False


cdef class Complements(Evaluator):
    # -- places -----------------------------------------------------------------------------------
    cdef tuple negated(self, tuple place):
        """The place of all that does not fit a place."""
        cdef Derived inner
        if not place:
            return NOTHING_FITS
        if is_false(place):
            return ()
        if len(place) == 1 and isinstance((<Located>place[0]).schema, Derived):
            inner = (<Located>place[0]).schema
            if inner.kind == NOT_THIS:
                return <tuple>inner.places[0]
        return self.derived(NOT_THIS, (place,))

    cdef tuple either(self, tuple places):
        """The place of what fits one of several places."""
        if () in places:
            return ()
        return places[0] if len(places) == 1 else self.derived(ANY_OF_THESE, places)

    cdef tuple derived(self, int kind, tuple places):
        cdef Derived made
        cdef Located each
        key = (kind, tuple([
            tuple([<size_t><void*>(<Located>each).schema for each in place]) for place in places]))
        if self._derived is None:
            self._derived = {}
        if key not in self._derived:
            made = Derived.__new__(Derived)
            made.kind, made.places = kind, places
            each = places[0][0]
            self._derived[key] = (root_place(made, each.pointer()),)
        return self._derived[key]

    # -- shapes -----------------------------------------------------------------------------------
    cdef list complement(self, Shape shape):
        cdef list found = []
        cdef int types = shape.types
        cdef Refusal each
        if shape.values is not None:
            return self.other_values(shape.values)
        if types != ALL:
            found.append(new_shape(ALL & ~types, None, None, None, None, None, ()))
        for each in shape.refused:
            found.append(new_shape(each.types & types, None, None, None, None, None, (each,)))
            types &= ~each.types
        if types & STRING and shape.strings is not None:
            found += self.other_strings(shape.strings)
        if types & NUMBER and shape.numbers is not None:
            found += self.other_numbers(shape.numbers, types & NUMBER)
        if types & ARRAY and shape.arrays is not None:
            found += self.other_arrays(shape.arrays)
        if types & OBJECT and shape.objects is not None:
            found += self.other_objects(shape.objects)
        return found

    cdef list other_values(self, tuple values):
        """All but the listed values, which are scalars, or one array or object: that is taken for the
        schema that only it fits.
        """
        cdef int types = ALL
        cdef list numbers = [], strings = [], found = []
        cdef set booleans = set()
        cdef Strings texts = None
        cdef Numbers others = None
        for value in values:
            if isinstance(value, (list, dict)):
                return self.other_container(value)
            if value is None:
                types &= ~NULL_TYPE
            elif isinstance(value, bool):
                booleans.add(value)
                types &= ~BOOLEAN
            elif isinstance(value, str):
                strings.append(value)
            else:
                numbers.append(value)
        if len(booleans) == 1:
            found.append(listed((not booleans.pop(),)))
        if strings:
            texts = new_strings(0, None, (), (), (), tuple(strings))
            texts.where = self.listing_place()
        if numbers:
            others = new_numbers(None, False, None, False, (), (), tuple(numbers))
            others.where = self.listing_place()
        found.append(new_shape(types, None, texts, others, None, None, ()))
        return found

    cdef Located listing_place(self):
        """Where the values stand, for errors."""
        return self.where if self.keyword is None else located(None, self.where, self.keyword, None)

    cdef list other_container(self, value):
        if isinstance(value, list):
            places = tuple([self.constant(item) for item in value])
            arrays = new_arrays(places, NOTHING_FITS, len(value), len(value), (), None)
            return [new_shape(ALL & ~ARRAY, None, None, None, None, None, ()), *self.other_arrays(arrays)]
        members = {name: self.constant(item) for name, item in value.items()}
        objects = new_objects(
            members, True, tuple(value), set(value), NOTHING_FITS, len(value), None, self.where)
        return [new_shape(ALL & ~OBJECT, None, None, None, None, None, ()), *self.other_objects(objects)]

    cdef tuple constant(self, value):
        """The place of one value."""
        cdef Derived made = Derived.__new__(Derived)
        made.kind, made.value = THIS_VALUE, value
        if self._constants is None:
            self._constants = []
        # places are known by the identities of their schemas
        self._constants.append(made)
        return (root_place(made, ""),)

    cdef tuple plain_numbers(self):
        cdef Derived made
        if self._plain is None:
            made = Derived.__new__(Derived)
            made.kind = PLAIN_NUMBERS
            self._plain = (root_place(made, ""),)
        return self._plain

    cdef list other_strings(self, Strings strings):
        cdef Named each
        cdef list found = []
        if strings.minimum:
            found.append(new_strings(0, strings.minimum - 1, (), (), (), ()))
        if strings.maximum is not None:
            found.append(new_strings(strings.maximum + 1, None, (), (), (), ()))
        for each in strings.patterns:
            found.append(new_strings(0, None, (), (), (each,), ()))
        for each in strings.without:
            if each.keyword == "format":
                # it is a wider pattern than the format, whose own is the narrower one
                of = named((<dict>each.where.schema)["format"], each.where, "format")
                found.append(new_strings(0, None, (), (of,), (), ()))
            else:
                found.append(new_strings(0, None, (each,), (), (), ()))
        for each in strings.formats:
            if each.text in WIDE:
                pattern = named(WIDE[each.text], each.where, "format")
                found.append(new_strings(0, None, (), (), (pattern,), ()))
        found = [new_shape(STRING, None, facet, None, None, None, ()) for facet in found]
        for each in strings.formats:
            if each.text not in WIDE:
                message = f"what is not of the format {each.text!r} can't be enforced"
                refused = (refusal(STRING, each.where, "format", message),)
                found.append(new_shape(STRING, None, None, None, None, None, refused))
        if strings.barred:
            found.append(listed(strings.barred))
        return found

    cdef list other_numbers(self, Numbers numbers, int types):
        cdef list found = []
        if numbers.low is not None:
            found.append(new_numbers(None, False, numbers.low, not numbers.low_open, (), (), ()))
        if numbers.high is not None:
            found.append(new_numbers(numbers.high, not numbers.high_open, None, False, (), (), ()))
        for each in numbers.multiples:
            found.append(new_numbers(None, False, None, False, (), (each,), ()))
        for each in numbers.foreign:
            found.append(new_numbers(None, False, None, False, (each,), (), ()))
        found = [new_shape(types, None, None, facet, None, None, ()) for facet in found]
        barred = [value for value in numbers.barred if types & (
            INTEGER if isinstance(value, int) or value.is_integer() else FRACTION)]
        if barred:
            found.append(listed(tuple(barred)))
        return found

    cdef list other_arrays(self, Arrays arrays):
        """Too short, too long, or one item or number of items is wrong."""
        cdef list found = []
        cdef Count each
        cdef Py_ssize_t n, prefix = len(arrays.prefix)
        if arrays.minimum:
            found.append(new_arrays((), (), 0, arrays.minimum - 1, (), None))
        if arrays.maximum is not None:
            found.append(new_arrays((), (), arrays.maximum + 1, None, (), None))
        for n in range(prefix):
            if arrays.prefix[n]:
                place = ((),) * n + (self.negated(<tuple>arrays.prefix[n]),)
                found.append(new_arrays(place, (), n + 1, None, (), None))
        if is_false(arrays.rest):
            found.append(new_arrays((), (), prefix + 1, None, (), None))
        elif arrays.rest:
            some = new_count(self.negated(arrays.rest), prefix, 1, None, arrays.rest[0])
            found.append(new_arrays((), (), 0, None, (some,), None))
        for each in arrays.counts:
            if each.minimum:
                some = new_count(each.place, each.first, 0, each.minimum - 1, each.where)
                found.append(new_arrays((), (), 0, None, (some,), None))
            if each.maximum is not None:
                some = new_count(each.place, each.first, each.maximum + 1, None, each.where)
                found.append(new_arrays((), (), 0, None, (some,), None))
        found = [new_shape(ARRAY, None, None, None, facet, None, ()) for facet in found]
        if arrays.unique is not None:
            message = "what has equal items can't be enforced"
            refused = (refusal(ARRAY, arrays.unique, "uniqueItems", message),)
            found.append(new_shape(ARRAY, None, None, None, None, None, refused))
        return found

    cdef list other_objects(self, Objects objects):
        """A member is missing, one too many, or wrong."""
        cdef list found = []
        cdef Keyed each
        cdef frozenset names = frozenset(objects.properties)
        cdef Located where = objects.where
        if objects.minimum > len(objects.required):
            found.append(new_objects({}, True, (), None, (), 0, objects.minimum - 1, where))
        if objects.maximum is not None:
            found.append(new_objects({}, True, (), None, (), objects.maximum + 1, None, where))
        for name in objects.required:
            found.append(new_objects({name: NOTHING_FITS}, True, (), None, (), 0, None, where))
        for name, property in objects.properties.items():
            place = objects.place_in(name, property)
            if place:
                found.append(new_objects(
                    {name: self.negated(place)}, True, (name,), {name}, (), 1, None, where))
        if objects.rest:
            found.append(some_member(new_keyed((), False, names, self.negated(objects.rest)), where))
        for each in objects.keyed:
            if each.place:
                place = self.negated(each.place)
                found.append(some_member(
                    new_keyed(each.patterns, each.is_match, each.excluded | names, place), where))
        for each in objects.some:
            made = new_objects({}, True, (), None, (), 0, None, where)
            place = self.negated(each.place)
            none = new_keyed(each.patterns, each.is_match, each.excluded, place)
            found.append(keyed_objects(made, (none,), (), ()))
        found = [new_shape(OBJECT, None, None, None, None, facet, ()) for facet in found]
        return found + self.other_names(objects) if objects.names else found

    cdef list other_names(self, Objects objects):
        """Some key does not fit: as far as patterns can say so."""
        cdef Shape shape
        cdef list found = [], strings = []
        cdef Located where = objects.where
        for shape in self.shapes_at(objects.names):
            if shape.types & STRING:
                strings.append(shape)
        patterns = key_patterns(strings, where) if len(strings) < 2 else None
        if patterns is None:
            message = "keys that do not fit can't be enforced"
            refused = (refusal(OBJECT, where, "propertyNames", message),)
            return [new_shape(OBJECT, None, None, None, None, None, refused)]
        for pattern, is_match in patterns:
            facet = some_member(new_keyed((pattern,), is_match, frozenset(), ()), where)
            found.append(new_shape(OBJECT, None, None, None, None, facet, ()))
        return found


cdef Objects some_member(Keyed keyed, Located where):
    return keyed_objects(new_objects({}, True, (), None, (), 1, None, where), (), (), (keyed,))


cdef list key_patterns(list shapes, Located where):
    """What the keys of none or one alternative look like, in negative: (pattern, whether a key that
    matches it is one that does not fit). None: patterns can't say it.
    """
    cdef Strings strings
    cdef Named each
    cdef list found = []
    if not shapes:
        return [(named("", where, "propertyNames"), True)]
    if (<Shape>shapes[0]).values is not None:
        texts = [value for value in (<Shape>shapes[0]).values if isinstance(value, str)]
        return None if len(texts) > MOST_NAMES else [(texts_pattern(texts, where), False)]
    strings = (<Shape>shapes[0]).strings
    if strings is None:
        return []
    if strings.formats or (<Shape>shapes[0]).refused or len(strings.barred) > MOST_NAMES:
        return None
    if strings.maximum is not None and strings.maximum < strings.minimum:
        return [(named("", where, "propertyNames"), True)]
    if strings.minimum or strings.maximum is not None:
        found.append((length_pattern(where, strings.minimum, strings.maximum), False))
    for each in strings.patterns:
        found.append((each, False))
    for each in strings.without:
        found.append((each, True))
    if strings.barred:
        found.append((texts_pattern(list(strings.barred), where), True))
    return found


cdef Named length_pattern(Located where, minimum, maximum):
    return named(f"^[^]{{{minimum},{'' if maximum is None else maximum}}}$", where, "propertyNames")


cdef Named texts_pattern(list texts, Located where):
    """A pattern of exactly these texts; characters are written by their numbers."""
    spelled = ["".join([f"\\u{{{ord(c):x}}}" for c in text]) for text in texts]
    return named(f"^(?:{'|'.join(spelled)})$", where, "propertyNames")


# -- subsumption -----------------------------------------------------------------------------------

#: alternatives that are compared with each other
cdef Py_ssize_t MOST = 400
# comparisons that take about a microsecond: most end at the first facet
cdef Py_ssize_t PAIRS = 8


cdef tuple absorbed(tuple shapes, Judge judge):
    """The alternatives without those that lie within another one."""
    cdef Py_ssize_t i, j, n = len(shapes)
    cdef list gone = [False] * n, found = []
    if n < 2 or n > MOST:
        return shapes
    for i in range(n):
        spend(judge.budget, 1 + n // PAIRS)
        for j in range(n):
            if i != j and not gone[j] and is_within_shape(<Shape>shapes[i], <Shape>shapes[j], judge):
                gone[i] = True
                break
        if not gone[i]:
            found.append(shapes[i])
    return tuple(found) if len(found) < n else shapes


cdef bint is_within_shape(Shape a, Shape b, Judge judge) except -1:
    """Whether ``a`` is seen to lie within ``b``: all that ``b`` asks, ``a`` asks, too."""
    cdef int types = a.types
    if types & ~b.types or a.values is not None or b.values is not None or b.refused:
        return False
    if b.evaluated is not a.evaluated:
        return False
    return (
        (not types & STRING or b.strings is None or has_strings(a.strings, b.strings))
        and (not types & NUMBER or b.numbers is None or has_numbers(a.numbers, b.numbers))
        and (not types & ARRAY or b.arrays is None or has_arrays(a.arrays, b.arrays, judge))
        and (not types & OBJECT or b.objects is None or has_objects(a.objects, b.objects, judge))
    )


cdef bint reaches(least_a, most_a, least_b, most_b) except -1:
    """Whether the bounds of ``a`` lie within those of ``b``."""
    return least_a >= least_b and (most_b is None or (most_a is not None and most_a <= most_b))


cdef bint has_named(tuple a, tuple b) except -1:
    cdef Named each
    if not b:
        return True
    texts = {(<Named>each).text for each in a}
    for each in b:
        if each.text not in texts:
            return False
    return True


cdef bint has_place(tuple a, tuple b, Judge judge) except -1:
    """Whether ``a`` holds every schema of ``b``."""
    cdef Located each
    if not b or is_false(a):
        return True
    for each in b:
        if not judge.holds(a, each.schema):
            return False
    return True


cdef bint has_all(tuple a, tuple b) except -1:
    """By identity."""
    return {id(each) for each in b} <= {id(each) for each in a}


cdef bint has_strings(Strings a, Strings b) except -1:
    if a is None:
        return False
    return (
        reaches(a.minimum, a.maximum, b.minimum, b.maximum)
        and has_named(a.patterns, b.patterns) and has_named(a.formats, b.formats)
        and has_named(a.without, b.without) and set(b.barred) <= set(a.barred)
    )


cdef bint has_numbers(Numbers a, Numbers b) except -1:
    if a is None:
        return False
    return (
        (b.low is None or (a.low is not None and (
            a.low > b.low or (a.low == b.low and (a.low_open or not b.low_open)))))
        and (b.high is None or (a.high is not None and (
            a.high < b.high or (a.high == b.high and (a.high_open or not b.high_open)))))
        and has_named(a.multiples, b.multiples) and has_named(a.foreign, b.foreign)
        and set(b.barred) <= set(a.barred) and b.is_plain <= a.is_plain
    )


cdef bint has_arrays(Arrays a, Arrays b, Judge judge) except -1:
    cdef Py_ssize_t n
    if a is None or not reaches(a.minimum, a.maximum, b.minimum, b.maximum):
        return False
    for n in range(max(len(a.prefix), len(b.prefix))):
        if not has_place(
            <tuple>a.prefix[n] if n < len(a.prefix) else a.rest,
            <tuple>b.prefix[n] if n < len(b.prefix) else b.rest,
            judge,
        ):
            return False
    return (
        has_place(a.rest, b.rest, judge) and has_all(a.counts, b.counts)
        and (b.unique is None or a.unique is not None))


cdef bint has_objects(Objects a, Objects b, Judge judge) except -1:
    cdef PyObject* own
    if a is None or (b.required and (a.wanted is None or not b.wanted <= a.wanted)):
        return False
    if not reaches(max(a.minimum, len(a.required)), a.maximum, b.minimum, b.maximum):
        return False
    spend(judge.budget, (weight_of(a) + weight_of(b)) // 2)
    for name, property in b.properties.items():
        own = PyDict_GetItemWithError(a.properties, name)
        if own != NULL and a.has_met == b.has_met and <object>own is property:
            continue
        if not has_place(a.place_of(name, judge), b.place_in(name, property), judge):
            return False
    for name, property in a.properties.items():
        if name not in b.properties and not has_place(a.place_in(name, property), b.place_of(name, judge), judge):
            return False
    return (
        has_place(a.rest, b.rest, judge) and has_all(a.keyed, b.keyed) and has_place(a.names, b.names, judge)
        and has_all(a.some, b.some))


# -- intersection ----------------------------------------------------------------------------------

# pairs of alternatives that are looked at for each one that may be left
cdef Py_ssize_t INTERSECTIONS = 16
# the part of the budget that a schema's intersections may take, one in so many
cdef Py_ssize_t WORK_SHARE = 2
# levels of values that are looked into for places that nothing fits
cdef Py_ssize_t LEVELS = 4


cdef enum:
    EMPTY = 99     # of a look: what a place is; or else the levels that were looked at


class LookTooCostly(UnsupportedSchema):
    """A look into a place gave up; nobody but the look hears of it."""


cdef class Intersection(Complements):
    cdef tuple read(self, Located where):
        """The alternatives of a schema."""
        raise NotImplementedError

    cdef Located target(self, Located where):
        """Where a schema leads that is nothing but a reference."""
        raise NotImplementedError

    cdef tuple intersections(self, tuple left, tuple right, Located where, str keyword):
        """Errors name ``where``, or its keyword."""
        cdef Shape a, b, met
        cdef list found = []
        self.check_bound(len(left) * len(right) // INTERSECTIONS, where, keyword)
        self.add_work(weight_of_all(left) * len(right) + weight_of_all(right) * len(left), where, keyword)
        self.place(where, keyword)
        for a in left:
            if self.looking and spent(self.budget) > self.look_end:
                raise LookTooCostly("", "")
            for b in right:
                met = meet(a, b, self)
                if met is not None:
                    found.append(met)
        shapes = united(found)
        if len(left) > 1 and len(right) > 1:
            shapes = absorbed(self.not_void(shapes), self)
        self.check_bound(len(shapes), where, keyword)
        return shapes

    cdef int add_work(self, Py_ssize_t work, Located where, str keyword) except -1:
        self.work += work
        if self.work > self.budget.limit // WORK_SHARE:
            most = self.budget.limit // WORK_SHARE
            message = f"more than {most:,} combinations of alternatives to be looked at"
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        return 0

    cdef tuple subtract(self, tuple shapes, tuple others, Located where, str keyword):
        """What fits one of the shapes, and none of the others."""
        cdef Shape other, part
        for other in others:
            for part in separated(other):
                self.place(where, keyword)
                apart, others = self.parted(shapes, part)
                if others:
                    met = self.intersections(others, tuple(self.complement(part)), where, keyword)
                    shapes = absorbed(apart + self.not_void(met), self)
        return shapes

    cdef tuple parted(self, tuple shapes, Shape part):
        """Those that are seen to have nothing in common with a shape, and the others."""
        cdef Shape each
        cdef list apart = [], others = []
        for each in shapes:
            if part.values is None and each.values is None and (
                not each.types & part.types
                or (each.types & part.types == OBJECT and objects_apart(each, part, self))
            ):
                apart.append(each)
            else:
                others.append(each)
        return tuple(apart), tuple(others)

    cdef tuple not_void(self, tuple shapes):
        cdef Shape shape
        cdef list found = []
        for shape in shapes:
            if not self.is_void(shape):
                found.append(shape)
        return tuple(found)

    cdef bint is_void(self, Shape shape) except -1:
        """Whether it is seen at a short look that nothing fits: a required member, or an item or a
        member that must be somewhere, has no value.
        """
        cdef Objects objects = shape.objects
        cdef Hull hull
        cdef Keyed each
        if shape.values is not None:
            return False
        if shape.types == ARRAY and shape.arrays is not None:
            return self.has_void_items(shape)
        if shape.types != OBJECT or objects is None:
            return False
        for name in objects.required:
            hull = self.contents.hull_of_member(objects, name)
            if not hull.types:
                return True
            if not hull.is_exact and self.is_void_place(objects.place_of(name, self)):
                return True
        for each in objects.some:
            if is_false(objects.rest):
                for name in objects.properties:
                    if each.has(name, self) and not is_false(objects.place_of(name, self)):
                        break
                else:
                    return True
        return False

    cdef bint has_void_items(self, Shape shape) except -1:
        cdef Arrays arrays = shape.arrays
        cdef Count each
        cdef Py_ssize_t n
        for n in range(min(<Py_ssize_t>len(arrays.prefix), <Py_ssize_t>arrays.minimum)):
            if self.is_void_place(<tuple>arrays.prefix[n]):
                return True
        for each in arrays.counts:
            if not each.minimum:
                continue
            places = [*arrays.prefix[each.first :], arrays.rest]
            if all([self.is_void_place(both(<tuple>place, each.place, self)) for place in places]):
                return True
        return False

    cdef bint is_void_place(self, tuple place) except -1:
        """Places of several schemas only: few people write one that nothing fits."""
        cdef Py_ssize_t levels = LEVELS - self.looking
        cdef Hull hull
        if is_false(place):
            return True
        if len(place) < 2:
            return False
        hull = self.contents.hull_of_place(place)
        if hull.is_exact or not hull.types:
            return not hull.types
        if self.is_contradiction(place):
            return True
        if levels == 0:
            return False
        key = place_key(place)
        if self._voids is None:
            self._voids = {}
        known = self._voids.get(key)
        if known is None or known[1] < levels:
            known = place, EMPTY if self.look_into(place) else levels
            self._voids[key] = known
        return known[1] == EMPTY

    cdef bint look_into(self, tuple place) except -1:
        cdef int64_t begun = spent(self.budget)
        if self.looking == 0:
            self.look_end = begun + self.looks_left
        if begun >= self.look_end:
            return False
        self.looking += 1
        try:
            return not self.not_void(self.shapes_at(place))
        except (CircularReference, UnsupportedSchema):
            return False
        finally:
            self.looking -= 1
            if self.looking == 0:
                self.looks_left -= spent(self.budget) - begun

    cdef bint is_contradiction(self, tuple place) except -1:
        """Whether it asks for a schema and for its opposite."""
        cdef Located each, of
        cdef set known = None
        if len(place) < 2:
            return False
        for each in place:
            if isinstance(each.schema, Derived) and (<Derived>each.schema).kind == NOT_THIS:
                if known is None:
                    known = {self.contents.number(self.target(of).schema) for of in place}
                opposite = <tuple>(<Derived>each.schema).places[0]
                if known.issuperset([self.contents.number(self.target(of).schema) for of in opposite]):
                    return True
        return False

    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1:
        cdef Py_ssize_t most = self.limits.alternatives
        if shapes > most:
            message = (
                f"{shapes:,} or more combinations of alternatives at one place; {most:,} can be enforced"
            )
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        return 0


cdef tuple place_key(tuple place):
    """The identities of its schemas, which live as long as the reader."""
    cdef Located each
    return tuple([<size_t><void*>each.schema for each in place])


cdef Py_ssize_t weight_of_all(tuple shapes) except -1:
    """About how much it takes to look at them once; most are 1."""
    cdef Shape shape
    cdef Py_ssize_t n = <Py_ssize_t>len(shapes)
    for shape in shapes:
        if shape.objects is not None:
            n += (<Py_ssize_t>len(shape.objects.properties) + <Py_ssize_t>len(shape.objects.keyed)) // 8
        if shape.values is not None:
            n += <Py_ssize_t>len(shape.values) // 8
    return n


cdef str pointer_at(Located where, str keyword):
    return where.pointer() if keyword is None else where.at(keyword)


cdef str last_keyword(Located where):
    """The keyword that a place stands under, for errors."""
    while where is not None and not where.keyword:
        where = where.above
    return "anyOf" if where is None else where.keyword


cdef list separated(Shape shape):
    """The parts that are subtracted one after the other: each array and object of a list by itself."""
    cdef list scalars, found
    if shape.values is None:
        return [shape]
    scalars = [value for value in shape.values if not isinstance(value, (list, dict))]
    found = [listed((value,)) for value in shape.values if isinstance(value, (list, dict))]
    return [listed(tuple(scalars)), *found] if scalars else found


cdef tuple united(list shapes):
    """Shapes without repetitions; all listed values in one, but those that know what was evaluated."""
    cdef Shape shape
    cdef dict kept = {}
    cdef list values = []
    if len(shapes) < 2:
        return tuple(shapes)
    for shape in shapes:
        if shape.values is not None and shape.evaluated is None:
            values.extend(shape.values)
        else:
            kept[<size_t><void*>shape] = shape
    if <size_t><void*>ANYTHING in kept and all([(<Shape>each).evaluated is None for each in kept.values()]):
        kept = {0: ANYTHING}
    if values:
        kept[1] = listed(tuple(values))
    return tuple(kept.values())
