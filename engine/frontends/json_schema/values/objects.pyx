"""JSON objects of a schema as IR.

Most objects become one OBJECT node, from which the automaton is built lazily (automata.json_objects). Listed
members are those of ``properties``, then those that are required but not listed. They keep this order unless
the builder allows any order. An additional member has any other key, in any spelling, and may stand between
listed ones.

Classes    Keys that are not listed are divided into classes by the patterns that they match. The members of a
           class share their schemas: those of the matched patterns, or ``additionalProperties``.
Counting   An object whose members must be counted, or of which some member must satisfy a schema, is a GRAPH.
           A state consists of the listed members passed (their number, or their set if any order is allowed),
           the number of members written, the set of required finds, and, if keys are few, the number of
           listed members left out.
Repeats    Additional keys may repeat: each value satisfies the schema, and only the whole text could tell.
           They must differ where repeats matter because a reader keeps only the last one: for
           ``minProperties`` and for negated ``additionalProperties`` or ``patternProperties``
           (unique_items enforces this).
Cost       at most ``MAX_CLASSES`` classes; states of a GRAPH as in json_text.
"""

from libc.stdint cimport uint32_t, uint8_t

from ....grammar.ir cimport ANY_ORDER, EXTRA_LAST, MAY_BE_EMPTY, ROLE_DIFFERS
from ....native.pool cimport vector
from ..builder cimport Builder
from ..evaluator cimport Evaluator
from .arrays cimport UNLIMITED, Cardinality, RangeC, new_cardinality
from ..json_text cimport GraphBuilder, JsonText, new_graph
from ..reader cimport SchemaReader
from ..intersection cimport applies, both, intersect_strings, place_of
from ..schema_types cimport OBJECT, STRING, ConstraintText, Keyed, Objects, SchemaType, Strings, new_strings
from ..type_algebra cimport is_false
from .strings cimport build_inside

from itertools import product
from math import prod

from ....errors import UnsupportedSchema
from ...regex.char_automaton import Bound, is_empty as is_empty_language
from ...regex.front_end import MAX_WAYS

#: classes of keys of one object
cdef Py_ssize_t MAX_CLASSES = 64
#: members of one object that some schema requires to exist: each doubles the states
cdef Py_ssize_t MAX_SOME = 10
#: an integer of any size
cdef object ONE = 1


cdef struct MembersC:
    # values of the listed members, and whether each is required
    vector[uint32_t] nodes
    vector[uint8_t] required


cdef uint32_t build_object(Builder builder, Objects objects) except? 0xFFFFFFFF:
    """Add an object; raise UnsupportedSchema if its members cannot be counted."""
    cdef JsonText text = builder.text
    cdef MembersC members
    cdef list names = [], listed = names, others = None
    cdef uint32_t extra = text.fail
    cdef bint is_empty = True, only_required = False, is_counted = False
    cdef RangeC some = RangeC(0, 0)
    if objects is None:
        extra = additional_member(text, names, builder.place(()), False)
    else:
        if objects.is_plain():
            if not listed_members(builder, objects, &members, names, &extra):
                return text.fail
            if extra != text.fail:
                extra = additional_member(text, names, extra, must_differ(objects))
        elif not keyed_members(builder, objects, &members, names):
            return text.fail
        else:
            others = other_members(builder, objects, names)
            extra = one_of_nodes(text, others)
        if objects.minimum or objects.maximum is not None or objects.some:
            if extra != text.fail:
                some = count_others(builder, objects, names)
            n = count_members(text, &members)
            if must_differ(objects) and extra != text.fail:
                check_comparable(text, objects)
            bounds = member_bounds(objects, None if some.most == UNLIMITED else some.most + n)
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
        return text.bracketed(b"{", counted_members(builder, objects, &members, names, others, some.least), b"}")
    if only_required:
        listed = drop_optional(&members, names)
        extra = text.fail
    return members_node(builder, &members, listed, extra, is_empty)


cdef int check_comparable(JsonText text, Objects objects) except -1:
    """Refuse objects whose additional keys must differ if the text of keys can't be compared."""
    cdef str message = "additional keys can't be told apart in this style"
    if text.comparable & OBJECT:
        return 0
    if needs_several(objects):
        raise UnsupportedSchema(objects.where.at("minProperties"), "minProperties", message)
    raise UnsupportedSchema(objects.where.pointer(), "not", message)


