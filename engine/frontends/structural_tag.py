"""Structural tags to IR: the front end behind ``Compiler.compile_structural_tag``.

Meaning    xgrammar's, apart from the engine's own rules for special tokens; the tests pin both.
           triggered_tags: at_least_one wants a tag at once and allows text after it; after
           stop_after_first nothing follows. A tag belongs to its shortest trigger, the one that
           completes first. Free text inside a tag never holds the tag's end: the tag is over at
           its first occurrence. This reaches through sequence, or, optional, star and plus, and
           not into inner tags, which have ends of their own.
Captures   labels are JSON pointers into the document. A tag is capture(tag) around capture(begin),
           content and capture(end); leaves are capture(text); engine.ir says how a DISPATCH takes
           part in them.
Shape      what follows the begin of a tag, each schema and each pattern are rules of their own,
           so that they are built when first visited.
Files      tag_language parses and checks, tag_formats is what comes out, tag_spelling writes
           special tokens, tag_free_text makes DISPATCHes, and here is the rest.
"""

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from ..ir import REF, Grammar, Node, Pattern
from .loose_json import build_loose_json
from .tag_formats import (
    AnyText,
    ConstString,
    Format,
    JsonSchema,
    Mark,
    Or,
    Regex,
    Repeat,
    Sequence,
    Tag,
    TagsWithSeparator,
    Token,
    Triggered,
)
from .tag_free_text import Closing, FreeText, FreeTextBuilder
from .tag_language import parse_structural_tag
from .tag_spelling import Piece, Spelling


class BuildSchema(Protocol):
    """The front end for JSON Schemas."""

    def __call__(
        self, grammar: Grammar, schema: Any, /, *, pointer: str, extra_keys: str
    ) -> Node: ...


class BuildRegex(Protocol):
    """The front end for regular expressions."""

    def __call__(self, grammar: Grammar, pattern: str, /, *, pointer: str) -> Node: ...


def build_structural_tag(
    grammar: Grammar,
    tag: dict[str, Any],
    *,
    special_tokens: Mapping[str, int],
    stop_token_ids: Collection[int],
    build_schema: BuildSchema,
    build_regex: BuildRegex,
) -> Node:
    """The node of a whole structural tag.

    ``special_tokens`` maps the text of every special token, stop tokens too, to its id.
    Raises SpecError, UnsupportedSchema or LimitExceeded with the place in ``tag``.
    """
    made = parse_structural_tag(tag, special_tokens, grammar.limits)
    stops = frozenset(stop_token_ids)
    free = {text: token for text, token in special_tokens.items() if token not in stops}
    spelling = Spelling(special_tokens)
    text = FreeTextBuilder(grammar, spelling, free)
    return TagBuilder(grammar, spelling, text, build_schema, build_regex).emit(made)


