"""Applicators: see the header file."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ...native.hashing cimport MISSING, map_get, map_put
from .document cimport (
    ADDITIONAL, ADDITIONAL_ITEMS, ALL_OF, ANY_OF, BASE, CONST, CONTAINS, DEPENDENCIES,
    DEPENDENT_REQUIRED, DEPENDENT_SCHEMAS, DYNAMIC_REFERENCE, ELSE_, ENUM, EXCLUSIVE_MAXIMUM,
    EXCLUSIVE_MINIMUM, FORMAT, IF_, ITEMS, MAXIMUM, MAX_CONTAINS, MAX_ITEMS, MAX_LENGTH,
    MAX_PROPERTIES, MINIMUM, MIN_CONTAINS, MIN_ITEMS, MIN_LENGTH, MIN_PROPERTIES, MULTIPLE_OF, NOT,
    NULLABLE, ONE_OF, PATTERN, PATTERN_PROPERTIES, PREFIX_ITEMS, PROPERTIES, PROPERTY_NAMES,
    RECURSIVE_REFERENCE, REFERENCE, REQUIRED, THEN_, TYPE, UNEVALUATED_ITEMS,
    UNEVALUATED_PROPERTIES, UNIQUE_ITEMS, KeywordsC, References, bit, composed, count, decimal,
    escape, has, is_reference, kind_of, listing, names_of, of_arrays, of_numbers, of_objects,
    of_strings, scan, types_of, value_of,
)
from .evaluator cimport Evaluator, has_surrogate, new_contents
from .intersection cimport NOTHING_FITS, Intersection, absorbed, place_key, united
from .schema_types cimport (
    ALL, ANYTHING, ANYTHING_ONLY, ANY_OF_THESE, ARRAY, FRACTION, NOT_THIS, NULL_TYPE, NUMBER,
    OBJECT, PLAIN_NUMBERS, STRING, THIS_VALUE, Arrays, Derived, Evaluated, Keyed, Located, Named,
    Numbers, Objects, Shape, Strings, both, keyed_objects, listed, located, meet, named, new_arrays,
    new_count, new_evaluated, new_keyed, new_numbers, new_objects, new_shape, new_strings, place_at,
    refusal, with_evaluated, without_evaluated,
)

from ...errors import LimitExceeded, SpecError
from . import formats
from .evaluator import CircularReference

# integers of fewer digits than any bound on their length
cdef long SAFE = 1 << 53


cdef class Composition(Intersection):
    cdef tuple within(self, Located where, tuple shapes):
        """What a schema leaves of shapes."""
        raise NotImplementedError

    cdef tuple without(self, Located where, tuple shapes):
        """What is left of shapes without what fits a schema."""
        raise NotImplementedError

    cdef tuple compose(self, KeywordsC* found, Located where, tuple shapes):
        """What the applicators leave of a schema's own shapes, references and what is unevaluated
        aside.
        """
        cdef Located branch
        for branch in branches_of(found, ALL_OF, "allOf", where):
            shapes = self.within(branch, shapes)
        if has(found, ANY_OF):
            shapes = self.branched(found, ANY_OF, "anyOf", where, shapes)
        if has(found, ONE_OF):
            shapes = self.branched(found, ONE_OF, "oneOf", where, shapes)
        if has(found, IF_):
            shapes = self.conditional(found, where, shapes)
        for name, value, keyword in dependencies_of(found, where):
            shapes = self.depending(name, value, keyword, where, shapes)
        if has(found, NOT):
            shapes = self.negation(located(<object>found.value[NOT], where, "not", None), where, shapes)
        return shapes

    cdef tuple negation(self, Located branch, Located where, tuple shapes):
        schema = branch.schema
        if isinstance(schema, dict) and len(<dict>schema) == 1 and "not" in <dict>schema:
            # what is evaluated below a not is nobody's
            twice = located((<dict>schema)["not"], branch, "not", None)
            return self.intersections(shapes, self.shapes_at((twice,)), where, "not")
        return self.without(branch, shapes)

    # -- anyOf and oneOf --------------------------------------------------------------------------
    cdef tuple branched(self, KeywordsC* found, int slot, str keyword, Located where, tuple shapes):
        cdef Located branch
        cdef list groups = [], branches = [], constants = []
        cdef dict met = {}
        cdef bint is_free = self.knows_const and slot == ANY_OF and len(shapes) == 1 and shapes[0] is ANYTHING
        for branch in branches_of(found, slot, keyword, where):
            if is_free and is_plain_constant(branch.schema):
                constants.append(branch.schema["const"])
                continue
            branches.append(branch)
            groups.append(self.intersections(shapes, self.read(branch), where, keyword))
            for each in <tuple>groups[-1]:
                if (<Shape>each).values is None:
                    met[<size_t><void*>each] = None
            # the same place may be met often; what differs is bounded, so there is no need to go on
            self.check_bound(len(met), where, keyword)
        if constants:
            groups.append((listed(tuple(constants)),))
        if slot == ANY_OF:
            return self.any_of(groups, where, keyword)
        return self.one_of(groups, branches, where, keyword)

    cdef tuple any_of(self, list groups, Located where, str keyword):
        cdef Shape shape, known, met
        cdef list found = [], more
        if not self.tracking:
            found = [shape for group in groups for shape in group]
        else:
            for group in groups:
                more = []
                for shape in group:
                    if shape.evaluated is None:
                        continue
                    for known in found:
                        if known.evaluated is not None and not known.evaluated.covers(shape.evaluated):
                            met = meet(known, shape, self)
                            if met is not None:
                                more.append(met)
                found += more
                found += group
                self.check_bound(len(found), where, keyword)
        shapes = united(found)
        self.check_bound(len(shapes), where, keyword)
        return shapes

    cdef tuple one_of(self, list groups, list branches, Located where, str keyword):
        """``groups`` are the branches beside what else the schema says."""
        cdef Py_ssize_t i, j
        cdef list found = []
        if self.are_disjoint(groups):
            found = groups
        else:
            for i in range(len(groups)):
                left = <tuple>groups[i]
                for j in range(len(groups)):
                    if i != j and left and not self.are_disjoint([left, groups[j]]):
                        left = self.without(<Located>branches[j], left)
                found.append(left)
        shapes = united([shape for group in found for shape in group])
        self.check_bound(len(shapes), where, keyword)
        return shapes

    # -- if, and what depends on a member ----------------------------------------------------------
    cdef tuple conditional(self, KeywordsC* found, Located where, tuple shapes):
        cdef Located branch = located(<object>found.value[IF_], where, "if", None)
        cdef tuple yes, no
        if not (has(found, THEN_) or has(found, ELSE_) or self.tracking):
            return shapes
        yes = self.intersections(shapes, self.read(branch), where, "if")
        no = self.without(branch, shapes)
        if has(found, THEN_):
            branch = located(<object>found.value[THEN_], where, "then", None)
            yes = self.intersections(yes, self.read(branch), where, "then")
        if has(found, ELSE_):
            branch = located(<object>found.value[ELSE_], where, "else", None)
            no = self.intersections(no, self.read(branch), where, "else")
        return united([*yes, *no])

    cdef tuple depending(self, str name, value, str keyword, Located where, tuple shapes):
        """Either the member is not there, or more holds."""
        cdef Located branch = located(value, where, keyword, name)
        cdef tuple names = names_needed(name, value, keyword, branch)
        more = (present(names, where),)
        if not isinstance(value, list):
            more = self.intersections(more, self.read(branch), branch, None)
        elif len(names) == 1:
            return shapes
        return self.not_void(self.intersections(shapes, united([absent(name, where), *more]), where, keyword))

    # -- what is not evaluated ---------------------------------------------------------------------
    cdef tuple unevaluated(self, KeywordsC* found, Located where, tuple shapes):
        """The rest of each alternative's members and items."""
        cdef list made = []
        cdef Shape shape
        for shape in shapes:
            if has(found, UNEVALUATED_PROPERTIES):
                place = place_at(
                    <object>found.value[UNEVALUATED_PROPERTIES], where, "unevaluatedProperties", None)
                shape = self.rest_of_members(place, shape, where)
            if shape is not None and has(found, UNEVALUATED_ITEMS):
                place = place_at(<object>found.value[UNEVALUATED_ITEMS], where, "unevaluatedItems", None)
                shape = self.rest_of_items(place, shape)
            if shape is not None:
                made.append(shape)
        return tuple(made)

    cdef Shape rest_of_members(self, tuple place, Shape shape, Located where):
        cdef Evaluated before = shape.evaluated or NONE_EVALUATED
        cdef Objects objects
        cdef Keyed others
        if before.all_members or not shape.types & OBJECT:
            return shape
        if place:
            objects = new_objects(dict.fromkeys(before.names, ()), True, (), None, (), 0, None, where)
            if before.patterns:
                others = new_keyed(before.patterns, False, frozenset(), place)
                objects = keyed_objects(objects, (others,), (), ())
            else:
                objects.rest = place
            shape = meet(shape, new_shape(ALL, None, None, None, None, objects, ()), self)
        return None if shape is None else with_evaluated(shape, new_evaluated(
            before.names, before.patterns, before.items, before.contained, True, before.all_items))

    cdef Shape rest_of_items(self, tuple place, Shape shape):
        cdef Evaluated before = shape.evaluated or NONE_EVALUATED
        if before.all_items or not shape.types & ARRAY:
            return shape
        place = self.either((place, *before.contained))
        if place:
            arrays = new_arrays(((),) * before.items, place, 0, None, (), None)
            shape = meet(shape, new_shape(ALL, None, None, None, arrays, None, ()), self)
        return None if shape is None else with_evaluated(shape, new_evaluated(
            before.names, before.patterns, before.items, before.contained, before.all_members, True))


