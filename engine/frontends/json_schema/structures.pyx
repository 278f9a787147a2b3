"""Numbers of values: see the header file."""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport (
    ANY_ORDER, EXTRA_LAST, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, ROLE_DIFFERS, SPELLED,
)
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget, spend
from .builder cimport Graph, Places, Text, add_values, new_graph, spelled
from .evaluator cimport identity, is_within
from .intersection cimport place_key
from .reader cimport Composition, Reader
from .scalars cimport build_inside
from .schema_types cimport (
    ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Arrays, Count, Judge,
    Keyed, Located, Named, Numbers, Objects, Shape, Strings, both, meet_strings, new_strings,
)

from fractions import Fraction
from math import ceil, floor, gcd, lcm

from ...errors import LimitExceeded, UnsupportedSchema
from ..regex.char_automaton import Bound, intersection, is_empty as is_empty_language

#: levels of arrays and objects that are looked into, far beyond what people write; each takes four
#: frames of the stack
cdef int LEVELS = 32
#: items of a prefix, or up to a bound, that are multiplied
cdef int MOST_ITEMS = 1_000
cdef RangeC INFINITE = RangeC(LOTS, LOTS)


cdef Cardinality new_cardinality(Reader reader, bint any_order):
    cdef Cardinality made = Cardinality.__new__(Cardinality)
    made.reader, made.any_order = reader, any_order
    if reader._ranges is None:
        reader._ranges, reader._told = {}, {}
    return made


cdef RangeC between(least, most):
    return RangeC(<long long>min(max(least, 0), LOTS), <long long>min(max(most, 0), LOTS))


