"""The algebra of alternatives."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject

from ...native.pool cimport vector
from ...native.resources cimport spend, spent
from .evaluator cimport Evaluator, Hull
from .intersection cimport applies, both, intersect, disjoint_objects, place_of, texts_of, weight_of
from .schema_types cimport (
    ALL, ANYTHING, ANY_OF_THESE, ARRAY, BOOLEAN, FRACTION, INTEGER, NOT_THIS, NULL_TYPE, NUMBER, OBJECT, PLAIN_NUMBERS,
    STRING, TEXTS_PER_STEP, THIS_VALUE, Arrays, ConstraintText, Count, Derived, Keyed, Location, Numbers, Objects,
    Refusal, SchemaType, Strings, constraint_text, keyed_objects, listed, location_at, new_arrays, new_count,
    new_keyed, new_numbers, new_objects, new_type, new_strings, refusal, root_place, texts_in,
)

from ...errors import UnsupportedSchema
from . import formats
from .evaluator import CircularReference

cdef object WIDE = formats.WIDE
#: maximum texts of a list that become a pattern
cdef Py_ssize_t MAX_NAMES = 100

NOTHING_FITS = (root_place(False, ""),)


cdef bint is_false(tuple place) noexcept:
    """Whether the place contains the schema ``false``."""
    cdef Location each
    for each in place:
        if each.schema is False:
            return True
    return False


# a schema's intersections may take this fraction of the budget, 1 / n
cdef Py_ssize_t WORK_SHARE = 2
# levels of values that are searched for empty places
cdef Py_ssize_t LEVELS = 4


cdef enum:
    EMPTY = 99     # the result of a search, in place of the searched levels


class LookTooCostly(UnsupportedSchema):
    """A search for emptiness exceeded its budget; only the search itself catches it."""


cdef class TypeAlgebra(Evaluator):
    # -- places -----------------------------------------------------------------------------------
    cdef tuple negated(self, tuple place):
        """Return the place of all values that do not fit a place."""
        cdef Derived inner
        if not place:
            return NOTHING_FITS
        if is_false(place):
            return ()
        if len(place) == 1 and isinstance((<Location>place[0]).schema, Derived):
            inner = (<Location>place[0]).schema
            if inner.kind == NOT_THIS:
                return <tuple>inner.places[0]
        return self.derived(NOT_THIS, (place,))

    cdef tuple either(self, tuple places):
        """Return the place of values that fit one of several places."""
        if () in places:
            return ()
        return places[0] if len(places) == 1 else self.derived(ANY_OF_THESE, places)

    cdef tuple derived(self, int kind, tuple places):
        cdef Derived place_schema
        cdef Location each
        key = (kind, tuple([
            tuple([<size_t><void*>(<Location>each).schema for each in place]) for place in places]))
        if key not in self._derived:
            place_schema = Derived.__new__(Derived)
            place_schema.kind, place_schema.places = kind, places
            each = places[0][0]
            self._derived[key] = (root_place(place_schema, each.pointer()),)
        return self._derived[key]

    # -- complements ------------------------------------------------------------------------------------
    cdef list complement(self, SchemaType schema_type):
        cdef list parts = []
        cdef int types = schema_type.types
        cdef Refusal each
        if schema_type.values is not None:
            return self.other_values(schema_type.values)
        if types != ALL:
            parts.append(new_type(ALL & ~types, None, None, None, None, None, ()))
        for each in schema_type.refused:
            parts.append(new_type(each.types & types, None, None, None, None, None, (each,)))
            types &= ~each.types
        if types & STRING and schema_type.strings is not None:
            parts += self.other_strings(schema_type.strings)
        if types & NUMBER and schema_type.numbers is not None:
            parts += self.other_numbers(schema_type.numbers, types & NUMBER)
        if types & ARRAY and schema_type.arrays is not None:
            parts += self.other_arrays(schema_type.arrays)
        if types & OBJECT and schema_type.objects is not None:
            parts += self.other_objects(schema_type.objects)
        return parts

    cdef list other_values(self, tuple values):
        """Return the complement of listed values: scalars, or one array or object, which is treated as the schema that
        only it fits.
        """
        cdef int types = ALL
        cdef list numbers = [], strings = [], parts = []
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
            parts.append(listed((not booleans.pop(),)))
        if strings:
            texts = new_strings(0, None, (), (), (), tuple(strings))
            texts.where = self.listing_place()
        if numbers:
            others = new_numbers(None, False, None, False, (), (), tuple(numbers))
            others.where = self.listing_place()
        parts.append(new_type(types, None, texts, others, None, None, ()))
        return parts

    cdef Location listing_place(self):
        """Return the location of the values, for errors."""
        return self.where if self.keyword is None else location_at(None, self.where, self.keyword, None)

    cdef list other_container(self, value):
        if isinstance(value, list):
            places = tuple([self.constant(item) for item in value])
            arrays = new_arrays(places, NOTHING_FITS, len(value), len(value), (), None)
            return [new_type(ALL & ~ARRAY, None, None, None, None, None, ()), *self.other_arrays(arrays)]
        members = {name: self.constant(item) for name, item in value.items()}
        objects = new_objects(
            members, True, tuple(value), set(value), NOTHING_FITS, len(value), None, self.where)
        return [new_type(ALL & ~OBJECT, None, None, None, None, None, ()), *self.other_objects(objects)]

    cdef tuple constant(self, value):
        """Return the place of one value."""
        cdef Derived derived = Derived.__new__(Derived)
        derived.kind, derived.value = THIS_VALUE, value
        # places are identified by the addresses of their schemas
        self._constants.append(derived)
        return (root_place(derived, ""),)

    cdef tuple plain_numbers(self):
        cdef Derived derived
        if self._plain is None:
            derived = Derived.__new__(Derived)
            derived.kind = PLAIN_NUMBERS
            self._plain = (root_place(derived, ""),)
        return self._plain

    cdef list other_strings(self, Strings strings):
        cdef ConstraintText each
        cdef list parts = []
        if strings.minimum:
            parts.append(new_strings(0, strings.minimum - 1, (), (), (), ()))
        if strings.maximum is not None:
            parts.append(new_strings(strings.maximum + 1, None, (), (), (), ()))
        parts += [new_strings(0, None, (), (), (each,), ()) for each in strings.patterns]
        for each in strings.without:
            if each.keyword == "format":
                # the excluded pattern is wider than the format itself
                of = constraint_text((<dict>each.where.schema)["format"], each.where, "format")
                parts.append(new_strings(0, None, (), (of,), (), ()))
            else:
                parts.append(new_strings(0, None, (each,), (), (), ()))
        for each in strings.formats:
            if each.text in WIDE:
                pattern = constraint_text(WIDE[each.text], each.where, "format")
                parts.append(new_strings(0, None, (), (), (pattern,), ()))
        parts = [new_type(STRING, None, constraint, None, None, None, ()) for constraint in parts]
        for each in strings.formats:
            if each.text not in WIDE:
                message = f"the complement of the format {each.text!r} can't be enforced"
                refused = (refusal(STRING, each.where, "format", message),)
                parts.append(new_type(STRING, None, None, None, None, None, refused))
        if strings.barred:
            parts.append(listed(strings.barred))
        return parts

    cdef list other_numbers(self, Numbers numbers, int types):
        cdef list parts = []
        if numbers.low is not None:
            parts.append(new_numbers(None, False, numbers.low, not numbers.low_open, (), (), ()))
        if numbers.high is not None:
            parts.append(new_numbers(numbers.high, not numbers.high_open, None, False, (), (), ()))
        parts += [new_numbers(None, False, None, False, (), (each,), ()) for each in numbers.multiples]
        parts += [new_numbers(None, False, None, False, (each,), (), ()) for each in numbers.foreign]
        parts = [new_type(types, None, None, constraint, None, None, ()) for constraint in parts]
        barred = [value for value in numbers.barred if types & (
            INTEGER if isinstance(value, int) or value.is_integer() else FRACTION)]
        if barred:
            parts.append(listed(tuple(barred)))
        return parts

    cdef list other_arrays(self, Arrays arrays):
        """Return arrays that are too short, too long, or have a wrong item or number of items."""
        cdef list parts = []
        cdef Count each
        cdef Py_ssize_t n, prefix = len(arrays.prefix)
        if arrays.minimum:
            parts.append(new_arrays((), (), 0, arrays.minimum - 1, (), None))
        if arrays.maximum is not None:
            parts.append(new_arrays((), (), arrays.maximum + 1, None, (), None))
        for n in range(prefix):
            if arrays.prefix[n]:
                place = ((),) * n + (self.negated(<tuple>arrays.prefix[n]),)
                parts.append(new_arrays(place, (), n + 1, None, (), None))
        if is_false(arrays.rest):
            parts.append(new_arrays((), (), prefix + 1, None, (), None))
        elif arrays.rest:
            some = new_count(self.negated(arrays.rest), prefix, 1, None, arrays.rest[0])
            parts.append(new_arrays((), (), 0, None, (some,), None))
        for each in arrays.counts:
            if each.minimum:
                some = new_count(each.place, each.first, 0, each.minimum - 1, each.where)
                parts.append(new_arrays((), (), 0, None, (some,), None))
            if each.maximum is not None:
                some = new_count(each.place, each.first, each.maximum + 1, None, each.where)
                parts.append(new_arrays((), (), 0, None, (some,), None))
        parts = [new_type(ARRAY, None, None, None, constraint, None, ()) for constraint in parts]
        if arrays.unique is not None:
            message = "the complement of uniqueItems can't be enforced"
            refused = (refusal(ARRAY, arrays.unique, "uniqueItems", message),)
            parts.append(new_type(ARRAY, None, None, None, None, None, refused))
        return parts

    cdef list other_objects(self, Objects objects):
        """Return objects with a missing, an additional or a wrong member."""
        cdef list parts = []
        cdef Keyed each
        cdef frozenset names = frozenset(objects.properties)
        cdef Location where = objects.where
        if objects.minimum > len(objects.required):
            parts.append(new_objects({}, True, (), None, (), 0, objects.minimum - 1, where))
        if objects.maximum is not None:
            parts.append(new_objects({}, True, (), None, (), objects.maximum + 1, None, where))
        parts += [
            new_objects({name: NOTHING_FITS}, True, (), None, (), 0, None, where) for name in objects.required]
        for name, property in objects.properties.items():
            place = objects.place_in(name, property)
            if place:
                parts.append(new_objects(
                    {name: self.negated(place)}, True, (name,), {name}, (), 1, None, where))
        if objects.rest:
            parts.append(some_member(new_keyed((), False, names, self.negated(objects.rest)), where))
        for each in objects.keyed:
            if each.place:
                place = self.negated(each.place)
                parts.append(some_member(
                    new_keyed(each.patterns, each.is_match, each.excluded | names, place), where))
        for each in objects.some:
            made = new_objects({}, True, (), None, (), 0, None, where)
            place = self.negated(each.place)
            none = new_keyed(each.patterns, each.is_match, each.excluded, place)
            parts.append(keyed_objects(made, (none,), (), ()))
        parts = [new_type(OBJECT, None, None, None, None, constraint, ()) for constraint in parts]
        return parts + self.other_names(objects) if objects.names else parts

    # -- what is written -------------------------------------------------------------------------------
    cdef Objects written(self, Objects objects):
        """Return the objects as they are written: without additional keys, if they are to be closed and need none.

        Required keys that are not listed become listed ones.
        """
        cdef dict properties
        cdef Objects closed
        cdef bint is_intersection
        if objects is None or not (self.closes_objects and objects.lists_members and objects.is_plain()):
            return objects
        if objects.rules_others or objects.rest:
            return objects
        properties, is_intersection = objects.properties, objects.is_intersection
        unlisted = [name for name in objects.required if name not in properties]
        if objects.minimum > len(properties) + len(unlisted):
            return objects
        if unlisted:
            properties = {name: objects.place_in(name, property) for name, property in properties.items()}
            properties.update(dict.fromkeys(unlisted, ()))
            is_intersection = True
        self.has_closed = True
        closed = new_objects(
            properties, is_intersection, objects.required, objects.wanted, NOTHING_FITS, objects.minimum,
            objects.maximum, objects.where)
        closed.places = objects.places
        return closed

    cdef object most_of(self, Arrays arrays):
        """Return the largest number of items that is written; None: there is no bound."""
        if arrays is None:
            return self.most_items
        if arrays.maximum is not None or self.most_items is None or arrays.counts:
            return arrays.maximum
        return max(self.most_items, arrays.minimum)

    cdef list other_names(self, Objects objects):
        """Return objects with a wrong key, as far as patterns can describe it."""
        cdef SchemaType each
        cdef Location where = objects.where
        cdef list strings = [each for each in self.alternatives_at(objects.names) if each.types & STRING]
        patterns = key_patterns(strings, where) if len(strings) < 2 else None
        if patterns is None:
            message = "the complement of these keys can't be enforced"
            refused = (refusal(OBJECT, where, "propertyNames", message),)
            return [new_type(OBJECT, None, None, None, None, None, refused)]
        members = [some_member(new_keyed((key,), is_match, frozenset(), ()), where) for key, is_match in patterns]
        return [new_type(OBJECT, None, None, None, None, constraint, ()) for constraint in members]

    # -- intersection and subtraction -------------------------------------------------------------
    cdef tuple intersections(self, tuple left, tuple right, Location where, str keyword):
        """Return the intersections of all pairs. Errors name ``where`` or its keyword."""
        cdef SchemaType a, b, common
        cdef list intersected = []
        self.check_bound(len(left) * len(right) // INTERSECTIONS, where, keyword)
        self.add_work(weight_of_all(left) * len(right) + weight_of_all(right) * len(left), where, keyword)
        self.place(where, keyword)
        for a in left:
            if self.look_depth and spent(self.budget) > self.look_end:
                raise LookTooCostly("", "")
            for b in right:
                common = intersect(a, b, self)
                if common is not None:
                    intersected.append(common)
        alternatives = united(intersected)
        if len(left) > 1 and len(right) > 1:
            alternatives = without_subsumed(self.without_empty(alternatives), self)
        self.check_bound(len(alternatives), where, keyword)
        return alternatives

    cdef int add_work(self, Py_ssize_t work, Location where, str keyword) except -1:
        self.work += work
        if self.work > self.budget.limit // WORK_SHARE:
            most = self.budget.limit // WORK_SHARE
            message = f"more than {most:,} combinations of alternatives must be compared"
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        return 0

    cdef tuple subtract(self, tuple alternatives, tuple others, Location where, str keyword):
        """Return the values that fit one of the alternatives and none of the others."""
        cdef SchemaType other, part
        for other in others:
            for part in separate_parts(other):
                self.place(where, keyword)
                disjoint, others = self.split_disjoint(alternatives, part)
                if others:
                    common = self.intersections(others, tuple(self.complement(part)), where, keyword)
                    alternatives = without_subsumed(disjoint + self.without_empty(common), self)
        return alternatives

    cdef tuple split_disjoint(self, tuple alternatives, SchemaType part):
        """Return the alternatives that are seen to be disjoint from a type, and the others."""
        cdef SchemaType each
        cdef list disjoint = [], others = []
        for each in alternatives:
            if part.values is None and each.values is None and (
                not each.types & part.types
                or (each.types & part.types == OBJECT and disjoint_objects(each, part, self))
            ):
                disjoint.append(each)
            else:
                others.append(each)
        return tuple(disjoint), tuple(others)

    cdef tuple without_empty(self, tuple alternatives):
        return tuple([each for each in alternatives if not self.is_empty(<SchemaType>each)])

    cdef bint is_empty(self, SchemaType schema_type) except -1:
        """Whether a short search shows that no value fits: a required member, or a required item or member in any
        position, has no value.
        """
        cdef Objects objects = schema_type.objects
        cdef Hull hull
        cdef Keyed each
        if schema_type.values is not None:
            return False
        if schema_type.types == ARRAY and schema_type.arrays is not None:
            return self.has_empty_items(schema_type)
        if schema_type.types != OBJECT or objects is None:
            return False
        for name in objects.required:
            hull = self.facts.hull_of_member(objects, name)
            if not hull.types:
                return True
            if not hull.is_exact and self.is_empty_place(place_of(objects, name, self)):
                return True
        for each in objects.some:
            if is_false(objects.rest):
                for name in objects.properties:
                    if applies(each, name, self) and not is_false(place_of(objects, name, self)):
                        break
                else:
                    return True
        return False

    cdef bint has_empty_items(self, SchemaType schema_type) except -1:
        cdef Arrays arrays = schema_type.arrays
        cdef Count each
        cdef Py_ssize_t n
        for n in range(min(<Py_ssize_t>len(arrays.prefix), <Py_ssize_t>arrays.minimum)):
            if self.is_empty_place(<tuple>arrays.prefix[n]):
                return True
        for each in arrays.counts:
            if not each.minimum:
                continue
            places = [*arrays.prefix[each.first :], arrays.rest]
            spend(self.budget, 4 * <Py_ssize_t>len(places))
            if all([self.is_empty_place(both(<tuple>place, each.place, self)) for place in places]):
                return True
        return False

    cdef bint is_empty_place(self, tuple place) except -1:
        """Whether a place is empty. Only places of several schemas are searched: a single schema rarely is."""
        cdef Py_ssize_t levels = LEVELS - self.look_depth
        cdef Hull hull
        if is_false(place):
            return True
        if len(place) < 2:
            return False
        spend(self.budget, <Py_ssize_t>len(place) // 2)
        hull = self.facts.hull_of_place(place)
        if hull.is_exact or not hull.types:
            return not hull.types
        if self.is_contradiction(place):
            return True
        if levels == 0:
            return False
        key = place_key(place)
        known = self._empty_places.get(key)
        if known is None or known[1] < levels:
            known = place, EMPTY if self.look_for_values(place) else levels
            self._empty_places[key] = known
        return known[1] == EMPTY

    cdef bint look_for_values(self, tuple place) except -1:
        cdef int64_t begun = spent(self.budget)
        if self.look_depth == 0:
            self.look_end = begun + self.look_steps
        if begun >= self.look_end:
            return False
        self.look_depth += 1
        try:
            return not self.without_empty(self.alternatives_at(place))
        except (CircularReference, UnsupportedSchema):
            return False
        finally:
            self.look_depth -= 1
            if self.look_depth == 0:
                self.look_steps -= spent(self.budget) - begun

    cdef bint is_contradiction(self, tuple place) except -1:
        """Whether the place contains a schema and its negation."""
        cdef Location each, of
        cdef set known = None
        if len(place) < 2:
            return False
        for each in place:
            if isinstance(each.schema, Derived) and (<Derived>each.schema).kind == NOT_THIS:
                if known is None:
                    known = {self.facts.number(self.target(of).schema) for of in place}
                negated_schema = <tuple>(<Derived>each.schema).places[0]
                if known.issuperset([self.facts.number(self.target(of).schema) for of in negated_schema]):
                    return True
        return False

    cdef int check_bound(self, Py_ssize_t alternatives, Location where, str keyword) except -1:
        cdef Py_ssize_t most = self.limits.alternatives
        if alternatives > most:
            message = (
                f"{alternatives:,} or more combinations of alternatives at one location, at most {most:,} allowed"
            )
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        return 0


cdef Objects some_member(Keyed keyed, Location where):
    return keyed_objects(new_objects({}, True, (), None, (), 1, None, where), (), (), (keyed,))


cdef list key_patterns(list alternatives, Location where):
    """Return the complement of the keys of at most one alternative as (pattern, whether matching keys are wrong). None:
    patterns cannot describe it.
    """
    cdef Strings strings
    cdef list patterns = []
    if not alternatives:
        return [(constraint_text("", where, "propertyNames"), True)]
    if (<SchemaType>alternatives[0]).values is not None:
        texts = [value for value in (<SchemaType>alternatives[0]).values if isinstance(value, str)]
        return None if len(texts) > MAX_NAMES else [(texts_pattern(texts, where), False)]
    strings = (<SchemaType>alternatives[0]).strings
    if strings is None:
        return []
    if strings.formats or (<SchemaType>alternatives[0]).refused or len(strings.barred) > MAX_NAMES:
        return None
    if strings.maximum is not None and strings.maximum < strings.minimum:
        return [(constraint_text("", where, "propertyNames"), True)]
    if strings.minimum or strings.maximum is not None:
        patterns.append((length_pattern(where, strings.minimum, strings.maximum), False))
    patterns += [(each, False) for each in strings.patterns]
    patterns += [(each, True) for each in strings.without]
    if strings.barred:
        patterns.append((texts_pattern(list(strings.barred), where), True))
    return patterns


cdef ConstraintText length_pattern(Location where, minimum, maximum):
    return constraint_text(f"^[^]{{{minimum},{'' if maximum is None else maximum}}}$", where, "propertyNames")


cdef ConstraintText texts_pattern(list texts, Location where):
    """Return a pattern of exactly these texts, with characters as escapes."""
    spelled = ["".join([f"\\u{{{ord(c):x}}}" for c in text]) for text in texts]
    return constraint_text(f"^(?:{'|'.join(spelled)})$", where, "propertyNames")


# -- subsumption -----------------------------------------------------------------------------------

#: maximum alternatives that are compared with each other
cdef Py_ssize_t MAX_PAIRED = 400
# comparisons per microsecond: most end at the first constraint
cdef Py_ssize_t PAIRS = 8


cdef tuple without_subsumed(tuple alternatives, Evaluator evaluator):
    """Return the alternatives that no other one subsumes."""
    cdef Py_ssize_t i, j, n = len(alternatives)
    cdef list gone = [False] * n, rest = []
    if n < 2 or n > MAX_PAIRED:
        return alternatives
    for i in range(n):
        spend(evaluator.budget, 1 + n // PAIRS)
        for j in range(n):
            if i == j or gone[j]:
                continue
            if is_subsumed(<SchemaType>alternatives[i], <SchemaType>alternatives[j], evaluator):
                gone[i] = True
                break
        if not gone[i]:
            rest.append(alternatives[i])
    return tuple(rest) if len(rest) < n else alternatives


cdef bint is_subsumed(SchemaType a, SchemaType b, Evaluator evaluator) except -1:
    """Whether ``a`` is seen to imply ``b``: it has all constraints of ``b``."""
    cdef int types = a.types
    if types & ~b.types or a.values is not None or b.values is not None or b.refused:
        return False
    if b.evaluated is not a.evaluated:
        return False
    return (
        (not types & STRING or b.strings is None or has_strings(a.strings, b.strings, evaluator))
        and (not types & NUMBER or b.numbers is None or has_numbers(a.numbers, b.numbers))
        and (not types & ARRAY or b.arrays is None or has_arrays(a.arrays, b.arrays, evaluator))
        and (not types & OBJECT or b.objects is None or has_objects(a.objects, b.objects, evaluator))
    )


cdef bint is_within(least_a, most_a, least_b, most_b) except -1:
    """Whether the bounds of ``a`` are within those of ``b``."""
    return least_a >= least_b and (most_b is None or (most_a is not None and most_a <= most_b))


cdef bint has_texts(tuple a, tuple b) except -1:
    """Whether ``a`` contains all constraints of ``b``, by their texts."""
    if not b or a is b:
        return True
    # texts of one alternative differ
    return len(b) <= len(a) and texts_in(b) <= texts_in(a)


cdef bint has_place(tuple a, tuple b, Evaluator evaluator) except -1:
    """Whether ``a`` contains every schema of ``b``."""
    cdef Location each
    if not b or is_false(a):
        return True
    for each in b:
        if not evaluator.facts.holds(a, each.schema):
            return False
    return True


cdef bint has_all(tuple a, tuple b) except -1:
    """Whether ``a`` contains every object of ``b``, by identity."""
    return {id(each) for each in b} <= {id(each) for each in a}


cdef bint has_strings(Strings a, Strings b, Evaluator evaluator) except -1:
    if a is None or not is_within(a.minimum, a.maximum, b.minimum, b.maximum):
        return False
    spend(evaluator.budget, texts_of(a) // TEXTS_PER_STEP)
    return (
        has_texts(a.patterns, b.patterns) and has_texts(a.formats, b.formats)
        and has_texts(a.without, b.without) and (not b.barred or set(b.barred) <= set(a.barred))
    )


cdef bint has_numbers(Numbers a, Numbers b) except -1:
    if a is None:
        return False
    return (
        (b.low is None or (a.low is not None and (
            a.low > b.low or (a.low == b.low and (a.low_open or not b.low_open)))))
        and (b.high is None or (a.high is not None and (
            a.high < b.high or (a.high == b.high and (a.high_open or not b.high_open)))))
        and has_texts(a.multiples, b.multiples) and has_texts(a.foreign, b.foreign)
        and set(b.barred) <= set(a.barred) and b.is_plain <= a.is_plain
    )


cdef bint has_arrays(Arrays a, Arrays b, Evaluator evaluator) except -1:
    cdef Py_ssize_t n
    if a is None or not is_within(a.minimum, a.maximum, b.minimum, b.maximum):
        return False
    for n in range(max(len(a.prefix), len(b.prefix))):
        if not has_place(a.item(n), b.item(n), evaluator):
            return False
    return (
        has_place(a.rest, b.rest, evaluator) and has_all(a.counts, b.counts)
        and (b.unique is None or a.unique is not None))


cdef bint has_objects(Objects a, Objects b, Evaluator evaluator) except -1:
    cdef PyObject* own
    if a is None or (b.required and (a.wanted is None or not b.wanted <= a.wanted)):
        return False
    if not is_within(max(a.minimum, len(a.required)), a.maximum, b.minimum, b.maximum):
        return False
    spend(evaluator.budget, (weight_of(a) + weight_of(b)) // 2)
    for name, property in b.properties.items():
        own = PyDict_GetItemWithError(a.properties, name)
        if own != NULL and a.is_intersection == b.is_intersection and <object>own is property:
            continue
        if not has_place(place_of(a, name, evaluator), b.place_in(name, property), evaluator):
            return False
    for name, property in a.properties.items():
        if name not in b.properties:
            if not has_place(a.place_in(name, property), place_of(b, name, evaluator), evaluator):
                return False
    return (
        has_place(a.rest, b.rest, evaluator) and has_all(a.keyed, b.keyed) and has_place(a.names, b.names, evaluator)
        and has_all(a.some, b.some))


# -- weights, parts and unions -----------------------------------------------------------------------

cdef bytes place_key(tuple place):
    """Return the identities of its schemas, which the reader keeps alive."""
    cdef vector[size_t] addresses
    cdef Location each
    for each in place:
        addresses.push_back(<size_t><void*>each.schema)
    return <bytes>(<char*>addresses.data())[:sizeof(size_t) * addresses.size()]


cdef Py_ssize_t weight_of_all(tuple alternatives) except -1:
    """Return the approximate work of visiting them once; most weigh 1."""
    cdef SchemaType schema_type
    cdef Py_ssize_t n = <Py_ssize_t>len(alternatives)
    for schema_type in alternatives:
        if schema_type.objects is not None:
            n += (<Py_ssize_t>len(schema_type.objects.properties) + <Py_ssize_t>len(schema_type.objects.keyed)) // 8
        if schema_type.values is not None:
            n += <Py_ssize_t>len(schema_type.values) // 8
        if schema_type.arrays is not None:
            n += (<Py_ssize_t>len(schema_type.arrays.prefix) + <Py_ssize_t>len(schema_type.arrays.counts)) // 8
    return n


cdef str pointer_at(Location where, str keyword):
    return where.pointer() if keyword is None else where.at(keyword)


cdef str last_keyword(Location where):
    """Return the keyword above a location, for errors."""
    while where is not None and not where.keyword:
        where = where.above
    return "anyOf" if where is None else where.keyword


cdef list separate_parts(SchemaType schema_type):
    """Return the parts to subtract one by one: each array and object of a list separately."""
    cdef list scalars, containers
    if schema_type.values is None:
        return [schema_type]
    scalars = [value for value in schema_type.values if not isinstance(value, (list, dict))]
    containers = [listed((value,)) for value in schema_type.values if isinstance(value, (list, dict))]
    return [listed(tuple(scalars)), *containers] if scalars else containers


cdef tuple united(list alternatives):
    """Return alternatives without duplicates; listed values are merged, except those with evaluation."""
    cdef SchemaType schema_type
    cdef dict kept = {}
    cdef list values = []
    if len(alternatives) < 2:
        return tuple(alternatives)
    for schema_type in alternatives:
        if schema_type.values is not None and schema_type.evaluated is None:
            values.extend(schema_type.values)
        else:
            kept[<size_t><void*>schema_type] = schema_type
    if <size_t><void*>ANYTHING in kept and all([(<SchemaType>each).evaluated is None for each in kept.values()]):
        kept = {0: ANYTHING}
    if values:
        kept[1] = listed(tuple(values))
    return tuple(kept.values())
