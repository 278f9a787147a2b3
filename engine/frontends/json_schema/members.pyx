"""Members by their keys, and counted ones: see the header file."""

from libc.stdint cimport uint32_t

from ...grammar.lowered cimport ROLE_DIFFERS
from .cardinality cimport LOTS, Cardinality, RangeC, new_cardinality
from .composition cimport Composition
from .graphs cimport Graph, new_graph
from .places cimport Places
from .schema_types cimport (
    STRING, Judge, Keyed, Located, Named, Objects, Shape, Strings, both, meet_strings, new_strings,
)
from .strings cimport build_inside
from .text cimport Text

from ...errors import UnsupportedSchema
from ..regex.char_automaton import Bound
from ..regex.char_products import is_empty

#: classes of keys of one object
cdef Py_ssize_t MOST_CLASSES = 64
#: members of one object that must be somewhere: each doubles the states
cdef Py_ssize_t MOST_SOME = 10


cdef class KeyClass:
    """Keys that match these patterns and not the others: as strings, or as a list of texts."""
    cdef Strings strings
    cdef list texts
    cdef frozenset matched      # sources of patterns
    cdef int shape              # number of the shape of keys that it is a part of
    # the patterns that divided the class, but those that others of them imply
    cdef tuple patterns, without


# -- classes of keys -----------------------------------------------------------------------------
cdef bint must_differ(Objects objects) noexcept:
    """Whether keys that are not listed must not repeat."""
    cdef Keyed each
    if objects.minimum > max(len(objects.required), 1):
        return True
    for each in objects.some:
        if each.place:
            return True
    return False


cdef uint32_t differing_key(Text text, uint32_t key, bint is_any) except? 0xFFFFFFFF:
    """A key with its quotes; ``is_any``: any string but a few may be one."""
    return text.grammar.add_capture('"' if is_any else "", ROLE_DIFFERS, text.quoted(key))


cdef list other_members(Places places, Objects objects, list names):
    """Members with keys that are none of ``names``: (node, what of ``objects.some`` such a member is, as
    bits).
    """
    cdef Text text = places.text
    cdef list found = [], choices
    cdef KeyClass each
    cdef uint32_t key, value
    cdef bint differ = must_differ(objects), is_any
    for each in classes_of(places, objects, names):
        # keys that no value may follow are not spelled out
        choices = choices_of(objects, each, places.reader)
        choices = [choice for choice in choices if not is_void(choice[0])]
        if not choices:
            continue
        key = key_node(places, each, names)
        if key == text.fail:
            continue
        if differ:
            if objects.some and keys_of(new_cardinality(places.reader, places.any_order), each, names).most < LOTS:
                message = "a member that must be somewhere, under one of few keys, can't be guaranteed"
                raise UnsupportedSchema(objects.where.pointer(), "not", message)
            is_any = each.texts is None and not (
                each.strings.patterns or each.strings.formats or each.strings.without
                or each.strings.maximum is not None)
            key = differing_key(text, key, is_any)
        else:
            key = text.quoted(key)
        for place, bits in choices:
            value = places.place(place)
            if value != text.fail:
                found.append((text.pair_of(key, value), bits))
    return found


cdef bint is_void(tuple place):
    """Whether one of the schemas of a place is just false."""
    cdef Located each
    for each in place:
        if each.schema is False:
            return True
    return False


cdef RangeC count_others(Places places, Objects objects, list names) except *:
    """How many members with other keys there can surely be, and at most."""
    cdef KeyClass each
    cdef RangeC some, found = RangeC(0, 0)
    cdef Cardinality cardinality = new_cardinality(places.reader, places.any_order)
    cdef bint differ = must_differ(objects)
    cdef dict sure = {}
    if not objects.names and not (differ and objects.keyed):
        return RangeC(LOTS, LOTS)
    check_excludes(places, objects, names)
    for each in classes_of(places, objects, names):
        if each.texts is None and not differ:
            return RangeC(LOTS, LOTS)
        if not differ or places.place(place_of(objects, each, places.reader)) != places.text.fail:
            some = keys_of(cardinality, each, names)
            found.most = min(found.most + some.most, LOTS)
            sure[each.shape] = min(sure.get(each.shape, 0) + some.least, LOTS)
    # keys of two shapes may be the same
    found.least = max(sure.values(), default=0)
    return found