cdef Evaluated NONE_EVALUATED = new_evaluated(frozenset(), (), 0, (), False, False)


cdef list dependencies_of(KeywordsC* found, Located where):
    """(name, what depends on it, keyword); ``dependencies`` is both of its successors in one."""
    cdef list made = []
    for slot, keyword in (
        (DEPENDENT_REQUIRED, "dependentRequired"), (DEPENDENT_SCHEMAS, "dependentSchemas"),
        (DEPENDENCIES, "dependencies"),
    ):
        if has(found, slot):
            value = <object>found.value[<int>slot]
            if not isinstance(value, dict):
                raise SpecError(f"{keyword} must be an object", where.at(keyword))
            made += [(name, more, keyword) for name, more in (<dict>value).items()]
    return made


cdef tuple names_needed(str name, value, str keyword, Located branch):
    """The name of a dependency, and those that must be there with it."""
    if keyword != "dependentSchemas" and isinstance(value, list):
        names_of(value, "", branch)
        return tuple(dict.fromkeys([name, *value]))
    if keyword == "dependentRequired":
        raise SpecError("dependentRequired needs arrays of strings", branch.pointer())
    return (name,)


cdef Shape present(tuple names, Located where):
    """Objects with these members. The first is listed, so that its key stands before what depends on it."""
    objects = new_objects({names[0]: ()}, True, names, set(names), (), len(names), None, where)
    return new_shape(OBJECT, None, None, None, None, objects, ())


