"""Keywords -> a shape: see the header file."""

from .keywords cimport (
    ADDITIONAL, EXCLUSIVE_MAXIMUM, EXCLUSIVE_MINIMUM, FORMAT, ITEMS, MAX_ITEMS, MAX_LENGTH,
    MAX_PROPERTIES, MAXIMUM, MIN_ITEMS, MIN_LENGTH, MIN_PROPERTIES, MINIMUM, MULTIPLE_OF, OF_ARRAYS,
    OF_NUMBERS, OF_OBJECTS, OF_STRINGS, PATTERN, PREFIX_ITEMS, PROPERTIES, REFUSABLE, REFUSED,
    REQUIRED, TYPE, KeywordsC, count, decimal, is_vacuous, names_of, types_of,
)
from .references cimport References
from .shapes cimport (
    ALL, ANYTHING, ARRAY, FRACTION, NUMBER, OBJECT, STRING, Arrays, Located, Numbers, Objects,
    Refusal, Shape, Strings, named, new_arrays, new_numbers, new_objects, new_shape, new_strings,
    place_at, refusal,
)

from ...errors import SpecError
from . import formats

cdef object PATTERNS = formats.PATTERNS
cdef object MOST_OF_FORMATS = formats.MOST
cdef list NOTHING = []


cdef inline object value_of(KeywordsC* found, int keyword, other):
    return <object>found.value[keyword] if found.seen >> keyword & 1 else other


cdef Shape own_shape(KeywordsC* found, Located where, References references, bint refuse_unknown):
    """The shape of a schema's own keywords; enum, const and composition are left to the reader.

    ``refuse_unknown``: formats.

    Raises:
        SpecError: a keyword's value is ill-formed.
    """
    cdef int types = ALL
    cdef unsigned int seen = found.seen
    cdef Strings strings = None
    cdef Numbers numbers = None
    cdef Arrays arrays = None
    cdef Objects objects = None
    cdef list refused = None
    cdef tuple live = ()
    cdef bint is_free
    if seen >> TYPE & 1:
        types = types_of(<object>found.value[TYPE], where)
    if seen & REFUSABLE:
        refused = refusals(found, where)
        if seen >> MULTIPLE_OF & 1:
            multiple = <object>found.value[MULTIPLE_OF]
            if multiple == 1 and multiple is not True:
                types &= ~FRACTION
    # facets of types that are not allowed are read, too: their keywords must be well-formed
    if seen & OF_STRINGS:
        refused = refused or []
        strings = string_facet(found, where, refuse_unknown, refused)
    if seen & OF_NUMBERS:
        numbers = number_facet(found, where)
    if seen & OF_ARRAYS:
        refused = refused or []
        arrays = array_facet(found, where, references, refused)
    if seen & OF_OBJECTS:
        objects = object_facet(found, where)
    if refused:
        live = tuple([each for each in refused if (<Refusal>each).types & types])
    is_free = strings is None and numbers is None and arrays is None and objects is None
    if types == ALL and is_free and not live:
        return ANYTHING
    return new_shape(
        types,
        None,
        strings if types & STRING else None,
        numbers if types & NUMBER else None,
        arrays if types & ARRAY else None,
        objects if types & OBJECT else None,
        live,
    )


cdef list refusals(KeywordsC* found, Located where):
    """In the order of the schema."""
    cdef list made = []
    cdef str keyword
    cdef dict schema = <dict>where.schema
    for keyword in schema:
        if keyword not in REFUSED:
            continue
        if keyword == "multipleOf":
            number = decimal(schema[keyword], where, keyword, None)
            if number <= 0:
                raise SpecError("multipleOf must be greater than 0", where.at(keyword))
            if number == 1:
                continue
        if not is_vacuous(schema, keyword):
            made.append(refusal(REFUSED[keyword], where, keyword, ""))
    return made


cdef Strings string_facet(KeywordsC* found, Located where, bint refuse_unknown, list refused):
    cdef tuple patterns = (), known = ()
    maximum = count(found, MAX_LENGTH, where)
    if found.seen >> PATTERN & 1:
        patterns = (named(text_of(found, PATTERN, where, "pattern"), where, "pattern"),)
    if found.seen >> FORMAT & 1:
        name = text_of(found, FORMAT, where, "format")
        if name in PATTERNS:
            known = (named(name, where, "format"),)
            most = MOST_OF_FORMATS.get(name)
            maximum = most if maximum is None or (most is not None and most < maximum) else maximum
        elif refuse_unknown:
            refused.append(refusal(STRING, where, "format", f"the format {name!r} can't be enforced"))
    return new_strings(count(found, MIN_LENGTH, where) or 0, maximum, patterns, known)


cdef str text_of(KeywordsC* found, int keyword, Located where, str name):
    value = <object>found.value[keyword]
    if not isinstance(value, str):
        raise SpecError(f"{name} must be a string", where.at(name))
    return value


cdef Numbers number_facet(KeywordsC* found, Located where):
    low, low_open = tightest_bound(found, where, MINIMUM, "minimum", EXCLUSIVE_MINIMUM, "exclusiveMinimum", max)
    high, high_open = tightest_bound(found, where, MAXIMUM, "maximum", EXCLUSIVE_MAXIMUM, "exclusiveMaximum", min)
    return new_numbers(low, low_open, high, high_open)


cdef tuple tightest_bound(
    KeywordsC* found, Located where, int inclusive, str inclusive_name, int exclusive, str exclusive_name, tightest
):
    """(bound or None, whether it is excluded). Draft 4 writes ``exclusiveMinimum: true`` beside
    ``minimum``.
    """
    value, is_open = None, False
    if found.seen >> inclusive & 1:
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


cdef Arrays array_facet(KeywordsC* found, Located where, References references, list refused):
    cdef list prefix, places = []
    cdef Py_ssize_t n
    given = value_of(found, PREFIX_ITEMS, NOTHING)
    items = value_of(found, ITEMS, True)
    if not isinstance(given, list):
        raise SpecError("prefixItems must be an array", where.at("prefixItems"))
    prefix = <list>given
    if isinstance(items, list):
        message = "items as an array can't be enforced; use prefixItems"
        refused.append(refusal(ARRAY, where, "items", message))
        items = True
    if prefix and found.seen >> ITEMS & 1 and references.is_older():
        message = "prefixItems beside items means something else in this dialect"
        refused.append(refusal(ARRAY, where, "prefixItems", message))
    for n in range(len(prefix)):
        places.append(place_at(prefix[n], where, "prefixItems", n))
    return new_arrays(
        tuple(places),
        place_at(items, where, "items", None),
        count(found, MIN_ITEMS, where) or 0,
        count(found, MAX_ITEMS, where),
    )


cdef Objects object_facet(KeywordsC* found, Located where):
    cdef tuple required = ()
    cdef set wanted = None
    cdef Py_ssize_t least
    properties = value_of(found, PROPERTIES, None)
    if found.seen >> PROPERTIES & 1 and not isinstance(properties, dict):
        raise SpecError("properties must be an object", where.at("properties"))
    if found.seen >> REQUIRED & 1:
        wanted = names_of(<object>found.value[REQUIRED], where)
        required = tuple(<list>found.value[REQUIRED])
    least = count(found, MIN_PROPERTIES, where) or 0
    return new_objects(
        {} if properties is None else <dict>properties,
        False,
        required,
        wanted,
        place_at(value_of(found, ADDITIONAL, True), where, "additionalProperties", None),
        max(least, len(required)),
        count(found, MAX_PROPERTIES, where),
        where,
    )
