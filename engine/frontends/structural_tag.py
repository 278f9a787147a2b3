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

from collections.abc import Callable
from typing import Any, Protocol

from ..ir import REF, Grammar, Node, Pattern
from .grammar_text import build_grammar
from .loose_json import build_loose_json
from .tag_formats import (
    AnyText,
    ConstString,
    Dispatch,
    Ebnf,
    Format,
    JsonSchema,
    Mark,
    Or,
    OtherTokens,
    Regex,
    Repeat,
    Sequence,
    Tag,
    TagsWithSeparator,
    Token,
    Triggered,
)
from .tag_free_text import FreeText, FreeTextBuilder
from .tag_language import parse_structural_tag
from .tag_spelling import Piece
from .tag_vocabulary import TagVocabulary
from .tag_xml import build_xml


class BuildSchema(Protocol):
    """The front end for JSON Schemas."""

    def __call__(
        self, grammar: Grammar, schema: Any, /, *, pointer: str, extra_keys: str = "anywhere",
        any_order: bool = False, whitespace: str = "flexible", indent: int = 20,
    ) -> Node: ...  # fmt: skip


class BuildRegex(Protocol):
    """The front end for regular expressions."""

    def __call__(self, grammar: Grammar, pattern: str, /, *, pointer: str) -> Node: ...


def build_structural_tag(
    grammar: Grammar,
    tag: dict[str, Any],
    *,
    vocabulary: TagVocabulary,
    build_schema: BuildSchema,
    build_regex: BuildRegex,
) -> Node:
    """The node of a whole structural tag.

    Raises SpecError, UnsupportedSchema or LimitExceeded with the place in ``tag``.
    """
    made = parse_structural_tag(tag, vocabulary, grammar.limits)
    return TagBuilder(grammar, vocabulary, build_schema, build_regex).emit(made, None)