cdef Shape absent(str name, Located where):
    """All but objects with this member."""
    objects = new_objects({name: NOTHING_FITS}, True, (), None, (), 0, None, where)
    return new_shape(ALL, None, None, None, None, objects, ())


cdef list branches_of(KeywordsC* found, int slot, str keyword, Located where):
    cdef Py_ssize_t number
    cdef list made = []
    if not has(found, slot):
        return made
    value = <object>found.value[slot]
    if not isinstance(value, list) or not value:
        raise SpecError(f"{keyword} must be a non-empty array", where.at(keyword))
    for number in range(len(<list>value)):
        made.append(located((<list>value)[number], where, keyword, number))
    return made


cdef bint is_plain_constant(schema):
    """Whether this says nothing but that one value is allowed, and that there is nothing to check of it."""
    if not isinstance(schema, dict) or len(<dict>schema) != 1 or "const" not in <dict>schema:
        return False
    value = (<dict>schema)["const"]
    if type(value) is str:
        return not has_surrogate(value)
    return type(value) is bool or value is None or (type(value) is int and -SAFE < value < SAFE)


# -- negation --------------------------------------------------------------------------------------

cdef class Negation(Composition):
    cdef Shape own(self, KeywordsC* found, Located where):
        """What a schema's keywords say that are neither applicators nor list values."""
        raise NotImplementedError

    cdef bint scan_known(self, Located where, KeywordsC* found) except -1:
        """Reads the keywords that the dialect knows."""
        raise NotImplementedError

    cdef Located referred_by(self, KeywordsC* found, Located where):
        """Where its ``$ref`` leads."""
        raise NotImplementedError

    cdef tuple without(self, Located where, tuple shapes):
        cdef Located end = self.target(where)
        cdef Py_ssize_t tracking = self.tracking
        if not shapes or end.schema is True:
            return ()
        key = (<size_t><void*>end.schema, <size_t><void*>shapes)
        if key not in self._without:
            # what is evaluated below a not is nobody's
            self.tracking = 0
            try:
                self._without[key] = shapes, self.opposite(end, shapes)
            finally:
                self.tracking = tracking
        return self._without[key][1]

    cdef tuple opposite(self, Located where, tuple shapes):
        """As ``without``, of what is more than a reference and met for the first time."""
        cdef KeywordsC found
        if isinstance(where.schema, Derived):
            return self.without_derived(where, shapes)
        key = <size_t><void*>where.schema
        if isinstance(where.schema, dict) and key not in self._apart:
            self.scan_known(where, &found)
            if found.seen & composed() and not found.seen & indivisible():
                self._apart.add(key)
                try:
                    return self.taken_apart(&found, where, shapes)
                finally:
                    self._apart.discard(key)
        return self.subtract(shapes, self.read(where), where, None)

    cdef tuple without_derived(self, Located where, tuple shapes):
        cdef Derived derived = where.schema
        if derived.kind == NOT_THIS:
            return self.intersections(shapes, self.shapes_at(<tuple>derived.places[0]), where, None)
        if derived.kind == ANY_OF_THESE:
            for place in derived.places:
                shapes = self.without_place(<tuple>place, shapes)
            return shapes
        return self.subtract(shapes, self.read(where), where, None)

    cdef tuple without_place(self, tuple place, tuple shapes):
        cdef Located each
        cdef list found = []
        for each in place:
            found += self.without(each, shapes)
        return united(found) if len(place) > 1 else tuple(found)

    cdef tuple without_all(self, list branches, tuple shapes):
        """Branches that lead to the same schema are one."""
        cdef Located branch
        cdef dict found = {id(self.target(branch).schema): branch for branch in branches}
        for branch in found.values():
            shapes = self.without(branch, shapes)
        return shapes

    cdef tuple taken_apart(self, KeywordsC* found, Located where, tuple shapes):
        cdef list parts = list(self.subtract(shapes, (self.own(found, where),), where, None)), branches
        cdef Located branch
        if has(found, REFERENCE):
            parts += self.without(self.referred_by(found, where), shapes)
        for branch in branches_of(found, ALL_OF, "allOf", where):
            parts += self.without(branch, shapes)
        if has(found, ANY_OF):
            parts += self.without_all(branches_of(found, ANY_OF, "anyOf", where), shapes)
        if has(found, ONE_OF):
            branches = branches_of(found, ONE_OF, "oneOf", where)
            parts += self.without_all(branches, shapes)
            parts += self.within_two(branches, where, shapes)
        if has(found, IF_):
            parts += self.against_condition(found, where, shapes)
        for name, value, keyword in dependencies_of(found, where):
            parts += self.against_dependency(name, value, keyword, where, shapes)
        if has(found, NOT):
            branch = located(<object>found.value[NOT], where, "not", None)
            parts += self.intersections(shapes, self.read(branch), where, "not")
        made = absorbed(self.not_void(united(parts)), self)
        self.check_bound(len(made), where, None)
        return made

    cdef list within_two(self, list branches, Located where, tuple shapes):
        cdef Py_ssize_t i, j
        cdef list found = [], groups = []
        cdef Located branch
        for branch in branches:
            groups.append(self.intersections(shapes, self.read(branch), where, "oneOf"))
        if self.are_disjoint(groups):
            return found
        for i in range(len(groups)):
            for j in range(i):
                if groups[i] and not self.are_disjoint([groups[j], groups[i]]):
                    found += self.intersections(<tuple>groups[j], self.read(<Located>branches[i]), where, "oneOf")
        return found

    cdef list against_condition(self, KeywordsC* found, Located where, tuple shapes):
        cdef Located condition = located(<object>found.value[IF_], where, "if", None)
        cdef list parts = []
        if has(found, THEN_):
            yes = self.intersections(shapes, self.read(condition), where, "if")
            parts += self.without(located(<object>found.value[THEN_], where, "then", None), yes)
        if has(found, ELSE_):
            no = self.without(condition, shapes)
            parts += self.without(located(<object>found.value[ELSE_], where, "else", None), no)
        return parts

    cdef list against_dependency(self, str name, value, str keyword, Located where, tuple shapes):
        cdef Located branch = located(value, where, keyword, name)
        cdef tuple names = names_needed(name, value, keyword, branch)
        shapes = self.intersections(shapes, (present((name,), where),), where, keyword)
        if not isinstance(value, list):
            return list(self.without(branch, shapes))
        missing = tuple([absent(other, where) for other in names[1:]])
        return list(self.intersections(shapes, missing, where, keyword))


