"""Schemas -> shapes: see the header file."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from ...native.hashing cimport MISSING, map_get, map_put
from .constraints cimport evaluated_by, own_shape
from .contents cimport new_contents
from .intersection cimport place_key, united
from .keywords cimport (
    BASE, CONST, DYNAMIC_REFERENCE, ENUM, RECURSIVE_REFERENCE, REFERENCE, UNEVALUATED_ITEMS,
    UNEVALUATED_PROPERTIES, KeywordsC, bit, composed, has, is_reference, kind_of, listing, scan,
)
from .negation cimport Negation
from .references cimport References
from .schema_types cimport (
    ALL, ANYTHING, ANYTHING_ONLY, NOT_THIS, PLAIN_NUMBERS, THIS_VALUE, Derived, Located, Numbers,
    Shape, listed, new_numbers, new_shape, with_evaluated, without_evaluated,
)

from ...errors import LimitExceeded, SpecError
from .evaluate import CircularReference


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
