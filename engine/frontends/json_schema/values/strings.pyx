"""JSON strings of a schema as IR: lengths, patterns and formats, all of the decoded value.

Alone      a length is a counted repetition; a pattern or format is emitted as it stands.
Together   a pattern stays as it stands if its own lengths lie within the bounds, or if one repeated class can
           take the bounds as its counts (``^[a-z]{1,4000}$``, ``^#.*$``). Otherwise one automaton is the
           intersection of all patterns and formats and of the complements of what must not match. If look-ahead
           counts the text, there is one for each way to count it (``front_end.by_length``). Next to a length, a
           format with a short form uses it, which excludes a few rare texts.
Excludes   strings with a pattern or format ignore ``excludes`` of a structural tag, as in xgrammar; all other
           strings, and all keys, contain nothing excluded.
Cost       ``pattern_states`` bounds automata. ``Grammar.fragments`` caches the result for later grammars.
"""

from libc.stdint cimport uint32_t

from ....grammar.ir cimport FragmentBuilder, IrFragment, fragment_of
from ..evaluator cimport Evaluator
from ..json_text cimport STRING_BODY, JsonText, named_texts, pointers_of
from ..intersection cimport smaller_bound
from ..schema_types cimport ConstraintText, Strings
from ..styled_text cimport PythonText, RawText

from ...regex.char_automaton import Bound, bounded_node, intersection, is_empty, with_length, words
from ...regex.front_end import MAX_WAYS, emit_search, whole as whole_pattern
from ...regex.regex_syntax import ANYTHING, END, START, Cat, Chars, Repeat, cat, repeat
from .. import formats


cdef uint32_t build_string(JsonText text, Strings strings, Evaluator evaluator, bint separate=False) except? 0xFFFFFFFF:
    cdef uint32_t inside
    if is_unbounded(strings) and evaluator.most_characters is not None:
        return string_of_length(text, strings, evaluator.most_characters)
    if strings is None:
        return text.any_string()
    inside = build_inside(text, strings, evaluator)
    if text.is_python:
        return text.alt(text.quoted(inside), build_string((<PythonText>text).single, strings, evaluator))
    if separate and inside != text.fail and (strings.patterns or strings.formats or strings.without):
        inside = text.rule_by("pattern", inside)
    return text.any_string() if inside == text.shared[STRING_BODY] else text.quoted(inside)


cdef bint is_unbounded(Strings strings):
    """Whether only a least length constrains the strings, if anything does."""
    return strings is None or strings.maximum is None and not (
        strings.patterns or strings.formats or strings.without or strings.barred)


cdef uint32_t string_of_length(JsonText text, Strings strings, most) except? 0xFFFFFFFF:
    """Add a string of at most ``most`` characters, or of its least length if that is more."""
    minimum = 0 if strings is None else strings.minimum
    node = text.rule_by("string", text.quoted(any_of_length(text, minimum, max(minimum, most))))
    if text.is_python:
        return text.alt(node, string_of_length((<PythonText>text).single, strings, most))
    return node


cdef uint32_t build_inside(
    JsonText text, Strings strings, Evaluator evaluator, bint is_key=False
) except? 0xFFFFFFFF:
    minimum, maximum = strings.minimum, longest(strings)
    if maximum is not None and maximum < minimum:
        return text.fail
    if text.is_raw:
        return raw(<RawText>text, strings, evaluator, minimum, maximum)
    if text.excludes is not None and (is_key or not (strings.patterns or strings.formats)):
        return without_excludes(text, strings, evaluator, minimum, maximum)
    if strings.patterns or strings.formats or strings.without:
        return patterned(text, strings, evaluator)
    if not strings.barred:
        return any_of_length(text, minimum, maximum)
    if minimum == 0 and maximum is None:
        return text.other_body(list(strings.barred))
    return patterned(text, strings, evaluator)


cdef uint32_t raw(RawText text, Strings strings, Evaluator evaluator, minimum, maximum) except? 0xFFFFFFFF:
    if not (strings.patterns or strings.formats or strings.without or strings.barred):
        return any_of_length(text, minimum, maximum)
    bound = Bound(text.grammar.limits.pattern_states, place_of(strings), text.grammar.budget)
    return text.grammar.alt(*[
        text.accepted(found, low, high, bound, bool(strings.patterns or strings.formats))
        for found, low, high in by_length(strings, evaluator, minimum, maximum, bound)
    ])