class TagBuilder:
    """Emits formats into one grammar."""

    def __init__(
        self,
        grammar: Grammar,
        spelling: Spelling,
        text: FreeTextBuilder,
        build_schema: BuildSchema,
        build_regex: BuildRegex,
    ) -> None:
        self.grammar = grammar
        self.spelling = spelling
        self.text = text
        self.build_schema = build_schema
        self.build_regex = build_regex
        self._bodies: dict[str, Node] = {}

    def emit(self, made: Format, closing: Closing | None = None) -> Node:
        """The node of a format; ``closing`` is what its free text must not hold."""
        g = self.grammar
        match made:
            case Sequence():
                return g.seq(*(self.emit(element, closing) for element in made.elements))
            case Or():
                return g.alt(*(self.emit(element, closing) for element in made.elements))
            case Repeat():
                return g.repeat(self.emit(made.content, closing), made.minimum, made.maximum)
            case Tag():
                return self._tag(made, self.spelling.node(g, made.begin))
            case TagsWithSeparator():
                return self._separated(made)
            case AnyText():
                return self.text.open(self._plain(made), closing)
            case Triggered():
                return self._triggered(made, closing)
            case _:
                return g.capture(made.pointer, "text", self._leaf(made))

    def emit_closed(self, made: Format, closing: Closing) -> Node:
        """The format and then the end of the tag around it."""
        g = self.grammar
        match made:
            case Sequence():
                before = [self.emit(element, closing) for element in made.elements[:-1]]
                return g.seq(*before, self.emit_closed(made.elements[-1], closing))
            case AnyText():
                return self.text.closed(self._plain(made), closing)
            case Triggered() if not made.stop_after_first:
                first = self._first_tag(made)
                return g.seq(first, self.text.closed(self._with_arms(made), closing))
            case _:
                return g.seq(self.emit(made, closing), self.text.end(closing))

    # -- leaves -----------------------------------------------------------------------------------
    def _leaf(self, made: ConstString | Token | JsonSchema | Regex) -> Node:
        match made:
            case ConstString():
                return self.spelling.node(self.grammar, made.value)
            case Token():
                return self.spelling.node(self.grammar, made.token)
            case JsonSchema():
                return self._rule(made.place, self._value(made))
            case Regex():
                place = f"{made.pointer}/pattern"
                node = self.build_regex(self.grammar, made.pattern, pointer=place)
                return self._rule(place, node)

    def _value(self, made: JsonSchema) -> Node:
        if made.loose:
            return build_loose_json(self.grammar)
        return self.build_schema(
            self.grammar, made.schema, pointer=made.place, extra_keys=made.extra_keys
        )

    def _rule(self, name: str, node: Node) -> Node:
        """A rule of its own, unless the node refers to one already."""
        if self.grammar.nodes[node][0] == REF:
            return node
        return self.grammar.ref(self.grammar.rule(name, node))

    # -- tags -------------------------------------------------------------------------------------
    def _tag(self, tag: Tag, begin: Node) -> Node:
        """A tag of whose begin ``begin`` is still to come."""
        opened = self.grammar.capture(tag.pointer, "begin", begin)
        return self.grammar.capture(tag.pointer, "tag", self.grammar.seq(opened, self._body(tag)))

    def _body(self, tag: Tag) -> Node:
        """The content and the end of a tag: one rule, however the begin was written."""
        if tag.pointer not in self._bodies:
            node = self.emit_closed(tag.content, Closing(tag.pointer, tag.ends))
            self._bodies[tag.pointer] = self._rule(tag.pointer, node)
        return self._bodies[tag.pointer]

    def _separated(self, made: TagsWithSeparator) -> Node:
        g = self.grammar
        item = g.alt(*(self.emit(tag) for tag in made.tags))
        if not made.stop_after_first:
            between = g.empty()
            if made.separator:
                between = g.capture(made.pointer, "text", self.spelling.node(g, made.separator))
            item = g.seq(item, g.repeat(g.seq(between, item), 0, None))
        return item if made.at_least_one else g.optional(item)

    def _triggered(self, made: Triggered, closing: Closing | None) -> Node:
        first = self._first_tag(made)
        if made.at_least_one and made.stop_after_first:
            return first
        return self.grammar.seq(first, self.text.open(self._with_arms(made), closing))

    def _first_tag(self, made: Triggered) -> Node:
        """The tag that at_least_one wants before any text."""
        if not made.at_least_one:
            return self.grammar.empty()
        return self.grammar.alt(*(self.emit(tag) for tag in made.tags))

    # -- free text --------------------------------------------------------------------------------
    @staticmethod
    def _plain(made: AnyText) -> FreeText:
        return FreeText(made.pointer, (), (), made.excludes)

    def _with_arms(self, made: Triggered) -> FreeText:
        """One arm for every way to write a trigger: all tags that go on from there."""
        ways: dict[Pattern, list[Node]] = {}
        for tag in made.tags:
            for pattern, rest in self._openings(tag, made.triggers):
                begin = self.spelling.literal(self.grammar, rest)
                ways.setdefault(pattern, []).append(self._tag(tag, begin))
        arms = tuple(
            (pattern, self.grammar.alt(*tags), not made.stop_after_first)
            for pattern, tags in ways.items()
        )
        return FreeText(made.pointer, arms, made.triggers, made.excludes)

    def _openings(self, tag: Tag, triggers: tuple[Mark, ...]) -> list[tuple[Pattern, list[Piece]]]:
        begin = tag.begin
        if isinstance(begin, int):
            return [((256 + begin,), [])]
        lengths = (len(t) for t in triggers if isinstance(t, str) and begin.startswith(t))
        return self.spelling.beginnings(begin, min(lengths), f"{tag.pointer}/begin")