cdef int check_excludes(Places places, Objects objects, list names) except -1:
    """What is excluded may leave few keys of a pattern."""
    cdef KeyClass each
    if places.text.excludes is None or objects.minimum <= len(objects.required):
        return 0
    for each in classes_of(places, objects, names):
        if each.texts is None and (each.strings.patterns or each.strings.formats):
            message = "keys with a pattern can't be counted beside excludes"
            raise UnsupportedSchema(objects.where.at("minProperties"), "minProperties", message)
    return 0


cdef RangeC keys_of(Cardinality cardinality, KeyClass each, list names) except *:
    """How many keys of a class there are, but those listed."""
    cdef RangeC found
    cdef Py_ssize_t n
    if each.texts is not None:
        return RangeC(len(each.texts), len(each.texts))
    found = cardinality.of_strings(each.strings)
    n = sum([cardinality.reader.string(each.strings, name) for name in names])
    return RangeC(max(found.least - n, 0), found.most if found.most == LOTS else found.most - n)


cdef list choices_of(Objects objects, KeyClass keys, Judge judge):
    """(place of a value, what of ``objects.some`` a member with it is) of a class."""
    applies = [is_among(<Keyed>each, keys) for each in objects.some]
    return with_some(objects, place_of(objects, keys, judge), applies, judge)


cdef list with_some(Objects objects, tuple place, list applies, Judge judge):
    """The same of a place, by which of ``objects.some`` apply to its key: what asks nothing of the value
    is found by the key alone.
    """
    cdef Keyed each
    cdef list found = [(place, 0)]
    cdef int number
    check_some(objects)
    for number in range(<int>len(applies)):
        each = objects.some[number]
        if applies[number]:
            more = [(both(known, each.place, judge), bits | 1 << number) for known, bits in found]
            found = found + more if each.place else more
    return found


cdef int check_some(Objects objects) except -1:
    if len(objects.some) > MOST_SOME:
        message = f"{len(objects.some)} members that must be somewhere can't be enforced; {MOST_SOME} can"
        raise UnsupportedSchema(objects.where.pointer(), "not", message)
    return 0


cdef list classes_of(Places places, Objects objects, list names):
    cdef Composition reader = places.reader
    cdef Shape shape
    cdef KeyClass made
    cdef dict patterns = {}
    cdef Keyed keyed
    cdef list found = [], some
    cdef int number = 0
    for keyed in objects.keyed + objects.some:
        for named in keyed.patterns:
            patterns.setdefault((<Named>named).text, named)
    for shape in reader.shapes_at(objects.names):
        if shape.types & STRING:
            shape.check(STRING)
            if shape.values is not None:
                listed = [value for value in shape.values if isinstance(value, str) and value not in names]
                if places.text.excludes is not None:
                    listed = [value for value in listed if places.text.has_spelling(value)]
                some = classes_of_texts(reader, listed, patterns)
            else:
                made = KeyClass.__new__(KeyClass)
                made.strings = shape.strings or new_strings(0, None, (), (), (), ())
                made.matched, made.patterns, made.without = frozenset(), (), ()
                some = divided(reader, made, patterns)
            for made in some:
                made.shape = number
            found += some
            number += 1
    return found


cdef list classes_of_texts(Composition reader, list texts, dict patterns):
    cdef KeyClass made
    cdef dict found = {}
    for text in texts:
        matched = frozenset([source for source, named in patterns.items() if reader.matches(named, text)])
        found.setdefault(matched, []).append(text)
    made_all = []
    for matched, some in found.items():
        made = KeyClass.__new__(KeyClass)
        made.texts, made.matched = some, matched
        made_all.append(made)
    return made_all