cdef uint32_t one_of_nodes(JsonText text, list others) except? 0xFFFFFFFF:
    cdef vector[uint32_t] nodes
    for node, _ in others:
        nodes.push_back(node)
    return text.rule_by("additional member", text.grammar.add_alt(nodes.data(), nodes.size()))


cdef bint keyed_members(Builder builder, Objects objects, MembersC* members, list names) except -1:
    """Collect listed members as ``listed_members`` does, for schemas with constraints on keys.

    Keys excluded from a required find (``objects.some``) are listed, too.
    """
    cdef JsonText text = builder.text
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
        if text.key_text().has_spelling(name) and builder.reader.fits(objects.names, name):
            node = builder.place(place_of(objects, name, builder.reader))
        if node == text.fail and is_required:
            check_written(text, objects, name)
            return False
        names.append(name)
        members.nodes.push_back(node)
        members.required.push_back(is_required)
    return True


cdef bint listed_members(
    Builder builder, Objects objects, MembersC* members, list names, uint32_t* extra
) except -1:
    """Collect the values and names of all listed keys that have a spelling, and the value of additional keys.

    False: a required member has no value.
    """
    cdef JsonText text = builder.text
    cdef vector[uint32_t] values
    cdef set wanted = objects.wanted
    cdef list unlisted
    cdef str name
    cdef size_t n = 0
    cdef bint is_required
    values.reserve(len(objects.properties))
    for name, property in objects.properties.items():
        values.push_back(
            builder.place(<tuple>property) if objects.is_intersection
            else builder.schema(property, objects.where, "properties", name))
    extra[0] = builder.place(objects.rest)
    unlisted = unlisted_of(objects)
    members.nodes.reserve(<size_t>(len(objects.properties) + len(unlisted)))
    members.required.reserve(<size_t>(len(objects.properties) + len(unlisted)))
    for name in objects.properties:
        is_required = wanted is not None and name in wanted
        if not text.key_text().has_spelling(name):
            if is_required:
                check_written(text, objects, name)
                return False
        else:
            if is_required and values[n] == text.fail:
                return False
            names.append(name)
            members.nodes.push_back(values[n])
            members.required.push_back(is_required)
        n += 1
    for name in unlisted:
        if extra[0] == text.fail or not text.key_text().has_spelling(name):
            check_written(text, objects, name)
            return False
        names.append(name)
        members.nodes.push_back(extra[0])
        members.required.push_back(True)
    return True


cdef int check_written(JsonText text, Objects objects, str name) except -1:
    """Refuse a required key that the style cannot write. JSON can write all keys that are text."""
    if text.is_bare and not text.key_text().has_spelling(name):
        message = f"the key {name!r} can't be written in this style"
        raise UnsupportedSchema(objects.where.at("required"), "required", message)
    return 0


cdef list unlisted_of(Objects objects):
    """Return the required keys that are not in ``properties``."""
    return [name for name in objects.required if name not in objects.properties]


cdef Py_ssize_t count_members(JsonText text, MembersC* members):
    """Count the members that have a value."""
    cdef Py_ssize_t n = 0
    cdef size_t k
    for k in range(members.nodes.size()):
        n += members.nodes[k] != text.fail
    return n


