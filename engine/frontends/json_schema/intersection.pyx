"""Intersection of alternatives: see the header file."""

from ...budget cimport spent
from .complements cimport Complements, is_false
from .contents cimport Hull
from .schema_types cimport (
    ANYTHING, ARRAY, NOT_THIS, OBJECT, Arrays, Count, Derived, Keyed, Located, Objects, Shape, both,
    listed, meet, objects_apart,
)
from .subsumption cimport absorbed

from ...errors import UnsupportedSchema
from .evaluate import CircularReference

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
        self.add_work(weight_of(left) * len(right) + weight_of(right) * len(left), where, keyword)
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
