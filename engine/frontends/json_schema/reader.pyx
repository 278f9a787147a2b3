"""The schema reader."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...native.hashing cimport MISSING, map_get, map_put
from .document cimport (
    ADDITIONAL, ADDITIONAL_ITEMS, ALL_OF, ANY_OF, BASE, CONST, CONTAINS, DEPENDENCIES,
    DEPENDENT_REQUIRED, DEPENDENT_SCHEMAS, DYNAMIC_REFERENCE, ELSE_, ENUM, EXCLUSIVE_MAXIMUM,
    EXCLUSIVE_MINIMUM, FORMAT, IF_, ITEMS, MAXIMUM, MAX_CONTAINS, MAX_ITEMS, MAX_LENGTH,
    MAX_PROPERTIES, MINIMUM, MIN_CONTAINS, MIN_ITEMS, MIN_LENGTH, MIN_PROPERTIES, MULTIPLE_OF, NOT,
    NULLABLE, ONE_OF, PATTERN, PATTERN_PROPERTIES, PREFIX_ITEMS, PROPERTIES, PROPERTY_NAMES,
    RECURSIVE_REFERENCE, REFERENCE, REQUIRED, THEN_, TYPE, UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES,
    UNIQUE_ITEMS, KeywordsC, References, bit, composed, count, decimal, has, is_reference, kind_of,
    listing, names_of, of_arrays, of_numbers, of_objects, of_strings, scan, types_of, value_of,
)
from .evaluator cimport Evaluator, TextClasses, has_surrogate, new_facts
from .type_algebra cimport INTERSECTIONS, NOTHING_FITS, without_subsumed, place_key, united
from .intersection cimport applies, both, intersect
from .schema_types cimport (
    ALL, ANYTHING, ANYTHING_ONLY, ANY_OF_THESE, ARRAY, FRACTION, NOT_THIS, NULL_TYPE, NUMBER, OBJECT, PLAIN_NUMBERS,
    STRING, THIS_VALUE, Arrays, ConstraintText, Derived, Evaluated, Keyed, Location, Numbers, Objects, SchemaType,
    Strings, constraint_text, keyed_objects, listed, location_at, new_arrays, new_count, new_evaluated, new_keyed,
    new_numbers, new_objects, new_strings, new_type, place_at, refusal, with_evaluated, without_evaluated,
)

from ...errors import LimitExceeded, SpecError
from ...json_pointer import escape
from . import formats
from .evaluator import CircularReference

cdef object PATTERNS = formats.PATTERNS
cdef list NOTHING = []
cdef dict NO_MEMBERS = {}

# smaller integers never exceed a bound on digits
cdef long SAFE = 1 << 53


cdef Evaluated NONE_EVALUATED = new_evaluated(frozenset(), (), 0, (), False, False)


# the search for empty places may take this fraction of the budget, 1 / n
cdef int64_t LOOK_SHARE = 4


cdef SchemaReader new_reader(References references, Grammar grammar, bint refuse_unknown):
    cdef SchemaReader reader = SchemaReader.__new__(SchemaReader)
    limits = grammar.limits
    reader.budget, reader.look_steps = grammar.budget, grammar.budget.limit // LOOK_SHARE
    reader.limits, reader.checks_limit, reader.depth_limit = limits, limits.value_checks, limits.spec_depth
    reader.references, reader.refuse_unknown = references, refuse_unknown
    reader.facts = new_facts(references, grammar)
    reader.knows_const = references.known & bit(CONST) != 0
    reader._within, reader._negating, reader._without, reader._targets, reader._places = set(), set(), {}, {}, {}
    reader._empty_places, reader._derived, reader._constants, reader._ranges, reader._distinct = {}, {}, [], {}, {}
    reader._alternatives, reader._open, reader.tracking, reader.look_depth, reader.work = [], {}, 0, 0, 0
    return reader


cdef class SchemaReader(TypeAlgebra):
    cdef tuple alternatives_at(self, tuple place):
        """Return the alternatives of a place.

        Raises:
            SpecError, UnsupportedSchema, LimitExceeded: see ``build_json_schema``.
        """
        cdef Py_ssize_t tracking = self.tracking
        if not place:
            return ANYTHING_ONLY
        # each value has its own evaluation
        self.tracking = 0
        try:
            return self.place_alternatives(place)
        finally:
            self.tracking = tracking

    cdef tuple place_alternatives(self, tuple place):
        cdef Location each
        cdef tuple alternatives
        if len(place) == 1:
            return self.read(<Location>place[0])
        key = place_key(place)
        if key not in self._places and self.is_contradiction(place):
            self._places[key] = place, ()
        if key not in self._places:
            if key in self._open:
                raise CircularReference("the reference leads back here", (<Location>place[0]).pointer())
            self._open[key] = None
            try:
                alternatives = ANYTHING_ONLY
                for each in place:
                    alternatives = self.intersections(alternatives, self.read(each), each, None)
            finally:
                del self._open[key]
            self._places[key] = place, alternatives
        return self._places[key][1]

    cdef Location target(self, Location where):
        """Follow a schema that is only a reference, so that all such places are one."""
        cdef Location target
        if not is_reference(where.schema):
            return where
        self.followed = True
        target = self.references.resolve((<dict>where.schema)["$ref"], where, "$ref")
        return self.end_of_chain(where) if is_reference(target.schema) else target

    cdef Location end_of_chain(self, Location where):
        """Follow references that lead to references."""
        cdef dict passed = {}
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

    cdef tuple read(self, Location where):
        return self.read_target(self.target(where))

    cdef tuple read_target(self, Location where):
        """Read a schema that is not only a reference."""
        cdef uint32_t known
        cdef uint64_t key
        cdef tuple alternatives
        schema = where.schema
        if isinstance(schema, bool):
            return ANYTHING_ONLY if schema else ()
        if not isinstance(schema, (dict, Derived)):
            raise SpecError(f"a schema must be an object or a boolean, not {kind_of(schema)}", where.pointer())
        key = <uint64_t><size_t><void*>schema + (self.tracking > 0)
        known = map_get(&self._read, key)
        if known != MISSING:
            return <tuple>self._alternatives[known]
        self.check_open(where)
        alternatives = self.schema(where) if isinstance(schema, dict) else self.derived_alternatives(where)
        map_put(&self._read, key, <uint32_t>len(self._alternatives))
        self._alternatives.append(alternatives)
        return alternatives

    cdef int check_open(self, Location where) except -1:
        """Check that the schema is not being read.

        Raises:
            CircularReference: the schema is being read. LimitExceeded: ``spec_depth``.
        """
        if self._open and <size_t><void*>where.schema in self._open:
            raise CircularReference("the reference leads back here", where.pointer())
        # evaluating a value may read further schemas
        depth = <Py_ssize_t>len(self._open) + self.depth + 1
        if depth > self.depth_limit:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, depth, where.pointer())
        return 0

    cdef tuple schema(self, Location where):
        cdef KeywordsC keywords
        cdef tuple alternatives
        cdef SchemaType own
        cdef Py_ssize_t tracking = self.tracking
        self.scan_known(where, &keywords)
        if keywords.seen & (composed() | listing()) == 0 and not tracking:
            return (own_type(&keywords, where, self),)
        key = <size_t><void*>where.schema
        self._open[key] = None
        if keywords.seen & (bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)):
            self.tracking += 1
        try:
            own = own_type(&keywords, where, self)
            if self.tracking:
                by_contains = self.references.draft >= 2020
                evaluated = evaluated_by(&keywords, where, by_contains)
                own = own if evaluated is None else with_evaluated(own, evaluated)
            alternatives = self.composition(&keywords, where, (own,))
            if self.tracking:
                alternatives = self.unevaluated(&keywords, where, alternatives)
            # evaluation does not leave a schema that is not tracked, such as one below ``not``
            return alternatives if tracking else without_evaluated(alternatives)
        finally:
            self.tracking = tracking
            del self._open[key]

    cdef bint scan_known(self, Location where, KeywordsC* keywords) except -1:
        """Scan the keywords that the dialect has."""
        scan(<dict>where.schema, keywords)
        keywords.seen &= self.references.known
        if has(keywords, REFERENCE) and self.references.ref_alone:
            keywords.seen = bit(REFERENCE)
        if has(keywords, BASE):
            self.references.note_base(where.schema)
        return True

    cdef tuple within(self, Location where, tuple alternatives):
        """Apply a schema to alternatives, within which its applicators are read.

        Evaluation is separate for each schema, and listed values may depend on the schema itself, so these are
        intersected instead. A schema that occurs again is read by itself, once.
        """
        cdef KeywordsC keywords
        cdef Location end = self.target(where)
        key = <size_t><void*>end.schema
        if self.tracking or not isinstance(end.schema, dict) or key in self._within or not are_open(alternatives):
            return self.intersections(alternatives, self.read_target(end), where, None)
        self.scan_known(end, &keywords)
        if not keywords.seen & composed() or keywords.seen & (bit(UNEVALUATED_PROPERTIES) | bit(UNEVALUATED_ITEMS)):
            return self.intersections(alternatives, self.read_target(end), where, None)
        self.check_open(end)
        self._within.add(key)
        self._open[key] = None
        try:
            alternatives = self.intersections(alternatives, (own_type(&keywords, end, self),), where, None)
            return self.composition(&keywords, end, alternatives)
        finally:
            del self._open[key]

    cdef tuple composition(self, KeywordsC* keywords, Location where, tuple alternatives):
        """Apply the keywords that may lead back to the schema itself."""
        if has(keywords, ENUM):
            alternatives = self.listed_values(<object>keywords.value[ENUM], "enum", where, alternatives)
        if has(keywords, CONST):
            alternatives = self.listed_values(<object>keywords.value[CONST], "const", where, alternatives)
        if keywords.seen & composed():
            alternatives = self.referred(keywords, where, alternatives)
            alternatives = self.compose(keywords, where, alternatives)
        return alternatives

    cdef tuple referred(self, KeywordsC* keywords, Location where, tuple alternatives):
        cdef Location target
        if has(keywords, REFERENCE):
            alternatives = self.within(self.referred_by(keywords, where), alternatives)
        for slot, keyword in ((DYNAMIC_REFERENCE, "$dynamicRef"), (RECURSIVE_REFERENCE, "$recursiveRef")):
            if has(keywords, slot):
                self.followed = True
                target = self.references.resolve_dynamic(<object>keywords.value[<int>slot], where, keyword)
                alternatives = self.intersections(alternatives, self.read(target), where, keyword)
        return alternatives

    cdef Location referred_by(self, KeywordsC* keywords, Location where):
        self.followed = True
        return self.references.resolve(<object>keywords.value[REFERENCE], where, "$ref")

    cdef tuple derived_alternatives(self, Location where):
        """Return the alternatives of a derived place."""
        cdef Derived derived = where.schema
        cdef Numbers numbers
        cdef list alternatives = []
        key = <size_t><void*>derived
        if derived.kind == THIS_VALUE:
            return (listed((derived.value,)),)
        if derived.kind == PLAIN_NUMBERS:
            numbers = new_numbers(None, False, None, False, (), (), ())
            numbers.is_plain = True
            return (new_type(ALL, None, None, numbers, None, None, ()),)
        self._open[key] = None
        try:
            if derived.kind == NOT_THIS:
                return self.without_place(<tuple>derived.places[0], ANYTHING_ONLY)
            for place in derived.places:
                alternatives += self.alternatives_at(<tuple>place)
            return united(alternatives)
        finally:
            del self._open[key]

    # -- enum and const ---------------------------------------------------------------------------
    cdef tuple listed_values(self, listed_value, str keyword, Location where, tuple alternatives):
        """Return one alternative with the listed values that fit the schema's other keywords; duplicates are
        allowed.
        """
        cdef list fitting = []
        cdef bint is_enum = keyword == "enum", is_free = len(alternatives) == 1 and alternatives[0] is ANYTHING
        cdef Py_ssize_t number = 0
        cdef SchemaType schema_type
        values = listed_value if is_enum else [listed_value]
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
            for schema_type in alternatives:
                if self.fits_type(schema_type, value):
                    fitting.append(value)
                    break
        if not fitting:
            return ()
        if self.tracking:
            return self.intersections(alternatives, (listed(tuple(fitting)),), where, keyword)
        return (listed(tuple(fitting)),)

    # -- applicators ------------------------------------------------------------------------------
    cdef tuple compose(self, KeywordsC* keywords, Location where, tuple alternatives):
        """Apply all applicators except references and unevaluated keywords."""
        cdef Location branch
        for branch in branches_of(keywords, ALL_OF, "allOf", where):
            alternatives = self.within(branch, alternatives)
        if has(keywords, ANY_OF):
            alternatives = self.branched(keywords, ANY_OF, "anyOf", where, alternatives)
        if has(keywords, ONE_OF):
            alternatives = self.branched(keywords, ONE_OF, "oneOf", where, alternatives)
        if has(keywords, IF_):
            alternatives = self.conditional(keywords, where, alternatives)
        for name, value, keyword in dependencies_of(keywords, where):
            alternatives = self.depending(name, value, keyword, where, alternatives)
        if has(keywords, NOT):
            branch = location_at(<object>keywords.value[NOT], where, "not", None)
            alternatives = self.negation(branch, where, alternatives)
        return alternatives

    cdef tuple negation(self, Location branch, Location where, tuple alternatives):
        schema = branch.schema
        if isinstance(schema, dict) and len(<dict>schema) == 1 and "not" in <dict>schema:
            # ``not`` evaluates nothing
            twice = location_at((<dict>schema)["not"], branch, "not", None)
            return self.intersections(alternatives, self.alternatives_at((twice,)), where, "not")
        return self.without(branch, alternatives)

    # -- anyOf and oneOf --------------------------------------------------------------------------
    cdef tuple branched(self, KeywordsC* keywords, int slot, str keyword, Location where, tuple alternatives):
        cdef Location branch
        cdef list groups = [], branches = [], constants = []
        cdef dict kept = {}
        cdef bint is_free = (
            self.knows_const and slot == ANY_OF and len(alternatives) == 1 and alternatives[0] is ANYTHING)
        for branch in branches_of(keywords, slot, keyword, where):
            if is_free and is_plain_constant(branch.schema):
                constants.append(branch.schema["const"])
                continue
            branches.append(branch)
            groups.append(self.intersections(alternatives, self.read(branch), where, keyword))
            for each in <tuple>groups[-1]:
                if (<SchemaType>each).values is None:
                    kept[<size_t><void*>each] = None
            # places may repeat, but the number of different alternatives is bounded
            self.check_bound(len(kept), where, keyword)
        if constants:
            groups.append((listed(tuple(constants)),))
        if slot == ANY_OF:
            return self.any_of(groups, where, keyword)
        return self.one_of(groups, branches, where, keyword)

    cdef tuple any_of(self, list groups, Location where, str keyword):
        cdef SchemaType schema_type, known, common
        cdef list union = [], more
        if not self.tracking:
            union = [schema_type for group in groups for schema_type in group]
        else:
            for group in groups:
                more = []
                for schema_type in group:
                    if schema_type.evaluated is None:
                        continue
                    for known in union:
                        if known.evaluated is not None and not known.evaluated.covers(schema_type.evaluated):
                            common = intersect(known, schema_type, self)
                            if common is not None:
                                more.append(common)
                union += more
                union += group
                self.check_bound(len(union), where, keyword)
        alternatives = united(union)
        self.check_bound(len(alternatives), where, keyword)
        return alternatives

    cdef tuple one_of(self, list groups, list branches, Location where, str keyword):
        """Return the exclusive union. ``groups``: the branches, intersected with the rest of the schema."""
        cdef Py_ssize_t i, j
        cdef list exclusive = []
        cdef TextClasses classes
        if self.are_exclusive(groups):
            exclusive = groups
        else:
            classes = self.text_classes(groups)
            for i in range(len(groups)):
                left = <tuple>groups[i]
                others = range(len(groups)) if classes is None else classes.others(i)
                if others is None:
                    continue
                for j in others:
                    if i != j and left and not self.are_exclusive([left, groups[j]]):
                        left = self.without(<Location>branches[j], left)
                exclusive.append(left)
        alternatives = united([schema_type for group in exclusive for schema_type in group])
        self.check_bound(len(alternatives), where, keyword)
        return alternatives

    # -- if and dependencies -----------------------------------------------------------------------
    cdef tuple conditional(self, KeywordsC* keywords, Location where, tuple alternatives):
        cdef Location branch = location_at(<object>keywords.value[IF_], where, "if", None)
        cdef tuple yes, no
        if not (has(keywords, THEN_) or has(keywords, ELSE_) or self.tracking):
            return alternatives
        yes = self.intersections(alternatives, self.read(branch), where, "if")
        no = self.without(branch, alternatives)
        if has(keywords, THEN_):
            branch = location_at(<object>keywords.value[THEN_], where, "then", None)
            yes = self.intersections(yes, self.read(branch), where, "then")
        if has(keywords, ELSE_):
            branch = location_at(<object>keywords.value[ELSE_], where, "else", None)
            no = self.intersections(no, self.read(branch), where, "else")
        return united([*yes, *no])

    cdef tuple depending(self, str name, value, str keyword, Location where, tuple alternatives):
        """Apply a dependency: the member is absent, or further constraints hold."""
        cdef Location branch = location_at(value, where, keyword, name)
        cdef tuple names = names_needed(name, value, keyword, branch)
        more = (present(names, where),)
        if not isinstance(value, list):
            more = self.intersections(more, self.read(branch), branch, None)
        elif len(names) == 1:
            return alternatives
        either = united([absent(name, where), *more])
        return self.without_empty(self.intersections(alternatives, either, where, keyword))

    # -- unevaluated members and items -------------------------------------------------------------
    cdef tuple unevaluated(self, KeywordsC* keywords, Location where, tuple alternatives):
        """Apply unevaluated keywords to each alternative."""
        cdef list rest = []
        cdef SchemaType schema_type
        for schema_type in alternatives:
            if has(keywords, UNEVALUATED_PROPERTIES):
                place = place_at(
                    <object>keywords.value[UNEVALUATED_PROPERTIES], where, "unevaluatedProperties", None)
                schema_type = self.rest_of_members(place, schema_type, where)
            if schema_type is not None and has(keywords, UNEVALUATED_ITEMS):
                place = place_at(<object>keywords.value[UNEVALUATED_ITEMS], where, "unevaluatedItems", None)
                schema_type = self.rest_of_items(place, schema_type)
            if schema_type is not None:
                rest.append(schema_type)
        return tuple(rest)

    cdef SchemaType rest_of_members(self, tuple place, SchemaType schema_type, Location where):
        cdef Evaluated before = schema_type.evaluated or NONE_EVALUATED
        cdef Objects objects
        cdef Keyed others
        if not schema_type.types & OBJECT:
            return schema_type
        if not place:
            # a word on additional members
            objects = new_objects({}, True, (), None, (), 0, None, where)
            objects.rules_others = True
            schema_type = intersect(schema_type, new_type(ALL, None, None, None, None, objects, ()), self)
        if before.all_members:
            return schema_type
        if place:
            objects = new_objects(dict.fromkeys(before.names, ()), True, (), None, (), 0, None, where)
            if before.patterns:
                others = new_keyed(before.patterns, False, frozenset(), place)
                objects = keyed_objects(objects, (others,), (), ())
            else:
                objects.rest = place
            schema_type = intersect(schema_type, new_type(ALL, None, None, None, None, objects, ()), self)
        return None if schema_type is None else with_evaluated(schema_type, new_evaluated(
            before.names, before.patterns, before.items, before.contained, True, before.all_items))

    cdef SchemaType rest_of_items(self, tuple place, SchemaType schema_type):
        cdef Evaluated before = schema_type.evaluated or NONE_EVALUATED
        if before.all_items or not schema_type.types & ARRAY:
            return schema_type
        place = self.either((place, *before.contained))
        if place:
            arrays = new_arrays(((),) * before.items, place, 0, None, (), None)
            schema_type = intersect(schema_type, new_type(ALL, None, None, None, arrays, None, ()), self)
        return None if schema_type is None else with_evaluated(schema_type, new_evaluated(
            before.names, before.patterns, before.items, before.contained, before.all_members, True))

    # -- negation ---------------------------------------------------------------------------------
    cdef tuple without(self, Location where, tuple alternatives):
        cdef Location end = self.target(where)
        cdef Py_ssize_t tracking = self.tracking
        if not alternatives or end.schema is True:
            return ()
        key = (<size_t><void*>end.schema, <size_t><void*>alternatives)
        if key not in self._without:
            # ``not`` evaluates nothing
            self.tracking = 0
            try:
                self._without[key] = alternatives, self.negated_schema(end, alternatives)
            finally:
                self.tracking = tracking
        return self._without[key][1]

    cdef tuple negated_schema(self, Location where, tuple alternatives):
        """Return the alternatives outside of a schema that is not only a reference, for the first time."""
        cdef KeywordsC keywords
        if isinstance(where.schema, Derived):
            return self.without_derived(where, alternatives)
        key = <size_t><void*>where.schema
        if isinstance(where.schema, dict) and key not in self._negating:
            self.scan_known(where, &keywords)
            if keywords.seen & composed() and not keywords.seen & indivisible():
                self._negating.add(key)
                try:
                    return self.negated_keywords(&keywords, where, alternatives)
                finally:
                    self._negating.discard(key)
        return self.subtract(alternatives, self.read(where), where, None)

    cdef tuple without_derived(self, Location where, tuple alternatives):
        cdef Derived derived = where.schema
        if derived.kind == NOT_THIS:
            return self.intersections(alternatives, self.alternatives_at(<tuple>derived.places[0]), where, None)
        if derived.kind == ANY_OF_THESE:
            for place in derived.places:
                alternatives = self.without_place(<tuple>place, alternatives)
            return alternatives
        return self.subtract(alternatives, self.read(where), where, None)

    cdef tuple without_place(self, tuple place, tuple alternatives):
        cdef Location each
        cdef list rest = []
        for each in place:
            rest += self.without(each, alternatives)
        return united(rest) if len(place) > 1 else tuple(rest)

    cdef tuple without_all(self, list branches, tuple alternatives):
        """Remove all branches; branches that lead to one schema count once."""
        cdef Location branch
        cdef dict distinct = {id(self.target(branch).schema): branch for branch in branches}
        for branch in distinct.values():
            alternatives = self.without(branch, alternatives)
        return alternatives

    cdef tuple negated_keywords(self, KeywordsC* keywords, Location where, tuple alternatives):
        cdef SchemaType own = own_type(keywords, where, self)
        cdef list parts = list(self.subtract(alternatives, (own,), where, None)), branches
        cdef Location branch
        if has(keywords, REFERENCE):
            parts += self.without(self.referred_by(keywords, where), alternatives)
        for branch in branches_of(keywords, ALL_OF, "allOf", where):
            parts += self.without(branch, alternatives)
        if has(keywords, ANY_OF):
            parts += self.without_all(branches_of(keywords, ANY_OF, "anyOf", where), alternatives)
        if has(keywords, ONE_OF):
            branches = branches_of(keywords, ONE_OF, "oneOf", where)
            parts += self.without_all(branches, alternatives)
            parts += self.within_two(branches, where, alternatives)
        if has(keywords, IF_):
            parts += self.against_condition(keywords, where, alternatives)
        for name, value, keyword in dependencies_of(keywords, where):
            parts += self.against_dependency(name, value, keyword, where, alternatives)
        if has(keywords, NOT):
            branch = location_at(<object>keywords.value[NOT], where, "not", None)
            parts += self.intersections(alternatives, self.read(branch), where, "not")
        rest = without_subsumed(self.without_empty(united(parts)), self)
        self.check_bound(len(rest), where, None)
        return rest

    cdef list within_two(self, list branches, Location where, tuple alternatives):
        cdef Py_ssize_t i, j
        cdef TextClasses classes
        cdef Location branch
        cdef list common = [], groups = [
            self.intersections(alternatives, self.read(branch), where, "oneOf") for branch in branches]
        if self.are_exclusive(groups):
            return common
        classes = self.text_classes(groups)
        for i in range(len(groups)):
            self.check_bound(len(common) // INTERSECTIONS, where, "oneOf")
            for j in range(i):
                if classes is not None and classes.are_disjoint(i, j):
                    continue
                if groups[i] and not self.are_exclusive([groups[j], groups[i]]):
                    common += self.intersections(<tuple>groups[j], self.read(<Location>branches[i]), where, "oneOf")
        return common

    cdef list against_condition(self, KeywordsC* keywords, Location where, tuple alternatives):
        cdef Location condition = location_at(<object>keywords.value[IF_], where, "if", None)
        cdef list parts = []
        if has(keywords, THEN_):
            yes = self.intersections(alternatives, self.read(condition), where, "if")
            parts += self.without(location_at(<object>keywords.value[THEN_], where, "then", None), yes)
        if has(keywords, ELSE_):
            no = self.without(condition, alternatives)
            parts += self.without(location_at(<object>keywords.value[ELSE_], where, "else", None), no)
        return parts

    cdef list against_dependency(self, str name, value, str keyword, Location where, tuple alternatives):
        cdef Location branch = location_at(value, where, keyword, name)
        cdef tuple names = names_needed(name, value, keyword, branch)
        alternatives = self.intersections(alternatives, (present((name,), where),), where, keyword)
        if not isinstance(value, list):
            return list(self.without(branch, alternatives))
        missing = tuple([absent(other, where) for other in names[1:]])
        return list(self.intersections(alternatives, missing, where, keyword))


cdef bint are_open(tuple alternatives) noexcept:
    """Whether the alternatives have constraints, and no listed values."""
    cdef SchemaType schema_type
    for schema_type in alternatives:
        if schema_type is ANYTHING or schema_type.values is not None:
            return False
    return True


cdef uint64_t indivisible() noexcept:
    """Return the keywords whose schemas are subtracted by their alternatives."""
    return (
        listing() | bit(DYNAMIC_REFERENCE) | bit(RECURSIVE_REFERENCE) | bit(UNEVALUATED_PROPERTIES)
        | bit(UNEVALUATED_ITEMS))


cdef list dependencies_of(KeywordsC* keywords, Location where):
    """Return (name, dependency, keyword) of all dependencies; ``dependencies`` combines its two successors."""
    cdef list dependencies = []
    for slot, keyword in (
        (DEPENDENT_REQUIRED, "dependentRequired"), (DEPENDENT_SCHEMAS, "dependentSchemas"),
        (DEPENDENCIES, "dependencies"),
    ):
        if has(keywords, slot):
            value = <object>keywords.value[<int>slot]
            if not isinstance(value, dict):
                raise SpecError(f"{keyword} must be an object", where.at(keyword))
            dependencies += [(name, more, keyword) for name, more in (<dict>value).items()]
    return dependencies


cdef tuple names_needed(str name, value, str keyword, Location branch):
    """Return the name of a dependency and the names that it requires."""
    if keyword != "dependentSchemas" and isinstance(value, list):
        names_of(value, "", branch)
        return tuple(dict.fromkeys([name, *value]))
    if keyword == "dependentRequired":
        raise SpecError("dependentRequired needs arrays of strings", branch.pointer())
    return (name,)


cdef SchemaType present(tuple names, Location where):
    """Return objects with these members. The first is listed, so that its key precedes dependent members."""
    objects = new_objects({names[0]: ()}, True, names, set(names), (), len(names), None, where)
    return new_type(OBJECT, None, None, None, None, objects, ())


cdef SchemaType absent(str name, Location where):
    """Return all values except objects with this member."""
    objects = new_objects({name: NOTHING_FITS}, True, (), None, (), 0, None, where)
    return new_type(ALL, None, None, None, None, objects, ())


cdef list branches_of(KeywordsC* keywords, int slot, str keyword, Location where):
    if not has(keywords, slot):
        return []
    value = <object>keywords.value[slot]
    if not isinstance(value, list) or not value:
        raise SpecError(f"{keyword} must be a non-empty array", where.at(keyword))
    return [location_at(branch, where, keyword, number) for number, branch in enumerate(<list>value)]


cdef bint is_plain_constant(schema):
    """Whether the schema is a constant that needs no check."""
    if not isinstance(schema, dict) or len(<dict>schema) != 1 or "const" not in <dict>schema:
        return False
    value = (<dict>schema)["const"]
    if type(value) is str:
        return not has_surrogate(value)
    return type(value) is bool or value is None or (type(value) is int and -SAFE < value < SAFE)


# -- own keywords ----------------------------------------------------------------------------------
cdef SchemaType own_type(KeywordsC* keywords, Location where, SchemaReader reader):
    """Return the alternative of a schema's own keywords, without enum, const and applicators.

    Raises:
        SpecError: the value of a keyword is malformed.
    """
    cdef int types = ALL
    cdef Strings strings = None
    cdef Numbers numbers = None
    cdef Arrays arrays = None
    cdef Objects objects = None
    cdef list refused = None
    cdef bint is_free
    if has(keywords, TYPE):
        types = types_of(<object>keywords.value[TYPE], where)
        if has(keywords, NULLABLE) and is_flag(keywords, NULLABLE, where, "nullable"):
            types |= NULL_TYPE
    if has(keywords, MULTIPLE_OF) and <object>keywords.value[MULTIPLE_OF] == 1:
        types &= ~FRACTION
    # read the constraints of excluded types too: their keywords must be well-formed
    if keywords.seen & of_strings():
        refused = []
        strings = string_constraints(keywords, where, reader.refuse_unknown, refused)
    if keywords.seen & of_numbers():
        numbers = number_constraints(keywords, where)
    if keywords.seen & of_arrays():
        arrays = array_constraints(keywords, where)
    if keywords.seen & of_objects():
        objects = object_constraints(keywords, where, reader)
    is_free = strings is None and numbers is None and arrays is None and objects is None
    if types == ALL and is_free:
        return ANYTHING
    return new_type(
        types,
        None,
        strings if types & STRING else None,
        numbers if types & NUMBER else None,
        arrays if types & ARRAY else None,
        objects if types & OBJECT else None,
        tuple(refused) if refused and types & STRING else (),
    )


cdef bint is_flag(KeywordsC* keywords, int keyword, Location where, str name) except -1:
    value = value_of(keywords, keyword, False)
    if not isinstance(value, bool):
        raise SpecError(f"{name} must be true or false", where.at(name))
    return value


# -- strings ---------------------------------------------------------------------------------------
cdef Strings string_constraints(KeywordsC* keywords, Location where, bint refuse_unknown, list refused):
    cdef tuple patterns = (), known = ()
    if has(keywords, PATTERN):
        patterns = (constraint_text(text_of(keywords, PATTERN, where, "pattern"), where, "pattern"),)
    if has(keywords, FORMAT):
        name = text_of(keywords, FORMAT, where, "format")
        if name in PATTERNS:
            known = (constraint_text(name, where, "format"),)
        elif refuse_unknown:
            refused.append(refusal(STRING, where, "format", f"the format {name!r} can't be enforced"))
    return new_strings(
        count(keywords, MIN_LENGTH, where) or 0, count(keywords, MAX_LENGTH, where), patterns, known, (), ())


cdef str text_of(KeywordsC* keywords, int keyword, Location where, str name):
    value = <object>keywords.value[keyword]
    if not isinstance(value, str):
        raise SpecError(f"{name} must be a string", where.at(name))
    return value


# -- numbers ---------------------------------------------------------------------------------------
cdef Numbers number_constraints(KeywordsC* keywords, Location where):
    low, low_open = tightest_bound(keywords, where, MINIMUM, "minimum", EXCLUSIVE_MINIMUM, "exclusiveMinimum", max)
    high, high_open = tightest_bound(keywords, where, MAXIMUM, "maximum", EXCLUSIVE_MAXIMUM, "exclusiveMaximum", min)
    return new_numbers(low, low_open, high, high_open, multiple_of(keywords, where), (), ())


cdef tuple multiple_of(KeywordsC* keywords, Location where):
    if not has(keywords, MULTIPLE_OF):
        return ()
    number = decimal(<object>keywords.value[MULTIPLE_OF], where, "multipleOf", None)
    if number <= 0:
        raise SpecError("multipleOf must be greater than 0", where.at("multipleOf"))
    return (constraint_text(str(number), where, "multipleOf"),)


cdef tuple tightest_bound(
    KeywordsC* keywords, Location where, int inclusive, str inclusive_name, int exclusive, str exclusive_name, tightest
):
    """Return (bound or None, whether it is exclusive). Draft 4 writes ``exclusiveMinimum: true`` with ``minimum``."""
    value, is_open = None, False
    if has(keywords, inclusive):
        value = decimal(<object>keywords.value[inclusive], where, inclusive_name, tightest)
    other = value_of(keywords, exclusive, False)
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
cdef Arrays array_constraints(KeywordsC* keywords, Location where):
    """Read the keywords of arrays.

    Before 2020-12, ``items`` as an array is today's ``prefixItems``, and ``additionalItems`` is then today's ``items``.
    """
    cdef str keyword = "prefixItems", rest_keyword = "items"
    prefix = value_of(keywords, PREFIX_ITEMS, NOTHING)
    rest = value_of(keywords, ITEMS, True)
    if isinstance(rest, list):
        if has(keywords, PREFIX_ITEMS):
            raise SpecError("items must be a schema beside prefixItems", where.at("items"))
        prefix, keyword, rest_keyword = rest, "items", "additionalItems"
        rest = value_of(keywords, ADDITIONAL_ITEMS, True)
    if not isinstance(prefix, list):
        raise SpecError("prefixItems must be an array", where.at("prefixItems"))
    return new_arrays(
        tuple([place_at(each, where, keyword, n) for n, each in enumerate(<list>prefix)]),
        place_at(rest, where, rest_keyword, None),
        count(keywords, MIN_ITEMS, where) or 0,
        count(keywords, MAX_ITEMS, where),
        contained(keywords, where),
        where if is_flag(keywords, UNIQUE_ITEMS, where, "uniqueItems") else None,
    )


cdef tuple contained(KeywordsC* keywords, Location where):
    """Return the count of ``contains``, by default at least one item."""
    cdef object least = count(keywords, MIN_CONTAINS, where), most = count(keywords, MAX_CONTAINS, where)
    if not has(keywords, CONTAINS) or (least == 0 and most is None):
        return ()
    place = place_at(<object>keywords.value[CONTAINS], where, "contains", None)
    return (new_count(place, 0, 1 if least is None else least, most, where),)


# -- objects ---------------------------------------------------------------------------------------
cdef Objects object_constraints(KeywordsC* keywords, Location where, Evaluator evaluator):
    cdef tuple required = ()
    cdef set wanted = None
    cdef Py_ssize_t least
    cdef dict properties = members_of(keywords, PROPERTIES, where, "properties")
    if has(keywords, REQUIRED):
        wanted = names_of(<object>keywords.value[REQUIRED], "required", where)
        required = tuple(<list>keywords.value[REQUIRED])
    least = count(keywords, MIN_PROPERTIES, where) or 0
    objects = new_objects(
        properties,
        False,
        required,
        wanted,
        place_at(value_of(keywords, ADDITIONAL, True), where, "additionalProperties", None),
        max(least, len(required)),
        count(keywords, MAX_PROPERTIES, where),
        where,
    )
    if has(keywords, PATTERN_PROPERTIES) and members_of(keywords, PATTERN_PROPERTIES, where, "patternProperties"):
        objects = with_patterns(objects, <dict><object>keywords.value[PATTERN_PROPERTIES], where, evaluator)
    if has(keywords, PROPERTY_NAMES):
        names = place_at(<object>keywords.value[PROPERTY_NAMES], where, "propertyNames", None)
        objects = keyed_objects(objects, objects.keyed, names, ())
    objects.lists_members = len(properties) > 0
    objects.rules_others = (
        keywords.seen & (bit(ADDITIONAL) | bit(PATTERN_PROPERTIES) | bit(PROPERTY_NAMES)) != 0)
    return objects


cdef dict members_of(KeywordsC* keywords, int keyword, Location where, str name):
    value = value_of(keywords, keyword, NO_MEMBERS)
    if not isinstance(value, dict):
        raise SpecError(f"{name} must be an object", where.at(name))
    return value


cdef tuple patterns_of(dict patterns, Location where):
    """Return the patterns of ``patternProperties``, each with the schema under it."""
    return tuple([
        constraint_text(pattern, location_at(None, where, "patternProperties", None), escape(pattern))
        for pattern in patterns])


cdef Objects with_patterns(Objects plain, dict given, Location where, Evaluator evaluator):
    """Add the constraints of patterns to the places of matching listed keys."""
    cdef dict properties = {}
    cdef list keyed = []
    cdef Keyed each
    cdef ConstraintText pattern
    for pattern in patterns_of(given, where):
        place = place_at(given[pattern.text], where, "patternProperties", pattern.text)
        keyed.append(new_keyed((pattern,), True, frozenset(), place))
    for name in plain.properties:
        place = plain.place_in(name, plain.properties[name])
        for each in keyed:
            if applies(each, name, evaluator):
                place = both(place, each.place, evaluator)
        properties[name] = place
    if plain.rest:
        keyed.append(new_keyed(patterns_of(given, where), False, frozenset(), plain.rest))
    objects = new_objects(
        properties, True, plain.required, plain.wanted, (), plain.minimum, plain.maximum, where)
    return keyed_objects(objects, tuple(keyed), (), ())


# -- evaluation ------------------------------------------------------------------------------------
cdef Evaluated evaluated_by(KeywordsC* keywords, Location where, bint by_contains):
    """Return what the schema's own keywords evaluate. ``by_contains``: ``contains`` evaluates matching items."""
    cdef frozenset names = frozenset(value_of(keywords, PROPERTIES, NO_MEMBERS))
    cdef tuple patterns = patterns_of(value_of(keywords, PATTERN_PROPERTIES, NO_MEMBERS), where)
    cdef tuple places = ()
    items = value_of(keywords, ITEMS, None)
    cdef bint is_tuple = isinstance(items, list)
    prefix = items if is_tuple else value_of(keywords, PREFIX_ITEMS, NOTHING)
    if by_contains and has(keywords, CONTAINS):
        places = (place_at(<object>keywords.value[CONTAINS], where, "contains", None),)
    if keywords.seen & (of_objects() | of_arrays()) == 0:
        return None
    return new_evaluated(
        names,
        patterns,
        len(prefix),
        places,
        has(keywords, ADDITIONAL),
        has(keywords, ADDITIONAL_ITEMS if is_tuple else ITEMS),
    )