cdef list divided(Composition reader, KeyClass whole, dict patterns):
    """By one pattern after the other; classes without any key go as soon as there are several."""
    cdef list found = [whole], more
    cdef KeyClass each
    cdef Named named
    cdef str pointer
    for named in patterns.values():
        more = []
        for each in found:
            if len(patterns) > 1:
                more += parts_of(reader, each, named)
            else:
                more = [part_of(each, named, True), part_of(each, named, False)]
        found = more
        if len(found) > MOST_CLASSES:
            message = f"keys of more than {MOST_CLASSES} kinds can't be told apart"
            pointer = named.where.above.at("patternProperties")
            raise UnsupportedSchema(pointer, "patternProperties", message)
    for each in found:
        each.strings = meet_strings(each.strings, new_strings(0, None, each.patterns, (), each.without, ()))
    return found


cdef list parts_of(Composition reader, KeyClass whole, Named named):
    """The parts that have keys, lengths and formats aside. A pattern that says nothing about the keys of a
    part is not asked of them: most patterns have no text in common, and each then stands alone.
    """
    cdef KeyClass matching = part_of(whole, named, True), other = part_of(whole, named, False)
    cdef Named each
    if have_none(reader, matching.patterns, matching.without):
        other.without = whole.without
        return [other]
    if have_none(reader, other.patterns, other.without):
        matching.patterns = whole.patterns
        return [matching]
    matching.without = tuple([each for each in whole.without if not have_none(reader, (named, each), ())])
    return [matching, other]


cdef KeyClass part_of(KeyClass whole, Named named, bint is_match):
    cdef KeyClass made = KeyClass.__new__(KeyClass)
    made.strings, made.matched, made.patterns, made.without = (
        whole.strings, whole.matched, whole.patterns, whole.without)
    if is_match:
        made.matched |= {named.text}
        made.patterns += (named,)
    else:
        made.without += (named,)
    return made


cdef bint have_none(Composition reader, tuple patterns, tuple without) except -1:
    """Whether no text matches all of these patterns and none of those."""
    cdef Named each
    cdef tuple key = (tuple([each.text for each in patterns]), tuple([each.text for each in without]))
    if reader._classes is None:
        reader._classes = {}
    if key not in reader._classes:
        each = (patterns or without)[-1]
        bound = Bound(reader.limits.pattern_states, each.pointer(), reader.budget)
        reader._classes[key] = is_empty(
            [reader.pattern(each) for each in patterns], [reader.pattern(each) for each in without], bound)
    return reader._classes[key]


cdef tuple place_of(Objects objects, KeyClass keys, Judge judge):
    """What is asked of the values under these keys."""
    cdef Keyed each
    cdef tuple place = objects.rest
    for each in objects.keyed:
        if is_among(each, keys):
            place = both(place, each.place, judge)
    return place


cdef bint is_among(Keyed keyed, KeyClass keys) except -1:
    cdef Named named
    for named in keyed.patterns:
        if named.text in keys.matched:
            return keyed.is_match
    return not keyed.is_match


cdef uint32_t key_node(Places places, KeyClass keys, list names) except? 0xFFFFFFFF:
    """The inside of a key."""
    cdef Composition reader = places.reader
    cdef Text text = places.text
    cdef tuple barred
    if keys.texts is not None:
        return text.rule_by("key", text.texts(keys.texts))
    barred = tuple([name for name in names if reader.string(keys.strings, name)])
    strings = meet_strings(keys.strings, new_strings(0, None, (), (), (), barred))
    return text.rule_by("key", build_inside(text, strings, reader, True))


# -- counted members -----------------------------------------------------------------------------
cdef uint32_t counted_members(
    Places places, Objects objects, MembersC* members, list names, list others, Py_ssize_t keys
) except? 0xFFFFFFFF:
    """What stands between the brackets, white space before the closing one included. ``others`` as of
    ``other_members``, with so many different ``keys``.

    Raises:
        UnsupportedSchema: too many numbers of members.
    """
    cdef Counting counting = Counting.__new__(Counting)
    cdef size_t k
    check_some(objects)
    counting.places, counting.objects, counting.members, counting.names = places, objects, members, names
    counting.others, counting.required = others, 0
    counting.spare = members.nodes.size() + keys - objects.minimum
    if places.any_order:
        for k in range(members.required.size()):
            counting.required |= bit_of(k) if members.required[k] else 0
    return counting.inside()


