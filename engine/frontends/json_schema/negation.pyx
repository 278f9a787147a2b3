"""Negation of schemas: see the header file."""

from libc.stdint cimport uint64_t

from .composition cimport Composition, absent, branches_of, dependencies_of, names_needed, present
from .intersection cimport united
from .keywords cimport (
    ALL_OF, ANY_OF, DYNAMIC_REFERENCE, ELSE_, IF_, NOT, ONE_OF, RECURSIVE_REFERENCE, REFERENCE,
    THEN_, UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES, KeywordsC, bit, composed, has, listing,
)
from .schema_types cimport ANY_OF_THESE, NOT_THIS, Derived, Located, Shape, located
from .subsumption cimport absorbed


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