cdef uint64_t indivisible() noexcept:
    """Keywords whose schemas are taken away as they were read: by their alternatives."""
    return (
        listing() | bit(DYNAMIC_REFERENCE) | bit(RECURSIVE_REFERENCE) | bit(UNEVALUATED_PROPERTIES)
        | bit(UNEVALUATED_ITEMS))


# -- constraints -----------------------------------------------------------------------------------

cdef object PATTERNS = formats.PATTERNS
cdef list NOTHING = []
cdef dict NO_MEMBERS = {}


cdef Shape own_shape(KeywordsC* found, Located where, Evaluator evaluator, bint refuse_unknown):
    """The shape of a schema's own keywords; enum, const and composition are left to the reader.

    ``refuse_unknown``: formats.

    Raises:
        SpecError: a keyword's value is ill-formed.
    """
    cdef int types = ALL
    cdef Strings strings = None
    cdef Numbers numbers = None
    cdef Arrays arrays = None
    cdef Objects objects = None
    cdef list refused = None
    cdef bint is_free
    if has(found, TYPE):
        types = types_of(<object>found.value[TYPE], where)
        if has(found, NULLABLE) and is_flag(found, NULLABLE, where, "nullable"):
            types |= NULL_TYPE
    if has(found, MULTIPLE_OF) and <object>found.value[MULTIPLE_OF] == 1:
        types &= ~FRACTION
    # facets of types that are not allowed are read, too: their keywords must be well-formed
    if found.seen & of_strings():
        refused = []
        strings = string_facet(found, where, refuse_unknown, refused)
    if found.seen & of_numbers():
        numbers = number_facet(found, where)
    if found.seen & of_arrays():
        arrays = array_facet(found, where)
    if found.seen & of_objects():
        objects = object_facet(found, where, evaluator)
    is_free = strings is None and numbers is None and arrays is None and objects is None
    if types == ALL and is_free:
        return ANYTHING
    return new_shape(
        types,
        None,
        strings if types & STRING else None,
        numbers if types & NUMBER else None,
        arrays if types & ARRAY else None,
        objects if types & OBJECT else None,
        tuple(refused) if refused and types & STRING else (),
    )


