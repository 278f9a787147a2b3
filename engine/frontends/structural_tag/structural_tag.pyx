"""Structural tags to IR: the front end behind ``Compiler.compile_structural_tag``.

Meaning    xgrammar's, apart from the engine's own rules for special tokens; the tests pin both.
           triggered_tags: at_least_one wants a tag at once and allows text after it; after
           stop_after_first nothing follows. A tag belongs to its shortest trigger, the one that
           completes first. Free text inside a tag never holds the tag's end: the tag is over at
           its first occurrence. This reaches through sequence, or, repetitions and the formats of
           a dispatch, and not into inner tags, which have ends of their own.
Captures   labels are JSON pointers into the document. A tag is capture(tag) around capture(begin),
           content and capture(end); leaves are capture(text); engine.ir says how a DISPATCH takes
           part in them.
Shape      what follows the begin of a tag, each schema and each pattern are rules of their own,
           so that they are built when first visited.
Files      tag_language and tag_fields parse and check, tag_formats is what comes out,
           tag_vocabulary holds what depends on the vocabulary alone, tag_spelling writes special
           tokens, tag_free_text makes DISPATCHes, tag_xml writes arguments as elements in the
           styles of tag_styles, and here is the rest.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...grammar.lowered cimport REF, ROLE_BEGIN, ROLE_TAG, ROLE_TEXT
from ...native.pool cimport vector
from .tag_formats cimport (
    AnyText, ConstString, Dispatch, Ebnf, Format, JsonSchema, Or, OtherTokens, Regex, Repeat,
    Sequence, Tag, TagsWithSeparator, Token, Triggered,
)
from .tag_free_text cimport FreeText, FreeTextBuilder, new_free_text
from .tag_language cimport parse_structural_tag
from .tag_spelling cimport Spelling, add_literal, add_pieces, sizes_of
from .tag_vocabulary cimport TagVocabulary

from ...errors import InternalError
from ..grammar_text import build_grammar
from .loose_json import build_loose_json
from .tag_xml import build_xml

cdef enum:
    NO_NODE = 0xFFFFFFFF


def build_structural_tag(Grammar grammar, tag, *, TagVocabulary vocabulary, build_schema, build_regex):
    """The node of a whole structural tag.

    Raises SpecError, UnsupportedSchema or LimitExceeded with the place in ``tag``.
    """
    cdef Format made = parse_structural_tag(tag, vocabulary, grammar.limits)
    cdef TagBuilder builder = TagBuilder.__new__(TagBuilder)
    builder.grammar, builder.vocabulary, builder.spelling = grammar, vocabulary, vocabulary.spelling
    builder.text = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    builder.build_schema, builder.build_regex = build_schema, build_regex
    builder.bodies = {}
    return builder.emit(made, None)


cdef struct WaysC:
    vector[vector[uint32_t]] nodes        # by a pattern's number: what it leads to


cdef class TagBuilder:
    """Emits formats into one grammar. ``around`` is the tag that a format stands in: its ends are
    what free text must not hold.
    """

    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef Spelling spelling
    cdef FreeTextBuilder text
    cdef object build_schema, build_regex
    cdef dict bodies                      # by a tag's pointer: content and end

    cdef uint32_t emit(self, Format made, Tag around) except? NO_NODE:
        """What stands at the top of most documents comes first."""
        kind = type(made)
        if kind is JsonSchema:
            return self.leaf(made, self.value(<JsonSchema>made))
        if kind is Tag:
            return self.tag(<Tag>made, self.spelling.add_mark(self.grammar, (<Tag>made).begin))
        if kind is Triggered:
            return self.triggered(<Triggered>made, around)
        if kind is Sequence:
            return self.sequence(<Sequence>made, around, False)
        if kind is Or:
            return self.alternatives((<Or>made).elements, around)
        if kind is AnyText:
            return self.text.open(plain(<AnyText>made), around)
        if kind is ConstString:
            return self.leaf(made, self.spelling.add_mark(self.grammar, (<ConstString>made).value))
        if kind is Repeat:
            return self.repeat(<Repeat>made, around)
        if kind is TagsWithSeparator:
            return self.separated(<TagsWithSeparator>made)
        if kind is Dispatch:
            return self.text.open(self.arms(<Dispatch>made, around), around)
        if kind is Token:
            return self.leaf(made, self.spelling.add_mark(self.grammar, (<Token>made).token))
        if kind is OtherTokens:
            return self.other_tokens(<OtherTokens>made, around)
        if kind is Regex:
            return self.regex(<Regex>made)
        if kind is Ebnf:
            return self.ebnf(<Ebnf>made)
        raise InternalError(f"nothing emits a {kind.__name__}")

    cdef uint32_t emit_closed(self, Format made, Tag around) except? NO_NODE:
        """The format and then the end of the tag around it."""
        kind = type(made)
        if kind is Sequence:
            return self.sequence(<Sequence>made, around, True)
        if kind is AnyText:
            return self.text.closed(plain(<AnyText>made), around)
        if kind is Triggered and not (<Triggered>made).stop_after_first:
            first = self.first_tag(<Triggered>made)
            return self.pair(first, self.text.closed(self.tag_arms(<Triggered>made), around))
        if kind is Dispatch and (<Dispatch>made).loop:
            return self.text.closed(self.arms(<Dispatch>made, around), around)
        first = self.emit(made, around)
        return self.pair(first, self.text.end(around))

    # -- leaves ------------------------------------------------------------------------------------
    cdef uint32_t leaf(self, Format made, uint32_t node) except? NO_NODE:
        return self.grammar.add_capture(made.pointer, ROLE_TEXT, node)

    cdef uint32_t regex(self, Regex made) except? NO_NODE:
        place = f"{made.pointer}/pattern"
        return self.leaf(made, self.rule(place, self.build_regex(self.grammar, made.pattern, pointer=place)))

    cdef uint32_t ebnf(self, Ebnf made) except? NO_NODE:
        place = f"{made.pointer}/grammar"
        return self.leaf(made, build_grammar(
            self.grammar, made.text, syntax="ebnf", vocabulary=self.vocabulary, pointer=place))

    cdef uint32_t other_tokens(self, OtherTokens made, Tag around) except? NO_NODE:
        """Tokens but the excluded ones, and but those that are the end of the tag around."""
        excludes = set(made.excludes)
        if around is not None:
            ids = self.vocabulary.special_tokens
            ends = [ids.get(end) if isinstance(end, str) else end for end in around.ends]
            excludes.update([end for end in ends if end is not None])
        one = self.vocabulary.other_tokens(self.grammar, excludes)
        return self.leaf(made, self.grammar.repeat(one, made.minimum, made.maximum))

    cdef uint32_t value(self, JsonSchema made) except? NO_NODE:
        cdef uint32_t node
        if made.loose:
            node = build_loose_json(self.grammar)
        elif made.style != "json":
            node = build_xml(self.grammar, self.vocabulary, self.build_schema, made)
        else:
            node = self.build_schema(
                self.grammar, made.schema, pointer=made.place, extra_keys=made.extra_keys,
                any_order=made.any_order, whitespace=made.whitespace, most_blanks=made.most_blanks,
                indent=made.indent, separators=made.separators, spelling=made.spelling, excludes=made.excludes)
        return self.rule(made.place, node)

    cdef uint32_t rule(self, str name, uint32_t node) except? NO_NODE:
        """A rule of its own, unless the node refers to one already."""
        if self.grammar.kind_of(node) == REF:
            return node
        return self.grammar.add_ref(self.grammar.new_rule(name, node))

    # -- composition -------------------------------------------------------------------------------
    cdef uint32_t pair(self, uint32_t first, uint32_t second) except? NO_NODE:
        cdef uint32_t parts[2]
        parts[0], parts[1] = first, second
        return self.grammar.add_seq(parts, 2)

    cdef uint32_t sequence(self, Sequence made, Tag around, bint closed) except? NO_NODE:
        """One after the other; ``closed`` is with the end of the tag around them."""
        cdef vector[uint32_t] parts
        cdef Py_ssize_t k, last = len(made.elements) - 1
        for k in range(last):
            parts.push_back(self.emit(made.elements[k], around))
        parts.push_back(
            self.emit_closed(made.elements[last], around) if closed else self.emit(made.elements[last], around))
        return self.grammar.add_seq(parts.data(), parts.size())

    cdef uint32_t alternatives(self, tuple elements, Tag around) except? NO_NODE:
        cdef vector[uint32_t] ways
        for element in elements:
            ways.push_back(self.emit(element, around))
        return self.grammar.add_alt(ways.data(), ways.size())

    cdef uint32_t repeat(self, Repeat made, Tag around) except? NO_NODE:
        return self.grammar.repeat(self.emit(made.content, around), made.minimum, made.maximum)

    # -- tags --------------------------------------------------------------------------------------
    cdef uint32_t tag(self, Tag tag, uint32_t begin) except? NO_NODE:
        """A tag of whose begin ``begin`` is still to come."""
        cdef uint32_t parts[2]
        parts[0] = self.grammar.add_capture(tag.pointer, ROLE_BEGIN, begin)
        parts[1] = self.body(tag)
        return self.grammar.add_capture(tag.pointer, ROLE_TAG, self.grammar.add_seq(parts, 2))

    cdef uint32_t body(self, Tag tag) except? NO_NODE:
        """The content and the end of a tag: one rule, however the begin was written."""
        node = self.bodies.get(tag.pointer)
        if node is None:
            node = self.bodies[tag.pointer] = self.rule(tag.pointer, self.emit_closed(tag.content, tag))
        return node

    cdef uint32_t separated(self, TagsWithSeparator made) except? NO_NODE:
        cdef uint32_t item = self.alternatives(made.tags, None), between = self.grammar.empty_node
        if not made.stop_after_first:
            if made.separator:
                between = self.leaf(made, self.spelling.add_mark(self.grammar, made.separator))
            item = self.pair(item, self.grammar.repeat(self.pair(between, item), 0, None))
        return item if made.at_least_one else self.grammar.optional(item)

    cdef uint32_t triggered(self, Triggered made, Tag around) except? NO_NODE:
        cdef uint32_t first = self.first_tag(made)
        if made.at_least_one and made.stop_after_first:
            return first
        return self.pair(first, self.text.open(self.tag_arms(made), around))

    cdef uint32_t first_tag(self, Triggered made) except? NO_NODE:
        """The tag that at_least_one wants before any text."""
        return self.alternatives(made.tags, None) if made.at_least_one else self.grammar.empty_node

    # -- free text ---------------------------------------------------------------------------------
    cdef FreeText arms(self, Dispatch made, Tag around):
        """One arm for every way to write a pattern: all formats that it leads to."""
        cdef WaysC ways
        cdef uint32_t node
        numbers = {}
        for k, (mark, content) in enumerate(made.arms):
            node = self.emit(content, around)
            for pattern in self.spelling.patterns(mark, f"{made.pointer}/rules/{k}/0"):
                add_way(&ways, numbers, pattern, node)
        marks = tuple(dict.fromkeys([mark for mark, _ in made.arms]))
        return self.with_ways(new_free_text(made.pointer, marks, made.excludes), &ways, numbers, made.loop)

    cdef FreeText tag_arms(self, Triggered made):
        """One arm for every way to write a trigger: all tags that go on from there."""
        cdef WaysC ways
        cdef Tag tag
        cdef uint32_t node
        cdef list sizes = sizes_of(made.triggers)
        cdef dict patterns = dict.fromkeys(made.triggers), numbers = {}
        for tag in made.tags:
            if isinstance(tag.begin, str) and self.spelling.is_plain(tag.begin):
                head = shortest(tag.begin, sizes, patterns)
                if patterns[head] is None:
                    patterns[head] = (<str>head).encode()
                node = add_literal(self.grammar, tag.begin, len(head))
                add_way(&ways, numbers, patterns[head], self.tag(tag, node))
                continue
            for pattern, pieces in self.openings(tag, sizes, patterns):
                add_way(&ways, numbers, pattern, self.tag(tag, add_pieces(self.grammar, pieces)))
        text = new_free_text(made.pointer, made.triggers, made.excludes)
        return self.with_ways(text, &ways, numbers, not made.stop_after_first)

    cdef FreeText with_ways(self, FreeText text, WaysC* ways, dict numbers, bint returns):
        cdef uint32_t node
        for pattern, number in numbers.items():
            node = number
            node = self.grammar.add_alt(ways.nodes[node].data(), ways.nodes[node].size())
            text.add_arm(pattern, node, returns)
        return text

    cdef list openings(self, Tag tag, list sizes, dict triggers):
        if isinstance(tag.begin, int):
            return [((256 + tag.begin,), [])]
        head = shortest(tag.begin, sizes, triggers)
        return self.spelling.beginnings(tag.begin, len(head), f"{tag.pointer}/begin")


cdef int add_way(WaysC* ways, dict numbers, pattern, uint32_t node) except -1:
    cdef uint32_t number
    found = numbers.get(pattern)
    if found is None:
        found = numbers[pattern] = len(numbers)
        ways.nodes.resize(len(numbers))
    number = found
    ways.nodes[number].push_back(node)
    return 0


cdef str shortest(str begin, list sizes, dict triggers):
    """The shortest trigger that a begin starts with (tag_formats, I3)."""
    for size in sizes:
        head = begin[:size]
        if head in triggers:
            return head
    raise InternalError("a tag that starts with no trigger")


cdef FreeText plain(AnyText made):
    cdef FreeText text = new_free_text(made.pointer, (), made.excludes)
    text.max_chars, text.max_tokens = made.max_chars, made.max_tokens
    return text