cdef int drop_void(JsonText text, MembersC* members, list names) except -1:
    """Drop members that have no value."""
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
    """Drop optional members; return the names of the others."""
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
    """Return (may be empty, only required members, must be counted); None: no object is valid.

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


cdef uint32_t additional_member(JsonText text, list listed, uint32_t value, bint differs) except? 0xFFFFFFFF:
    """Add a member with an additional key. The key is a rule, so that its masks are computed once."""
    cdef JsonText keys = text.key_text()
    cdef uint32_t key = keys.other_body(listed) if listed else keys.any_body()
    if differs:
        return text.rule_by("additional member", text.pair_of(differing_key(text, key), value))
    return text.rule_by("additional member", text.pair(key, value))


cdef uint32_t members_node(
    Builder builder, MembersC* members, list names, uint32_t extra, bint is_empty
) except? 0xFFFFFFFF:
    cdef uint32_t flags = MAY_BE_EMPTY if is_empty else 0
    cdef bint any_order = builder.any_order or <size_t>len(names) <= builder.unordered
    flags |= (EXTRA_LAST if builder.extra_last else 0) | (ANY_ORDER if any_order else 0)
    return builder.text.members(names, members.nodes.data(), members.required.data(), extra, flags)


# -- members by class of keys -------------------------------------------------------------------------

cdef class KeyClass:
    """Keys that match certain patterns and no others: constraints on strings, or a list of texts."""
    cdef Strings strings
    cdef list texts
    cdef frozenset matched      # sources of the matched patterns
    cdef int schema_type              # number of the schema_type of keys that contains the class
    # patterns that define the class, without implied ones
    cdef tuple patterns, without


# -- classes of keys -------------------------------------------------------------------------------
cdef bint must_differ(Objects objects) noexcept:
    """Whether keys that are not listed must not repeat."""
    cdef Keyed each
    if needs_several(objects):
        return True
    for each in objects.some:
        if each.place:
            return True
    return False


cdef bint needs_several(Objects objects) noexcept:
    """Whether ``minProperties`` needs several members that are not required by name."""
    return objects.minimum > max(len(objects.required), 1)


cdef uint32_t differing_key(JsonText text, uint32_t key) except? 0xFFFFFFFF:
    """Add a key in quotes that must differ from the object's other such keys."""
    return text.grammar.add_capture("", ROLE_DIFFERS, text.quoted(key))


cdef list other_members(Builder builder, Objects objects, list names):
    """Add members with other keys than ``names``; return (node, bits of the finds of ``objects.some``)."""
    cdef JsonText text = builder.text
    cdef list members = [], choices
    cdef KeyClass each
    cdef uint32_t key, value
    cdef bint differ = must_differ(objects)
    for each in classes_of(builder, objects, names):
        # keys without a value need no node
        relevant = [is_among(<Keyed>keyed, each) for keyed in objects.some]
        choices = with_some(objects, place_of_class(objects, each, builder.reader), relevant, builder.reader)
        choices = [choice for choice in choices if not is_false(choice[0])]
        if not choices:
            continue
        key = key_node(builder, each, names)
        if key == text.fail:
            continue
        if differ:
            cardinality = new_cardinality(builder.reader, builder.any_order)
            if objects.some and keys_of(cardinality, each, names).most < UNLIMITED:
                message = "a member that must be somewhere, under one of few keys, can't be guaranteed"
                raise UnsupportedSchema(objects.where.pointer(), "not", message)
            key = differing_key(text, key)
        elif not text.is_bare:
            key = text.quoted(key)
        for place, bits in choices:
            value = builder.place(place)
            if value != text.fail:
                members.append((text.pair_of(key, value), bits))
    return members


cdef RangeC count_others(Builder builder, Objects objects, list names) except *:
    """Return bounds on the number of members with other keys than ``names``; distinct keys if they must differ."""
    cdef KeyClass each
    cdef RangeC some, found = RangeC(0, 0)
    cdef Cardinality cardinality = new_cardinality(builder.reader, builder.any_order)
    cdef bint differ = must_differ(objects)
    cdef dict sure = {}
    if not objects.names and not (differ and objects.keyed):
        return RangeC(UNLIMITED, UNLIMITED)
    check_excludes(builder, objects, names)
    for each in classes_of(builder, objects, names):
        if each.texts is None and not differ:
            return RangeC(UNLIMITED, UNLIMITED)
        if not differ or builder.place(place_of_class(objects, each, builder.reader)) != builder.text.fail:
            some = keys_of(cardinality, each, names)
            found.most = min(found.most + some.most, UNLIMITED)
            sure[each.schema_type] = min(sure.get(each.schema_type, 0) + some.least, UNLIMITED)
    # two alternatives may share keys
    found.least = max(sure.values(), default=0)
    return found


cdef int check_excludes(Builder builder, Objects objects, list names) except -1:
    """Refuse counting of keys with a pattern if excludes may leave too few of them."""
    cdef KeyClass each
    if builder.text.excludes is None or objects.minimum <= len(objects.required):
        return 0
    for each in classes_of(builder, objects, names):
        if each.texts is None and (each.strings.patterns or each.strings.formats):
            message = "keys with a pattern can't be counted together with excludes"
            raise UnsupportedSchema(objects.where.at("minProperties"), "minProperties", message)
    return 0


