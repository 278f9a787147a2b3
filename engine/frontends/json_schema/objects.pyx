"""Objects: see the header file."""

from libc.stdint cimport uint32_t

from ...grammar.lowered cimport ANY_ORDER, EXTRA_LAST, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, SPELLED
from ...native.pool cimport vector
from .cardinality cimport LOTS, RangeC
from .members cimport (
    MembersC, count_others, counted_members, differing_key, must_differ, other_members,
)
from .places cimport Places
from .schema_types cimport Keyed, Objects
from .text cimport Text, spelled

from ...errors import UnsupportedSchema


cdef uint32_t build_object(Places places, Objects objects) except? 0xFFFFFFFF:
    """``objects`` None: any object.

    Raises:
        UnsupportedSchema: see ``members``.
    """
    cdef Text text = places.text
    cdef MembersC members
    cdef list names = [], listed = names, others = None
    cdef uint32_t extra = text.fail
    cdef bint is_empty = True, only_required = False, is_counted = False
    cdef RangeC some = RangeC(0, 0)
    if objects is None:
        extra = additional_member(text, names, places.place(()), False)
    else:
        if objects.is_plain():
            if not listed_members(places, objects, &members, names, &extra):
                return text.fail
            if extra != text.fail:
                extra = additional_member(text, names, extra, must_differ(objects))
        elif not keyed_members(places, objects, &members, names):
            return text.fail
        else:
            others = other_members(places, objects, names)
            extra = one_of_nodes(text, others)
        if objects.minimum or objects.maximum is not None or objects.some:
            if extra != text.fail:
                some = count_others(places, objects, names)
            n = count_members(text, &members)
            bounds = member_bounds(objects, None if some.most == LOTS else some.most + n)
            if bounds is None:
                return text.fail
            if must_differ(objects) and some.least + n < objects.minimum:
                message = f"{objects.minimum} members with different keys can't be guaranteed"
                raise UnsupportedSchema(objects.where.at("minProperties"), "minProperties", message)
            is_empty, only_required, is_counted = bounds
    if is_counted:
        drop_void(text, &members, names)
        if others is None:
            others = [] if extra == text.fail else [(extra, 0)]
        return text.bracketed(b"{", counted_members(places, objects, &members, names, others, some.least), b"}")
    if only_required:
        listed = drop_optional(&members, names)
        extra = text.fail
    return members_node(places, &members, listed, extra, is_empty)


cdef uint32_t one_of_nodes(Text text, list others) except? 0xFFFFFFFF:
    cdef vector[uint32_t] nodes
    for node, _ in others:
        nodes.push_back(node)
    return text.rule_by("additional member", text.alt(nodes.data(), nodes.size()))


cdef bint keyed_members(Places places, Objects objects, MembersC* members, list names) except -1:
    """As ``listed_members``, where something is asked of keys. Listed are those, too, that some member
    must not be told by.
    """
    cdef Text text = places.text
    cdef dict order = dict.fromkeys([*objects.properties, *objects.required])
    cdef uint32_t node
    cdef Keyed each
    cdef str name
    cdef bint is_required
    for each in objects.some:
        order.update(dict.fromkeys(sorted(each.excluded)))
    for name in order:
        is_required = objects.wanted is not None and name in objects.wanted
        node = text.fail
        if text.has_spelling(name) and places.reader.fits(objects.names, name):
            node = places.place(objects.place_of(name, places.reader))
        if node == text.fail and is_required:
            return False
        names.append(name)
        members.nodes.push_back(node)
        members.required.push_back(is_required)
    return True


