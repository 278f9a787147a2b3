"""Applicators: see the header file."""

from .absorption cimport absorbed
from .complements cimport NOTHING_FITS, Complements, is_false
from .evaluate cimport has_surrogate
from .keywords cimport (
    ALL_OF, ANY_OF, DEPENDENCIES, DEPENDENT_REQUIRED, DEPENDENT_SCHEMAS, ELSE_, IF_, NOT, ONE_OF, THEN_,
    UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES, KeywordsC, has, names_of,
)
from .shapes cimport (
    ALL, ANYTHING, ARRAY, OBJECT, Arrays, Count, Evaluated, Keyed, Located, Objects, Shape, both,
    keyed_objects, listed, located, meet, new_arrays, new_evaluated, new_keyed, new_objects,
    new_shape, place_at, with_evaluated,
)

from ...errors import SpecError, UnsupportedSchema
from .evaluate import CircularReference

# integers of fewer digits than any bound on their length
cdef long SAFE = 1 << 53
# pairs of alternatives that are looked at for each one that may be left
cdef Py_ssize_t MEETINGS = 16
# meetings of a whole schema, weighed, about half a second; and those up to which places are looked into
cdef Py_ssize_t MOST_WORK = 1_000_000
cdef Py_ssize_t MOST_LOOKING = 700_000
# levels of values that are looked into for places that nothing fits
cdef Py_ssize_t LEVELS = 4


