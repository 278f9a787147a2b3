"""Applicators: see the header file."""

from .complements cimport NOTHING_FITS
from .contents cimport has_surrogate
from .intersection cimport Intersection, united
from .keywords cimport (
    ALL_OF, ANY_OF, DEPENDENCIES, DEPENDENT_REQUIRED, DEPENDENT_SCHEMAS, ELSE_, IF_, NOT, ONE_OF,
    THEN_, UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES, KeywordsC, has, names_of,
)
from .schema_types cimport (
    ALL, ANYTHING, ARRAY, OBJECT, Evaluated, Keyed, Located, Objects, Shape, keyed_objects, listed,
    located, meet, new_arrays, new_evaluated, new_keyed, new_objects, new_shape, place_at,
    with_evaluated,
)

from ...errors import SpecError

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
        cdef Evaluated before = shape.evaluated or NOTHING
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
        cdef Evaluated before = shape.evaluated or NOTHING
        if before.all_items or not shape.types & ARRAY:
            return shape
        place = self.either((place, *before.contained))
        if place:
            arrays = new_arrays(((),) * before.items, place, 0, None, (), None)
            shape = meet(shape, new_shape(ALL, None, None, None, arrays, None, ()), self)
        return None if shape is None else with_evaluated(shape, new_evaluated(
            before.names, before.patterns, before.items, before.contained, before.all_members, True))


cdef Evaluated NOTHING = new_evaluated(frozenset(), (), 0, (), False, False)


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