cdef bint listed_members(
    Places places, Objects objects, MembersC* members, list names, uint32_t* extra
) except -1:
    """Collects the values and the names of all listed keys that text can spell, and the node of what is
    not listed. False: a required member has no value.
    """
    cdef Text text = places.text
    cdef vector[uint32_t] values
    cdef set wanted = objects.wanted
    cdef list unlisted
    cdef str name
    cdef size_t n = 0
    cdef bint is_required
    values.reserve(len(objects.properties))
    for name, property in objects.properties.items():
        values.push_back(
            places.place(<tuple>property) if objects.has_met
            else places.schema(property, objects.where, "properties", name))
    extra[0] = places.place(objects.rest)
    unlisted = unlisted_of(objects)
    members.nodes.reserve(<size_t>(len(objects.properties) + len(unlisted)))
    members.required.reserve(<size_t>(len(objects.properties) + len(unlisted)))
    for name in objects.properties:
        is_required = wanted is not None and name in wanted
        if not text.has_spelling(name):
            if is_required:
                return False
        else:
            if is_required and values[n] == text.fail:
                return False
            names.append(name)
            members.nodes.push_back(values[n])
            members.required.push_back(is_required)
        n += 1
    for name in unlisted:
        if extra[0] == text.fail or not text.has_spelling(name):
            return False
        names.append(name)
        members.nodes.push_back(extra[0])
        members.required.push_back(True)
    return True


cdef list unlisted_of(Objects objects):
    """The required keys that are not listed."""
    cdef list found = []
    cdef str name
    for name in objects.required:
        if name not in objects.properties:
            found.append(name)
    return found


cdef Py_ssize_t count_members(Text text, MembersC* members):
    """Those that some value fits."""
    cdef Py_ssize_t n = 0
    cdef size_t k
    for k in range(members.nodes.size()):
        n += members.nodes[k] != text.fail
    return n


cdef int drop_void(Text text, MembersC* members, list names) except -1:
    """Leaves the members that some value fits."""
    cdef size_t k, kept = 0
    cdef list some = []
    for k in range(members.nodes.size()):
        if members.nodes[k] != text.fail:
            members.nodes[kept], members.required[kept] = members.nodes[k], members.required[k]
            some.append(names[k])
            kept += 1
    members.nodes.resize(kept)
    members.required.resize(kept)
    names[:] = some
    return 0


cdef list drop_optional(MembersC* members, list names):
    """Leaves the required members; returns their names."""
    cdef size_t k, kept = 0
    for k in range(members.nodes.size()):
        if members.required[k]:
            members.nodes[kept] = members.nodes[k]
            kept += 1
    members.nodes.resize(kept)
    kept_names = [name for k, name in enumerate(names) if members.required[k]]
    members.required.assign(kept, True)
    return kept_names


cdef tuple member_bounds(Objects objects, most):
    """(whether no member at all is enough, whether only the required ones may be written, whether
    members must be counted or looked for); None: nothing fits.

    ``most`` is the largest number of members that the keys allow.
    """
    required, minimum, maximum = len(objects.required), objects.minimum, objects.maximum
    if maximum is not None and maximum < max(minimum, required):
        return None
    if most is not None and most < minimum:
        return None
    if objects.some or minimum > max(required, 1):
        return minimum == 0, False, True
    if maximum is None or (most is not None and most <= maximum):
        return minimum == 0, False, False
    return minimum == 0, maximum == required, maximum > required


cdef uint32_t additional_member(Text text, list listed, uint32_t value, bint differs) except? 0xFFFFFFFF:
    """A member whose key is not listed. The key is a rule, so that its masks are made once."""
    cdef uint32_t key = text.other_body(listed) if listed else text.any_body()
    if differs:
        return text.rule_by("additional member", text.pair_of(differing_key(text, key, True), value))
    return text.rule_by("additional member", text.pair(key, value))


cdef uint32_t members_node(
    Places places, MembersC* members, list names, uint32_t extra, bint is_empty
) except? 0xFFFFFFFF:
    cdef Text text = places.text
    cdef uint32_t flags = MAY_BE_EMPTY if is_empty else 0
    cdef uint32_t[LAYOUT_PARTS] layout
    flags |= (EXTRA_LAST if places.extra_last else 0) | (ANY_ORDER if places.any_order else 0)
    if text.canonical or text.excludes is not None:
        flags |= SPELLED
        names = [spelled(name) for name in names]
    if text.layout is not None:
        flags |= LAID_OUT
        text.object_layout(layout)
    return text.grammar.add_object(
        names, members.nodes.data(), members.required.data(), extra, text.space(), layout, flags)