cdef RangeC keys_of(Cardinality cardinality, KeyClass each, list names) except *:
    """Count the keys of a class that are not listed."""
    cdef RangeC found
    cdef Py_ssize_t n
    if each.texts is not None:
        return RangeC(len(each.texts), len(each.texts))
    found = cardinality.of_strings(each.strings)
    n = sum([cardinality.reader.string(each.strings, name) for name in names])
    return RangeC(max(found.least - n, 0), found.most if found.most == UNLIMITED else found.most - n)


cdef list with_some(Objects objects, tuple place, list relevant, Evaluator evaluator):
    """Divide a place by the finds of ``objects.some`` that apply to its key: (place, bits).

    A find without a constraint on the value depends on the key alone.
    """
    cdef Keyed each
    cdef list choices = [(place, 0)]
    cdef int number
    check_some(objects)
    for number in range(<int>len(relevant)):
        each = objects.some[number]
        if relevant[number]:
            more = [(both(known, each.place, evaluator), bits | 1 << number) for known, bits in choices]
            choices = choices + more if each.place else more
    return choices


cdef int check_some(Objects objects) except -1:
    if len(objects.some) > MAX_SOME:
        message = f"{len(objects.some)} members that must be somewhere can't be enforced; {MAX_SOME} can"
        raise UnsupportedSchema(objects.where.pointer(), "not", message)
    return 0


cdef list classes_of(Builder builder, Objects objects, list names):
    cdef SchemaReader reader = builder.reader
    cdef SchemaType schema_type
    cdef KeyClass key_class
    cdef dict patterns = {}
    cdef Keyed keyed
    cdef list found = [], some
    cdef int number = 0
    for keyed in objects.keyed + objects.some:
        for pattern in keyed.patterns:
            patterns.setdefault((<ConstraintText>pattern).text, pattern)
    for schema_type in reader.alternatives_at(objects.names):
        if schema_type.types & STRING:
            schema_type.check(STRING)
            if schema_type.values is not None:
                listed = [value for value in schema_type.values if isinstance(value, str) and value not in names]
                if builder.text.excludes is not None or builder.text.is_bare:
                    listed = [value for value in listed if builder.text.key_text().has_spelling(value)]
                # a key that is repeated has a class of its own, so that both are the same
                groups = [[value] for value in listed] if builder.text.repeats_keys else [listed]
                some = [each for group in groups for each in classes_of_texts(reader, group, patterns)]
            else:
                key_class = KeyClass.__new__(KeyClass)
                key_class.strings = schema_type.strings or new_strings(0, None, (), (), (), ())
                key_class.matched, key_class.patterns, key_class.without = frozenset(), (), ()
                some = divided(reader, key_class, patterns)
            for key_class in some:
                key_class.schema_type = number
            found += some
            number += 1
    return found


cdef list classes_of_texts(SchemaReader reader, list texts, dict patterns):
    cdef KeyClass key_class
    cdef dict found = {}
    for text in texts:
        matched = frozenset([source for source, pattern in patterns.items() if reader.matches(pattern, text)])
        found.setdefault(matched, []).append(text)
    made_all = []
    for matched, some in found.items():
        key_class = KeyClass.__new__(KeyClass)
        key_class.texts, key_class.matched = some, matched
        made_all.append(key_class)
    return made_all


cdef list divided(SchemaReader reader, KeyClass whole, dict patterns):
    """Divide a class by each pattern in turn; with several patterns, empty classes are dropped."""
    cdef list found = [whole], more
    cdef KeyClass each
    cdef ConstraintText pattern
    cdef str pointer
    for pattern in patterns.values():
        more = []
        for each in found:
            if len(patterns) > 1:
                more += parts_of(reader, each, pattern)
            else:
                more = [part_of(each, pattern, True), part_of(each, pattern, False)]
        found = more
        if len(found) > MAX_CLASSES:
            message = f"keys of more than {MAX_CLASSES} classes can't be distinguished"
            pointer = pattern.where.above.at("patternProperties")
            raise UnsupportedSchema(pointer, "patternProperties", message)
    for each in found:
        made = new_strings(0, None, each.patterns, (), each.without, ())
        each.strings = intersect_strings(each.strings, made, reader)
    return found


