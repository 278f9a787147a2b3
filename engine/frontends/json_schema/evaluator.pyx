"""The evaluator, and cheap facts about schemas."""

from cpython.dict cimport PyDict_GetItemWithError
from cpython.ref cimport PyObject
from libc.limits cimport LLONG_MAX
from libc.stdint cimport int64_t

from ...grammar.ir cimport Grammar
from ...native.resources cimport WorkBudget, spend, spent
from ..regex.regex_syntax cimport Tree
from .document cimport (
    ADDITIONAL, ADDITIONAL_ITEMS, ALL_OF, ANY_OF, BASE, CONST, CONTAINS, DEPENDENCIES,
    DEPENDENT_SCHEMAS, DYNAMIC_REFERENCE, ELSE_, ENUM, IF_, ITEMS, NOT, NULLABLE, ONE_OF,
    PATTERN_PROPERTIES, PREFIX_ITEMS, PROPERTIES, PROPERTY_NAMES, RECURSIVE_REFERENCE, REFERENCE,
    SLOTS, THEN_, TYPE, UNEVALUATED_ITEMS, UNEVALUATED_PROPERTIES, KeywordsC, References, bit,
    decimal_at, has, listing, one_type, scan,
)
from .intersection cimport applies, is_crossed, intersect_numbers, place_of
from .schema_types cimport (
    ALL, ARRAY, BOOLEAN, FRACTION, INTEGER, NOT_THIS, NULL_TYPE, NUMBER, OBJECT, STRING, THIS_VALUE, Arrays, Count,
    Derived, Keyed, Location, ConstraintText, Numbers, Objects, SchemaType, Strings, new_numbers, new_objects,
)

from decimal import Decimal
from fractions import Fraction

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ..regex.char_automaton import Bound, memberships
from ..regex.front_end import by_length, search_automaton, within
from ..regex.regex_syntax import parse
from . import formats

cdef frozenset NONE_BARRED = frozenset()
# only patterns with such a group have several automata by length
cdef str LOOK_AHEAD = "(?="
# smaller integers never exceed a bound on digits
cdef long SAFE = 1 << 53


cdef int type_of(value) except -1:
    """Return the bit of a value's type; 1.0 is a whole number."""
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return INTEGER if value.is_integer() else FRACTION
    return NULL_TYPE if value is None else ARRAY if isinstance(value, list) else OBJECT


cdef identity(value):
    """Return a key that is equal for equal JSON values: 1 and 1.0 are equal, 1 and true are not; the order of keys does
    not count.
    """
    if isinstance(value, list):
        return ARRAY, tuple([identity(item) for item in value])
    if isinstance(value, dict):
        return OBJECT, frozenset([(key, identity(item)) for key, item in value.items()])
    return type_of(value), value


cdef SchemaFacts new_facts(References references, Grammar grammar):
    cdef SchemaFacts facts = SchemaFacts.__new__(SchemaFacts)
    facts.references, facts.budget = references, grammar.budget
    facts.most_values = grammar.limits.enum_values
    facts._numbers, facts._contents, facts._hulls, facts._places = {}, {}, {}, {}
    return facts