cdef class Counting:
    cdef Places places
    cdef Objects objects
    cdef MembersC* members
    cdef list names
    cdef list others
    cdef object required    # the set of required members, as bits; for any order only
    cdef object cap         # numbers of members from here on are one
    cdef Py_ssize_t spare   # listed members that may be left out, so that there are keys for ``minProperties``

    cdef uint32_t inside(self) except? 0xFFFFFFFF:
        cdef Objects objects = self.objects
        cdef Graph graph = new_graph(self.places.text, (0, 0, 0, 0))
        cdef Py_ssize_t at = 0
        cdef tuple state
        self.cap = max(objects.minimum, 1) if objects.maximum is None else objects.maximum
        while at < len(graph.states):
            state = graph.states[at]
            at += 1
            if graph.is_full():
                keyword = "minProperties" if objects.maximum is None else "maxProperties"
                message = "too many numbers of members to be told apart"
                raise UnsupportedSchema(objects.where.at(keyword), keyword, message)
            if state is not None:
                self.add_end(graph, state)
                if objects.maximum is None or state[1] < objects.maximum:
                    self.add_members(graph, state)
                if not self.places.any_order:
                    self.add_passing(graph, state)
        return graph.node()

    cdef bint has_all(self, tuple state):
        """Whether all required members were passed."""
        if self.places.any_order:
            return state[0] & self.required == self.required
        return state[0] == self.members.nodes.size()

    cdef int add_end(self, Graph graph, tuple state) except -1:
        cdef bint is_found = state[2] == (1 << len(self.objects.some)) - 1
        if self.has_all(state) and state[1] >= min(self.objects.minimum, self.cap) and is_found:
            if state[1]:
                graph.add(state, self.places.text.closing(), None)
                graph.finals.add(None)
            else:
                graph.finals.add(state)
        return 0

    cdef int add_passing(self, Graph graph, tuple state) except -1:
        """The next listed member may be left out, if enough others are left."""
        cdef Py_ssize_t left_out = state[3]
        if state[0] < self.members.nodes.size() and not self.members.required[state[0]]:
            if self.others and self.spare < <Py_ssize_t>self.members.nodes.size():
                left_out += 1
            if left_out <= max(self.spare, 0) or not self.others:
                graph.add(state, self.places.text.empty, (state[0] + 1, state[1], state[2], left_out))
        return 0

    cdef int add_members(self, Graph graph, tuple state) except -1:
        cdef Py_ssize_t k, n = <Py_ssize_t>self.members.nodes.size()
        cdef bint is_last = self.places.extra_last
        if not is_last or self.has_all(state):
            for node, bits in self.others:
                self.add_member(graph, state, node, state[0], bits)
        if self.places.any_order:
            for k in range(n):
                if not state[0] >> k & 1:
                    self.add_listed(graph, state, k, state[0] | bit_of(k))
        elif state[0] < n:
            self.add_listed(graph, state, state[0], state[0] + 1)
        return 0

    cdef int add_listed(self, Graph graph, tuple state, Py_ssize_t k, after) except -1:
        """A listed member, and beside it the same as one that must be somewhere."""
        cdef Composition reader = self.places.reader
        cdef Text text = self.places.text
        cdef str name = self.names[k]
        cdef list applies = [(<Keyed>each).has(name, reader) for each in self.objects.some]
        for place, bits in with_some(self.objects, self.objects.place_of(name, reader), applies, reader):
            node = self.places.place(place)
            if node != text.fail:
                self.add_member(graph, state, text.pair(text.text(name), node), after, bits)
        return 0

    cdef int add_member(self, Graph graph, tuple state, uint32_t node, after, bits) except -1:
        cdef Text text = self.places.text
        node = text.after_comma(node) if state[1] else text.first(node)
        return graph.add(state, node, (after, min(state[1] + 1, self.cap), state[2] | bits, state[3]))


cdef object bit_of(Py_ssize_t k):
    """Of a set of any size."""
    cdef object one = 1
    return one << k