class TagBuilder:
    """Emits formats into one grammar. ``around`` is the tag that a format stands in: its ends are
    what free text must not hold.
    """

    def __init__(
        self,
        grammar: Grammar,
        vocabulary: TagVocabulary,
        build_schema: BuildSchema,
        build_regex: BuildRegex,
    ) -> None:
        self.grammar = grammar
        self.vocabulary = vocabulary
        self.spelling = vocabulary.spelling
        self.text = FreeTextBuilder(grammar, vocabulary)
        self.build_schema = build_schema
        self.build_regex = build_regex
        self._bodies: dict[str, Node] = {}

    def emit(self, made: Format, around: Tag | None) -> Node:
        return MAKERS[type(made)](self, made, around)

    def emit_closed(self, made: Format, around: Tag) -> Node:
        """The format and then the end of the tag around it."""
        g = self.grammar
        if isinstance(made, Sequence):
            before = [self.emit(element, around) for element in made.elements[:-1]]
            return g.seq(*before, self.emit_closed(made.elements[-1], around))
        if isinstance(made, AnyText):
            return self.text.closed(self._plain(made), around)
        if isinstance(made, Triggered) and not made.stop_after_first:
            first = self._first_tag(made)
            return g.seq(first, self.text.closed(self._tag_arms(made), around))
        if isinstance(made, Dispatch) and made.loop:
            return self.text.closed(self._arms(made, around), around)
        return g.seq(self.emit(made, around), self.text.end(around))

    # -- leaves -----------------------------------------------------------------------------------
    def _leaf(self, made: Any, node: Node) -> Node:
        return self.grammar.capture(made.pointer, "text", node)

    def _literal(self, mark: Mark) -> Node:
        return self.spelling.node(self.grammar, mark)

    def _regex(self, made: Regex, _: Tag | None) -> Node:
        place = f"{made.pointer}/pattern"
        node = self.build_regex(self.grammar, made.pattern, pointer=place)
        return self._leaf(made, self._rule(place, node))

    def _ebnf(self, made: Ebnf, _: Tag | None) -> Node:
        place = f"{made.pointer}/grammar"
        node = build_grammar(
            self.grammar, made.text, syntax="ebnf", vocabulary=self.vocabulary, pointer=place
        )
        return self._leaf(made, node)

    def _other_tokens(self, made: OtherTokens, around: Tag | None) -> Node:
        """Tokens but the excluded ones, and but those that are the end of the tag around."""
        excludes = made.excludes
        if around is not None:
            ids = self.vocabulary.special_tokens
            ends = [ids.get(end) if isinstance(end, str) else end for end in around.ends]
            excludes = (*excludes, *(end for end in ends if end is not None))
        one = self.vocabulary.other_tokens(self.grammar, excludes)
        return self._leaf(made, self.grammar.repeat(one, made.minimum, made.maximum))

    def _value(self, made: JsonSchema) -> Node:
        if made.loose:
            node = build_loose_json(self.grammar)
        elif made.style != "json":
            node = build_xml(self.grammar, self.vocabulary, self.build_schema, made)
        else:
            node = self.build_schema(
                self.grammar, made.schema, pointer=made.place, extra_keys=made.extra_keys,
                any_order=made.any_order, whitespace=made.whitespace, indent=made.indent,
            )  # fmt: skip
        return self._rule(made.place, node)

    def _rule(self, name: str, node: Node) -> Node:
        """A rule of its own, unless the node refers to one already."""
        if self.grammar.kind(node) == REF:
            return node
        return self.grammar.ref(self.grammar.rule(name, node))

    # -- tags -------------------------------------------------------------------------------------
    def _tag(self, tag: Tag, begin: Node) -> Node:
        """A tag of whose begin ``begin`` is still to come."""
        g = self.grammar
        return g.capture(
            tag.pointer, "tag", g.seq(g.capture(tag.pointer, "begin", begin), self._body(tag))
        )

    def _body(self, tag: Tag) -> Node:
        """The content and the end of a tag: one rule, however the begin was written."""
        node = self._bodies.get(tag.pointer)
        if node is None:
            node = self._rule(tag.pointer, self.emit_closed(tag.content, tag))
            self._bodies[tag.pointer] = node
        return node

    def _separated(self, made: TagsWithSeparator) -> Node:
        g = self.grammar
        item = g.alt(*[self.emit(tag, None) for tag in made.tags])
        if not made.stop_after_first:
            between = g.empty()
            if made.separator:
                between = g.capture(made.pointer, "text", self._literal(made.separator))
            item = g.seq(item, g.repeat(g.seq(between, item), 0, None))
        return item if made.at_least_one else g.optional(item)

    def _triggered(self, made: Triggered, around: Tag | None) -> Node:
        first = self._first_tag(made)
        if made.at_least_one and made.stop_after_first:
            return first
        return self.grammar.seq(first, self.text.open(self._tag_arms(made), around))

    def _first_tag(self, made: Triggered) -> Node:
        """The tag that at_least_one wants before any text."""
        if not made.at_least_one:
            return self.grammar.empty()
        return self.grammar.alt(*[self.emit(tag, None) for tag in made.tags])

    # -- free text --------------------------------------------------------------------------------
    @staticmethod
    def _plain(made: AnyText) -> FreeText:
        return FreeText(made.pointer, (), (), made.excludes, made.max_chars, made.max_tokens)

    def _arms(self, made: Dispatch, around: Tag | None) -> FreeText:
        """One arm for every way to write a pattern: all formats that it leads to."""
        ways: dict[Pattern, list[Node]] = {}
        for k, (mark, content) in enumerate(made.arms):
            node = self.emit(content, around)
            for pattern in self.spelling.patterns(mark, f"{made.pointer}/rules/{k}/0"):
                ways.setdefault(pattern, []).append(node)
        marks = tuple(dict.fromkeys(mark for mark, _ in made.arms))
        return self._with_ways(made.pointer, ways, marks, made.excludes, returns=made.loop)

    def _tag_arms(self, made: Triggered) -> FreeText:
        """One arm for every way to write a trigger: all tags that go on from there."""
        ways: dict[Pattern, list[Node]] = {}
        sizes = sorted({len(t) for t in made.triggers if isinstance(t, str)})
        known = set(made.triggers)
        heads: dict[str, Pattern] = {}
        for tag in made.tags:
            begin = tag.begin
            if isinstance(begin, str) and self.spelling.is_plain(begin):
                head = next(begin[:n] for n in sizes if begin[:n] in known)
                pattern = heads.get(head)
                if pattern is None:
                    pattern = heads[head] = tuple(head.encode())
                rest = self.grammar.bytes(begin[len(head) :].encode())
                ways.setdefault(pattern, []).append(self._tag(tag, rest))
                continue
            for pattern, pieces in self._openings(tag, sizes, known):
                node = self.spelling.literal(self.grammar, pieces)
                ways.setdefault(pattern, []).append(self._tag(tag, node))
        return self._with_ways(
            made.pointer, ways, made.triggers, made.excludes, returns=not made.stop_after_first
        )

    def _with_ways(
        self, pointer: str, ways: dict[Pattern, list[Node]], triggers: tuple[Mark, ...],
        excludes: tuple[Mark, ...], *, returns: bool,
    ) -> FreeText:  # fmt: skip
        arms = tuple(
            [(pattern, self.grammar.alt(*nodes), returns) for pattern, nodes in ways.items()]
        )
        return FreeText(pointer, arms, triggers, excludes)

    def _openings(
        self, tag: Tag, sizes: list[int], triggers: set[Mark]
    ) -> list[tuple[Pattern, list[Piece]]]:
        begin = tag.begin
        if isinstance(begin, int):
            return [((256 + begin,), [])]
        size = next(n for n in sizes if begin[:n] in triggers)
        return self.spelling.beginnings(begin, size, f"{tag.pointer}/begin")


Make = Callable[[TagBuilder, Any, Tag | None], Node]

#: what emits a format
MAKERS: dict[type, Make] = {
    ConstString: lambda b, made, _: b._leaf(made, b._literal(made.value)),
    Token: lambda b, made, _: b._leaf(made, b._literal(made.token)),
    OtherTokens: TagBuilder._other_tokens,
    JsonSchema: lambda b, made, _: b._leaf(made, b._value(made)),
    Regex: TagBuilder._regex,
    Ebnf: TagBuilder._ebnf,
    Sequence: lambda b, made, around: b.grammar.seq(
        *[b.emit(element, around) for element in made.elements]
    ),
    Or: lambda b, made, around: b.grammar.alt(
        *[b.emit(element, around) for element in made.elements]
    ),
    Repeat: lambda b, made, around: b.grammar.repeat(
        b.emit(made.content, around), made.minimum, made.maximum
    ),
    Tag: lambda b, made, _: b._tag(made, b._literal(made.begin)),
    TagsWithSeparator: lambda b, made, _: b._separated(made),
    AnyText: lambda b, made, around: b.text.open(b._plain(made), around),
    Triggered: TagBuilder._triggered,
    Dispatch: lambda b, made, around: b.text.open(b._arms(made, around), around),
}