cdef class SchemaFacts:
    cdef bint holds(self, tuple place, schema) except -1:
        """Whether a place contains the schema, or one of the same number."""
        cdef Location each
        for each in place:
            if each.schema is schema:
                return True
        number = self.number(schema)
        for each in place:
            if self.number(each.schema) == number:
                return True
        return False

    cdef bint are_disjoint(self, tuple a, tuple b) except -1:
        """Whether the hulls of two places are disjoint."""
        return self.disjoint_hulls(self.hull_of_place(a), self.hull_of_place(b))

    cdef bint disjoint_hulls(self, Hull a, Hull b) except -1:
        if not a.types & b.types:
            return True
        if a.values is None and b.values is None:
            return False
        spend(self.budget, (len(a.values or ()) + len(b.values or ())) >> 4)
        if a.values is not None and b.values is not None:
            return a.values.isdisjoint(b.values)
        return not intersection(a, b).types

    cdef bint is_implied(self, tuple place, tuple other) except -1:
        """Whether all values of a place are seen to fit ``other``, which must be a negation."""
        cdef Derived derived
        if len(other) != 1 or not isinstance((<Location>other[0]).schema, Derived):
            return False
        derived = (<Location>other[0]).schema
        return derived.kind == NOT_THIS and self.are_disjoint(place, <tuple>derived.places[0])

    cdef bint disjoint_members(self, Objects a, Objects b) except -1:
        """Whether a member that one object requires makes the objects disjoint."""
        cdef Py_ssize_t n = <Py_ssize_t>len(a.required) + <Py_ssize_t>len(b.required)
        if n == 0:
            return False
        spend(self.budget, 1 + n // 4)
        for name in a.required:
            if self.differ_at(name, a, b):
                return True
        for name in b.required:
            if a.wanted is not None and name in a.wanted:
                continue
            if self.differ_at(name, a, b):
                return True
        return False

    cdef bint differ_at(self, name, Objects a, Objects b) except -1:
        return (
            self.disjoint_hulls(self.hull_of_member(a, name), self.hull_of_member(b, name))
            or self.is_opposed(name, a, b) or self.is_opposed(name, b, a)
        )

    cdef bint is_opposed(self, name, Objects a, Objects b) except -1:
        """Whether ``a`` excludes the values under a key that ``b`` requires."""
        cdef Location each
        cdef Derived derived
        cdef PyObject* property = PyDict_GetItemWithError(a.properties, name) if a.is_intersection else NULL
        if property == NULL:
            return False
        for each in <tuple><object>property:
            if isinstance(each.schema, Derived):
                derived = each.schema
                if derived.kind == NOT_THIS and self.asks_for(name, b, <tuple>derived.places[0]):
                    return True
        return False

    cdef bint asks_for(self, name, Objects objects, tuple place) except -1:
        """Whether the value under a key must fit all schemas of a place."""
        cdef Location each
        cdef PyObject* property = PyDict_GetItemWithError(objects.properties, name)
        cdef tuple own = objects.rest
        if property != NULL:
            own = objects.place_in(name, <object>property)
        for each in place:
            if not self.holds(own, each.schema):
                return False
        return True

    cdef tuple narrower(self, tuple a, tuple b):
        """Return the place whose values are a subset of the other's; None if neither is seen to be one."""
        cdef Hull of_a = self.hull_of_place(a), of_b = self.hull_of_place(b)
        spend(self.budget, (len(of_a.values or ()) + len(of_b.values or ())) >> 4)
        if of_b.is_exact and is_within_hull(of_a, of_b):
            return a
        # numbers keep the spelling of ``a``
        if of_a.is_exact and is_within_hull(of_b, of_a) and (of_b.values is None or not of_b.types & NUMBER):
            return b
        return None

    # -- numbers ----------------------------------------------------------------------------------
    cdef object number(self, schema):
        cdef PyObject* known
        if isinstance(schema, bool):
            return 1 if schema else 0
        key = <size_t><void*>schema
        known = PyDict_GetItemWithError(self._numbers, key)
        if known != NULL:
            return <object>known
        if isinstance(schema, dict):
            content = self.content(<dict>schema)
        elif isinstance(schema, Derived):
            content = self.content_of_derived(<Derived>schema)
        else:
            content = None
        made = 2 + <Py_ssize_t>len(self._numbers)
        if content is not None:
            made = self._contents.setdefault(content, made)
        self._numbers[key] = made
        return made

    cdef tuple content(self, dict schema):
        """Return a key that is equal for schemas of the same meaning; None: no other schema is equal."""
        cdef KeywordsC keywords
        cdef list parts = []
        cdef int slot
        scan(schema, &keywords)
        if keywords.seen & (bit(BASE) | bit(DYNAMIC_REFERENCE) | bit(RECURSIVE_REFERENCE)):
            return None
        if has(&keywords, REFERENCE) and self.references.has_inner:
            return None
        spend(self.budget, 1)
        for slot in range(SLOTS):
            if not has(&keywords, slot):
                continue
            value = <object>keywords.value[slot]
            if is_one_of_names(slot) and isinstance(value, dict):
                spend(self.budget, len(<dict>value) >> 3)
                value = tuple([(name, self.part(each)) for name, each in (<dict>value).items()])
            elif is_of_schemas(slot):
                is_list = isinstance(value, list)
                value = tuple([self.part(each) for each in <list>value]) if is_list else self.part(value)
            else:
                value = self.spelled(value)
            parts.append((slot, value))
        return tuple(parts)

    cdef part(self, value):
        """Return the key of a subschema, or of another value in its position."""
        return self.number(value) if isinstance(value, (dict, bool)) else self.spelled(value)

    cdef spelled(self, value):
        """Return a key that is equal for values with the same spelling."""
        if isinstance(value, str):
            return value
        spend(self.budget, 1)
        if isinstance(value, list):
            return list, tuple([self.spelled(item) for item in <list>value])
        if isinstance(value, dict):
            return dict, tuple([(key, self.spelled(item)) for key, item in (<dict>value).items()])
        return type(value), repr(value)

    cdef tuple content_of_derived(self, Derived derived):
        cdef tuple place
        cdef Location each
        if derived.kind == THIS_VALUE:
            return derived.kind, self.spelled(derived.value)
        if derived.places is None:
            return (derived.kind,)
        return derived.kind, tuple([
            tuple([self.number(each.schema) for each in place]) for place in derived.places])

    # -- hulls ------------------------------------------------------------------------------------
    cdef Hull hull(self, schema):
        cdef PyObject* known
        if isinstance(schema, bool):
            return EVERYTHING if schema else NOTHING
        key = <size_t><void*>schema
        known = PyDict_GetItemWithError(self._hulls, key)
        if known != NULL:
            return <Hull><object>known
        made = EVERYTHING
        if isinstance(schema, dict):
            made = self.hull_of_keywords(<dict>schema)
        elif isinstance(schema, Derived):
            made = self.hull_of_derived(<Derived>schema)
        self._hulls[key] = made
        return made

    cdef Hull hull_of_keywords(self, dict schema):
        cdef KeywordsC keywords
        cdef int types = ALL
        cdef Hull hull
        spend(self.budget, 1)
        scan(schema, &keywords)
        keywords.seen &= self.references.known
        if has(&keywords, REFERENCE) and self.references.ref_alone:
            return EVERYTHING
        if not keywords.seen & (bit(TYPE) | listing()):
            return new_hull(ALL, None, NONE_BARRED, True) if not keywords.seen else EVERYTHING
        if has(&keywords, TYPE):
            types = types_at_most(<object>keywords.value[TYPE])
            if not types:
                return EVERYTHING
        if has(&keywords, NULLABLE):
            types |= NULL_TYPE
        hull = new_hull(types, None, NONE_BARRED, keywords.seen & ~(bit(TYPE) | listing()) == 0)
        if has(&keywords, CONST):
            hull = intersection(hull, self.hull_of_values([<object>keywords.value[CONST]]))
        if has(&keywords, ENUM):
            hull = intersection(hull, self.hull_of_values(<object>keywords.value[ENUM]))
        return hull

    cdef Hull hull_of_values(self, values):
        cdef int types = 0
        if not isinstance(values, list) or len(<list>values) > self.most_values:
            return EVERYTHING
        spend(self.budget, len(<list>values) >> 3)
        for value in <list>values:
            if not is_well_formed(value):
                return EVERYTHING
        identities = frozenset([(type_of(value), value) for value in <list>values])
        for kind, _ in identities:
            types |= <int>kind
        return new_hull(types, identities, NONE_BARRED, True)

    cdef Hull hull_of_derived(self, Derived derived):
        cdef Hull inner
        if derived.kind == THIS_VALUE:
            return self.hull_of_values([derived.value])
        if derived.kind != NOT_THIS:
            return EVERYTHING
        inner = self.hull_of_place(<tuple>derived.places[0])
        if not inner.is_exact or inner.barred:
            return EVERYTHING
        if inner.values is None:
            return new_hull(ALL & ~inner.types, None, NONE_BARRED, True)
        return new_hull(ALL, None, inner.values, True)

    cdef Hull hull_of_place(self, tuple place):
        cdef Location each
        cdef PyObject* known
        cdef Hull hull = ANY
        if len(place) < 2:
            return self.hull((<Location>place[0]).schema) if place else ANY
        key = <size_t><void*>place
        known = PyDict_GetItemWithError(self._places, key)
        if known != NULL:
            return <Hull>(<tuple><object>known)[1]
        for each in place:
            hull = intersection(hull, self.hull(each.schema))
        self._places[key] = place, hull
        return hull

    cdef Hull hull_of_member(self, Objects objects, name):
        """Return the hull of the value under a key, listed or not."""
        cdef PyObject* property
        cdef PyObject* known
        if objects.hulls is not None:
            known = PyDict_GetItemWithError(objects.hulls, name)
            if known != NULL:
                return <Hull><object>known
        property = PyDict_GetItemWithError(objects.properties, name)
        if property == NULL:
            # patterns of keys may constrain it further
            return self.hull_of_place(objects.rest)
        if not objects.is_intersection:
            return self.hull(<object>property)
        hull = self.hull_of_place(<tuple><object>property)
        if objects.hulls is None:
            objects.hulls = {}
        objects.hulls[name] = hull
        return hull


cdef class Hull:
    pass


cdef Hull new_hull(int types, frozenset values, frozenset barred, bint is_exact):
    cdef Hull made = Hull.__new__(Hull)
    made.types, made.values, made.barred, made.is_exact = types, values, barred, is_exact
    return made


cdef Hull ANY = new_hull(ALL, None, NONE_BARRED, True)
# the hull of a schema that is too complex for one
cdef Hull EVERYTHING = new_hull(ALL, None, NONE_BARRED, False)
cdef Hull NOTHING = new_hull(0, None, NONE_BARRED, True)


cdef Hull intersection(Hull a, Hull b):
    """Return the intersection of two hulls; without types it is empty."""
    cdef int types = a.types & b.types
    cdef Hull some, other
    cdef frozenset values
    cdef bint is_exact = a.is_exact and b.is_exact
    if a is ANY:
        return b
    if b is ANY or (b is EVERYTHING and not a.is_exact):
        return a
    if not types:
        return NOTHING if is_exact else new_hull(0, None, NONE_BARRED, False)
    if a.values is None and b.values is None:
        return new_hull(types, None, a.barred | b.barred if b.barred else a.barred, is_exact)
    some, other = (a, b) if a.values is not None else (b, a)
    values = some.values & other.values if other.values is not None else some.values
    if other.barred:
        values = values - other.barred
    if some.types & ~types:
        values = frozenset([value for value in values if (<tuple>value)[0] & types])
    return new_hull(types if values else 0, values, NONE_BARRED, is_exact)


cdef bint is_within_hull(Hull a, Hull b) except -1:
    if a.types & ~b.types or (b.values is not None and (a.values is None or not a.values <= b.values)):
        return False
    return b.barred.isdisjoint(a.values) if a.values is not None else b.barred <= a.barred


cdef int types_at_most(value) except -1:
    """Return the bits of the keyword ``type``; 0 if it is malformed."""
    cdef int types = one_type(value), each
    if types or not isinstance(value, list):
        return types
    for name in <list>value:
        each = one_type(name)
        if not each or (types & each) == each:
            return 0
        types |= each
    return types


cdef bint is_well_formed(value) except -1:
    """Whether a listed value needs no closer check of its inner values, digits or characters."""
    if type(value) is str:
        return not has_surrogate(value)
    if type(value) is int or type(value) is float:
        return -SAFE < value < SAFE
    return value is None or type(value) is bool


cdef bint has_surrogate(str text):
    cdef Py_UCS4 c
    if text.isascii():
        return False
    for c in text:
        if 0xD800 <= c <= 0xDFFF:
            return True
    return False


cdef bint is_one_of_names(int slot) noexcept:
    """Whether a keyword's value maps names to schemas."""
    return slot in (PROPERTIES, PATTERN_PROPERTIES, DEPENDENT_SCHEMAS, DEPENDENCIES)


cdef bint is_of_schemas(int slot) noexcept:
    """Whether a keyword's value is a schema or a list of schemas."""
    return slot in (
        ITEMS, PREFIX_ITEMS, ADDITIONAL, ALL_OF, ANY_OF, ONE_OF, NOT, IF_, THEN_, ELSE_, UNEVALUATED_PROPERTIES,
        UNEVALUATED_ITEMS, PROPERTY_NAMES, ADDITIONAL_ITEMS, CONTAINS)


# -- values ----------------------------------------------------------------------------------------

# levels of properties that are compared for two branches of oneOf
cdef int DISTANCE = 3
# maximum comparisons for one oneOf: a few hundred branches, some tenths of a second
cdef Py_ssize_t PAIRS = 200_000
# maximum classes into which the patterns of one oneOf divide texts. Patterns that are searched anywhere
# can have as many as sets of them
cdef Py_ssize_t CLASSES = 4096
# bits of types, below the classes of texts
cdef int TYPE_BITS = 7
# maximum classes times patterns, 16 MB
cdef Py_ssize_t CLASS_WORDS = 4 << 20
# groups that are compared by their classes of texts in about a microsecond
cdef Py_ssize_t GROUPS_PER_STEP = 8


cdef Py_ssize_t size_of(value) except -1:
    """Return the number of values in a value."""
    cdef Py_ssize_t n = 1
    if isinstance(value, dict):
        value = (<dict>value).values()
    elif not isinstance(value, list):
        return n
    for item in value:
        n += size_of(item)
    return n


class CircularReference(SpecError):
    """A schema whose meaning at one location depends on itself."""


cdef class Evaluator:
    def __cinit__(self):
        self.checks = self.depth = 0
        self._trees, self._automata, self._lengths, self._paid = {}, {}, {}, set()
        self._classes, self._listed = {}, {}

    cdef tuple alternatives_at(self, tuple place):
        raise NotImplementedError

    cdef Location target(self, Location where):
        raise NotImplementedError

    cdef void place(self, Location where, str keyword):
        self.where, self.keyword = where, keyword

    # -- values -----------------------------------------------------------------------------------
    cdef int check_value(self, value, Location where, str keyword, Py_ssize_t number) except -1:
        """Check that a value is JSON. ``number`` -1: the keyword's whole value.

        Raises:
            SpecError: not a JSON value, or one without a spelling (a lone surrogate, an infinite number).
        """
        cdef list todo
        if isinstance(value, str) and not has_surrogate(value):
            return 0
        todo = [value]
        pointer = where.at(keyword)
        if number >= 0:
            pointer = f"{pointer}/{number}"
        while todo:
            item = todo.pop()
            if isinstance(item, dict):
                todo += [*item, *item.values()]
            elif isinstance(item, list):
                todo += item
            elif isinstance(item, str):
                if has_surrogate(item):
                    raise SpecError("a lone surrogate is not text", pointer)
            elif isinstance(item, float) or (isinstance(item, int) and not isinstance(item, bool)):
                decimal_at(item, pointer, None)
            elif item is not None and not isinstance(item, bool):
                raise SpecError(f"a value of type {type(item).__name__} is not JSON", pointer)
        return 0

    cdef bint fits(self, tuple place, value) except -1:
        """Whether the value fits an alternative of the place.

        Raises:
            UnsupportedSchema: the result depends on an unenforceable keyword.
        """
        cdef SchemaType schema_type
        try:
            alternatives = self.alternatives_at(place)
        except CircularReference as error:
            message = "values that depend on the schema that lists them can't be enforced"
            raise UnsupportedSchema(error.pointer, "enum", message) from None
        self.depth += 1
        try:
            for schema_type in alternatives:
                if self.fits_type(schema_type, value):
                    return True
            return False
        finally:
            self.depth -= 1

    cdef bint fits_type(self, SchemaType schema_type, value) except -1:
        cdef int kind = type_of(value)
        spend(self.budget, 1)
        self.checks += 1
        if self.checks > self.checks_limit:
            pointer = self.where.pointer() if self.keyword is None else self.where.at(self.keyword)
            raise LimitExceeded("value_checks", self.checks_limit, self.checks, pointer)
        if not schema_type.types & kind:
            return False
        schema_type.check(kind)
        if schema_type.values is not None:
            if kind & (ARRAY | OBJECT):
                spend(self.budget, size_of(value))
            return identity(value) in self.identities(schema_type.values)
        if kind == STRING:
            return schema_type.strings is None or self.string(schema_type.strings, value)
        if kind & NUMBER:
            return schema_type.numbers is None or is_within(schema_type.numbers, value)
        if kind == ARRAY:
            return schema_type.arrays is None or self.array(schema_type.arrays, value)
        return kind != OBJECT or schema_type.objects is None or self.members(schema_type.objects, value)

    cdef frozenset identities(self, tuple values):
        key = <size_t><void*>values
        if key not in self._listed:
            self._listed[key] = values, frozenset([identity(value) for value in values])
        return self._listed[key][1]

    cdef bint string(self, Strings strings, str value) except -1:
        cdef ConstraintText each
        if len(value) < strings.minimum or (strings.maximum is not None and len(value) > strings.maximum):
            return False
        if value in strings.barred:
            return False
        # an automaton reads about 64 characters in a microsecond
        spend(self.budget, (<Py_ssize_t>len(value) >> 6) * (
            <Py_ssize_t>len(strings.patterns) + <Py_ssize_t>len(strings.without)
            + <Py_ssize_t>len(strings.formats)))
        for each in strings.patterns:
            if not self.has_match(each, value):
                return False
        for each in strings.without:
            if self.has_match(each, value):
                return False
        for each in strings.formats:
            if len(value) > formats.MAX_LENGTHS.get(each.text, len(value)):
                return False
            if not self.format(each, False).accepts(value):
                return False
        return True

    cdef bint matches(self, ConstraintText pattern, str text) except -1:
        spend(self.budget, 1 + (<Py_ssize_t>len(text) >> 6))
        return self.has_match(pattern, text)

    cdef bint has_match(self, ConstraintText pattern, str text) except -1:
        if LOOK_AHEAD not in pattern.text:
            return self.pattern(pattern).accepts(text)
        for automaton, least, most in self.automata_by_length(pattern, None):
            if least <= len(text) and (most is None or len(text) <= most) and automaton.accepts(text):
                return True
        return False

    cdef bint array(self, Arrays arrays, list value) except -1:
        cdef Py_ssize_t number
        if len(value) < arrays.minimum or (arrays.maximum is not None and len(value) > arrays.maximum):
            return False
        for number in range(len(value)):
            if not self.fits(arrays.item(number), value[number]):
                return False
        if arrays.unique is not None and len({identity(item) for item in value}) < len(value):
            return False
        return self.counts(arrays, value)

    cdef bint counts(self, Arrays arrays, list value) except -1:
        cdef Count each
        for each in arrays.counts:
            n = sum([self.fits(each.place, item) for item in value[each.first :]])
            if n < each.minimum or (each.maximum is not None and n > each.maximum):
                return False
        return True

    cdef bint members(self, Objects objects, dict value) except -1:
        if len(value) < objects.minimum or (objects.maximum is not None and len(value) > objects.maximum):
            return False
        for name in objects.required:
            if name not in value:
                return False
        for name, item in value.items():
            if not self.fits(place_of(objects, name, self), item):
                return False
        return objects.is_plain() or self.keys(objects, value)

    cdef bint keys(self, Objects objects, dict value) except -1:
        """Whether keys fit their constraints, and the required members by key exist."""
        cdef Keyed each
        for name in value:
            if not self.fits(objects.names, name):
                return False
        for each in objects.some:
            for name, item in value.items():
                if applies(each, name, self) and self.fits(each.place, item):
                    break
            else:
                return False
        return True

    cdef pattern(self, ConstraintText constraint_text):
        """Return the automaton of a searched pattern. Raises as ``regex.build_search``."""
        return self.automaton(constraint_text.text, None, constraint_text)

    cdef list automata_by_length(self, ConstraintText constraint_text, longest):
        """Return automata of a searched pattern with bounds on the length, as (automaton, least, most); a text that
        matches has one of them. ``longest``: the characters that texts have at most; None: any number.
        """
        if LOOK_AHEAD not in constraint_text.text and (longest is None or "{" not in constraint_text.text):
            return [(self.pattern(constraint_text), 0, None)]
        return [
            (self.automaton(key, part, constraint_text), least, most)
            for key, part, least, most in self.trees_by_length(constraint_text, longest)
        ]

    cdef list trees_by_length(self, ConstraintText constraint_text, longest):
        """Return trees of a searched pattern with bounds on the length, as (key, tree, least, most)."""
        cdef str pattern = constraint_text.text
        cdef int64_t begun = spent(self.budget)
        cdef tuple asked = (pattern, longest)
        cdef Py_ssize_t number
        known = self._lengths.get(asked)
        if known is None:
            tree, ways = self.tree(pattern, constraint_text), []
            spend(self.budget, len(pattern))
            for number, (part, least, most) in enumerate(
                    by_length(tree if longest is None else within(tree, longest))):
                ways.append((pattern if part is tree else (pattern, longest, number), part, least, most))
            known = self._lengths[asked] = ways, spent(self.budget) - begun
        elif asked not in self._paid:
            spend(self.budget, known[1])
        self._paid.add(asked)
        return known[0]

    cdef format(self, ConstraintText constraint_text, bint short):
        """Return the automaton of a format, or of its short form."""
        return self.automaton(
            (formats.SHORT if short else formats.PATTERNS)[constraint_text.text], None, constraint_text)

    cdef Tree tree(self, str pattern, ConstraintText constraint_text):
        """Return the parsed pattern. Raises as ``regex_syntax.parse``."""
        cdef int64_t begun = spent(self.budget)
        parsed = self._trees.get(pattern)
        if parsed is None:
            tree = parse(
                pattern, pointer=constraint_text.pointer(), limits=self.limits, budget=self.budget)
            parsed = self._trees[pattern] = tree, spent(self.budget) - begun
        else:
            spend(self.budget, parsed[1])
        return parsed[0]

    cdef automaton(self, key, Tree tree, ConstraintText constraint_text):
        """Return an automaton by its key; ``tree`` None: the key is the pattern."""
        cdef int64_t begun = spent(self.budget)
        known = self._automata.get(key)
        if known is None:
            bound = Bound(self.limits.pattern_states, constraint_text.pointer(), self.budget)
            if tree is None:
                tree = self.tree(key, constraint_text)
            found = search_automaton(tree, bound).minimal(bound)
            known = self._automata[key] = found, spent(self.budget) - begun
        elif key not in self._paid:
            spend(self.budget, known[1])
        self._paid.add(key)
        return known[0]

    # -- differences ------------------------------------------------------------------------------
    cdef bint are_exclusive(self, list groups) except -1:
        """Whether no value fits two of the groups, as far as ``PAIRS`` comparisons can decide."""
        cdef set seen = set(), own
        cdef SchemaType left, right
        cdef list free, all_of
        for group in groups:
            own = set()
            for left in group:
                if left.values:
                    own |= self.identities(left.values)
            if not seen.isdisjoint(own):
                return False
            seen |= own
        all_of = [(number, left) for number, group in enumerate(groups) for left in <tuple>group]
        free = [(number, left) for number, left in all_of if left.values is None]
        if <Py_ssize_t>len(free) * <Py_ssize_t>len(all_of) > PAIRS:
            return False
        for a, left in free:
            for b, right in all_of:
                if a != b and not self.disjoint(left, right, DISTANCE):
                    return False
        return True

    cdef TextClasses text_classes(self, list groups):
        """Return the classes of values that the groups accept; None: there are too few patterns of strings, or
        too many classes.
        """
        cdef TextClasses text_classes = TextClasses.__new__(TextClasses)
        cdef ConstraintText pattern
        cdef SchemaType each
        cdef dict patterns = {}
        text_classes.budget, text_classes.is_exact = self.budget, True
        for group in groups:
            for each in <tuple>group:
                text_classes.is_exact = text_classes.is_exact and has_only_patterns(each)
                if each.strings is not None:
                    for pattern in each.strings.patterns:
                        patterns.setdefault(pattern.text, pattern)
        if len(patterns) < 2:
            return None
        # the classes and the budget bound the work
        bound = Bound(LLONG_MAX, "", self.budget)
        try:
            automata = [self.pattern(each_pattern) for each_pattern in patterns.values()]
        except LimitExceeded as error:
            if error.limit != "pattern_states":
                raise
            return None
        found = memberships(automata, bound, min(CLASSES, CLASS_WORDS // <Py_ssize_t>len(automata)))
        if found is None:
            return None
        known = dict(zip(patterns, found))
        text_classes.accepted = [classes_of(<tuple>group, known) for group in groups]
        return text_classes

    cdef bint disjoint(self, SchemaType a, SchemaType b, int distance) except -1:
        cdef int common = a.types & b.types
        cdef SchemaType some, other
        spend(self.budget, 1)
        if not common:
            return True
        if a.values is not None or b.values is not None:
            some, other = (a, b) if a.values is not None else (b, a)
            for value in some.values:
                if self.fits_type(other, value):
                    return False
            return True
        if common & (NULL_TYPE | BOOLEAN):
            return False
        if common & STRING and not disjoint_strings(a.strings, b.strings):
            return False
        if common & NUMBER and not disjoint_numbers(a.numbers, b.numbers, self.budget):
            return False
        if common & ARRAY and not disjoint_arrays(a.arrays, b.arrays):
            return False
        return not common & OBJECT or self.disjoint_objects(a.objects, b.objects, distance)

    cdef bint disjoint_objects(self, Objects a, Objects b, int distance) except -1:
        """Whether two objects are disjoint: at a name that one of them requires, their values are."""
        cdef Objects nothing
        if a is not None and b is not None and self.facts.disjoint_members(a, b):
            return True
        if distance == 0:
            return False
        nothing = new_objects({}, True, (), None, (), 0, None, None)
        a, b = a or nothing, b or nothing
        spend(self.budget, 1 + <Py_ssize_t>len(a.required) + <Py_ssize_t>len(b.required))
        for name in dict.fromkeys(a.required + b.required):
            if self.disjoint_places(place_of(a, name, self), place_of(b, name, self), distance - 1):
                return True
        return False

    cdef bint disjoint_places(self, tuple a, tuple b, int distance) except -1:
        cdef SchemaType left, right
        try:
            lefts, rights = self.alternatives_at(a), self.alternatives_at(b)
        except CircularReference:
            return False
        for left in lefts:
            for right in rights:
                if not self.disjoint(left, right, distance):
                    return False
        return True


cdef bint has_only_patterns(SchemaType schema_type) except -1:
    """Whether there are no constraints except types and patterns of strings."""
    cdef Strings strings = schema_type.strings
    return (
        schema_type.values is None and schema_type.numbers is None and schema_type.arrays is None
        and schema_type.objects is None and not schema_type.refused
        and (strings is None or (
            strings.minimum == 0 and strings.maximum is None
            and not (strings.formats or strings.without or strings.barred))))


cdef classes_of(tuple group, dict known):
    """Return the classes of a group: the bits of its types except STRING, and the classes of texts above them."""
    cdef SchemaType each
    cdef ConstraintText pattern
    classes = 0
    for each in group:
        classes |= each.types & ~STRING
        if each.types & STRING:
            own = -1
            if each.strings is not None:
                for pattern in each.strings.patterns:
                    own &= known[pattern.text]
            classes |= own << TYPE_BITS
    return classes


cdef class TextClasses:
    cdef list others(self, Py_ssize_t number):
        """Return groups that together contain all values of a group that fit others, too; None: the group has
        no value of its own.
        """
        cdef list others = []
        own, rest = self.accepted[number], self.shared() & self.accepted[number]
        if self.is_exact and own == rest:
            return None
        spend(self.budget, 1 + <Py_ssize_t>len(self.accepted) // GROUPS_PER_STEP)
        for other in self.by_size:
            if not rest:
                break
            if other != number and self.accepted[other] & rest:
                others.append(other)
                if self.is_exact:
                    rest &= ~self.accepted[other]
        return others

    cdef shared(self):
        """Return the classes of values that fit two groups."""
        if self.by_size is None:
            self.by_size = sorted(
                range(len(self.accepted)), key=lambda n: self.accepted[n].bit_count(), reverse=True)
            self.twice = once = 0
            for own in self.accepted:
                self.twice |= once & own
                once |= own
        return self.twice

    cdef bint are_disjoint(self, Py_ssize_t one, Py_ssize_t other):
        return not self.accepted[one] & self.accepted[other]


cdef bint is_within(Numbers numbers, value) except -1:
    """Compare with the strictest reading of the bounds, see ``document.decimal``."""
    for number in (
        {Decimal(repr(value)), Decimal(value)} if abs(value) >= 2**53 else {Decimal(repr(value))}
    ):
        if numbers.low is not None and (
            number < numbers.low or (numbers.low_open and number == numbers.low)
        ):
            return False
        if numbers.high is not None and (
            number > numbers.high or (numbers.high_open and number == numbers.high)
        ):
            return False
    return value not in numbers.barred and is_multiple(numbers, value)


cdef bint is_multiple(Numbers numbers, value) except -1:
    """Whether the divisors fit, in decimals, as the number is written."""
    cdef object number
    cdef ConstraintText each
    if not numbers.multiples and not numbers.foreign:
        return True
    number = Fraction(Decimal(repr(value)))
    for each in numbers.multiples:
        if number % Fraction(each.text):
            return False
    for each in numbers.foreign:
        if not number % Fraction(each.text):
            return False
    return True


cdef bint disjoint_lengths(least_a, most_a, least_b, most_b) except -1:
    return (most_a is not None and most_a < least_b) or (most_b is not None and most_b < least_a)


cdef bint disjoint_strings(Strings a, Strings b) except -1:
    return a is not None and b is not None and disjoint_lengths(a.minimum, a.maximum, b.minimum, b.maximum)


cdef bint disjoint_arrays(Arrays a, Arrays b) except -1:
    return a is not None and b is not None and disjoint_lengths(a.minimum, a.maximum, b.minimum, b.maximum)


cdef bint disjoint_numbers(Numbers a, Numbers b, WorkBudget budget) except -1:
    cdef Numbers nothing = new_numbers(None, False, None, False, (), (), ())
    return is_crossed(intersect_numbers(a or nothing, b or nothing, budget))