cdef longest(Strings strings):
    """Return the upper bound on the length; some formats have one of their own."""
    cdef ConstraintText each
    maximum = strings.maximum
    for each in strings.formats:
        maximum = smaller_bound(maximum, formats.MAX_LENGTHS.get(each.text))
    return maximum


cdef uint32_t any_of_length(JsonText text, minimum, maximum) except? 0xFFFFFFFF:
    if minimum == 0 and maximum is None:
        return text.any_body()
    return text.any_of_length(minimum, maximum)


cdef uint32_t without_excludes(
    JsonText text, Strings strings, Evaluator evaluator, minimum, maximum
) except? 0xFFFFFFFF:
    bound = Bound(text.grammar.limits.pattern_states, place_of(strings), text.grammar.budget)
    if not (strings.patterns or strings.formats or strings.without or strings.barred):
        return any_of_length(text, minimum, maximum)
    nodes = []
    for found, low, high in by_length(strings, evaluator, minimum, maximum, bound):
        if low or high is not None:
            # with excludes, a state may lack ends of some lengths, so registers cannot count
            found = with_length(found, low, high, bound)
        nodes.append(text.without_excludes(found, place_of(strings)))
    return text.grammar.alt(*nodes)


cdef uint32_t patterned(JsonText text, Strings strings, Evaluator evaluator) except? 0xFFFFFFFF:
    cdef IrFragment fragment
    cdef StringFragment fragment_builder
    cdef tuple key = (
        strings.minimum,
        strings.maximum,
        named_texts(strings.patterns),
        named_texts(strings.formats),
        named_texts(strings.without),
        strings.barred,
    )
    made = text.kept.get(key)
    if made is None:
        fragment_builder = StringFragment.__new__(StringFragment)
        fragment_builder.strings, fragment_builder.evaluator = strings, evaluator
        fragment = text.grammar.fragments.get(text.grammar, key, fragment_builder)
        made = text.kept[key] = (
            any_of_length(text, strings.minimum, strings.maximum) if fragment.is_nothing()
            else fragment.put_into(text.grammar))
    return made


cdef class StringFragment(FragmentBuilder):
    """The fragment of the inside of a string; empty if only the length is constrained."""
    cdef Strings strings
    cdef Evaluator evaluator

    cdef list places(self):
        return pointers_of(self.strings.patterns + self.strings.formats + self.strings.without)

    cdef IrFragment make(self):
        cdef ConstraintText each
        cdef list asked = []
        cdef bint is_barred = bool(self.strings.without or self.strings.barred)
        for each in self.strings.patterns:
            add_tree(each.text, each, self.evaluator, asked)
        for each in self.strings.formats:
            add_tree(formats.PATTERNS[each.text], each, self.evaluator, asked)
        if not asked and not is_barred:
            return IrFragment.__new__(IrFragment)
        grammar = self.new_grammar()
        # the cost of a cached fragment must not depend on automata that the evaluator has paid for
        paid, self.evaluator._paid = self.evaluator._paid, set()
        try:
            return fragment_of(grammar, body(grammar, self.strings, asked, is_barred, self.evaluator))
        finally:
            self.evaluator._paid = paid


cdef int add_tree(str pattern, ConstraintText constraint, Evaluator evaluator, list asked) except -1:
    """Add the tree of a pattern and its pointer, unless it matches any text."""
    tree = evaluator.tree(pattern, constraint)
    if whole_pattern(tree, search=True) != ANYTHING:
        asked.append((tree, constraint.pointer()))
    return 0


cdef body(grammar, Strings strings, list asked, bint is_barred, Evaluator evaluator):
    """Add the inside of a string with patterns, formats or excluded values."""
    minimum, maximum = strings.minimum, longest(strings)
    if len(asked) == 1 and not is_barred:
        tree, pointer = asked[0]
        bounded = bounded_tree(tree, minimum, maximum)
        if bounded is not None:
            return emit_search(grammar, bounded, pointer)
    bound = Bound(grammar.limits.pattern_states, place_of(strings), grammar.budget)
    return grammar.alt(*[
        bounded_node(grammar, found, low, high, bound)
        for found, low, high in by_length(strings, evaluator, minimum, maximum, bound)
    ])


