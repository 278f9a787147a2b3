"""Schemas -> shapes: see the header file."""

from libc.stdint cimport uint32_t, uint64_t

from ...hashing cimport MISSING, map_get, map_put
from .evaluate cimport Evaluator, has_surrogate
from .facets cimport own_shape
from .keywords cimport (
    ALL_OF, ANY_OF, BASE, COMPOSED, CONST, ENUM, LISTED, NOT, ONE_OF, REFERENCE, KeywordsC,
    is_reference, is_true, kind_of, scan,
)
from .references cimport References
from .shapes cimport (
    ALL, ANYTHING, ANYTHING_ONLY, Located, Shape, listed, located, meet, new_shape, refusal,
)

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from .evaluate import CircularReference

# integers of fewer digits than any bound on their length
cdef long SAFE = 1 << 53


cdef Reader new_reader(References references, limits, bint refuse_unknown):
    cdef Reader made = Reader.__new__(Reader)
    made.limits, made.checks_limit, made.depth_limit = limits, limits.value_checks, limits.spec_depth
    made.references, made.refuse_unknown = references, refuse_unknown
    made._shapes, made._open = [], {}
    return made


cdef class Reader(Evaluator):
    cdef tuple shapes_at(self, tuple place):
        """The alternatives of a place.

        Raises:
            SpecError, UnsupportedSchema, LimitExceeded: see ``build_json_schema``.
        """
        cdef Located each
        cdef tuple shapes
        if not place:
            return ANYTHING_ONLY
        if len(place) == 1:
            return self.read(<Located>place[0])
        key = tuple([<size_t><void*>(<Located>each).schema for each in place])
        if self._places is None:
            self._places = {}
        if key not in self._places:
            shapes = ANYTHING_ONLY
            for each in place:
                shapes = self.meetings(shapes, self.read(each), each, None)
            self._places[key] = place, shapes
        return self._places[key][1]

    cdef Located target(self, Located where):
        """Where a schema leads that is nothing but a reference; so all such places are one."""
        cdef Located found
        if not is_reference(where.schema):
            return where
        self.followed = True
        found = self.references.resolve((<dict>where.schema)["$ref"], where)
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
                self._targets[key] = self.references.resolve(where.schema["$ref"], where)
            where = self._targets[key]
        self._targets.update(dict.fromkeys(passed, where))
        return where

    cdef tuple read(self, Located where):
        return self.read_target(self.target(where))

    cdef tuple read_target(self, Located where):
        """As ``read``, of what is more than a reference."""
        cdef uint32_t known
        cdef tuple shapes
        schema = where.schema
        if isinstance(schema, bool):
            return ANYTHING_ONLY if schema else ()
        if not isinstance(schema, dict):
            raise SpecError(f"a schema must be an object or a boolean, not {kind_of(schema)}", where.pointer())
        known = map_get(&self._read, <uint64_t><size_t><void*>schema)
        if known != MISSING:
            return <tuple>self._shapes[known]
        if self._open and <size_t><void*>schema in self._open:
            raise CircularReference("the reference leads back here", where.pointer())
        # a value that is judged may lead to schemas that nobody has read yet
        depth = <Py_ssize_t>len(self._open) + self.depth + 1
        if depth > self.depth_limit:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, depth, where.pointer())
        shapes = self.schema(where)
        map_put(&self._read, <uint64_t><size_t><void*>schema, <uint32_t>len(self._shapes))
        self._shapes.append(shapes)
        return shapes

    cdef tuple schema(self, Located where):
        cdef KeywordsC found
        cdef tuple shapes
        scan(<dict>where.schema, &found)
        if found.seen >> BASE & 1:
            self.references.check_base(where.schema, where)
        if found.seen & (COMPOSED | LISTED) == 0:
            return (own_shape(&found, where, self.references, self.refuse_unknown),)
        key = <size_t><void*>where.schema
        self._open[key] = None
        try:
            shapes = (own_shape(&found, where, self.references, self.refuse_unknown),)
            return self.composition(&found, where, shapes)
        finally:
            del self._open[key]

    cdef tuple composition(self, KeywordsC* found, Located where, tuple shapes):
        """What is left of them by the keywords that may lead back to the schema itself."""
        if found.seen & COMPOSED:
            shapes = self.composed(found, where, shapes)
        if found.seen >> ENUM & 1:
            shapes = self.listed_values(<object>found.value[ENUM], "enum", where, shapes)
        if found.seen >> CONST & 1:
            shapes = self.listed_values(<object>found.value[CONST], "const", where, shapes)
        return shapes

    # -- composition ------------------------------------------------------------------------------
    cdef tuple composed(self, KeywordsC* found, Located where, tuple shapes):
        cdef Located branch
        cdef list groups, constants
        cdef dict others
        cdef bint is_free
        cdef tuple group
        if found.seen >> REFERENCE & 1:
            self.followed = True
            branch = self.references.resolve(<object>found.value[REFERENCE], where)
            shapes = self.meetings(shapes, self.read(branch), where, "$ref")
        if found.seen >> NOT & 1:
            shapes = self.negated(<object>found.value[NOT], where, shapes)
        for branch in self.branches(found, ALL_OF, "allOf", where):
            shapes = self.meetings(shapes, self.read(branch), branch, None)
        for slot, keyword in ((ANY_OF, "anyOf"), (ONE_OF, "oneOf")):
            if not found.seen >> <int>slot & 1:
                continue
            groups, constants = [], []
            is_free = len(shapes) == 1 and shapes[0] is ANYTHING
            others = {}
            for branch in self.branches(found, slot, keyword, where):
                if slot == ANY_OF and is_free and is_plain_constant(branch.schema):
                    constants.append(branch.schema["const"])
                    continue
                group = self.meetings(shapes, self.read(branch), where, keyword)
                groups.append(group)
                for each in group:
                    if (<Shape>each).values is None:
                        others[<size_t><void*>each] = None
                # the same place may be met often; what differs is bounded, so there is no need to go on
                self.check_bound(len(others), where, keyword)
            if constants:
                groups.append((listed(tuple(constants)),))
            if slot == ONE_OF and not self.are_disjoint(groups):
                message = "the branches of oneOf are not seen to exclude one another"
                raise UnsupportedSchema(where.at(keyword), "oneOf", message)
            shapes = united([shape for group in groups for shape in group])
            self.check_bound(len(shapes), where, keyword)
        return shapes

    cdef list branches(self, KeywordsC* found, int slot, str keyword, Located where):
        cdef Py_ssize_t number
        cdef list made = []
        if not found.seen >> slot & 1:
            return made
        value = <object>found.value[slot]
        if not isinstance(value, list) or not value:
            raise SpecError(f"{keyword} must be a non-empty array", where.at(keyword))
        for number in range(len(<list>value)):
            made.append(located((<list>value)[number], where, keyword, number))
        return made

    cdef tuple negated(self, schema, Located where, tuple shapes):
        """``not`` of everything and of nothing; all else is refused."""
        cdef tuple refused
        if schema is False:
            return shapes
        if is_true(schema):
            return ()
        refused = (refusal(ALL, where, "not", ""),)
        return self.meetings(shapes, (new_shape(ALL, None, None, None, None, None, refused),), where, None)

    cdef tuple meetings(self, tuple left, tuple right, Located where, str keyword):
        """Errors name ``where``, or its keyword."""
        cdef Shape a, b, met
        cdef list found = []
        self.check_bound(len(left) * len(right), where, keyword)
        self.place(where, keyword)
        for a in left:
            for b in right:
                met = meet(a, b, self)
                if met is not None:
                    found.append(met)
        return united(found)

    cdef int check_bound(self, Py_ssize_t shapes, Located where, str keyword) except -1:
        cdef Py_ssize_t most = self.limits.alternatives
        if shapes > most:
            message = (
                f"{shapes:,} or more combinations of alternatives at one place; {most:,} can be enforced"
            )
            raise UnsupportedSchema(where.pointer() if keyword is None else where.at(keyword), "anyOf", message)
        return 0

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
            if is_free:
                fitting.append(value)
                continue
            for shape in shapes:
                if self.fits_shape(shape, value):
                    fitting.append(value)
                    break
        return (listed(tuple(fitting)),) if fitting else ()


cdef bint is_plain_constant(schema):
    """Whether this says nothing but that one value is allowed, and that there is nothing to check of it."""
    if not isinstance(schema, dict) or len(<dict>schema) != 1 or "const" not in <dict>schema:
        return False
    value = (<dict>schema)["const"]
    if type(value) is str:
        return not has_surrogate(value)
    return type(value) is bool or value is None or (type(value) is int and -SAFE < value < SAFE)


cdef tuple united(list shapes):
    """Shapes without repetitions; all listed values in one."""
    cdef Shape shape
    cdef dict kept = {}
    cdef list values = []
    if len(shapes) < 2:
        return tuple(shapes)
    for shape in shapes:
        if shape.values is not None:
            values.extend(shape.values)
        else:
            kept[<size_t><void*>shape] = shape
    if <size_t><void*>ANYTHING in kept:
        kept = {0: ANYTHING}
    if values:
        kept[1] = listed(tuple(values))
    return tuple(kept.values())