cdef list parts_of(SchemaReader reader, KeyClass whole, ConstraintText pattern):
    """Divide a class by a pattern; return the parts that have keys, apart from lengths and formats.

    Implied patterns are dropped from the parts. Most patterns are disjoint, so each then stands alone.
    """
    cdef KeyClass matching = part_of(whole, pattern, True), other = part_of(whole, pattern, False)
    cdef ConstraintText each
    if have_none(reader, matching.patterns, matching.without):
        other.without = whole.without
        return [other]
    if have_none(reader, other.patterns, other.without):
        matching.patterns = whole.patterns
        return [matching]
    matching.without = tuple([each for each in whole.without if not have_none(reader, (pattern, each), ())])
    return [matching, other]


cdef KeyClass part_of(KeyClass whole, ConstraintText pattern, bint is_match):
    cdef KeyClass key_class = KeyClass.__new__(KeyClass)
    key_class.strings, key_class.matched, key_class.patterns, key_class.without = (
        whole.strings, whole.matched, whole.patterns, whole.without)
    if is_match:
        key_class.matched |= {pattern.text}
        key_class.patterns += (pattern,)
    else:
        key_class.without += (pattern,)
    return key_class


cdef bint have_none(SchemaReader reader, tuple patterns, tuple without) except -1:
    """Whether automata show that no text matches all of ``patterns`` and none of ``without``. Lengths that look-ahead
    counts do not decide it.
    """
    cdef ConstraintText each
    cdef list rejecting
    cdef tuple key = (tuple([each.text for each in patterns]), tuple([each.text for each in without]))
    if key not in reader._classes:
        each = (patterns or without)[-1]
        bound = Bound(reader.limits.pattern_states, each.pointer(), reader.budget)
        rejecting = [reader.automata_by_length(each, None) for each in without]
        rejecting = [automaton for [(automaton, low, high), *more] in rejecting if not (more or low or high)]
        parts = [reader.automata_by_length(each, None) for each in patterns]
        reader._classes[key] = prod([len(ways) for ways in parts]) <= MAX_WAYS and all([
            is_empty_language([automaton for automaton, _, _ in way], rejecting, bound)
            for way in product(*parts)])
    return reader._classes[key]


cdef tuple place_of_class(Objects objects, KeyClass keys, Evaluator evaluator):
    """Return the schemas that apply to values under a class of keys."""
    cdef Keyed each
    cdef tuple place = objects.rest
    for each in objects.keyed:
        if is_among(each, keys):
            place = both(place, each.place, evaluator)
    return place


cdef bint is_among(Keyed keyed, KeyClass keys) except -1:
    cdef ConstraintText pattern
    for pattern in keyed.patterns:
        if pattern.text in keys.matched:
            return keyed.is_match
    return not keyed.is_match


cdef uint32_t key_node(Builder builder, KeyClass keys, list names) except? 0xFFFFFFFF:
    """Add the inside of a key."""
    cdef SchemaReader reader = builder.reader
    cdef JsonText text = builder.text
    cdef tuple barred
    if keys.texts is not None:
        return text.rule_by("key", text.key_text().texts(keys.texts))
    barred = tuple([name for name in names if reader.string(keys.strings, name)])
    strings = intersect_strings(keys.strings, new_strings(0, None, (), (), (), barred), reader)
    return text.rule_by("key", build_inside(text.key_text(), strings, reader, True))


# -- counted members -------------------------------------------------------------------------------
cdef uint32_t counted_members(
    Builder builder, Objects objects, MembersC* members, list names, list others, Py_ssize_t keys
) except? 0xFFFFFFFF:
    """Add the inside of an object with counted members, with the white space before the closing bracket.

    ``others`` is the result of ``other_members``, ``keys`` the number of their distinct keys.

    Raises:
        UnsupportedSchema: the graph has too many states.
    """
    cdef CountedMembers counting = CountedMembers.__new__(CountedMembers)
    cdef size_t k
    check_some(objects)
    counting.builder, counting.objects, counting.members, counting.names = builder, objects, members, names
    counting.others, counting.required = others, 0
    counting.spare = members.nodes.size() + keys - objects.minimum
    if builder.any_order:
        for k in range(members.required.size()):
            counting.required |= ONE << k if members.required[k] else 0
    return counting.inside()