cdef bint is_flag(KeywordsC* found, int keyword, Located where, str name) except -1:
    value = value_of(found, keyword, False)
    if not isinstance(value, bool):
        raise SpecError(f"{name} must be true or false", where.at(name))
    return value


# -- strings ---------------------------------------------------------------------------------------
cdef Strings string_facet(KeywordsC* found, Located where, bint refuse_unknown, list refused):
    cdef tuple patterns = (), known = ()
    if has(found, PATTERN):
        patterns = (named(text_of(found, PATTERN, where, "pattern"), where, "pattern"),)
    if has(found, FORMAT):
        name = text_of(found, FORMAT, where, "format")
        if name in PATTERNS:
            known = (named(name, where, "format"),)
        elif refuse_unknown:
            refused.append(refusal(STRING, where, "format", f"the format {name!r} can't be enforced"))
    return new_strings(
        count(found, MIN_LENGTH, where) or 0, count(found, MAX_LENGTH, where), patterns, known, (), ())


cdef str text_of(KeywordsC* found, int keyword, Located where, str name):
    value = <object>found.value[keyword]
    if not isinstance(value, str):
        raise SpecError(f"{name} must be a string", where.at(name))
    return value


# -- numbers ---------------------------------------------------------------------------------------
cdef Numbers number_facet(KeywordsC* found, Located where):
    low, low_open = tightest_bound(found, where, MINIMUM, "minimum", EXCLUSIVE_MINIMUM, "exclusiveMinimum", max)
    high, high_open = tightest_bound(found, where, MAXIMUM, "maximum", EXCLUSIVE_MAXIMUM, "exclusiveMaximum", min)
    return new_numbers(low, low_open, high, high_open, multiple_of(found, where), (), ())


cdef tuple multiple_of(KeywordsC* found, Located where):
    if not has(found, MULTIPLE_OF):
        return ()
    number = decimal(<object>found.value[MULTIPLE_OF], where, "multipleOf", None)
    if number <= 0:
        raise SpecError("multipleOf must be greater than 0", where.at("multipleOf"))
    return (named(str(number), where, "multipleOf"),)


cdef tuple tightest_bound(
    KeywordsC* found, Located where, int inclusive, str inclusive_name, int exclusive, str exclusive_name, tightest
):
    """(bound or None, whether it is excluded). Draft 4 writes ``exclusiveMinimum: true`` beside
    ``minimum``.
    """
    value, is_open = None, False
    if has(found, inclusive):
        value = decimal(<object>found.value[inclusive], where, inclusive_name, tightest)
    other = value_of(found, exclusive, False)
    if isinstance(other, bool):
        if other and value is None:
            message = f"{exclusive_name}: true needs {inclusive_name} beside it"
            raise SpecError(message, where.at(exclusive_name))
        return value, other
    bound = decimal(other, where, exclusive_name, tightest)
    if value is None or tightest(value, bound) == bound:
        value, is_open = bound, True
    return value, is_open


# -- arrays ----------------------------------------------------------------------------------------
cdef Arrays array_facet(KeywordsC* found, Located where):
    """Before 2020-12, ``items`` as an array is what ``prefixItems`` is now, and ``additionalItems``
    what ``items`` is beside it.
    """
    cdef Py_ssize_t n
    cdef list places = []
    cdef str keyword = "prefixItems", rest_keyword = "items"
    given = value_of(found, PREFIX_ITEMS, NOTHING)
    rest = value_of(found, ITEMS, True)
    if isinstance(rest, list):
        if has(found, PREFIX_ITEMS):
            raise SpecError("items must be a schema beside prefixItems", where.at("items"))
        given, keyword, rest_keyword = rest, "items", "additionalItems"
        rest = value_of(found, ADDITIONAL_ITEMS, True)
    if not isinstance(given, list):
        raise SpecError("prefixItems must be an array", where.at("prefixItems"))
    for n in range(len(<list>given)):
        places.append(place_at((<list>given)[n], where, keyword, n))
    return new_arrays(
        tuple(places),
        place_at(rest, where, rest_keyword, None),
        count(found, MIN_ITEMS, where) or 0,
        count(found, MAX_ITEMS, where),
        contained(found, where),
        where if is_flag(found, UNIQUE_ITEMS, where, "uniqueItems") else None,
    )


