"""Complements: see the header file."""

from .evaluate cimport Evaluator
from .schema_types cimport (
    ALL, ANY_OF_THESE, ARRAY, BOOLEAN, FRACTION, INTEGER, NOT_THIS, NULL_TYPE, NUMBER, OBJECT,
    PLAIN_NUMBERS, STRING, THIS_VALUE, Arrays, Count, Derived, Keyed, Located, Named, Numbers,
    Objects, Refusal, Shape, Strings, keyed_objects, listed, located, named, new_arrays, new_count,
    new_keyed, new_numbers, new_objects, new_shape, new_strings, refusal, root_place,
)

from . import formats

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