cdef list by_length(Strings strings, Evaluator evaluator, minimum, maximum, bound):
    """Return automata of all constraints with bounds on the length, as (automaton, least, most); the strings are
    those that one of them accepts.
    """
    cdef ConstraintText each
    cdef list ways = [((), (), minimum, maximum)], found = [], parts
    formats_of = tuple([evaluator.format(each, minimum > 0) for each in strings.formats])
    # automata that accept all strings
    cdef list hulls = list(formats_of)
    for each in strings.patterns:
        parts = evaluator.automata_by_length(each, maximum)
        if len(parts) == 1:
            hulls.append(parts[0][0])
        some = joined(ways, [((automaton,), (), low, high) for automaton, low, high in parts])
        ways = joined(ways, [((evaluator.pattern(each),), (), 0, None)]) if some is None else some
    for each in strings.without:
        parts = evaluator.automata_by_length(each, maximum)
        if has_lengths(parts):
            # a part that no string matches would only add lengths, which states may have to count
            parts = [part for part in parts if not is_empty([*hulls, part[0]], [], bound)]
        some = joined(ways, complement_by_length(parts))
        ways = joined(ways, [((), (evaluator.pattern(each),), 0, None)]) if some is None else some
    barred = (words(strings.barred),) if strings.barred else ()
    for accepting, rejecting, low, high in ways:
        accepting, rejecting = accepting + formats_of, rejecting + barred
        is_one = len(accepting) == 1 and not rejecting
        found.append((accepting[0] if is_one else intersection(accepting, rejecting, bound), low, high))
    return found


cdef bint has_lengths(list parts):
    return any([least or most is not None for _, least, most in parts])


cdef list complement_by_length(list parts):
    """Return the complement of automata with bounds: a text that one of them accepts is too short for it, or too
    long. The ways are those of ``joined``.
    """
    cdef list ways = [((), (), 0, None)]
    for automaton, least, most in parts:
        outside = [((), (automaton,), 0, None)]
        if least:
            outside.append(((), (), 0, least - 1))
        if most is not None:
            outside.append(((), (), most + 1, None))
        ways = joined(ways, outside)
        if ways is None:
            break
    return ways


cdef list joined(list ways, list others):
    """Return the intersection of two unions of ways, as (accepting, rejecting, least, most), without ways that others
    contain; None: they are too many.
    """
    cdef list found = []
    if others is None:
        return None
    for accepting, rejecting, least, most in ways:
        for taken, left, low, high in others:
            way = (accepting + taken, rejecting + left, max(least, low), smaller_bound(most, high))
            if (way[3] is None or way[2] <= way[3]) and not any([contains(each, way) for each in found]):
                found = [each for each in found if not contains(way, each)]
                found.append(way)
    return found if len(found) <= MAX_WAYS else None


cdef bint contains(tuple a, tuple b):
    """Whether a way certainly has all texts of another."""
    return (
        set(a[0]) <= set(b[0]) and set(a[1]) <= set(b[1]) and a[2] <= b[2]
        and (a[3] is None or b[3] is not None and b[3] <= a[3]))


cdef str place_of(Strings strings):
    """Return the pointer of the first constraint."""
    for named in strings.patterns + strings.formats + strings.without:
        return (<ConstraintText>named).pointer()
    return "" if strings.where is None else strings.where.pointer()


cdef bounded_tree(tree, minimum, maximum):
    """Return a tree for a search that enforces the bounds; None: it takes an automaton."""
    if minimum == 0 and maximum is None:
        return tree
    plain = whole_pattern(tree, search=True)
    if plain is None:
        return None
    if minimum <= plain.least and (
        maximum is None or (plain.most is not None and plain.most <= maximum)
    ):
        return tree
    return counted_tree(plain, minimum, maximum)


cdef counted_tree(plain, minimum, maximum):
    """Return the anchored tree with the bounds as counts of the only repeated class; None: there is no such."""
    parts = list(plain.parts) if isinstance(plain, Cat) else [plain]
    varying = [n for n, part in enumerate(parts) if part.least != part.most]
    if len(varying) != 1:
        return None
    part = parts[varying[0]]
    if not isinstance(part, Repeat) or not isinstance(part.body, Chars):
        return None
    fixed = sum([other.least for other in parts]) - part.least
    low = max(part.minimum, minimum - fixed)
    high = smaller_bound(part.maximum, None if maximum is None else maximum - fixed)
    if high is not None and high < low:
        return Chars(())
    parts[varying[0]] = repeat(part.body, low, high)
    return cat([START, *parts, END])