cdef class CountedMembers:
    cdef Builder builder
    cdef Objects objects
    cdef MembersC* members
    cdef list names
    cdef list others
    cdef object required    # any order: the required members as bits
    cdef object cap         # the count of members saturates here
    cdef Py_ssize_t spare   # listed members that may be omitted without falling below ``minProperties``

    cdef uint32_t inside(self) except? 0xFFFFFFFF:
        cdef Objects objects = self.objects
        cdef GraphBuilder graph = new_graph(self.builder.text, (0, 0, 0, 0))
        cdef Py_ssize_t at = 0
        cdef tuple state
        self.cap = max(objects.minimum, 1) if objects.maximum is None else objects.maximum
        while at < len(graph.states):
            state = graph.states[at]
            at += 1
            if graph.is_full():
                keyword = "minProperties" if objects.maximum is None else "maxProperties"
                message = "counting the members takes too many states"
                raise UnsupportedSchema(objects.where.at(keyword), keyword, message)
            if state is not None:
                self.add_end(graph, state)
                if objects.maximum is None or state[1] < objects.maximum:
                    self.add_members(graph, state)
                if not self.builder.any_order:
                    self.add_passing(graph, state)
        return graph.node()

    cdef bint has_all(self, tuple state):
        """Whether all required members have been passed."""
        if self.builder.any_order:
            return state[0] & self.required == self.required
        return state[0] == self.members.nodes.size()

    cdef int add_end(self, GraphBuilder graph, tuple state) except -1:
        cdef bint is_found = state[2] == (1 << len(self.objects.some)) - 1
        if self.has_all(state) and state[1] >= min(self.objects.minimum, self.cap) and is_found:
            if state[1]:
                graph.add(state, self.builder.text.closing(), None)
                graph.finals.add(None)
            else:
                graph.finals.add(state)
        return 0

    cdef int add_passing(self, GraphBuilder graph, tuple state) except -1:
        """Add an edge that omits the next listed member, if enough others remain."""
        cdef Py_ssize_t left_out = state[3]
        if state[0] < self.members.nodes.size() and not self.members.required[state[0]]:
            if self.others and self.spare < <Py_ssize_t>self.members.nodes.size():
                left_out += 1
            if left_out <= max(self.spare, 0) or not self.others:
                graph.add(state, self.builder.text.empty, (state[0] + 1, state[1], state[2], left_out))
        return 0

    cdef int add_members(self, GraphBuilder graph, tuple state) except -1:
        cdef Py_ssize_t k, n = <Py_ssize_t>self.members.nodes.size()
        cdef bint is_last = self.builder.extra_last
        if not is_last or self.has_all(state):
            for node, bits in self.others:
                self.add_member(graph, state, node, state[0], bits)
        if self.builder.any_order:
            for k in range(n):
                if not state[0] >> k & 1:
                    self.add_listed(graph, state, k, state[0] | ONE << k)
        elif state[0] < n:
            self.add_listed(graph, state, state[0], state[0] + 1)
        return 0

    cdef int add_listed(self, GraphBuilder graph, tuple state, Py_ssize_t k, after) except -1:
        """Add a listed member, once for each set of finds that it may be."""
        cdef SchemaReader reader = self.builder.reader
        cdef JsonText text = self.builder.text
        cdef str name = self.names[k]
        cdef list relevant = [applies(<Keyed>each, name, reader) for each in self.objects.some]
        for place, bits in with_some(self.objects, place_of(self.objects, name, reader), relevant, reader):
            node = self.builder.place(place)
            if node != text.fail:
                self.add_member(graph, state, text.pair(text.key_text().text(name), node), after, bits)
        return 0

    cdef int add_member(self, GraphBuilder graph, tuple state, uint32_t node, after, bits) except -1:
        cdef JsonText text = self.builder.text
        node = text.after_comma(node) if state[1] else text.first(node)
        return graph.add(state, node, (after, min(state[1] + 1, self.cap), state[2] | bits, state[3]))
