"""JSON strings of a schema as IR: lengths, patterns and formats, all of the decoded value.

Alone      a length is a counted repetition; a pattern or format is emitted as it stands.
Together   a pattern stays as it stands if its own lengths lie within the bounds, or if one repeated class can
           take the bounds as its counts (``^[a-z]{1,4000}$``, ``^#.*$``). Otherwise one automaton is the
           intersection of all patterns and formats and of the complements of what must not match. Next to a
           length, a format with a short form uses it, which excludes a few rare texts.
Excludes   strings with a pattern or format ignore ``excludes`` of a structural tag, as in xgrammar; all other
           strings, and all keys, contain nothing excluded.
Cost       ``pattern_states`` bounds automata. ``Grammar.fragments`` caches the result for later grammars.
"""

from libc.stdint cimport uint32_t

from ....grammar.ir cimport FragmentBuilder, IrFragment, fragment_of
from ..evaluator cimport Evaluator
from ..json_text cimport STRING_BODY, JsonText, named_texts
from ..intersection cimport smaller_bound
from ..schema_types cimport ConstraintText, Strings
from ..styled_text cimport PythonText, RawText

from ...regex.char_automaton import Bound, bounded_node, intersection, with_length, words
from ...regex.front_end import emit_search, search_automaton, whole as whole_pattern, with_lengths
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
    found = unbounded_string(strings, evaluator, minimum, bound)
    return text.accepted(found, minimum, maximum, bound, bool(strings.patterns or strings.formats))


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
    found = unbounded_string(strings, evaluator, minimum, bound)
    if found is None:
        return any_of_length(text, minimum, maximum)
    if minimum or maximum is not None:
        # with excludes, a state may lack ends of some lengths, so registers cannot count
        found = with_length(found, minimum, maximum, bound)
    return text.without_excludes(found, place_of(strings))


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
        rest, low, high = with_lengths(tree)
        if rest is not tree:
            bound = Bound(grammar.limits.pattern_states, pointer, grammar.budget)
            found = search_automaton(rest, bound)
            return bounded_node(grammar, found, max(minimum, low), smaller_bound(maximum, high), bound)
    bound = Bound(grammar.limits.pattern_states, place_of(strings), grammar.budget)
    return bounded_node(grammar, unbounded_string(strings, evaluator, minimum, bound), minimum, maximum, bound)


cdef unbounded_string(Strings strings, Evaluator evaluator, minimum, bound):
    """Return the automaton of all constraints except the lengths; None: there are none."""
    cdef ConstraintText each
    cdef list accepting, rejecting
    accepting = [evaluator.pattern(each) for each in strings.patterns]
    accepting += [evaluator.format(each, minimum > 0) for each in strings.formats]
    rejecting = [evaluator.pattern(each) for each in strings.without]
    if strings.barred:
        rejecting.append(words(strings.barred))
    if not rejecting and len(accepting) < 2:
        return accepting[0] if accepting else None
    return intersection(accepting, rejecting, bound)


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