cdef class Composition(Complements):
    cdef tuple read(self, Located where):
        """The alternatives of a schema."""
        raise NotImplementedError

    cdef tuple within(self, Located where, tuple shapes):
        """What is left of shapes by a schema."""
        raise NotImplementedError

    cdef tuple compose(self, KeywordsC* found, Located where, tuple shapes):
        """What the applicators leave of a schema's own shapes, references and what is unevaluated
        aside.
        """
        cdef Located branch
        for branch in branches(found, ALL_OF, "allOf", where):
            shapes = self.within(branch, shapes)
        if has(found, ANY_OF):
            shapes = self.branched(found, ANY_OF, "anyOf", where, shapes)
        if has(found, ONE_OF):
            shapes = self.branched(found, ONE_OF, "oneOf", where, shapes)
        if has(found, IF_):
            shapes = self.conditional(found, where, shapes)
        for slot, keyword in (
            (DEPENDENT_REQUIRED, "dependentRequired"), (DEPENDENT_SCHEMAS, "dependentSchemas"),
            (DEPENDENCIES, "dependencies"),
        ):
            if has(found, slot):
                shapes = self.dependent(<object>found.value[<int>slot], keyword, where, shapes)
        if has(found, NOT):
            shapes = self.negation(located(<object>found.value[NOT], where, "not", None), where, shapes)
        return shapes

    cdef tuple negation(self, Located branch, Located where, tuple shapes):
        schema = branch.schema
        if isinstance(schema, dict) and len(<dict>schema) == 1 and "not" in <dict>schema:
            # what is evaluated below a not is nobody's
            twice = located((<dict>schema)["not"], branch, "not", None)
            return self.meetings(shapes, self.shapes_at((twice,)), where, "not")
        return self.subtract(shapes, self.shapes_at((branch,)), where, "not")

    # -- anyOf and oneOf --------------------------------------------------------------------------
    cdef tuple branched(self, KeywordsC* found, int slot, str keyword, Located where, tuple shapes):
        cdef Located branch
        cdef list groups = [], others = [], constants = []
        cdef dict met = {}
        cdef bint is_free = self.knows_const and slot == ANY_OF and len(shapes) == 1 and shapes[0] is ANYTHING
        for branch in branches(found, slot, keyword, where):
            if is_free and is_plain_constant(branch.schema):
                constants.append(branch.schema["const"])
                continue
            others.append(self.read(branch))
            groups.append(self.meetings(shapes, <tuple>others[-1], where, keyword))
            for each in <tuple>groups[-1]:
                if (<Shape>each).values is None:
                    met[<size_t><void*>each] = None
            # the same place may be met often; what differs is bounded, so there is no need to go on
            self.check_bound(len(met), where, keyword)
        if constants:
            groups.append((listed(tuple(constants)),))
        if slot == ANY_OF:
            return self.any_of(groups, where, keyword)
        return self.one_of(groups, others, where, keyword)

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

    cdef tuple one_of(self, list groups, list others, Located where, str keyword):
        """``groups`` are the branches beside what else the schema says, ``others`` by themselves."""
        cdef Py_ssize_t i, j
        cdef list found = []
        if self.are_disjoint(groups):
            found = groups
        else:
            for i in range(len(groups)):
                left = <tuple>groups[i]
                for j in range(len(groups)):
                    if i != j and left and not self.are_disjoint([left, groups[j]]):
                        left = self.subtract(left, <tuple>others[j], where, keyword)
                found.append(left)
        shapes = united([shape for group in found for shape in group])
        self.check_bound(len(shapes), where, keyword)
        return shapes

    # -- if, and what depends on a member ----------------------------------------------------------
    cdef tuple conditional(self, KeywordsC* found, Located where, tuple shapes):
        cdef tuple condition, yes, no
        if not (has(found, THEN_) or has(found, ELSE_) or self.tracking):
            return shapes
        condition = self.read(located(<object>found.value[IF_], where, "if", None))
        yes = self.meetings(shapes, condition, where, "if")
        no = self.subtract(shapes, condition, where, "if")
        if has(found, THEN_):
            branch = self.read(located(<object>found.value[THEN_], where, "then", None))
            yes = self.meetings(yes, branch, where, "then")
        if has(found, ELSE_):
            branch = self.read(located(<object>found.value[ELSE_], where, "else", None))
            no = self.meetings(no, branch, where, "else")
        return united([*yes, *no])

    cdef tuple dependent(self, value, str keyword, Located where, tuple shapes):
        """``dependencies`` is both of its successors in one."""
        if not isinstance(value, dict):
            raise SpecError(f"{keyword} must be an object", where.at(keyword))
        for name in <dict>value:
            shapes = self.depending(name, (<dict>value)[name], keyword, where, shapes)
        return shapes

    cdef tuple depending(self, str name, value, str keyword, Located where, tuple shapes):
        """Either the member is not there, or more holds."""
        cdef Located branch = located(value, where, keyword, name)
        cdef tuple names = (name,)
        cdef Objects absent, present
        if keyword != "dependentSchemas" and isinstance(value, list):
            names_of(value, "", branch)
            names = tuple(dict.fromkeys([name, *value]))
            if len(names) == 1:
                return shapes
        elif keyword == "dependentRequired":
            raise SpecError("dependentRequired needs arrays of strings", branch.pointer())
        absent = new_objects({name: NOTHING_FITS}, True, (), None, (), 0, None, where)
        # listed, so that its key stands before what depends on it
        present = new_objects({name: ()}, True, names, set(names), (), len(names), None, where)
        other = (new_shape(ALL, None, None, None, None, absent, ()),)
        more = (new_shape(OBJECT, None, None, None, None, present, ()),)
        if not isinstance(value, list):
            more = self.meetings(more, self.read(branch), branch, None)
        return self.not_void(self.meetings(shapes, united([*other, *more]), where, keyword))

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

    # -- meeting and subtracting -------------------------------------------------------------------
    cdef tuple meetings(self, tuple left, tuple right, Located where, str keyword):
        """Errors name ``where``, or its keyword."""
        cdef Shape a, b, met
        cdef list found = []
        self.check_bound(len(left) * len(right) // MEETINGS, where, keyword)
        self.work += weight_of(left) * len(right) + weight_of(right) * len(left)
        if self.work > MOST_WORK:
            message = f"more than {MOST_WORK:,} combinations of alternatives to be looked at"
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        self.place(where, keyword)
        for a in left:
            for b in right:
                met = meet(a, b, self)
                if met is not None:
                    found.append(met)
        shapes = united(found)
        if len(left) > 1 and len(right) > 1:
            shapes = absorbed(self.not_void(shapes), self)
        self.check_bound(len(shapes), where, keyword)
        return shapes

    cdef tuple subtract(self, tuple shapes, tuple others, Located where, str keyword):
        """What fits one of the shapes, and none of the others."""
        cdef Shape other, part
        for other in others:
            for part in separated(other):
                self.place(where, keyword)
                shapes = self.meetings(shapes, tuple(self.complement(part)), where, keyword)
                shapes = absorbed(self.not_void(shapes), self)
        return shapes

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
        cdef Keyed each
        if shape.values is not None:
            return False
        if shape.types == ARRAY and shape.arrays is not None:
            return self.has_void_items(shape)
        if shape.types != OBJECT or objects is None:
            return False
        for name in objects.required:
            if self.is_void_place(objects.place_of(name, self)):
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
            if all([self.is_void_place(both(<tuple>place, each.place)) for place in places]):
                return True
        return False

    cdef bint is_void_place(self, tuple place) except -1:
        """Places of several schemas only: few people write one that nothing fits."""
        if is_false(place):
            return True
        if len(place) < 2 or self.looking == LEVELS or self.work > MOST_LOOKING:
            return False
        self.looking += 1
        try:
            return not self.not_void(self.shapes_at(place))
        except (CircularReference, UnsupportedSchema):
            return False
        finally:
            self.looking -= 1

    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1:
        cdef Py_ssize_t most = self.limits.alternatives
        if shapes > most:
            message = (
                f"{shapes:,} or more combinations of alternatives at one place; {most:,} can be enforced"
            )
            raise UnsupportedSchema(pointer_at(where, keyword), keyword or last_keyword(where), message)
        return 0


cdef Py_ssize_t weight_of(tuple shapes) except -1:
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


cdef Evaluated NOTHING = new_evaluated(frozenset(), (), 0, (), False, False)


cdef list branches(KeywordsC* found, int slot, str keyword, Located where):
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


cdef list separated(Shape shape):
    """The parts that are subtracted one after the other: each array and object of a list by itself."""
    cdef list scalars, found
    if shape.values is None:
        return [shape]
    scalars = [value for value in shape.values if not isinstance(value, (list, dict))]
    found = [listed((value,)) for value in shape.values if isinstance(value, (list, dict))]
    return [listed(tuple(scalars)), *found] if scalars else found


cdef bint is_plain_constant(schema):
    """Whether this says nothing but that one value is allowed, and that there is nothing to check of it."""
    if not isinstance(schema, dict) or len(<dict>schema) != 1 or "const" not in <dict>schema:
        return False
    value = (<dict>schema)["const"]
    if type(value) is str:
        return not has_surrogate(value)
    return type(value) is bool or value is None or (type(value) is int and -SAFE < value < SAFE)


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
