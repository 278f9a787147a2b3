"""Structural tags as IR: the front end of ``Compiler.compile_structural_tag``.

Meaning    xgrammar's, except for the engine's own rules for special tokens. With ``at_least_one``,
           triggered_tags begins with a tag, after which text may follow; after ``stop_after_first`` nothing
           follows. A tag belongs to its shortest trigger, which completes first. Free text inside a tag never
           contains the end of the tag: the tag ends at the first occurrence. This applies through sequence, or,
           repetitions and the formats of a dispatch, but not to inner tags, which have ends of their own.
Free text  one DISPATCH: triggers, excludes and the end of the enclosing tag. It contains all special tokens except
           stop tokens, excluded tokens, and tokens whose text contains an excluded text, a trigger or an end; the
           text of these is matched as bytes. Text with a bound on its characters contains none: special tokens have
           no characters.
Ends       The end of the enclosing tag is excluded from the text. If no exclude or trigger overlaps the ends, they
           are arms of the DISPATCH: the text ends at the first occurrence, without ambiguity. Otherwise the text
           and the end are a sequence, because excludes and counts apply to the text and not to its end.
Captures   labels are JSON pointers into the document. A tag is capture(tag) around capture(begin), its content
           and capture(end); leaves are capture(text); grammar.ir describes the captures of a DISPATCH.
Begins     many alternatives that begin with a text or a token are one anchored DISPATCH: a region opens where its
           begin is complete, and contains the begin.
Rules      the part of a tag after its begin, each schema and each pattern are rules, built when first visited.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport (
    NO_MAXIMUM, REF, ROLE_BEGIN, ROLE_END, ROLE_TAG, ROLE_TEXT, Grammar, push_pattern,
)
from ...native.pool cimport vector
from ...native.resources cimport spend
from ...vocabulary.vocabulary cimport TokenSet
from .tag_formats cimport (
    AnyText, ConstString, Dispatch, Format, GrammarText, JsonSchema, Or, OtherTokens, Regex,
    Repetition, Sequence, Tag, TagsWithSeparator, Token, Triggered, shortest_of, trigger_of,
)
from .tag_vocabulary cimport (
    Spelling, TagVocabulary, TextPatterns, add_literal, add_pieces, overlap,
)

from ...errors import InternalError
from ..json_schema.arguments import build_arguments
from .loose_json import build_loose_json
from .tag_reader import parse_structural_tag

cdef enum:
    NO_NODE = 0xFFFFFFFF

# alternatives that begin with a text, up to which none of them is found by it: fewer take less without
cdef enum:
    FEW_BEGINS = 8

# marks that are hashed in about a microsecond
cdef enum:
    MARKS_PER_STEP = 64

cdef object NO_TOKENS = frozenset()


def build_structural_tag(
    Grammar grammar, tag, *, TagVocabulary vocabulary, build_schema, build_regex, build_grammar
):
    """Add a structural tag to a grammar and return its node."""
    cdef Format format = parse_structural_tag(tag, vocabulary, grammar.limits, grammar.budget)
    cdef TagBuilder builder = TagBuilder.__new__(TagBuilder)
    builder.grammar, builder.vocabulary, builder.spelling = grammar, vocabulary, vocabulary.spelling
    builder.text = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    builder.build_schema, builder.build_regex, builder.build_grammar = build_schema, build_regex, build_grammar
    builder.bodies = {}
    return builder.emit(format, None)


def build_free_text(
    Grammar grammar, TagVocabulary vocabulary, arms, *, tuple excludes, bint loop, max_chars=None, max_tokens=None,
    str pointer
):
    """Add free text outside of tags."""
    cdef FreeText text
    cdef FreeTextBuilder builder = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    nodes = {}
    for mark, node in arms:
        for pattern in vocabulary.spelling.patterns(mark, pointer):
            nodes.setdefault(pattern, []).append(node)
    text = new_free_text(pointer, tuple(dict.fromkeys([mark for mark, _ in arms])), excludes)
    text.max_chars, text.max_tokens = max_chars, max_tokens
    text.add_arms(grammar, nodes, loop)
    return builder.node(text, None)


# -- free text ------------------------------------------------------------------------------------
cdef class FreeText:
    """Free text, without regard to the enclosing tag."""
    cdef str pointer
    cdef tuple triggers, excludes
    cdef object max_chars, max_tokens     # None: no bound
    cdef list patterns                    # of the arms
    cdef vector[uint32_t] arms            # operands of a DISPATCH

    cdef int add_arms(self, Grammar grammar, dict nodes, bint returns) except -1:
        """Add an arm for each pattern: the alternatives of its nodes."""
        for pattern, alternatives in nodes.items():
            self.patterns.append(pattern)
            self.arms.push_back(grammar.alt(*alternatives))
            self.arms.push_back(returns)
            push_pattern(&self.arms, pattern)
        return 0


cdef FreeText new_free_text(str pointer, tuple triggers, tuple excludes):
    cdef FreeText free_text = FreeText.__new__(FreeText)
    free_text.pointer, free_text.triggers, free_text.excludes = pointer, triggers, excludes
    free_text.patterns = []
    return free_text


cdef uint32_t pair(Grammar grammar, uint32_t first, uint32_t second) except? NO_NODE:
    cdef uint32_t[2] parts = [first, second]
    return grammar.add_seq(parts, 2)


cdef uint32_t bound(count) except? 0:
    return NO_MAXIMUM if count is None else count


cdef class FreeTextBuilder:
    """Adds free text to one grammar; ``enclosing`` is the tag around it, or None."""

    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef dict ends                        # nodes by ends
    cdef dict known                       # TextPatterns by their marks

    def __cinit__(self, grammar, vocabulary):
        self.grammar, self.vocabulary, self.ends, self.known = grammar, vocabulary, {}, {}

    cdef uint32_t end(self, Tag enclosing) except? NO_NODE:
        """Add the end of the tag alone."""
        cdef vector[uint32_t] ways
        cdef uint32_t node
        known = self.ends.get(enclosing.ends)
        if known is None:
            for mark in enclosing.ends:
                ways.push_back(self.vocabulary.spelling.add_mark(self.grammar, mark))
            known = self.ends[enclosing.ends] = self.grammar.add_alt(ways.data(), ways.size())
        node = known
        return self.grammar.add_capture(enclosing.pointer, ROLE_END, node)

    cdef uint32_t open(self, FreeText text, Tag enclosing) except? NO_NODE:
        """Add ``node`` inside a capture."""
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, self.node(text, enclosing))

    cdef uint32_t node(self, FreeText text, Tag enclosing) except? NO_NODE:
        """Add text that may stop anywhere and does not contain the end of the tag."""
        cdef TextPatterns found = self.patterns(text, enclosing)
        cdef vector[uint32_t] operands = text.arms
        cdef TokenSet specials = None
        if text.max_chars is None:
            specials = found.specials
            operands.insert(operands.end(), found.excluded_operands.begin(), found.excluded_operands.end())
        else:
            for pattern in found.excluded:
                if type(pattern) is bytes:
                    push_pattern(&operands, pattern)
        return self.grammar.add_dispatch(
            <uint32_t>len(text.patterns), &operands, specials, True, 0, bound(text.max_chars), bound(text.max_tokens))

    cdef uint32_t closed(self, FreeText text, Tag enclosing) except? NO_NODE:
        """Add text up to the end of the tag, end included."""
        cdef TextPatterns found = self.patterns(text, enclosing)
        cdef vector[uint32_t] operands
        cdef uint32_t over
        if (text.max_chars is not None or text.max_tokens is not None or "" in enclosing.ends or found.ends_overlap
                or overlap(found.ends, text.patterns, self.grammar.budget)):
            return pair(self.grammar, self.open(text, enclosing), self.end(enclosing))
        over = self.grammar.add_capture(enclosing.pointer, ROLE_END, self.grammar.empty_node)
        operands = text.arms
        for pattern in found.ends:
            operands.push_back(over)
            operands.push_back(False)
            push_pattern(&operands, pattern)
        operands.insert(operands.end(), found.excluded_only_operands.begin(), found.excluded_only_operands.end())
        over = self.grammar.add_dispatch(
            <uint32_t>(len(text.patterns) + len(found.ends)), &operands, found.specials, False, 0, NO_MAXIMUM,
            NO_MAXIMUM)
        return self.grammar.add_capture(text.pointer, ROLE_TEXT, over)

    cdef TextPatterns patterns(self, FreeText text, Tag enclosing):
        cdef tuple ends = enclosing.ends if enclosing is not None else ()
        cdef tuple key
        cdef TextPatterns found
        tokens = NO_TOKENS
        for pattern in text.patterns:
            if type(pattern) is not bytes:
                tokens = tokens.union([letter - 256 for letter in pattern if letter > 255])
        key = (text.excludes, ends, text.triggers, tokens)
        spend(self.grammar.budget, (len(text.excludes) + len(ends) + len(text.triggers)) // MARKS_PER_STEP)
        found = self.known.get(key)
        if found is None:
            found = self.vocabulary.patterns_of(
                text.excludes, ends, text.triggers, tokens, text.pointer,
                enclosing.pointer if enclosing is not None else "", self.grammar.budget)
            self.known[key] = found
        return found


# -- formats --------------------------------------------------------------------------------------
cdef class TagBuilder:
    """Adds formats to one grammar.

    ``enclosing`` is the innermost tag around a format, whose ends free text must not contain.
    """

    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef Spelling spelling
    cdef FreeTextBuilder text
    cdef object build_schema, build_regex, build_grammar
    cdef dict bodies                      # nodes of content and end, by the pointer of the tag

    cdef uint32_t emit(self, Format format, Tag enclosing) except? NO_NODE:
        # the most frequent kinds come first
        kind = type(format)
        if kind is JsonSchema:
            return self.leaf(format, self.value(<JsonSchema>format))
        if kind is Tag:
            return self.tag(<Tag>format, self.spelling.add_mark(self.grammar, (<Tag>format).begin))
        if kind is Triggered:
            return self.triggered(<Triggered>format, enclosing)
        if kind is Sequence:
            return self.sequence(<Sequence>format, enclosing, False)
        if kind is Or:
            return self.alternatives((<Or>format).elements, enclosing)
        if kind is AnyText:
            return self.text.open(plain(<AnyText>format), enclosing)
        if kind is ConstString:
            return self.leaf(format, self.spelling.add_mark(self.grammar, (<ConstString>format).value))
        if kind is Repetition:
            body = self.emit((<Repetition>format).content, enclosing)
            return self.grammar.repeat(body, (<Repetition>format).minimum, (<Repetition>format).maximum)
        if kind is TagsWithSeparator:
            return self.separated(<TagsWithSeparator>format)
        if kind is Dispatch:
            return self.text.open(self.arms(<Dispatch>format, enclosing), enclosing)
        if kind is Token:
            return self.leaf(format, self.spelling.add_mark(self.grammar, (<Token>format).token))
        if kind is OtherTokens:
            return self.other_tokens(<OtherTokens>format, enclosing)
        if kind is Regex:
            return self.regex(<Regex>format)
        if kind is GrammarText:
            return self.grammar_text(<GrammarText>format)
        raise InternalError(f"unknown format {kind.__name__}")

    cdef uint32_t emit_closed(self, Format format, Tag enclosing) except? NO_NODE:
        """Add the format followed by the end of the enclosing tag."""
        kind = type(format)
        if kind is Sequence:
            return self.sequence(<Sequence>format, enclosing, True)
        if kind is AnyText:
            return self.text.closed(plain(<AnyText>format), enclosing)
        if kind is Triggered and not (<Triggered>format).stop_after_first:
            first = self.first_tag(<Triggered>format)
            return pair(self.grammar, first, self.text.closed(self.tag_arms(<Triggered>format), enclosing))
        if kind is Dispatch and (<Dispatch>format).loop:
            return self.text.closed(self.arms(<Dispatch>format, enclosing), enclosing)
        return pair(self.grammar, self.emit(format, enclosing), self.text.end(enclosing))

    # -- leaves ------------------------------------------------------------------------------------
    cdef uint32_t leaf(self, Format format, uint32_t node) except? NO_NODE:
        return self.grammar.add_capture(format.pointer, ROLE_TEXT, node)

    cdef uint32_t regex(self, Regex format) except? NO_NODE:
        place = f"{format.pointer}/pattern"
        return self.leaf(format, self.rule(place, self.build_regex(self.grammar, format.pattern, pointer=place)))

    cdef uint32_t grammar_text(self, GrammarText format) except? NO_NODE:
        place = f"{format.pointer}/grammar"
        return self.leaf(format, self.build_grammar(
            self.grammar, format.text, syntax=format.syntax, vocabulary=self.vocabulary,
            build_schema=self.build_schema, inside_json=format.inside_json, readable=format.readable,
            pointer=place))

    cdef uint32_t other_tokens(self, OtherTokens format, Tag enclosing) except? NO_NODE:
        """Add any tokens except excluded ones and ends of the enclosing tag."""
        excludes = set(format.excludes)
        if enclosing is not None:
            ids = self.vocabulary.special_tokens
            ends = [ids.get(end) if isinstance(end, str) else end for end in enclosing.ends]
            excludes.update([end for end in ends if end is not None])
        one = self.vocabulary.other_tokens(self.grammar, excludes)
        return self.leaf(format, self.grammar.repeat(one, format.minimum, format.maximum))

    cdef uint32_t value(self, JsonSchema format) except? NO_NODE:
        cdef uint32_t node
        if format.loose:
            node = build_loose_json(self.grammar)
        elif format.style is not None:
            node = build_arguments(
                self.grammar, format.schema, style=format.style, marks=self.spelling, is_guarded=format.guarded,
                label=format.pointer, pointer=format.schema_pointer, any_order=format.any_order,
                extra_keys=format.extra_keys, max_items=format.max_items,
                max_length=format.max_length, whitespace=format.whitespace, most_blanks=format.most_blanks,
                indent=format.indent, separators=format.separators, spelling=format.spelling, excludes=format.excludes,
                element_space=format.element_space, is_unordered=format.unordered)
        else:
            node = self.build_schema(
                self.grammar, format.schema, pointer=format.schema_pointer, extra_keys=format.extra_keys,
                max_items=format.max_items, max_length=format.max_length, any_order=format.any_order,
                whitespace=format.whitespace, most_blanks=format.most_blanks, indent=format.indent,
                separators=format.separators, depth=format.depth, spelling=format.spelling, excludes=format.excludes)
        return self.rule(format.schema_pointer, node)

    cdef uint32_t rule(self, str name, uint32_t node) except? NO_NODE:
        """Return a reference to a rule with this body; a reference is returned unchanged."""
        if self.grammar.kind_of(node) == REF:
            return node
        return self.grammar.add_ref(self.grammar.new_rule(name, node))

    # -- composition -------------------------------------------------------------------------------
    cdef uint32_t sequence(self, Sequence format, Tag enclosing, bint closed) except? NO_NODE:
        """Add the elements; ``closed``: followed by the end of the enclosing tag."""
        cdef vector[uint32_t] parts
        cdef Py_ssize_t k, last = len(format.elements) - 1
        for k in range(last):
            parts.push_back(self.emit(format.elements[k], enclosing))
        final = <Format>format.elements[last]
        parts.push_back(self.emit_closed(final, enclosing) if closed else self.emit(final, enclosing))
        return self.grammar.add_seq(parts.data(), parts.size())

    cdef uint32_t alternatives(self, tuple elements, Tag enclosing) except? NO_NODE:
        """Add a choice. Elements that begin with a text are found by it, so that any number of them is one state
        until the text tells which of them it is; the cost of other elements is that of all of them together.
        """
        cdef vector[uint32_t] ways
        cdef list begun = self.begun(elements) if len(elements) > FEW_BEGINS else []
        cdef set known = set()
        if len(begun) > FEW_BEGINS:
            known.update(map(id, begun))
            ways.push_back(self.anchored(begun, enclosing))
        for element in elements:
            if id(element) not in known:
                ways.push_back(self.emit(element, enclosing))
        return self.grammar.add_alt(ways.data(), ways.size())

    cdef list begun(self, tuple elements):
        """Return the elements that begin with a text or a token which a pattern can match."""
        cdef list found = []
        for element in elements:
            begin = begin_of(element)
            if begin is not None and self.spelling.is_pattern(begin, self.vocabulary.stops):
                found.append(element)
        return found

    cdef uint32_t anchored(self, list elements, Tag enclosing) except? NO_NODE:
        """Add a choice of elements that begin with patterns."""
        cdef vector[uint32_t] operands
        cdef dict nodes = {}
        cdef uint32_t node
        for element in elements:
            node = self.behind_begin(element, enclosing)
            for pattern in self.spelling.patterns(begin_of(element), ""):
                nodes.setdefault(pattern, []).append(node)
        for pattern, alternatives in nodes.items():
            operands.push_back(self.grammar.alt(*alternatives))
            operands.push_back(False)
            push_pattern(&operands, pattern)
        return self.grammar.add_anchored(<uint32_t>len(nodes), &operands)

    cdef uint32_t behind_begin(self, Format format, Tag enclosing) except? NO_NODE:
        """Add the rest of an element behind its begin, which belongs to its first region."""
        cdef vector[uint32_t] parts
        if type(format) is Tag:
            return self.tag(<Tag>format, self.grammar.empty_node)
        if type(format) is ConstString:
            return self.leaf(format, self.grammar.empty_node)
        parts.push_back(self.behind_begin((<Sequence>format).elements[0], enclosing))
        for element in (<Sequence>format).elements[1:]:
            parts.push_back(self.emit(element, enclosing))
        return self.grammar.add_seq(parts.data(), parts.size())

    # -- tags --------------------------------------------------------------------------------------
    cdef uint32_t tag(self, Tag tag, uint32_t begin) except? NO_NODE:
        """Add a tag; ``begin`` is the part of its begin that is not yet matched."""
        begin = self.grammar.add_capture(tag.pointer, ROLE_BEGIN, begin)
        return self.grammar.add_capture(tag.pointer, ROLE_TAG, pair(self.grammar, begin, self.body(tag)))

    cdef uint32_t body(self, Tag tag) except? NO_NODE:
        """Add the content and the end of a tag as one rule for all spellings of the begin."""
        node = self.bodies.get(tag.pointer)
        if node is None:
            node = self.bodies[tag.pointer] = self.rule(tag.pointer, self.emit_closed(tag.content, tag))
        return node

    cdef uint32_t separated(self, TagsWithSeparator format) except? NO_NODE:
        cdef uint32_t item = self.alternatives(format.tags, None), between = self.grammar.empty_node
        if not format.stop_after_first:
            if format.separator:
                between = self.leaf(format, self.spelling.add_mark(self.grammar, format.separator))
            item = pair(self.grammar, item, self.grammar.repeat(pair(self.grammar, between, item), 0, None))
        return item if format.at_least_one else self.grammar.optional(item)

    cdef uint32_t triggered(self, Triggered format, Tag enclosing) except? NO_NODE:
        cdef uint32_t first = self.first_tag(format)
        if format.at_least_one and format.stop_after_first:
            return first
        return pair(self.grammar, first, self.text.open(self.tag_arms(format), enclosing))

    cdef uint32_t first_tag(self, Triggered format) except? NO_NODE:
        """Add the tag that ``at_least_one`` requires before any text."""
        return self.alternatives(format.tags, None) if format.at_least_one else self.grammar.empty_node

    # -- free text ---------------------------------------------------------------------------------
    cdef FreeText arms(self, Dispatch format, Tag enclosing):
        """Return free text with one arm for each pattern: the alternatives of its formats."""
        cdef uint32_t node
        cdef dict nodes = {}
        for k, (mark, content) in enumerate(format.arms):
            node = self.emit(content, enclosing)
            for pattern in self.spelling.patterns(mark, f"{format.pointer}/rules/{k}/0"):
                nodes.setdefault(pattern, []).append(node)
        marks = tuple(dict.fromkeys([mark for mark, _ in format.arms]))
        text = new_free_text(format.pointer, marks, format.excludes)
        text.add_arms(self.grammar, nodes, format.loop)
        return text

    cdef FreeText tag_arms(self, Triggered format):
        """Return free text with one arm for each pattern of a trigger: the rest of all tags that begin so."""
        cdef Tag tag
        cdef FreeText text = new_free_text(format.pointer, format.triggers, format.excludes)
        cdef uint32_t node
        cdef list shortest = shortest_of(format.triggers)
        cdef dict patterns = {}, nodes = {}
        for tag in format.tags:
            if isinstance(tag.begin, str) and self.spelling.is_plain(tag.begin):
                head = trigger_of(tag.begin, shortest)
                if head not in patterns:
                    patterns[head] = (<str>head).encode()
                node = add_literal(self.grammar, tag.begin, len(head))
                nodes.setdefault(patterns[head], []).append(self.tag(tag, node))
                continue
            for pattern, pieces in self.openings(tag, shortest):
                nodes.setdefault(pattern, []).append(self.tag(tag, add_pieces(self.grammar, pieces)))
        text.add_arms(self.grammar, nodes, not format.stop_after_first)
        return text

    cdef list openings(self, Tag tag, list shortest):
        if isinstance(tag.begin, int):
            return [((256 + tag.begin,), [])]
        head = trigger_of(tag.begin, shortest)
        return self.spelling.beginnings(tag.begin, len(head), f"{tag.pointer}/begin")


cdef begin_of(Format format):
    """Return the text or token that a format begins with; None: it begins otherwise."""
    if type(format) is Tag:
        return (<Tag>format).begin
    if type(format) is Sequence:
        return begin_of((<Sequence>format).elements[0])
    return (<ConstString>format).value if type(format) is ConstString else None


cdef FreeText plain(AnyText format):
    cdef FreeText text = new_free_text(format.pointer, (), format.excludes)
    text.max_chars, text.max_tokens = format.max_chars, format.max_tokens
    return text