cdef tuple contained(KeywordsC* found, Located where):
    """At least one item fits ``contains``, if nothing else is said."""
    cdef object least = count(found, MIN_CONTAINS, where), most = count(found, MAX_CONTAINS, where)
    if not has(found, CONTAINS) or (least == 0 and most is None):
        return ()
    place = place_at(<object>found.value[CONTAINS], where, "contains", None)
    return (new_count(place, 0, 1 if least is None else least, most, where),)


# -- objects ---------------------------------------------------------------------------------------
cdef Objects object_facet(KeywordsC* found, Located where, Evaluator evaluator):
    cdef tuple required = ()
    cdef set wanted = None
    cdef Py_ssize_t least
    cdef dict properties = members_of(found, PROPERTIES, where, "properties")
    if has(found, REQUIRED):
        wanted = names_of(<object>found.value[REQUIRED], "required", where)
        required = tuple(<list>found.value[REQUIRED])
    least = count(found, MIN_PROPERTIES, where) or 0
    made = new_objects(
        properties,
        False,
        required,
        wanted,
        place_at(value_of(found, ADDITIONAL, True), where, "additionalProperties", None),
        max(least, len(required)),
        count(found, MAX_PROPERTIES, where),
        where,
    )
    if has(found, PATTERN_PROPERTIES) and members_of(found, PATTERN_PROPERTIES, where, "patternProperties"):
        made = with_patterns(made, <dict><object>found.value[PATTERN_PROPERTIES], where, evaluator)
    if has(found, PROPERTY_NAMES):
        names = place_at(<object>found.value[PROPERTY_NAMES], where, "propertyNames", None)
        made = keyed_objects(made, made.keyed, names, ())
    return made


cdef dict members_of(KeywordsC* found, int keyword, Located where, str name):
    value = value_of(found, keyword, NO_MEMBERS)
    if not isinstance(value, dict):
        raise SpecError(f"{name} must be an object", where.at(name))
    return value


cdef tuple patterns_of(dict given, Located where):
    """The patterns of ``patternProperties``; each is named for the schema under it."""
    return tuple([
        named(pattern, located(None, where, "patternProperties", None), escape(pattern)) for pattern in given])


cdef Objects with_patterns(Objects plain, dict given, Located where, Evaluator evaluator):
    """What the patterns ask goes into the places of listed keys at once."""
    cdef dict properties = {}
    cdef list keyed = []
    cdef Keyed each
    cdef Named pattern
    for pattern in patterns_of(given, where):
        place = place_at(given[pattern.text], where, "patternProperties", pattern.text)
        keyed.append(new_keyed((pattern,), True, frozenset(), place))
    for name in plain.properties:
        place = plain.place_in(name, plain.properties[name])
        for each in keyed:
            if each.has(name, evaluator):
                place = both(place, each.place, evaluator)
        properties[name] = place
    if plain.rest:
        keyed.append(new_keyed(patterns_of(given, where), False, frozenset(), plain.rest))
    made = new_objects(
        properties, True, plain.required, plain.wanted, (), plain.minimum, plain.maximum, where)
    return keyed_objects(made, tuple(keyed), (), ())


# -- what is evaluated -----------------------------------------------------------------------------
cdef Evaluated evaluated_by(KeywordsC* found, Located where, bint by_contains):
    """By the schema's own keywords, which are well-formed. ``by_contains``: items that fit
    ``contains`` are.
    """
    cdef frozenset names = frozenset(value_of(found, PROPERTIES, NO_MEMBERS))
    cdef tuple patterns = patterns_of(value_of(found, PATTERN_PROPERTIES, NO_MEMBERS), where)
    cdef tuple places = ()
    items = value_of(found, ITEMS, None)
    cdef bint is_tuple = isinstance(items, list)
    prefix = items if is_tuple else value_of(found, PREFIX_ITEMS, NOTHING)
    if by_contains and has(found, CONTAINS):
        places = (place_at(<object>found.value[CONTAINS], where, "contains", None),)
    if found.seen & (of_objects() | of_arrays()) == 0:
        return None
    return new_evaluated(
        names,
        patterns,
        len(prefix),
        places,
        has(found, ADDITIONAL),
        has(found, ADDITIONAL_ITEMS if is_tuple else ITEMS),
    )


# -- reader ----------------------------------------------------------------------------------------

# the part of the budget that looks for places without any value may take, one in so many
cdef int64_t LOOK_SHARE = 4


cdef Reader new_reader(References references, Grammar grammar, bint refuse_unknown):
    cdef Reader made = Reader.__new__(Reader)
    limits = grammar.limits
    made.budget, made.looks_left = grammar.budget, grammar.budget.limit // LOOK_SHARE
    made.limits, made.checks_limit, made.depth_limit = limits, limits.value_checks, limits.spec_depth
    made.references, made.refuse_unknown = references, refuse_unknown
    made.contents = new_contents(references, grammar)
    made.knows_const = references.dialect.known & bit(CONST) != 0
    made._within, made._apart, made._without = set(), set(), {}
    made._shapes, made._open, made.tracking, made.looking, made.work = [], {}, 0, 0, 0
    return made