cdef class Cardinality:
    cdef tuple key_of(self, tuple place):
        cdef Located each
        return place_key(tuple([self.reader.target(each) for each in place]))

    cdef RangeC of_place(self, tuple place, int levels) except *:
        cdef RangeC found
        key = self.key_of(place)
        spend(self.reader.budget, 1)
        known = self.reader._ranges.get(key)
        if known is not None:
            return RangeC(known[0], known[1])
        if levels > LEVELS:
            return RangeC(0, LOTS)
        # what is known of it while it is counted; the place keeps its schemas alive
        self.reader._ranges[key] = 0, LOTS, place
        found = self.counted(place, levels)
        self.reader._ranges[key] = found.least, found.most, place
        return found

    cdef RangeC counted(self, tuple place, int levels) except *:
        """Of values listed and of each type: types have no value in common, shapes may."""
        cdef Shape shape
        cdef RangeC each
        cdef int kind
        cdef set listed = set()
        cdef tuple shapes
        shapes = self.reader.shapes_at(place)
        spend(self.reader.budget, len(shapes))
        for shape in shapes:
            if shape.values is not None:
                listed.update([identity(value) for value in shape.values])
        least, most = 0, len(listed)
        for kind in (NULL_TYPE, BOOLEAN, INTEGER, FRACTION, STRING, ARRAY, OBJECT):
            best = 0
            for shape in shapes:
                if shape.values is None and shape.types & kind:
                    each = self.of_type(shape, kind, levels)
                    best = max(best, each.least)
                    most += each.most
            least += best
        return between(max(least, <long long>len(listed)), most)

    cdef RangeC of_type(self, shape_, int kind, int levels) except *:
        cdef Shape shape = shape_
        if kind == NULL_TYPE:
            return RangeC(1, 1)
        if kind == BOOLEAN:
            return RangeC(2, 2)
        if kind == STRING:
            return self.of_strings(shape.strings)
        if kind == ARRAY:
            return self.of_array(shape.arrays, levels)
        if kind == OBJECT:
            return self.of_object(shape.objects, levels)
        return self.of_numbers(shape.numbers, kind == INTEGER)

    cdef RangeC of_strings(self, Strings strings) except *:
        if strings is None:
            return INFINITE
        if strings.patterns or strings.formats or strings.without:
            found = self.automaton_of(strings)
            if found is None:
                return RangeC(0, LOTS)
            some = words_of(found, strings.minimum, strings.maximum, self.reader.budget)
        else:
            some = LOTS if strings.maximum is None or strings.maximum > 0 else 1
        return between(some - len(strings.barred), some)

    cdef automaton_of(self, Strings strings):
        """Of patterns and formats together; None: it has too many states."""
        cdef Named each
        cdef list accepting = [self.reader.pattern(each) for each in strings.patterns]
        accepting += [self.reader.format(each, strings.minimum > 0) for each in strings.formats]
        rejecting = [self.reader.pattern(each) for each in strings.without]
        bound = Bound(self.reader.limits.pattern_states, "", self.reader.budget)
        try:
            return intersection(accepting, rejecting, bound)
        except LimitExceeded as error:
            if error.limit != "pattern_states":
                raise
            return None

    cdef RangeC of_numbers(self, numbers_, bint whole) except *:
        """Whole numbers, or all others."""
        cdef Numbers numbers = numbers_
        if numbers is None:
            return INFINITE
        steps = [Fraction((<Named>each).text) for each in numbers.multiples]
        if numbers.foreign:
            return RangeC(0, LOTS)
        if not steps and not whole:
            is_one = numbers.low is not None and numbers.high is not None and numbers.low >= numbers.high
            return RangeC(0, 1) if is_one else INFINITE
        if numbers.low is None or numbers.high is None:
            return INFINITE if whole else RangeC(0, LOTS)
        own = multiples_between(numbers, period_of(steps)) if steps else 0
        units = multiples_between(numbers, period_of(steps + [Fraction(1)]))
        found = units if whole else own - units
        return between(found - len(numbers.barred), found)

    cdef RangeC of_array(self, Arrays arrays, int levels) except *:
        cdef RangeC each
        cdef Py_ssize_t n = 0
        if arrays is None:
            return INFINITE
        if arrays.counts:
            return RangeC(0, LOTS)
        least = most = 0
        some = many = 1
        while n <= MOST_ITEMS:
            if n >= arrays.minimum:
                least, most = least + some, most + many
            if n == arrays.maximum or least >= LOTS or many == 0:
                return between(least, most)
            each = self.of_place(arrays.prefix[n] if n < len(arrays.prefix) else arrays.rest, levels + 1)
            if n >= len(arrays.prefix) and arrays.maximum is None and (arrays.unique is None or each.least == LOTS):
                # any number of them
                return between(LOTS if each.least and some else least, LOTS if each.most and many else most)
            left = each.least if arrays.unique is None or each.least == LOTS else max(each.least - n, 0)
            some, many = min(some * left, LOTS), min(many * each.most, LOTS)
            n += 1
        return between(least, LOTS)

    cdef RangeC of_object(self, Objects objects, int levels) except *:
        cdef RangeC each
        if objects is None:
            return INFINITE
        if objects.keyed or objects.names or objects.some or objects.maximum is not None:
            return RangeC(0, LOTS)
        least = most = 1
        for name in dict.fromkeys([*objects.properties, *objects.required]):
            each = self.of_place(objects.place_of(name, self.reader), levels + 1)
            optional = 0 if objects.wanted is not None and name in objects.wanted else 1
            least, most = min(least * (each.least + optional), LOTS), min(most * (each.most + optional), LOTS)
        each = self.of_place(objects.rest, levels + 1)
        if each.most:
            return between(LOTS if least and each.least else 0, LOTS if most else 0)
        if objects.minimum > len(objects.required):
            return between(0, most)
        return between(least, most)

cdef period_of(list steps):
    """The distance between numbers that are multiples of all."""
    found = steps[0]
    for step in steps[1:]:
        found = Fraction(lcm(found.numerator, step.numerator), gcd(found.denominator, step.denominator))
    return found


cdef multiples_between(Numbers numbers, step):
    low, high = ceil(Fraction(numbers.low) / step), floor(Fraction(numbers.high) / step)
    low += low * step == numbers.low and numbers.low_open
    high -= high * step == numbers.high and numbers.high_open
    return max(high - low + 1, 0)


cdef words_of(automaton, minimum, maximum, WorkBudget budget):
    """How many texts of such lengths an automaton takes, LOTS at most. Without bound there are LOTS if there
    is a longer one than it has states.
    """
    edges, finals = automaton.edges, automaton.finals
    cdef dict ways = {0: 1} if edges else {}, more
    found, length = 0, 0
    while ways and found < LOTS and (maximum is None or length <= maximum):
        spend(budget, 1 + len(ways))
        if length >= minimum:
            found += sum([n for state, n in ways.items() if state in finals])
        if length > len(edges) and maximum is None:
            return LOTS
        more = {}
        for state, n in ways.items():
            for ranges, target in edges[state]:
                some = n * sum([high - low + 1 for low, high in ranges])
                more[target] = min(more.get(target, 0) + some, LOTS)
        ways = more
        length += 1
    return min(found, LOTS)


