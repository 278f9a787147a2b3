"""Constraints of a schema's own keywords."""

from .document cimport (
    ADDITIONAL, ADDITIONAL_ITEMS, CONTAINS, EXCLUSIVE_MAXIMUM, EXCLUSIVE_MINIMUM, FORMAT, ITEMS,
    MAXIMUM, MAX_CONTAINS, MAX_ITEMS, MAX_LENGTH, MAX_PROPERTIES, MINIMUM, MIN_CONTAINS,
    MIN_ITEMS, MIN_LENGTH, MIN_PROPERTIES, MULTIPLE_OF, NULLABLE, PATTERN, PATTERN_PROPERTIES,
    PREFIX_ITEMS, PROPERTIES, PROPERTY_NAMES, REQUIRED, TYPE, UNIQUE_ITEMS, KeywordsC, count,
    decimal, has, names_of, of_arrays, of_numbers, of_objects, of_strings, types_of,
    value_of,
)
from .evaluator cimport Evaluator
from .schema_types cimport (
    ALL, ANYTHING, ARRAY, FRACTION, NULL_TYPE, NUMBER, OBJECT, STRING, Arrays, Evaluated, Keyed,
    ConstraintText, Location, Numbers, Objects, SchemaType, Strings, both, constraint_text, keyed_objects, location_at,
    new_arrays, new_count, new_evaluated, new_keyed, new_numbers, new_objects, new_type,
    new_strings, place_at, refusal,
)

from ...errors import SpecError
from ...json_pointer import escape
from . import formats

cdef object PATTERNS = formats.PATTERNS
cdef list NOTHING = []
cdef dict NO_MEMBERS = {}


cdef SchemaType own_type(KeywordsC* found, Location where, Evaluator evaluator, bint refuse_unknown):
    """Return the alternative of a schema's own keywords, without enum, const and applicators.

    Args:
        refuse_unknown: refuse unknown formats.

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
    if has(found, TYPE):
        types = types_of(<object>found.value[TYPE], where)
        if has(found, NULLABLE) and is_flag(found, NULLABLE, where, "nullable"):
            types |= NULL_TYPE
    if has(found, MULTIPLE_OF) and <object>found.value[MULTIPLE_OF] == 1:
        types &= ~FRACTION
    # read the constraints of excluded types too: their keywords must be well-formed
    if found.seen & of_strings():
        refused = []
        strings = string_constraints(found, where, refuse_unknown, refused)
    if found.seen & of_numbers():
        numbers = number_constraints(found, where)
    if found.seen & of_arrays():
        arrays = array_constraints(found, where)
    if found.seen & of_objects():
        objects = object_constraints(found, where, evaluator)
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


cdef bint is_flag(KeywordsC* found, int keyword, Location where, str name) except -1:
    value = value_of(found, keyword, False)
    if not isinstance(value, bool):
        raise SpecError(f"{name} must be true or false", where.at(name))
    return value


# -- strings ---------------------------------------------------------------------------------------
cdef Strings string_constraints(KeywordsC* found, Location where, bint refuse_unknown, list refused):
    cdef tuple patterns = (), known = ()
    if has(found, PATTERN):
        patterns = (constraint_text(text_of(found, PATTERN, where, "pattern"), where, "pattern"),)
    if has(found, FORMAT):
        name = text_of(found, FORMAT, where, "format")
        if name in PATTERNS:
            known = (constraint_text(name, where, "format"),)
        elif refuse_unknown:
            refused.append(refusal(STRING, where, "format", f"the format {name!r} can't be enforced"))
    return new_strings(
        count(found, MIN_LENGTH, where) or 0, count(found, MAX_LENGTH, where), patterns, known, (), ())


cdef str text_of(KeywordsC* found, int keyword, Location where, str name):
    value = <object>found.value[keyword]
    if not isinstance(value, str):
        raise SpecError(f"{name} must be a string", where.at(name))
    return value


# -- numbers ---------------------------------------------------------------------------------------
cdef Numbers number_constraints(KeywordsC* found, Location where):
    low, low_open = tightest_bound(found, where, MINIMUM, "minimum", EXCLUSIVE_MINIMUM, "exclusiveMinimum", max)
    high, high_open = tightest_bound(found, where, MAXIMUM, "maximum", EXCLUSIVE_MAXIMUM, "exclusiveMaximum", min)
    return new_numbers(low, low_open, high, high_open, multiple_of(found, where), (), ())


cdef tuple multiple_of(KeywordsC* found, Location where):
    if not has(found, MULTIPLE_OF):
        return ()
    number = decimal(<object>found.value[MULTIPLE_OF], where, "multipleOf", None)
    if number <= 0:
        raise SpecError("multipleOf must be greater than 0", where.at("multipleOf"))
    return (constraint_text(str(number), where, "multipleOf"),)


cdef tuple tightest_bound(
    KeywordsC* found, Location where, int inclusive, str inclusive_name, int exclusive, str exclusive_name, tightest
):
    """Return (bound or None, whether it is exclusive). Draft 4 writes ``exclusiveMinimum: true`` with ``minimum``."""
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
cdef Arrays array_constraints(KeywordsC* found, Location where):
    """Read the keywords of arrays.

    Before 2020-12, ``items`` as an array is today's ``prefixItems``, and ``additionalItems`` is then today's ``items``.
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


cdef tuple contained(KeywordsC* found, Location where):
    """Return the count of ``contains``, by default at least one item."""
    cdef object least = count(found, MIN_CONTAINS, where), most = count(found, MAX_CONTAINS, where)
    if not has(found, CONTAINS) or (least == 0 and most is None):
        return ()
    place = place_at(<object>found.value[CONTAINS], where, "contains", None)
    return (new_count(place, 0, 1 if least is None else least, most, where),)


# -- objects ---------------------------------------------------------------------------------------
cdef Objects object_constraints(KeywordsC* found, Location where, Evaluator evaluator):
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


cdef dict members_of(KeywordsC* found, int keyword, Location where, str name):
    value = value_of(found, keyword, NO_MEMBERS)
    if not isinstance(value, dict):
        raise SpecError(f"{name} must be an object", where.at(name))
    return value


cdef tuple patterns_of(dict given, Location where):
    """Return the patterns of ``patternProperties``, each with the schema under it."""
    return tuple([
        constraint_text(pattern, location_at(None, where, "patternProperties", None), escape(pattern))
        for pattern in given])


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
            if each.has(name, evaluator):
                place = both(place, each.place, evaluator)
        properties[name] = place
    if plain.rest:
        keyed.append(new_keyed(patterns_of(given, where), False, frozenset(), plain.rest))
    made = new_objects(
        properties, True, plain.required, plain.wanted, (), plain.minimum, plain.maximum, where)
    return keyed_objects(made, tuple(keyed), (), ())


# -- evaluation ------------------------------------------------------------------------------------
cdef Evaluated evaluated_by(KeywordsC* found, Location where, bint by_contains):
    """Return what the schema's own keywords evaluate. ``by_contains``: ``contains`` evaluates matching items."""
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