cdef class Reader(Negation):
    cdef tuple shapes_at(self, tuple place):
        """The alternatives of a place.

        Raises:
            SpecError, UnsupportedSchema, LimitExceeded: see ``build_json_schema``.
        """
        cdef Py_ssize_t tracking = self.tracking
        if not place:
            return ANYTHING_ONLY
        # what a value of its own evaluates is its own affair
        self.tracking = 0
        try:
            return self.place_shapes(place)
        finally:
            self.tracking = tracking

    cdef tuple place_shapes(self, tuple place):
        cdef Located each
        cdef tuple shapes
        if len(place) == 1:
            return self.read(<Located>place[0])
        key = place_key(place)
        if self._places is None:
            self._places = {}
        if key not in self._places and self.is_contradiction(place):
            self._places[key] = place, ()
        if key not in self._places:
            if key in self._open:
                raise CircularReference("the reference leads back here", (<Located>place[0]).pointer())
            self._open[key] = None
            try:
                shapes = ANYTHING_ONLY
                for each in place:
                    shapes = self.intersections(shapes, self.read(each), each, None)
            finally:
                del self._open[key]
            self._places[key] = place, shapes
        return self._places[key][1]

    cdef Located target(self, Located where):
        """Where a schema leads that is nothing but a reference; so all such places are one."""
        cdef Located found
        if not is_reference(where.schema):
            return where
        self.followed = True
        found = self.references.resolve((<dict>where.schema)["$ref"], where, "$ref")
        return self.end_of_chain(where) if is_reference(found.schema) else found

    cdef Located end_of_chain(self, Located where):
        """Of references that lead to nothing but references."""
        cdef dict passed = {}
        if self._targets is None:
            self._targets = {}
        while is_reference(where.schema):
            key = <size_t><void*>where.schema
            if key in passed:
                raise CircularReference("the reference leads back here", where.pointer())
            passed[key] = None
            if key not in self._targets:
                self._targets[key] = self.references.resolve(where.schema["$ref"], where, "$ref")
            where = self._targets[key]
        self._targets.update(dict.fromkeys(passed, where))
        return where

    cdef tuple read(self, Located where):
        return self.read_target(self.target(where))

    cdef tuple read_target(self, Located where):
        """As ``read``, of what is more than a reference."""
        cdef uint32_t known
        cdef uint64_t key
        cdef tuple shapes
        schema = where.schema
        if isinstance(schema, bool):
            return ANYTHING_ONLY if schema else ()
        if not isinstance(schema, (dict, Derived)):
            raise SpecError(f"a schema must be an object or a boolean, not {kind_of(schema)}", where.pointer())
        key = <uint64_t><size_t><void*>schema + (self.tracking > 0)
        known = map_get(&self._read, key)
        if known != MISSING:
            return <tuple>self._shapes[known]
        shapes = self.opened(where)
        map_put(&self._read, key, <uint32_t>len(self._shapes))
        self._shapes.append(shapes)
        return shapes

    cdef tuple opened(self, Located where):
        """What is read for the first time."""
        self.check_open(where)
        return self.schema(where) if isinstance(where.schema, dict) else self.derived_shapes(where)

    cdef int check_open(self, Located where) except -1:
        """
        Raises:
            CircularReference: the schema is being read. LimitExceeded: ``spec_depth``.
        """
        if self._open and <size_t><void*>where.schema in self._open:
            raise CircularReference("the reference leads back here", where.pointer())
        # a value that is judged may lead to schemas that nobody has read yet
        depth = <Py_ssize_t>len(self._open) + self.depth + 1
        if depth > self.depth_limit:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, depth, where.pointer())
        return 0

    cdef tuple schema(self, Located where):
        cdef KeywordsC found
        cdef tuple shapes
        cdef Shape own
        cdef Py_ssize_t tracking = self.tracking
        self.scan_known(where, &found)
        if found.seen & (composed() | listing()) == 0 and not tracking:
            return (own_shape(&found, where, self, self.refuse_unknown),)
        key = <size_t><void*>where.schema
        self._open[key] = None
        if found.seen & (bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)):
            self.tracking += 1
        try:
            own = own_shape(&found, where, self, self.refuse_unknown)
            if self.tracking:
                by_contains = self.references.dialect.draft >= 2020
                evaluated = evaluated_by(&found, where, by_contains)
                own = own if evaluated is None else with_evaluated(own, evaluated)
            shapes = self.composition(&found, where, (own,))
            if self.tracking:
                shapes = self.unevaluated(&found, where, shapes)
            # what is evaluated is nobody's where nobody asks, such as below a not
            return shapes if tracking else without_evaluated(shapes)
        finally:
            self.tracking = tracking
            del self._open[key]

    cdef bint scan_known(self, Located where, KeywordsC* found) except -1:
        """Reads the keywords that the dialect knows."""
        scan(<dict>where.schema, found)
        found.seen &= self.references.dialect.known
        if has(found, REFERENCE) and self.references.dialect.ref_alone:
            found.seen = bit(REFERENCE)
        if has(found, BASE):
            self.references.meet_base(where.schema)
        return True

    cdef tuple within(self, Located where, tuple shapes):
        """Applicators of the schema see the shapes; but what they evaluate is their own affair, and listed
        values may be judged by the schema itself. A schema that is met again is read by itself, once.
        """
        cdef KeywordsC found
        cdef Located end = self.target(where)
        key = <size_t><void*>end.schema
        if self.tracking or not isinstance(end.schema, dict) or key in self._within or not are_open(shapes):
            return self.intersections(shapes, self.read_target(end), where, None)
        self.scan_known(end, &found)
        if not found.seen & composed() or found.seen & (bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)):
            return self.intersections(shapes, self.read_target(end), where, None)
        self.check_open(end)
        self._within.add(key)
        self._open[key] = None
        try:
            shapes = self.intersections(
                shapes, (own_shape(&found, end, self, self.refuse_unknown),), where, None)
            return self.composition(&found, end, shapes)
        finally:
            del self._open[key]

    cdef tuple composition(self, KeywordsC* found, Located where, tuple shapes):
        """What is left of them by the keywords that may lead back to the schema itself."""
        if has(found, ENUM):
            shapes = self.listed_values(<object>found.value[ENUM], "enum", where, shapes)
        if has(found, CONST):
            shapes = self.listed_values(<object>found.value[CONST], "const", where, shapes)
        if found.seen & composed():
            shapes = self.referred(found, where, shapes)
            shapes = self.compose(found, where, shapes)
        return shapes

    cdef tuple referred(self, KeywordsC* found, Located where, tuple shapes):
        cdef Located target
        if has(found, REFERENCE):
            shapes = self.within(self.referred_by(found, where), shapes)
        for slot, keyword in ((DYNAMIC_REFERENCE, "$dynamicRef"), (RECURSIVE_REFERENCE, "$recursiveRef")):
            if has(found, slot):
                self.followed = True
                target = self.references.resolve_dynamic(<object>found.value[<int>slot], where, keyword)
                shapes = self.intersections(shapes, self.read(target), where, keyword)
        return shapes

    cdef Located referred_by(self, KeywordsC* found, Located where):
        self.followed = True
        return self.references.resolve(<object>found.value[REFERENCE], where, "$ref")

    cdef Shape own(self, KeywordsC* found, Located where):
        return own_shape(found, where, self, self.refuse_unknown)

    cdef tuple derived_shapes(self, Located where):
        """The alternatives of a place that was made of others."""
        cdef Derived derived = where.schema
        cdef Numbers numbers
        cdef list found = []
        key = <size_t><void*>derived
        if derived.kind == THIS_VALUE:
            return (listed((derived.value,)),)
        if derived.kind == PLAIN_NUMBERS:
            numbers = new_numbers(None, False, None, False, (), (), ())
            numbers.is_plain = True
            return (new_shape(ALL, None, None, numbers, None, None, ()),)
        self._open[key] = None
        try:
            if derived.kind == NOT_THIS:
                return self.without_place(<tuple>derived.places[0], ANYTHING_ONLY)
            for place in derived.places:
                found += self.shapes_at(<tuple>place)
            return united(found)
        finally:
            del self._open[key]

    # -- enum and const ---------------------------------------------------------------------------
    cdef tuple listed_values(self, given, str keyword, Located where, tuple shapes):
        """One shape of the values that fit what the schema says besides; values may be listed
        twice.
        """
        cdef list fitting = []
        cdef bint is_enum = keyword == "enum", is_free = len(shapes) == 1 and shapes[0] is ANYTHING
        cdef Py_ssize_t number = 0
        cdef Shape shape
        values = given if is_enum else [given]
        if not isinstance(values, list):
            raise SpecError("enum must be an array", where.at(keyword))
        if len(values) > self.limits.enum_values:
            raise LimitExceeded("enum_values", self.limits.enum_values, len(values), where.at(keyword))
        self.place(where, keyword)
        for value in <list>values:
            self.check_value(value, where, keyword, number if is_enum else -1)
            number += 1
            if self.excludes is not None and not self.excludes.has_spelling(value):
                continue
            if is_free or self.tracking:
                fitting.append(value)
                continue
            for shape in shapes:
                if self.fits_shape(shape, value):
                    fitting.append(value)
                    break
        if not fitting:
            return ()
        if self.tracking:
            return self.intersections(shapes, (listed(tuple(fitting)),), where, keyword)
        return (listed(tuple(fitting)),)


cdef bint are_open(tuple shapes) noexcept:
    """Whether they say something, and list no values."""
    cdef Shape shape
    for shape in shapes:
        if shape is ANYTHING or shape.values is not None:
            return False
    return True