# -- members ---------------------------------------------------------------------------------------

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


# -- classes of keys -------------------------------------------------------------------------------
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
        reader._classes[key] = is_empty_language(
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


# -- counted members -------------------------------------------------------------------------------
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


# -- objects ---------------------------------------------------------------------------------------

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


# -- items -----------------------------------------------------------------------------------------

#: values that must differ; there is a state for each set of them
cdef Py_ssize_t MOST_VALUES = 10
#: numbers of items that are counted at once: each doubles the choices for an item
cdef Py_ssize_t MOST_COUNTS = 8
#: levels of items in which two places are looked at for a difference
cdef int DISTANCE = 3


cdef uint32_t build_counted_array(Places places, Arrays arrays) except? 0xFFFFFFFF:
    cdef Items items = Items.__new__(Items)
    cdef uint32_t inside
    if len(arrays.counts) > MOST_COUNTS:
        message = f"{len(arrays.counts)} counts of items at one place can't be enforced; {MOST_COUNTS} can"
        raise UnsupportedSchema((<Count>arrays.counts[0]).where.at("contains"), "contains", message)
    items.places, items.reader, items.arrays = places, places.reader, arrays
    items.known = {}
    items.must_differ = items.is_listed = False
    if arrays.unique is not None and not differ_anyway(places.reader, arrays):
        items.must_differ, items.is_listed = True, has_short_list(places.reader, arrays)
        if not items.is_listed and not has_values_enough(places, arrays):
            return places.text.fail
    inside = items.inside()
    return places.text.bracketed(b"[", inside, b"]")


cdef bint differ_anyway(Reader reader, Arrays arrays) except -1:
    """Whether there is at most one item, or items have places that have no value in common."""
    cdef Py_ssize_t i, j, n = len(arrays.prefix)
    most = arrays.maximum
    if most is not None and most <= 1:
        return True
    if (most is None or most > n) and reader.shapes_at(arrays.rest):
        return False
    for i in range(n):
        for j in range(i):
            if not reader.places_apart(<tuple>arrays.prefix[i], <tuple>arrays.prefix[j], DISTANCE):
                return False
    return True


cdef list values_of(Reader reader, tuple place):
    """The values of a place; None where they are not listed."""
    cdef Shape shape
    cdef list found = []
    for shape in reader.shapes_at(place):
        shape.check(shape.types)
        if shape.values is not None:
            found += shape.values
        elif shape.types & ~(BOOLEAN | NULL_TYPE | INTEGER):
            return None
        else:
            found += ([True, False] if shape.types & BOOLEAN else []) + ([None] if shape.types & NULL_TYPE else [])
            numbers = few_integers(shape.numbers) if shape.types & INTEGER else []
            if numbers is None:
                return None
            found += numbers
    return found


cdef list few_integers(Numbers numbers):
    """The whole numbers within bounds; None: too many."""
    if numbers is None or numbers.low is None or numbers.high is None:
        return None
    if numbers.high - numbers.low > MOST_VALUES:
        return None
    return [value for value in range(int(numbers.low) - 1, int(numbers.high) + 2) if is_within(numbers, value)]


cdef bint has_short_list(Reader reader, Arrays arrays) except -1:
    """Whether the values of all items are listed, and few."""
    cdef tuple place
    cdef set found = set()
    for place in (*arrays.prefix, arrays.rest):
        values = values_of(reader, place)
        if values is None:
            return False
        found.update([identity(value) for value in values])
    return len(found) <= MOST_VALUES


cdef bint has_values_enough(Places places, Arrays arrays) except -1:
    """Whether each item that must be there finds a value that none before it has.

    Raises:
        UnsupportedSchema: perhaps it does not.
    """
    cdef Cardinality cardinality = new_cardinality(places.reader, places.any_order)
    cdef RangeC found
    cdef Py_ssize_t n, prefix = len(arrays.prefix), last
    cdef Count each
    for n in range(prefix + 1):
        place = arrays.prefix[n] if n < prefix else arrays.rest
        if not is_told_by_text(cardinality, place, 0):
            raise too_few(arrays, "items of few values, written in several ways or orders, can't be told apart")
        last = n if n < prefix else arrays.minimum - 1
        if n >= arrays.minimum or last < 1:
            continue
        found = cardinality.of_place(place, 0)
        if found.most <= last and prefix == 0:
            return False
        if found.least <= last:
            raise too_few(arrays, f"{arrays.minimum} items that differ can't be guaranteed")
    for each in arrays.counts:
        if not has_counted_enough(cardinality, arrays, each):
            return False
    return True


cdef bint is_told_by_text(Cardinality cardinality, tuple place, int levels) except -1:
    """Whether values are counted as they are written: members of few objects in one order, no arrays of few
    values that must differ in turn, but listed ones.
    """
    cdef dict known = cardinality.reader._told
    key = cardinality.key_of(place), levels
    if key not in known:
        known[key] = place, is_written_once(cardinality, place, levels)
    return known[key][1]


cdef bint is_written_once(Cardinality cardinality, tuple place, int levels) except -1:
    """As ``is_told_by_text``, for the first time."""
    cdef Reader reader = cardinality.reader
    cdef Shape shape
    cdef Arrays arrays
    cdef Objects objects
    cdef RangeC found
    for shape in reader.shapes_at(place) if levels <= DISTANCE else ():
        arrays, objects = shape.arrays, shape.objects
        if shape.values is not None:
            continue
        if shape.types & ARRAY and arrays is not None:
            is_free = arrays.unique is None or differ_anyway(reader, arrays) or has_short_list(reader, arrays)
            for inner in (*arrays.prefix, arrays.rest):
                found = cardinality.of_place(inner, levels + 1)
                if found.most and not is_free and found.least < LOTS:
                    return False
                if not is_told_by_text(cardinality, inner, levels + 1):
                    return False
        if shape.types & OBJECT and objects is not None:
            if cardinality.any_order and len(objects.properties) > 1 and (
                    cardinality.of_object(objects, levels).least < LOTS):
                return False
            for name in objects.properties:
                if not is_told_by_text(cardinality, objects.place_of(name, reader), levels + 1):
                    return False
    return True


cdef bint has_counted_enough(Cardinality cardinality, Arrays arrays, Count count) except -1:
    """As ``has_values_enough``, of the items that one ``contains`` counts."""
    cdef RangeC found
    cdef Py_ssize_t before = max(len(arrays.prefix), count.first)
    cdef tuple place
    if count.maximum is not None and arrays.minimum > 1:
        found = cardinality.of_place(both(arrays.rest, cardinality.reader.negated(count.place), cardinality.reader), 0)
        if found.least < arrays.minimum:
            raise too_few(arrays, f"{arrays.minimum} items that differ can't be guaranteed beside maxContains")
    if not count.minimum:
        return True
    for place in (*arrays.prefix, arrays.rest):
        found = cardinality.of_place(both(place, count.place, cardinality.reader), 0)
        if found.most < count.minimum and not before:
            return False
        # an item may be one of several counts
        if found.most and found.least < (count.minimum + before if len(arrays.counts) == 1 else LOTS):
            raise too_few(arrays, f"{count.minimum} items that differ can't be guaranteed for contains")
    return True


cdef too_few(Arrays arrays, str message):
    return UnsupportedSchema(arrays.unique.at("uniqueItems"), "uniqueItems", message)


cdef uint32_t differing(Places places, tuple place) except? 0xFFFFFFFF:
    """A word of the place that must differ from all others of its array. Its numbers are plain, so that
    there is always another one that the digits so far begin.
    """
    cdef uint32_t node = places.place(both(place, places.reader.plain_numbers(), places.reader))
    if node == places.text.fail:
        return node
    return places.text.grammar.add_capture(deciding(places.reader, place), ROLE_DIFFERS, node)


cdef str deciding(Reader reader, tuple place):
    """The characters that may decide about the end of a value; "": any may."""
    cdef Shape shape
    cdef Strings strings
    cdef str found = ""
    for shape in reader.shapes_at(place):
        strings = shape.strings
        if shape.values is not None or shape.types & ~(STRING | NUMBER) or shape.numbers is not None:
            return ""
        if shape.types & STRING:
            if strings is not None and (
                strings.patterns or strings.formats or strings.without or strings.barred
                or strings.maximum is not None
            ):
                return ""
            found += '"'
        if shape.types & NUMBER:
            found += "0123456789"
    return found


cdef class Items:
    cdef Places places
    cdef Reader reader
    cdef Arrays arrays
    cdef bint must_differ, is_listed
    cdef Py_ssize_t steady      # from this item on, all have the same place
    cdef dict known             # by item, up to the steady one: its choices
    cdef dict values            # where they are listed, by identity: (value, its bit)

    cdef uint32_t inside(self) except? 0xFFFFFFFF:
        """What stands between the brackets, white space before the closing one included."""
        cdef Graph graph
        cdef tuple state, start
        cdef Py_ssize_t n, at = 0, cap
        cdef Arrays arrays = self.arrays
        self.steady = max([len(arrays.prefix)] + [(<Count>count).first for count in arrays.counts])
        cap = max(self.steady, arrays.minimum, arrays.maximum or 0, 1)
        start = (0, (0,) * len(arrays.counts), 0)
        graph = new_graph(self.places.text, start)
        while at < len(graph.states):
            state = graph.states[at]
            at += 1
            if graph.is_full():
                raise self.error()
            if state is None:
                continue
            n = state[0]
            if n >= arrays.minimum and self.is_enough(state):
                if n:
                    graph.add(state, self.places.text.closing(), None)
                    graph.finals.add(None)
                else:
                    graph.finals.add(state)
            if arrays.maximum is None or n < arrays.maximum:
                self.add_items(graph, state, cap)
        return graph.node()

    cdef error(self):
        cdef str keyword = "uniqueItems" if self.must_differ else "contains"
        cdef Located where = self.arrays.unique if self.must_differ else (<Count>self.arrays.counts[0]).where
        return UnsupportedSchema(where.at(keyword), keyword, "too many numbers of items to be told apart")

    cdef bint is_enough(self, tuple state) except -1:
        cdef Py_ssize_t k
        for k in range(len(self.arrays.counts)):
            if state[1][k] < (<Count>self.arrays.counts[k]).minimum:
                return False
        return True

    cdef int add_items(self, Graph graph, tuple state, Py_ssize_t cap) except -1:
        """Edges of all choices for the next item."""
        cdef Py_ssize_t n = state[0], k
        cdef tuple counts = state[1]
        cdef Count each
        cdef uint32_t node
        for node, counted, used in self.choices(min(n, self.steady)):
            if state[2] & used:
                continue
            after = list(counts)
            for k in counted:
                each = self.arrays.counts[k]
                after[k] += 1
                if after[k] > (each.minimum if each.maximum is None else each.maximum):
                    if each.maximum is not None or not self.is_listed:
                        # one that need not be counted any more stands among those that are not
                        break
                    after[k] = each.minimum
            else:
                node = self.places.text.after_comma(node) if n else self.places.text.first(node)
                graph.add(state, node, (min(n + 1, cap), tuple(after), state[2] | used))
        return 0

    cdef list choices(self, Py_ssize_t n):
        """(node, the counts it adds to, the bit of its value) of what may stand as item n."""
        if n not in self.known:
            place = self.arrays.prefix[n] if n < len(self.arrays.prefix) else self.arrays.rest
            self.known[n] = self.values_at(n, place) if self.is_listed else self.kinds_at(n, place)
        return self.known[n]

    cdef list kinds_at(self, Py_ssize_t n, tuple place):
        """For each set of counts, the items that add to these."""
        cdef list found = [(place, ())]
        cdef Py_ssize_t k
        cdef Count each
        for k in range(len(self.arrays.counts)):
            each = self.arrays.counts[k]
            if n < each.first:
                continue
            more = []
            for known, counted in found:
                if each.minimum or each.maximum:
                    more.append((both(known, each.place, self.reader), (*counted, k)))
                if each.maximum is not None:
                    known = both(known, self.reader.negated(each.place), self.reader)
                more.append((known, counted))
            found = more
        return [(self.item(known), counted, 0) for known, counted in found]

    cdef uint32_t item(self, tuple place) except? 0xFFFFFFFF:
        return differing(self.places, place) if self.must_differ else self.places.place(place)

    # -- items that must differ ------------------------------------------------------------------
    cdef list values_at(self, Py_ssize_t n, tuple place):
        """The values of a place, each with its bit."""
        cdef vector[uint32_t] nodes
        cdef list found = []
        cdef Py_ssize_t k
        cdef Count each
        if self.values is None:
            self.values = self.all_values()
        for value, used in self.values.values():
            if not self.reader.fits(place, value):
                continue
            counted = []
            for k in range(len(self.arrays.counts)):
                each = self.arrays.counts[k]
                if n >= each.first and self.reader.fits(each.place, value):
                    counted.append(k)
            nodes.clear()
            add_values(self.places.text, [value], &nodes)
            found.append((nodes[0], tuple(counted), used))
        return found

    cdef dict all_values(self):
        """All values that some item may have, each with its bit."""
        cdef dict found = {}
        cdef tuple place
        for place in (*self.arrays.prefix, self.arrays.rest):
            for value in values_of(self.reader, place):
                found.setdefault(identity(value), (value, 1 << <int>len(found)))
        return found


# -- arrays ----------------------------------------------------------------------------------------

cdef uint32_t build_array(Places places, Arrays arrays) except? 0xFFFFFFFF:
    """``arrays`` None: any array."""
    cdef Text text = places.text
    cdef vector[uint32_t] prefix
    cdef uint32_t item
    cdef size_t n
    cdef tuple place
    cdef bint must_differ
    minimum, maximum = 0, None
    if arrays is None:
        item = places.place(())
    else:
        minimum, maximum = arrays.minimum, arrays.maximum
        must_differ = arrays.unique is not None and not differ_anyway(places.reader, arrays)
        if arrays.counts or (must_differ and has_short_list(places.reader, arrays)):
            return build_counted_array(places, arrays)
        for place in arrays.prefix[:maximum]:
            prefix.push_back(places.place(place))
        item = places.place(arrays.rest)
        if must_differ:
            if not has_values_enough(places, arrays):
                return text.fail
            for n in range(prefix.size()):
                prefix[n] = differing(places, <tuple>arrays.prefix[n])
            item = differing(places, arrays.rest)
    # a place that no value fits ends the array before it
    for n in range(prefix.size()):
        if prefix[n] == text.fail:
            prefix.resize(n)
            item = text.fail
            break
    if item == text.fail:
        maximum = prefix.size() if maximum is None else min(maximum, <Py_ssize_t>prefix.size())
    if maximum is not None and maximum < minimum:
        return text.fail
    return text.bracketed(b"[", elements(text, &prefix, item, minimum, maximum), b"]")


cdef uint32_t elements(
    Text text, vector[uint32_t]* prefix, uint32_t item, minimum, maximum
) except? 0xFFFFFFFF:
    """What stands between the brackets, white space before the closing one included."""
    cdef vector[uint32_t] edges
    cdef uint32_t n = <uint32_t>prefix.size(), end = n + 1, number, space = text.closing()
    cdef uint32_t[3] parts
    cdef uint32_t[2] finals = [0, end]
    if n == 0:
        if maximum == 0:
            return text.empty
        parts[0] = text.first(item)
        parts[1] = text.repeat(
            text.after_comma(item), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        parts[2] = space
        parts[1] = text.seq(parts, 3)
        parts[0] = text.empty
        return parts[1] if minimum else text.alt(parts, 2)
    add_edge(&edges, 0, text.first(prefix[0][0]), 1)
    for number in range(1, n):
        add_edge(&edges, number, text.after_comma(prefix[0][number]), number + 1)
        if minimum <= number:
            add_edge(&edges, number, space, end)
    parts[0] = text.repeat(
        text.after_comma(item), max(minimum - n, 0), None if maximum is None else maximum - n)
    parts[1] = space
    add_edge(&edges, n, text.seq(parts, 2), end)
    return text.graph(
        n + 2, edges.data(), edges.size() // 3, &finals[1] if minimum else &finals[0], 1 if minimum else 2)


cdef inline void add_edge(vector[uint32_t]* edges, uint32_t s, uint32_t node, uint32_t t):
    edges.push_back(s)
    edges.push_back(node)
    edges.push_back(t)
